// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Waiting.  A blocking call queues its request asynchronously and polls the
 * token, because an ioctl that waits itself is interrupted by every signal and
 * loses its place, a request on the queue keeps it.  The kernel watches over
 * the deadline in both cases.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define NSEC_PER_SEC	1000000000ULL

uint64_t entitylock_deadline_in(uint64_t ns)
{
	const uint64_t last = ENTITYLOCK_FOREVER - 1;
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
	return ns < last - now ? now + ns : last;
}

/* INFO without names: the elements of @entities receive version and result. */
static int report(int token, struct entitylock_info *info,
		  struct entitylock_entity *entities, unsigned int capacity)
{
	memset(entities, 0, capacity * sizeof(*entities));
	*info = (struct entitylock_info) {
		.entities = __entitylock_address(entities),
		.entity_size = sizeof(*entities),
		.capacity = capacity,
	};
	return __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, info);
}

static int outcome(const struct entitylock_info *info)
{
	switch (info->state) {
	case ENTITYLOCK_PENDING:
		return -EAGAIN;
	case ENTITYLOCK_LOST:
		return -ESTALE;
	case ENTITYLOCK_HELD:
		return info->error;
	default:
		return info->error ? info->error : -ECANCELED;
	}
}

static void read_grant(const struct entitylock_info *info,
		       const struct entitylock_entity *entities,
		       struct entitylock_grant *grant)
{
	unsigned int i;

	*grant = (struct entitylock_grant) { .fence = info->fence };
	for (i = 0; i < info->count; i++)
		grant->result |= entities[i].result;
}

/*
 * Asks again with space for the largest set.  On the stack, since there must be
 * no way to fail between a grant and telling of it.
 */
static int outcome_of_many(int token, struct entitylock_grant *grant)
{
	struct entitylock_entity all[ENTITYLOCK_SET_MAX];
	struct entitylock_info info;
	int err;

	err = report(token, &info, all, ENTITYLOCK_SET_MAX);
	if (!err)
		err = outcome(&info);
	if (!err)
		read_grant(&info, all, grant);
	return err;
}

int entitylock_outcome(int token, struct entitylock_grant *grant)
{
	struct entitylock_entity few[16];
	struct entitylock_info info;
	int err;

	err = report(token, &info, few, 16);
	if (!err)
		err = outcome(&info);
	if (err || !grant)
		return err;
	if (info.count > 16)
		return outcome_of_many(token, grant);
	read_grant(&info, few, grant);
	return 0;
}

/*
 * Blocks until the token's state may have changed.  No cancellation point: the
 * caller may be the only one who knows of the token.
 */
static int poll_token(int token)
{
	struct pollfd pfd = { .fd = token, .events = POLLIN };
	int state, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = poll(&pfd, 1, -1) < 0 ? -errno : 0;
	pthread_setcancelstate(state, NULL);
	return ret;
}

int entitylock_wait(int token, struct entitylock_grant *grant)
{
	int err;

	for (;;) {
		err = entitylock_outcome(token, grant);
		if (err != -EAGAIN)
			return err;
		err = poll_token(token);
		if (err)
			return err;
	}
}

int __entitylock_begin(int fd, unsigned long request, void *arg, __u32 *flags,
		       const struct entitylock_options *opts)
{
	int ret;

	if (!__entitylock_blocks(opts))
		return __entitylock_ioctl(fd, request, arg);

	*flags |= ENTITYLOCK_ASYNC;
	ret = __entitylock_ioctl(fd, request, arg);
	if (ret != -EINVAL)
		return ret;

	/* Either the module lacks ASYNC, or the answer will be the same. */
	*flags &= ~ENTITYLOCK_ASYNC;
	do {
		ret = __entitylock_ioctl(fd, request, arg);
	} while (ret == -EINTR && opts->restart);
	return ret;
}

int __entitylock_finish(int token, bool restart, struct entitylock_grant *grant)
{
	int err;

	do {
		err = poll_token(token);
		if (!err)
			err = entitylock_outcome(token, grant);
	} while (err == -EAGAIN || (err == -EINTR && restart));

	/* Out of memory in poll(2) is no answer from the token either. */
	if (err != -EINTR && err != -ENOMEM)
		return err;
	if (!entitylock_cancel(token))
		return err;
	/* It ended before it could be withdrawn: that counts. */
	return entitylock_outcome(token, grant);
}
