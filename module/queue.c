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
#include "queue.h"

void el_queue_init(struct el_queue *queue)
{
	INIT_LIST_HEAD(&queue->holders);
	INIT_LIST_HEAD(&queue->waiters);
	queue->nr_holders = 0;
	queue->nr_waiters = 0;
	queue->nr_leased = 0;
	queue->exclusive = false;
	queue->upgrading = false;
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
	return !el_hold_is_upgrade(hold) || !queue->upgrading;
}

/**
 * el_queue_wait - let a hold wait for its turn
 * @queue: the queue
 * @hold: a hold that el_queue_may_wait() allows to wait
 */
void el_queue_wait(struct el_queue *queue, struct el_hold *hold)
{
	if (el_hold_is_upgrade(hold)) {
		list_move(&hold->link, &queue->holders);
		queue->upgrading = true;
	} else {
		list_add_tail(&hold->link, &queue->waiters);
	}
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
	if (el_hold_is_upgrade(hold)) {
		WARN_ON_ONCE(!queue->upgrading);
		queue->upgrading = false;
	} else {
		list_del_init(&hold->link);
	}
	queue->nr_waiters--;
	hold->waiting = false;
}

/**
 * el_queue_upgrader - the holder that waits to be exclusive
 * @queue: the queue
 *
 * It begins at the front, and those who go through the holders a batch at a time
 * may leave it elsewhere, until they come round again.
 *
 * Return: the hold; NULL if there is none, or it is not near the front.
 */
const struct el_hold *el_queue_upgrader(const struct el_queue *queue)
{
	const struct el_hold *hold;
	unsigned int i = 0;

	if (!queue->upgrading)
		return NULL;
	list_for_each_entry(hold, &queue->holders, link) {
		if (hold->waiting)
			return hold;
		if (++i == EL_BATCH)
			break;
	}
	return NULL;
}

/* Grant the next waiter, if its turn has come.  Return: the hold, or NULL. */
static struct el_hold *grant_next(struct el_queue *queue)
{
	struct el_hold *hold;

	if (queue->upgrading) {
		if (queue->nr_holders != 1)
			return NULL;
		hold = list_first_entry(&queue->holders, struct el_hold, link);
	} else {
		hold = list_first_entry_or_null(&queue->waiters, struct el_hold, link);
		if (!hold || !el_queue_fits(queue, hold->want))
			return NULL;
	}
	el_queue_leave(queue, hold);
	el_queue_hold(queue, hold);
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
