// SPDX-License-Identifier: GPL-2.0
/* The rules: each looks at those who had one thing, an entity or the gate. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

const char *const rule_names[RULES] = {
	[ALONE] = "L3_exclusive_is_alone",
	[GATE_ALONE] = "L5_the_gate_excludes_all",
	[FENCES] = "L10_fences_rise",
	[ORDER] = "L3_L5_nobody_overtakes",
	[VERSIONS] = "V3_versions_are_what_was_left",
};

struct checking {
	const struct grants *grants;
	struct verdict *verdict;
	u32 say;
	unsigned char thing;
	struct holders holders;
};

static void say_call(const struct event *event)
{
	if (!event)
		return;
	printf("#   line %u: ", event->line);
	event_print(stdout, event);
}

static void say_grant(const struct grant *grant)
{
	if (!grant)
		return;
	say_call(grant->ask);
	if (grant->told != grant->ask)
		say_call(grant->told);
	say_call(grant->over);
}

static void violated(struct checking *checking, enum rule rule, const struct grant *one,
		     const struct grant *other, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static void violated(struct checking *checking, enum rule rule, const struct grant *one,
		     const struct grant *other, const char *format, ...)
{
	va_list args;

	if (checking->verdict->violations[rule]++ >= checking->say)
		return;
	printf("# %s: %s: ", rule_names[rule], thing_name(checking->thing));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	say_grant(one);
	say_grant(other);
}

const struct item *grant_item(const struct grant *grant, unsigned char thing)
{
	for (u32 i = 0; i < grant->count; i++)
		if (grant->items[i].thing == thing)
			return &grant->items[i];
	return NULL;
}

const struct item *reading_item(const struct reading *reading, unsigned char thing)
{
	for (u32 i = 0; i < reading->event->count; i++)
		if (reading->event->items[i].thing == thing && reading->event->items[i].told)
			return &reading->event->items[i];
	return NULL;
}

bool grants_conflict(const struct grant *one, const struct grant *other, unsigned char thing)
{
	return grant_item(one, thing)->exclusive || grant_item(other, thing)->exclusive;
}

static int by_grant(const void *a, const void *b)
{
	const struct grant *one = *(const struct grant **)a, *other = *(const struct grant **)b;

	if (one->hi != other->hi)
		return one->hi < other->hi ? -1 : 1;
	return one < other ? -1 : 1;
}

void holders_make(struct holders *holders, const struct grants *grants, unsigned char thing)
{
	holders->count = 0;
	holders->all = calloc(grants->count + 1, sizeof(*holders->all));
	if (!holders->all)
		abort();
	for (u32 i = 0; i < grants->count; i++)
		if (is_certain(&grants->all[i]) && grant_item(&grants->all[i], thing))
			holders->all[holders->count++] = &grants->all[i];
	qsort(holders->all, holders->count, sizeof(*holders->all), by_grant);
}

/* L3, L5: of two that surely held at the same moment, and conflict, one is too many. */
static void check_alone(struct checking *checking)
{
	const struct holders *holders = &checking->holders;
	enum rule rule = checking->thing == GATE ? GATE_ALONE : ALONE;

	for (u32 i = 0; i < holders->count; i++) {
		const struct grant *one = holders->all[i];

		for (u32 j = i + 1; j < holders->count; j++) {
			const struct grant *other = holders->all[j];

			if (other->hi >= one->until)
				break;
			checking->verdict->checked[rule]++;
			if (one->token != other->token &&
			    grants_conflict(one, other, checking->thing))
				violated(checking, rule, one, other,
					 "held by token %u until %lu at least, and by token %u since %lu at most",
					 one->token, one->until, other->token, other->hi);
		}
	}
}

/* The greatest of what was before, of those who held it shared, and exclusive. */
struct greatest {
	const struct grant *grant[2];
};

static const struct grant *conflicting(const struct greatest *greatest,
				       const struct grant *grant, unsigned char thing,
				       u64 (*of)(const struct grant *grant))
{
	const struct grant *shared = greatest->grant[0], *exclusive = greatest->grant[1];

	if (!grant_item(grant, thing)->exclusive || !shared)
		return exclusive;
	return exclusive && of(exclusive) > of(shared) ? exclusive : shared;
}

static void raise_to(struct greatest *greatest, const struct grant *grant, unsigned char thing,
		     u64 (*of)(const struct grant *grant))
{
	const struct grant **place = &greatest->grant[grant_item(grant, thing)->exclusive];

	if (!*place || of(grant) > of(*place))
		*place = grant;
}

