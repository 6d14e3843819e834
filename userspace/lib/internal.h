/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of libentitylock share with each other, and nobody else. */
#ifndef ENTITYLOCK_INTERNAL_H
#define ENTITYLOCK_INTERNAL_H

#include <stdbool.h>

#include "entitylock.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ioctl(2) that returns a negative errno. */
int __entitylock_ioctl(int fd, unsigned long request, void *arg);

/* close(2) that is no cancellation point. */
void __entitylock_close(int fd);

/*
 * A length as the kernel's structs have it.  One beyond @max is cut to one more
 * than @max, so that it cannot wrap to a valid one and the kernel refuses it.
 */
__u32 __entitylock_length(size_t len, size_t max);

/* An address as the kernel's structs have it. */
__u64 __entitylock_address(const void *p);

/* The decimal number, up to @max, that @text is; 0, or -EPROTO. */
int __entitylock_number(const char *text, uint64_t max, uint64_t *number);

/* The value of a hexadecimal digit, -1 for another character. */
int __entitylock_hex_digit(char c);

/* Takes over the options that the caller knows; 0, -EINVAL or -E2BIG. */
int __entitylock_options(const struct entitylock_options *given,
			 struct entitylock_options *opts);

/* Whether a request with these options may wait inside the call. */
bool __entitylock_blocks(const struct entitylock_options *opts);

/*
 * Runs a verb that may wait, with its argument @arg, whose flags are *@flags.
 * One that blocks is queued asynchronously where the module can do that: it may
 * come back pending, and __entitylock_finish() waits for it.  Returns what the
 * ioctl returned.
 */
int __entitylock_begin(int fd, unsigned long request, void *arg, __u32 *flags,
		       const struct entitylock_options *opts);

/*
 * Waits for what __entitylock_begin() left pending.  Returns 0 and the grant,
 * or a negative errno; the request is not pending any more.
 */
int __entitylock_finish(int token, bool restart, struct entitylock_grant *grant);

/*
 * Space to look up what was granted to each entity of a set after a wait: up to
 * @capacity entities of the token and their names.
 */
struct results;

struct results *__entitylock_results_alloc(unsigned int capacity);

/*
 * Writes version and result of each element of @set as the token has them;
 * @flags are those of INFO.  Returns what the ioctl returned.
 */
int __entitylock_results_copy(struct results *results, int token, __u32 flags,
			      struct entitylock_entity *set, unsigned int count);

#endif /* ENTITYLOCK_INTERNAL_H */
