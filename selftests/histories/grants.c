// SPDX-License-Identifier: GPL-2.0
/* From the calls of each token to its grants. */
#include <stdlib.h>
#include <string.h>

#include "grants.h"

#define NOBODY	UINT32_MAX

/**
 * struct token - one, as far as the history is read
 * @held: number of its grant, NOBODY if it holds nothing
 * @proved: when it surely held that still
 * @expires: when its lease ends, at the earliest
 * @ask: the call that waits, or whose outcome nobody saw
 * @lo: when that was not granted yet
 * @queued: when it surely waited
 * @last: the call in which its process was killed
 * @away: its last process has handed it over, and no other has it yet: the call
 */
struct token {
	u32 process;
	u32 held;
	u64 proved;
	u64 expires;
	const struct event *ask;
	u64 lo;
	u64 queued;
	const struct event *last;
	const struct event *away;
};

struct making {
	struct grants *grants;
	struct token *tokens;
	u32 nr_tokens;
	const struct event **rare;	/* BREAK and KILL */
	u32 nr_rare;
};

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static bool wrong(const struct event *event, const char *why)
{
	fprintf(stderr, "line %u: %s: ", event->line, why);
	event_print(stderr, event);
	return false;
}

static struct grant *held(struct making *making, struct token *token)
{
	return token->held == NOBODY ? NULL : &making->grants->all[token->held];
}

static struct grant *grant_add(struct making *making, struct token *token,
			       const struct event *ask)
{
	struct grants *grants = making->grants;
	struct grant *grant = &grants->all[grants->count++];

	*grant = (struct grant){
		.token = token - making->tokens,
		.ask = ask,
		.told = ask,
		.asked = ask->begin,
		.queued = token->queued,
		.lo = token->lo,
		.hi = NEVER,
		.gone = NEVER,
		.enters = ask->verb == ACQUIRE || ask->verb == LOCK,
		.count = ask->count,
	};
	memcpy(grant->items, ask->items, sizeof(grant->items));
	return grant;
}

static bool has(const struct grant *grant, unsigned char thing, bool exclusive)
{
	for (u32 i = 0; i < grant->count; i++)
		if (grant->items[i].thing == thing && grant->items[i].exclusive >= exclusive)
			return true;
	return false;
}

static const struct event *kill_of(const struct making *making, u32 process)
{
	for (u32 i = 0; i < making->nr_rare; i++)
		if (making->rare[i]->verb == KILL && making->rare[i]->number == process)
			return making->rare[i];
	return NULL;
}

/* The call's end, or that of its process. */
static u64 end_of(const struct making *making, const struct event *event)
{
	const struct event *kill;

	if (event->end != NEVER)
		return event->end;
	kill = kill_of(making, event->process);
	return kill ? kill->end : NEVER;
}

/* When somebody may have taken it by its number: NEVER if nobody did. */
static u64 broken(const struct making *making, const struct grant *grant)
{
	for (u32 i = 0; i < making->nr_rare; i++) {
		const struct event *event = making->rare[i];

		if (event->verb == BREAK && (event->result == OK || event->result == NONE) &&
		    event->number == grant->fence && event->end >= grant->lo &&
		    has(grant, event->items[0].thing, false))
			return event->begin;
	}
	return NEVER;
}

/* Exclusive before, and not after: @next is NULL if nothing is. */
static void set_changes(struct grant *grant, const struct grant *next, enum change change)
{
	for (u32 i = 0; i < grant->count; i++)
		if (grant->items[i].exclusive &&
		    !(next && has(next, grant->items[i].thing, true)))
			grant->change[i] = change;
}

/* It held until @until, if nothing came before. */
static void hold_ends(struct making *making, struct token *token, u64 until, u64 gone,
		      enum change change)
{
	struct grant *grant = held(making, token);

	grant->until = most(token->proved,
			    least(until, least(token->expires, broken(making, grant))));
	grant->gone = gone;
	set_changes(grant, NULL, change);
	token->held = NOBODY;
}

static void hold_ends_by(struct making *making, struct token *token, const struct event *over,
			 enum change change)
{
	held(making, token)->over = over;
	hold_ends(making, token, over->begin, end_of(making, over), change);
}

/* Nobody knows whether it was granted before it ended. */
static void ask_ends(struct making *making, struct token *token, u64 gone)
{
	struct grant *grant = grant_add(making, token, token->ask);

	grant->gone = gone;
	set_changes(grant, NULL, MAY_CHANGE);
	token->ask = NULL;
}

