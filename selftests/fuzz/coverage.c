// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kcov.h>

#include "coverage.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define PLACES_MAX	(64 * 1024)	/* of the code, in one call */

/* The number of places that were passed, and those. */
static __thread unsigned long *passed;

bool coverage_there(void)
{
	return !access(KCOV, R_OK | W_OK);
}

void coverage_start(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	if (ioctl(fd, KCOV_INIT_TRACE, PLACES_MAX))
		abort();
	passed = mmap(NULL, PLACES_MAX * sizeof(*passed), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	if (passed == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		abort();
	close(fd);
}

/* The memory is its parent's. */
void coverage_child(void)
{
	passed = NULL;
}

void coverage_begin(void)
{
	if (passed)
		__atomic_store_n(passed, 0, __ATOMIC_RELAXED);
}

static __u32 edge(unsigned long from, unsigned long to)
{
	__u64 hash = (from * 31 ^ to) * 0x9e3779b97f4a7c15ULL;

	return hash >> 32 & (EDGES_MAX - 1);
}

/* Lanes do it at the same time: an edge may be among the fresh ones twice. */
void coverage_end(struct edges *edges)
{
	unsigned long from = 0, count = passed ? __atomic_load_n(passed, __ATOMIC_RELAXED) : 0;

	for (unsigned long i = 1; i <= count; i++) {
		__u32 hash = edge(from, passed[i]);

		from = passed[i];
		if (edges->stamp[hash] == edges->run)
			continue;
		edges->stamp[hash] = edges->run;
		if (!edges->known[hash]) {
			__u32 place = __atomic_fetch_add(&edges->count, 1, __ATOMIC_RELAXED);

			if (place < FRESH_MAX)
				edges->fresh[place] = hash;
		}
	}
}

void edges_init(struct edges *edges, __u8 *known)
{
	edges->known = known;
	edges->stamp = calloc(EDGES_MAX, sizeof(*edges->stamp));
	if (!edges->stamp)
		abort();
}

void edges_new_run(struct edges *edges)
{
	edges->run++;
	edges->count = 0;
}

bool edges_reached(const struct edges *edges, const __u32 *these, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		if (edges->stamp[these[i]] != edges->run)
			return false;
	return true;
}

__u32 edges_keep_reached(const struct edges *edges, __u32 *these, __u32 count)
{
	__u32 kept = 0;

	for (__u32 i = 0; i < count; i++)
		if (edges->stamp[these[i]] == edges->run)
			these[kept++] = these[i];
	return kept;
}

void edges_learn(struct edges *edges, const __u32 *these, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		edges->known[these[i]] = 1;
}
