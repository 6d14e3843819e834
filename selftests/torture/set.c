// SPDX-License-Identifier: GPL-2.0
/* Sets of names, and random numbers that can be had again. */
#include "torture.h"

/* Steele, Lea and Flood's SplitMix64. */
static __u64 next(struct random *random)
{
	__u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A stream of its own for each @a, @b, @c. */
struct random random_from(__u64 seed, __u64 a, __u64 b, __u64 c)
{
	struct random random = { .state = seed };

	random.state = next(&random) + a;
	random.state = next(&random) + b;
	random.state = next(&random) + c;
	return random;
}

unsigned int below(struct random *random, unsigned int n)
{
	return (next(random) >> 32) * n >> 32;
}

bool chance(struct random *random, unsigned int percent)
{
	return below(random, 100) < percent;
}

static char names[THINGS][16];

/* Their numbers are in the order of the names; one hot name begins another. */
void names_init(void)
{
	strcpy(names[GATE], "(gate)");
	for (unsigned int i = 0; i < FEW; i++)
		memcpy(names[1 + i], "aaaaaaaaaaaaaaa", i + 1);
	for (unsigned int i = 0; i < MANY; i++)
		snprintf(names[1 + FEW + i], sizeof(names[0]), "m%05u", i);
}

const char *name_of(unsigned int what)
{
	return names[what];
}

void set_clear(struct set *set, __u16 gate_mode)
{
	set->count = 1;
	set->items[0] = (struct item){ GATE, gate_mode };
}

void set_add(struct set *set, __u16 what, __u16 mode)
{
	unsigned int i = set->count;

	while (i && set->items[i - 1].what > what)
		i--;
	if (i && set->items[i - 1].what == what) {
		if (set->items[i - 1].mode < mode)
			set->items[i - 1].mode = mode;
		return;
	}
	memmove(&set->items[i + 1], &set->items[i], (set->count - i) * sizeof(set->items[0]));
	set->items[i] = (struct item){ what, mode };
	set->count++;
}

void set_copy(struct set *to, const struct set *from)
{
	to->count = from->count;
	memcpy(to->items, from->items, from->count * sizeof(from->items[0]));
}

void set_merge(struct set *set, const struct set *more)
{
	for (unsigned int i = 0; i < more->count; i++)
		set_add(set, more->items[i].what, more->items[i].mode);
}

static unsigned int draw_count(struct random *random, unsigned int most)
{
	unsigned int kind = below(random, 1000);
	unsigned int count = 1;

	if (kind >= 999)
		count = 1 + below(random, ENTITYLOCK_SET_MAX);
	else if (kind >= 960)
		count = 1 + below(random, 32);
	else if (kind >= 600)
		count = 2 + below(random, 3);
	return count < most ? count : most;
}

/* Is one of @count names to be one of the few? */
static bool draw_few(struct random *random, unsigned int may, unsigned int count)
{
	if (!(may & DO_MANY))
		return true;
	return may & DO_FEW && count <= FEW && chance(random, 60);
}

/* A set of at most @most names. */
void set_draw(struct set *set, struct random *random, unsigned int may, unsigned int most)
{
	unsigned int count = draw_count(random, most);
	unsigned int next = 1 + FEW + below(random, MANY - ENTITYLOCK_SET_MAX);
	unsigned int exclusive = chance(random, 50) ? 100 : below(random, 100);

	set_clear(set, SHARED);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int what = draw_few(random, may, count) ? 1 + below(random, FEW) : next;

		/* Large sets are of neighbours: adding them is quick. */
		next = count > 32 ? next + 1 : 1 + FEW + below(random, MANY);
		set_add(set, what, chance(random, exclusive) ? EXCLUSIVE : SHARED);
	}
}

/* Is all of it in @mode? */
bool set_all(const struct set *set, __u16 mode)
{
	for (unsigned int i = 1; i < set->count; i++)
		if (set->items[i].mode != mode)
			return false;
	return true;
}

bool set_is_gate(const struct set *set)
{
	return set->items[0].mode == EXCLUSIVE;
}
