// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: what may be done with a token, by its state.
 *
 * A thread that has a token which holds or waits never waits without end for
 * another: that could deadlock, and the module does not promise otherwise.
 * Finishers never wait without end at all, for a token that is on its way to
 * them may be what they would wait for.
 */
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#include "worker.h"

/* What goes with a token to a finisher. */
struct message {
	__u64 fence;
	struct set set;
};

static size_t message_size(const struct message *message)
{
	return offsetof(struct message, set.items[message->set.count]);
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
	if (out_of_memory(ret))
		return;
	if (ret < 0 || fence) {
		violation(VERBS_RIGHT, seat, NULL, "OPEN returned %d", ret);
		return;
	}
	set_fd(seat, ret);
	seat->fence = 0;
	set_copy(&seat->set, &seat->want);
	seat->state = IDLE;
}

void do_receive(struct self *self, struct seat *seat)
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

void do_close(struct self *self, struct seat *seat)
{
	if (seat->state == HELD || (seat->state == PENDING && seat->base == HELD))
		about_to_leave(seat);
	seat->since = 0;
	expect(self, seat, CLOSE, exchange_fd(seat, -1), 0);
	seat->state = EMPTY;
}

/* Whether it still waits when this comes, the number of its last grant tells. */
static void do_give_up(struct self *self, struct seat *seat)
{
	__u64 fence;
	int ret;

	if (seat->base == HELD)
		about_to_leave(seat);
	ret = token_unlock(seat->fd, 0, 0);
	expect(self, seat, UNLOCK, ret, ret == -EBADFD && seat->base == IDLE ? ret : 0);
	fence = token_fence(seat->fd);
	if (fence != seat->fence) {
		seat->fence = fence;
		set_copy(&seat->set, &seat->want);
	}
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
	int fd, ret;

	if (held)
		about_to_leave(seat);
	ret = el_ioctl(seat->fd, ENTITYLOCK_IOC_PARK, &park);
	expect(self, seat, PARK, ret, 0);
	if (ret) {
		if (held)
			resumed(seat);
		return;
	}
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
	/* Between the two a sibling would meddle with what is another process's. */
	pthread_mutex_lock(&seat->lock);
	ret = send_token(seat);
	if (!ret) {
		close(seat->fd);
		seat->fd = -1;
	}
	pthread_mutex_unlock(&seat->lock);
	if (ret)
		resumed(seat);
	else
		seat->state = EMPTY;
	if (ret != -EAGAIN && !out_of_memory(ret))
		expect(self, seat, SEND, ret, 0);
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
void await(struct self *self)
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

/* One of those that are possible, by their weights. */
void operate(struct self *self, struct seat *seat)
{
	const struct operation *operation = operations;
	unsigned int sum = 0, point;

	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++)
		sum += weight_of(&operations[i], self, seat);
	point = below(&self->random, sum);
	for (; point >= weight_of(operation, self, seat); operation++)
		point -= weight_of(operation, self, seat);
	operation->run(self, seat);
}
