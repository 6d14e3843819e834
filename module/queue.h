/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who holds one entity, who waits for it, and who is next.
 *
 * Pure: no locking, no allocation, nothing above it is known.  The caller
 * serialises all calls on one queue (an entity's queue by the entity's lock).
 */
#ifndef EL_QUEUE_H
#define EL_QUEUE_H

#include <linux/bug.h>
#include <linux/list.h>
#include <linux/types.h>

#include <linux/entitylock.h>

struct el_entity;
struct el_token;

/**
 * struct el_hold - one token's claim on one entity
 * @link: in the queue's holders while @mode is set, else in its waiters while
 *	@waiting is; guarded by the entity's lock.
 * @watch: in the entity's watchers; guarded by the entity's lock.
 * @entity: constant; a reference.
 * @token: constant; no reference: the token outlives its holds.
 * @seen: version of the entity that the token last saw, 0 = none; with @check
 *	the one that it must still have; entity's lock.
 * @mode: granted mode, 0 for none; guarded by the entity's lock.  The owner
 *	of the token's mutex may read it while the hold does not wait; of a
 *	token that is LOST it may become 0 at any time.
 * @want: mode asked for; written under the token's mutex while the hold does
 *	not wait.
 * @leased: counted in the queue's @nr_leased; entity's lock.
 * @added: number of the attempt that put it into the set, 0 = ACQUIRE; constant.
 * @raised: number of the attempt that made it exclusive where it was shared;
 *	entity's lock.
 * @waiting: asked for and not granted yet; guarded by the entity's lock.
 * @last: its grant is the last one that its token's attempt needs; written
 *	when it begins to wait.
 * @check: an attempt of a token that checks fails if the entity's version is not
 *	@seen.
 *
 * A hold that waits for an upgrade stays among the holders.
 */
struct el_hold {
	struct list_head link;
	struct hlist_node watch;
	struct el_entity *entity;
	struct el_token *token;
	u64 seen;
	u8 mode;
	u8 want;
	bool waiting;
	bool last;
	bool check;
	bool leased;
	u32 added;
	u32 raised;
};

/**
 * struct el_queue - holders and waiters of one entity
 * @holders: holds with a mode: one exclusive, or any number of shared.
 * @waiters: holds that wait, in order of arrival.
 * @nr_holders: length of @holders.
 * @nr_waiters: length of @waiters, and one if @upgrading.
 * @nr_leased: holders whose token has a lease; the caller's.
 * @exclusive: the holder is exclusive.
 * @upgrading: a shared holder waits to be exclusive, before @waiters.  It is granted
 *	when it is the only holder.
 */
struct el_queue {
	struct list_head holders;
	struct list_head waiters;
	u32 nr_holders;
	u32 nr_waiters;
	u32 nr_leased;
	bool exclusive;
	bool upgrading;
};

/* Most holds that are dealt with without letting go of an entity's lock. */
#define EL_BATCH	64

void el_queue_init(struct el_queue *queue);
bool el_queue_may_wait(const struct el_queue *queue, const struct el_hold *hold);
void el_queue_wait(struct el_queue *queue, struct el_hold *hold);
const struct el_hold *el_queue_upgrader(const struct el_queue *queue);
void el_queue_leave(struct el_queue *queue, struct el_hold *hold);
bool el_queue_grant(struct el_queue *queue, void (*granted)(struct el_hold *hold));

/* Does it ask for more than it has?  It stays among the holders. */
static inline bool el_hold_is_upgrade(const struct el_hold *hold)
{
	return hold->mode;
}

/* Do the holders allow another one of that mode? */
static inline bool el_queue_fits(const struct el_queue *queue, u8 mode)
{
	return !queue->nr_holders || (mode == ENTITYLOCK_SHARED && !queue->exclusive);
}

/* el_queue_hold - it is allowed what it wants, and becomes a holder, or more of one */
static inline void el_queue_hold(struct el_queue *queue, struct el_hold *hold)
{
	if (!el_hold_is_upgrade(hold)) {
		list_add_tail(&hold->link, &queue->holders);
		queue->nr_holders++;
	}
	WRITE_ONCE(hold->mode, hold->want);
	queue->exclusive = hold->mode == ENTITYLOCK_EXCLUSIVE;
	WARN_ON_ONCE(queue->exclusive && queue->nr_holders != 1);
}

/**
 * el_queue_try - grant a hold what it wants, if that is possible at once
 * @queue: the queue
 * @hold: a hold that does not wait, with a mode less than it wants
 *
 * Return: true if it was granted.
 */
static inline bool el_queue_try(struct el_queue *queue, struct el_hold *hold)
{
	if (el_hold_is_upgrade(hold)) {
		if (queue->nr_holders != 1)
			return false;
	} else if (queue->nr_waiters || !el_queue_fits(queue, hold->want)) {
		return false;
	}
	el_queue_hold(queue, hold);
	return true;
}

/**
 * el_queue_lower - lower the mode of a hold
 * @queue: the queue
 * @hold: a holder that does not wait
 * @mode: a lesser mode; 0 ends the hold
 *
 * The caller grants those who wait, see el_queue_grant().
 */
static inline void el_queue_lower(struct el_queue *queue, struct el_hold *hold, u8 mode)
{
	WARN_ON_ONCE(hold->waiting || mode >= hold->mode);
	queue->exclusive = false;
	WRITE_ONCE(hold->mode, mode);
	if (mode)
		return;
	list_del_init(&hold->link);
	queue->nr_holders--;
}

#endif /* EL_QUEUE_H */
