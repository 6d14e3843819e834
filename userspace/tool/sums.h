/* SPDX-License-Identifier: GPL-2.0 */
/* Times that are summed up, each under a key. */
#ifndef SUMS_H
#define SUMS_H

#include <stdint.h>

/**
 * struct sum - of one key
 * @key: its text, which sums_add() has copied.
 * @count: how many times.
 * @total, @longest: of them, in nanoseconds.
 */
struct sum {
	const char *key;
	uint64_t count;
	uint64_t total;
	uint64_t longest;
};

void sums_add(const char *key, uint64_t ns);

/* Calls @each for each sum, that of the greatest total first. */
void sums_each(void (*each)(const struct sum *sum));

#endif /* SUMS_H */
