// SPDX-License-Identifier: GPL-2.0
/*
 * All tokens take their entities in one order, bytewise by name, and wait for
 * one only while they hold none that comes after it.  So no two can wait for
 * each other (Havender, "Avoiding deadlock in multitasking systems", 1968).
 */
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "entity.h"
#include "order.h"
#include "queue.h"

/* el_order_compare - below, equal to or above 0; a prefix comes first */
int el_order_compare(const struct el_entity *a, const struct el_entity *b)
{
	int ret = memcmp(a->name, b->name, min(a->name_len, b->name_len));

	return ret ?: (int)a->name_len - (int)b->name_len;
}

static int compare_holds(const void *a, const void *b)
{
	struct el_hold *const *x = a, *const *y = b;

	return el_order_compare((*x)->entity, (*y)->entity);
}

/* el_order_sort - bring holds into order; linear if they are in order already */
void el_order_sort(struct el_hold **set, u32 count)
{
	u32 i;

	for (i = 1; i < count; i++) {
		if (compare_holds(&set[i - 1], &set[i]) > 0) {
			sort(set, count, sizeof(*set), compare_holds, NULL);
			return;
		}
	}
}

/* Of one entity named twice: the stronger mode, and the version that is expected. */
static void merge(struct el_hold *hold, const struct el_hold *other)
{
	hold->want = max(hold->want, other->want);
	if (!other->check)
		return;
	/* Two different ones: no version is U64_MAX. */
	hold->seen = hold->check && hold->seen != other->seen ? U64_MAX : other->seen;
	hold->check = true;
}

/**
 * el_order_unique - let each entity count once, with its strongest mode
 * @set: holds in order
 * @count: their number
 *
 * Return: the number of different entities.  Their holds come first now, in
 * order; the holds that are not needed come after them.
 */
u32 el_order_unique(struct el_hold **set, u32 count)
{
	u32 i, unique = 0;

	for (i = 0; i < count; i++) {
		if (unique && set[unique - 1]->entity == set[i]->entity) {
			merge(set[unique - 1], set[i]);
		} else {
			swap(set[unique], set[i]);
			unique++;
		}
	}
	return unique;
}

/**
 * el_order_union - merge two sets
 * @out: output, or NULL if only the number is asked for
 * @set: holds in order, each entity once
 * @count: their number
 * @fresh: more holds in order, each entity once
 * @nr_fresh: their number
 *
 * Of an entity that is in both, the hold in @set stays.
 *
 * Return: the number of different entities.
 */
u32 el_order_union(struct el_hold **out, struct el_hold **set, u32 count,
		   struct el_hold **fresh, u32 nr_fresh)
{
	u32 i = 0, j = 0, n = 0;

	while (i < count || j < nr_fresh) {
		struct el_hold *hold;
		int order;

		if (i == count)
			order = 1;
		else if (j == nr_fresh)
			order = -1;
		else
			order = compare_holds(&set[i], &fresh[j]);
		hold = order <= 0 ? set[i] : fresh[j];
		i += order <= 0;
		j += order >= 0;
		if (out)
			out[n] = hold;
		n++;
	}
	return n;
}

/* el_order_find - the hold on an entity in a set in order, or NULL */
struct el_hold *el_order_find(struct el_hold **set, u32 count, const struct el_entity *entity)
{
	u32 low = 0, high = count;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		int order = el_order_compare(set[mid]->entity, entity);

		if (!order)
			return set[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
