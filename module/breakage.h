/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults to order, for a test that must be shown to find them: see
 * selftests/torture.sh.  A build with EL_BREAK=<name> has the one of that name,
 * any other build has none.
 */
#ifndef EL_BREAKAGE_H
#define EL_BREAKAGE_H

#include <linux/atomic.h>

/* True once in @n times. */
#define el_now_and_then(n) ({						\
	static atomic_t _times;						\
									\
	(unsigned int)atomic_inc_return(&_times) % (n) == 0;		\
})

/* A lock that locks nothing: whoever would have to wait is told it has it. */
#ifdef EL_BREAK_nolock
#define el_break_nolock()	true
#else
#define el_break_nolock()	false
#endif

/* A wake-up that is lost: a release does not look for the next one. */
#ifdef EL_BREAK_lostwake
#define el_break_lostwake()	el_now_and_then(64)
#else
#define el_break_lostwake()	false
#endif

/* A gate that lets a newcomer in. */
#ifdef EL_BREAK_gateleak
#define el_break_gateleak()	el_now_and_then(16)
#else
#define el_break_gateleak()	false
#endif

#endif /* EL_BREAKAGE_H */
