// SPDX-License-Identifier: GPL-2.0
/*
 * Holds: what happens to one claim on one entity, under the entity's lock.
 *
 * Whoever ends a hold, or lowers it, grants those whose turn has come before
 * letting the lock go.  A hold of a LOST token is as good as gone: whoever meets
 * it in the way ends it.
 */
#include <linux/minmax.h>
#include <linux/sched.h>

#include "breakage.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "mark.h"
#include "token.h"
#include "trace.h"
#include "watch.h"

/* The mode that a hold which does not wait had before an attempt of that kind. */
static u8 mode_before(const struct el_hold *hold, enum el_attempt_kind kind, u32 attempt)
{
	lockdep_assert_held(&hold->entity->lock);
	if (kind == EL_LOCK || hold->added == attempt)
		return 0;
	return hold->raised == attempt ? min_t(u8, hold->mode, ENTITYLOCK_SHARED) : hold->mode;
}

static void count_leased(struct el_hold *hold)
{
	if (hold->leased)
		return;
	hold->leased = true;
	hold->entity->queue.nr_leased++;
}

/* Somebody waits behind a lease, perhaps another one than before. */
static void see_to_leases(struct el_domain *domain, struct el_entity *entity)
{
	if (unlikely(entity->queue.nr_leased) && entity->queue.nr_waiters)
		el_entity_notice(domain, entity);
}

/* A hold has what it wants: what its token is told, and how its fence rises. */
static __always_inline void granted(struct el_hold *hold)
{
	struct el_entity *entity = hold->entity;
	struct el_token *token = hold->token;

	lockdep_assert_held(&entity->lock);
	token->floor = max(token->floor, entity->fence);
	if (token->kind == EL_RAISE && hold->added != token->attempt)
		hold->raised = token->attempt;
	if (unlikely(READ_ONCE(token->lease_len)))
		count_leased(hold);
	if (unlikely(entity->mark))
		token->result |= ENTITYLOCK_ABANDONED;
	if (unlikely(token->checks) && hold->check &&
	    hold->seen != el_entity_version(token->domain, entity)) {
		token->result |= ENTITYLOCK_CHANGED;
		token->refused = -ESTALE;
	}
}

/* The same for one that waited, and so has nobody else to carry it on. */
static void granted_after_wait(struct el_hold *hold)
{
	struct el_token *token = hold->token;

	granted(hold);
	if (!hold->last || !el_token_grant(token))
		el_token_step(token);
	else if (unlikely(READ_ONCE(token->lease_end)))
		el_token_todo(token);
}

/*
 * Grant those whose turn has come, a batch of them: the rest is the worker's, so
 * that nobody who releases can be kept busy.
 */
static void grant_waiters(struct el_domain *domain, struct el_entity *entity)
{
	lockdep_assert_held(&entity->lock);
	if (likely(!entity->queue.nr_waiters) || el_break_lostwake())
		return;
	/* Those who are granted may be leased. */
	if (el_queue_grant(&entity->queue, granted_after_wait))
		el_entity_notice(domain, entity);
	else
		see_to_leases(domain, entity);
}

/* el_entity_grant_next - the same for others who have ended a hold */
void el_entity_grant_next(struct el_domain *domain, struct el_entity *entity)
{
	grant_waiters(domain, entity);
}

/*
 * el_entity_grant - the same for the worker, under the entity's lock; it sees to
 * leases itself: a notice of them would call it again and again while one runs
 */
void el_entity_grant(struct el_domain *domain, struct el_entity *entity)
{
	lockdep_assert_held(&entity->lock);
	if (!el_break_lostwake() && el_queue_grant(&entity->queue, granted_after_wait))
		el_entity_notice(domain, entity);
}

/* An exclusive hold of a robust token has vanished. */
static noinline void leave_mark(struct el_hold *hold)
{
	struct el_entity *entity = hold->entity;
	struct el_token *token = hold->token;

	lockdep_assert_held(&entity->lock);
	if (entity->mark)
		return;
	entity->mark = el_mark_take(token);
	refcount_inc(&entity->refs);
	el_trace(abandon, token, hold);
}

