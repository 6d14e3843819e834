// SPDX-License-Identifier: GPL-2.0
/* V2: leases on entities: until when a holder may count on what it holds. */
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "owners.h"

/* V2: paused past its lease, a holder is succeeded, and can do no harm when it wakes. */
TEST_F(owners, V2_a_paused_holder_is_succeeded)
{
	__u64 duration = ms(100), begin = now_on(CLOCK_BOOTTIME), fence, next;
	int pair[2], old, successor, status;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		int token = hold_for(self->domain, "a", duration);
		char byte;

		if (token < 0 || send_fd(pair[1], token) || read(pair[1], &byte, 1) != 1)
			_exit(1);
		/* Awake again: it does not know yet. */
		_exit(is_lost(token) ? 0 : 2);
	}
	old = receive_fd(pair[0]);
	ASSERT_LE(0, old);
	fence = token_fence(old);
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));

	successor = acquire(self->domain, "a", EXCLUSIVE, 0, soon());
	ASSERT_LE(0, successor);
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	next = token_fence(successor);
	EXPECT_LT(fence, next);
	EXPECT_TRUE(is_lost(old));
	EXPECT_EQ(fence, token_fence(old));

	ASSERT_EQ(1, write(pair[0], "", 1));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	EXPECT_EQ(0, reap(pid));
	close(old);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(successor));
	EXPECT_EQ(next, token_fence(successor));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	close(successor);
	close(pair[0]);
	close(pair[1]);
}

/* V2: run out and wanted by nobody: still HELD, and RENEW succeeds, the fence unchanged. */
TEST_F(owners, V2_nobody_came_and_RENEW_succeeds)
{
	int token = hold_for(self->domain, "a", ms(50));
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	EXPECT_GE(ms(50), lease_left(token));
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(POLLIN, token_poll(token));
	EXPECT_EQ(0, token_renew(token, HOUR));
	EXPECT_LT(HOUR / 2, lease_left(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(0, unlock(token));
	close(token);
}

/* V2: what takes nothing more works on a token whose lease has run out. */
TEST_F(owners, V2_run_out_it_may_give_back)
{
	int token = hold_for(self->domain, "a", ms(20));
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(0, token_label(token, "late"));
	EXPECT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_EQ(0, lease_left(token));
	EXPECT_EQ(0, token_unlock(token, 0, fence));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(FOREVER, lease_left(token));
	close(token);
}

/* V2: RENEW with 0 repeats the last duration, with another one begins that. */
TEST_F(owners, V2_RENEW_repeats_the_last_duration)
{
	int token = hold_for(self->domain, "a", HOUR);
	__u64 before;

	ASSERT_LE(0, token);
	before = lease_left(token);
	ASSERT_TRUE(eventually(lease_left(token) < before));
	before = lease_left(token);
	EXPECT_EQ(0, token_renew(token, 0));
	EXPECT_LT(before, lease_left(token));
	EXPECT_EQ(0, token_renew(token, 2 * HOUR));
	EXPECT_LT(HOUR, lease_left(token));
	EXPECT_EQ(0, token_renew(token, ms(20)));
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(0, token_renew(token, 0));
	EXPECT_GE(ms(20), lease_left(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* V2: none to repeat, or nothing held: RENEW has nothing to begin. */
TEST_F(owners, V2_RENEW_of_what_has_no_lease)
{
	int token = hold(self->domain, "a");
	int fresh = idle(self->domain, "b");

	ASSERT_LE(0, token);
	ASSERT_LE(0, fresh);
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(-EINVAL, token_renew(token, 0));
	EXPECT_EQ(FOREVER, lease_left(token));
	/* A first lease may come later. */
	EXPECT_EQ(0, token_renew(token, HOUR));
	EXPECT_LT(HOUR / 2, lease_left(token));
	EXPECT_EQ(-EBADFD, token_renew(fresh, HOUR));
	EXPECT_EQ(-EBADFD, token_renew(fresh, 0));
	close(fresh);
	close(token);
}

/* V2: the lease is that of the verb that locks. */
TEST_F(owners, V2_each_LOCK_says_its_lease)
{
	int token = hold_for(self->domain, "a", HOUR);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(FOREVER, lease_left(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(FOREVER, lease_left(token));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock_for(token, 0, NOWAIT, ms(20)));
	EXPECT_GE(ms(20), lease_left(token));
	ASSERT_TRUE(runs_out(token));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock_for(token, 0, NOWAIT, HOUR));
	EXPECT_LT(HOUR / 2, lease_left(token));
	close(token);
}

/* V2: the module's limit, told by VERSION. */
TEST_F(owners, V2_the_longest_lease)
{
	struct entitylock_version version = { 0 };
	int token = idle(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, set_parameter("lease_max", 7));
	ASSERT_EQ(0, el_ioctl(self->domain, ENTITYLOCK_IOC_VERSION, &version));
	EXPECT_EQ(7 * NSEC_PER_SEC, version.lease_max);
	EXPECT_EQ(-EINVAL, hold_for(self->domain, "b", version.lease_max + 1));
	EXPECT_EQ(-EINVAL, token_lock_for(token, 0, NOWAIT, version.lease_max + 1));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(-EINVAL, token_park(token, version.lease_max + 1, &cookie));
	ASSERT_EQ(0, token_lock_for(token, 0, NOWAIT, version.lease_max));
	EXPECT_EQ(-EINVAL, token_renew(token, version.lease_max + 1));
	EXPECT_EQ(-EINVAL, token_renew(token, FOREVER));
	EXPECT_EQ(0, token_renew(token, version.lease_max));
	EXPECT_GE(version.lease_max, lease_left(token));
	/* A limit that was lowered shortens nothing. */
	ASSERT_EQ(0, set_parameter("lease_max", 1));
	EXPECT_LT(NSEC_PER_SEC, lease_left(token));
	close(token);
}

/* V2: waiters are granted when the lease ends: not before, without polling, in order. */
TEST_F(owners, V2_waiters_are_granted_when_it_ends)
{
	int holder = hold_for(self->domain, "a", HOUR);
	int first = await(self->domain, "a");
	int second, third;
	struct call call;
	__u64 begin;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, first);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(queued("a") == 2));
	third = await(self->domain, "a");
	ASSERT_LE(0, third);
	begin = now_on(CLOCK_BOOTTIME);
	ASSERT_EQ(0, token_renew(holder, ms(100)));
	EXPECT_TRUE(token_poll_wait(first, POLLIN) & POLLIN);
	EXPECT_LE(begin + ms(100), now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(holder));
	EXPECT_LT(token_fence(holder), token_fence(first));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(third));
	close(first);
	second = call_result(&call);
	EXPECT_LE(0, second);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(third));
	close(second);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(third));
	close(third);
	close(holder);
}

