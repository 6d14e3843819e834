// SPDX-License-Identifier: GPL-2.0
/* The library's blocking calls: they queue asynchronously and keep their place (L6 to L8). */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"
#include "../userspace/lib/include/entitylock.h"

static struct entitylock_options until(__u64 deadline, bool restart)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;

	options.deadline = deadline;
	options.restart = restart;
	return options;
}

/* Blocks in entitylock_acquire("x") in a thread of its own. */
struct waiter {
	int domain;
	struct entitylock_options options;
	struct entitylock_grant grant;
	atomic_int ret;
	pthread_t thread;
};

#define RUNNING (-100000)

static void *wait_for_x(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = entitylock_acquire(waiter->domain, "x", 1, EXCLUSIVE,
					 &waiter->options, &waiter->grant);
	return NULL;
}

static void waiter_start(struct waiter *waiter, int domain,
			 struct entitylock_options options)
{
	*waiter = (struct waiter) {
		.domain = domain, .options = options, .ret = RUNNING,
		.grant.fence = 77,
	};
	pthread_create(&waiter->thread, NULL, wait_for_x, waiter);
}

static int waiter_end(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	return waiter->ret;
}

static void nothing(int sig)
{
	(void)sig;
}

static void handle(int sig)
{
	struct sigaction action = { .sa_handler = nothing };

	sigaction(sig, &action, NULL);
}

TEST_F(entitylock, L3_granted_after_wait)
{
	int token = hold(self->domain, "x");
	struct waiter waiter;

	ASSERT_LE(0, token);
	waiter_start(&waiter, self->domain, until(FOREVER, false));
	EXPECT_TRUE(eventually(queued("x") == 1));
	EXPECT_EQ(RUNNING, waiter.ret);
	close(token);
	token = waiter_end(&waiter);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(token_fence(token), waiter.grant.fence);
	EXPECT_EQ(0, waiter.grant.result);
	close(token);
}

TEST_F(entitylock, deadlines)
{
	__u64 begun = now();
	struct {
		__u64 deadline;
		int error;
	} cases[] = {
		{ NOWAIT, -EAGAIN },
		{ PASSED, -ETIMEDOUT },
		{ entitylock_deadline_in(50 * NSEC_PER_MSEC), -ETIMEDOUT },
	};
	struct entitylock_grant grant = { .fence = 77 };
	int token = hold(self->domain, "x"), ret;
	struct entitylock_options options;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		options = until(cases[i].deadline, false);
		ret = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, &grant);
		EXPECT_EQ(cases[i].error, ret);
	}
	EXPECT_LE(40 * NSEC_PER_MSEC, now() - begun);
	EXPECT_EQ(77, grant.fence);
	EXPECT_EQ(0, queued("x"));
	close(token);
}

TEST_F(entitylock, far_deadline)
{
	__u64 begun = now(), deadline = entitylock_deadline_in(NSEC_PER_SEC);
	struct entitylock_options options;
	struct waiter waiter;
	int token;

	EXPECT_LE(begun + NSEC_PER_SEC, deadline);
	EXPECT_GE(now() + NSEC_PER_SEC, deadline);
	EXPECT_EQ(FOREVER - 1, entitylock_deadline_in(UINT64_MAX));

	/* So far off it is still a deadline like any other. */
	token = hold(self->domain, "x");
	options = until(entitylock_deadline_in(UINT64_MAX), false);
	waiter_start(&waiter, self->domain, options);
	EXPECT_TRUE(eventually(queued("x") == 1));
	close(token);
	token = waiter_end(&waiter);
	EXPECT_LE(0, token);
	close(token);
}

TEST_F(entitylock, L8_signal_withdraws)
{
	int token = hold(self->domain, "x");
	struct waiter waiter;

	handle(SIGUSR1);
	waiter_start(&waiter, self->domain, until(FOREVER, false));
	EXPECT_TRUE(eventually(queued("x") == 1));
	/* The signal may come just before the thread sleeps. */
	EXPECT_TRUE(eventually((pthread_kill(waiter.thread, SIGUSR1), waiter.ret != RUNNING)));
	EXPECT_EQ(-EINTR, waiter_end(&waiter));
	EXPECT_EQ(77, waiter.grant.fence);
	EXPECT_EQ(0, queued("x"));
	close(token);
}

/* Whether the waiter that stands first for "x" is process @pid. */
static bool first_is(int domain, pid_t pid)
{
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	bool first = false;

	if (entitylock_list_open(domain, &list))
		return false;
	while (entitylock_list_next(list, &entry) == 1)
		first |= entry->nr_waiter && entry->waiter[0].pid == pid;
	entitylock_list_close(list);
	return first;
}

