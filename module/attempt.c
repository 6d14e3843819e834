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
 * - for the holds that come after one that was granted so, the thread that blocks,
 *   or the token's worker if none does;
 * - the domain's worker, for operations that a gate lets in.
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
#include "hold.h"
#include "lease.h"
#include "mark.h"
#include "order.h"
#include "park.h"
#include "token.h"
#include "trace.h"
#include "wait.h"
#include "watch.h"

/*
 * No wait goes against the order: it is allowed only where everything else
 * that the token holds comes before.
 */
static bool against_order(const struct el_token *token, const struct el_hold *hold)
{
	return token->pos + (READ_ONCE(hold->mode) ? 1 : 0) < token->top;
}

/* In loops over a set: no spinlock is held there, but the mutex is. */
static void yield_now_and_then(u32 i)
{
	if (i % EL_BATCH == EL_BATCH - 1)
		cond_resched();
}

/*
 * Raise the hold at @pos, @fresh if it is LOCK that has come to it: then nothing is
 * held that comes after it.  Return: as el_hold_request().
 */
static __always_inline int step(struct el_token *token, bool fresh, int refusal)
{
	struct el_hold *hold = token->set[token->pos];

	lockdep_assert_held(&token->mutex);
	if (!fresh && READ_ONCE(hold->mode) >= hold->want)
		return 0;
	if (!fresh && against_order(token, hold))
		refusal = -EDEADLK;
	return el_hold_request(hold, token->pos + 1 == token->end, refusal);
}

/*
 * Raise the holds from @pos on.  Return: as step(), or why not to go on: after the
 * last one it is conclude() that finds that.
 */
static __always_inline int walk(struct el_token *token, bool fresh, int refusal)
{
	int ret;

	while (token->pos < token->end) {
		ret = step(token, fresh, refusal);
		if (ret)
			return ret;
		if (++token->pos == token->end)
			break;
		if (token->refused)
			return token->refused;
		if (READ_ONCE(token->state) == ENTITYLOCK_LOST)
			return -ESTALE;
		yield_now_and_then(token->pos - 1);
	}
	return 0;
}

static int enter(struct el_token *token, int refusal)
{
	int ret;

	if (token->gate)
		ret = el_gate_request(token, !refusal);
	else
		ret = el_gate_enter(&token->domain->gate, token, !refusal);
	return ret == -EAGAIN ? refusal : ret;
}

/*
 * All that an attempt for more may need and cannot do without, if the token holds
 * something, for a time that is not over.  Return: 0, -ESTALE, -EBADFD, -ENOMEM, -ETIME.
 */
static int prepare_raise(struct el_token *token, const struct el_deadline *deadline, bool async)
{
	int ret;

	lockdep_assert_held(&token->mutex);
	ret = el_token_check(token, ENTITYLOCK_HELD);
	if (!ret && async)
		ret = el_alarm_prepare(token, deadline);
	return !ret && el_lease_expired(token) ? -ETIME : ret;
}

static __always_inline void leave_gate(struct el_token *token, enum el_end how)
{
	if (token->entered)
		el_gate_exit(&token->domain->gate, token);
	else
		el_gate_leave(token, how);
}

/* Give back the reservations that no hold of the token can turn into a mark. */
static void settle_marks(struct el_token *token)
{
	struct el_hold *hold;
	u32 i, needed = 0;

	if (likely(!token->robust))
		return;
	el_for_each_hold(hold, token, i)
		needed += READ_ONCE(hold->mode) == ENTITYLOCK_EXCLUSIVE;
	el_mark_keep(token, needed);
}

/* Which part of the set the attempt must raise, and which it must not wait against. */
static void find_ends(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	token->end = 0;
	token->top = 0;
	el_for_each_hold(hold, token, i) {
		u8 mode = READ_ONCE(hold->mode);

		if (mode)
			token->top = i + 1;
		if (mode < hold->want)
			token->end = i + 1;
	}
}

/* What is traced stays out of the way of what is not. */
static noinline void trace_request(struct el_token *token)
{
	el_trace(request, token, el_trace_first(token));
}

