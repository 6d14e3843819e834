// SPDX-License-Identifier: GPL-2.0
/*
 * L2: results that cannot be written: the grant is given back as if never
 * granted, provided the token still carries its fence.
 *
 * A trap is an argument that the kernel can read, and stops at when it writes
 * the results: the verb has done its work and has not returned.  What others do
 * to the token meanwhile must survive the failure.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "harness.h"

struct trap {
	struct call call;
	struct entitylock_entity entity;
	void *page;
	int faults;
};

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void trap_protect(struct __test_metadata *_metadata, struct trap *trap, __u64 mode)
{
	struct uffdio_writeprotect protect = {
		.range = { .start = ptr(trap->page), .len = page_size() },
		.mode = mode,
	};

	ASSERT_EQ(0, ioctl(trap->faults, UFFDIO_WRITEPROTECT, &protect));
}

/* Start a verb whose results will be stopped at, and wait until they are. */
static void trap_call(struct __test_metadata *_metadata, struct trap *trap, int fd,
		      unsigned long cmd, const void *arg, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_WP };
	struct pollfd pfd;

	trap->page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	ASSERT_NE(MAP_FAILED, trap->page);
	memcpy(trap->page, arg, size);
	trap->faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	ASSERT_LE(0, trap->faults);
	ASSERT_EQ(0, ioctl(trap->faults, UFFDIO_API, &api));
	range.range.start = ptr(trap->page);
	range.range.len = page_size();
	ASSERT_EQ(0, ioctl(trap->faults, UFFDIO_REGISTER, &range));
	trap_protect(_metadata, trap, UFFDIO_WRITEPROTECT_MODE_WP);
	call_start(&trap->call, fd, cmd, trap->page);
	pfd = (struct pollfd){ .fd = trap->faults, .events = POLLIN };
	ASSERT_EQ(1, poll(&pfd, 1, limit_seconds() * 1000));
}

/* Let it go on: @writable or not.  Return: what the verb returns. */
static int trap_release(struct __test_metadata *_metadata, struct trap *trap, bool writable)
{
	int ret;

	if (!writable)
		mprotect(trap->page, page_size(), PROT_READ);
	trap_protect(_metadata, trap, 0);
	ret = call_result(&trap->call);
	close(trap->faults);
	munmap(trap->page, page_size());
	return ret;
}

static void trap_lock(struct __test_metadata *_metadata, struct trap *trap, int token,
		      __u32 flags, __u64 deadline)
{
	struct entitylock_lock arg = { .flags = flags, .deadline = deadline };

	trap_call(_metadata, trap, token, ENTITYLOCK_IOC_LOCK, &arg, sizeof(arg));
}

static void trap_extend(struct __test_metadata *_metadata, struct trap *trap, int token,
			const char *name, __u32 flags, __u64 deadline)
{
	struct entitylock_acquire arg = {
		.flags = flags,
		.count = 1,
		.entities = ptr(&trap->entity),
		.entity_size = sizeof(trap->entity),
		.deadline = deadline,
	};

	trap->entity = (struct entitylock_entity)X(name);
	trap_call(_metadata, trap, token, ENTITYLOCK_IOC_EXTEND, &arg, sizeof(arg));
}

static void trap_convert(struct __test_metadata *_metadata, struct trap *trap, int token,
			 __u32 mode, __u32 flags, __u64 deadline)
{
	struct entitylock_convert arg = { .mode = mode, .flags = flags, .deadline = deadline };

	trap_call(_metadata, trap, token, ENTITYLOCK_IOC_CONVERT, &arg, sizeof(arg));
}

/* L2: the trap itself: stopped, and written after all. */
TEST_F(entitylock, L2_results_written_late)
{
	int token = idle(self->domain, "a");
	struct trap lock;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	/* The grant is there already. */
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, trap_release(_metadata, &lock, true));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L2: given back; who waited meanwhile has it. */
TEST_F(entitylock, L2_grant_given_back_to_who_waits)
{
	int token = idle(self->domain, "a");
	struct trap lock;
	int waiter;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	waiter = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	close(waiter);
	close(token);
}

