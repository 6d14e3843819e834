// SPDX-License-Identifier: GPL-2.0
/*
 * The listing: a header, a line for the gate if there is something to tell of it,
 * then a line for each entity, with its holders and waiters.  Columns are separated
 * by tabs; new ones come at the end.
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
 *   held     for each holder shown, separated by commas: nanoseconds since it is in
 *            its state; "-" for none
 *   waited   the same for each waiter shown
 *   lease    for each holder shown: nanoseconds to the end of its lease, 0 = it has
 *            run out, "-" = it has none
 *   parked   for each holder shown: p = its token is parked, or "-"
 *
 * The gate's name is "#gate", as no entity's can be.  It is held-exclusive, awaited
 * (the first waiter is next, operations are drained), open (those that waited are
 * let in) or abandoned.  Operations wait at it, too, with their first mode.
 *
 * It is not a snapshot: an entity is shown as it is when its line is made.  While
 * so many come or go that the table is resized one may be shown twice, or not.
 */
#include <linux/ctype.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rhashtable.h>

#include <linux/entitylock.h>

#include "domain.h"
#include "entity.h"
#include "lease.h"
#include "listing.h"
#include "token.h"

/* Most holders, and most waiters, that a line shows. */
#define EL_SHOWN	16

/**
 * el_escape - make bytes that a user chose fit to be shown
 * @to: where, four times @len and a byte more; NULL to be told the length
 * @text: the bytes
 * @len: their number
 * @special: what separates things there
 *
 * All that is no printable ASCII, a space, and what is special becomes \xHH.
 *
 * Return: the length, without the terminator that may be there.
 */
size_t el_escape(char *to, const char *text, size_t len, const char *special)
{
	size_t i, used = 0;
	bool plain;

	for (i = 0; i < len; i++) {
		plain = text[i] > ' ' && text[i] < 0x7f && !strchr(special, text[i]);
		if (to && plain)
			to[used] = text[i];
		else if (to)
			sprintf(to + used, "\\x%02x", (unsigned char)text[i]);
		used += plain ? 1 : 4;
	}
	return used;
}

/* el_seq_escape - the same into a seq_file */
void el_seq_escape(struct seq_file *seq, const char *text, size_t len, const char *special)
{
	char *to;

	if (seq_get_buf(seq, &to) < 4 * len + 1) {
		seq_commit(seq, -1);
		return;
	}
	seq_commit(seq, el_escape(to, text, len, special));
}

/* What is told of one holder, or waiter, in each column that has a list of them. */
enum el_told_of {
	EL_TELL_WHO,
	EL_TELL_AGE,
	EL_TELL_LEASE,
	EL_TELL_PARKED,
};

static void show_who(struct seq_file *seq, struct el_token *token, u8 mode)
{
	char letter = mode == ENTITYLOCK_EXCLUSIVE ? 'x' : 's';
	struct pid_namespace *ns = task_active_pid_ns(current);

	seq_printf(seq, "%llu:%c:%d:", token->id, letter, pid_nr_ns(token->owner, ns));
	el_seq_escape(seq, token->comm, strnlen(token->comm, sizeof(token->comm)),
		      EL_SPECIAL_ITEM);
	seq_putc(seq, ':');
	if (token->label)
		el_seq_escape(seq, token->label->text, token->label->len,
			      EL_SPECIAL_ITEM);
}

static void show_lease(struct seq_file *seq, const struct el_token *token)
{
	u64 left = el_lease_left(token);

	if (left == ENTITYLOCK_FOREVER)
		seq_putc(seq, '-');
	else
		seq_printf(seq, "%llu", left);
}

/* Show one, behind @shown others; return how many have been shown. */
static u32 show_next(struct seq_file *seq, enum el_told_of what, struct el_token *token,
		     u8 mode, u32 shown)
{
	if (shown)
		seq_putc(seq, ',');
	spin_lock(&token->lock);
	switch (what) {
	case EL_TELL_WHO:
		show_who(seq, token, mode);
		break;
	case EL_TELL_AGE:
		seq_printf(seq, "%llu", el_token_age(token));
		break;
	case EL_TELL_LEASE:
		show_lease(seq, token);
		break;
	case EL_TELL_PARKED:
		seq_putc(seq, token->parked ? 'p' : '-');
		break;
	}
	spin_unlock(&token->lock);
	return shown + 1;
}

static void show_rest(struct seq_file *seq, enum el_told_of what, u32 shown, u32 count)
{
	if (!count || (!shown && what != EL_TELL_WHO))
		seq_putc(seq, '-');
	else if (shown < count && what == EL_TELL_WHO)
		seq_printf(seq, shown ? ",+%u" : "+%u", count - shown);
}