/* V2: before its end a lease is a lock like any other. */
TEST_F(owners, V2_a_running_lease_is_kept)
{
	int holder = hold_for(self->domain, "a", HOUR);

	ASSERT_LE(0, holder);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, PASSED));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, in_ms(20)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(holder);
}

/* V2: who wants it without waiting has it at once: deadline 0, and one that has passed. */
TEST_F(owners, V2_a_deadline_0_request_takes_what_has_run_out)
{
	static const __u64 deadlines[] = { NOWAIT, PASSED };
	static const __u32 modes[] = { SHARED, EXCLUSIVE };

	for (size_t i = 0; i < 4; i++) {
		int holder = hold_for(self->domain, "a", ms(20));
		int token;

		ASSERT_LE(0, holder);
		ASSERT_TRUE(runs_out(holder));
		token = acquire(self->domain, "a", modes[i / 2], 0, deadlines[i % 2]);
		ASSERT_LE(0, token);
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_LT(token_fence(holder), token_fence(token));
		EXPECT_TRUE(is_lost(holder));
		close(holder);
		close(token);
	}
}

/* V2: LOST at once, even if the request that wanted it fails later. */
TEST_F(owners, V2_wanted_by_a_request_that_fails_it_is_lost)
{
	int busy = hold(self->domain, "b");
	int old = hold_for(self->domain, "a", ms(20));
	int late = hold_for(self->domain, "c", ms(20));

	ASSERT_LE(0, busy);
	ASSERT_LE(0, old);
	ASSERT_LE(0, late);
	ASSERT_TRUE(runs_out(old));
	ASSERT_TRUE(runs_out(late));
	EXPECT_EQ(-EAGAIN, acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"), X("c")));
	EXPECT_TRUE(is_lost(old));
	/* It did not come to this one. */
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(late));
	EXPECT_EQ(0, token_renew(late, 0));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(late);
	close(old);
	close(busy);
}

/* V2: a whole token is lost, whichever of its entities is wanted. */
TEST_F(owners, V2_the_whole_set_is_lost)
{
	struct entitylock_entity set[] = { X("a"), S("b"), X("c") };
	int holder = lease_set(self->domain, set, 3, 0, NOWAIT, ms(20));
	int wants_c;

	ASSERT_LE(0, holder);
	ASSERT_TRUE(runs_out(holder));
	EXPECT_EQ(0, try_lock(self->domain, "b", SHARED));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	wants_c = hold(self->domain, "c");
	ASSERT_LE(0, wants_c);
	EXPECT_TRUE(is_lost(holder));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(wants_c);
	close(holder);
}

