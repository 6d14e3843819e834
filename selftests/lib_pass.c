// SPDX-License-Identifier: GPL-2.0
/* entitylock_send() and entitylock_recv(): one token goes over, nothing else stays. */
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "harness.h"
#include "../userspace/lib/include/entitylock.h"

/* The rule behind all of these: a message in flight is a reference (L9). */
FIXTURE(pass) {
	struct ground ground;
	int sock[2];
	int token;
};

FIXTURE_VARIANT(pass) {
	int type;
};

FIXTURE_VARIANT_ADD(pass, stream) {
	.type = SOCK_STREAM,
};

FIXTURE_VARIANT_ADD(pass, seqpacket) {
	.type = SOCK_SEQPACKET,
};

FIXTURE_SETUP(pass)
{
	ground_check(_metadata, &self->ground);
	ASSERT_EQ(0, socketpair(AF_UNIX, variant->type | SOCK_CLOEXEC, 0, self->sock));
	self->token = hold(self->ground.domain, "x");
	ASSERT_LE(0, self->token);
}

FIXTURE_TEARDOWN(pass)
{
	close(self->sock[0]);
	close(self->sock[1]);
	close(self->token);
	ground_recheck(_metadata, &self->ground);
}

/* Sends @count copies of @fd with @len bytes. */
static ssize_t send_many(int sock, int fd, unsigned int count, size_t len)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} control = {};
	char bytes[64] = {};
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = count ? control.room : NULL,
		.msg_controllen = count ? CMSG_SPACE(count * sizeof(int)) : 0,
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	unsigned int i;

	if (count) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (i = 0; i < count; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, 0);
}

TEST_F(pass, L9_with_data)
{
	char data[16];
	size_t len = 5;
	int token;

	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, "hello", 5));
	close(self->token);
	EXPECT_EQ(-EAGAIN, try_lock(self->ground.domain, "x", EXCLUSIVE));

	token = entitylock_recv(self->sock[1], data, &len);
	ASSERT_LE(0, token);
	EXPECT_EQ(5, len);
	EXPECT_EQ(0, memcmp(data, "hello", 5));
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	self->token = token;
}

TEST_F(pass, without_data)
{
	int token;

	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, NULL, 0));
	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, NULL, 0));
	token = entitylock_recv(self->sock[1], NULL, NULL);
	EXPECT_LE(0, token);
	close(token);
	token = entitylock_recv(self->sock[1], NULL, NULL);
	EXPECT_LE(0, token);
	close(token);
}

TEST_F(pass, none_or_several)
{
	size_t len = 1;
	char data[1];

	ASSERT_EQ(1, send_many(self->sock[0], self->token, 0, 1));
	EXPECT_EQ(-EBADMSG, entitylock_recv(self->sock[1], data, &len));
	ASSERT_EQ(1, send_many(self->sock[0], self->token, 2, 1));
	EXPECT_EQ(-EBADMSG, entitylock_recv(self->sock[1], data, &len));
	ASSERT_EQ(1, send_many(self->sock[0], self->token, 253, 1));
	EXPECT_EQ(-EBADMSG, entitylock_recv(self->sock[1], data, &len));
	EXPECT_EQ(1, len);
}

TEST_F(pass, not_a_token)
{
	int pipes[2];

	ASSERT_EQ(0, entitylock_send(self->sock[0], self->ground.domain, NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_recv(self->sock[1], NULL, NULL));
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, entitylock_send(self->sock[0], pipes[0], NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_recv(self->sock[1], NULL, NULL));
	close(pipes[0]);
	close(pipes[1]);
}

/* The kernel cuts the descriptors off when the table is full: MSG_CTRUNC. */
TEST_F(pass, table_full)
{
	struct rlimit limit, full;
	int next = dup(self->token);

	close(next);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	full = limit;
	full.rlim_cur = next;
	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, NULL, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &full));
	EXPECT_EQ(-EMFILE, entitylock_recv(self->sock[1], NULL, NULL));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
}

TEST_F(pass, closed)
{
	char byte;
	size_t len = 0;

	close(self->sock[1]);
	self->sock[1] = -1;
	/* Would be SIGPIPE, the end of this process. */
	EXPECT_EQ(-EPIPE, entitylock_send(self->sock[0], self->token, NULL, 0));
	EXPECT_EQ(-ENODATA, entitylock_recv(self->sock[0], NULL, NULL));
	EXPECT_EQ(-EINVAL, entitylock_recv(self->sock[0], &byte, &len));
	EXPECT_EQ(-EBADF, entitylock_send(-1, self->token, NULL, 0));
	EXPECT_EQ(-EBADF, entitylock_send(self->sock[0], -1, NULL, 0));
	EXPECT_EQ(-EBADF, entitylock_recv(-1, NULL, NULL));
	EXPECT_EQ(-ENOTSOCK, entitylock_recv(self->ground.domain, NULL, NULL));
}

