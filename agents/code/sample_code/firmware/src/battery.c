/* How often the gauge measures, by what is left in the battery. */

#include "battery.h"

#define LOW_MV 11900
#define EMPTY_MV 11400

/* Return the minutes until the next measurement; STOPPED when the battery must be spared. */
uint32_t choose_interval_minutes(uint16_t battery_mv)
{
    if (battery_mv < EMPTY_MV)
        return STOPPED;
    return battery_mv < LOW_MV ? 30 : 6;
}
