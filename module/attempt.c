// SPDX-License-Identifier: GPL-2.0
/*
 * Attempts: how a token comes to hold what it wants.
 *
 * Every verb that locks is one thing: raise the mode of each hold of the set to
 * what it wants, in order, and wait where that is not possible at once.  LOCK
 * raises all from nothing; EXTEND has put new holds into the set, CONVERT has
 * raised what they want.  An operation passes the gate before its first hold.
 *
 * Who carries an attempt on:
 * - the verb, until it must wait;
 * - whoever gives an entity back, for the waiter in front: the hold is granted
 *   under the entity's lock, and if it is the last one of its attempt, so is
 *   the token, at once;
 * - the domain's worker, for the holds that come after one that was granted so,
 *   and for operations that a gate lets in.
 *
 * Who ends it: a deadline, a signal, UNLOCK, the last close.  They win or lose
 * against the grant under the token's lock: see el_token_grant() and
 * el_token_leave().  What was granted to a hold whose attempt has ended is
 * given back by whoever ended it.
 *
 * Locks: token's mutex, then one entity's lock, then a token's lock.  The second
 * token is the one that is granted; nobody takes two mutexes.
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "attempt.h"
#include "breakage.h"
#include "domain.h"
#include "entity.h"
#include "fence.h"
#include "order.h"
#include "token.h"
#include "wait.h"
#include "watch.h"

/* Most holds that are granted without letting go of the entity's lock. */
#define EL_BATCH	64

static void hold_granted(struct el_hold *hold)
{
	struct el_token *token = hold->token;

	lockdep_assert_held(&hold->entity->lock);
	token->floor = max(token->floor, hold->entity->fence);
	if (hold->last)
		el_token_grant(token);
	else
		el_token_todo(token);
}

/*
 * Between two batches the lock is free.  Order is kept: while somebody waits,
 * newcomers queue behind.
 */
static void grant_waiters(struct el_entity *entity)
{
	unsigned int batch = 0;
	struct el_hold *hold;

	lockdep_assert_held(&entity->lock);
	while (!el_break_lostwake() && (hold = el_queue_grant_next(&entity->queue))) {
		hold_granted(hold);
		if (++batch == EL_BATCH) {
			batch = 0;
			spin_unlock(&entity->lock);
			cond_resched();
			spin_lock(&entity->lock);
		}
	}
}

/**
 * hold_request() - raise a hold to what it wants, or let it wait for it
 * @hold: a hold that does not wait
 * @last: it is the last one that the attempt needs
 * @refusal: what to return in place of waiting, 0 to wait
 *
 * Return: 0, -EINPROGRESS, @refusal, or -EDEADLK where no wait would end.
 */
static int hold_request(struct el_hold *hold, bool last, int refusal)
{
	struct el_entity *entity = hold->entity;
	struct el_token *token = hold->token;
	int ret = 0;

	spin_lock(&entity->lock);
	if (unlikely(!entity->fence))
		entity->fence = el_fence_reclaimed(entity->hash);
	if (el_queue_try(&entity->queue, hold) || el_break_nolock()) {
		token->floor = max(token->floor, entity->fence);
	} else if (!el_queue_may_wait(&entity->queue, hold)) {
		ret = -EDEADLK;
	} else if (refusal) {
		ret = refusal;
	} else {
		hold->last = last;
		el_queue_wait(&entity->queue, hold);
		el_watch_notice(token->domain, entity);
		ret = -EINPROGRESS;
	}
	spin_unlock(&entity->lock);
	return ret;
}

/* Lower a hold to @mode, or let it wait no longer; those who wait come next. */
static void hold_lower(struct el_hold *hold, u8 mode)
{
	struct el_entity *entity = hold->entity;

	spin_lock(&entity->lock);
	if (hold->waiting)
		el_queue_leave(&entity->queue, hold);
	if (hold->mode > mode) {
		entity->fence = max(entity->fence, hold->token->fence);
		el_queue_lower(&entity->queue, hold, mode);
	}
	if (entity->queue.nr_waiters)
		grant_waiters(entity);
	spin_unlock(&entity->lock);
}