/* The mode of a hold becomes less, and the entity remembers what it must. */
static __always_inline void lower(struct el_hold *hold, u8 mode, enum el_end how)
{
	struct el_entity *entity = hold->entity;
	struct el_token *token = hold->token;
	/* What an attempt has raised, and was not granted for, does not count. */
	u8 had = READ_ONCE(token->partial) ? mode_before(hold, token->kind, token->attempt) :
					     hold->mode;

	lockdep_assert_held(&entity->lock);
	if (had && how != EL_UNDONE)
		entity->fence = max(entity->fence, token->fence);
	if (had == ENTITYLOCK_EXCLUSIVE && how >= EL_UNLOCKED) {
		entity->version = token->fence;
		el_watch_notice(token->domain, entity);
	}
	if (had && how >= EL_UNCHANGED)
		hold->seen = el_entity_version(token->domain, entity);
	if (had == ENTITYLOCK_EXCLUSIVE && how == EL_VANISHED && unlikely(token->robust))
		leave_mark(hold);
	if (unlikely(hold->leased) && !mode) {
		hold->leased = false;
		entity->queue.nr_leased--;
	}
	el_queue_lower(&entity->queue, hold, mode);
}

/* Nobody waits, or holds, for a token that is gone. */
static __always_inline void end(struct el_hold *hold, enum el_end how)
{
	if (hold->waiting)
		el_queue_leave(&hold->entity->queue, hold);
	if (hold->mode)
		lower(hold, 0, how);
}

/* Is it gone, or has its lease run out?  Somebody wants what it holds. */
static bool expired(const struct el_hold *hold)
{
	struct el_token *token = hold->token;

	if (likely(!hold->leased && READ_ONCE(token->state) != ENTITYLOCK_LOST))
		return false;
	return el_token_expire(token, hold) == EL_LOST;
}

/* el_hold_wanted - does somebody wait who is not itself, to be exclusive? */
bool el_hold_wanted(const struct el_hold *hold)
{
	lockdep_assert_held(&hold->entity->lock);
	return hold->entity->queue.nr_waiters > hold->waiting;
}

/**
 * el_hold_expire - end a hold whose lease has run out, if somebody else wants it
 * @hold: a holder
 *
 * Context: the entity's lock is held; el_entity_grant_next() follows.
 */
bool el_hold_expire(struct el_hold *hold)
{
	if (!el_hold_wanted(hold) || !expired(hold))
		return false;
	end(hold, EL_VANISHED);
	return true;
}

/* el_hold_lease - its token has a lease by now */
void el_hold_lease(struct el_hold *hold)
{
	struct el_entity *entity = hold->entity;

	spin_lock(&entity->lock);
	if (hold->mode) {
		count_leased(hold);
		see_to_leases(hold->token->domain, entity);
	}
	spin_unlock(&entity->lock);
}

/* End holds that are in the way of a request and gone; most often there is none. */
static noinline bool reap(struct el_domain *domain, const struct el_hold *request)
{
	struct el_entity *entity = request->entity;
	unsigned int batch = 0;
	struct el_hold *hold, *next;
	bool reaped = false;

	lockdep_assert_held(&entity->lock);
	list_for_each_entry_safe(hold, next, &entity->queue.holders, link) {
		if (++batch > EL_BATCH)
			break;
		/* Unless it waits to be exclusive, and so holds up those who come. */
		if (request->want == ENTITYLOCK_SHARED && hold->mode == ENTITYLOCK_SHARED &&
		    !hold->waiting)
			continue;
		if (hold == request || !expired(hold))
			continue;
		end(hold, EL_VANISHED);
		reaped = true;
	}
	if (reaped)
		grant_waiters(domain, entity);
	return reaped;
}

static __always_inline bool try(struct el_hold *hold)
{
	struct el_queue *queue = &hold->entity->queue;

	if (el_queue_try(queue, hold))
		return true;
	return unlikely(reap(hold->token->domain, hold)) && el_queue_try(queue, hold);
}

