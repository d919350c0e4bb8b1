/* What the controller does from the moment it has power. */

#include "../version.h"
#include "battery.h"
#include "gauge.h"
#include "radar.h"
#include "radio.h"

#define MS_PER_MINUTE 60000

int main(void)
{
    radio_send_version(FIRMWARE_VERSION);
    for (;;) {
        uint32_t minutes = choose_interval_minutes(measure_battery_mv());
        if (minutes == STOPPED) {
            radio_send_last_message();
            return 0;
        }
        radio_send(read_gauge());
        sleep_ms(minutes * MS_PER_MINUTE);
    }
}