static void show_holders(struct seq_file *seq, enum el_told_of what,
			 const struct el_queue *queue)
{
	const struct el_hold *hold;
	u32 shown = 0;

	list_for_each_entry(hold, &queue->holders, link) {
		if (shown == EL_SHOWN)
			break;
		shown = show_next(seq, what, hold->token, hold->mode, shown);
	}
	show_rest(seq, what, shown, queue->nr_holders);
}

static void show_waiters(struct seq_file *seq, enum el_told_of what,
			 const struct el_queue *queue)
{
	const struct el_hold *hold;
	u32 shown = 0;

	hold = el_queue_upgrader(queue);
	if (hold)
		shown = show_next(seq, what, hold->token, hold->want, shown);
	list_for_each_entry(hold, &queue->waiters, link) {
		if (shown == EL_SHOWN)
			break;
		shown = show_next(seq, what, hold->token, hold->want, shown);
	}
	show_rest(seq, what, shown, queue->nr_waiters);
}

static void show_gate_holder(struct seq_file *seq, enum el_told_of what,
			     const struct el_gate *gate)
{
	u32 shown = 0;

	if (gate->holder)
		shown = show_next(seq, what, gate->holder, ENTITYLOCK_EXCLUSIVE, shown);
	show_rest(seq, what, shown, shown);
}

static void show_gate_waiters(struct seq_file *seq, enum el_told_of what,
			      const struct el_gate *gate)
{
	struct el_token *token;
	u32 shown = 0;
	u8 mode;

	if (gate->awaited)
		shown = show_next(seq, what, gate->awaited, ENTITYLOCK_EXCLUSIVE, shown);
	list_for_each_entry(token, &gate->queue, gate_link) {
		if (shown == EL_SHOWN)
			break;
		/* Nobody changes the set of one that waits to be let in. */
		mode = token->gate ? ENTITYLOCK_EXCLUSIVE : token->set[0]->want;
		shown = show_next(seq, what, token, mode, shown);
	}
	show_rest(seq, what, shown, gate->nr_queued + !!gate->awaited);
}

static const char *gate_state(const struct el_gate *gate)
{
	if (gate->holder)
		return "held-exclusive";
	if (gate->awaited)
		return "awaited";
	return gate->nr_queued ? "open" : "abandoned";
}

static void show_gate(struct seq_file *seq, struct el_gate *gate)
{
	spin_lock(&gate->lock);
	if (gate->holder || gate->awaited || gate->nr_queued || gate->mark) {
		seq_printf(seq, "#gate\t%s\t%llu\t%u\t%u\t", gate_state(gate), gate->floor,
			   !!gate->holder, gate->nr_queued + !!gate->awaited);
		show_gate_holder(seq, EL_TELL_WHO, gate);
		seq_putc(seq, '\t');
		show_gate_waiters(seq, EL_TELL_WHO, gate);
		seq_printf(seq, "\t%s\t", gate->mark ? "abandoned" : "-");
		show_gate_holder(seq, EL_TELL_AGE, gate);
		seq_putc(seq, '\t');
		show_gate_waiters(seq, EL_TELL_AGE, gate);
		seq_putc(seq, '\t');
		show_gate_holder(seq, EL_TELL_LEASE, gate);
		seq_putc(seq, '\t');
		show_gate_holder(seq, EL_TELL_PARKED, gate);
		seq_putc(seq, '\n');
	}
	spin_unlock(&gate->lock);
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
	struct el_listing *listing = seq->private;
	struct el_entity *entity = v;
	struct el_queue *queue;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "#name\tstate\tfence\tholders\twaiters\tholder\twaiter\tmark\t"
			 "held\twaited\tlease\tparked\n");
		show_gate(seq, &listing->domain->gate);
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
	show_holders(seq, EL_TELL_WHO, queue);
	seq_putc(seq, '\t');
	show_waiters(seq, EL_TELL_WHO, queue);
	seq_printf(seq, "\t%s\t", entity->mark ? "abandoned" : "-");
	show_holders(seq, EL_TELL_AGE, queue);
	seq_putc(seq, '\t');
	show_waiters(seq, EL_TELL_AGE, queue);
	seq_putc(seq, '\t');
	show_holders(seq, EL_TELL_LEASE, queue);
	seq_putc(seq, '\t');
	show_holders(seq, EL_TELL_PARKED, queue);
	seq_putc(seq, '\n');
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
		el_entities_settle(&listing->domain->table);
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
