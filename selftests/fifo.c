// SPDX-License-Identifier: GPL-2.0
/* First come, first served; a release hands over, and wakes only whom it grants. */
#include "harness.h"

#define WAITERS	200

/* Waiters in threads: each notes when it was granted, then lets the next one in. */
struct waiter {
	int domain;
	int token;		/* LOCK this, or ACQUIRE when negative */
	atomic_uint *granted;
	unsigned int place;	/* of its grant, from 0 */
	int ret;
	atomic_int tid;
	pthread_t thread;
};

static void *wait_once(void *data)
{
	struct waiter *waiter = data;

	waiter->tid = gettid();
	if (waiter->token >= 0) {
		waiter->ret = token_lock(waiter->token, 0, FOREVER);
	} else {
		waiter->ret = acquire(waiter->domain, "a", EXCLUSIVE, 0, FOREVER);
		waiter->token = waiter->ret;
	}
	if (waiter->ret < 0)
		return NULL;
	waiter->place = atomic_fetch_add(waiter->granted, 1);
	close(waiter->token);
	return NULL;
}

static void check_order(struct __test_metadata *_metadata, int domain, bool relock)
{
	static struct waiter waiters[WAITERS];
	atomic_uint granted = 0;
	int holder = hold(domain, "a");

	ASSERT_LE(0, holder);
	for (unsigned int i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){
			.domain = domain,
			.token = relock ? idle(domain, "a") : -1,
			.granted = &granted,
		};
		ASSERT_EQ(0, pthread_create(&waiters[i].thread, NULL, wait_once, &waiters[i]));
		ASSERT_TRUE(eventually(token_waiters(holder) == i + 1));
	}
	EXPECT_EQ(0, granted);
	ASSERT_EQ(0, unlock(holder));
	for (unsigned int i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		EXPECT_LE(0, waiters[i].ret);
		EXPECT_EQ(i, waiters[i].place);
	}
	close(holder);
}

/* L3 */
TEST_F(entitylock, L3_fifo_among_200_who_ACQUIRE)
{
	check_order(_metadata, self->domain, false);
}

/* L3 */
TEST_F(entitylock, L3_fifo_among_200_who_LOCK)
{
	check_order(_metadata, self->domain, true);
}

/* L4: the lock is the waiter's before UNLOCK returns: nobody overtakes. */
TEST_F(entitylock, L4_handed_over_before_UNLOCK_returns)
{
	int holder = hold(self->domain, "a");
	int next = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, next);
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		struct call call;

		call_lock(&call, next, FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == 1));
		ASSERT_EQ(0, unlock(holder));
		EXPECT_EQ(-EAGAIN, token_lock(holder, 0, NOWAIT));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		ASSERT_EQ(0, call_result(&call));
		ASSERT_EQ(0, unlock(next));
		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
	}
	close(holder);
	close(next);
}

/* L3: who comes while others wait queues behind them, also on a free moment. */
TEST_F(entitylock, L3_newcomers_queue_behind_those_who_wait)
{
	int holder = hold(self->domain, "a");
	int tokens[3];
	struct call calls[3];

	ASSERT_LE(0, holder);
	for (int i = 0; i < 3; i++) {
		tokens[i] = idle(self->domain, "a");
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1));
	}
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, unlock(i ? tokens[i - 1] : holder));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		ASSERT_EQ(0, call_result(&calls[i]));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(tokens[i]));
		EXPECT_EQ(2 - (__u32)i, token_waiters(tokens[i]));
	}
	for (int i = 0; i < 3; i++)
		close(tokens[i]);
	close(holder);
}

static unsigned long context_switches(pid_t tid)
{
	char path[64], line[256];
	unsigned long count = ~0UL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1)
			break;
	if (file)
		fclose(file);
	return count;
}

/* L3: a release wakes exactly those it grants, whatever the number of waiters. */
TEST_F(entitylock, L3_a_release_wakes_only_whom_it_grants)
{
	enum { COUNT = 50 };
	struct call calls[COUNT];
	unsigned long before[COUNT];
	int holder = hold(self->domain, "a");
	int token;

	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++) {
		call_acquire(&calls[i], self->domain, "a", EXCLUSIVE, FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1 &&
				       call_blocked(&calls[i])));
	}
	for (int i = 0; i < COUNT; i++)
		before[i] = context_switches(calls[i].tid);
	close(holder);
	token = call_result(&calls[0]);
	ASSERT_LE(0, token);
	for (int i = 1; i < COUNT; i++) {
		EXPECT_TRUE(call_blocked(&calls[i]));
		EXPECT_EQ(before[i], context_switches(calls[i].tid));
	}
	for (int i = 1; i < COUNT; i++) {
		close(token);
		token = call_result(&calls[i]);
		ASSERT_LE(0, token);
	}
	close(token);
}

/* L3: the queue is that of the entity: others are not delayed. */
TEST_F(entitylock, L3_queues_are_per_entity)
{
	int a = hold(self->domain, "a");
	struct call call;
	int token;

	ASSERT_LE(0, a);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(a) == 1));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(a);
	token = call_result(&call);
	EXPECT_LE(0, token);
	close(token);
}

/* L3: waiters that are killed leave the order of the others as it was. */
TEST_F(entitylock, L3_100_of_200_waiters_killed)
{
	static pid_t pids[WAITERS];
	int holder = hold(self->domain, "a");
	int order[2];

	ASSERT_LE(0, holder);
	ASSERT_EQ(0, pipe2(order, O_CLOEXEC));
	for (unsigned int i = 0; i < WAITERS; i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			unsigned char number = i;

			/* It writes while it holds: the pipe has the order of grants. */
			close(holder);
			if (acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER) < 0)
				_exit(1);
			_exit(write(order[1], &number, 1) == 1 ? 0 : 2);
		}
		ASSERT_TRUE(eventually(token_waiters(holder) == i + 1));
	}
	for (unsigned int i = 0; i < WAITERS; i += 2)
		kill(pids[i], SIGKILL);
	for (unsigned int i = 0; i < WAITERS; i += 2)
		EXPECT_EQ(256 + SIGKILL, reap(pids[i]));
	EXPECT_EQ(WAITERS / 2, token_waiters(holder));
	close(holder);
	for (unsigned int i = 1; i < WAITERS; i += 2) {
		unsigned char number = 0;

		EXPECT_EQ(1, read(order[0], &number, 1));
		EXPECT_EQ(i, number);
		EXPECT_EQ(0, reap(pids[i]));
	}
	close(order[0]);
	close(order[1]);
}

SELFTEST_MAIN