/*
 * No wait goes against the order: it is allowed only where everything else
 * that the token holds comes before.
 */
static bool against_order(const struct el_token *token, const struct el_hold *hold)
{
	return token->pos + (hold->mode ? 1 : 0) < token->top;
}

/* Raise the holds from @pos on.  Return: as hold_request(). */
static int walk(struct el_token *token, int refusal)
{
	lockdep_assert_held(&token->mutex);
	for (; token->pos < token->end; token->pos++) {
		struct el_hold *hold = token->set[token->pos];
		int ret;

		if (hold->mode >= hold->want)
			continue;
		ret = hold_request(hold, token->pos + 1 == token->end,
				   against_order(token, hold) ? -EDEADLK : refusal);
		if (ret)
			return ret;
	}
	return 0;
}

static int enter(struct el_token *token, int refusal)
{
	int ret;

	if (token->gate)
		ret = el_gate_request(token, !refusal);
	else
		ret = el_gate_enter(token, !refusal);
	return ret == -EAGAIN ? refusal : ret;
}

/* All that an attempt may need and cannot do without.  Return: 0 or -ENOMEM. */
static int prepare(struct el_token *token, const struct el_deadline *deadline, bool async)
{
	return async ? el_alarm_prepare(token, deadline) : 0;
}

static void leave_gate(struct el_token *token)
{
	if (READ_ONCE(token->entered))
		el_gate_exit(token);
	else
		el_gate_leave(token);
}

/* What begins an attempt remembers, so that it can be undone. */
static void begin(struct el_token *token, enum el_attempt_kind kind)
{
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	el_token_pend(token);
	token->kind = kind;
	token->floor = 0;
	token->pos = 0;
	token->end = 0;
	token->top = 0;
	el_for_each_hold(hold, token, i) {
		hold->undo = hold->base;
		hold->base = hold->mode;
		if (hold->mode)
			token->top = i + 1;
		if (hold->mode < hold->want)
			token->end = i + 1;
	}
}

/* Take the holds that were added for an attempt out of the set again. */
static void drop_added(struct el_token *token)
{
	struct el_hold *hold;
	u32 i, kept = 0;

	el_for_each_hold(hold, token, i) {
		if (hold->base) {
			hold->want = hold->base;
			hold->base = hold->undo;
			token->set[kept++] = hold;
		} else {
			el_watch_forget_hold(hold);
			el_hold_free(hold);
		}
	}
	token->count = kept;
}

/* Give back what an attempt has raised, whether it was granted or not. */
static void undo(struct el_token *token, enum el_attempt_kind kind)
{
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	el_for_each_hold(hold, token, i)
		hold_lower(hold, hold->base);
	if (kind == EL_RAISE)
		drop_added(token);
	else
		leave_gate(token);
}

static u8 state_before(enum el_attempt_kind kind)
{
	return kind == EL_LOCK ? ENTITYLOCK_IDLE : ENTITYLOCK_HELD;
}

/* End the running attempt.  Return: false if it has been granted before. */
static bool give_up(struct el_token *token, int error)
{
	if (!el_token_leave(token, ENTITYLOCK_PENDING))
		return false;
	undo(token, token->kind);
	el_token_left(token, state_before(token->kind), error);
	return true;
}

/* Give back all that a HELD token holds.  Return: false if it is not HELD. */
static bool release(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	if (!el_token_leave(token, ENTITYLOCK_HELD))
		return false;
	el_for_each_hold(hold, token, i)
		hold_lower(hold, 0);
	leave_gate(token);
	el_token_left(token, ENTITYLOCK_IDLE, 0);
	return true;
}

