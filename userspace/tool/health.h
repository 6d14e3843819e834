/* SPDX-License-Identifier: GPL-2.0 */
/* What "entitylock doctor" has found out, one thing after the other. */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>

#include "tool.h"

/* How it is: as it should be; worth to know; wrong, so that locking does not work. */
enum health { FINE, NOTE, WRONG };

/* Tells what @check found, in the format's words, and what to do, NULL = nothing. */
__printf(4, 5) void health_tell(enum health health, const char *check, const char *advice,
				const char *format, ...);

/* Begins and ends; the latter says whether all is well enough. */
void health_begin(bool json);
bool health_end(void);

/* What about the kernel and the module's file decides whether the module can be loaded. */
void check_kernel(void);
void check_secure_boot(void);
void check_module_file(void);
void check_module(void);
void check_tracing(void);

/* Whether the module is loaded. */
bool module_is_loaded(void);

#endif /* HEALTH_H */