static u64 fence_of(const struct grant *grant)
{
	return grant->fence;
}

static u64 asked_of(const struct grant *grant)
{
	return grant->asked;
}

static void check_fence(struct checking *checking, const struct grant *earlier,
			const struct grant *grant)
{
	checking->verdict->checked[FENCES]++;
	if (earlier && !grant->lowered && earlier->fence >= grant->fence)
		violated(checking, FENCES, earlier, grant, "%lu was granted before %lu",
			 earlier->fence, grant->fence);
}

/* L10: among those who surely held, and conflict, who came later has the greater number. */
static void check_fences(struct checking *checking)
{
	struct greatest greatest = { 0 };

	for (u32 i = 0; i < checking->holders.count; i++) {
		const struct grant *grant = checking->holders.all[i];

		check_fence(checking, conflicting(&greatest, grant, checking->thing, fence_of),
			    grant);
		raise_to(&greatest, grant, checking->thing, fence_of);
	}
}

static int by_lo(const void *a, const void *b)
{
	const struct grant *one = *(const struct grant **)a, *other = *(const struct grant **)b;

	return one->lo < other->lo ? -1 : one->lo > other->lo;
}

/*
 * L10: also of those whose hold is not certain: who was told of a grant before
 * another one could be granted has the smaller number.
 */
static void check_all_fences(struct checking *checking)
{
	const struct grants *grants = checking->grants;
	const struct grant **starts = calloc(grants->count + 1, sizeof(*starts));
	const struct grant **tolds = calloc(grants->count + 1, sizeof(*tolds));
	struct greatest greatest = { 0 };
	u32 count = 0, told = 0;

	if (!starts || !tolds)
		abort();
	for (u32 i = 0; i < grants->count; i++)
		if (grants->all[i].fence && grant_item(&grants->all[i], checking->thing))
			starts[count++] = &grants->all[i];
	memcpy(tolds, starts, count * sizeof(*tolds));
	qsort(starts, count, sizeof(*starts), by_lo);
	qsort(tolds, count, sizeof(*tolds), by_grant);
	for (u32 i = 0; i < count; i++) {
		for (; told < count && tolds[told]->hi < starts[i]->lo; told++)
			raise_to(&greatest, tolds[told], checking->thing, fence_of);
		check_fence(checking,
			    conflicting(&greatest, starts[i], checking->thing, fence_of),
			    starts[i]);
	}
	free(starts);
	free(tolds);
}

/* Its place in line is known at the gate, and for the first that it wants. */
bool queues_for(const struct grant *grant, unsigned char thing)
{
	if (!grant->enters || grant->queued == NEVER)
		return false;
	for (u32 i = 0; i < grant->count; i++)
		if (grant->items[i].thing != GATE && grant->items[i].thing < thing)
			return false;
	return true;
}

/* L3, L5: who asked when another surely waited, and conflicts with it, was not before it. */
static void check_order(struct checking *checking)
{
	unsigned char thing = checking->thing;
	struct greatest last = { 0 };

	for (u32 i = 0; i < checking->holders.count; i++) {
		const struct grant *grant = checking->holders.all[i];
		const struct grant *earlier = conflicting(&last, grant, thing, asked_of);

		if (queues_for(grant, thing)) {
			checking->verdict->checked[ORDER]++;
			if (earlier && earlier->asked > grant->queued)
				violated(checking, ORDER, grant, earlier,
					 "token %u waited since %lu, token %u asked at %lu and had it first",
					 grant->token, grant->queued, earlier->token,
					 earlier->asked);
		}
		if (grant->enters)
			raise_to(&last, grant, thing, asked_of);
	}
}

/* --- Versions --- */

/*
 * Does it tell what the holder found?  Not if it might have lost it before the end
 * of the call.
 */
bool reading_counts(const struct grants *grants, const struct reading *reading)
{
	const struct grant *grant = &grants->all[reading->grant];

	return is_certain(grant) && grant->until >= reading->event->end;
}

static enum change change_of(const struct grant *grant, unsigned char thing)
{
	for (u32 i = 0; i < grant->count; i++)
		if (grant->items[i].thing == thing)
			return grant->change[i];
	return STAYS;
}

/* What the end of a hold leaves as the version of @thing: the gate is every name. */
static enum change leaves(const struct grant *grant, unsigned char thing)
{
	enum change gate = change_of(grant, GATE);

