/* SPDX-License-Identifier: GPL-2.0 */
/* What is done again and again, until its time is over or a signal ends it. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From now on INT, TERM, HUP and QUIT end rounds, not the command; a closed pipe too.  Those
 * that were ignored from the start stay so.
 */
void rounds_begin(void);

/* Whether it is to end. */
bool rounds_ended(void);

/* Ends them. */
void rounds_end(void);

/*
 * Sleeps until @until of CLOCK_MONOTONIC, or there is something to read from @fd, -1 =
 * none, or a signal; whether there is.
 */
bool rounds_sleep(uint64_t until, int fd);

#endif /* ROUNDS_H */