/* V2: EXTEND and upgrades take what has run out, too. */
TEST_F(owners, V2_EXTEND_and_upgrade_take_what_has_run_out)
{
	int shared = share_for(self->domain, "a", ms(20));
	int old = hold_for(self->domain, "b", ms(20));
	int token = share(self->domain, "a");

	ASSERT_LE(0, shared);
	ASSERT_LE(0, old);
	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(shared));
	ASSERT_TRUE(runs_out(old));
	EXPECT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_TRUE(is_lost(shared));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_TRUE(is_lost(old));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);
	close(old);
	close(shared);
}

/* V2: a shared request does not expire a shared holder beside it. */
TEST_F(owners, V2_shared_beside_expired_shared)
{
	int old = share_for(self->domain, "a", ms(20));
	int other, writer;

	ASSERT_LE(0, old);
	ASSERT_TRUE(runs_out(old));
	other = share(self->domain, "a");
	ASSERT_LE(0, other);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(old));
	EXPECT_EQ(0, token_renew(old, ms(20)));
	ASSERT_TRUE(runs_out(old));
	/* An exclusive one does, though it waits for the other. */
	writer = await(self->domain, "a");
	ASSERT_LE(0, writer);
	EXPECT_TRUE(becomes(old, ENTITYLOCK_LOST));
	EXPECT_TRUE(is_lost(old));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(writer));
	EXPECT_EQ(1, token_waiters(other));
	close(other);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(writer));
	close(writer);
	close(old);
}

/* V2: many shared holders, each with its lease, and one without. */
TEST_F(owners, V2_a_writer_behind_many_shared_leases)
{
	enum { COUNT = 300 };
	int holders[COUNT], plain = share(self->domain, "a");
	unsigned int seed = 1;
	int writer;

	raise_fd_limit(COUNT + 100);
	ASSERT_LE(0, plain);
	for (int i = 0; i < COUNT; i++) {
		holders[i] = share_for(self->domain, "a", ms(20 + rand_r(&seed) % 200));
		ASSERT_LE(0, holders[i]);
	}
	writer = await(self->domain, "a");
	ASSERT_LE(0, writer);
	for (int i = 0; i < COUNT; i++)
		ASSERT_TRUE(becomes(holders[i], ENTITYLOCK_LOST));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(writer));
	close(plain);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(writer));
	close(writer);
	for (int i = 0; i < COUNT; i++)
		close(holders[i]);
}

/* V2: RENEW under a waiter: a shorter lease ends sooner, a longer one later. */
TEST_F(owners, V2_RENEW_under_a_waiter)
{
	int holder = hold_for(self->domain, "a", HOUR);
	__u64 fence = token_fence(holder), begin;
	int waiter = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(0, token_renew(holder, 2 * HOUR));
	EXPECT_LT(HOUR, lease_left(holder));
	EXPECT_EQ(fence, token_fence(holder));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
	begin = now_on(CLOCK_BOOTTIME);
	ASSERT_EQ(0, token_renew(holder, ms(50)));
	EXPECT_EQ(POLLIN, token_poll_wait(waiter, POLLIN));
	EXPECT_LE(begin + ms(50), now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(holder));
	close(waiter);
	close(holder);
}

/* V2: renewed again and again under a waiter it is kept; then it is not. */
TEST_F(owners, V2_a_heartbeat_keeps_it)
{
	__u64 duration = ms(500), begin = now_on(CLOCK_BOOTTIME);
	int holder = hold_for(self->domain, "a", duration);
	int waiter = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	while (now_on(CLOCK_BOOTTIME) < begin + 3 * duration / 2)
		ASSERT_EQ(0, token_renew(holder, 0));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
	begin = now_on(CLOCK_BOOTTIME);
	ASSERT_EQ(0, token_renew(holder, 0));
	EXPECT_EQ(POLLIN, token_poll_wait(waiter, POLLIN));
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(holder));
	close(waiter);
	close(holder);
}

/* V2: a first lease, given while somebody waits. */
TEST_F(owners, V2_a_first_lease_under_a_waiter)
{
	int holder = hold(self->domain, "a");
	int waiter = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	ASSERT_EQ(0, token_renew(holder, ms(20)));
	EXPECT_EQ(POLLIN, token_poll_wait(waiter, POLLIN));
	EXPECT_TRUE(is_lost(holder));
	close(waiter);
	close(holder);
}

