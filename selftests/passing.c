// SPDX-License-Identifier: GPL-2.0
/* L9: tokens in flight: released exactly once, and never while they can be reached. */
#include <sys/socket.h>

#include "harness.h"

static void make_pair(struct __test_metadata *_metadata, int *pair)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
}

/* L9: a token in flight in a socket keeps its lock. */
TEST_F(entitylock, L9_in_flight_keeps_the_lock)
{
	int token = hold(self->domain, "a");
	int pair[2];

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	/* The sender's end is closed as well. */
	close(pair[0]);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	token = receive_fd(pair[1]);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(pair[1]);
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L9: in flight, and nobody can receive it any more: released. */
TEST_F(entitylock, L9_in_flight_and_the_receiver_closes)
{
	int token = hold(self->domain, "a");
	int pair[2];

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	close(pair[1]);
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
	close(pair[0]);
}

/* L9: the process that should receive it is killed. */
TEST_F(entitylock, L9_in_flight_and_the_receiver_dies)
{
	int pair[2], token;
	pid_t pid;

	make_pair(_metadata, pair);
	pid = spawn();
	if (!pid) {
		close(pair[0]);
		for (;;)
			pause();
	}
	close(pair[1]);
	token = hold(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
	close(pair[0]);
}

static int receive_without_room(int sock, size_t room, int flags, int *msg_flags)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room ? &control : NULL,
		.msg_controllen = room,
	};
	struct cmsghdr *cmsg;
	int fd = -1;

	if (recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	*msg_flags = msg.msg_flags;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* L9: no room for the fd (MSG_CTRUNC): it is gone, and with it the lock. */
TEST_F(entitylock, L9_MSG_CTRUNC)
{
	const size_t rooms[] = { 0, sizeof(struct cmsghdr), CMSG_LEN(sizeof(int)) - 1 };
	int pair[2];

	make_pair(_metadata, pair);
	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		int token = hold(self->domain, "a");
		int msg_flags = 0;

		ASSERT_LE(0, token);
		ASSERT_EQ(0, send_fd(pair[0], token));
		close(token);
		EXPECT_EQ(-1, receive_without_room(pair[1], rooms[i], 0, &msg_flags));
		EXPECT_EQ(MSG_CTRUNC, msg_flags & MSG_CTRUNC);
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	}
	close(pair[0]);
	close(pair[1]);
}

/* L9: the same while the sender keeps its copy: still held. */
TEST_F(entitylock, L9_MSG_CTRUNC_while_the_sender_keeps_it)
{
	int token = hold(self->domain, "a");
	int pair[2], msg_flags = 0;

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	EXPECT_EQ(-1, receive_without_room(pair[1], 0, 0, &msg_flags));
	EXPECT_EQ(MSG_CTRUNC, msg_flags & MSG_CTRUNC);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(pair[0]);
	close(pair[1]);
}

/* L9: MSG_PEEK makes copies: all are the one token, released after the last. */
TEST_F(entitylock, L9_MSG_PEEK)
{
	int token = hold(self->domain, "a");
	int pair[2], copies[5], msg_flags;

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	for (int i = 0; i < 5; i++) {
		copies[i] = receive_without_room(pair[1], CMSG_SPACE(sizeof(int)),
						 i < 4 ? MSG_PEEK : 0, &msg_flags);
		ASSERT_LE(0, copies[i]);
		EXPECT_EQ(token_info(token).id, token_info(copies[i]).id);
	}
	close(token);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		close(copies[i]);
	}
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(pair[0]);
	close(pair[1]);
}

