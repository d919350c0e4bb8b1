#ifndef RADAR_H
#define RADAR_H

#include <stdint.h>

/* The radar head PB-80, over its serial line. */
void radar_wake(void);
uint16_t radar_measure_mm(void);
void radar_sleep(void);

void sleep_ms(uint32_t milliseconds);

#endif