/* V2: a lease granted from the queue runs from that grant, for those behind it. */
TEST_F(owners, V2_a_chain_of_leases_in_the_queue)
{
	enum { COUNT = 8 };
	__u64 duration = ms(20), begin = now_on(CLOCK_BOOTTIME);
	int tokens[COUNT], last;

	for (int i = 0; i < COUNT; i++) {
		tokens[i] = lease_entity(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER,
					 duration);
		ASSERT_LE(0, tokens[i]);
	}
	last = acquire(self->domain, "a", EXCLUSIVE, 0, soon());
	EXPECT_LE(0, last);
	EXPECT_LE(begin + COUNT * duration, now_on(CLOCK_BOOTTIME));
	for (int i = 0; i < COUNT; i++) {
		ASSERT_TRUE(is_lost(tokens[i]));
		if (i)
			ASSERT_LT(token_fence(tokens[i - 1]), token_fence(tokens[i]));
		close(tokens[i]);
	}
	close(last);
}

/* What the threads have done that run the module's work, and that of others. */
struct workers {
	long switches;
	long ticks;
};

static void add_worker(struct workers *sum, const char *pid)
{
	unsigned long user, system;
	char path[64], line[512];
	bool worker = false;
	long switches;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file) && strstr(line, "(kworker/u"))
		/* What follows the name is a letter, and ten numbers before the ticks. */
		worker = sscanf(strrchr(line, ')'),
				") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				&user, &system) == 2;
	if (file)
		fclose(file);
	if (!worker)
		return;
	sum->ticks += user + system;
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &switches) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &switches) == 1)
			sum->switches += switches;
	if (file)
		fclose(file);
}

static struct workers workers(void)
{
	struct workers sum = { 0 };
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_worker(&sum, entry->d_name);
	if (proc)
		closedir(proc);
	return sum;
}

/*
 * Nobody works while somebody sleeps: neither without an end, nor again and again.  The
 * tracepoint of works would say it better, but to patch code that all CPUs run all the time
 * has hung the emulator.
 */
static bool workers_sleep(void)
{
	const struct timespec pause = { .tv_nsec = 500 * NSEC_PER_MSEC };
	struct workers before = workers(), after;

	nanosleep(&pause, NULL);
	after = workers();
	printf("# %ld switches, %ld ticks\n", after.switches - before.switches,
	       after.ticks - before.ticks);
	return after.switches - before.switches < 40 &&
	       after.ticks - before.ticks < sysconf(_SC_CLK_TCK) / 4;
}

/* V2: while it runs and others wait for it, nothing polls: a timer is armed, and that is all. */
TEST_F(owners, V2_nothing_polls_while_others_wait)
{
	int holder = hold_for(self->domain, "a", HOUR), shared = share_for(self->domain, "b", HOUR);
	int waiters[4] = {
		await(self->domain, "a"), await(self->domain, "a"), await(self->domain, "b"),
		await_gate(self->domain),
	};

	ASSERT_LE(0, holder);
	ASSERT_LE(0, shared);
	for (size_t i = 0; i < ARRAY_SIZE(waiters); i++)
		ASSERT_LE(0, waiters[i]);
	EXPECT_TRUE(workers_sleep());
	/* The same behind a gate with a lease. */
	close(holder);
	close(shared);
	for (size_t i = 0; i < 3; i++)
		close(waiters[i]);
	ASSERT_TRUE(becomes(waiters[3], ENTITYLOCK_HELD));
	ASSERT_EQ(0, token_renew(waiters[3], HOUR));
	holder = await(self->domain, "a");
	EXPECT_TRUE(workers_sleep());
	close(waiters[3]);
	close(holder);
}

/* V2: it runs from the grant of the whole set, not from its first entity. */
TEST_F(owners, V2_it_runs_from_the_grant)
{
	struct entitylock_entity set[] = { X("a"), X("b") };
	__u64 duration = ms(100), begin = now();
	int busy = hold(self->domain, "b");
	int token = lease_set(self->domain, set, 2, ENTITYLOCK_ASYNC, FOREVER, duration);
	int behind = await(self->domain, "a");

	ASSERT_LE(0, busy);
	ASSERT_LE(0, token);
	ASSERT_LE(0, behind);
	ASSERT_TRUE(eventually(now() > begin + 2 * duration));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	begin = now_on(CLOCK_BOOTTIME);
	close(busy);
	EXPECT_EQ(POLLIN, token_poll_wait(behind, POLLIN));
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(token));
	close(behind);
	close(token);
}