/* A new attempt.  Return: false if the token is LOST. */
static __always_inline bool begin(struct el_token *token, enum el_attempt_kind kind)
{
	lockdep_assert_held(&token->mutex);
	if (kind == EL_LOCK)
		el_token_pend(token, kind);
	else if (!el_token_raise(token))
		return false;
	if (trace_entitylock_request_enabled())
		trace_request(token);
	token->result = 0;
	token->refused = 0;
	token->pos = 0;
	if (kind == EL_LOCK) {
		token->end = token->count;
		token->top = 0;
	} else {
		find_ends(token);
	}
	return true;
}

/* Take the holds that an attempt has added out of the set again. */
static void drop_added(struct el_token *token, u32 attempt)
{
	struct el_hold *hold;
	u32 i, kept = 0;

	el_for_each_hold(hold, token, i) {
		if (hold->added != attempt) {
			token->set[kept++] = hold;
			continue;
		}
		el_watch_forget_hold(hold);
		el_hold_free(hold);
	}
	WRITE_ONCE(token->count, kept);
}

/* What is held is what is wanted: an attempt for more has ended. */
static void want_no_more(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i)
		hold->want = READ_ONCE(hold->mode);
}

/* The set of an IDLE token as it was before an attempt that had raised it. */
static void restore_set(struct el_token *token, u32 attempt)
{
	struct el_hold *hold;
	u32 i;

	drop_added(token, attempt);
	el_for_each_hold(hold, token, i) {
		if (hold->raised == attempt)
			hold->want = ENTITYLOCK_SHARED;
	}
}

/*
 * Give back what an attempt has raised, whether it was granted or not: what each
 * hold had before stays, or less, if it was lowered since.
 */
static void undo(struct el_token *token, enum el_attempt_kind kind, u32 attempt)
{
	enum el_end how = token->granted == attempt ? EL_TAKEN_BACK : EL_UNDONE;
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	el_for_each_hold(hold, token, i) {
		el_hold_undo(hold, kind, attempt, how);
		yield_now_and_then(i);
	}
	if (kind == EL_RAISE) {
		drop_added(token, attempt);
		want_no_more(token);
	} else {
		leave_gate(token, how);
	}
	settle_marks(token);
}

static u8 state_before(enum el_attempt_kind kind)
{
	return kind == EL_LOCK ? ENTITYLOCK_IDLE : ENTITYLOCK_HELD;
}

/* give_up() of an attempt that has not ended, or not long ago. */
static noinline bool end_attempt(struct el_token *token, int error)
{
	if (!el_token_leave(token, ENTITYLOCK_PENDING))
		return false;
	el_trace(cancel, token, el_trace_first(token), error);
	undo(token, token->kind, token->attempt);
	el_token_left(token, state_before(token->kind), error);
	return true;
}

/*
 * End the running attempt, if there was one when @state was read.  Only the mutex's
 * owner leads to that state: no need for a closer look.
 */
static __always_inline bool give_up_from(struct el_token *token, u8 state, int error)
{
	return unlikely(state == ENTITYLOCK_PENDING) && end_attempt(token, error);
}

/* End the running attempt.  Return: false if it has been granted before. */
static bool give_up(struct el_token *token, int error)
{
	/* Acquire: whoever sees that it was granted also sees what (el_token_set_state()). */
	return give_up_from(token, smp_load_acquire(&token->state), error);
}

static noinline void trace_release(struct el_token *token, enum el_end how)
{
	if (token->gate)
		el_trace(gate_release, token, NULL, how, el_token_age(token));
	else
		el_trace(release, token, el_trace_first(token), how, el_token_age(token));
}

static __always_inline void note_release(struct el_token *token, enum el_end how)
{
	if (trace_entitylock_release_enabled() || trace_entitylock_gate_release_enabled())
		trace_release(token, how);
}

static void end_holds(struct el_token *token, enum el_end how)
{
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	el_for_each_hold(hold, token, i) {
		el_hold_end(hold, how);
		yield_now_and_then(i);
	}
	leave_gate(token, how);
	settle_marks(token);
}

