/* SPDX-License-Identifier: GPL-2.0 */
/* Times as people read them. */
#ifndef DURATION_H
#define DURATION_H

#include <stdint.h>

#define DURATION_TEXT	24	/* bytes of one, with the zero at its end */

/* Writes "3.2 s" or the like; returns @text. */
const char *duration(uint64_t ns, char text[DURATION_TEXT]);

/* The time of CLOCK_BOOTTIME, which those of processes are counted in. */
uint64_t boottime_now(void);

#endif /* DURATION_H */