	return gate == STAYS ? change_of(grant, thing) : gate;
}

/*
 * Those who may have left a version of an entity: for certain, in the order of
 * time, and others.
 */
struct changes {
	struct holders certain;
	struct holders others;
};

static void changes_make(struct changes *changes, const struct grants *grants,
			 unsigned char thing)
{
	changes->certain = (struct holders){ .all = calloc(grants->count + 1, sizeof(void *)) };
	changes->others = (struct holders){ .all = calloc(grants->count + 1, sizeof(void *)) };
	if (!changes->certain.all || !changes->others.all)
		abort();
	for (u32 i = 0; i < grants->count; i++) {
		const struct grant *grant = &grants->all[i];
		enum change change = leaves(grant, thing);

		if (change == CHANGES && is_certain(grant))
			changes->certain.all[changes->certain.count++] = grant;
		else if (change != STAYS)
			changes->others.all[changes->others.count++] = grant;
	}
	qsort(changes->certain.all, changes->certain.count, sizeof(void *), by_grant);
}

/* The last change that @grant must have found: one's own downgrade may be it. */
static const struct grant *last_before(const struct changes *changes, const struct grant *grant,
				       unsigned char thing)
{
	u32 low = 0, high = changes->certain.count;
	const struct grant *last;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (changes->certain.all[middle]->hi < grant->hi)
			low = middle + 1;
		else
			high = middle;
	}
	last = low ? changes->certain.all[low - 1] : NULL;
	for (u32 i = 0; i < changes->others.count; i++) {
		const struct grant *other = changes->others.all[i];

		if (other->fence && leaves(other, thing) == CHANGES && other->hi < grant->lo &&
		    (!last || other->fence > last->fence))
			last = other;
	}
	return last;
}

/* Is @version that of a change which nobody can be certain of, after @last, before @grant? */
static bool may_be_left(const struct changes *changes, const struct grant *last,
			const struct grant *grant, u64 version)
{
	for (u32 i = 0; i < changes->others.count; i++) {
		const struct grant *other = changes->others.all[i];

		if (other->lo > grant->hi || (last && other->gone < last->until))
			continue;
		if (other->fence ? other->fence == version : !last || version > last->fence)
			return true;
	}
	return false;
}

/*
 * @first: who told the version that was there at first, NULL until somebody has: only
 * that others were told the same is known of it.
 */
static void check_version(struct checking *checking, const struct changes *changes,
			  const struct reading *reading, const struct reading **first)
{
	const struct grant *grant = &checking->grants->all[reading->grant];
	const struct item *item = reading_item(reading, checking->thing);
	const struct grant *last;
	u64 left;

	if (!item || !reading_counts(checking->grants, reading))
		return;
	checking->verdict->checked[VERSIONS]++;
	last = last_before(changes, grant, checking->thing);
	if (!last && !*first)
		*first = reading;
	left = last ? last->fence : reading_item(*first, checking->thing)->version;
	if (item->version == left || may_be_left(changes, last, grant, item->version) ||
	    (!is_kept(checking->thing) && (!last || item->version > left)))
		return;
	violated(checking, VERSIONS, last ?: &checking->grants->all[(*first)->grant], grant,
		 "version %lu was left, %lu was told", left, item->version);
	if (checking->verdict->violations[VERSIONS] <= checking->say &&
	    reading->event != grant->told)
		say_call(reading->event);
}

/* V3: a version is the number of the exclusive hold, or of the gate's, that left it. */
static void check_versions(struct checking *checking)
{
	const struct reading *first = NULL;
	struct changes changes;

	changes_make(&changes, checking->grants, checking->thing);
	for (u32 i = 0; i < checking->grants->nr_readings; i++)
		check_version(checking, &changes, &checking->grants->readings[i], &first);
	free(changes.certain.all);
	free(changes.others.all);
}

void rules_check(struct verdict *verdict, const struct grants *grants, u32 say)
{
	struct checking checking = { .grants = grants, .verdict = verdict, .say = say };

	*verdict = (struct verdict){ 0 };
	for (unsigned int thing = GATE; thing < THINGS; thing++) {
		checking.thing = thing;
		holders_make(&checking.holders, grants, thing);
		check_alone(&checking);
		check_fences(&checking);
		check_all_fences(&checking);
		check_order(&checking);
		if (thing != GATE)
			check_versions(&checking);
		free(checking.holders.all);
	}
}