/**
 * attempt() - begin an attempt, and carry it as far as it goes at once
 * @token: a token whose set is as it shall become, prepare()d
 * @kind: what to raise
 * @deadline: until when to wait
 * @waiter: who will block, or NULL: nobody
 * @grant: output
 *
 * Return: 0 for a grant, -EINPROGRESS, or a negative errno, and the token is as
 * it was.
 */
static int attempt(struct el_token *token, enum el_attempt_kind kind,
		   const struct el_deadline *deadline, struct el_waiter *waiter,
		   struct el_grant *grant)
{
	int ret;

	lockdep_assert_held(&token->mutex);
	begin(token, kind);
	*grant = (struct el_grant){
		.kind = kind,
		.attempt = token->attempt,
		.before = token->fence,
	};

	ret = kind == EL_LOCK ? enter(token, deadline->refusal) : 0;
	if (!ret && !token->gate) {
		ret = walk(token, deadline->refusal);
		if (!ret)
			el_token_grant(token);
	}
	if (ret && ret != -EINPROGRESS) {
		give_up(token, ret);
		return ret;
	}
	if (ret && !waiter)
		el_alarm_arm(token, deadline);

	spin_lock(&token->lock);
	if (token->state == ENTITYLOCK_PENDING) {
		token->waiter = waiter;
		token->async = !waiter;
	} else {
		/* Granted, perhaps by another since it was to wait. */
		grant->fence = token->fence;
		ret = 0;
	}
	spin_unlock(&token->lock);
	return ret;
}

/* Block until the attempt has ended.  Return: its result. */
static int block(struct el_token *token, struct el_waiter *waiter,
		 const struct el_deadline *deadline, struct el_grant *grant)
{
	int ret = el_wait_sleep(waiter, deadline);

	if (ret) {
		mutex_lock(&token->mutex);
		if (READ_ONCE(token->waiter) == waiter)
			give_up(token, ret);
		mutex_unlock(&token->mutex);
	}
	/* Whoever told the waiter is done with it. */
	spin_lock(&token->lock);
	WARN_ON_ONCE(token->waiter == waiter);
	spin_unlock(&token->lock);
	grant->fence = waiter->fence;
	return waiter->result;
}

/* The end of a verb that made an attempt, after the token's mutex was let go. */
static int finish(struct el_token *token, int ret, struct el_waiter *waiter,
		  const struct el_deadline *deadline, struct el_grant *grant)
{
	if (ret == -EINPROGRESS && waiter)
		ret = block(token, waiter, deadline, grant);
	return ret;
}

/**
 * el_attempt_lock - lock an IDLE token
 * @token: the token
 * @deadline: until when to wait
 * @async: return -EINPROGRESS where it would wait
 * @grant: output, also with -EINPROGRESS
 *
 * Return: 0, -EINPROGRESS, -EBADFD, -EAGAIN, -ETIMEDOUT, -ERESTARTSYS,
 * -ECANCELED, -ENOMEM.
 */
int el_attempt_lock(struct el_token *token, const struct el_deadline *deadline, bool async,
		    struct el_grant *grant)
{
	struct el_waiter waiter = EL_WAITER_INIT;
	int ret;

	mutex_lock(&token->mutex);
	if (token->state != ENTITYLOCK_IDLE)
		ret = -EBADFD;
	else
		ret = prepare(token, deadline, async);
	if (!ret)
		ret = attempt(token, EL_LOCK, deadline, async ? NULL : &waiter, grant);
	mutex_unlock(&token->mutex);
	return finish(token, ret, async ? NULL : &waiter, deadline, grant);
}

static bool want_exclusive(struct el_token *token)
{
	bool more = false;
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i) {
		more |= hold->want != ENTITYLOCK_EXCLUSIVE;
		hold->want = ENTITYLOCK_EXCLUSIVE;
	}
	return more;
}