/* L2: unlocked and locked again meanwhile: the token carries another fence, which stays. */
TEST_F(entitylock, L2_a_later_grant_is_not_given_back)
{
	int token = idle(self->domain, "a");
	struct trap lock;
	__u64 fence;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	fence = token_fence(token);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L2: unlocked meanwhile, and another holds: it is not touched. */
TEST_F(entitylock, L2_another_holders_grant_is_not_given_back)
{
	int token = idle(self->domain, "a");
	struct trap lock;
	int other;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	ASSERT_EQ(0, unlock(token));
	other = hold(self->domain, "a");
	ASSERT_LE(0, other);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(other);
	close(token);
}

/* L2: extended meanwhile by a verb that was told: the set and its new fence stay. */
TEST_F(entitylock, L2_extended_before_it_fails)
{
	int token = idle(self->domain, "a");
	struct trap lock;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
}

/* L2: an asynchronous EXTEND waits when the LOCK before it fails: all is given back. */
TEST_F(entitylock, L2_an_EXTEND_waits_when_LOCK_fails)
{
	int token = idle(self->domain, "a");
	int busy = hold(self->domain, "b");
	struct trap lock;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(busy));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(busy);
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
}

/* L2: an asynchronous EXTEND that was cancelled before its results fail: nothing more to undo. */
TEST_F(entitylock, L2_asynchronous_EXTEND_cancelled_before_it_fails)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	__u64 fence = token_fence(token);
	struct trap extend;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	trap_extend(_metadata, &extend, token, "b", ENTITYLOCK_ASYNC, FOREVER);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	ASSERT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(busy);
	close(token);
}

/* L2: one that timed out before: the same. */
TEST_F(entitylock, L2_asynchronous_EXTEND_timed_out_before_it_fails)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	__u64 fence = token_fence(token);
	struct trap extend;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	trap_extend(_metadata, &extend, token, "b", ENTITYLOCK_ASYNC, in_ms(100));
	ASSERT_TRUE(eventually(token_state(token) == ENTITYLOCK_HELD));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, token_waiters(busy));
	close(busy);
	close(token);
}

/* L2: one that waits still, and one that was granted: the wait ends, the grant is given back. */
TEST_F(entitylock, L2_asynchronous_EXTEND_fails)
{
	for (int granted = 0; granted < 2; granted++) {
		int token = hold(self->domain, "a");
		int busy = hold(self->domain, "b");
		__u64 fence = token_fence(token);
		struct trap extend;

		ASSERT_LE(0, token);
		ASSERT_LE(0, busy);
		trap_extend(_metadata, &extend, token, "b", ENTITYLOCK_ASYNC, FOREVER);
		if (granted) {
			ASSERT_EQ(0, unlock(busy));
			ASSERT_EQ(ENTITYLOCK_HELD, token_state(token));
		}
		EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_STREQ("a", token_names(token));
		EXPECT_EQ(fence, token_fence(token));
		EXPECT_EQ(0, token_waiters(busy));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		close(busy);
		EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
		close(token);
	}
}

/* L2: an asynchronous upgrade, cancelled or granted before its results fail. */
TEST_F(entitylock, L2_asynchronous_CONVERT_fails)
{
	for (int granted = 0; granted < 2; granted++) {
		int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
		int other = acquire(self->domain, "a", SHARED, 0, NOWAIT);
		__u64 fence = token_fence(token);
		struct trap convert;

		ASSERT_LE(0, token);
		ASSERT_LE(0, other);
		trap_convert(_metadata, &convert, token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
		ASSERT_EQ(0, granted ? unlock(other) :
				       token_unlock(token, ENTITYLOCK_CANCEL, 0));
		ASSERT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_EQ(-EFAULT, trap_release(_metadata, &convert, false));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_STREQ("s", token_modes(token));
		EXPECT_EQ(fence, token_fence(token));
		EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		close(other);
		close(token);
	}
}

/* L2: three grants, none of which is told: each is given back, the youngest first. */
TEST_F(entitylock, L2_three_grants_given_back)
{
	int token = idle(self->domain, "a");
	struct trap lock, extend, extend_again;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	trap_extend(_metadata, &extend, token, "b", 0, NOWAIT);
	trap_extend(_metadata, &extend_again, token, "c", 0, NOWAIT);
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend_again, false));
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_gate(self->domain));
	close(token);
}

