/* SPDX-License-Identifier: GPL-2.0 */
/* ACQUIRE, and sets of entities as userspace names them. */
#ifndef EL_ACQUIRE_H
#define EL_ACQUIRE_H

#include <linux/types.h>

struct el_domain;
struct el_token;
struct entitylock_acquire;

/**
 * struct el_set - a set as a caller has named it
 * @holds: the claims, in the caller's order
 * @count: their number
 * @one: @holds of a set of one
 */
struct el_set {
	struct el_hold **holds;
	u32 count;
	struct el_hold *one;
};

int el_set_read(struct el_set *set, struct el_token *token,
		const struct entitylock_acquire *args, bool first);
void el_set_free(struct el_set *set);
int el_set_write(const struct entitylock_acquire *args);

long el_acquire(struct el_domain *domain, unsigned int cmd, void __user *user);

#endif /* EL_ACQUIRE_H */
