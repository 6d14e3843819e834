/* SPDX-License-Identifier: GPL-2.0 */
/* Deadlines, threads that block until one, and alarms for those that do not. */
#ifndef EL_WAIT_H
#define EL_WAIT_H

#include <linux/ktime.h>
#include <linux/types.h>

#include "token.h"

/**
 * struct el_deadline - until when a verb may wait
 * @expires: absolute time of @clock, in the initial time namespace;
 *	KTIME_MAX = no end
 * @clock: CLOCK_MONOTONIC, _REALTIME or _BOOTTIME
 * @refusal: what a verb that would have to wait returns instead: -EAGAIN, or
 *	-ETIMEDOUT for a time that has passed; 0 = it may wait
 */
struct el_deadline {
	ktime_t expires;
	clockid_t clock;
	int refusal;
};

#define EL_CLOCK_FLAGS	(ENTITYLOCK_CLOCK_REALTIME | ENTITYLOCK_CLOCK_BOOTTIME)

int el_deadline_convert(struct el_deadline *deadline, u64 user, u32 flags, bool may_wait);
int el_wait_sleep(const struct el_waiter *waiter, const struct el_deadline *deadline);

int el_alarm_prepare(struct el_token *token, const struct el_deadline *deadline);
void el_alarm_arm(struct el_token *token, const struct el_deadline *deadline);
void el_alarm_cancel(struct el_alarm *alarm);
bool el_alarm_rang(const struct el_token *token);
void el_alarm_free(struct el_token *token);

/**
 * el_deadline_read - what a deadline of the header means
 * @deadline: output
 * @user: the number that the caller gave
 * @flags: the caller's flags, of which those of clocks and ASYNC are looked at
 * @may_wait: the caller's thread may block
 *
 * Return: 0, or -EINVAL for two clocks, or a wait where none may be.
 */
static inline int el_deadline_read(struct el_deadline *deadline, u64 user, u32 flags,
				   bool may_wait)
{
	if (user != ENTITYLOCK_NOWAIT || flags & EL_CLOCK_FLAGS)
		return el_deadline_convert(deadline, user, flags, may_wait);
	deadline->clock = CLOCK_MONOTONIC;
	deadline->expires = KTIME_MAX;
	deadline->refusal = -EAGAIN;
	return 0;
}

/**
 * el_alarm_disarm - the attempt has ended
 * @token: the token
 *
 * Context: the token's lock is held, so one that rings just now is not waited
 * for, and will find nothing to do.
 */
static inline void el_alarm_disarm(struct el_token *token)
{
	lockdep_assert_held(&token->lock);
	if (unlikely(token->alarm))
		el_alarm_cancel(token->alarm);
}

#endif /* EL_WAIT_H */