/* The holder says that all is well: whoever comes next is not told any more. */
static void drop_marks(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	if (token->gate)
		el_gate_drop_mark(token->domain);
	el_for_each_hold(hold, token, i) {
		el_hold_drop_mark(hold);
		yield_now_and_then(i);
	}
}

/*
 * Give back all that a HELD token holds, if it is; @error is kept for those who poll.
 * Marks are dropped when nobody can take anything from it any more.
 */
static __always_inline void release(struct el_token *token, enum el_end how, bool consistent,
				    int error)
{
	if (!el_token_leave(token, ENTITYLOCK_HELD))
		return;
	note_release(token, how);
	if (consistent)
		drop_marks(token);
	end_holds(token, how);
	el_token_left(token, ENTITYLOCK_IDLE, error);
}

/*
 * A token with a lease holds something: let those who wait for it know when the
 * lease ends, or end it if it has.
 */
static void see_to_lease(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	if (likely(!READ_ONCE(token->lease_end)))
		return;
	if (el_watch_waiters(token) &&
	    el_token_expire(token, el_trace_first(token)) == EL_LOST) {
		end_holds(token, EL_VANISHED);
		return;
	}
	el_for_each_hold(hold, token, i)
		el_hold_lease(hold);
	if (token->gate)
		el_gate_lease(token);
	else if (token->entered && READ_ONCE(token->domain->gate.closing))
		el_lease_notice_gate(token->domain);
}

/* The attempt has all that it wants.  Return: 0, or why it is not granted. */
static int conclude(struct el_token *token)
{
	if (!el_token_grant(token))
		return token->refused ?: -ESTALE;
	see_to_lease(token);
	return 0;
}

/*
 * An attempt has not ended at once: who shall be told when it has?
 * Return: 0 if it has been granted meanwhile, -EINPROGRESS or -ESTALE.
 */
static int await_grant(struct el_token *token, const struct el_deadline *deadline,
		       struct el_waiter *waiter)
{
	int ret = -EINPROGRESS;

	spin_lock(&token->lock);
	if (token->state == ENTITYLOCK_HELD) {
		ret = 0;
	} else if (token->state == ENTITYLOCK_LOST) {
		ret = -ESTALE;
	} else {
		WRITE_ONCE(token->waiter, waiter);
		if (!waiter) {
			token->async = true;
			WRITE_ONCE(token->error, 0);
			el_alarm_arm(token, deadline);
		}
	}
	spin_unlock(&token->lock);
	return ret;
}

/**
 * attempt() - begin an attempt, and carry it as far as it goes at once
 * @token: a token whose set is as it shall become, prepare()d
 * @kind: what to raise
 * @deadline: until when to wait
 * @grant: output, zero before
 *
 * Return: 0 for a grant; -EINPROGRESS, for finish(); or another negative errno, and
 * the token is as it was.
 */
static __always_inline int attempt(struct el_token *token, enum el_attempt_kind kind,
				   const struct el_deadline *deadline, struct el_grant *grant)
{
	int ret;

	lockdep_assert_held(&token->mutex);
	if (!begin(token, kind))
		return -ESTALE;
	grant->kind = kind;
	grant->attempt = token->attempt;
	grant->before = token->fence;
	grant->granted_before = token->granted;
	grant->error = READ_ONCE(token->error);

	ret = kind == EL_LOCK ? enter(token, deadline->refusal) : 0;
	if (!ret && !token->gate) {
		ret = walk(token, kind == EL_LOCK, deadline->refusal);
		if (!ret)
			ret = conclude(token);
	}
	if (unlikely(ret == -EINPROGRESS))
		return ret;
	if (unlikely(ret)) {
		grant->result = token->result;
		/* Nobody can have granted it: otherwise it was taken. */
		return give_up(token, ret) ? ret : -ESTALE;
	}
	/* Another may have taken it already; number and result stay. */
	if (READ_ONCE(token->state) == ENTITYLOCK_LOST)
		return -ESTALE;
	grant->fence = token->fence;
	grant->result = token->result;
	return 0;
}

