// SPDX-License-Identifier: GPL-2.0
/*
 * Leases end lazily: a token whose lease has run out keeps what it holds until
 * somebody wants it.  So a lease that nobody contends costs a look at the clock,
 * and no timer.
 *
 * Who wants something that a leased token holds takes it if the lease has run
 * out (el_hold_request(), the gate).  Otherwise it waits, and leaves a notice for
 * the worker, which arms the timer of *one* holder in its way; when that rings the
 * worker looks again, takes from all whose lease has run out, and arms the next.
 * Every change that may put another leased holder in a waiter's way leaves such a
 * notice: a release, a grant, RENEW.
 *
 * The clock counts the time in suspend.
 */
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "attempt.h"
#include "compat.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "token.h"

static unsigned int lease_max = 30 * 24 * 60 * 60;
module_param(lease_max, uint, 0644);
MODULE_PARM_DESC(lease_max, "Longest lease, in seconds");

/**
 * struct el_lease - what a token needs for a lease
 * @timer: armed while the token is the holder that somebody waits for
 * @node: in the domain's leases; their lock
 * @token: the token; it owns the lease
 */
struct el_lease {
	struct hrtimer timer;
	struct list_head node;
	struct el_token *token;
};

void el_leases_init(struct el_leases *leases)
{
	spin_lock_init(&leases->lock);
	INIT_LIST_HEAD(&leases->tokens);
}

/* el_lease_max - the longest lease, in nanoseconds */
u64 el_lease_max(void)
{
	return (u64)READ_ONCE(lease_max) * NSEC_PER_SEC;
}

static enum hrtimer_restart lease_ring(struct hrtimer *timer)
{
	struct el_lease *lease = container_of(timer, struct el_lease, timer);

	el_token_todo(lease->token);
	return HRTIMER_NORESTART;
}

