// SPDX-License-Identifier: GPL-2.0
/*
 * Slab bytes of an entity with a name of 16 bytes and one token, without what
 * the kernel itself has for any fd.
 */
#include "bench.h"

#define TOKENS	20000

static const char *const kernels_own[] = { "filp", "dentry", "lsm_file_cache" };

struct cache {
	char name[64];
	double bytes;
};

struct slabs {
	struct cache caches[512];
	unsigned int count;
};

static void read_slabs(struct slabs *slabs)
{
	FILE *file = fopen("/proc/slabinfo", "re");
	char line[1024];

	if (!file)
		fail("/proc/slabinfo");
	slabs->count = 0;
	while (fgets(line, sizeof(line), file) && slabs->count < ARRAY_SIZE(slabs->caches)) {
		struct cache *cache = &slabs->caches[slabs->count];
		unsigned long active, all, size;

		if (sscanf(line, "%63s %lu %lu %lu", cache->name, &active, &all, &size) != 4)
			continue;
		cache->bytes = (double)active * size;
		slabs->count++;
	}
	fclose(file);
}

static bool is_kernels_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels_own); i++)
		if (!strcmp(name, kernels_own[i]))
			return true;
	return false;
}

static void memory(struct bench_row *row)
{
	static struct slabs before, after;
	int domain = must(domain_open(O_RDWR));
	char name[17];
	double sum = 0;

	raise_fd_limit(2 * TOKENS);
	read_slabs(&before);
	for (unsigned int i = 0; i < TOKENS; i++) {
		snprintf(name, sizeof(name), "entity-%09u", i);
		must(hold(domain, name));
	}
	read_slabs(&after);
	for (unsigned int i = 0; i < after.count; i++) {
		double bytes = (after.caches[i].bytes - before.caches[i].bytes) / TOKENS;

		if (is_kernels_own(after.caches[i].name))
			continue;
		sum += bytes;
		if (bytes >= 1)
			fprintf(stderr, "bench: memory: %.0f bytes of %s\n", bytes,
				after.caches[i].name);
	}
	record(row, sum);
	close_range(domain, ~0U, 0);
}

static struct bench_row rows[] = {
	{ "memory", .unit = "bytes", .sample = memory },
};

const struct group memory_group = {
	.name = "memory",
	.rounds = 1,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