/* A token whose hold at @pos does not wait (any more) goes on to the next. */
static void go_on(struct el_token *token)
{
	int ret;

	el_break_dawdle();
	if (el_hold_waits(token->set[token->pos]))
		return;
	ret = token->refused ?: walk(token, false, 0);
	if (!ret)
		ret = conclude(token);
	if (ret != -EINPROGRESS)
		give_up(token, ret);
}

/*
 * Whoever granted or lost the attempt has told its waiter when he lets go of the
 * lock, and is done with the waiter's memory.  He must not be waited for by looking
 * again and again: he may be one whom the scheduler does not like.
 */
static void wait_until_told(struct el_token *token)
{
	spin_lock(&token->lock);
	spin_unlock(&token->lock);
}

/* Block until the attempt has ended.  Return: its result. */
static int block(struct el_token *token, struct el_waiter *waiter, enum el_cause cause,
		 const struct el_deadline *deadline, struct el_grant *grant)
{
	struct el_blocked blocked;
	int ret;

	el_blocked_begin(&blocked, token, cause);
	for (;;) {
		ret = el_wait_sleep(waiter, deadline);
		if (READ_ONCE(waiter->result) != -EINPROGRESS)
			break;
		mutex_lock(&token->mutex);
		WRITE_ONCE(waiter->step, false);
		/* Otherwise it was granted, or ended by another: the result is there. */
		if (READ_ONCE(token->waiter) == waiter) {
			if (!ret)
				go_on(token);
			else if (!give_up(token, ret))
				wait_until_told(token);
		} else {
			wait_until_told(token);
		}
		mutex_unlock(&token->mutex);
	}
	wait_until_told(token);
	WARN_ON_ONCE(READ_ONCE(token->waiter) == waiter);
	el_blocked_end(&blocked, token, waiter->result);
	grant->fence = waiter->fence;
	grant->result = waiter->told;
	return waiter->result;
}

/* An attempt waits: for this thread, or for whoever polls.  Lets the mutex go. */
static noinline int go_wait(struct el_token *token, const struct el_deadline *deadline,
			    bool async, enum el_cause cause, struct el_grant *grant)
{
	struct el_waiter waiter = EL_WAITER_INIT;
	int ret;

	ret = await_grant(token, deadline, async ? NULL : &waiter);
	if (!ret) {
		grant->fence = token->fence;
		grant->result = token->result;
	}
	mutex_unlock(&token->mutex);
	if (ret == -EINPROGRESS && !async)
		ret = block(token, &waiter, cause, deadline, grant);
	return ret;
}

/* The end of a verb that made an attempt, if @ret says so.  Lets the mutex go. */
static int finish(struct el_token *token, int ret, const struct el_deadline *deadline,
		  bool async, enum el_cause cause, struct el_grant *grant)
{
	if (unlikely(ret == -EINPROGRESS))
		return go_wait(token, deadline, async, cause, grant);
	mutex_unlock(&token->mutex);
	return ret;
}

static u32 count_wanted(struct el_hold **set, u32 count, u8 mode)
{
	u32 i, wanted = 0;

	for (i = 0; i < count; i++)
		wanted += set[i]->want == mode;
	return wanted;
}

/*
 * IF_UNCHANGED: each hold must find its entity as its token last saw it.  Looked
 * at now, so that nobody waits in vain, and again when it is granted.
 */
static int check_unchanged(struct el_hold **set, u32 count)
{
	bool changed = false;
	u32 i;

	for (i = 0; i < count; i++)
		changed |= set[i]->check && el_hold_changed(set[i]);
	return changed ? -ESTALE : 0;
}

/* Is it a token that can be locked on these terms? */
static int check_terms(const struct el_token *token, const struct el_terms *terms)
{
	int ret = el_token_check(token, ENTITYLOCK_IDLE);

	/* The lease of parking goes on. */
	return !ret && token->parking && terms->lease ? -EINVAL : ret;
}

