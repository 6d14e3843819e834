// SPDX-License-Identifier: GPL-2.0
/*
 * The grant queue of one entity.
 *
 * 1. Holders are one exclusive hold or any number of shared ones.
 * 2. A newcomer is granted at once only if nobody waits and rule 1 allows it.
 * 3. Waiters are granted from the front, as long as rule 1 allows it.
 * 4. An upgrade is granted when its hold is the only one, before any waiter;
 *    while it waits nobody else is granted.  There is one at a time: a second
 *    upgrader would wait for the first, and the first for it.
 */
#include <linux/bug.h>

#include <linux/entitylock.h>

#include "queue.h"

static bool fits(const struct el_queue *queue, u8 mode)
{
	return !queue->nr_holders ||
	       (mode == ENTITYLOCK_SHARED && !queue->exclusive);
}

static bool is_upgrade(const struct el_hold *hold)
{
	return hold->mode;
}

static void grant(struct el_queue *queue, struct el_hold *hold)
{
	if (!is_upgrade(hold)) {
		list_add_tail(&hold->link, &queue->holders);
		queue->nr_holders++;
	}
	hold->mode = hold->want;
	queue->exclusive = hold->mode == ENTITYLOCK_EXCLUSIVE;
	WARN_ON_ONCE(queue->exclusive && queue->nr_holders != 1);
}

void el_queue_init(struct el_queue *queue)
{
	INIT_LIST_HEAD(&queue->holders);
	INIT_LIST_HEAD(&queue->waiters);
	queue->upgrader = NULL;
	queue->nr_holders = 0;
	queue->nr_waiters = 0;
	queue->exclusive = false;
}

/**
 * el_queue_try - grant a hold what it wants, if that is possible at once
 * @queue: the queue
 * @hold: a hold that does not wait, with a mode less than it wants
 *
 * Return: true if it was granted.
 */
bool el_queue_try(struct el_queue *queue, struct el_hold *hold)
{
	if (is_upgrade(hold)) {
		if (queue->nr_holders != 1)
			return false;
	} else if (queue->nr_waiters || !fits(queue, hold->want)) {
		return false;
	}
	grant(queue, hold);
	return true;
}

/**
 * el_queue_may_wait - can a hold that was not granted at once ever be?
 * @queue: the queue
 * @hold: the hold
 *
 * Return: false for the second upgrader.
 */
bool el_queue_may_wait(const struct el_queue *queue, const struct el_hold *hold)
{
	return !is_upgrade(hold) || !queue->upgrader;
}

/**
 * el_queue_wait - let a hold wait for its turn
 * @queue: the queue
 * @hold: a hold that el_queue_may_wait() allows to wait
 */
void el_queue_wait(struct el_queue *queue, struct el_hold *hold)
{
	if (is_upgrade(hold))
		queue->upgrader = hold;
	else
		list_add_tail(&hold->link, &queue->waiters);
	queue->nr_waiters++;
	hold->waiting = true;
}

/**
 * el_queue_leave - let a hold wait no longer, and keep what it has
 * @queue: the queue
 * @hold: a hold that waits
 *
 * The caller grants those behind it, see el_queue_grant().
 */
void el_queue_leave(struct el_queue *queue, struct el_hold *hold)
{
	if (is_upgrade(hold)) {
		WARN_ON_ONCE(queue->upgrader != hold);
		queue->upgrader = NULL;
	} else {
		list_del_init(&hold->link);
	}
	queue->nr_waiters--;
	hold->waiting = false;
}

/**
 * el_queue_lower - lower the mode of a hold
 * @queue: the queue
 * @hold: a holder that does not wait
 * @mode: a lesser mode; 0 ends the hold
 *
 * The caller grants those who wait, see el_queue_grant().
 */
void el_queue_lower(struct el_queue *queue, struct el_hold *hold, u8 mode)
{
	WARN_ON_ONCE(hold->waiting || mode >= hold->mode);
	queue->exclusive = false;
	hold->mode = mode;
	if (mode)
		return;
	list_del_init(&hold->link);
	queue->nr_holders--;
}

/* Grant the next waiter, if its turn has come.  Return: the hold, or NULL. */
static struct el_hold *grant_next(struct el_queue *queue)
{
	struct el_hold *hold = queue->upgrader;

	if (hold) {
		if (queue->nr_holders != 1)
			return NULL;
	} else {
		hold = list_first_entry_or_null(&queue->waiters, struct el_hold, link);
		if (!hold || !fits(queue, hold->want))
			return NULL;
	}
	el_queue_leave(queue, hold);
	grant(queue, hold);
	return hold;
}

/**
 * el_queue_grant - grant the waiters whose turn has come, a batch of them
 * @queue: the queue
 * @granted: told of each, in order
 *
 * Order is kept between two batches: while somebody waits, newcomers queue behind.
 *
 * Return: true if there may be more.
 */
bool el_queue_grant(struct el_queue *queue, void (*granted)(struct el_hold *hold))
{
	struct el_hold *hold;
	unsigned int i;

	for (i = 0; i < EL_BATCH; i++) {
		hold = grant_next(queue);
		if (!hold)
			return false;
		granted(hold);
	}
	return true;
}
