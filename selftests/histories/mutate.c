// SPDX-License-Identifier: GPL-2.0
/*
 * One rule is broken in a history, by a change of a call's times or numbers that
 * is as small as possible: what a module that is wrong would have left.
 *
 * Two grants are looked for that conflict, one after the other, and so that what
 * is changed can be seen.
 */
#include <stdlib.h>

#include "mutate.h"

struct pair {
	struct history *history;
	const struct grants *grants;
	unsigned char thing;
	const struct grant *one;
	const struct grant *other;
	bool done;		/* or only find out whether it could be */
};

static struct event *event_of(const struct pair *pair, const struct event *event)
{
	return &pair->history->events[event - pair->history->events];
}

/* The other was told of its grant while the first held still. */
static bool break_alone(const struct pair *pair)
{
	const struct grant *one = pair->one, *other = pair->other;

	if (other->told != other->ask || other->lowered || one->hi + 2 >= one->until ||
	    other->asked + 2 >= one->until)
		return false;
	if (pair->done)
		event_of(pair, other->told)->end = one->until - 1;
	return true;
}

/* The other's number is less.  Of those before, an exclusive one has the greatest. */
static bool break_fences(const struct pair *pair)
{
	u64 fence = pair->other->fence;

	if (pair->one->lowered || pair->other->lowered ||
	    !grant_item(pair->one, pair->thing)->exclusive)
		return false;
	for (u32 i = 0; pair->done && i < pair->history->count; i++) {
		struct event *event = &pair->history->events[i];

		if (event->token == pair->other->token && event->fence == fence)
			event->fence = pair->one->fence - 1;
	}
	return true;
}

/* The first asked only when the other waited already. */
static bool break_order(const struct pair *pair)
{
	const struct grant *one = pair->one, *other = pair->other;

	if (one->ask->verb != ACQUIRE || one->ask->result != GRANTED ||
	    !queues_for(other, pair->thing) || other->queued + 1 >= one->hi ||
	    one->asked > other->queued)
		return false;
	if (pair->done)
		event_of(pair, one->ask)->begin = other->queued + 1;
	return true;
}

/* The other does not see what the first has changed. */
static bool break_versions(const struct pair *pair)
{
	if (pair->thing == GATE || !is_kept(pair->thing) || pair->one->lowered)
		return false;
	for (u32 i = 0; i < pair->grants->nr_readings; i++) {
		const struct reading *reading = &pair->grants->readings[i];
		const struct item *item = reading_item(reading, pair->thing);
		struct event *event;

		if (&pair->grants->all[reading->grant] != pair->other || !item ||
		    item->version != pair->one->fence || !reading_counts(pair->grants, reading))
			continue;
		event = event_of(pair, reading->event);
		event->items[item - reading->event->items].version -= pair->done;
		return true;
	}
	return false;
}

static bool break_rule(const struct pair *pair, enum rule rule)
{
	switch (rule) {
	case ALONE:
		return pair->thing != GATE && break_alone(pair);
	case GATE_ALONE:
		return pair->thing == GATE && break_alone(pair);
	case FENCES:
		return break_fences(pair);
	case ORDER:
		return break_order(pair);
	default:
		return break_versions(pair);
	}
}

/* Of those who hold one thing. */
static bool mutate_thing(struct pair *pair, enum rule rule, u32 *nth)
{
	struct holders holders;

	holders_make(&holders, pair->grants, pair->thing);
	for (u32 i = 0; !pair->done && i + 1 < holders.count; i++) {
		pair->one = holders.all[i];
		pair->other = holders.all[i + 1];
		if (pair->one->token == pair->other->token ||
		    !grants_conflict(pair->one, pair->other, pair->thing) ||
		    !break_rule(pair, rule))
			continue;
		pair->done = !(*nth)--;
	}
	free(holders.all);
	if (pair->done)
		break_rule(pair, rule);
	return pair->done;
}

static bool mutate_nth(struct pair *pair, enum rule rule, u32 *nth)
{
	for (pair->thing = GATE; pair->thing < THINGS; pair->thing++)
		if (mutate_thing(pair, rule, nth))
			return true;
	return false;
}

bool mutate(struct history *history, const struct grants *grants, enum rule rule, u32 nth)
{
	struct pair pair = { .history = history, .grants = grants };
	u32 left = UINT32_MAX, places;

	/* Too far: how many are there? */
	mutate_nth(&pair, rule, &left);
	places = UINT32_MAX - left;
	if (!places)
		return false;
	nth %= places;
	mutate_nth(&pair, rule, &nth);
	fprintf(stderr, "%s: %s: lines %lu %lu\n", rule_names[rule], thing_name(pair.thing),
		pair.one->told - history->events + 1, pair.other->told - history->events + 1);
	return true;
}