/* el_lease_new - the part of el_lease_prepare() that is done once */
int el_lease_new(struct el_token *token)
{
	struct el_lease *fresh;

	lockdep_assert_held(&token->mutex);
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return -ENOMEM;
	hrtimer_setup(&fresh->timer, lease_ring, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	INIT_LIST_HEAD(&fresh->node);
	fresh->token = token;
	token->lease = fresh;
	return 0;
}

/**
 * el_lease_begin - the lease begins, or begins anew
 * @token: a token that holds, or is about to
 *
 * Context: the token's lock is held.
 */
void el_lease_begin(struct el_token *token)
{
	struct el_leases *leases = &token->domain->leases;

	lockdep_assert_held(&token->lock);
	WRITE_ONCE(token->lease_end, ktime_get_boottime_ns() + token->lease_len);
	spin_lock(&leases->lock);
	if (list_empty(&token->lease->node)) {
		list_add_tail(&token->lease->node, &leases->tokens);
		WRITE_ONCE(leases->count, leases->count + 1);
	}
	spin_unlock(&leases->lock);
	smp_mb();	/* Pairs with that of a gate: either we see it, or it sees us. */
	if (READ_ONCE(token->domain->gate.closing))
		el_lease_notice_gate(token->domain);
}

/* el_lease_drop - the part of el_lease_end() for a token that has one */
void el_lease_drop(struct el_token *token)
{
	struct el_leases *leases = &token->domain->leases;

	lockdep_assert_held(&token->lock);
	WRITE_ONCE(token->lease_end, 0);
	hrtimer_try_to_cancel(&token->lease->timer);
	spin_lock(&leases->lock);
	list_del_init(&token->lease->node);
	WRITE_ONCE(leases->count, leases->count - 1);
	spin_unlock(&leases->lock);
	/* The gate may have been waiting for this one's timer: on to the next. */
	if (READ_ONCE(token->domain->gate.closing))
		el_lease_notice_gate(token->domain);
}

/* el_lease_free - no lease will begin, no timer ring; under the token's mutex */
void el_lease_free(struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	if (!token->lease)
		return;
	hrtimer_cancel(&token->lease->timer);
	WARN_ON_ONCE(!list_empty(&token->lease->node));
	kfree(token->lease);
	token->lease = NULL;
}

/* el_lease_left - nanoseconds; 0 = it has run out; ENTITYLOCK_FOREVER = none */
u64 el_lease_left(const struct el_token *token)
{
	u64 end = READ_ONCE(token->lease_end);
	u64 now = ktime_get_boottime_ns();

	if (!end)
		return ENTITYLOCK_FOREVER;
	return end > now ? end - now : 0;
}

/**
 * el_lease_arm - ring when the lease ends
 * @token: a token with a lease
 *
 * Context: under a lock that keeps the token from ending.
 */
void el_lease_arm(struct el_token *token)
{
	spin_lock(&token->lock);
	if (token->lease_end)
		hrtimer_start(&token->lease->timer, ns_to_ktime(token->lease_end),
			      HRTIMER_MODE_ABS);
	spin_unlock(&token->lock);
}

/* @token if it has a lease that ends before that of @first, which may be NULL. */
static struct el_token *earlier(struct el_token *first, struct el_token *token)
{
	u64 end = READ_ONCE(token->lease_end);

	if (!end || (first && READ_ONCE(first->lease_end) <= end))
		return first;
	return token;
}

/**
 * el_lease_scan - grant waiters, and see to the leases that others wait for
 * @domain: the domain
 * @entity: the entity; the caller has a reference
 *
 * Takes the entity from holders whose lease has run out, and arms the timer of
 * the next that ends.  Among more than a batch of shared holders that is the next
 * of those which were looked at: the others are looked at when it rings, which
 * is soon enough for who waits for all of them.
 *
 * Context: the domain's worker.
 */
void el_lease_scan(struct el_domain *domain, struct el_entity *entity)
{
	struct el_queue *queue = &entity->queue;
	struct el_token *next = NULL;
	struct el_hold *hold;
	bool ended = false;
	u32 left;

	spin_lock(&entity->lock);
	el_entity_grant(domain, entity);
	for (left = queue->nr_holders; left && queue->nr_holders; left--) {
		if (!queue->nr_leased || !queue->nr_waiters)
			break;
		hold = list_first_entry(&queue->holders, struct el_hold, link);
		if (el_hold_expire(hold)) {
			ended = true;
		} else {
			list_move_tail(&hold->link, &queue->holders);
			if (el_hold_wanted(hold))
				next = earlier(next, hold->token);
		}
		if (left % EL_BATCH)
			continue;
		if (next)
			break;
		if (ended)
			el_entity_grant_next(domain, entity);
		ended = false;
		spin_unlock(&entity->lock);
		cond_resched();
		spin_lock(&entity->lock);
	}
	if (ended)
		el_entity_grant_next(domain, entity);
	if (next)
		el_lease_arm(next);
	spin_unlock(&entity->lock);
}

/* el_lease_notice_gate - the gate is awaited, or what it waits for has changed */
void el_lease_notice_gate(struct el_domain *domain)
{
	/* Pairs with that of a lease that begins, and sees whether the gate is awaited. */
	smp_mb();
	if (list_empty(&domain->leases.tokens))
		return;
	WRITE_ONCE(domain->leases.noticed, true);
	el_domain_kick(domain);
}

/* The next leased token, with a reference; those that stay go to the end. */
static struct el_token *next_leased(struct el_leases *leases)
{
	struct el_token *token = NULL;
	struct el_lease *lease;

	spin_lock(&leases->lock);
	lease = list_first_entry_or_null(&leases->tokens, struct el_lease, node);
	if (lease) {
		list_move_tail(&lease->node, &leases->tokens);
		token = lease->token;
		el_token_get(token);
	}
	spin_unlock(&leases->lock);
	return token;
}

/**
 * el_lease_sweep - look through the leases of a domain
 * @domain: the domain
 * @expired: what to do with a token whose lease has run out
 *
 * Arms the timer of the one that ends next, if the gate is awaited.
 *
 * Context: process context, no lock is held.
 */
void el_lease_sweep(struct el_domain *domain, void (*expired)(struct el_token *token))
{
	struct el_leases *leases = &domain->leases;
	struct el_token *token, *next = NULL;
	u32 left;

	for (left = READ_ONCE(leases->count); left; left--) {
		token = next_leased(leases);
		if (!token)
			break;
		if (el_lease_expired(token))
			expired(token);
		else if (earlier(next, token) == token)
			swap(next, token);
		if (token)
			el_token_put(token);
		cond_resched();
	}
	if (!next)
		return;
	if (READ_ONCE(domain->gate.awaited))
		el_lease_arm(next);
	el_token_put(next);
}

/* el_lease_scan_gate - the worker's part, if there is a notice */
void el_lease_scan_gate(struct el_domain *domain)
{
	if (!xchg(&domain->leases.noticed, false))
		return;
	if (READ_ONCE(domain->gate.awaited))
		el_lease_sweep(domain, el_token_todo);
}
