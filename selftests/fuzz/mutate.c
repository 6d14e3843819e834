// SPDX-License-Identifier: GPL-2.0
/*
 * Programs by chance.  Most of what is drawn makes sense: slots have in them what the
 * verb wants, flags are those that it knows, memory is good.  Otherwise nothing but the
 * first check of each verb would be reached.
 */
#include <string.h>
#include <linux/entitylock.h>

#include "names.h"
#include "program.h"

/* splitmix64 */
__u32 below(struct dice *dice, __u32 n)
{
	__u64 z = dice->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (__u32)(z ^ z >> 31) % n;
}

struct dice dice_from(__u64 seed, unsigned int number)
{
	struct dice dice = { .state = seed << 8 | number };

	below(&dice, 1);
	return dice;
}

static bool chance(struct dice *dice, unsigned int percent)
{
	return below(dice, 100) < percent;
}

/* What the slots have in them when step @end begins, if all before it succeeds. */
static void kinds_before(const struct program *program, unsigned int end, enum kind *kinds)
{
	memset(kinds, 0, SLOTS * sizeof(*kinds));
	for (unsigned int i = 0; i < end; i++) {
		const struct step *step = &program->steps[i];
		enum kind gives = verb_types[step->verb].gives;

		if (gives == ANYTHING)
			gives = kinds[step->field[FD]];
		if (gives)
			kinds[step->field[TO]] = gives;
		if (step->verb == CLOSE)
			kinds[step->field[FD]] = NOTHING;
	}
}

/* A slot with @want in it, if there is one. */
static __u32 choose_slot(struct dice *dice, const enum kind *kinds, enum kind want)
{
	__u32 first = below(dice, SLOTS);

	if (chance(dice, 4))
		return first;
	for (__u32 i = 0; i < SLOTS; i++) {
		enum kind kind = kinds[(first + i) % SLOTS];

		if (kind == want || (want == ANYTHING && kind))
			return (first + i) % SLOTS;
	}
	return first;
}

static __u32 choose_flags(struct dice *dice, __u32 known)
{
	__u32 flags = 0;

	if (chance(dice, 3))
		return 1U << below(dice, 32);
	for (__u32 bit = 1; bit; bit <<= 1)
		if (known & bit && chance(dice, bit == ENTITYLOCK_ASYNC ? 40 : 15))
			flags |= bit;
	return flags;
}

static __u32 choose_count(struct dice *dice)
{
	static const __u32 rare[] = { 0, 9, 17, 33, 64, 100, 1023, 1024, 1025, ~0U };

	return chance(dice, 96) ? 1 + below(dice, 4) : rare[below(dice, 10)];
}

static __u32 choose_mode(struct dice *dice)
{
	static const __u32 rare[] = { 0, 4, 0777, 0500, 0222, 01000, ~0U };

	return chance(dice, 94) ? 1 + below(dice, 3) : rare[below(dice, 7)];
}

static __u32 choose_label(struct dice *dice)
{
	static const __u32 lengths[] = { 1, 7, 62, 63, 64, 255, ~0U };

	return chance(dice, 80) ? 0 : lengths[below(dice, 7)];
}

/* One of @count, often 0, and seldom a @bad one or later. */
static __u32 choose_kind(struct dice *dice, unsigned int count, unsigned int bad)
{
	if (chance(dice, 4))
		return below(dice, count);
	return chance(dice, 60) ? 0 : below(dice, bad);
}

