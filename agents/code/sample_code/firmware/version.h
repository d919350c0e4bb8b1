#ifndef VERSION_H
#define VERSION_H

/* Set by hand for each release; the gauge sends it with its first message. */
#define FIRMWARE_VERSION "1.0.3"

#endif