/* L9: a message that holds a token and the socket it lies in: collected, once unreachable. */
TEST_F(entitylock, L9_socket_cycle)
{
	int token = hold(self->domain, "a");
	int pair[2], other[2];

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	/* Each end lies in the other end's queue, and the token beside them. */
	ASSERT_EQ(0, send_fd(pair[0], token));
	ASSERT_EQ(0, send_fd(pair[0], pair[0]));
	ASSERT_EQ(0, send_fd(pair[1], pair[1]));
	close(token);
	close(pair[0]);
	/* One end is open still: reachable, held. */
	make_pair(_metadata, other);
	close(other[0]);
	close(other[1]);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(pair[1]);
	/* The kernel looks for cycles when a socket is closed. */
	EXPECT_TRUE(eventually(({
		make_pair(_metadata, other);
		close(other[0]);
		close(other[1]);
		try_lock(self->domain, "a", EXCLUSIVE) == 0;
	})));
}

/* L9: a token that comes back out of a cycle is what it was. */
TEST_F(entitylock, L9_out_of_a_cycle)
{
	int token = hold(self->domain, "a");
	int pair[2], end;

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], pair[0]));
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	close(pair[0]);
	end = receive_fd(pair[1]);
	ASSERT_LE(0, end);
	token = receive_fd(pair[1]);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(end);
	close(pair[1]);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: a token that waits is passed on: its wait goes on in flight. */
TEST_F(entitylock, L6_waits_on_in_flight)
{
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	int pair[2];

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	token = receive_fd(pair[1]);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
	close(pair[0]);
	close(pair[1]);
}

/* L9: as many tokens as fit in a message, back and forth. */
TEST_F(entitylock, L9_many_tokens_in_one_message)
{
	enum { COUNT = 250 };	/* the kernel takes 253 */
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(COUNT * sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *cmsg = (struct cmsghdr *)&control;
	int pair[2], tokens[COUNT];

	make_pair(_metadata, pair);
	memset(&control, 0, sizeof(control));
	for (int i = 0; i < COUNT; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", i);
		tokens[i] = hold(self->domain, name);
		ASSERT_LE(0, tokens[i]);
	}
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(tokens));
	memcpy(CMSG_DATA(cmsg), tokens, sizeof(tokens));
	ASSERT_EQ(1, sendmsg(pair[0], &msg, 0));
	for (int i = 0; i < COUNT; i++)
		close(tokens[i]);
	EXPECT_EQ(COUNT, live_entities(self->domain));
	msg.msg_controllen = sizeof(control.space);
	ASSERT_EQ(1, recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC));
	memcpy(tokens, CMSG_DATA(cmsg), sizeof(tokens));
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(tokens[i]));
		close(tokens[i]);
	}
	EXPECT_EQ(0, live_entities(self->domain));
	close(pair[0]);
	close(pair[1]);
}

struct passer {
	int in;
	int out;
	unsigned int rounds;
	pthread_t thread;
};

static void *pass_on(void *data)
{
	struct passer *passer = data;

	for (unsigned int i = 0; i < passer->rounds; i++) {
		int token = receive_fd(passer->in);

		if (token < 0 || token_state(token) != ENTITYLOCK_HELD)
			return "lost";
		if (send_fd(passer->out, token))
			return "not sent";
		close(token);
	}
	return NULL;
}

/* L9: a token that goes round and round is held all the time. */
TEST_F(entitylock, L9_passed_in_a_circle)
{
	enum { COUNT = 4 };
	int pairs[COUNT][2];
	struct passer passers[COUNT];
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	for (int i = 0; i < COUNT; i++)
		make_pair(_metadata, pairs[i]);
	for (int i = 0; i < COUNT; i++) {
		passers[i] = (struct passer){
			.in = pairs[i][1],
			.out = pairs[(i + 1) % COUNT][0],
			.rounds = scaled(2000, 100),
		};
		ASSERT_EQ(0, pthread_create(&passers[i].thread, NULL, pass_on, &passers[i]));
	}
	ASSERT_EQ(0, send_fd(pairs[0][0], token));
	close(token);
	for (unsigned int i = 0; i < scaled(1000, 50); i++)
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	for (int i = 0; i < COUNT; i++) {
		void *fault;

		pthread_join(passers[i].thread, &fault);
		EXPECT_EQ(NULL, fault);
	}
	token = receive_fd(pairs[0][1]);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
	for (int i = 0; i < COUNT; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

SELFTEST_MAIN
