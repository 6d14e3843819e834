/* SPDX-License-Identifier: GPL-2.0 */
/* An instance of the kernel's trace buffers, for this command alone. */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <stdbool.h>
#include <stddef.h>

/* What to do where there is none. */
#define TRACEFS_ADVICE	"mount it: mount -t tracefs none /sys/kernel/tracing"

/* Where tracefs is mounted, until the next call; NULL = it is not. */
const char *tracefs_root(void);

/*
 * Makes an instance, which tracefs_end() removes.  Returns EXIT_SUCCESS, or the exit
 * status after a message.
 */
int tracefs_begin(const char *sub);
void tracefs_end(void);

/* Traces an event of the module, if @filter, NULL = all, holds; the exit status. */
int tracefs_enable(const char *sub, const char *event, const char *filter);

/*
 * The next line, without its end, until the next call; NULL = there is none now.
 */
const char *tracefs_line(void);

#endif /* TRACEFS_H */
