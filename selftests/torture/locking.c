// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs that lock: with what they are called, and whether they came out as they
 * should.
 */
#include "worker.h"

#define ROBUST_MOST	64	/* names that leave a mark: there is a quota of these */

/* --- What was done, and whether it came out as it should --- */

enum outcome outcome_of(int ret)
{
	switch (ret) {
	case -EINPROGRESS:	return PENDS;
	case -EAGAIN:		return AGAIN;
	case -ETIMEDOUT:	return TIMEDOUT;
	case -EINTR:		return INTR;
	case -ECANCELED:	return CANCELED;
	case -EDEADLK:		return DEADLK;
	case -EBADFD:		return BADFD;
	case -ENOENT:
	case -ESTALE:		return STALE;
	case -ENOBUFS:
	case -ENOMEM:		return NOMEM;
	default:		return OK;
	}
}

void note(struct self *self, struct seat *seat, enum verb verb, int ret)
{
	struct event *event = &seat->events[seat->nr_events++ % EVENTS];
	const struct set *set = verb <= UPGRADE ? &seat->want : &seat->set;

	*event = (struct event){
		.time = now(),
		.fence = seat->fence,
		.timing = verb <= UPGRADE ? seat->timing : (struct timing){ 0 },
		.ret = ret,
		.what = set->items[set->count > 1].what,
		.count = set->count - 1,
		.verb = verb,
	};
	self->actor->operations++;
	self->actor->done[verb][outcome_of(ret)]++;
}

/* Verbs that make nothing take no memory, those that let go above all. */
static bool takes_memory(enum verb verb)
{
	return verb <= UPGRADE || verb == LABEL || verb == SEND || verb == RENEW ||
	       verb == PARK || verb == CLAIM;
}

/* A verb other than those that lock returned @ret, and may return @expected. */
void expect(struct self *self, struct seat *seat, enum verb verb, int ret, int expected)
{
	note(self, seat, verb, ret);
	if (ret != expected && !(takes_memory(verb) && out_of_memory(ret)))
		violation(VERBS_RIGHT, seat, NULL, "%s returned %d (%s) instead of %d",
			  verb_names[verb], ret, strerror(-ret), expected);
}

/* --- Until when to wait --- */

static bool is_forever(const struct timing *timing)
{
	return timing->deadline == FOREVER;
}

const struct timing no_wait = { .clock = CLOCK_MONOTONIC, .deadline = NOWAIT };

static struct timing draw_deadline(struct self *self)
{
	static const struct timing clocks[] = {
		{ .clock = CLOCK_MONOTONIC },
		{ .clock = CLOCK_REALTIME, .flags = ENTITYLOCK_CLOCK_REALTIME },
		{ .clock = CLOCK_BOOTTIME, .flags = ENTITYLOCK_CLOCK_BOOTTIME },
	};
	struct timing timing = clocks[below(&self->random, ARRAY_SIZE(clocks))];

	if (chance(&self->random, 5))
		timing.deadline = PASSED;
	else
		timing.deadline = now_on(timing.clock) +
				  scaled_ns(below(&self->random, 5 * NSEC_PER_MSEC));
	return timing;
}

/* May it stay away for as long as it takes to be granted @seat's wish? */
static bool may_block(const struct self *self, const struct seat *seat)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		const struct seat *other = &self->seats[i];

		if (other != seat && (other->state == HELD || other->state == PENDING))
			return false;
	}
	return !finisher(self);
}

static struct timing draw_timing(struct self *self, const struct seat *seat)
{
	struct timing timing = { .clock = CLOCK_MONOTONIC, .deadline = FOREVER };

	if (chance(&self->random, 15))
		timing = no_wait;
	else if (may(DO_DEADLINES) && chance(&self->random, 40))
		timing = draw_deadline(self);
	if (may(DO_ASYNC) && chance(&self->random, 40))
		timing.flags |= ENTITYLOCK_ASYNC;
	else if (is_forever(&timing) && !may_block(self, seat))
		timing = may(DO_DEADLINES) ? draw_deadline(self) : no_wait;
	return timing;
}

