/* SPDX-License-Identifier: GPL-2.0 */
/* Users, and how much of what outlives file descriptors each may keep. */
#ifndef EL_USER_H
#define EL_USER_H

#include <linux/types.h>

struct el_user;

/* What is counted. */
enum el_quota {
	EL_MARKS,	/* marks, and what robust holds have reserved for them */
	EL_PARKED,	/* parked tokens */
	EL_QUOTAS,
};

void el_users_exit(void);
struct el_user *el_user_get(void);
struct el_user *el_user_hold(struct el_user *user);
void el_user_put(struct el_user *user);
bool el_user_charge(struct el_user *user, enum el_quota quota, u32 count);
void el_user_uncharge(struct el_user *user, enum el_quota quota, u32 count);

#endif /* EL_USER_H */
