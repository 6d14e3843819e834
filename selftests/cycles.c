// SPDX-License-Identifier: GPL-2.0
/*
 * L9: tokens in messages that only the kernel's search for cycles can free: never
 * while they can be reached, by MSG_PEEK or a ring with registered files, and
 * certainly once they cannot.
 */
#include <liburing.h>
#include <sys/socket.h>

#include "owners.h"

static void make_pair(struct __test_metadata *_metadata, int *pair)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
}

/* The kernel looks for cycles when a socket is closed. */
static void make_search(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	close(pair[0]);
	close(pair[1]);
}

static bool is_free(int domain)
{
	make_search();
	return try_lock(domain, "a", EXCLUSIVE) == 0;
}

/* A copy of the fd in the first message, which stays. */
static int peek_fd(int sock)
{
	return receive_fd_with(sock, MSG_PEEK);
}

struct peeker {
	int sock;
	atomic_bool stop;
	unsigned int peeks;
	unsigned int lost;
	pthread_t thread;
};

static void *peek_all_the_time(void *data)
{
	struct peeker *peeker = data;

	do {
		int copy = peek_fd(peeker->sock);

		peeker->peeks++;
		peeker->lost += copy < 0 || token_state(copy) != ENTITYLOCK_HELD;
		close(copy);
	} while (!peeker->stop);
	/* The last way to reach it. */
	close(peeker->sock);
	return NULL;
}

/* L9: it is looked at, while the search comes by, and while the last end is closed. */
TEST_F(entitylock, L9_MSG_PEEK_races_the_search_for_cycles)
{
	for (unsigned int round = 0; round < scaled(100, 10); round++) {
		int token = hold(self->domain, "a"), pair[2];
		struct peeker peeker = { 0 };

		ASSERT_LE(0, token);
		make_pair(_metadata, pair);
		ASSERT_EQ(0, send_fd(pair[0], token));
		/* Each end lies in the other end's queue. */
		ASSERT_EQ(0, send_fd(pair[0], pair[0]));
		ASSERT_EQ(0, send_fd(pair[1], pair[1]));
		close(token);
		close(pair[0]);
		peeker.sock = pair[1];
		ASSERT_EQ(0, pthread_create(&peeker.thread, NULL, peek_all_the_time, &peeker));
		for (unsigned int i = 0; i < 20; i++)
			EXPECT_FALSE(is_free(self->domain));
		peeker.stop = true;
		for (unsigned int i = 0; i < 5; i++)
			make_search();
		pthread_join(peeker.thread, NULL);
		EXPECT_LT(0, peeker.peeks);
		EXPECT_EQ(0, peeker.lost);
		EXPECT_TRUE(eventually(is_free(self->domain)));
	}
}

/* L9: a copy that was peeked is the last reference. */
TEST_F(entitylock, L9_a_peeked_copy_outlives_the_cycle)
{
	int token = hold(self->domain, "a"), pair[2], copy;

	ASSERT_LE(0, token);
	make_pair(_metadata, pair);
	ASSERT_EQ(0, send_fd(pair[0], token));
	ASSERT_EQ(0, send_fd(pair[0], pair[0]));
	ASSERT_EQ(0, send_fd(pair[1], pair[1]));
	close(token);
	copy = peek_fd(pair[1]);
	ASSERT_LE(0, copy);
	close(pair[0]);
	close(pair[1]);
	for (unsigned int i = 0; i < 5; i++)
		EXPECT_FALSE(is_free(self->domain));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(copy));
	close(copy);
	EXPECT_TRUE(eventually(is_free(self->domain)));
}

/*
 * L9: a ring has a token and a socket registered, and lies itself in that socket.
 * Newer kernels refuse to send a ring: then it has no cycle, but goes as well.
 */
TEST_F(entitylock, L9_registered_in_a_ring_in_a_cycle)
{
	for (unsigned int round = 0; round < scaled(20, 4); round++) {
		int token = hold(self->domain, "a"), pair[2];
		struct io_uring ring;

		ASSERT_LE(0, token);
		make_pair(_metadata, pair);
		ASSERT_EQ(0, io_uring_queue_init(8, &ring, 0));
		ASSERT_EQ(0, io_uring_register_files(&ring, (int[]){ token, pair[1] }, 2));
		send_fd(pair[0], ring.ring_fd);
		ASSERT_EQ(0, send_fd(pair[0], token));
		close(token);
		close(pair[0]);
		close(pair[1]);
		EXPECT_FALSE(is_free(self->domain));
		io_uring_queue_exit(&ring);
		EXPECT_TRUE(eventually(is_free(self->domain)));
	}
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
}

SELFTEST_MAIN