static void granted(struct making *making, struct token *token, const struct event *told)
{
	struct grant *before = held(making, token);
	struct grant *grant = grant_add(making, token, token->ask);

	grant->told = told;
	grant->fence = told->fence;
	grant->hi = told->end;
	if (before) {
		/* It held when it was granted more, but need not when it was told so. */
		before->until = most(grant->lo, least(least(grant->hi, token->expires),
						      least(broken(making, before),
							    broken(making, grant))));
		before->gone = grant->hi;
	} else {
		token->expires = token->ask->lease ? token->lo + token->ask->lease : NEVER;
	}
	token->held = grant - making->grants->all;
	token->proved = 0;
	token->ask = NULL;
}

static void lowered(struct making *making, struct token *token, const struct event *event)
{
	struct grant *before = held(making, token), *grant;

	token->lo = event->begin;
	grant = grant_add(making, token, event);
	grant->lowered = true;
	grant->fence = before->fence;
	grant->hi = event->begin;
	before->until = event->begin;
	before->gone = event->end;
	set_changes(before, grant, CHANGES);
	token->held = grant - making->grants->all;
	token->proved = 0;
}

static void reads(struct making *making, struct token *token, const struct event *event)
{
	struct grants *grants = making->grants;

	for (u32 i = 0; i < event->count; i++) {
		if (!event->items[i].told)
			continue;
		grants->readings[grants->nr_readings++] = (struct reading){
			.grant = token->held,
			.event = event,
		};
		return;
	}
}

static bool lock_call(struct making *making, struct token *token, const struct event *event)
{
	bool raises = event->verb == EXTEND || event->verb == UPGRADE;
	bool holds = token->held != NOBODY;

	if (raises != holds || token->ask)
		return wrong(event, "the token's state does not allow it");
	token->lo = event->begin;
	token->queued = NEVER;
	switch (event->result) {
	case GRANTED:
		token->ask = event;
		granted(making, token, event);
		reads(making, token, event);
		break;
	case WAITS:
		if (raises)
			return wrong(event, "is not known to the checker");
		token->queued = event->end;
		token->ask = event;
		break;
	case NONE:
		token->ask = event;
		break;
	case LOST:
		if (raises)
			hold_ends_by(making, token, event, CHANGES);
		/* It may have been granted, and its lease over before the call was. */
		token->ask = event;
		ask_ends(making, token, event->end);
		break;
	default:
		if (raises)
			token->proved = event->begin;
		break;
	}
	return true;
}

static bool look_call(struct making *making, struct token *token, const struct event *event)
{
	struct grant *grant = held(making, token);

	switch (event->result) {
	case WAITS:
		if (!token->ask)
			return wrong(event, "nothing was asked for");
		token->lo = event->begin;
		break;
	case GRANTED:
		if (!token->ask && (!grant || grant->fence != event->fence))
			return wrong(event, "nobody was told of this grant");
		if (token->ask)
			granted(making, token, event);
		else
			token->proved = event->begin;
		reads(making, token, event);
		break;
	case FAILED:
		token->ask = NULL;
		break;
	case LOST:
		if (token->ask)
			ask_ends(making, token, end_of(making, event));
		else if (grant)
			hold_ends_by(making, token, event, CHANGES);
		break;
	default:
		break;
	}
	return true;
}

static void unlock_call(struct making *making, struct token *token, const struct event *event)
{
	enum change change = event->verb == UNLOCK ? CHANGES :
			     event->result == NONE ? MAY_CHANGE : STAYS;

	if (token->ask) {
		ask_ends(making, token, end_of(making, event));
		return;
	}
	if (event->result == OK)
		token->proved = event->begin;
	if (event->result == LOST)
		change = CHANGES;
	if (held(making, token))
		hold_ends_by(making, token, event, change);
}

static void close_call(struct making *making, struct token *token, const struct event *event)
{
	if (token->ask)
		ask_ends(making, token, end_of(making, event));
	else if (held(making, token))
		hold_ends_by(making, token, event, CHANGES);
}

/* PARK, PASS: from now on the end of its process is not the token's. */
static void away_call(struct making *making, struct token *token, const struct event *event)
{
	switch (event->result) {
	case OK:
	case NONE:
		token->away = event;
		/* What is lost can be sent, but not parked. */
		if (event->verb == PARK && event->result == OK)
			token->proved = event->begin;
		if (event->lease)
			token->expires = event->result == OK ? event->begin + event->lease :
					 least(token->expires, event->begin + event->lease);
		break;
	case LOST:
		if (held(making, token))
			hold_ends_by(making, token, event, CHANGES);
		break;
	default:
		break;
	}
}

