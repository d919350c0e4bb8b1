#ifndef RADIO_H
#define RADIO_H

#include "gauge.h"

/* LoRaWAN: messages of 14 bytes, kept for 30 days and sent again at night if they were missed. */
void radio_send(struct gauge_reading reading);
void radio_send_version(const char *version);
void radio_send_last_message(void);

#endif
