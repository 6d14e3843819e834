// SPDX-License-Identifier: GPL-2.0
/* Times that are summed up. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sums.h"
#include "tool.h"

static void *tree;		/* of struct sum, by key */
static struct sum **sums;	/* all of them */
static size_t nr, size;

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct sum *)a)->key, ((const struct sum *)b)->key);
}

static int by_total(const void *a, const void *b)
{
	const struct sum *first = *(struct sum *const *)a, *second = *(struct sum *const *)b;

	return (first->total < second->total) - (first->total > second->total);
}

static struct sum *find_or_add(const char *key)
{
	struct sum wanted = { .key = key };
	struct sum *const *found = tfind(&wanted, &tree, by_key);
	struct sum *sum;

	if (found)
		return *found;
	if (nr == size) {
		size = size ? 2 * size : 64;
		sums = need(reallocarray(sums, size, sizeof(*sums)));
	}
	sum = need(calloc(1, sizeof(*sum)));
	sum->key = need(strdup(key));
	need(tsearch(sum, &tree, by_key));
	sums[nr++] = sum;
	return sum;
}

void sums_add(const char *key, uint64_t ns)
{
	struct sum *sum = find_or_add(key);

	sum->count++;
	sum->total += ns;
	if (ns > sum->longest)
		sum->longest = ns;
}

void sums_each(void (*each)(const struct sum *sum))
{
	size_t i;

	if (nr)
		qsort(sums, nr, sizeof(*sums), by_total);
	for (i = 0; i < nr; i++)
		each(sums[i]);
}