/* L2: the oldest first: the token carries a younger fence, so all of it stays. */
TEST_F(entitylock, L2_older_grants_are_part_of_younger_ones)
{
	int token = idle(self->domain, "a");
	struct trap lock, extend;

	ASSERT_LE(0, token);
	trap_lock(_metadata, &lock, token, 0, NOWAIT);
	trap_extend(_metadata, &extend, token, "b", 0, NOWAIT);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_EQ(0, trap_release(_metadata, &extend, true));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
}

/* L2: downgraded meanwhile: what is given back leaves no mode behind that is not held. */
TEST_F(entitylock, L2_downgraded_before_it_fails)
{
	int token = hold(self->domain, "a");
	struct trap extend;
	int other;

	ASSERT_LE(0, token);
	trap_extend(_metadata, &extend, token, "b", 0, NOWAIT);
	ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	other = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_STREQ("s", token_modes(token));
	/* Another shares it: exclusive is not to be had. */
	EXPECT_EQ(-EAGAIN, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("c")));
	EXPECT_STREQ("sx", token_modes(token));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_STREQ("sx", token_modes(token));
	close(other);
	close(token);
}

/* L2, L10: the number of a grant that is given back stays used. */
TEST_F(entitylock, L10_number_of_a_grant_given_back_stays_used)
{
	int token = hold(self->domain, "a");
	__u64 before = token_fence(token), used;
	struct trap extend;

	ASSERT_LE(0, token);
	pin_to_cpu(0);
	/* Its clock is ahead of the other CPUs'. */
	for (int i = 0; i < 100; i++)
		close(hold(self->domain, "elsewhere"));
	trap_extend(_metadata, &extend, token, "b", 0, NOWAIT);
	used = token_fence(token);
	EXPECT_LT(before, used);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &extend, false));
	pin_to_cpu(1);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("c")));
	EXPECT_LT(used, token_fence(token));
	close(token);
}

/* L10: what was held before was granted by that number, too: the listing tells. */
TEST_F(entitylock, L10_number_given_back_is_used_for_what_stays)
{
	int token = hold(self->domain, "a"), fresh = idle(self->domain, "d");
	__u64 used;
	struct trap trap;
	struct row row;

	ASSERT_LE(0, token);
	ASSERT_LE(0, fresh);
	trap_extend(_metadata, &trap, token, "b", 0, NOWAIT);
	used = token_fence(token);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
	EXPECT_GT(used, token_fence(token));
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_LE(used, row.fence);
	trap_lock(_metadata, &trap, fresh, 0, NOWAIT);
	used = token_fence(fresh);
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
	ASSERT_TRUE(listing_find("d", &row));
	EXPECT_LE(used, row.fence);
	close(fresh);
	close(token);
}

/* L2: unlocked meanwhile, the set and its modes are as they were before what fails. */
TEST_F(entitylock, L2_unlocked_before_it_fails)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), X("b"));
	struct trap trap;

	ASSERT_LE(0, token);
	trap_extend(_metadata, &trap, token, "c", 0, NOWAIT);
	EXPECT_STREQ("a b c", token_names(token));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
	EXPECT_STREQ("a b", token_names(token));

	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_STREQ("sx", token_modes(token));
	trap_convert(_metadata, &trap, token, EXCLUSIVE, 0, NOWAIT);
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_STREQ("sx", token_modes(token));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));

	/* Locked again before it fails: what it holds then stays. */
	trap_extend(_metadata, &trap, token, "c", 0, NOWAIT);
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L6: what INFO tells of the last wait stays until a verb succeeds: one that fails does not. */
TEST_F(entitylock, L6_error_stays_when_results_cannot_be_written)
{
	for (int async = 0; async < 2; async++) {
		__u32 flags = async ? ENTITYLOCK_ASYNC : 0;
		int busy = hold(self->domain, "a"), token = idle(self->domain, "a");
		struct trap trap;

		ASSERT_LE(0, busy);
		ASSERT_LE(0, token);
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, in_ms(20)));
		ASSERT_EQ(POLLERR, token_poll_wait(token, POLLIN));
		ASSERT_EQ(-ETIMEDOUT, token_info(token).error);
		EXPECT_EQ(-EAGAIN, token_lock(token, flags, NOWAIT));
		EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
		if (!async)
			ASSERT_EQ(0, unlock(busy));
		trap_lock(_metadata, &trap, token, flags, FOREVER);
		EXPECT_EQ(-EFAULT, trap_release(_metadata, &trap, false));
		EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
		EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
		EXPECT_EQ(POLLERR, token_poll(token) & POLLERR);
		if (async)
			ASSERT_EQ(0, unlock(busy));
		EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
		EXPECT_EQ(0, token_info(token).error);
		close(token);
		close(busy);
	}
}

