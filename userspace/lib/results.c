// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the token knows of its entities: versions and results.
 *
 * A request that was granted at once has its results in the caller's set.  One
 * that waited has them in the token, under the names and in the token's order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct results {
	unsigned int capacity;
	struct entitylock_entity entities[];
	/* followed by ENTITYLOCK_NAME_MAX bytes for the name of each */
};

struct results *__entitylock_results_alloc(unsigned int capacity)
{
	struct results *results;

	results = malloc(sizeof(*results) +
			 capacity * (sizeof(results->entities[0]) +
				     ENTITYLOCK_NAME_MAX));
	if (results)
		results->capacity = capacity;
	return results;
}

static const void *name_of(const struct entitylock_entity *entity)
{
	return (const void *)(uintptr_t)entity->name;
}

/* The order of names in a token: bytewise, a prefix first. */
static int compare(const void *a, const void *b)
{
	const struct entitylock_entity *x = a, *y = b;
	size_t common = x->name_len < y->name_len ? x->name_len : y->name_len;
	int order = memcmp(name_of(x), name_of(y), common);

	if (order)
		return order;
	return (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

int __entitylock_results_copy(struct results *results, int token, __u32 flags,
			      struct entitylock_entity *set, unsigned int count)
{
	struct entitylock_entity *entities = results->entities, *found;
	char *names = (char *)(entities + results->capacity);
	struct entitylock_info info = {
		.flags = flags,
		.entities = __entitylock_address(entities),
		.entity_size = sizeof(*entities),
		.capacity = results->capacity,
	};
	unsigned int i, nr;
	int err;

	for (i = 0; i < results->capacity; i++)
		entitylock_entity_init(&entities[i],
				       names + i * ENTITYLOCK_NAME_MAX,
				       ENTITYLOCK_NAME_MAX, 0);
	err = __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
	if (err)
		return err;
	/* Another thread may have extended the token by now. */
	nr = info.count < results->capacity ? info.count : results->capacity;

	for (i = 0; i < count; i++) {
		found = bsearch(&set[i], entities, nr, sizeof(*entities), compare);
		if (found) {
			set[i].version = found->version;
			set[i].result = found->result;
		}
	}
	return 0;
}

int entitylock_seen(int token, struct entitylock_entity *set, unsigned int count)
{
	struct entitylock_info info = {};
	struct results *results;
	int err;

	if (!count) {
		info.flags = ENTITYLOCK_SEEN;
		return __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
	}
	err = __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
	if (err)
		return err;
	results = __entitylock_results_alloc(info.count);
	if (!results)
		return -ENOMEM;
	err = __entitylock_results_copy(results, token, ENTITYLOCK_SEEN, set, count);
	free(results);
	return err;
}
