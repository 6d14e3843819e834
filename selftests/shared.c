// SPDX-License-Identifier: GPL-2.0
/* Shared requests: together where they are neighbours, and nobody starves. */
#include "harness.h"

/* L3: neighbouring shared requests are granted together, and only they. */
TEST_F(entitylock, L3_neighbouring_shared_together)
{
	static const char modes[] = "sssxssx";
	enum { COUNT = sizeof(modes) - 1 };
	int holder = hold(self->domain, "a");
	int tokens[COUNT];
	struct call calls[COUNT];

	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++) {
		tokens[i] = acquire(self->domain, "a", modes[i] == 's' ? SHARED : EXCLUSIVE,
				    ENTITYLOCK_OPEN, NOWAIT);
		ASSERT_LE(0, tokens[i]);
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1));
	}
	close(holder);
	for (int first = 0, next; first < COUNT; first = next) {
		/* The group at the head has it; those behind wait. */
		for (next = first + 1; next < COUNT && modes[first] == 's' &&
		     modes[next] == 's'; next++)
			;
		for (int i = first; i < next; i++) {
			EXPECT_EQ(0, call_result(&calls[i]));
			EXPECT_EQ(ENTITYLOCK_HELD, token_state(tokens[i]));
		}
		for (int i = next; i < COUNT; i++)
			EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[i]));
		/* All but the last of them gone: nobody behind is let in yet. */
		for (int i = first; i < next; i++) {
			EXPECT_EQ(COUNT - next, (int)token_waiters(tokens[i]));
			if (next < COUNT)
				EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[next]));
			EXPECT_EQ(0, unlock(tokens[i]));
		}
	}
	for (int i = 0; i < COUNT; i++)
		close(tokens[i]);
}

/* L4: a large shared group is granted whole, in batches or otherwise. */
TEST_F(entitylock, L4_a_large_shared_group)
{
	enum { COUNT = 500 };
	static int tokens[COUNT];
	unsigned int count = scaled(COUNT, 200);
	int holder = hold(self->domain, "a");
	int last;

	ASSERT_LE(0, holder);
	for (unsigned int i = 0; i < count; i++) {
		tokens[i] = acquire(self->domain, "a", SHARED, ENTITYLOCK_ASYNC, FOREVER);
		ASSERT_LE(0, tokens[i]);
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[i]));
	}
	last = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, last);
	EXPECT_EQ(count + 1, token_waiters(holder));
	close(holder);
	for (unsigned int i = 0; i < count; i++)
		EXPECT_TRUE(eventually(token_state(tokens[i]) == ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(last));
	for (unsigned int i = 0; i < count; i++)
		close(tokens[i]);
	EXPECT_TRUE(eventually(token_state(last) == ENTITYLOCK_HELD));
	close(last);
}

/* Threads that lock and unlock in one mode until told to stop. */
struct stream {
	int domain;
	__u32 mode;
	atomic_bool *stop;
	atomic_uint *grants;
	pthread_t thread;
};

static void *stream(void *data)
{
	struct stream *stream = data;
	int token = acquire(stream->domain, "a", stream->mode, ENTITYLOCK_OPEN, NOWAIT);

	while (!*stream->stop) {
		if (token_lock(token, 0, FOREVER))
			abort();
		atomic_fetch_add(stream->grants, 1);
		spin_ns(20000);
		if (unlock(token))
			abort();
	}
	close(token);
	return NULL;
}

static void check_no_starvation(struct __test_metadata *_metadata, int domain, __u32 crowd,
				__u32 lone)
{
	enum { CROWD = 4 };
	struct stream streams[CROWD];
	atomic_bool stop = false;
	atomic_uint grants = 0;
	int token = acquire(domain, "a", lone, ENTITYLOCK_OPEN, NOWAIT);

	ASSERT_LE(0, token);
	for (int i = 0; i < CROWD; i++) {
		streams[i] = (struct stream){
			.domain = domain,
			.mode = crowd,
			.stop = &stop,
			.grants = &grants,
		};
		ASSERT_EQ(0, pthread_create(&streams[i].thread, NULL, stream, &streams[i]));
	}
	ASSERT_TRUE(eventually(grants > 100));
	for (unsigned int round = 0; round < scaled(50, 10); round++) {
		unsigned int seen;

		/* Its place in the queue is taken when ASYNC returns. */
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		seen = grants;
		ASSERT_TRUE(eventually(token_state(token) == ENTITYLOCK_HELD));
		/*
		 * Those before it in the queue, and those granted but not counted
		 * yet; each of the crowd is at most one of them.
		 */
		EXPECT_GE(2 * CROWD, (int)(grants - seen));
		ASSERT_EQ(0, unlock(token));
	}
	stop = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(streams[i].thread, NULL);
	close(token);
}

/* L3: readers do not starve a writer. */
TEST_F(entitylock, L3_readers_do_not_starve_a_writer)
{
	check_no_starvation(_metadata, self->domain, SHARED, EXCLUSIVE);
}

/* L3: writers do not starve a reader, */
TEST_F(entitylock, L3_writers_do_not_starve_a_reader)
{
	check_no_starvation(_metadata, self->domain, EXCLUSIVE, SHARED);
}

/* L3: nor a writer. */
TEST_F(entitylock, L3_writers_do_not_starve_a_writer)
{
	check_no_starvation(_metadata, self->domain, EXCLUSIVE, EXCLUSIVE);
}

/* L3: a shared request behind a writer that gives up is let in at once. */
TEST_F(entitylock, L3_readers_behind_a_writer_that_times_out)
{
	int holder = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	struct call writer, reader;
	int token;

	ASSERT_LE(0, holder);
	call_acquire(&writer, self->domain, "a", EXCLUSIVE, in_ms(600));
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	call_acquire(&reader, self->domain, "a", SHARED, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	EXPECT_EQ(-ETIMEDOUT, call_result(&writer));
	/* The holder holds still; the reader shares with it. */
	token = call_result(&reader);
	EXPECT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(token);
	close(holder);
}

/* L3: a mixed set takes each entity in its own mode. */
TEST_F(entitylock, L3_mixed_set)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), X("b"));

	ASSERT_LE(0, token);
	EXPECT_STREQ("sx", token_modes(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", SHARED));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", SHARED));
	close(token);
}

SELFTEST_MAIN