/* CLAIM, TAKE: it has a process again, or it was over. */
static bool back_call(struct making *making, struct token *token, const struct event *event)
{
	if (!token->away || token->away->result != OK)
		return wrong(event, "nobody has handed the token over");
	switch (event->result) {
	case OK:
		token->away = NULL;
		break;
	case NONE:
		/* It may have come to the one who was killed, and gone with him. */
		token->away = event;
		break;
	default:
		token->away = NULL;
		hold_ends_by(making, token, event, CHANGES);
		break;
	}
	return true;
}

static bool token_call(struct making *making, struct token *token, const struct event *event)
{
	token->last = event;
	switch (event->verb) {
	case PARK:
	case PASS:
		away_call(making, token, event);
		return true;
	case CLAIM:
	case TAKE:
		return back_call(making, token, event);
	case ACQUIRE:
	case LOCK:
	case EXTEND:
	case UPGRADE:
		return lock_call(making, token, event);
	case DOWNGRADE:
		if (!held(making, token))
			return wrong(event, "the token holds nothing");
		if (event->result == OK)
			lowered(making, token, event);
		else if (event->result == LOST || event->result == NONE)
			hold_ends_by(making, token, event, CHANGES);
		return true;
	case LOOK:
		return look_call(making, token, event);
	case RENEW:
		if (event->result == OK) {
			token->proved = event->begin;
			token->expires = event->begin + event->lease;
		} else if (event->result == LOST && held(making, token)) {
			hold_ends_by(making, token, event, CHANGES);
		}
		return true;
	case UNLOCK:
	case UNLOCK_UNCHANGED:
		unlock_call(making, token, event);
		return true;
	default:
		close_call(making, token, event);
		return true;
	}
}

/* Its process was killed by @kill, or the history ends. */
static void token_dies(struct making *making, struct token *token, const struct event *kill)
{
	u64 until = kill ? kill->begin : NEVER, gone = kill ? kill->end : NEVER;
	bool asks = token->ask;

	if (asks)
		ask_ends(making, token, gone);
	/* What it had asked for may be what it had in the end. */
	if (held(making, token))
		hold_ends(making, token, until, gone, asks ? MAY_CHANGE : CHANGES);
}

/* The history ends with a token that no process has: what came then is not certain. */
static void token_stays_away(struct making *making, struct token *token)
{
	if (held(making, token))
		hold_ends(making, token, token->away->begin, NEVER, MAY_CHANGE);
}

static void making_start(struct making *making, const struct history *history,
			 struct grants *grants)
{
	*making = (struct making){ .grants = grants };
	making->rare = calloc(history->count + 1, sizeof(*making->rare));
	for (u32 i = 0; making->rare && i < history->count; i++) {
		const struct event *event = &history->events[i];

		if (event->verb == BREAK || event->verb == KILL)
			making->rare[making->nr_rare++] = event;
		making->nr_tokens = most(making->nr_tokens, event->token + 1);
	}
	making->tokens = calloc(making->nr_tokens + 1, sizeof(*making->tokens));
	/* A call makes a grant, and the end of its token one of which nobody knows. */
	grants->all = calloc(2 * history->count + 1, sizeof(*grants->all));
	grants->readings = calloc(history->count + 1, sizeof(*grants->readings));
	if (!making->rare || !making->tokens || !grants->all || !grants->readings)
		abort();
	for (u32 i = 0; i < making->nr_tokens; i++)
		making->tokens[i].held = NOBODY;
}

bool grants_make(struct grants *grants, const struct history *history)
{
	struct making making;
	bool good = true;

	*grants = (struct grants){ 0 };
	making_start(&making, history, grants);
	for (u32 i = 0; good && i < history->count; i++) {
		const struct event *event = &history->events[i];
		struct token *token = &making.tokens[event->token];

		if (event->verb == BREAK || event->verb == KILL)
			continue;
		if (token->last && token->last->end > event->begin)
			good = wrong(event, "its token's last call was not over");
		token->process = event->process;
		good = good && token_call(&making, token, event);
	}
	for (u32 i = 0; good && i < making.nr_tokens; i++)
		if (making.tokens[i].away)
			token_stays_away(&making, &making.tokens[i]);
		else if (making.tokens[i].last)
			token_dies(&making, &making.tokens[i],
				   kill_of(&making, making.tokens[i].process));
	free(making.rare);
	free(making.tokens);
	return good;
}
