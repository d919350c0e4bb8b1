/* The reading of the gauge: 64 distances in 20 seconds, smoothed into one. */

#include "gauge.h"

#include <math.h>
#include <stdlib.h>

#include "radar.h"

#define PAUSE_MS 312 /* 64 times this is 20 seconds */

static int compare_distances(const void *left, const void *right)
{
    return (int)*(const uint16_t *)left - (int)*(const uint16_t *)right;
}

/* Return the mean without the highest and the lowest distances: waves are smoothed out by this. */
static double trim_mean(uint16_t *distances)
{
    double sum = 0;
    qsort(distances, READING_COUNT, sizeof *distances, compare_distances);
    for (int at = DROPPED_READINGS; at < READING_COUNT - DROPPED_READINGS; at++)
        sum += distances[at];
    return sum / (READING_COUNT - 2 * DROPPED_READINGS);
}

static double measure_deviation(const uint16_t *distances, double mean)
{
    double sum = 0;
    for (int at = 0; at < READING_COUNT; at++)
        sum += (distances[at] - mean) * (distances[at] - mean);
    return sqrt(sum / READING_COUNT);
}

/* Read the gauge once: wake the radar, take the readings, and let it sleep again. */
struct gauge_reading read_gauge(void)
{
    uint16_t distances[READING_COUNT];
    radar_wake();
    for (int at = 0; at < READING_COUNT; at++) {
        distances[at] = radar_measure_mm();
        sleep_ms(PAUSE_MS);
    }
    radar_sleep();
    double mean = trim_mean(distances);
    return (struct gauge_reading){
        .distance_mm = (uint16_t)lround(mean),
        .deviation_mm = (uint16_t)lround(measure_deviation(distances, mean)),
    };
}