static __u32 choose(struct dice *dice, const struct step *step, enum field field,
		    const enum kind *kinds)
{
	const struct verb_type *type = &verb_types[step->verb];

	switch (field) {
	case FD:
		return choose_slot(dice, kinds, type->takes);
	case TO:
		return chance(dice, 85) ? choose_slot(dice, kinds, NOTHING) : below(dice, SLOTS);
	case NAME:
		return below(dice, chance(dice, 80) ? 4 : NAME_KINDS);
	case COUNT:
		return choose_count(dice);
	case MODE:
		return choose_mode(dice);
	case FLAGS:
		return choose_flags(dice, type->flags);
	case DEADLINE:
		return choose_kind(dice, DEADLINES, TOO_FAR);
	case LEASE:
		return choose_kind(dice, LEASES, TOO_LONG);
	case NUMBER:
		return chance(dice, 60) ? 0 : below(dice, NUMBERS);
	case LABEL:
		return choose_label(dice);
	case SIZE:
	case STRIDE:
		return chance(dice, 92) ? 0 : below(dice, SIZES);
	case AT:
		return chance(dice, 90) ? 0 : below(dice, PLACES);
	case IN:
		return chance(dice, 90) ? 0 : below(dice, 2 * PLACES);
	case RING:
		return chance(dice, 10);
	default:
		return below(dice, 16);
	}
}

static __u8 choose_verb(struct dice *dice)
{
	unsigned int sum = 0, drawn;
	__u8 verb = 0;

	for (unsigned int i = 0; i < VERBS; i++)
		sum += verb_types[i].weight;
	for (drawn = below(dice, sum); drawn >= verb_types[verb].weight; verb++)
		drawn -= verb_types[verb].weight;
	return verb;
}

/* A step for the place @at; what is there moves on. */
static void insert(struct program *program, unsigned int at, __u8 verb, struct dice *dice)
{
	struct step *step = &program->steps[at];
	enum kind kinds[SLOTS];

	memmove(step + 1, step, (program->count - at) * sizeof(*step));
	program->count++;
	kinds_before(program, at, kinds);
	memset(step, 0, sizeof(*step));
	step->verb = verb;
	step->lane = chance(dice, 60) ? 0 : below(dice, LANES);
	for (enum field field = 0; field < FIELDS; field++)
		if (verb_types[verb].fields & 1U << field)
			step->field[field] = choose(dice, step, field, kinds);
}

void program_invent(struct program *program, struct dice *dice)
{
	unsigned int count = 3 + below(dice, 10);

	memset(program, 0, sizeof(*program));
	program->ordered = chance(dice, 75);
	insert(program, 0, OPEN, dice);
	program->steps[0].lane = 0;
	program->steps[0].field[HOW] = 0;
	while (program->count < count)
		insert(program, program->count, choose_verb(dice), dice);
}

static void change_field(struct program *program, struct dice *dice)
{
	unsigned int at = below(dice, program->count);
	struct step *step = &program->steps[at];
	enum field field = below(dice, FIELDS);
	enum kind kinds[SLOTS];

	kinds_before(program, at, kinds);
	for (unsigned int i = 0; i < FIELDS; i++, field = (field + 1) % FIELDS) {
		if (!(verb_types[step->verb].fields & 1U << field))
			continue;
		step->field[field] = choose(dice, step, field, kinds);
		return;
	}
}

static void splice(struct program *program, const struct program *other, struct dice *dice)
{
	unsigned int cut = 1 + below(dice, program->count);

	program->count = cut;
	for (unsigned int i = below(dice, other->count);
	     i < other->count && program->count < STEPS_MAX; i++)
		program->steps[program->count++] = other->steps[i];
}

static void swap_steps(struct program *program, struct dice *dice)
{
	unsigned int at = below(dice, program->count), with = below(dice, program->count);
	struct step step = program->steps[at];

	program->steps[at] = program->steps[with];
	program->steps[with] = step;
}

void program_mutate(struct program *program, const struct program *other, struct dice *dice)
{
	do {
		switch (below(dice, 10)) {
		case 0 ... 2:
			if (program->count < STEPS_MAX)
				insert(program, below(dice, program->count + 1), choose_verb(dice),
				       dice);
			break;
		case 3 ... 6:
			change_field(program, dice);
			break;
		case 7:
			if (program->count > 1)
				program_remove(program, below(dice, program->count));
			break;
		case 8:
			if (chance(dice, 50))
				splice(program, other, dice);
			else
				swap_steps(program, dice);
			break;
		default:
			if (chance(dice, 30))
				program->ordered = !program->ordered;
			program->steps[below(dice, program->count)].lane = below(dice, LANES);
		}
	} while (chance(dice, 60));
}