/* Until whoever gives it back grants it. */
static noinline void wait_for(struct el_hold *hold, bool last)
{
	struct el_entity *entity = hold->entity;
	struct el_domain *domain = hold->token->domain;

	lockdep_assert_held(&entity->lock);
	hold->last = last;
	el_stats_wait(hold->token);
	el_trace(queue, hold->token, hold);
	el_queue_wait(&entity->queue, hold);
	el_watch_notice(domain, entity);
	see_to_leases(domain, entity);
}

/**
 * el_hold_request - raise a hold to what it wants, or let it wait for it
 * @hold: a hold that does not wait
 * @last: it is the last one that the attempt needs
 * @refusal: what to return in place of waiting, 0 to wait
 *
 * Context: the token's mutex is held.
 * Return: 0, -EINPROGRESS, @refusal, -EDEADLK where no wait would end, or -ESTALE for a
 * token that is LOST.
 */
int el_hold_request(struct el_hold *hold, bool last, int refusal)
{
	struct el_entity *entity = hold->entity;
	int ret = 0;

	lockdep_assert_held(&hold->token->mutex);
	spin_lock(&entity->lock);
	el_entity_settle(entity);
	/*
	 * Whoever ended this hold with a token that was LOST did so under this lock, and
	 * perhaps after others had granted all that was asked for: it takes nothing more.
	 */
	if (unlikely(READ_ONCE(hold->token->state) == ENTITYLOCK_LOST)) {
		ret = -ESTALE;
	} else if (try(hold) || el_break_nolock()) {
		granted(hold);
	} else if (!el_queue_may_wait(&entity->queue, hold)) {
		ret = -EDEADLK;
	} else if (refusal) {
		ret = refusal;
	} else {
		wait_for(hold, last);
		ret = -EINPROGRESS;
	}
	spin_unlock(&entity->lock);
	return ret;
}

/**
 * el_hold_end - end a hold, or let it wait no longer
 * @hold: the hold
 * @how: why
 */
void el_hold_end(struct el_hold *hold, enum el_end how)
{
	struct el_entity *entity = hold->entity;

	spin_lock(&entity->lock);
	end(hold, how);
	grant_waiters(hold->token->domain, entity);
	spin_unlock(&entity->lock);
}

/**
 * el_hold_downgrade - make a hold shared
 * @hold: a holder
 *
 * Return: false if its token is LOST: then it stays, for whoever ends it.
 */
bool el_hold_downgrade(struct el_hold *hold)
{
	struct el_entity *entity = hold->entity;
	bool lost;

	spin_lock(&entity->lock);
	lost = READ_ONCE(hold->token->state) == ENTITYLOCK_LOST;
	if (!lost && hold->mode > ENTITYLOCK_SHARED)
		lower(hold, ENTITYLOCK_SHARED, EL_UNLOCKED);
	grant_waiters(hold->token->domain, entity);
	spin_unlock(&entity->lock);
	return !lost;
}

/**
 * el_hold_undo - give back what an attempt has raised, or end its wait
 * @hold: the hold
 * @kind: what the attempt raised
 * @attempt: its number
 * @how: EL_UNDONE, or EL_TAKEN_BACK if it was granted
 *
 * Somebody may have granted it what it waits for a moment ago.
 */
void el_hold_undo(struct el_hold *hold, enum el_attempt_kind kind, u32 attempt, enum el_end how)
{
	struct el_entity *entity = hold->entity;
	u8 before;

	spin_lock(&entity->lock);
	if (hold->waiting)
		el_queue_leave(&entity->queue, hold);
	before = mode_before(hold, kind, attempt);
	/* What stays was granted anew, by a number that stays used. */
	if (hold->mode && how == EL_TAKEN_BACK)
		entity->fence = max(entity->fence, hold->token->fence);
	if (hold->mode > before)
		lower(hold, before, how);
	grant_waiters(hold->token->domain, entity);
	spin_unlock(&entity->lock);
}

/* el_hold_waits - is it in the queue of its entity? */
bool el_hold_waits(const struct el_hold *hold)
{
	bool waits;

	spin_lock(&hold->entity->lock);
	waits = hold->waiting;
	spin_unlock(&hold->entity->lock);
	return waits;
}

