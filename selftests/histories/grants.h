/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be said for certain of each grant, whatever the processes could not see:
 *
 *        asked      lo           hi             until        gone
 *   ------|---------|=============|##############|============|------->  time
 *         the call  not yet       it was told    the last     nothing of it
 *         began     granted       of             moment in    was left
 *                                                which it
 *                                                surely held
 *
 * It was granted between @lo and @hi and surely held from @hi to @until, which is
 * nothing if @until is less: then it may have held at any time from @lo to @gone.
 */
#ifndef SELFTESTS_GRANTS_H
#define SELFTESTS_GRANTS_H

#include "history.h"

enum change { STAYS, CHANGES, MAY_CHANGE };

/**
 * struct grant - what a token holds from a grant to its next one, or the end
 * @ask: the call that asked for it
 * @told: the call that told of it, @ask if there is none
 * @over: the call that ended it, NULL if it was the next grant, or a kill
 * @fence: 0 where nobody was told of it: then it is not certain that it was
 * @queued: it was surely in the queue, NEVER if that is not known
 * @enters: comes by the gate and through the queues: ACQUIRE, LOCK
 * @lowered: by a downgrade, which has no number of its own
 * @items: all that it holds
 * @change: are the versions of what it holds exclusive others, after it?
 */
struct grant {
	u32 token;
	const struct event *ask;
	const struct event *told;
	const struct event *over;
	u64 fence;
	u64 asked;
	u64 queued;
	u64 lo;
	u64 hi;
	u64 until;
	u64 gone;
	bool enters;
	bool lowered;
	u32 count;
	struct item items[ITEMS];
	enum change change[ITEMS];
};

/* The versions that were told while @grant held. */
struct reading {
	u32 grant;
	const struct event *event;
};

struct grants {
	struct grant *all;
	u32 count;
	struct reading *readings;
	u32 nr_readings;
};

static inline bool is_certain(const struct grant *grant)
{
	return grant->fence && grant->until >= grant->hi;
}

/* False, and a word on stderr, where calls do not follow from each other. */
bool grants_make(struct grants *grants, const struct history *history);

#endif
