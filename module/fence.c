// SPDX-License-Identifier: GPL-2.0
/*
 * Fences: a number for each grant, without a counter that all CPUs write.
 *
 * The idea is that of Lamport's clocks ("Time, Clocks, and the Ordering of
 * Events in a Distributed System", 1978).  Each CPU has a clock.  A grant
 * takes a number above the clock of the CPU that it runs on and above every
 * number it must follow: those left in the entities that it takes, its own
 * token's last one, and that of the domain's last gate.  Numbers of grants
 * that do not conflict may be equal.
 *
 * A gate conflicts with everything, so it takes a number above all clocks,
 * once nothing is in flight in its domain.
 *
 * An entity leaves nothing behind when it is reclaimed, but its next grant,
 * perhaps years later, must follow its last one.  So whoever removes an entity
 * first raises a floor to the entity's last number.  Floors are shared by the
 * names whose hash is alike, which costs nothing but gaps.
 *
 * An entity's version is the number of the last exclusive hold that changed it,
 * so versions rise with the fences, and have floors of their own: a name that
 * shares its floor may look changed when it was not, never the reverse.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "fence.h"

#define EL_FLOORS	4096

static DEFINE_PER_CPU(u64, el_clock);
static atomic64_t el_floors[EL_FLOORS];
static atomic64_t el_version_floors[EL_FLOORS];

/**
 * el_fence_init - seed the clocks, so that numbers rise across module loads
 *
 * Best effort: it relies on the real-time clock.
 */
void el_fence_init(void)
{
	u64 seed = ktime_get_real_ns();
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(el_clock, cpu) = seed;
}

/**
 * el_fence_next - a number for a grant
 * @floor: what it must be greater than
 *
 * Context: any.  The clock is raised by compare and exchange, because the
 * caller may be preempted, or moved to another CPU, at any point: that CPU's
 * clock is then the one that is compared and raised.
 */
u64 el_fence_next(u64 floor)
{
	u64 clock = this_cpu_read(el_clock);
	u64 fence, seen;

	for (;;) {
		fence = max(clock, floor) + 1;
		seen = this_cpu_cmpxchg(el_clock, clock, fence);
		if (seen == clock)
			return fence;
		clock = seen;
	}
}

/* el_fence_max - the greatest number given so far, on any CPU */
u64 el_fence_max(void)
{
	u64 fence = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		fence = max(fence, READ_ONCE(per_cpu(el_clock, cpu)));
	return fence;
}

/* By the bits that the table of entities uses last, as a floor can be seen by users. */
static u32 slot(u32 hash)
{
	return hash >> (32 - ilog2(EL_FLOORS));
}

/* el_fence_reclaimed - what an entity that was reclaimed has left at most */
u64 el_fence_reclaimed(u32 hash)
{
	return atomic64_read(&el_floors[slot(hash)]);
}

/* el_version_reclaimed - the same for its version */
u64 el_version_reclaimed(u32 hash)
{
	return atomic64_read(&el_version_floors[slot(hash)]);
}

static void raise(atomic64_t *floor, u64 to)
{
	s64 old = atomic64_read(floor);

	while ((u64)old < to && !atomic64_try_cmpxchg(floor, &old, to))
		;
}

/**
 * el_fence_reclaim - keep the last numbers of an entity that goes
 * @hash: hash of its domain and name
 * @fence: its last number
 * @version: its version, which is not greater
 *
 * Call it before the entity leaves its table, so that whoever inserts the same
 * name again sees it.
 */
void el_fence_reclaim(u32 hash, u64 fence, u64 version)
{
	raise(&el_floors[slot(hash)], fence);
	raise(&el_version_floors[slot(hash)], version);
}