/* Whether a process sleeps; its name has no space. */
static bool sleeps(pid_t pid)
{
	char path[32], state = '?';
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "r");
	if (stat) {
		if (fscanf(stat, "%*d %*s %c", &state) != 1)
			state = '?';
		fclose(stat);
	}
	return state == 'S';
}

/* A process that waits for "x" and exits with 0 when it got it. */
static pid_t waiting_process(int domain, bool restart)
{
	struct entitylock_options options = until(FOREVER, restart);
	pid_t pid = spawn();

	if (!pid) {
		handle(SIGUSR1);
		_exit(entitylock_acquire(domain, "x", 1, EXCLUSIVE, &options, NULL) < 0);
	}
	return pid;
}

/* Signals that are handled, stop and continue: what came later stays behind. */
TEST_F(entitylock, L8_place_is_kept)
{
	int token = hold(self->domain, "x"), i;
	struct waiter behind;
	pid_t pid;

	pid = waiting_process(self->domain, true);
	EXPECT_TRUE(eventually(queued("x") == 1 && sleeps(pid)));
	waiter_start(&behind, self->domain, until(FOREVER, false));
	EXPECT_TRUE(eventually(queued("x") == 2));

	for (i = 0; i < 20; i++) {
		kill(pid, SIGUSR1);
		usleep(1000);
		EXPECT_TRUE(eventually(sleeps(pid)));
	}
	EXPECT_TRUE(first_is(self->domain, pid));
	/* The process that waits has a copy of the token. */
	EXPECT_EQ(0, unlock(token));
	close(token);
	EXPECT_EQ(0, reap(pid));
	token = waiter_end(&behind);
	EXPECT_LE(0, token);
	close(token);
}

TEST_F(entitylock, L8_stop_keeps_the_place)
{
	int token = hold(self->domain, "x"), status;
	struct waiter behind;
	pid_t pid;

	pid = waiting_process(self->domain, false);
	EXPECT_TRUE(eventually(queued("x") == 1 && sleeps(pid)));
	waiter_start(&behind, self->domain, until(FOREVER, false));
	EXPECT_TRUE(eventually(queued("x") == 2));

	kill(pid, SIGSTOP);
	EXPECT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	EXPECT_TRUE(WIFSTOPPED(status));
	EXPECT_EQ(2, queued("x"));
	kill(pid, SIGCONT);
	EXPECT_TRUE(eventually(sleeps(pid)));
	EXPECT_TRUE(first_is(self->domain, pid));
	/* The process that waits has a copy of the token. */
	EXPECT_EQ(0, unlock(token));
	close(token);
	EXPECT_EQ(0, reap(pid));
	token = waiter_end(&behind);
	EXPECT_LE(0, token);
	close(token);
}

/* Blocking LOCK, EXTEND and CONVERT of a token, to be ended from outside. */
struct verb {
	int token;
	int (*call)(int token);
	atomic_int ret;
	pthread_t thread;
};

static int lock_it(int token)
{
	return entitylock_lock(token, NULL, NULL);
}

static int extend_it(int token)
{
	struct entitylock_entity set[] = { X("x") };

	return entitylock_extend(token, set, 1, NULL, NULL);
}

static int convert_it(int token)
{
	return entitylock_convert(token, EXCLUSIVE, NULL, NULL);
}

static void *run_verb(void *arg)
{
	struct verb *verb = arg;

	verb->ret = verb->call(verb->token);
	return NULL;
}

static void verb_start(struct verb *verb, int token, int (*call)(int token))
{
	*verb = (struct verb) { .token = token, .call = call, .ret = RUNNING };
	pthread_create(&verb->thread, NULL, run_verb, verb);
}

static int verb_end(struct verb *verb)
{
	if (!eventually(verb->ret != RUNNING))
		return RUNNING;
	pthread_join(verb->thread, NULL);
	return verb->ret;
}

TEST_F(entitylock, L7_lock_cancelled)
{
	int other = hold(self->domain, "x"), token = idle(self->domain, "x");
	struct verb verb;

	verb_start(&verb, token, lock_it);
	EXPECT_TRUE(eventually(queued("x") == 1));
	EXPECT_EQ(0, entitylock_cancel(token));
	EXPECT_EQ(-ECANCELED, verb_end(&verb));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(-EBADFD, entitylock_cancel(token));

	verb_start(&verb, token, lock_it);
	EXPECT_TRUE(eventually(queued("x") == 1));
	EXPECT_EQ(0, entitylock_unlock(token, 0, 0));
	EXPECT_EQ(-ECANCELED, verb_end(&verb));
	close(token);
	close(other);
}

