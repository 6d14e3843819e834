/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's allocator has given out, by /proc/slabinfo. */
#ifndef BENCH_SLABS_H
#define BENCH_SLABS_H

#include <stdbool.h>

struct slab_cache {
	char name[64];
	double bytes;
};

struct slabs {
	struct slab_cache caches[512];
	unsigned int count;
};

void slabs_read(struct slabs *slabs);
void slabs_settle(struct slabs *slabs);
/*
 * Bytes by which they have grown, for each of @number things, of all caches or
 * without those that the kernel has for any fd; caches that grew are shown as @what's.
 */
double slabs_growth(const struct slabs *before, const struct slabs *after, unsigned int number,
		    bool all, const char *what);

#endif
