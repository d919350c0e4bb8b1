#ifndef BATTERY_H
#define BATTERY_H

#include <stdint.h>

#define STOPPED 0

uint16_t measure_battery_mv(void);
uint32_t choose_interval_minutes(uint16_t battery_mv);

#endif