/* L6: RENEW on a PENDING token that holds nothing sets the duration only. */
TEST_F(owners, L6_RENEW_of_a_token_that_waits)
{
	int holder = hold(self->domain, "a");
	int plain = await(self->domain, "a");
	int token = lease_entity(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER, HOUR);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, plain);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EINVAL, token_renew(plain, 0));
	EXPECT_EQ(0, token_renew(plain, HOUR));
	EXPECT_EQ(0, token_renew(token, 0));
	EXPECT_EQ(0, token_renew(token, 2 * HOUR));
	EXPECT_EQ(FOREVER, lease_left(plain));
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(plain));
	EXPECT_LT(HOUR / 2, lease_left(plain));
	close(plain);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_LT(HOUR, lease_left(token));
	close(token);
}

/* V2: run out, it gets nothing more until it is renewed. */
TEST_F(owners, V2_ETIME_until_renewed)
{
	int token = share_for(self->domain, "a", ms(20));
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(-ETIME, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(-ETIME, extend_these(token, 0, FOREVER, X("b")));
	EXPECT_EQ(-ETIME, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	EXPECT_EQ(-ETIME, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(-ETIME, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_STREQ("s", token_modes(token));
	EXPECT_EQ(POLLIN, token_poll(token));
	EXPECT_EQ(1, live_entities(self->domain));
	ASSERT_EQ(0, token_renew(token, HOUR));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_LT(fence, token_fence(token));
	close(token);
}

/* EXTEND and CONVERT do not restart the lease. */
TEST_F(owners, V2_EXTEND_and_CONVERT_keep_the_lease)
{
	int token = share_for(self->domain, "a", HOUR);
	__u64 left;

	ASSERT_LE(0, token);
	left = lease_left(token);
	ASSERT_TRUE(eventually(lease_left(token) < left));
	left = lease_left(token);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, S("b")));
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_GE(left, lease_left(token));
	close(token);
}

/* What a waiting EXTEND or upgrade is granted after the end of the lease. */
FIXTURE(raise) {
	struct ground ground;
	int token;
	int busy;
	__u64 fence;
};

FIXTURE_VARIANT(raise) {
	bool extend;
};

FIXTURE_VARIANT_ADD(raise, EXTEND) {
	.extend = true,
};

FIXTURE_VARIANT_ADD(raise, CONVERT) {
	.extend = false,
};

/* A token, and one in the way of more. */
FIXTURE_SETUP(raise)
{
	ground_check(_metadata, &self->ground);
	self->token = share_for(self->ground.domain, "a", HOUR);
	self->busy = variant->extend ? hold(self->ground.domain, "b") :
				       share(self->ground.domain, "a");
	ASSERT_LE(0, self->token);
	ASSERT_LE(0, self->busy);
	self->fence = token_fence(self->token);
}

FIXTURE_TEARDOWN(raise)
{
	close(self->token);
	ground_recheck(_metadata, &self->ground);
}

static void call_raise(struct call *call, int token, bool extend)
{
	static struct entitylock_entity entity;

	entity = (struct entitylock_entity)X("b");
	if (extend)
		call_extend(call, token, &entity, 1, FOREVER);
	else
		call_convert(call, token, EXCLUSIVE, FOREVER);
}

static int raise_async(int token, bool extend)
{
	if (extend)
		return extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b"));
	return token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
}

static void expect_as_it_was(struct __test_metadata *_metadata, FIXTURE_DATA(raise) *self)
{
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(self->token));
	EXPECT_EQ(self->fence, token_fence(self->token));
	EXPECT_STREQ("a", token_names(self->token));
	EXPECT_STREQ("s", token_modes(self->token));
}

/* V2: run out while its owner waited: ETIME, and as it was, until renewed. */
TEST_F(raise, V2_run_out_while_it_waits)
{
	struct call call;

	call_raise(&call, self->token, variant->extend);
	ASSERT_TRUE(eventually(token_state(self->token) == ENTITYLOCK_PENDING));
	ASSERT_EQ(0, token_renew(self->token, ms(20)));
	ASSERT_TRUE(runs_out(self->token));
	ASSERT_TRUE(eventually(call_blocked(&call)));
	close(self->busy);
	EXPECT_EQ(-ETIME, call_result(&call));
	expect_as_it_was(_metadata, self);
	ASSERT_EQ(0, token_renew(self->token, 0));
	EXPECT_EQ(0, raise_async(self->token, variant->extend));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(self->token));
	EXPECT_LT(self->fence, token_fence(self->token));
}

