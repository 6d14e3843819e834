// SPDX-License-Identifier: GPL-2.0
/*
 * The listing: a header, then a line for each entity, with its holders and
 * waiters.  Columns are separated by tabs; new ones come at the end.
 *
 *   name     escaped
 *   state    held-exclusive or held-shared; abandoned: not held, and marked;
 *            free: only IDLE tokens refer to it
 *   fence    the greatest number that a hold which ended has left, or that of
 *            a holder
 *   holders  how many
 *   waiters  how many
 *   holder   the first of them, as id:mode:pid:comm:label, separated by commas;
 *            ",+N" for those not shown; "-" for none
 *   waiter   the same; one that waits to be exclusive where it is shared comes first
 *   mark     abandoned, or -
 *
 * It is not a snapshot: an entity is shown as it is when its line is made.  While
 * the table is resized one may be shown twice, or not.
 */
#include <linux/ctype.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rhashtable.h>

#include <linux/entitylock.h>

#include "domain.h"
#include "entity.h"
#include "listing.h"
#include "token.h"

/* Most holders, and most waiters, that a line shows. */
#define EL_SHOWN	16

/**
 * el_seq_escape - show bytes that a user chose
 * @seq: where
 * @text: the bytes
 * @len: their number
 * @special: what separates things there
 *
 * All that is no printable ASCII, a space, and what is special becomes \xHH.
 */
void el_seq_escape(struct seq_file *seq, const char *text, size_t len, const char *special)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] > ' ' && text[i] < 0x7f && !strchr(special, text[i]))
			seq_putc(seq, text[i]);
		else
			seq_printf(seq, "\\x%02x", (unsigned char)text[i]);
	}
}

static void show_token(struct seq_file *seq, struct el_token *token, u8 mode)
{
	char letter = mode == ENTITYLOCK_EXCLUSIVE ? 'x' : 's';
	struct pid_namespace *ns = task_active_pid_ns(current);

	spin_lock(&token->lock);
	seq_printf(seq, "%llu:%c:%d:", token->id, letter, pid_nr_ns(token->owner, ns));
	el_seq_escape(seq, token->comm, strnlen(token->comm, sizeof(token->comm)),
		      EL_SPECIAL_ITEM);
	seq_putc(seq, ':');
	if (token->label)
		el_seq_escape(seq, token->label->text, token->label->len,
			      EL_SPECIAL_ITEM);
	spin_unlock(&token->lock);
}

/* Show one of @count; return how many have been shown. */
static u32 show_next(struct seq_file *seq, const struct el_hold *hold, u8 mode, u32 shown)
{
	if (shown)
		seq_putc(seq, ',');
	show_token(seq, hold->token, mode);
	return shown + 1;
}

static void show_rest(struct seq_file *seq, u32 shown, u32 count)
{
	if (!count)
		seq_putc(seq, '-');
	else if (shown < count)
		seq_printf(seq, ",+%u", count - shown);
}

static void show_holders(struct seq_file *seq, const struct el_queue *queue)
{
	const struct el_hold *hold;
	u32 shown = 0;

	list_for_each_entry(hold, &queue->holders, link) {
		if (shown == EL_SHOWN)
			break;
		shown = show_next(seq, hold, hold->mode, shown);
	}
	show_rest(seq, shown, queue->nr_holders);
}

static void show_waiters(struct seq_file *seq, const struct el_queue *queue)
{
	const struct el_hold *hold;
	u32 shown = 0;

	hold = el_queue_upgrader(queue);
	if (hold)
		shown = show_next(seq, hold, hold->want, shown);
	list_for_each_entry(hold, &queue->waiters, link) {
		if (shown == EL_SHOWN)
			break;
		shown = show_next(seq, hold, hold->want, shown);
	}
	show_rest(seq, shown, queue->nr_waiters);
}

static const char *entity_state(const struct el_entity *entity)
{
	const struct el_queue *queue = &entity->queue;

	if (!queue->nr_holders)
		return entity->mark ? "abandoned" : "free";
	return queue->exclusive ? "held-exclusive" : "held-shared";
}

static u64 entity_fence(struct el_entity *entity)
{
	const struct el_hold *hold;
	u64 fence = entity->fence;

	hold = list_first_entry_or_null(&entity->queue.holders, struct el_hold, link);
	if (hold)
		fence = max(fence, READ_ONCE(hold->token->fence));
	return fence;
}

static int listing_show(struct seq_file *seq, void *v)
{
	struct el_entity *entity = v;
	struct el_queue *queue;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "#name\tstate\tfence\tholders\twaiters\tholder\twaiter\tmark\n");
		return 0;
	}
	/* One that is dying has no holders and no waiters, and is as good as gone. */
	if (!refcount_read(&entity->refs))
		return SEQ_SKIP;

	queue = &entity->queue;
	el_seq_escape(seq, entity->name, entity->name_len, EL_SPECIAL);
	spin_lock(&entity->lock);
	seq_printf(seq, "\t%s\t%llu\t%u\t%u\t", entity_state(entity), entity_fence(entity),
		   queue->nr_holders, queue->nr_waiters);
	show_holders(seq, queue);
	seq_putc(seq, '\t');
	show_waiters(seq, queue);
	seq_printf(seq, "\t%s\n", entity->mark ? "abandoned" : "-");
	spin_unlock(&entity->lock);
	return 0;
}

/* An entity, or NULL at the end.  A table that is resized meanwhile says so. */
static void *step(struct el_listing *listing, void *(*move)(struct rhashtable_iter *iter))
{
	void *entity;

	do {
		entity = move(&listing->iter);
	} while (IS_ERR(entity));
	return entity;
}

/* Reading from the start begins a new walk; otherwise the walk goes on. */
static void *listing_start(struct seq_file *seq, loff_t *pos)
	__acquires(RCU)
{
	struct el_listing *listing = seq->private;

	if (!*pos) {
		el_listing_end(listing);
		rhashtable_walk_enter(&listing->domain->table, &listing->iter);
		listing->walking = true;
	}
	rhashtable_walk_start(&listing->iter);
	return *pos ? step(listing, rhashtable_walk_peek) : SEQ_START_TOKEN;
}

static void *listing_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	return step(seq->private, rhashtable_walk_next);
}

static void listing_stop(struct seq_file *seq, void *v)
	__releases(RCU)
{
	struct el_listing *listing = seq->private;

	rhashtable_walk_stop(&listing->iter);
}

const struct seq_operations el_listing_ops = {
	.start = listing_start,
	.next = listing_next,
	.stop = listing_stop,
	.show = listing_show,
};

/* el_listing_end - the reader goes, or begins anew */
void el_listing_end(struct el_listing *listing)
{
	if (listing->walking)
		rhashtable_walk_exit(&listing->iter);
	listing->walking = false;
}