/* el_hold_changed - is the entity's version another than the one last seen? */
bool el_hold_changed(struct el_hold *hold)
{
	struct el_entity *entity = hold->entity;
	bool changed;

	spin_lock(&entity->lock);
	changed = !hold->mode && hold->seen != el_entity_version(hold->token->domain, entity);
	spin_unlock(&entity->lock);
	return changed;
}

/* el_hold_see - the token has seen a version of the entity, 0 = that of now */
void el_hold_see(struct el_hold *hold, u64 version)
{
	struct el_entity *entity = hold->entity;

	spin_lock(&entity->lock);
	hold->seen = max(hold->seen, version ?: el_entity_version(hold->token->domain, entity));
	spin_unlock(&entity->lock);
}

/* Context: a reference to the entity beside the mark's. */
static bool drop_mark(struct el_domain *domain, struct el_entity *entity)
{
	struct el_user *user;

	spin_lock(&entity->lock);
	user = entity->mark;
	entity->mark = NULL;
	spin_unlock(&entity->lock);
	if (!user)
		return false;
	el_mark_drop(user);
	el_entity_put(domain, entity);
	return true;
}

/* el_hold_drop_mark - its holder says that all is well; was there a mark? */
bool el_hold_drop_mark(struct el_hold *hold)
{
	return drop_mark(hold->token->domain, hold->entity);
}

/* Under no lock: what else they held, and their part in the gate's count, is free now. */
static u32 see_off(struct el_token **lost, u32 count, void (*end_token)(struct el_token *token))
{
	while (count) {
		end_token(lost[--count]);
		el_token_put(lost[count]);
		cond_resched();
	}
	return 0;
}

/**
 * el_entity_break - take an entity from its holders
 * @domain: its domain
 * @entity: the entity; the caller has a reference
 * @fence: from the one of this number only, 0 = from all
 * @end_token: ends what else a token held that is LOST now
 *
 * Holders are looked at from the front, and those that stay go to the end, so
 * that the lock can be let go between two batches.  Those who come meanwhile
 * may keep what they are granted.
 *
 * Context: may sleep.
 * Return: 0, also where nobody holds it but a mark was dropped; -ESTALE if no
 * holder carries @fence; -ENOENT.
 */
int el_entity_break(struct el_domain *domain, struct el_entity *entity, u64 fence,
		    void (*end_token)(struct el_token *token))
{
	struct el_queue *queue = &entity->queue;
	struct el_token *lost[EL_BATCH + 1];	/* and the one that came to the front */
	struct el_hold *hold;
	bool broken = false, again = false, gone;
	enum el_loss loss;
	u32 left, nr_lost = 0;

	spin_lock(&entity->lock);
	for (left = queue->nr_holders; left && queue->nr_holders; left--) {
		hold = list_first_entry(&queue->holders, struct el_hold, link);
		/* One that is LOST already is as good as gone: nothing is taken from it. */
		gone = READ_ONCE(hold->token->state) == ENTITYLOCK_LOST;
		loss = el_token_lose(hold->token, fence, hold);
		broken |= loss != EL_KEPT && !gone;
		if (loss == EL_LOST) {
			lost[nr_lost++] = hold->token;
			el_token_get(hold->token);
			end(hold, EL_VANISHED);
		} else {
			list_move_tail(&hold->link, &queue->holders);
		}
		if (again && hold->waiting) {
			/* It asked to be exclusive meanwhile, and so came to the front. */
			again = false;
			left++;
		} else if (left % EL_BATCH == 0) {
			again = true;
			spin_unlock(&entity->lock);
			nr_lost = see_off(lost, nr_lost, end_token);
			cond_resched();
			spin_lock(&entity->lock);
		}
	}
	grant_waiters(domain, entity);
	spin_unlock(&entity->lock);
	see_off(lost, nr_lost, end_token);

	if (broken)
		return 0;
	if (fence)
		return -ESTALE;
	return drop_mark(domain, entity) ? 0 : -ENOENT;
}