/*
 * The gate takes what it can get, even if it will not wait for the rest; but not for
 * a token that cannot be locked.
 */
static int sweep_for_gate(struct el_token *token, const struct el_terms *terms)
{
	int ret;

	mutex_lock(&token->mutex);
	ret = check_terms(token, terms);
	mutex_unlock(&token->mutex);
	if (!ret)
		el_lease_sweep(token->domain, el_attempt_expire);
	return ret;
}

/* The terms on which an IDLE token is locked. */
static int set_terms(struct el_token *token, const struct el_terms *terms,
		     struct el_grant *grant)
{
	int ret;
	u32 i;

	ret = el_lease_prepare(token, terms->lease);
	if (ret)
		return ret;
	if (!token->parking)
		token->lease_len = terms->lease;
	token->robust = terms->robust;
	token->checks = terms->unchanged;
	if (unlikely(terms->unchanged)) {
		for (i = 0; i < token->count && !terms->given; i++)
			token->set[i]->check = token->set[i]->seen;
		ret = check_unchanged(token->set, token->count);
		if (ret) {
			grant->result = ENTITYLOCK_CHANGED;
			return ret;
		}
	}
	if (likely(!token->robust))
		return 0;
	return el_mark_reserve(token, token->gate + count_wanted(token->set, token->count,
								 ENTITYLOCK_EXCLUSIVE));
}

/**
 * el_attempt_lock - lock an IDLE token
 * @token: the token
 * @terms: on what terms
 * @deadline: until when to wait
 * @async: return -EINPROGRESS where it would wait
 * @grant: output, also with -EINPROGRESS
 *
 * Return: 0, -EINPROGRESS, -EBADFD, -EAGAIN, -ETIMEDOUT, -ERESTARTSYS,
 * -ECANCELED, -ENOMEM; -ESTALE for a LOST token, or one that was broken while it
 * waited, or an entity that has changed; -EDQUOT.
 */
int el_attempt_lock(struct el_token *token, const struct el_terms *terms,
		    const struct el_deadline *deadline, bool async, struct el_grant *grant)
{
	int ret;

	if (token->gate) {
		ret = sweep_for_gate(token, terms);
		if (ret)
			return ret;
	}
	mutex_lock(&token->mutex);
	ret = check_terms(token, terms);
	if (!ret && async)
		ret = el_alarm_prepare(token, deadline);
	if (!ret)
		ret = set_terms(token, terms, grant);
	if (!ret)
		ret = attempt(token, EL_LOCK, deadline, grant);
	return finish(token, ret, deadline, async, EL_FOR_ENTITY, grant);
}

/* LOCK is what is called most: it has the attempt inline, the others share this one. */
static noinline int raise(struct el_token *token, const struct el_deadline *deadline,
			  struct el_grant *grant)
{
	return attempt(token, EL_RAISE, deadline, grant);
}

static void want_exclusive(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i) {
		hold->want = ENTITYLOCK_EXCLUSIVE;
		hold->check = false;
	}
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
	u32 shared;
	int ret;

	mutex_lock(&token->mutex);
	ret = prepare_raise(token, deadline, async);
	if (ret)
		goto out;
	shared = count_wanted(token->set, token->count, ENTITYLOCK_SHARED);
	if (!shared) {
		grant->fence = token->fence;
		el_token_succeeded(token);
		goto out;
	}
	if (token->robust)
		ret = el_mark_reserve(token, shared);
	if (ret)
		goto out;
	want_exclusive(token);
	ret = raise(token, deadline, grant);
out:
	return finish(token, ret, deadline, async, EL_FOR_CONVERT, grant);
}

/**
 * el_attempt_downgrade - make every hold of a HELD token shared
 * @token: the token
 * @fence: the number that the caller was told
 *
 * Return: 0, -EBADFD, -ESTALE, or -EAGAIN if the number is another by now.
 */
