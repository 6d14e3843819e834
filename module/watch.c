// SPDX-License-Identifier: GPL-2.0
/*
 * POLLPRI: on a HELD token, somebody waits for what it holds; on an IDLE one,
 * an entity has changed since the token last saw it.
 *
 * A token that is polled for it is put on the list of watchers of each of its
 * entities, and of the gate.  Whoever begins to wait there, or changes it, leaves a
 * notice for the domain's worker, which takes all watchers off and wakes those who poll;
 * they are put back when they poll again.  Notices under way coalesce.  An
 * entity that nobody watches costs a look at an empty list.
 */
#include <linux/llist.h>
#include <linux/poll.h>

#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "token.h"
#include "watch.h"

/**
 * el_watch_waiters - how many requests wait for what a token holds
 * @token: the token
 *
 * Context: the token's mutex is held.
 */
u32 el_watch_waiters(struct el_token *token)
{
	struct el_gate *gate = &token->domain->gate;
	struct el_hold *hold;
	u32 i, waiters = 0;

	lockdep_assert_held(&token->mutex);
	el_for_each_hold(hold, token, i) {
		spin_lock(&hold->entity->lock);
		if (hold->mode)
			waiters += hold->entity->queue.nr_waiters - hold->waiting;
		spin_unlock(&hold->entity->lock);
	}
	spin_lock(&gate->lock);
	if (token->gate)
		waiters += gate->holder == token ? gate->nr_queued : 0;
	else
		waiters += token->entered && gate->awaited;
	spin_unlock(&gate->lock);
	return waiters;
}

static void watch(struct el_token *token)
{
	struct el_gate *gate = &token->domain->gate;
	struct el_hold *hold;
	u32 i;

	token->watching = true;
	el_for_each_hold(hold, token, i) {
		spin_lock(&hold->entity->lock);
		if (hlist_unhashed(&hold->watch))
			hlist_add_head(&hold->watch, &hold->entity->watchers);
		spin_unlock(&hold->entity->lock);
	}
	spin_lock(&gate->lock);
	if (hlist_unhashed(&token->gate_watch))
		hlist_add_head(&token->gate_watch, &gate->watchers);
	spin_unlock(&gate->lock);
}

/* Has an entity changed since the token last saw it? */
static bool changed(struct el_token *token)
{
	bool changed = false;
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i) {
		spin_lock(&hold->entity->lock);
		changed |= hold->seen &&
			   hold->seen != el_entity_version(token->domain, hold->entity);
		spin_unlock(&hold->entity->lock);
	}
	return changed;
}

/**
 * el_watch_poll - watch, and tell whether there is something to see already
 * @token: the token; the caller is in its wait queue
 *
 * Context: may sleep.
 * Return: EPOLLPRI or 0.
 */
__poll_t el_watch_poll(struct el_token *token)
{
	__poll_t events = 0;

	mutex_lock(&token->mutex);
	watch(token);
	switch (READ_ONCE(token->state)) {
	case ENTITYLOCK_HELD:
		if (el_watch_waiters(token))
			events = EPOLLPRI;
		break;
	case ENTITYLOCK_IDLE:
		if (changed(token))
			events = EPOLLPRI;
		break;
	}
	mutex_unlock(&token->mutex);
	return events;
}

/**
 * el_entity_notice - let the worker see to an entity
 * @domain: its domain
 * @entity: the entity
 *
 * Context: the entity's lock is held, and a reference.
 */
void el_entity_notice(struct el_domain *domain, struct el_entity *entity)
{
	lockdep_assert_held(&entity->lock);
	if (entity->noticed)
		return;
	entity->noticed = true;
	refcount_inc(&entity->refs);
	llist_add(&entity->notice, &domain->notices);
	el_domain_kick(domain);
}

/* el_watch_notice_gate - the same for the gate, under its lock */
void el_watch_notice_gate(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;

	lockdep_assert_held(&gate->lock);
	if (likely(hlist_empty(&gate->watchers)))
		return;
	gate->noticed = true;
	el_domain_kick(domain);
}

/* The caller's lock guards the list that the token was on: it is alive. */
static void tell(struct el_token *token, spinlock_t *lock)
{
	el_token_get(token);
	spin_unlock(lock);
	/* Without a key: see wake_pollers(). */
	wake_up_poll(&token->wait, 0);
	el_token_put(token);
	cond_resched();
	spin_lock(lock);
}

static void tell_entity(struct el_entity *entity)
{
	struct el_hold *hold;
	HLIST_HEAD(watchers);

	spin_lock(&entity->lock);
	entity->noticed = false;
	hlist_move_list(&entity->watchers, &watchers);
	while (!hlist_empty(&watchers)) {
		hold = hlist_entry(watchers.first, struct el_hold, watch);
		hlist_del_init(&hold->watch);
		tell(hold->token, &entity->lock);
	}
	spin_unlock(&entity->lock);
}

/**
 * el_watch_tell - see to entities: their watchers, those who wait, their leases
 * @domain: the domain
 * @notices: entities, each with a reference that goes
 *
 * Context: the domain's worker.
 */
void el_watch_tell(struct el_domain *domain, struct llist_node *notices)
{
	struct el_entity *entity, *next;

	llist_for_each_entry_safe(entity, next, notices, notice) {
		tell_entity(entity);
		el_lease_scan(domain, entity);
		el_entity_put(domain, entity);
		cond_resched();
	}
}

/* el_watch_tell_gate - wake the watchers of the gate, if there is a notice */
void el_watch_tell_gate(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;
	struct el_token *token;
	HLIST_HEAD(watchers);

	spin_lock(&gate->lock);
	if (gate->noticed)
		hlist_move_list(&gate->watchers, &watchers);
	gate->noticed = false;
	while (!hlist_empty(&watchers)) {
		token = hlist_entry(watchers.first, struct el_token, gate_watch);
		hlist_del_init(&token->gate_watch);
		tell(token, &gate->lock);
	}
	spin_unlock(&gate->lock);
}

/**
 * el_watch_forget_hold - a hold watches its entity no longer
 * @hold: the hold
 *
 * It takes the lock even where the hold is off the list: the worker may just
 * have taken it off, and needs the token until it has its reference.
 *
 * Context: the token's mutex is held.
 */
void el_watch_forget_hold(struct el_hold *hold)
{
	lockdep_assert_held(&hold->token->mutex);
	if (likely(!hold->token->watching))
		return;
	spin_lock(&hold->entity->lock);
	if (!hlist_unhashed(&hold->watch))
		hlist_del_init(&hold->watch);
	spin_unlock(&hold->entity->lock);
}

/* el_watch_forget - a token watches no longer; the same for all of it */
void el_watch_forget(struct el_token *token)
{
	struct el_gate *gate = &token->domain->gate;
	struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	if (likely(!token->watching))
		return;
	el_for_each_hold(hold, token, i)
		el_watch_forget_hold(hold);
	spin_lock(&gate->lock);
	if (!hlist_unhashed(&token->gate_watch))
		hlist_del_init(&token->gate_watch);
	spin_unlock(&gate->lock);
	token->watching = false;
}
