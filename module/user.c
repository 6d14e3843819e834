// SPDX-License-Identifier: GPL-2.0
/*
 * A file descriptor is bounded by its owner's limits, memory by the memory
 * cgroup.  Marks and parked tokens outlive both, so each user has a quota.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "user.h"

static unsigned int el_quotas[EL_QUOTAS] = {
	[EL_MARKS] = 65536,
	[EL_PARKED] = 4096,
};

module_param_named(marks_max, el_quotas[EL_MARKS], uint, 0644);
MODULE_PARM_DESC(marks_max, "Most abandoned marks and robust exclusive holds of a user");
module_param_named(parked_max, el_quotas[EL_PARKED], uint, 0644);
MODULE_PARM_DESC(parked_max, "Most parked tokens of a user");

/**
 * struct el_user - what is charged to one user
 * @node: in the table of users; its lock
 * @uid: the user, as the initial namespace knows it; constant
 * @used: how much of each quota
 * @refs: references: of tokens, marks and parked tokens
 */
struct el_user {
	struct hlist_node node;
	kuid_t uid;
	atomic_t used[EL_QUOTAS];
	refcount_t refs;
};

static DEFINE_SPINLOCK(el_users_lock);
static DEFINE_HASHTABLE(el_users, 6);

void el_users_exit(void)
{
	WARN_ON(!hash_empty(el_users));
}

static struct el_user *find(kuid_t uid)
{
	struct el_user *user;

	lockdep_assert_held(&el_users_lock);
	hash_for_each_possible(el_users, user, node, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid)) {
			refcount_inc(&user->refs);
			return user;
		}
	}
	return NULL;
}

/* el_user_get - a reference to the calling user, or NULL if there is no memory */
struct el_user *el_user_get(void)
{
	struct el_user *user, *fresh;

	spin_lock(&el_users_lock);
	user = find(current_uid());
	spin_unlock(&el_users_lock);
	if (user)
		return user;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	fresh->uid = current_uid();
	refcount_set(&fresh->refs, 1);
	spin_lock(&el_users_lock);
	user = find(fresh->uid);
	if (!user)
		hash_add(el_users, &fresh->node, __kuid_val(fresh->uid));
	spin_unlock(&el_users_lock);
	if (!user)
		return fresh;
	kfree(fresh);
	return user;
}

/* el_user_hold - one more reference */
struct el_user *el_user_hold(struct el_user *user)
{
	refcount_inc(&user->refs);
	return user;
}

/* el_user_put - give a reference back; NULL is allowed */
void el_user_put(struct el_user *user)
{
	bool last;

	if (!user)
		return;
	spin_lock(&el_users_lock);
	last = refcount_dec_and_test(&user->refs);
	if (last)
		hash_del(&user->node);
	spin_unlock(&el_users_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic_read(&user->used[EL_MARKS]) || atomic_read(&user->used[EL_PARKED]));
	kfree(user);
}

/**
 * el_user_charge - take from a user's quota
 * @user: the user
 * @quota: which
 * @count: how much
 *
 * A quota that was lowered takes nothing away.
 *
 * Return: false if there is not so much left.
 */
bool el_user_charge(struct el_user *user, enum el_quota quota, u32 count)
{
	u32 most = min_t(u32, READ_ONCE(el_quotas[quota]), INT_MAX / 2);

	if (!count || (u32)atomic_add_return(count, &user->used[quota]) <= most)
		return true;
	atomic_sub(count, &user->used[quota]);
	return false;
}

void el_user_uncharge(struct el_user *user, enum el_quota quota, u32 count)
{
	WARN_ON_ONCE(atomic_sub_return(count, &user->used[quota]) < 0);
}
