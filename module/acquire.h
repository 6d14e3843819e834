/* SPDX-License-Identifier: GPL-2.0 */
/* ACQUIRE, and sets of entities as userspace names them. */
#ifndef EL_ACQUIRE_H
#define EL_ACQUIRE_H

#include <linux/types.h>

#include "attempt.h"

struct el_domain;
struct el_entity;
struct el_hold;
struct el_token;
struct entitylock_acquire;

/**
 * struct el_named - an element of a set as its caller gave it
 * @entity: the entity
 * @expected: version that it should have, 0 = any
 */
struct el_named {
	struct el_entity *entity;
	u64 expected;
};

/**
 * struct el_set - a set as a caller has named it
 * @holds: the claims, in the order of names, each entity once
 * @count: their number
 * @named: the elements as they were given; while the caller is told of them
 *	each has a reference of its own if @pinned, else its claim's
 * @nr_named: their number
 * @pinned: the claims may be gone before that
 * @one_hold: @holds of a set of one
 * @one_named: @named of a set of one
 */
struct el_set {
	struct el_hold **holds;
	u32 count;
	struct el_named *named;
	u32 nr_named;
	bool pinned;
	struct el_hold *one_hold;
	struct el_named one_named;
};

int el_set_read(struct el_set *set, struct el_token *token,
		const struct entitylock_acquire *args, bool first);
void el_set_free_holds(struct el_set *set);
void el_set_free_named(struct el_set *set, struct el_domain *domain);
int el_set_write(const struct el_set *set, struct el_domain *domain,
		 const struct entitylock_acquire *args);

int el_acquire_results(const struct el_set *set, struct el_token *token,
		       const struct entitylock_acquire *args,
		       struct entitylock_acquire __user *user,
		       const struct el_grant *grant, int ret);
long el_acquire(struct el_domain *domain, u8 rights, unsigned int cmd, void __user *user,
		bool may_wait);

#endif /* EL_ACQUIRE_H */