int el_attempt_downgrade(struct el_token *token, u64 fence)
{
	struct el_hold *hold;
	int ret;
	u32 i;

	mutex_lock(&token->mutex);
	ret = el_token_check(token, ENTITYLOCK_HELD);
	if (!ret && token->fence != fence)
		ret = -EAGAIN;
	if (!ret) {
		el_for_each_hold(hold, token, i) {
			if (!el_hold_downgrade(hold))
				break;
			hold->want = ENTITYLOCK_SHARED;
			yield_now_and_then(i);
		}
		ret = i < token->count ? -ESTALE : 0;
	}
	if (!ret) {
		settle_marks(token);
		el_token_succeeded(token);
		el_trace(convert, token, el_trace_first(token));
	}
	mutex_unlock(&token->mutex);
	return ret;
}

/* How many holds will be exclusive that are not, or are not there yet. */
static u32 count_more_exclusive(const struct el_token *token, const struct el_extension *more)
{
	const struct el_hold *hold;
	u32 i, count = 0;

	for (i = 0; i < more->count; i++) {
		if (more->fresh[i]->want != ENTITYLOCK_EXCLUSIVE)
			continue;
		hold = el_order_find(token->set, token->count, more->fresh[i]->entity);
		count += !hold || hold->want != ENTITYLOCK_EXCLUSIVE;
	}
	return count;
}

/*
 * Put more holds into the set.  Those whose entity is in it already raise what
 * its hold wants, and stay with the caller.
 */