/* L5: a gate that is given back lets those behind it in. */
TEST_F(entitylock, L2_gate_given_back)
{
	int gate = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);
	int seen = idle(self->domain, "b");
	struct trap lock;
	int behind;

	ASSERT_LE(0, gate);
	ASSERT_LE(0, seen);
	trap_lock(_metadata, &lock, gate, 0, NOWAIT);
	behind = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, behind);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	EXPECT_EQ(-EFAULT, trap_release(_metadata, &lock, false));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(gate));
	EXPECT_TRUE(eventually(token_state(behind) == ENTITYLOCK_HELD));
	/* Nor is it a change of all names. */
	EXPECT_EQ(0, token_lock(seen, ENTITYLOCK_IF_UNCHANGED, NOWAIT));
	close(seen);
	close(behind);
	close(gate);
}

/*
 * A process is killed at the results of a verb that @start begins.  This one has @fd,
 * too.
 */
static void kill_at_results(struct __test_metadata *_metadata,
			    void (*start)(struct __test_metadata *_metadata, struct trap *trap,
					  int fd),
			    int fd)
{
	int stopped[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(stopped));
	pid = spawn();
	if (!pid) {
		struct trap trap;

		start(_metadata, &trap, fd);
		write(stopped[1], "", 1);
		for (;;)
			pause();
	}
	close(stopped[1]);
	ASSERT_EQ(1, read(stopped[0], &byte, 1));
	close(stopped[0]);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(256 + SIGKILL, reap(pid));
}

static void start_lock(struct __test_metadata *_metadata, struct trap *trap, int token)
{
	trap_lock(_metadata, trap, token, 0, NOWAIT);
}

static void start_extend(struct __test_metadata *_metadata, struct trap *trap, int token)
{
	trap_extend(_metadata, trap, token, "b", 0, NOWAIT);
}

static void start_waiting_extend(struct __test_metadata *_metadata, struct trap *trap, int token)
{
	trap_extend(_metadata, trap, token, "b", ENTITYLOCK_ASYNC, FOREVER);
}

static void start_acquire(struct __test_metadata *_metadata, struct trap *trap, int domain)
{
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&trap->entity),
		.entity_size = sizeof(trap->entity),
	};

	trap->entity = (struct entitylock_entity)X("a");
	trap_call(_metadata, trap, domain, ENTITYLOCK_IOC_ACQUIRE, &arg, sizeof(arg));
}

/* L2, L9: killed before it was told: nobody holds it, and the token that others have is free. */
TEST_F(entitylock, L2_killed_at_the_results_of_LOCK)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	kill_at_results(_metadata, start_lock, token);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L2, L9: the same of EXTEND: what was held before stays, with its number. */
TEST_F(entitylock, L2_killed_at_the_results_of_EXTEND)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	kill_at_results(_metadata, start_extend, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
}

/* L2, L9: and of one that waits on: the wait ends. */
TEST_F(entitylock, L2_killed_at_the_results_of_an_asynchronous_EXTEND)
{
	int token = hold(self->domain, "a"), busy = hold(self->domain, "b");

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	kill_at_results(_metadata, start_waiting_extend, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(0, token_waiters(busy));
	close(busy);
	close(token);
}

/* L2, L9: of ACQUIRE: there is no token. */
TEST_F(entitylock, L2_killed_at_the_results_of_ACQUIRE)
{
	kill_at_results(_metadata, start_acquire, self->domain);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, live_entities(self->domain));
}

SELFTEST_MAIN