/* V2, L6: the same for one that waits in the background: INFO.error. */
TEST_F(raise, V2_run_out_while_it_waits_in_the_background)
{
	ASSERT_EQ(0, raise_async(self->token, variant->extend));
	ASSERT_EQ(0, token_renew(self->token, ms(20)));
	ASSERT_TRUE(runs_out(self->token));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(self->token));
	close(self->busy);
	EXPECT_EQ(POLLERR | POLLIN, token_poll_wait(self->token, POLLIN));
	EXPECT_EQ(-ETIME, token_info(self->token).error);
	expect_as_it_was(_metadata, self);
	ASSERT_EQ(0, token_renew(self->token, 0));
	EXPECT_EQ(0, raise_async(self->token, variant->extend));
	EXPECT_EQ(0, token_info(self->token).error);
	EXPECT_EQ(POLLIN, token_poll(self->token));
}

/* V2: renewed while it waits, it is granted. */
TEST_F(raise, V2_renewed_while_it_waits)
{
	ASSERT_EQ(0, raise_async(self->token, variant->extend));
	ASSERT_EQ(0, token_renew(self->token, ms(20)));
	ASSERT_TRUE(runs_out(self->token));
	ASSERT_EQ(0, token_renew(self->token, HOUR));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(self->token));
	EXPECT_LT(HOUR / 2, lease_left(self->token));
	close(self->busy);
	EXPECT_EQ(POLLIN, token_poll_wait(self->token, POLLIN));
	EXPECT_LT(self->fence, token_fence(self->token));
}

/* L6: expiry of a token that waits for more: the blocked verb returns ESTALE. */
TEST_F(raise, L6_expiry_ends_the_wait)
{
	struct call call;
	int waiter;

	call_raise(&call, self->token, variant->extend);
	ASSERT_TRUE(eventually(call_blocked(&call) &&
			       token_state(self->token) == ENTITYLOCK_PENDING));
	waiter = await(self->ground.domain, "a");
	ASSERT_LE(0, waiter);
	ASSERT_EQ(0, token_renew(self->token, ms(20)));
	EXPECT_EQ(-ESTALE, call_result(&call));
	EXPECT_TRUE(is_lost(self->token));
	EXPECT_EQ(self->fence, token_fence(self->token));
	EXPECT_TRUE(eventually(token_waiters(self->busy) == (variant->extend ? 0 : 1)));
	close(self->busy);
	EXPECT_TRUE(becomes(waiter, ENTITYLOCK_HELD));
	EXPECT_EQ(0, try_lock(self->ground.domain, "b", EXCLUSIVE));
	close(waiter);
}

/* L6: the same in the background: INFO.error. */
TEST_F(raise, L6_expiry_ends_the_wait_in_the_background)
{
	int waiter;

	ASSERT_EQ(0, raise_async(self->token, variant->extend));
	waiter = await(self->ground.domain, "a");
	ASSERT_LE(0, waiter);
	ASSERT_EQ(0, token_renew(self->token, ms(20)));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(self->token, POLLIN));
	EXPECT_EQ(-ESTALE, token_info(self->token).error);
	EXPECT_TRUE(is_lost(self->token));
	close(self->busy);
	EXPECT_TRUE(becomes(waiter, ENTITYLOCK_HELD));
	EXPECT_EQ(0, try_lock(self->ground.domain, "b", EXCLUSIVE));
	close(waiter);
}

/* V2: nobody but itself waits, to be exclusive: that is no reason to lose it. */
TEST_F(owners, V2_an_upgrade_does_not_expire_its_own_token)
{
	int token = share_for(self->domain, "a", HOUR);
	int other = share(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_EQ(0, token_renew(token, ms(20)));
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	/* Nobody looks for its end again and again. */
	EXPECT_TRUE(workers_sleep());
	EXPECT_EQ(0, token_renew(token, HOUR));
	close(other);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	close(token);
}

/*
 * V4, L6: claimed while it waits and holds nothing: the lease of parking is over, nobody
 * looks for its end, and nothing is taken; a lease as long begins with the grant.
 */
TEST_F(owners, V4_claimed_while_it_waits_it_has_no_end)
{
	int busy = hold(self->domain, "a"), gate = -1, before;
	struct cookie cookie;
	int token, claimed;

	/* At an entity, then at the gate. */
	for (before = 0; before < 2; before++) {
		ASSERT_LE(0, busy);
		if (before)
			gate = await_gate(self->domain);
		token = idle(self->domain, before ? "b" : "a");
		ASSERT_LE(0, token);
		ASSERT_EQ(0, token_park(token, ms(300), &cookie));
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		claimed = claim(self->domain, &cookie);
		ASSERT_LE(0, claimed);
		EXPECT_EQ(FOREVER, lease_left(claimed));
		usleep(ms(320) / 1000);
		if (!before)
			gate = await_gate(self->domain);
		ASSERT_LE(0, gate);
		EXPECT_TRUE(workers_sleep());
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(claimed));
		close(busy);
		if (before)
			close(gate);
		ASSERT_TRUE(becomes(claimed, ENTITYLOCK_HELD));
		EXPECT_GE(ms(300), lease_left(claimed));
		close(claimed);
		close(token);
		if (!before)
			close(gate);
		busy = hold(self->domain, "a");
	}
	close(busy);
}

