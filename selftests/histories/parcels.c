// SPDX-License-Identifier: GPL-2.0
/*
 * Tokens that go from one process to another: parked, with a cookie, or sent through
 * a socket.  Whoever hands one over puts it into a parcel; nobody has it then.
 */
#include <sys/socket.h>

#include "record.h"

bool parcels_make(void)
{
	for (unsigned int i = 0; i < PARCELS; i++)
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, shared->parcels[i].ends))
			return false;
	return true;
}

/* One that is in that state is the caller's, until it sets another. */
static struct parcel *parcel_take(struct worker *worker, unsigned int state)
{
	unsigned int first = below(worker, PARCELS);

	for (unsigned int i = 0; i < PARCELS; i++) {
		struct parcel *parcel = &shared->parcels[(first + i) % PARCELS];
		unsigned int expected = state;

		if (atomic_compare_exchange_strong(&parcel->state, &expected,
						   PARCEL_OF + worker->process))
			return parcel;
	}
	return NULL;
}

static void forget_it(struct worker *worker)
{
	if (worker->fd >= 0)
		close(worker->fd);
	worker->fd = -1;
	worker->locked = false;
}

static int park(int token, __u64 lease, __u8 *cookie)
{
	struct entitylock_park arg = { .lease = lease };
	int ret = el_ioctl(token, ENTITYLOCK_IOC_PARK, &arg);

	memcpy(cookie, arg.cookie, sizeof(arg.cookie));
	return ret;
}

static int claim(int domain, const __u8 *cookie)
{
	struct entitylock_claim arg = { 0 };

	memcpy(arg.cookie, cookie, sizeof(arg.cookie));
	return el_ioctl(domain, ENTITYLOCK_IOC_CLAIM, &arg);
}

static void pack(struct parcel *parcel, const struct worker *worker)
{
	parcel->token = worker->token;
	parcel->lease = worker->lease;
	parcel->count = worker->count;
	memcpy(parcel->items, worker->items, sizeof(parcel->items));
}

static void unpack(struct worker *worker, const struct parcel *parcel)
{
	worker->token = parcel->token;
	worker->lease = parcel->lease;
	worker->count = parcel->count;
	memcpy(worker->items, parcel->items, sizeof(worker->items));
}

void hand_over_call(struct worker *worker)
{
	struct parcel *parcel = parcel_take(worker, PARCEL_EMPTY);
	struct event *event;
	int ret;

	if (!parcel)
		return;
	parcel->parked = chance(worker, 50);
	event = call_begins(worker, parcel->parked ? PARK : PASS);
	if (parcel->parked) {
		worker->lease = 1000000 + below(worker, 20000000);
		event->lease = worker->lease;
		ret = park(worker->fd, worker->lease, parcel->cookie);
	} else {
		ret = send_fd(parcel->ends[0], worker->fd);
	}
	pack(parcel, worker);
	if (!ret)
		forget_it(worker);
	call_ends(event, ret == -ESTALE ? LOST : ret ? FAILED : OK, 0);
	if (ret == -ESTALE)
		forget_it(worker);
	parcel->state = ret ? PARCEL_EMPTY : PARCEL_FULL;
}

bool take_over_call(struct worker *worker)
{
	struct parcel *parcel = parcel_take(worker, PARCEL_FULL);
	struct event *event;

	if (!parcel)
		return false;
	unpack(worker, parcel);
	event = call_begins(worker, parcel->parked ? CLAIM : TAKE);
	if (parcel->parked)
		worker->fd = claim(worker->domain, parcel->cookie);
	else
		worker->fd = receive_fd_with(parcel->ends[1], MSG_DONTWAIT);
	/* A parked one may have come to its end, or been broken. */
	call_ends(event, worker->fd < 0 ? LOST : OK, 0);
	worker->locked = worker->fd >= 0;
	parcel->state = PARCEL_EMPTY;
	return worker->locked;
}

static void parcel_empty(struct parcel *parcel)
{
	int fd;

	while ((fd = receive_fd_with(parcel->ends[1], MSG_DONTWAIT)) >= 0)
		close(fd);
	parcel->state = PARCEL_EMPTY;
}

void parcels_of_the_dead(u32 process)
{
	for (unsigned int i = 0; i < PARCELS; i++)
		if (shared->parcels[i].state == PARCEL_OF + process)
			parcel_empty(&shared->parcels[i]);
}

void parcels_drop(void)
{
	for (unsigned int i = 0; i < PARCELS; i++) {
		unsigned int full = PARCEL_FULL;

		if (atomic_compare_exchange_strong(&shared->parcels[i].state, &full,
						   PARCEL_OF))
			parcel_empty(&shared->parcels[i]);
	}
}