TEST_F(entitylock, L7_extension_cancelled)
{
	int other = hold(self->domain, "x"), token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	struct verb verb;

	verb_start(&verb, token, extend_it);
	EXPECT_TRUE(eventually(queued("x") == 1));
	EXPECT_EQ(0, entitylock_cancel(token));
	EXPECT_EQ(-ECANCELED, verb_end(&verb));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));

	verb_start(&verb, token, extend_it);
	EXPECT_TRUE(eventually(queued("x") == 1));
	EXPECT_EQ(0, entitylock_unlock(token, 0, 0));
	EXPECT_EQ(-ECANCELED, verb_end(&verb));
	close(token);
	close(other);
}

TEST_F(entitylock, L7_conversion_cancelled)
{
	int other = acquire(self->domain, "x", SHARED, 0, NOWAIT);
	int token = acquire(self->domain, "x", SHARED, 0, NOWAIT);
	struct verb verb;

	verb_start(&verb, token, convert_it);
	EXPECT_TRUE(eventually(token_state(token) == ENTITYLOCK_PENDING));
	EXPECT_EQ(0, entitylock_cancel(token));
	EXPECT_EQ(-ECANCELED, verb_end(&verb));
	EXPECT_STREQ("s", token_modes(token));
	close(token);
	close(other);
}

TEST_F(entitylock, extension_and_conversion_granted)
{
	int other = acquire_these(self->domain, 0, NOWAIT, X("x"), S("y"));
	struct entitylock_entity set[] = { S("y") };
	int token = hold(self->domain, "a");
	struct entitylock_grant grant = {};
	__u64 fence = token_fence(token);
	struct verb verb;

	verb_start(&verb, token, extend_it);
	EXPECT_TRUE(eventually(queued("x") == 1));
	close(other);
	EXPECT_EQ(0, verb_end(&verb));
	EXPECT_STREQ("a x", token_names(token));
	EXPECT_LT(fence, token_fence(token));
	fence = token_fence(token);

	EXPECT_EQ(0, entitylock_extend(token, set, 1, NULL, &grant));
	EXPECT_STREQ("xxs", token_modes(token));
	EXPECT_LT(fence, grant.fence);
	fence = grant.fence;
	other = acquire(self->domain, "y", SHARED, 0, NOWAIT);
	verb_start(&verb, token, convert_it);
	EXPECT_TRUE(eventually(token_state(token) == ENTITYLOCK_PENDING));
	close(other);
	EXPECT_EQ(0, verb_end(&verb));
	EXPECT_STREQ("xxx", token_modes(token));
	fence = token_fence(token);
	EXPECT_EQ(0, entitylock_convert(token, SHARED, NULL, &grant));
	EXPECT_EQ(fence, grant.fence);
	EXPECT_STREQ("sss", token_modes(token));
	close(token);
}

/* A set as large as can be, one of which must be waited for, and its results. */
TEST_F(entitylock, L2_large_set_after_wait)
{
	static struct numbered many;
	struct entitylock_options options = until(FOREVER, false);
	struct entitylock_grant grant = {};
	struct call call;
	int token, i;

	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	token = acquire_set(self->domain, &many.set[500], 1, 0, NOWAIT);
	ASSERT_LE(0, token);
	call_acquire_set(&call, self->domain, many.set, ENTITYLOCK_SET_MAX, FOREVER);
	EXPECT_TRUE(eventually(queued("00000500") == 1));
	close(token);
	token = call_result(&call);
	ASSERT_LE(0, token);
	for (i = 0; i < ENTITYLOCK_SET_MAX; i++)
		many.set[i].result = 99;
	call_acquire_set(&call, self->domain, many.set, 1, in_ms(100));
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));

	/* Let go while the library waits. */
	options.label = "many";
	if (!spawn()) {
		usleep(100000);
		_exit(entitylock_unlock(token, 0, 0) != 0);
	}
	i = entitylock_acquire_set(self->domain, many.set, ENTITYLOCK_SET_MAX, &options, &grant);
	ASSERT_LE(0, i);
	EXPECT_EQ(ENTITYLOCK_SET_MAX, token_info(i).count);
	EXPECT_LT(token_fence(token), grant.fence);
	EXPECT_EQ(0, many.set[0].result);
	EXPECT_EQ(0, many.set[ENTITYLOCK_SET_MAX - 1].result);
	close(token);
	close(i);
	wait(NULL);
}

