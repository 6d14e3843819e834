// SPDX-License-Identifier: GPL-2.0
/*
 * Marks: an entity, or the gate, whose robust holder has vanished is marked, and
 * every holder after it is told until one says that all is well again.
 *
 * A mark must not fail when the owner has vanished, so it is charged when the
 * lock is taken: a robust token reserves one for each of its exclusive holds,
 * for the user who locks it.  A hold that ends well gives its reservation back;
 * one that does not leaves it to the mark.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "mark.h"
#include "token.h"

static unsigned int marks_max = 65536;
module_param(marks_max, uint, 0644);
MODULE_PARM_DESC(marks_max, "Most marks and reservations of a user");

/**
 * struct el_user - what is charged to one user
 * @node: in the table of users; its lock
 * @uid: the user, as the initial namespace knows it; constant
 * @marks: marks and reservations
 * @refs: references of tokens, and one for each mark
 */
struct el_user {
	struct hlist_node node;
	kuid_t uid;
	atomic_t marks;
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

/* A reference to the caller's entry, or NULL if there is no memory. */
static struct el_user *user_get(void)
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

/* el_user_put - give a reference back; NULL is allowed */
void el_user_put(struct el_user *user)
{
	if (!user || !refcount_dec_and_lock(&user->refs, &el_users_lock))
		return;
	hash_del(&user->node);
	spin_unlock(&el_users_lock);
	WARN_ON_ONCE(atomic_read(&user->marks));
	kfree(user);
}

static bool charge(struct el_user *user, u32 count)
{
	if (atomic_add_return(count, &user->marks) <= (int)min_t(u32, READ_ONCE(marks_max), INT_MAX))
		return true;
	atomic_sub(count, &user->marks);
	return false;
}

/**
 * el_mark_reserve - charge the caller for marks that a token's holds may leave
 * @token: the token
 * @count: how many more
 *
 * The first one who locks a token robustly is charged as long as it lives.
 *
 * Context: the token's mutex is held; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int el_mark_reserve(struct el_token *token, u32 count)
{
	lockdep_assert_held(&token->mutex);
	if (!token->user)
		token->user = user_get();
	if (!token->user)
		return -ENOMEM;
	if (!charge(token->user, count))
		return -EDQUOT;
	atomic_add(count, &token->reserved);
	return 0;
}

/* el_mark_keep - give back what a token has reserved above @count */
void el_mark_keep(struct el_token *token, u32 count)
{
	int more = atomic_read(&token->reserved) - (int)count;

	lockdep_assert_held(&token->mutex);
	if (more <= 0)
		return;
	atomic_sub(more, &token->reserved);
	atomic_sub(more, &token->user->marks);
}

/**
 * el_mark_take - turn one reservation of a token into a mark
 * @token: a token with a reservation
 *
 * Return: who is charged for the mark, for el_mark_drop().
 */
struct el_user *el_mark_take(struct el_token *token)
{
	WARN_ON_ONCE(atomic_dec_return(&token->reserved) < 0);
	refcount_inc(&token->user->refs);
	return token->user;
}

/* el_mark_drop - a mark is gone; process context */
void el_mark_drop(struct el_user *user)
{
	atomic_dec(&user->marks);
	el_user_put(user);
}