static int add(struct el_token *token, struct el_extension *more)
{
	struct el_hold **set = more->set;
	struct el_hold *hold;
	u32 i, count, attempt = el_token_next_attempt(token);

	count = el_order_union(NULL, token->set, token->count, more->fresh, more->count);
	if (count > ENTITYLOCK_SET_MAX)
		return -E2BIG;
	if (count > more->room)
		return -ENOSPC;
	for (i = 0; i < more->count; i++) {
		more->fresh[i]->added = attempt;
		hold = el_order_find(token->set, token->count, more->fresh[i]->entity);
		if (hold) {
			hold->want = max(hold->want, more->fresh[i]->want);
			hold->check = false;
			more->spare[more->nr_spare++] = more->fresh[i];
		}
	}
	el_order_union(set, token->set, token->count, more->fresh, more->count);
	more->set = token->set;
	token->set = set;
	WRITE_ONCE(token->count, count);
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
 * room for the set.
 */
int el_attempt_extend(struct el_token *token, struct el_extension *more,
		      const struct el_deadline *deadline, bool async, struct el_grant *grant)
{
	int ret;

	mutex_lock(&token->mutex);
	ret = prepare_raise(token, deadline, async);
	if (!ret)
		ret = check_unchanged(more->fresh, more->count);
	if (ret == -ESTALE && READ_ONCE(token->state) != ENTITYLOCK_LOST)
		grant->result = ENTITYLOCK_CHANGED;
	if (!ret && token->robust)
		ret = el_mark_reserve(token, count_more_exclusive(token, more));
	if (!ret) {
		ret = add(token, more);
		if (ret)
			settle_marks(token);
	}
	if (!ret) {
		more->taken = true;
		token->checks = true;
		ret = raise(token, deadline, grant);
	}
	return finish(token, ret, deadline, async, EL_FOR_EXTEND, grant);
}

/* Is it that grant which the token holds, perhaps while it waits for more? */
static bool holds_grant(const struct el_token *token, u64 fence)
{
	if (READ_ONCE(token->state) == ENTITYLOCK_PENDING && token->kind == EL_LOCK)
		return false;
	return READ_ONCE(token->fence) == fence;
}

/**
 * el_attempt_unlock - end a wait, and give back what is held
 * @token: the token
 * @flags: ENTITYLOCK_CANCEL: end a wait only, and keep what was held before it;
 *	ENTITYLOCK_UNCHANGED, ENTITYLOCK_CONSISTENT
 * @fence: the grant to give back, 0 for any
 *
 * Return: 0, -EBADFD or -ESTALE.
 */
int el_attempt_unlock(struct el_token *token, u32 flags, u64 fence)
{
	enum el_end how = flags & ENTITYLOCK_UNCHANGED ? EL_UNCHANGED : EL_UNLOCKED;
	bool cancel = flags & ENTITYLOCK_CANCEL;
	int ret, error = 0;
	u8 state;

	mutex_lock(&token->mutex);
	/* Acquire: whoever sees that it was granted also sees what (el_token_set_state()). */
	state = smp_load_acquire(&token->state);
	ret = -EBADFD;
	if (state == ENTITYLOCK_IDLE)
		goto out;
	ret = -ESTALE;
	if (state == ENTITYLOCK_LOST)
		goto out;
	if (fence && !holds_grant(token, fence))
		goto out;
	ret = 0;
	if (give_up_from(token, state, -ECANCELED)) {
		/* Whoever polls for the outcome of the wait is told by this. */
		error = -ECANCELED;
		if (cancel)
			goto out;
	} else if (cancel) {
		ret = el_token_check(token, ENTITYLOCK_PENDING);
		goto out;
	} else if (fence && token->fence != fence) {
		/* It waited when we looked, and has been granted more since. */
		ret = -ESTALE;
		goto out;
	}
	release(token, how, flags & ENTITYLOCK_CONSISTENT, error);
	if (READ_ONCE(token->state) == ENTITYLOCK_LOST)
		ret = -ESTALE;
out:
	mutex_unlock(&token->mutex);
	return ret;
}

/**
 * el_attempt_take_back - give a grant back as if it had never been made
 * @token: the token
 * @grant: what an attempt has brought that its caller cannot be told of
 *
 * An attempt that goes on is ended.  One that was granted is undone if it was
 * the last that was, that is, if the token still carries its number; an attempt
 * for more that goes on meanwhile is ended first, or has won.  Of one whose holds were
 * given back meanwhile the set remains: it becomes what it was.
 */
void el_attempt_take_back(struct el_token *token, const struct el_grant *grant)
{
	bool back = false;

	if (grant->kind == EL_NOTHING)
		return;
	mutex_lock(&token->mutex);
	if (token->attempt == grant->attempt)
		back = give_up(token, 0);
	else if (READ_ONCE(token->granted) == grant->attempt &&
		 (token->kind == EL_RAISE || grant->kind == EL_RAISE))
		give_up(token, -ECANCELED);
	if (token->granted == grant->attempt && el_token_leave(token, ENTITYLOCK_HELD)) {
		note_release(token, EL_TAKEN_BACK);
		undo(token, grant->kind, grant->attempt);
		el_token_ungrant(token, grant->before, grant->granted_before);
		el_token_left(token, state_before(grant->kind), 0);
		back = true;
	} else if (token->granted == grant->attempt && grant->kind == EL_RAISE &&
		   READ_ONCE(token->state) == ENTITYLOCK_IDLE) {
		restore_set(token, grant->attempt);
	}
	if (back && grant->error)
		el_token_failed(token, grant->error);
	mutex_unlock(&token->mutex);
}

/**
 * el_attempt_renew - begin the lease anew
 * @token: the token
 * @lease: its duration, 0 = the last one again
 *
 * While the token waits and holds nothing, this is how long the lease will be.
 *
 * Return: 0, -EINVAL for nothing to repeat, or what is too long by now, -EBADFD,
 * -ESTALE, -ENOMEM.
 */
int el_attempt_renew(struct el_token *token, u64 lease)
{
	int ret;

	mutex_lock(&token->mutex);
	/* If it has run out and somebody wants it, it is too late. */
	see_to_lease(token);
	ret = el_token_check(token, ENTITYLOCK_HELD);
	if (ret == -EBADFD && (token->parking || READ_ONCE(token->state) != ENTITYLOCK_IDLE))
		ret = 0;
	if (!ret && !lease && (!token->lease_len || !el_lease_valid(token->lease_len)))
		ret = -EINVAL;
	if (!ret)
		ret = el_lease_prepare(token, lease);
	if (ret)
		goto out;
	ret = el_token_renew(token, lease ?: token->lease_len);
	see_to_lease(token);
out:
	mutex_unlock(&token->mutex);
	return ret;
}

/**
 * el_attempt_park - a token begins to live without an fd
 * @token: a HELD or IDLE token
 * @lease: how long at most, 0 = for as long as its lease runs
 *
 * Context: the token's mutex is held.
 * Return: 0, -EBADFD, -ESTALE, -EINVAL for no lease at all, -ETIME for one that has
 * run out, -ENOMEM.
 */
int el_attempt_park(struct el_token *token, u64 lease)
{
	int ret;

	lockdep_assert_held(&token->mutex);
	see_to_lease(token);
	ret = el_token_check(token, ENTITYLOCK_HELD);
	if (ret == -EBADFD)
		ret = el_token_check(token, ENTITYLOCK_IDLE);
	if (!ret && token->parking)
		ret = -EBADFD;
	if (!ret && !lease && !READ_ONCE(token->lease_end))
		ret = -EINVAL;
	if (!ret && !lease && el_lease_expired(token))
		ret = -ETIME;
	if (!ret)
		ret = el_lease_prepare(token, lease);
	/* Also one that has lost its lease with all else since we looked. */
	if (ret)
		return READ_ONCE(token->state) == ENTITYLOCK_LOST ? -ESTALE : ret;
	if (lease)
		token->lease_len = lease;
	return el_token_park(token, lease);
}

/* el_attempt_unpark - it was claimed */
void el_attempt_unpark(struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	el_token_unpark(token);
	see_to_lease(token);
}

/* el_attempt_expire - somebody wants what a token holds, and its lease has run out */
void el_attempt_expire(struct el_token *token)
{
	mutex_lock(&token->mutex);
	if (el_token_expire(token, el_trace_first(token)) == EL_LOST)
		end_holds(token, EL_VANISHED);
	mutex_unlock(&token->mutex);
}

static void arrive(struct el_token *token)
{
	step(token, false, 0);
}

/* An operation that waits may be the one whose turn it is at the gate. */
static void admitted_goes_on(struct el_token *token)
{
	if (!token->entered)
		el_gate_admit(token, arrive);
	if (token->entered)
		go_on(token);
}

/**
 * el_attempt_admit - let an operation in that waits at the gate
 * @token: the one whose turn it was a moment ago
 *
 * Context: the domain's worker, which waits for nobody's mutex: the token's own
 * would do it then.
 * Return: false if it will, and kick the domain's.
 */
bool el_attempt_admit(struct el_token *token)
{
	if (!mutex_trylock(&token->mutex)) {
		el_token_todo(token);
		return false;
	}
	if (READ_ONCE(token->state) == ENTITYLOCK_PENDING)
		admitted_goes_on(token);
	mutex_unlock(&token->mutex);
	return true;
}

/**
 * el_attempt_advance - carry an attempt on, if there is something to be done
 * @token: the token
 *
 * Context: the token's worker, and BREAK, which is not over before what else the token
 * held is free; the token may have ended, or do something else than what it was queued for.
 */
void el_attempt_advance(struct el_token *token)
{
	mutex_lock(&token->mutex);
	el_park_check(token);
	see_to_lease(token);
	/* Acquire: how it was lost, see lower(). */
	switch (smp_load_acquire(&token->state)) {
	case ENTITYLOCK_LOST:
		end_holds(token, EL_VANISHED);
		break;
	case ENTITYLOCK_PENDING:
		if (el_alarm_rang(token))
			give_up(token, -ETIMEDOUT);
		else if (!token->gate)
			admitted_goes_on(token);
		break;
	}
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
	release(token, EL_VANISHED, false, 0);
	if (READ_ONCE(token->state) == ENTITYLOCK_LOST)
		end_holds(token, EL_VANISHED);
	el_alarm_free(token);
	el_lease_free(token);
	el_watch_forget(token);
	el_for_each_hold(hold, token, i)
		el_hold_free(hold);
	token->count = 0;
	mutex_unlock(&token->mutex);
}