/* V2: a deadline that comes with the end of the lease: granted or timed out, nothing between. */
TEST_F(owners, V2_deadline_at_the_end_of_the_lease)
{
	unsigned int granted = 0;

	for (unsigned int i = 0; i < scaled(100, 20); i++) {
		int holder = hold_for(self->domain, "a", ms(2));
		int token;

		ASSERT_LE(0, holder);
		token = acquire(self->domain, "a", EXCLUSIVE, 0, now() + lease_left(holder));
		if (token < 0) {
			ASSERT_EQ(-ETIMEDOUT, token);
			ASSERT_TRUE(eventually(lease_left(holder) == 0 ||
					       token_state(holder) == ENTITYLOCK_LOST));
			token = hold(self->domain, "a");
		} else {
			granted++;
		}
		ASSERT_LE(0, token);
		ASSERT_TRUE(is_lost(holder));
		close(token);
		close(holder);
	}
	TH_LOG("%u granted", granted);
}

/* V2: the clock counts suspend; and no timer is armed for a lease that nobody waits for. */
TEST_F(owners, V2_the_clock_counts_suspend)
{
	int token = hold_for(self->domain, "a", HOUR);
	int other = share_for(self->domain, "b", HOUR);
	int more = share_for(self->domain, "b", HOUR);
	int waiters[2];

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	ASSERT_LE(0, more);
	EXPECT_EQ(0, armed_timers().boottime);
	waiters[0] = await(self->domain, "a");
	ASSERT_LE(0, waiters[0]);
	EXPECT_TRUE(eventually(armed_timers().boottime == 1));
	/* One for a contended entity, however many hold it. */
	waiters[1] = await(self->domain, "b");
	ASSERT_LE(0, waiters[1]);
	EXPECT_TRUE(eventually(armed_timers().boottime == 2));
	EXPECT_EQ(0, armed_timers().other);
	close(token);
	close(other);
	close(more);
	EXPECT_TRUE(eventually(armed_timers().boottime == 0));
	close(waiters[0]);
	close(waiters[1]);
}

/* V2: a lease is a duration: the same in a time namespace that is 1,000 s ahead. */
TEST_F(owners, V2_in_a_time_namespace)
{
	__u64 duration = ms(100), begin = now_on(CLOCK_BOOTTIME);
	int pair[2], token, waiter;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		pid_t inner;

		if (unshare(CLONE_NEWTIME))
			_exit(1);
		if (write_file("/proc/self/timens_offsets", "monotonic 1000 0\nboottime 1000 0\n"))
			_exit(2);
		inner = spawn();
		if (inner)
			_exit(reap(inner));
		if (now_on(CLOCK_BOOTTIME) < begin + 999 * NSEC_PER_SEC)
			_exit(3);
		token = hold_for(self->domain, "a", duration);
		if (token < 0 || lease_left(token) > duration)
			_exit(4);
		if (send_fd(pair[1], token))
			_exit(5);
		/* A time of this namespace and a lease end together. */
		close(token);
		token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_CLOCK_BOOTTIME,
				now_on(CLOCK_BOOTTIME) + limit_seconds() * NSEC_PER_SEC);
		_exit(token >= 0 ? 0 : 6);
	}
	token = receive_fd(pair[0]);
	ASSERT_LE(0, token);
	EXPECT_GE(duration, lease_left(token));
	EXPECT_EQ(0, reap(pid));
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(token));
	waiter = hold(self->domain, "a");
	EXPECT_LE(0, waiter);
	close(waiter);
	close(token);
	close(pair[0]);
	close(pair[1]);
}