static void wait_begins(struct seat *seat)
{
	const struct timing *timing = &seat->timing;
	__u64 until = now();

	if (is_forever(timing))
		until = FOREVER;
	else if (timing->deadline > now_on(timing->clock))
		until += timing->deadline - now_on(timing->clock);
	seat->until = until;
	seat->confirmed = 0;
	seat->issued = atomic_fetch_add(&shared->ticket, 1) + 1;
	seat->since = now();
}

/* --- Verbs that lock --- */

/* What the ioctl is told: in any order, and some of it twice. */
static __u32 encode(struct self *self, const struct set *set)
{
	struct entitylock_entity *array = self->array;
	unsigned int count = set->count - 1;

	for (unsigned int i = 0; i < count; i++) {
		const struct item *item = &set->items[1 + i];
		unsigned int place = below(&self->random, i + 1);

		array[i] = array[place];
		array[place] = (struct entitylock_entity)ENTITY(name_of(item->what), item->mode);
	}
	for (unsigned int i = 0; i < DUPLICATES; i++) {
		if (!count || count == ENTITYLOCK_SET_MAX || chance(&self->random, 95))
			continue;
		array[count] = array[below(&self->random, count)];
		array[count++].mode = SHARED;
	}
	return count;
}

int ioctl_set(struct self *self, struct seat *seat, const struct set *set, __u32 flags,
	      __u64 *fence)
{
	struct entitylock_acquire arg = {
		.flags = seat->timing.flags | flags,
		.count = encode(self, set),
		.entities = ptr(self->array),
		.entity_size = sizeof(self->array[0]),
		.deadline = seat->timing.deadline,
		.lease = seat->verb == EXTEND ? 0 : seat->lease,
	};
	int ret;

	if (seat->verb == EXTEND)
		ret = el_ioctl(seat->fd, ENTITYLOCK_IOC_EXTEND, &arg);
	else
		ret = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
	*fence = arg.fence;
	return ret;
}

static int ioctl_lock(struct seat *seat, __u64 *fence)
{
	struct entitylock_lock arg = {
		.flags = seat->timing.flags,
		.deadline = seat->timing.deadline,
		.lease = seat->lease,
	};
	int ret = el_ioctl(seat->fd, ENTITYLOCK_IOC_LOCK, &arg);

	*fence = arg.fence;
	return ret;
}

int ioctl_convert(struct seat *seat, __u32 mode, __u64 *fence)
{
	struct entitylock_convert arg = {
		.mode = mode,
		.flags = seat->timing.flags,
		.deadline = seat->timing.deadline,
	};
	int ret = el_ioctl(seat->fd, ENTITYLOCK_IOC_CONVERT, &arg);

	*fence = arg.fence;
	return ret;
}

static int ioctl_verb(struct self *self, struct seat *seat, __u64 *fence)
{
	switch (seat->verb) {
	case ACQUIRE:
		return ioctl_set(self, seat, &seat->want, 0, fence);
	case TAKE_GATE:
		return ioctl_set(self, seat, &seat->want, ENTITYLOCK_GATE, fence);
	case EXTEND:
		return ioctl_set(self, seat, &self->more, 0, fence);
	case UPGRADE:
		return ioctl_convert(seat, EXCLUSIVE, fence);
	default:
		return ioctl_lock(seat, fence);
	}
}

/* A wait for what comes after all that is held is not against the order. */
static bool may_deadlock(const struct self *self, const struct seat *seat)
{
	const struct set *set = &seat->set;

	return seat->verb == UPGRADE ||
	       (seat->verb == EXTEND &&
		self->more.items[1].what <= set->items[set->count - 1].what);
}

static bool right_refusal(const struct self *self, const struct seat *seat, int ret)
{
	const struct timing *timing = &seat->timing;
	bool waits = timing->deadline != NOWAIT;

	switch (ret) {
	case -EAGAIN:
		return !waits;
	case -ETIMEDOUT:
		return waits && !is_forever(timing) && now_on(timing->clock) >= timing->deadline;
	case -EINTR:
		return waits && !(timing->flags & ENTITYLOCK_ASYNC);
	case -ECANCELED:
		return waits && self->worker->kind == MULTI && seat->base != EMPTY;
	case -EDEADLK:
		return may_deadlock(self, seat);
	case -EBADFD:
		return seat->unlocked;
	default:
		return out_of_memory(ret);
	}
}

