// SPDX-License-Identifier: GPL-2.0
#include "bench.h"
#include "slabs.h"

static const char *const kernels_own[] = { "filp", "dentry", "lsm_file_cache" };

void slabs_read(struct slabs *slabs)
{
	FILE *file = fopen("/proc/slabinfo", "re");
	char line[1024];

	if (!file)
		fail("/proc/slabinfo");
	slabs->count = 0;
	while (fgets(line, sizeof(line), file) && slabs->count < ARRAY_SIZE(slabs->caches)) {
		struct slab_cache *cache = &slabs->caches[slabs->count];
		unsigned long active, all, size;

		if (sscanf(line, "%63s %lu %lu %lu", cache->name, &active, &all, &size) != 4)
			continue;
		cache->bytes = (double)active * size;
		slabs->count++;
	}
	fclose(file);
}

static double bytes_in(const struct slabs *slabs)
{
	double sum = 0;

	for (unsigned int i = 0; i < slabs->count; i++)
		sum += slabs->caches[i].bytes;
	return sum;
}

/* Read them when what was freed before, by RCU and in batches, has gone. */
void slabs_settle(struct slabs *slabs)
{
	unsigned int steady = 0;
	double last;

	slabs_read(slabs);
	while (steady < 10) {
		last = bytes_in(slabs);
		usleep(100000);
		slabs_read(slabs);
		steady = bytes_in(slabs) < last * 0.9999 ? 0 : steady + 1;
	}
}

static bool is_kernels_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels_own); i++)
		if (!strcmp(name, kernels_own[i]))
			return true;
	return false;
}

/* Modules come and go between benches, not within one: the order is the same. */
double slabs_growth(const struct slabs *before, const struct slabs *after, unsigned int number,
		    bool all, const char *what)
{
	double sum = 0, bytes;

	for (unsigned int i = 0; i < after->count; i++) {
		if (!all && is_kernels_own(after->caches[i].name))
			continue;
		bytes = (after->caches[i].bytes - before->caches[i].bytes) / number;
		sum += bytes;
		if (bytes >= 1)
			fprintf(stderr, "bench: %s: %.0f bytes of %s\n", what, bytes,
				after->caches[i].name);
	}
	return sum;
}
