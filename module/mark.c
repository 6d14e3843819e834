// SPDX-License-Identifier: GPL-2.0
/*
 * Marks: an entity, or the gate, whose robust holder has vanished is marked, and
 * every holder after it is told until one says that all is well again.
 *
 * To mark must not fail when the owner has vanished, so it is charged when the
 * lock is taken: a robust token reserves a mark for each of its exclusive holds.
 * A hold that ends well gives its reservation back; one that does not leaves it
 * to the mark.
 */
#include <linux/atomic.h>
#include <linux/errno.h>

#include "mark.h"
#include "token.h"
#include "user.h"

/**
 * el_mark_reserve - charge the caller for marks that a token's holds may leave
 * @token: the token
 * @count: how many more
 *
 * The user who locks a token robustly first is charged as long as it lives.
 *
 * Context: the token's mutex is held; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int el_mark_reserve(struct el_token *token, u32 count)
{
	lockdep_assert_held(&token->mutex);
	if (!token->user)
		token->user = el_user_get();
	if (!token->user)
		return -ENOMEM;
	if (!el_user_charge(token->user, EL_MARKS, count))
		return -EDQUOT;
	atomic_add(count, &token->reserved);
	return 0;
}

/* el_mark_keep - give back what a token has reserved above @count */
void el_mark_keep(struct el_token *token, u32 count)
{
	int more;

	lockdep_assert_held(&token->mutex);
	/*
	 * Whoever takes a hold away takes its reservation before it ends the hold: if it
	 * was not counted any more, that is seen, too.
	 */
	smp_rmb();
	more = atomic_read(&token->reserved) - (int)count;
	if (more <= 0)
		return;
	atomic_sub(more, &token->reserved);
	el_user_uncharge(token->user, EL_MARKS, more);
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
	return el_user_hold(token->user);
}

/* el_mark_drop - a mark is gone */
void el_mark_drop(struct el_user *user)
{
	el_user_uncharge(user, EL_MARKS, 1);
	el_user_put(user);
}
