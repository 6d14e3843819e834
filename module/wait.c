// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: deadlines on three clocks, threads that sleep until one, and for
 * attempts that no thread sleeps for, an alarm that wakes the worker.
 */
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>

#include "compat.h"
#include "token.h"
#include "wait.h"

/**
 * struct el_alarm - end of the wait of an asynchronous attempt
 * @timer: armed while the attempt waits, unless it has no end
 * @token: the token; it owns the alarm
 * @rang: number of the attempt whose time is over
 * @armed: number of the attempt that it was armed for
 */
struct el_alarm {
	struct hrtimer timer;
	struct el_token *token;
	u32 rang;
	u32 armed;
};

#ifdef CONFIG_TIME_NS
/* A time of the namespace, of which the far ones stay far and the past ones past. */
static ktime_t shift(ktime_t time, ktime_t offset)
{
	ktime_t host;

	if (check_sub_overflow(time, offset, &host))
		return offset < 0 ? KTIME_MAX : 0;
	return max(host, 0);
}
#endif

/*
 * The kernel's own conversion is not exported to modules on all versions.
 * Clocks that cannot be set apart by a time namespace have no offset.
 */
static ktime_t to_host(ktime_t time, clockid_t clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;

	switch (clock) {
	case CLOCK_MONOTONIC:
		return shift(time, timespec64_to_ktime(offsets->monotonic));
	case CLOCK_BOOTTIME:
		return shift(time, timespec64_to_ktime(offsets->boottime));
	}
#endif
	return time;
}

static ktime_t now(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
		return ktime_get_real();
	case CLOCK_BOOTTIME:
		return ktime_get_boottime();
	default:
		return ktime_get();
	}
}

/* el_deadline_convert - el_deadline_read() where there is something to convert */
int el_deadline_convert(struct el_deadline *deadline, u64 user, u32 flags, bool may_wait)
{
	if (!may_wait && user != ENTITYLOCK_NOWAIT && !(flags & ENTITYLOCK_ASYNC))
		return -EINVAL;
	switch (flags & EL_CLOCK_FLAGS) {
	case 0:
		deadline->clock = CLOCK_MONOTONIC;
		break;
	case ENTITYLOCK_CLOCK_REALTIME:
		deadline->clock = CLOCK_REALTIME;
		break;
	case ENTITYLOCK_CLOCK_BOOTTIME:
		deadline->clock = CLOCK_BOOTTIME;
		break;
	default:
		return -EINVAL;
	}
	deadline->refusal = user == ENTITYLOCK_NOWAIT ? -EAGAIN : 0;
	deadline->expires = KTIME_MAX;
	if (user == ENTITYLOCK_NOWAIT || user >= KTIME_MAX)
		return 0;
	deadline->expires = to_host(user, deadline->clock);
	if (deadline->expires <= now(deadline->clock))
		deadline->refusal = -ETIMEDOUT;
	return 0;
}

/**
 * el_wait_sleep - block until an attempt has ended, or can be carried on
 * @waiter: its result
 * @deadline: until when
 *
 * Context: no lock is held.
 * Return: 0, -ETIMEDOUT or -ERESTARTSYS; the attempt may have ended even so.
 */
int el_wait_sleep(const struct el_waiter *waiter, const struct el_deadline *deadline)
{
	ktime_t expires = deadline->expires;
	int ret = 0;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		if (READ_ONCE(waiter->result) != -EINPROGRESS || READ_ONCE(waiter->step))
			break;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (expires == KTIME_MAX) {
			schedule();
		} else if (!schedule_hrtimeout_range_clock(&expires, current->timer_slack_ns,
							   HRTIMER_MODE_ABS,
							   deadline->clock)) {
			ret = -ETIMEDOUT;
			break;
		}
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

static enum hrtimer_restart alarm_ring(struct hrtimer *timer)
{
	struct el_alarm *alarm = container_of(timer, struct el_alarm, timer);

	WRITE_ONCE(alarm->rang, alarm->armed);
	el_token_todo(alarm->token);
	return HRTIMER_NORESTART;
}

/**
 * el_alarm_prepare - make ready to end the next attempt when its time is over
 * @token: the token
 * @deadline: the time
 *
 * Context: the token's mutex is held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int el_alarm_prepare(struct el_token *token, const struct el_deadline *deadline)
{
	struct el_alarm *alarm = token->alarm;

	lockdep_assert_held(&token->mutex);
	if (deadline->expires == KTIME_MAX)
		return 0;
	if (alarm) {
		/* One that an earlier attempt has left, and that rings just now. */
		hrtimer_cancel(&alarm->timer);
	} else {
		alarm = kzalloc(sizeof(*alarm), GFP_KERNEL_ACCOUNT);
		if (!alarm)
			return -ENOMEM;
		alarm->token = token;
	}
	/* Who takes from the token what it holds disarms it at any time. */
	spin_lock(&token->lock);
	hrtimer_setup(&alarm->timer, alarm_ring, deadline->clock, HRTIMER_MODE_ABS);
	token->alarm = alarm;
	spin_unlock(&token->lock);
	return 0;
}

/**
 * el_alarm_arm - end the running attempt when its time is over
 * @token: a token that waits, and for which the alarm was prepared
 * @deadline: the time
 *
 * Context: the token's lock is held.
 */
void el_alarm_arm(struct el_token *token, const struct el_deadline *deadline)
{
	lockdep_assert_held(&token->lock);
	if (deadline->expires == KTIME_MAX)
		return;
	token->alarm->armed = token->attempt;
	hrtimer_start(&token->alarm->timer, deadline->expires, HRTIMER_MODE_ABS);
}

/* el_alarm_cancel - the part of el_alarm_disarm() for a token that has one */
void el_alarm_cancel(struct el_alarm *alarm)
{
	hrtimer_try_to_cancel(&alarm->timer);
}

/* el_alarm_rang - is the time of the running attempt over? */
bool el_alarm_rang(const struct el_token *token)
{
	const struct el_alarm *alarm = token->alarm;

	lockdep_assert_held(&token->mutex);
	return alarm && READ_ONCE(alarm->rang) == token->attempt;
}

/**
 * el_alarm_free - no alarm will ring any more
 * @token: a token that begins no further attempt
 *
 * Context: the token's mutex is held; may wait for an alarm that rings.
 */
void el_alarm_free(struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	if (!token->alarm)
		return;
	hrtimer_cancel(&token->alarm->timer);
	kfree(token->alarm);
	token->alarm = NULL;
}
