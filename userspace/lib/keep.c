// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * To keep a lease on the caller's event loop: a timer that says when, and the
 * call that renews.  What lies between them is the token's, not the library's:
 * the timer is set from the lease that the token has.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "internal.h"

#define NSEC_PER_SEC	1000000000ULL
#define PERIOD_MIN	1000000ULL	/* a lease that is shorter is lost on the way */

/* Tick after each third of a lease, the first time after the first. */
static int set_timer(int timer, uint64_t lease)
{
	uint64_t period = lease / 3 > PERIOD_MIN ? lease / 3 : PERIOD_MIN;
	struct itimerspec spec = {
		.it_interval.tv_sec = (time_t)(period / NSEC_PER_SEC),
		.it_interval.tv_nsec = (long)(period % NSEC_PER_SEC),
	};

	spec.it_value = spec.it_interval;
	return timerfd_settime(timer, 0, &spec, NULL) ? -errno : 0;
}

/* Renews; *@lease receives what is left, or ENTITYLOCK_FOREVER if none runs yet. */
static int renew(int token, uint64_t *lease)
{
	struct entitylock_info info = {};
	int err;

	err = entitylock_renew(token, *lease);
	if (!err)
		err = __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
	if (!err)
		*lease = info.lease_left;
	return err;
}

int entitylock_keep_timer(int token, uint64_t lease)
{
	uint64_t left = lease;
	int timer, err;

	err = renew(token, &left);
	if (err)
		return err;
	if (!lease)
		lease = left;
	if (lease == ENTITYLOCK_FOREVER)
		return -EINVAL;
	timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer < 0)
		return -errno;
	err = set_timer(timer, lease);
	if (!err)
		return timer;
	__entitylock_close(timer);
	return err;
}

int entitylock_keep(int timer, int token)
{
	uint64_t ticks, lease = 0;
	int err;

	/* Before the lease is renewed: a tick that comes later counts for the next. */
	if (read(timer, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	err = renew(token, &lease);
	if (err || lease == ENTITYLOCK_FOREVER)
		return err;
	return set_timer(timer, lease);
}