static void refused(struct self *self, struct seat *seat, int ret)
{
	seat->since = 0;
	seat->state = seat->unlocked ? IDLE : seat->base;
	if (!right_refusal(self, seat, ret))
		violation(VERBS_RIGHT, seat, NULL, "%s returned %d (%s)",
			  verb_names[seat->verb], ret, strerror(-ret));
}

static void succeeded(struct self *self, struct seat *seat, __u64 fence)
{
	granted(seat, fence);
	self->actor->grants++;
	self->actor->ordered += seat->confirmed && seat->verb != EXTEND && seat->verb != UPGRADE;
}

static void set_raising(struct seat *seat, __u64 fence)
{
	pthread_mutex_lock(&seat->lock);
	seat->raising = fence;
	if (fence)
		seat->unlocked = false;
	pthread_mutex_unlock(&seat->lock);
}

void set_fd(struct seat *seat, int fd)
{
	pthread_mutex_lock(&seat->lock);
	seat->fd = fd;
	pthread_mutex_unlock(&seat->lock);
}

/* Close what is there, so that no sibling uses the number meanwhile, and put @fd there. */
int exchange_fd(struct seat *seat, int fd)
{
	int ret;

	pthread_mutex_lock(&seat->lock);
	ret = close(seat->fd) ? -errno : 0;
	seat->fd = fd;
	pthread_mutex_unlock(&seat->lock);
	return ret;
}

/* On what terms: they are those of the verbs that lock from nothing. */
static void draw_terms(struct self *self, struct seat *seat)
{
	seat->lease = 0;
	if (!may(DO_OWNERS) || seat->verb == EXTEND || seat->verb == UPGRADE)
		return;
	if (chance(&self->random, 20))
		seat->lease = HOUR;
	if (seat->want.count <= ROBUST_MOST && chance(&self->random, 20))
		seat->timing.flags |= ENTITYLOCK_ROBUST;
}

/* The seat's wish is @want. */
void lock_verb(struct self *self, struct seat *seat, enum verb verb)
{
	bool async, blocks;
	__u64 fence;
	int ret;

	seat->verb = verb;
	seat->base = seat->state;
	seat->timing = draw_timing(self, seat);
	seat->unlocked = false;
	draw_terms(self, seat);
	async = seat->timing.flags & ENTITYLOCK_ASYNC;
	blocks = seat->state == HELD && !async;
	if (blocks)
		set_raising(seat, seat->fence);
	wait_begins(seat);
	ret = ioctl_verb(self, seat, &fence);
	if (blocks)
		set_raising(seat, 0);
	if (ret >= 0 && seat->base == EMPTY) {
		set_fd(seat, ret);
		seat->base = IDLE;
		seat->fence = 0;
		set_copy(&seat->set, &seat->want);
	}
	note(self, seat, verb, ret < 0 || fence ? ret : -EINPROGRESS);
	if (ret < 0) {
		refused(self, seat, ret);
	} else if (fence) {
		succeeded(self, seat, fence);
	} else if (!async || seat->timing.deadline == NOWAIT) {
		violation(VERBS_RIGHT, seat, NULL, "%s waits, and must not", verb_names[verb]);
	} else {
		seat->confirmed = shared->ticket;
		seat->state = PENDING;
	}
}

/* Has a token that waits come to something? */
void look(struct self *self, struct seat *seat)
{
	struct entitylock_info info = token_info(seat->fd);

	if (info.state == ENTITYLOCK_PENDING) {
		note(self, seat, INFO, 0);
		return;
	}
	if (info.state == ENTITYLOCK_HELD && info.fence != seat->fence) {
		succeeded(self, seat, info.fence);
		note(self, seat, seat->verb, 0);
		return;
	}
	/* Before it is judged: the clock must have come to the deadline. */
	note(self, seat, seat->verb, info.error ? info.error : -ECANCELED);
	refused(self, seat, info.error ? info.error : -ECANCELED);
	if (info.state != seat->state)
		violation(VERBS_RIGHT, seat, NULL, "state %u after a wait that failed", info.state);
}