/**
 * el_attempt_upgrade - make every hold of a HELD token exclusive
 * @token: the token
 * @deadline: until when to wait
 * @async: return -EINPROGRESS where it would wait
 * @grant: output, also with -EINPROGRESS
 *
 * Where all are exclusive already nothing changes, the number neither.
 *
 * Return: as el_attempt_lock(), and -EDEADLK.
 */
int el_attempt_upgrade(struct el_token *token, const struct el_deadline *deadline, bool async,
		       struct el_grant *grant)
{
	struct el_waiter waiter = EL_WAITER_INIT;
	int ret;

	mutex_lock(&token->mutex);
	if (token->state != ENTITYLOCK_HELD)
		ret = -EBADFD;
	else
		ret = prepare(token, deadline, async);
	if (!ret) {
		*grant = (struct el_grant){ .fence = token->fence };
		if (want_exclusive(token))
			ret = attempt(token, EL_RAISE, deadline, async ? NULL : &waiter, grant);
	}
	mutex_unlock(&token->mutex);
	return finish(token, ret, async ? NULL : &waiter, deadline, grant);
}

/**
 * el_attempt_downgrade - make every hold of a HELD token shared
 * @token: the token
 * @fence: the number that the caller was told
 *
 * Return: 0, -EBADFD, or -EAGAIN if the number is another by now.
 */
int el_attempt_downgrade(struct el_token *token, u64 fence)
{
	struct el_hold *hold;
	int ret = 0;
	u32 i;

	mutex_lock(&token->mutex);
	if (token->state != ENTITYLOCK_HELD) {
		ret = -EBADFD;
	} else if (token->fence != fence) {
		ret = -EAGAIN;
	} else {
		el_for_each_hold(hold, token, i) {
			hold->want = ENTITYLOCK_SHARED;
			hold_lower(hold, ENTITYLOCK_SHARED);
		}
	}
	mutex_unlock(&token->mutex);
	return ret;
}

/*
 * Put more holds into the set.  Those whose entity is in it already raise what
 * its hold wants, and stay with the caller.
 */
static int add(struct el_token *token, struct el_extension *more)
{
	struct el_hold **set = more->set;
	struct el_hold *hold;
	u32 i, count;

	count = el_order_union(NULL, token->set, token->count, more->fresh, more->count);
	if (count > ENTITYLOCK_SET_MAX)
		return -E2BIG;
	if (count > more->room)
		return -ENOSPC;
	for (i = 0; i < more->count; i++) {
		hold = el_order_find(token->set, token->count, more->fresh[i]->entity);
		if (hold) {
			hold->want = max(hold->want, more->fresh[i]->want);
			more->spare[more->nr_spare++] = more->fresh[i];
		}
	}
	el_order_union(set, token->set, token->count, more->fresh, more->count);
	more->set = token->set;
	token->set = set;
	token->count = count;
	return 0;
}

/**
 * el_attempt_extend - raise a HELD token to more entities, or stronger modes
 * @token: the token
 * @more: holds to be added, and room for a larger set
 * @deadline: until when to wait
 * @async: return -EINPROGRESS where it would wait
 * @grant: output, also with -EINPROGRESS
 *
 * Return: as el_attempt_upgrade(), -E2BIG, or -ENOSPC if @more has not enough
 * room for the set; with these two and -EBADFD nothing of @more was taken.
 */
int el_attempt_extend(struct el_token *token, struct el_extension *more,
		      const struct el_deadline *deadline, bool async, struct el_grant *grant)
{
	struct el_waiter waiter = EL_WAITER_INIT;
	int ret;

	mutex_lock(&token->mutex);
	if (token->state != ENTITYLOCK_HELD)
		ret = -EBADFD;
	else
		ret = prepare(token, deadline, async);
	if (!ret)
		ret = add(token, more);
	if (!ret) {
		more->taken = true;
		ret = attempt(token, EL_RAISE, deadline, async ? NULL : &waiter, grant);
	}
	mutex_unlock(&token->mutex);
	return finish(token, ret, async ? NULL : &waiter, deadline, grant);
}

