// SPDX-License-Identifier: GPL-2.0
/*
 * What a worker does: again and again, one of the operations that the state of
 * one of its tokens allows.
 *
 * A thread that has a token which holds or waits never waits without end for
 * another: that could deadlock, and the module does not promise otherwise.
 * Finishers never wait without end at all, for a token that is on its way to
 * them may be what they would wait for.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>

#include "torture.h"

#define DUPLICATES	4
#define HOUR		(3600 * NSEC_PER_SEC)
#define ROBUST_MOST	64	/* names that leave a mark: there is a quota of these */

/* A thread of this process. */
struct self {
	unsigned int number;
	struct actor *actor;
	struct worker *worker;
	struct seat *seats;
	int domain;
	struct random random;
	struct set more;	/* what an EXTEND asks for */
	struct entitylock_entity array[ENTITYLOCK_SET_MAX + DUPLICATES];
};

/* What goes with a token to a finisher. */
struct message {
	__u64 fence;
	struct set set;
};

static size_t message_size(const struct message *message)
{
	return offsetof(struct message, set.items[message->set.count]);
}

static bool may(unsigned int what)
{
	return (shared->may & what) == what;
}

static bool finisher(const struct self *self)
{
	return self->worker->kind == FINISHER;
}

/* --- What was done, and whether it came out as it should --- */

static enum outcome outcome_of(int ret)
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
	default:		return OK;
	}
}

static void note(struct self *self, struct seat *seat, enum verb verb, int ret)
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

/* A verb other than those that lock returned @ret, and may return @expected. */
static void expect(struct self *self, struct seat *seat, enum verb verb, int ret, int expected)
{
	note(self, seat, verb, ret);
	if (ret != expected)
		violation(VERBS_RIGHT, seat, NULL, "%s returned %d (%s) instead of %d",
			  verb_names[verb], ret, strerror(-ret), expected);
}

/* --- Until when to wait --- */

static bool is_forever(const struct timing *timing)
{
	return timing->deadline == FOREVER;
}

static const struct timing no_wait = { .clock = CLOCK_MONOTONIC, .deadline = NOWAIT };

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

