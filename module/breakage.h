/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults to order, for tests that must be shown to find them: see
 * selftests/torture.sh and selftests/planted/run.sh.  A build with
 * EL_BREAK=<name> has the one of that name, any other build has none.
 */
#ifndef EL_BREAKAGE_H
#define EL_BREAKAGE_H

#include <linux/atomic.h>
#include <linux/delay.h>

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

/* No fault: windows stay open for a while in which much may happen that must not matter. */
#ifdef EL_BREAK_dawdle
#define el_break_dawdle()	usleep_range(10000, 11000)
#else
#define el_break_dawdle()	((void)0)
#endif

/* A token that is written to after it was freed. */
#ifdef EL_BREAK_uaf
#define el_break_uaf()		true
#else
#define el_break_uaf()		false
#endif

/* An entity's lock inside a token's: the wrong way round. */
#ifdef EL_BREAK_inversion
#define el_break_inversion(token) ({					\
	if ((token)->hold.entity) {					\
		spin_lock(&(token)->hold.entity->lock);			\
		spin_unlock(&(token)->hold.entity->lock);		\
	}								\
})
#else
#define el_break_inversion(token)	((void)(token))
#endif

/* A label that is never freed. */
#ifdef EL_BREAK_leak
#define el_break_leak()		true
#else
#define el_break_leak()		false
#endif

/* A reference to an entity that is never given back. */
#ifdef EL_BREAK_entityleak
#define el_break_entityleak()	true
#else
#define el_break_entityleak()	false
#endif

/* An error path that forgets the reserved fd. */
#ifdef EL_BREAK_unwind
#define el_break_unwind()	true
#else
#define el_break_unwind()	false
#endif

#endif /* EL_BREAKAGE_H */
