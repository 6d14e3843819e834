// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds what, by the word of the holders.
 *
 * A holder sets its seat's mark on each thing after it was granted, then looks
 * at the marks of others, and clears its own before it gives the thing back.
 * Of two who hold what conflicts, the one that marks later sees the other.
 *
 * A worker that is killed leaves marks, and the kernel hands on what it held
 * before anybody could clear them.  So it is called killed before it is killed,
 * and a mark of a killed one counts for nothing.  Once it is dead the controller
 * clears its marks, then calls its successor alive.  A mark seen before that may
 * be stale, therefore: it counts if it is still there after the worker was seen
 * to be alive.
 *
 * What is on its way from one process to another is marked by neither.
 *
 * The gate is a thing like others, that each operation holds shared and a gate
 * token exclusive.
 */
#include "torture.h"

static bool conflict(unsigned int mode, unsigned int other)
{
	return mode == EXCLUSIVE || other == EXCLUSIVE;
}

static __u64 bit_of(unsigned int number)
{
	return 1ULL << number;
}

static void raise_to(atomic_ullong *value, __u64 to)
{
	__u64 old = *value;

	while (old < to && !atomic_compare_exchange_weak(value, &old, to))
		;
}

/* Somebody else who holds @what so that @seat cannot have it in @mode, or NULL. */
static const struct seat *intruder(const struct seat *seat, const struct item *item)
{
	for (unsigned int mode = SHARED; mode <= EXCLUSIVE; mode++) {
		struct side *side = &shared->things[item->what].by[mode];
		__u64 marks = side->marks & ~bit_of(seat_number(seat));

		for (; conflict(item->mode, mode) && marks; marks &= marks - 1) {
			unsigned int number = __builtin_ctzll(marks);

			if (!seat_worker(number)->killed && side->marks & bit_of(number))
				return &shared->seats[number];
		}
	}
	return NULL;
}

static void check_alone(const struct seat *seat, const struct item *item)
{
	const struct seat *other = intruder(seat, item);

	if (other)
		violation(item->what == GATE ? GATE_ALONE : ALONE, seat, other,
			  "both hold %s, the first %s", name_of(item->what),
			  item->mode == EXCLUSIVE ? "exclusive" : "shared");
}

static void mark(const struct seat *seat, const struct item *item)
{
	struct thing *thing = &shared->things[item->what];
	unsigned int other = item->mode == EXCLUSIVE ? SHARED : EXCLUSIVE;
	__u64 bit = bit_of(seat_number(seat));

	atomic_fetch_or(&thing->by[item->mode].marks, bit);
	atomic_fetch_and(&thing->by[other].marks, ~bit);
	check_alone(seat, item);
}

/* All earlier grants that conflict have a number of at most @limit. */
static void check_fences(const struct seat *seat, const struct item *item, __u64 limit)
{
	for (unsigned int mode = SHARED; mode <= EXCLUSIVE; mode++) {
		__u64 fence = shared->things[item->what].by[mode].fence;

		if (conflict(item->mode, mode) && fence > limit)
			violation(FENCES, seat, NULL,
				  "%s: grant %llu came after grant %llu", name_of(item->what),
				  seat->fence, fence);
	}
}

/*
 * A request that waited at the gate, or for the first entity of its set, is
 * overtaken if another that came after it was known to wait has been granted.
 * That one would have to be over by now, so its number is there.
 */
static void check_order(const struct seat *seat, const struct item *item)
{
	for (unsigned int mode = SHARED; mode <= EXCLUSIVE; mode++) {
		__u64 issued = shared->things[item->what].by[mode].issued;

		if (conflict(item->mode, mode) && issued > seat->confirmed)
			violation(ORDER, seat, NULL,
				  "%s: waited at ticket %llu, was overtaken by ticket %llu",
				  name_of(item->what), seat->confirmed, issued);
	}
}

/*
 * Those that go before the queue, or are inside the gate already, overtake
 * nobody, and who was overtaken by them was not.
 */
static void check_turn(struct seat *seat)
{
	if (seat->verb == EXTEND || seat->verb == UPGRADE)
		return;
	for (unsigned int i = 0; i < 2 && i < seat->set.count && seat->confirmed; i++)
		check_order(seat, &seat->set.items[i]);
	for (unsigned int i = 0; i < seat->set.count; i++) {
		const struct item *item = &seat->set.items[i];

		raise_to(&shared->things[item->what].by[item->mode].issued, seat->issued);
	}
}

/**
 * granted - a verb that locks has succeeded
 * @seat: what wanted it
 * @fence: number of the grant
 */
void granted(struct seat *seat, __u64 fence)
{
	if (fence <= seat->fence)
		violation(FENCES, seat, NULL, "grant %llu of one token came after grant %llu",
			  fence, seat->fence);
	seat->fence = fence;
	seat->state = HELD;
	seat->since = 0;
	set_copy(&seat->set, &seat->want);
	for (unsigned int i = 0; i < seat->set.count; i++) {
		const struct item *item = &seat->set.items[i];

		mark(seat, item);
		check_fences(seat, item, fence - 1);
		raise_to(&shared->things[item->what].by[item->mode].fence, fence);
	}
	check_turn(seat);
}

/* A grant is marked that was for a while not, but held: nobody was granted since. */
void resumed(struct seat *seat)
{
	for (unsigned int i = 0; i < seat->set.count; i++) {
		mark(seat, &seat->set.items[i]);
		check_fences(seat, &seat->set.items[i], seat->fence);
	}
}

void still_alone(struct seat *seat)
{
	for (unsigned int i = 0; i < seat->set.count; i++)
		check_alone(seat, &seat->set.items[i]);
}

/* From exclusive to shared: others may come in as soon as the verb is called. */
void about_to_lower(struct seat *seat)
{
	for (unsigned int i = 1; i < seat->set.count; i++) {
		seat->set.items[i].mode = SHARED;
		mark(seat, &seat->set.items[i]);
	}
}

static void clear(unsigned int number, const struct item *item)
{
	struct side *side = &shared->things[item->what].by[item->mode];

	atomic_fetch_and(&side->marks, ~bit_of(number));
}

void about_to_leave(struct seat *seat)
{
	for (unsigned int i = 0; i < seat->set.count; i++)
		clear(seat_number(seat), &seat->set.items[i]);
}

/* Clear all marks of seats whose worker is dead. */
void forget(unsigned int first_seat, unsigned int seats)
{
	__u64 bits = (bit_of(seats) - 1) << first_seat;

	for (unsigned int what = 0; what < THINGS; what++)
		for (unsigned int mode = SHARED; mode <= EXCLUSIVE; mode++)
			if (shared->things[what].by[mode].marks & bits)
				atomic_fetch_and(&shared->things[what].by[mode].marks, ~bits);
}

/* Could @seat have what it wants, by what the others say? */
bool free_for(const struct seat *seat)
{
	for (unsigned int i = 0; i < seat->want.count; i++)
		if (intruder(seat, &seat->want.items[i]))
			return false;
	return true;
}

/* Things that are marked by anybody. */
unsigned int occupied(void)
{
	unsigned int count = 0;

	for (unsigned int what = 0; what < THINGS; what++)
		count += shared->things[what].by[SHARED].marks ||
			 shared->things[what].by[EXCLUSIVE].marks;
	return count;
}