/* V2, L8: leases and those who wait for their end survive the freezer. */
TEST_F(owners, V2_leases_in_the_freezer)
{
	int ends = hold_for(self->domain, "a", HOUR);
	int runs = hold_for(self->domain, "b", HOUR);
	int unwanted = hold_for(self->domain, "c", HOUR);
	struct call call;
	int waiter, next;

	ASSERT_LE(0, ends);
	ASSERT_LE(0, runs);
	ASSERT_LE(0, unwanted);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	waiter = await(self->domain, "b");
	ASSERT_LE(0, waiter);
	ASSERT_TRUE(eventually(token_waiters(ends) == 1 && call_blocked(&call)));
	/* The kernel's test keeps them frozen for five seconds. */
	ASSERT_EQ(0, token_renew(ends, 3 * NSEC_PER_SEC));
	ASSERT_EQ(0, token_renew(unwanted, 3 * NSEC_PER_SEC));
	ASSERT_EQ(0, freeze_and_thaw());
	next = call_result(&call);
	EXPECT_LE(0, next);
	EXPECT_TRUE(is_lost(ends));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(runs));
	EXPECT_EQ(0, lease_left(unwanted));
	EXPECT_EQ(0, token_renew(unwanted, 0));
	close(runs);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	close(waiter);
	close(next);
	close(unwanted);
	close(ends);
}

static int hold_numbered(int domain, unsigned int number, __u32 flags, __u64 deadline,
			 __u64 duration)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	return lease_entity(domain, name, EXCLUSIVE, flags, deadline, duration);
}

/* V2: 100,000 leases end, each wanted, or have been renewed: the right outcome for each. */
TEST_F(owners, V2_100000_leases)
{
	enum { COUNT = 100000 };
	enum { ENDS, RENEWED, SHORTENED, KINDS };
	static int holders[COUNT], waiters[COUNT];
	unsigned int count = scaled(COUNT, 1500), wrong = 0, seed = 1;

	raise_fd_limit(2 * COUNT + 100);
	for (unsigned int i = 0; i < count; i++) {
		__u64 brief = ms(20 + rand_r(&seed) % 200);

		holders[i] = hold_numbered(self->domain, i, 0, NOWAIT,
					   i % KINDS == SHORTENED ? HOUR : brief);
		ASSERT_LE(0, holders[i]);
		if (i % KINDS == RENEWED)
			ASSERT_EQ(0, token_renew(holders[i], HOUR));
		waiters[i] = hold_numbered(self->domain, i, ENTITYLOCK_ASYNC, FOREVER, 0);
		ASSERT_LE(0, waiters[i]);
		if (i % KINDS == SHORTENED)
			ASSERT_EQ(0, token_renew(holders[i], brief));
	}
	for (unsigned int i = 0; i < count; i++) {
		bool ends = i % KINDS != RENEWED;

		ASSERT_TRUE(!ends || token_poll_wait(waiters[i], POLLIN));
		if (token_state(waiters[i]) != (ends ? ENTITYLOCK_HELD : ENTITYLOCK_PENDING))
			wrong++;
		if (token_state(holders[i]) != (ends ? ENTITYLOCK_LOST : ENTITYLOCK_HELD))
			wrong++;
		if (ends && token_fence(holders[i]) >= token_fence(waiters[i]))
			wrong++;
	}
	EXPECT_EQ(0, wrong);
	for (unsigned int i = 0; i < count; i++) {
		close(holders[i]);
		if (i % KINDS == RENEWED && token_state(waiters[i]) != ENTITYLOCK_HELD)
			wrong++;
		close(waiters[i]);
	}
	EXPECT_EQ(0, wrong);
}

/* V2: 100,000 leases have run out, wanted by nobody; some are renewed; then all are wanted. */
TEST_F(owners, V2_100000_leases_that_nobody_wanted)
{
	enum { COUNT = 100000 };
	static int holders[COUNT];
	unsigned int count = scaled(COUNT, 1500), wrong = 0;

	raise_fd_limit(COUNT + 100);
	for (unsigned int i = 0; i < count; i++) {
		holders[i] = hold_numbered(self->domain, i, 0, NOWAIT, 1);
		ASSERT_LE(0, holders[i]);
	}
	ASSERT_EQ(0, lease_left(holders[count - 1]));
	for (unsigned int i = 0; i < count; i++) {
		if (token_state(holders[i]) != ENTITYLOCK_HELD)
			wrong++;
		if (i % 3 == 0 && token_renew(holders[i], HOUR))
			wrong++;
	}
	EXPECT_EQ(0, wrong);
	for (unsigned int i = 0; i < count; i++) {
		int token = hold_numbered(self->domain, i, 0, NOWAIT, 0);

		if (i % 3 == 0 && (token != -EAGAIN || token_state(holders[i]) != ENTITYLOCK_HELD))
			wrong++;
		if (i % 3 && (token < 0 || token_state(holders[i]) != ENTITYLOCK_LOST))
			wrong++;
		if (token >= 0)
			close(token);
		close(holders[i]);
	}
	EXPECT_EQ(0, wrong);
}

SELFTEST_MAIN