static int ioctl_set(struct self *self, struct seat *seat, const struct set *set, __u32 flags,
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

static int ioctl_convert(struct seat *seat, __u32 mode, __u64 *fence)
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
		return false;
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

static void set_fd(struct seat *seat, int fd)
{
	pthread_mutex_lock(&seat->lock);
	seat->fd = fd;
	pthread_mutex_unlock(&seat->lock);
}

/* Close what is there, so that no sibling uses the number meanwhile, and put @fd there. */
static int exchange_fd(struct seat *seat, int fd)
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
static void lock_verb(struct self *self, struct seat *seat, enum verb verb)
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
static void look(struct self *self, struct seat *seat)
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

/* --- Operations, by the state in which they are possible --- */

static void do_acquire(struct self *self, struct seat *seat)
{
	set_draw(&seat->want, &self->random, shared->may, ENTITYLOCK_SET_MAX);
	lock_verb(self, seat, ACQUIRE);
}

static void do_gate(struct self *self, struct seat *seat)
{
	set_clear(&seat->want, EXCLUSIVE);
	lock_verb(self, seat, TAKE_GATE);
}

static void do_open(struct self *self, struct seat *seat)
{
	__u64 fence;
	int ret;

	set_draw(&seat->want, &self->random, shared->may, ENTITYLOCK_SET_MAX);
	seat->verb = ACQUIRE;
	seat->timing = no_wait;
	seat->lease = 0;
	ret = ioctl_set(self, seat, &seat->want, ENTITYLOCK_OPEN, &fence);
	note(self, seat, ACQUIRE, ret);
	if (ret < 0 || fence) {
		violation(VERBS_RIGHT, seat, NULL, "OPEN returned %d", ret);
		return;
	}
	set_fd(seat, ret);
	seat->fence = 0;
	set_copy(&seat->set, &seat->want);
	seat->state = IDLE;
}

static void do_receive(struct self *self, struct seat *seat)
{
	struct pollfd pfd = { .fd = shared->inbox[0], .events = POLLIN };
	struct message message;
	struct iovec iov = { .iov_base = &message, .iov_len = sizeof(message) };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t len;
	int fd;

	if (poll(&pfd, 1, 2) <= 0)
		return;
	len = recvmsg(shared->inbox[0], &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len < 0 && errno == EAGAIN)
		return;
	if (len < 0 || !CMSG_FIRSTHDR(&msg) || (size_t)len != message_size(&message)) {
		violation(VERBS_RIGHT, seat, NULL, "a token in flight was lost");
		return;
	}
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	set_fd(seat, fd);
	seat->fence = message.fence;
	set_copy(&seat->set, &message.set);
	seat->state = HELD;
	resumed(seat);
	note(self, seat, RECEIVE, 0);
	expect(self, seat, LABEL, token_label(fd, "finisher"), 0);
}

static void do_lock(struct self *self, struct seat *seat)
{
	set_copy(&seat->want, &seat->set);
	lock_verb(self, seat, LOCK);
}

static void do_upgrade(struct self *self, struct seat *seat)
{
	if (set_all(&seat->set, EXCLUSIVE))
		return;
	set_copy(&seat->want, &seat->set);
	for (unsigned int i = 1; i < seat->want.count; i++)
		seat->want.items[i].mode = EXCLUSIVE;
	lock_verb(self, seat, UPGRADE);
}

static void do_downgrade(struct self *self, struct seat *seat)
{
	__u64 fence;

	seat->timing = no_wait;
	about_to_lower(seat);
	expect(self, seat, DOWNGRADE, ioctl_convert(seat, SHARED, &fence), 0);
	if (fence != seat->fence)
		violation(FENCES, seat, NULL, "a downgrade changed the number to %llu", fence);
}

static void do_extend(struct self *self, struct seat *seat)
{
	set_draw(&self->more, &self->random, shared->may, 4);
	if (seat->set.count + self->more.count > SET_MAX)
		return;
	set_copy(&seat->want, &seat->set);
	set_merge(&seat->want, &self->more);
	lock_verb(self, seat, EXTEND);
}

static void do_unlock(struct self *self, struct seat *seat)
{
	__u64 fence = chance(&self->random, 50) ? seat->fence : 0;
	__u32 flags = chance(&self->random, 50) ? ENTITYLOCK_CONSISTENT : 0;

	about_to_leave(seat);
	expect(self, seat, UNLOCK, token_unlock(seat->fd, flags, fence), 0);
	seat->state = IDLE;
}

static void do_close(struct self *self, struct seat *seat)
{
	if (seat->state == HELD || (seat->state == PENDING && seat->base == HELD))
		about_to_leave(seat);
	seat->since = 0;
	expect(self, seat, CLOSE, exchange_fd(seat, -1), 0);
	seat->state = EMPTY;
}

/* Whether it still waits when this comes, nobody knows. */
static void do_give_up(struct self *self, struct seat *seat)
{
	int ret;

	if (seat->base == HELD)
		about_to_leave(seat);
	ret = token_unlock(seat->fd, 0, 0);
	expect(self, seat, UNLOCK, ret, ret == -EBADFD && seat->base == IDLE ? ret : 0);
	seat->since = 0;
	seat->state = IDLE;
}

static void do_cancel(struct self *self, struct seat *seat)
{
	int ret = token_unlock(seat->fd, ENTITYLOCK_CANCEL, 0);

	if (ret == -EBADFD) {
		note(self, seat, CANCEL, ret);
		look(self, seat);
		return;
	}
	expect(self, seat, CANCEL, ret, 0);
	seat->since = 0;
	seat->state = seat->base;
}

/* Fd numbers of other threads come and go meanwhile: siblings are kept out. */
static void do_dup(struct self *self, struct seat *seat)
{
	int fd;

	pthread_mutex_lock(&seat->lock);
	fd = fcntl(seat->fd, F_DUPFD_CLOEXEC, 0);
	expect(self, seat, DUP, fd < 0 ? -errno : close(seat->fd), 0);
	seat->fd = fd;
	pthread_mutex_unlock(&seat->lock);
	if (seat->state == HELD && token_state(fd) != ENTITYLOCK_HELD)
		violation(VERBS_RIGHT, seat, NULL, "closing a copy let it go");
}

static void do_info(struct self *self, struct seat *seat)
{
	struct entitylock_info info = token_info(seat->fd);

	note(self, seat, INFO, 0);
	if (info.state != seat->state || info.count != seat->set.count - 1 ||
	    (seat->state == HELD && info.fence != seat->fence))
		violation(VERBS_RIGHT, seat, NULL, "state %u, count %u, fence %llu", info.state,
			  info.count, info.fence);
}

static void do_poll(struct self *self, struct seat *seat)
{
	short events = token_poll(seat->fd);
	short expected = seat->state == HELD ? POLLIN : 0;

	note(self, seat, POLL, events < 0 ? events : 0);
	if (events == -EINTR)
		return;
	if ((events & (POLLIN | POLLHUP)) != expected)
		violation(VERBS_RIGHT, seat, NULL, "poll says %x", events);
}

static void do_stale(struct self *self, struct seat *seat)
{
	expect(self, seat, UNLOCK, token_unlock(seat->fd, 0, 1), -ESTALE);
}

static void do_relock(struct self *self, struct seat *seat)
{
	expect(self, seat, LOCK, token_lock(seat->fd, 0, FOREVER), -EBADFD);
}

static void do_nothing_to_cancel(struct self *self, struct seat *seat)
{
	expect(self, seat, CANCEL, token_unlock(seat->fd, ENTITYLOCK_CANCEL, 0), -EBADFD);
}

static void do_nothing_to_unlock(struct self *self, struct seat *seat)
{
	expect(self, seat, UNLOCK, token_unlock(seat->fd, 0, 0), -EBADFD);
}

static int renew(struct seat *seat, __u64 lease)
{
	struct entitylock_renew arg = { .lease = lease };

	return el_ioctl(seat->fd, ENTITYLOCK_IOC_RENEW, &arg);
}

static void do_renew(struct self *self, struct seat *seat)
{
	expect(self, seat, RENEW, renew(seat, HOUR), 0);
}

/* It was taken from the token, and nothing of it is ours. */
static void do_close_lost(struct self *self, struct seat *seat)
{
	expect(self, seat, UNLOCK, token_unlock(seat->fd, 0, 0), -ESTALE);
	expect(self, seat, CLOSE, exchange_fd(seat, -1), 0);
	seat->state = EMPTY;
}

/* A lease that ends at once: UNLOCK comes in time if nobody was waiting. */
static void do_expire(struct self *self, struct seat *seat)
{
	int ret;

	about_to_leave(seat);
	expect(self, seat, RENEW, renew(seat, 1), 0);
	if (chance(&self->random, 30))
		sched_yield();
	ret = token_unlock(seat->fd, 0, seat->fence);
	expect(self, seat, UNLOCK, ret, ret == -ESTALE ? ret : 0);
	if (ret)
		do_close_lost(self, seat);
	else
		seat->state = IDLE;
}

/* Shared holders may have the same number: what is ours alone is broken. */
static void do_break(struct self *self, struct seat *seat)
{
	const struct item *item = &seat->set.items[seat->set.count - 1];
	struct entitylock_break arg = { .fence = seat->fence };

	if (item->mode == SHARED)
		return;
	if (set_is_gate(&seat->set)) {
		arg.flags = ENTITYLOCK_GATE;
	} else {
		arg.name = ptr(name_of(item->what));
		arg.name_len = strlen(name_of(item->what));
	}
	about_to_leave(seat);
	expect(self, seat, BREAK, el_ioctl(self->domain, ENTITYLOCK_IOC_BREAK, &arg), 0);
	do_close_lost(self, seat);
}

/*
 * Park it, most often without an fd left, and claim it again.  Who is killed or
 * held up in between has lost it when the parking ends.
 */
static void do_park(struct self *self, struct seat *seat)
{
	struct entitylock_park park = { .lease = scaled_ns(200 * NSEC_PER_MSEC) };
	struct entitylock_claim claim = { 0 };
	bool held = seat->state == HELD;
	int fd, ret = 0;

	if (held)
		about_to_leave(seat);
	expect(self, seat, PARK, el_ioctl(seat->fd, ENTITYLOCK_IOC_PARK, &park), 0);
	memcpy(claim.cookie, park.cookie, sizeof(claim.cookie));
	if (chance(&self->random, 70))
		exchange_fd(seat, -1);
	fd = el_ioctl(self->domain, ENTITYLOCK_IOC_CLAIM, &claim);
	expect(self, seat, CLAIM, fd, fd == -ENOENT ? fd : fd < 0 ? 0 : fd);
	if (seat->fd >= 0)
		exchange_fd(seat, fd < 0 ? -1 : fd);
	else if (fd >= 0)
		set_fd(seat, fd);
	if (fd >= 0 && held)
		ret = renew(seat, HOUR);
	if (fd < 0) {
		seat->state = EMPTY;
	} else if (ret == -ESTALE) {
		do_close_lost(self, seat);
	} else if (held) {
		expect(self, seat, RENEW, ret, 0);
		resumed(seat);
	}
}

static int send_token(struct seat *seat)
{
	struct message message = { .fence = seat->fence };
	struct iovec iov = { .iov_base = &message };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	set_copy(&message.set, &seat->set);
	iov.iov_len = message_size(&message);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &seat->fd, sizeof(int));
	return sendmsg(shared->inbox[1], &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void do_send(struct self *self, struct seat *seat)
{
	int ret;

	about_to_leave(seat);
	ret = send_token(seat);
	if (ret == -EAGAIN) {
		resumed(seat);
		return;
	}
	expect(self, seat, SEND, ret, 0);
	exchange_fd(seat, -1);
	seat->state = EMPTY;
}

/*
 * A thread meddles with the token of another.  What that one holds while it
 * waits for more is taken from it by number: a grant that came first stays.
 */
static void do_meddle(struct self *self, struct seat *own)
{
	unsigned int first = self->worker->first * PLACES;
	struct seat *seat = &shared->seats[first + below(&self->random, ACTORS_EACH * PLACES)];
	int ret = 0;

	pthread_mutex_lock(&seat->lock);
	if (seat->fd < 0) {
		pthread_mutex_unlock(&seat->lock);
		return;
	}
	if (seat->raising && chance(&self->random, 30)) {
		about_to_leave(seat);
		ret = token_unlock(seat->fd, 0, seat->raising);
		seat->unlocked |= !ret;
	} else if (chance(&self->random, 50)) {
		ret = token_unlock(seat->fd, ENTITYLOCK_CANCEL, 0);
	} else {
		token_info(seat->fd);
	}
	pthread_mutex_unlock(&seat->lock);
	if (ret && ret != -EBADFD && ret != -ESTALE)
		violation(VERBS_RIGHT, own, seat, "a sibling's UNLOCK returned %d", ret);
	self->actor->operations++;
	self->actor->done[CANCEL][outcome_of(ret)]++;
}

/* Wait for what waits: without end only if nothing else of this thread holds. */
static void await(struct self *self)
{
	struct pollfd fds[PLACES];
	struct seat *waiting[PLACES];
	int timeout = finisher(self) ? 2 : -1;
	unsigned int count = 0;

	for (unsigned int i = 0; i < PLACES; i++) {
		struct seat *seat = &self->seats[i];

		if (seat->state == HELD)
			timeout = 0;
		if (seat->state == PENDING) {
			waiting[count] = seat;
			fds[count++] = (struct pollfd){ .fd = seat->fd, .events = POLLIN };
		}
	}
	poll(fds, count, timeout);
	for (unsigned int i = 0; i < count; i++) {
		note(self, waiting[i], POLL, 0);
		look(self, waiting[i]);
	}
}

static void do_await(struct self *self, struct seat *seat)
{
	(void)seat;
	await(self);
}

/* Holding takes time: mostly little. */
static void linger(struct self *self)
{
	unsigned int kind = below(&self->random, 100);

	if (kind < 10)
		spin_ns(below(&self->random, 20000));
	else if (kind < 25)
		sched_yield();
	else if (kind < 28)
		usleep(below(&self->random, 2000));
}

#define ONLY(kind)	(1U << (kind))
#define NOT_FINISHER	(ONLY(SINGLE) | ONLY(MULTI))
#define ANYBODY		(NOT_FINISHER | ONLY(FINISHER))
#define ENTITIES	ONLY(KINDS)	/* not on a token for the gate */

/* New verbs join by a line here. */
static const struct operation {
	void (*run)(struct self *self, struct seat *seat);
	enum state state;
	unsigned int weight;
	unsigned int kinds;	/* of workers */
	unsigned int needs;	/* DO_... */
} operations[] = {
	{ do_acquire,		EMPTY,	 80, NOT_FINISHER,           0 },
	{ do_open,		EMPTY,	 10, NOT_FINISHER,           0 },
	{ do_gate,		EMPTY,	  3, NOT_FINISHER,           DO_GATE },
	{ do_receive,		EMPTY,	 90, ONLY(FINISHER),         0 },
	{ do_meddle,		EMPTY,	  8, ONLY(MULTI),            DO_CANCELS },

	{ do_lock,		IDLE,	 70, ANYBODY,                0 },
	{ do_close,		IDLE,	 20, ANYBODY,                0 },
	{ do_park,		IDLE,	  3, ANYBODY,                DO_OWNERS },
	{ do_info,		IDLE,	  3, ANYBODY,                0 },
	{ do_poll,		IDLE,	  3, ANYBODY,                0 },
	{ do_nothing_to_cancel,	IDLE,	  2, ANYBODY,                0 },
	{ do_nothing_to_unlock,	IDLE,	  2, ANYBODY,                0 },

	{ do_unlock,		HELD,	 30, ANYBODY,                0 },
	{ do_close,		HELD,	 30, ANYBODY,                0 },
	{ do_extend,		HELD,	 10, ANYBODY | ENTITIES,     0 },
	{ do_upgrade,		HELD,	 15, ANYBODY | ENTITIES,     0 },
	{ do_downgrade,		HELD,	  8, ANYBODY | ENTITIES,     0 },
	{ do_send,		HELD,	 10, NOT_FINISHER,           DO_HANDOVER },
	{ do_renew,		HELD,	  5, ANYBODY,                DO_OWNERS },
	{ do_expire,		HELD,	  4, ANYBODY,                DO_OWNERS },
	{ do_break,		HELD,	  3, ANYBODY,                DO_OWNERS },
	{ do_park,		HELD,	  4, ANYBODY,                DO_OWNERS },
	{ do_dup,		HELD,	  3, ANYBODY,                0 },
	{ do_info,		HELD,	  3, ANYBODY,                0 },
	{ do_poll,		HELD,	  3, ANYBODY,                0 },
	{ do_stale,		HELD,	  2, ANYBODY,                0 },
	{ do_relock,		HELD,	  2, ANYBODY,                0 },
	{ do_nothing_to_cancel,	HELD,	  2, ANYBODY,                0 },

	{ do_await,		PENDING,	 70, ANYBODY,                0 },
	{ do_dup,		PENDING,	  2, ANYBODY,                0 },
	{ do_cancel,		PENDING,	 10, ANYBODY,                DO_CANCELS },
	{ do_give_up,		PENDING,	 10, ANYBODY,                DO_CANCELS },
	{ do_close,		PENDING,	 10, ANYBODY,                DO_CANCELS },
};

static unsigned int weight_of(const struct operation *operation, const struct self *self,
			      const struct seat *seat)
{
	if (operation->state != seat->state || !may(operation->needs) ||
	    !(operation->kinds & ONLY(self->worker->kind)) ||
	    (operation->kinds & ENTITIES && set_is_gate(&seat->set)))
		return 0;
	return operation->weight;
}

static void step(struct self *self)
{
	struct seat *seat = &self->seats[below(&self->random, PLACES)];
	const struct operation *operation = operations;
	unsigned int sum = 0, point;

	if (seat->state == HELD) {
		linger(self);
		still_alone(seat);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++)
		sum += weight_of(&operations[i], self, seat);
	point = below(&self->random, sum);
	for (; point >= weight_of(operation, self, seat); operation++)
		point -= weight_of(operation, self, seat);
	operation->run(self, seat);
}

/* Are all at rest who send tokens, and none is on its way? */
static bool all_received(void)
{
	struct pollfd pfd = { .fd = shared->inbox[0], .events = POLLIN };

	for (unsigned int i = 0; i < ACTORS; i++)
		if (shared->workers[shared->actors[i].worker].kind != FINISHER &&
		    !shared->actors[i].resting)
			return false;
	return poll(&pfd, 1, 0) == 0;
}

/* Close all that does not wait.  Return: is there something that does? */
static bool close_all(struct self *self)
{
	bool waits = false;

	for (unsigned int i = 0; i < PLACES; i++) {
		struct seat *seat = &self->seats[i];

		if (seat->state == PENDING)
			waits = true;
		else if (seat->state != EMPTY)
			do_close(self, seat);
	}
	return waits;
}

/* What waits is waited for, so that what is forgotten is seen. */
static void come_to_rest(struct self *self)
{
	while (close_all(self))
		await(self);
	while (finisher(self) && !all_received()) {
		do_receive(self, &self->seats[0]);
		close_all(self);
	}
}

static void *actor_main(void *data)
{
	struct self *self = data;
	const struct timespec nap = { .tv_nsec = 1000000 };

	self->actor->tid = gettid();
	while (!shared->quit) {
		/* In this order: whoever sees it at rest, and stopped, is right. */
		self->actor->resting = false;
		if (shared->stop) {
			self->actor->resting = true;
			nanosleep(&nap, NULL);
			continue;
		}
		self->random = random_from(shared->seed, shared->round, self->number,
					   self->worker->incarnation);
		while (!shared->stop)
			step(self);
		come_to_rest(self);
	}
	return NULL;
}

static void interrupted(int number)
{
	(void)number;
}

static struct self *self_new(unsigned int number)
{
	struct self *self = calloc(1, sizeof(*self));

	self->number = number;
	self->actor = &shared->actors[number];
	self->worker = &shared->workers[self->actor->worker];
	self->seats = &shared->seats[number * PLACES];
	for (unsigned int i = 0; i < PLACES; i++) {
		struct seat *seat = &self->seats[i];

		pthread_mutex_init(&seat->lock, NULL);
		seat->fd = -1;
		seat->state = EMPTY;
		seat->raising = 0;
		set_clear(&seat->set, SHARED);
		set_clear(&seat->want, SHARED);
	}
	self->domain = domain_open(O_RDWR);
	return self;
}

/* In half of the workers a verb that was interrupted is called again. */
int worker_main(unsigned int number)
{
	struct worker *worker = &shared->workers[number];
	struct sigaction action = {
		.sa_handler = interrupted,
		.sa_flags = number % 2 ? SA_RESTART : 0,
	};
	pthread_t threads[ACTORS_EACH];
	struct self *selves[ACTORS_EACH];

	sigaction(SIGUSR1, &action, NULL);
	for (unsigned int i = 0; i < worker->actors; i++) {
		selves[i] = self_new(worker->first + i);
		if (selves[i]->domain < 0)
			return 1;
	}
	for (unsigned int i = 1; i < worker->actors; i++)
		if (pthread_create(&threads[i], NULL, actor_main, selves[i]))
			return 1;
	actor_main(selves[0]);
	for (unsigned int i = 1; i < worker->actors; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