TEST_F(pass, nonblocking)
{
	fcntl(self->sock[1], F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EAGAIN, entitylock_recv(self->sock[1], NULL, NULL));
	fcntl(self->sock[0], F_SETFL, O_NONBLOCK);
	while (send(self->sock[0], "", 1, MSG_DONTWAIT) == 1)
		;
	EXPECT_EQ(-EAGAIN, entitylock_send(self->sock[0], self->token, NULL, 0));
}

/* What else the caller lets come with messages is no obstacle and does not stay. */
TEST_F(pass, other_ancillary_data)
{
	const int on = 1;
	int token;

	ASSERT_EQ(0, setsockopt(self->sock[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	/* SO_PASSPIDFD, of kernels from 6.5 on */
	setsockopt(self->sock[1], SOL_SOCKET, 76, &on, sizeof(on));
	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, NULL, 0));
	token = entitylock_recv(self->sock[1], NULL, NULL);
	EXPECT_LE(0, token);
	close(token);
}

TEST_F(pass, packet_too_long)
{
	char data[8];
	size_t len = 4;
	int ret;

	ASSERT_EQ(0, entitylock_send(self->sock[0], self->token, "12345678", 8));
	ret = entitylock_recv(self->sock[1], data, &len);
	if (variant->type == SOCK_SEQPACKET) {
		EXPECT_EQ(-EMSGSIZE, ret);
	} else {
		ASSERT_LE(0, ret);
		EXPECT_EQ(4, len);
		EXPECT_EQ(0, memcmp(data, "1234", 4));
		close(ret);
	}
	EXPECT_EQ(4, len);
}

/* A stream that takes it in pieces, also for a non-blocking sender. */
struct sender {
	int sock, token, ret;
	char *data;
	size_t len;
};

static void *send_large(void *arg)
{
	struct sender *sender = arg;

	sender->ret = entitylock_send(sender->sock, sender->token, sender->data, sender->len);
	return NULL;
}

TEST_F(entitylock, stream_in_pieces)
{
	static char to[3000000], from[3000000];
	struct sender sender = { .data = from, .len = sizeof(from) };
	size_t len = sizeof(to), i;
	pthread_t thread;
	int sock[2], token;

	for (i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + (i >> 8));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	fcntl(sock[0], F_SETFL, O_NONBLOCK);
	sender.sock = sock[0];
	sender.token = hold(self->domain, "x");
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_large, &sender));
	token = entitylock_recv(sock[1], to, &len);
	ASSERT_LE(0, token);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, sender.ret);
	EXPECT_EQ(0, memcmp(to, from, sizeof(to)));
	close(token);
	close(sender.token);

	/* The sender is gone before the agreed bytes are there. */
	token = hold(self->domain, "x");
	ASSERT_EQ(0, entitylock_send(sock[0], token, "123", 3));
	close(token);
	close(sock[0]);
	len = 4;
	EXPECT_EQ(-EBADMSG, entitylock_recv(sock[1], to, &len));
	EXPECT_EQ(4, len);
	close(sock[1]);
}

/* The rest never comes: who reads does not wait longer than the socket does. */
TEST_F(entitylock, stream_that_stalls)
{
	const struct timeval shortly = { .tv_usec = 50000 };
	int sock[2], token, i;
	char data[4];
	size_t len;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
		if (i)
			setsockopt(sock[1], SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof(shortly));
		else
			fcntl(sock[1], F_SETFL, O_NONBLOCK);
		token = hold(self->domain, "x");
		ASSERT_EQ(0, entitylock_send(sock[0], token, "123", 3));
		close(token);
		len = sizeof(data);
		EXPECT_EQ(-EBADMSG, entitylock_recv(sock[1], data, &len));
		EXPECT_EQ(sizeof(data), len);
		/* Nobody has it any more. */
		EXPECT_EQ(0, try_lock(self->domain, "x", EXCLUSIVE));
		close(sock[0]);
		close(sock[1]);
	}
}

static void nothing(int sig)
{
	(void)sig;
}

TEST_F(entitylock, interrupted)
{
	struct sigaction action = { .sa_handler = nothing };
	struct itimerspec soon = { .it_value = { .tv_nsec = 20000000 },
				   .it_interval = { .tv_nsec = 20000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;
	int sock[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	sigaction(SIGALRM, &action, NULL);
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	timer_settime(timer, 0, &soon, NULL);
	EXPECT_EQ(-EINTR, entitylock_recv(sock[1], NULL, NULL));
	timer_delete(timer);
	close(sock[0]);
	close(sock[1]);
}

SELFTEST_MAIN