TEST_F(entitylock, L6_outcome)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_grant grant = { .fence = 77 };
	int other = hold(self->domain, "x"), token;

	options.flags = ENTITYLOCK_ASYNC;
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, &grant);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, grant.fence);
	grant.fence = 77;
	EXPECT_EQ(-EAGAIN, entitylock_outcome(token, &grant));
	EXPECT_EQ(77, grant.fence);
	close(other);
	EXPECT_EQ(0, entitylock_wait(token, &grant));
	EXPECT_EQ(token_fence(token), grant.fence);
	EXPECT_EQ(0, entitylock_outcome(token, NULL));
	EXPECT_EQ(0, entitylock_unlock(token, grant.fence, 0));
	EXPECT_EQ(-ECANCELED, entitylock_outcome(token, &grant));
	close(token);

	other = hold(self->domain, "x");
	options.deadline = in_ms(20);
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, &grant);
	ASSERT_LE(0, token);
	EXPECT_EQ(-ETIMEDOUT, entitylock_wait(token, &grant));
	EXPECT_EQ(-ETIMEDOUT, entitylock_outcome(token, &grant));

	/* An old failure is no outcome of the next request. */
	options.deadline = FOREVER;
	EXPECT_EQ(0, entitylock_lock(token, &options, &grant));
	EXPECT_EQ(0, grant.fence);
	EXPECT_EQ(-EAGAIN, entitylock_outcome(token, &grant));
	close(other);
	EXPECT_EQ(0, entitylock_wait(token, &grant));
	EXPECT_NE(0, grant.fence);
	close(token);

	EXPECT_EQ(-ENOTTY, entitylock_wait(self->domain, &grant));
	EXPECT_EQ(-EBADF, entitylock_wait(-1, &grant));
}

/* A wait after an earlier failure sleeps, it does not spin. */
TEST_F(entitylock, wait_sleeps)
{
	int other = hold(self->domain, "x"), token = idle(self->domain, "x");
	struct entitylock_options options = until(in_ms(10), false);
	struct rusage before, after;
	long used;

	EXPECT_EQ(-ETIMEDOUT, entitylock_lock(token, &options, NULL));
	options.deadline = in_ms(500);
	getrusage(RUSAGE_SELF, &before);
	EXPECT_EQ(-ETIMEDOUT, entitylock_lock(token, &options, NULL));
	getrusage(RUSAGE_SELF, &after);
	used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec +
		after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
	       after.ru_utime.tv_usec - before.ru_utime.tv_usec +
	       after.ru_stime.tv_usec - before.ru_stime.tv_usec;
	EXPECT_GT(200000, used);
	close(token);
	close(other);
}

/* A signal and the grant at the same moment: got it, or nothing held and nothing queued. */
TEST_F(entitylock, L4_grant_or_signal)
{
	unsigned int rounds = scaled(300, 30), granted = 0, i;
	struct waiter waiter;
	int token;

	handle(SIGUSR1);
	for (i = 0; i < rounds; i++) {
		token = hold(self->domain, "x");
		ASSERT_LE(0, token);
		waiter_start(&waiter, self->domain, until(FOREVER, false));
		while (!token_waiters(token))
			sched_yield();
		pthread_kill(waiter.thread, SIGUSR1);
		spin_ns(i * 100 % 30000);
		close(token);
		token = waiter_end(&waiter);
		if (token >= 0) {
			granted++;
			EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
			close(token);
		} else {
			EXPECT_EQ(-EINTR, token);
		}
		ASSERT_EQ(0, try_lock(self->domain, "x", EXCLUSIVE));
	}
	TH_LOG("%u of %u granted", granted, rounds);
}

/* A cancelled thread (pthread_cancel) does not take its place with it. */
TEST_F(entitylock, wait_is_no_cancellation_point)
{
	int token = hold(self->domain, "x");
	struct waiter waiter;

	waiter_start(&waiter, self->domain, until(FOREVER, true));
	EXPECT_TRUE(eventually(queued("x") == 1));
	pthread_cancel(waiter.thread);
	usleep(20000);
	EXPECT_EQ(1, queued("x"));
	close(token);
	pthread_join(waiter.thread, NULL);
	ASSERT_LE(0, waiter.ret);
	close(waiter.ret);
}

SELFTEST_MAIN
