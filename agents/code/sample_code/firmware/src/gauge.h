#ifndef GAUGE_H
#define GAUGE_H

#include <stdint.h>

#define READING_COUNT 64
#define DROPPED_READINGS 8

/* One reading of the gauge, in millimetres from the radar to the water. */
struct gauge_reading {
    uint16_t distance_mm;
    uint16_t deviation_mm; /* how rough the water is */
};

struct gauge_reading read_gauge(void);

#endif