/* Is it that grant which the token holds, perhaps while it waits for more? */
static bool holds_grant(const struct el_token *token, u64 fence)
{
	if (token->state == ENTITYLOCK_PENDING && token->kind == EL_LOCK)
		return false;
	return token->fence == fence;
}

/**
 * el_attempt_unlock - end a wait, and give back what is held
 * @token: the token
 * @cancel: end a wait only, and keep what was held before it
 * @fence: the grant to give back, 0 for any
 *
 * Return: 0, -EBADFD or -ESTALE.
 */
int el_attempt_unlock(struct el_token *token, bool cancel, u64 fence)
{
	int ret = -EBADFD;

	mutex_lock(&token->mutex);
	if (token->state == ENTITYLOCK_IDLE)
		goto out;
	ret = -ESTALE;
	if (fence && !holds_grant(token, fence))
		goto out;
	ret = 0;
	if (give_up(token, -ECANCELED)) {
		if (!cancel)
			release(token);
	} else if (cancel) {
		ret = -EBADFD;
	} else if (fence && token->fence != fence) {
		/* It waited when we looked, and has been granted more since. */
		ret = -ESTALE;
	} else {
		release(token);
	}
out:
	mutex_unlock(&token->mutex);
	return ret;
}

/**
 * el_attempt_take_back - give a grant back as if it had never been made
 * @token: the token
 * @grant: what an attempt returned that its caller cannot tell of
 *
 * A grant is given back for as long as the token carries its number, and an
 * attempt that was to go on asynchronously for as long as no other followed.
 */
void el_attempt_take_back(struct el_token *token, const struct el_grant *grant)
{
	bool gave_up = false;

	if (grant->kind == EL_NOTHING)
		return;
	mutex_lock(&token->mutex);
	if (grant->fence ? !holds_grant(token, grant->fence) :
			   token->attempt != grant->attempt)
		goto out;
	if (!grant->fence || token->attempt != grant->attempt)
		gave_up = give_up(token, -ECANCELED);
	if ((grant->fence || !gave_up) && el_token_leave(token, ENTITYLOCK_HELD)) {
		undo(token, grant->kind);
		el_token_left(token, state_before(grant->kind), 0);
		token->fence = grant->before;
	}
out:
	mutex_unlock(&token->mutex);
}

static bool waits(struct el_token *token)
{
	struct el_hold *hold = token->set[token->pos];
	bool waiting;

	spin_lock(&hold->entity->lock);
	waiting = hold->waiting;
	spin_unlock(&hold->entity->lock);
	return waiting;
}

/**
 * el_attempt_advance - carry an attempt on, if there is something to be done
 * @token: the token
 *
 * Context: the domain's worker; the token may have ended, or do something else
 * than what it was queued for.
 */
void el_attempt_advance(struct el_token *token)
{
	int ret;

	mutex_lock(&token->mutex);
	if (READ_ONCE(token->state) != ENTITYLOCK_PENDING)
		goto out;
	if (el_alarm_rang(token)) {
		give_up(token, -ETIMEDOUT);
	} else if (!token->gate && READ_ONCE(token->entered) && !waits(token)) {
		ret = walk(token, 0);
		if (!ret)
			el_token_grant(token);
		else if (ret != -EINPROGRESS)
			give_up(token, ret);
	}
out:
	mutex_unlock(&token->mutex);
}

/**
 * el_attempt_end_token - the end of a token: give back all, free its set
 * @token: a token that no verb can reach any more
 */
void el_attempt_end_token(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	mutex_lock(&token->mutex);
	give_up(token, -ECANCELED);
	release(token);
	el_alarm_free(token);
	el_watch_forget(token);
	el_for_each_hold(hold, token, i)
		el_hold_free(hold);
	token->count = 0;
	mutex_unlock(&token->mutex);
}
