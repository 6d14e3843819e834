/* SPDX-License-Identifier: GPL-2.0 */
/* The order of names, in which every set is taken.  Pure. */
#ifndef EL_ORDER_H
#define EL_ORDER_H

#include <linux/types.h>

struct el_entity;
struct el_hold;

int el_order_compare(const struct el_entity *a, const struct el_entity *b);
void el_order_sort(struct el_hold **set, u32 count);
u32 el_order_unique(struct el_hold **set, u32 count);
u32 el_order_union(struct el_hold **out, struct el_hold **set, u32 count,
		   struct el_hold **fresh, u32 nr_fresh);
struct el_hold *el_order_find(struct el_hold **set, u32 count, const struct el_entity *entity);

#endif /* EL_ORDER_H */
