// SPDX-License-Identifier: GPL-2.0
/*
 * L11: each verb that does not wait is an io_uring command; L6: who waits polls.
 * Kernels before 6.12 refuse commands, POLL_ADD works on all.
 */
#include <dirent.h>
#include <liburing.h>
#include <poll.h>
#include <sys/wait.h>

#include "owners.h"

#define ENTRIES		128

FIXTURE(uring) {
	union {
		struct ground ground;
		int domain;
	};
	struct entitylock_entity a;
	struct io_uring ring;
	bool have;
};

FIXTURE_SETUP(uring)
{
	ground_check(_metadata, &self->ground);
	self->have = features(self->domain) & ENTITYLOCK_FEATURE_URING;
	self->a = (struct entitylock_entity)X("a");
	ASSERT_EQ(0, io_uring_queue_init(ENTRIES, &self->ring, 0));
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	/* What a ring held goes with it, some time after its fd. */
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
	ground_recheck(_metadata, &self->ground);
}

static struct io_uring_sqe *prepare(struct io_uring *ring, int fd, unsigned long verb,
				    const void *arg)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	__u64 address = ptr(arg);

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = verb;
	memcpy(sqe->cmd, &address, sizeof(address));
	return sqe;
}

/* The next completion's result; its user data goes to @data. */
static int complete(struct io_uring *ring, __u64 *data)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe(ring, &cqe);

	if (ret)
		return ret;
	ret = cqe->res;
	if (data)
		*data = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static int flagged(struct io_uring *ring, int fd, unsigned long verb, const void *arg,
		   unsigned int flags)
{
	prepare(ring, fd, verb, arg)->flags |= flags;
	/* A thread that polls the ring may not have moved on from the one before yet. */
	if (io_uring_submit(ring) < 1)
		return -EIO;
	return complete(ring, NULL);
}

static int command(struct io_uring *ring, int fd, unsigned long verb, const void *arg)
{
	return flagged(ring, fd, verb, arg, 0);
}

/* Threads of this process whose name begins so; all with "". */
static unsigned int threads(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *entry;
	char path[300], comm[32];
	FILE *file;

	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		count += fgets(comm, sizeof(comm), file) && !strncmp(comm, name, strlen(name));
		fclose(file);
	}
	closedir(dir);
	return count;
}

#define ACQUIRE_ONE(entity, ...) {					\
	.count = 1,							\
	.entities = ptr(entity),					\
	.entity_size = sizeof(*(entity)),				\
	__VA_ARGS__							\
}

/* L11: an older kernel refuses commands; it has no feature bit then. */
TEST_F(uring, L11_refused_or_done)
{
	struct entitylock_version version = { 0 };
	int ret = command(&self->ring, self->domain, ENTITYLOCK_IOC_VERSION, &version);

	EXPECT_EQ(self->have ? 0 : -EOPNOTSUPP, ret);
	EXPECT_EQ(self->have ? ENTITYLOCK_ABI : 0, version.abi);
}

/* L11: every verb. */
TEST_F(uring, L11_every_verb)
{
	struct entitylock_domain place = { .name = ptr("shop"), .name_len = 4, .mode = 0700,
					   .flags = ENTITYLOCK_CREATE };
	struct entitylock_entity b = X("b"), mine = X("a");
	struct entitylock_acquire acquire = ACQUIRE_ONE(&mine), extend = ACQUIRE_ONE(&b);
	struct entitylock_convert convert = { .mode = SHARED };
	struct entitylock_break broken = { .name = ptr("a"), .name_len = 1 };
	struct entitylock_label label = { .label = ptr("edit"), .label_len = 4 };
	struct entitylock_renew renew = { .lease = HOUR };
	struct entitylock_unlock give_back = { 0 };
	struct entitylock_lock lock = { 0 };
	struct entitylock_info info = { 0 };
	struct entitylock_park park = { 0 };
	struct entitylock_claim claim = { 0 };
	struct io_uring *ring = &self->ring;
	int fresh = domain_open(O_RDWR), token, claimed;

	if (!self->have) {
		EXPECT_EQ(-EOPNOTSUPP, command(ring, fresh, ENTITYLOCK_IOC_ACQUIRE, &acquire));
		close(fresh);
		return;
	}
	EXPECT_EQ(0, command(ring, fresh, ENTITYLOCK_IOC_DOMAIN, &place));
	token = command(ring, fresh, ENTITYLOCK_IOC_ACQUIRE, &acquire);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(acquire.fence, token_fence(token));
	EXPECT_EQ((__u32)getpid(), token_info(token).owner_pid);
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_EXTEND, &extend));
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_CONVERT, &convert));
	EXPECT_STREQ("ss", token_modes(token));
	convert.mode = EXCLUSIVE;
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_CONVERT, &convert));
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_LABEL, &label));
	EXPECT_STREQ("edit", fdinfo_value(token, "label"));
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_RENEW, &renew));
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(convert.fence, info.fence);
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_UNLOCK, &give_back));
	EXPECT_EQ(-EBADFD, command(ring, token, ENTITYLOCK_IOC_UNLOCK, &give_back));
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_LOCK, &lock));
	park.lease = HOUR;
	EXPECT_EQ(0, command(ring, token, ENTITYLOCK_IOC_PARK, &park));
	memcpy(claim.cookie, park.cookie, sizeof(claim.cookie));
	claimed = command(ring, fresh, ENTITYLOCK_IOC_CLAIM, &claim);
	EXPECT_LE(0, claimed);
	EXPECT_EQ(token_info(token).id, token_info(claimed).id);
	EXPECT_EQ(0, command(ring, fresh, ENTITYLOCK_IOC_BREAK, &broken));
	EXPECT_TRUE(is_lost(token));
	close(claimed);
	close(token);
	close(fresh);
}

/* L11: what would wait is refused, whatever the deadline; with ASYNC it is not. */
TEST_F(uring, L11_EINVAL_for_what_waits)
{
	static const __u64 deadlines[] = { 1, FOREVER, FOREVER - 1 };
	struct entitylock_acquire acquire = ACQUIRE_ONE(&self->a), extend = ACQUIRE_ONE(&self->a);
	struct entitylock_convert convert = { .mode = EXCLUSIVE };
	struct entitylock_lock lock = { 0 };
	struct io_uring *ring = &self->ring;
	int token = idle(self->domain, "b");

	ASSERT_LE(0, token);
	for (size_t i = 0; self->have && i < ARRAY_SIZE(deadlines); i++) {
		acquire.deadline = deadlines[i];
		lock.deadline = deadlines[i];
		EXPECT_EQ(-EINVAL, command(ring, self->domain, ENTITYLOCK_IOC_ACQUIRE, &acquire));
		EXPECT_EQ(-EINVAL, command(ring, token, ENTITYLOCK_IOC_LOCK, &lock));
		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		extend.deadline = deadlines[i];
		convert.deadline = deadlines[i];
		EXPECT_EQ(-EINVAL, command(ring, token, ENTITYLOCK_IOC_EXTEND, &extend));
		EXPECT_EQ(-EINVAL, command(ring, token, ENTITYLOCK_IOC_CONVERT, &convert));
		ASSERT_EQ(0, unlock(token));
	}
	EXPECT_EQ(1, live_entities(self->domain));
	lock.flags = ENTITYLOCK_ASYNC;
	EXPECT_EQ(self->have ? 0 : -EOPNOTSUPP, command(ring, token, ENTITYLOCK_IOC_LOCK, &lock));
	close(token);
}

/* L11: EAGAIN is posted, and the command not tried again by a worker. */
TEST_F(uring, L11_EAGAIN_is_posted)
{
	struct entitylock_lock lock = { 0 };
	int holder = hold(self->domain, "a"), token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(self->have ? -EAGAIN : -EOPNOTSUPP,
			  command(&self->ring, token, ENTITYLOCK_IOC_LOCK, &lock));
	EXPECT_EQ(0, threads("iou-wrk"));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(holder);
	close(token);
}

/* L11: bad commands. */
TEST_F(uring, L11_bad_commands)
{
	struct entitylock_lock lock = { .flags = 1U << 31 };
	struct io_uring *ring = &self->ring;
	int token = idle(self->domain, "a"), pair[2];

	ASSERT_LE(0, token);
	ASSERT_EQ(0, pipe(pair));
	if (self->have) {
		EXPECT_EQ(-EFAULT, command(ring, token, ENTITYLOCK_IOC_LOCK, NULL));
		EXPECT_EQ(-EFAULT, command(ring, token, ENTITYLOCK_IOC_LOCK, (void *)8));
		EXPECT_EQ(-EINVAL, command(ring, token, ENTITYLOCK_IOC_LOCK, &lock));
		EXPECT_EQ(-ENOTTY, command(ring, token, 0, &lock));
		EXPECT_EQ(-ENOTTY, command(ring, token, ENTITYLOCK_IOC_ACQUIRE, &lock));
		EXPECT_EQ(-ENOTTY, command(ring, self->domain, ENTITYLOCK_IOC_LOCK, &lock));
		EXPECT_EQ(-EINVAL, command(ring, token, resized(ENTITYLOCK_IOC_LOCK, 8), &lock));
	}
	EXPECT_EQ(-EOPNOTSUPP, command(ring, pair[0], ENTITYLOCK_IOC_LOCK, &lock));
	EXPECT_EQ(-EBADF, command(ring, 9999, ENTITYLOCK_IOC_LOCK, &lock));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(pair[0]);
	close(pair[1]);
	close(token);
}

/* L11: a grant whose result cannot be written is given back, and no fd stays. */
TEST_F(uring, L11_EFAULT_leaves_nothing)
{
	struct entitylock_acquire acquire = ACQUIRE_ONE(&self->a);
	void *copy = read_only_copy(&acquire, sizeof(acquire));
	unsigned int fds = open_fds();

	EXPECT_EQ(self->have ? -EFAULT : -EOPNOTSUPP,
		  command(&self->ring, self->domain, ENTITYLOCK_IOC_ACQUIRE, copy));
	EXPECT_EQ(fds, open_fds());
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L11: a batch, each in its turn. */
TEST_F(uring, L11_batches)
{
	struct entitylock_lock locks[ENTRIES / 2] = { 0 };
	struct entitylock_unlock give_back = { 0 };
	int token = idle(self->domain, "a");
	__u64 fence = 0;

	ASSERT_LE(0, token);
	for (int round = 0; self->have && round < 10; round++) {
		for (int i = 0; i < ENTRIES / 2; i++) {
			prepare(&self->ring, token, ENTITYLOCK_IOC_LOCK, &locks[i]);
			prepare(&self->ring, token, ENTITYLOCK_IOC_UNLOCK, &give_back);
		}
		ASSERT_EQ(ENTRIES, io_uring_submit(&self->ring));
		for (int i = 0; i < ENTRIES; i++)
			ASSERT_EQ(0, complete(&self->ring, NULL));
		for (int i = 0; i < ENTRIES / 2; i++) {
			EXPECT_LT(fence, locks[i].fence);
			fence = locks[i].fence;
		}
	}
	close(token);
}

/* L11, L6: LOCK with ASYNC, and behind it, linked, the wait: one submission. */
TEST_F(uring, L11_lock_then_poll)
{
	struct entitylock_lock lock = { .flags = ENTITYLOCK_ASYNC, .deadline = FOREVER };
	int holder = hold(self->domain, "a"), token = idle(self->domain, "a");
	struct io_uring_sqe *sqe;
	__u64 data;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	if (self->have) {
		sqe = prepare(&self->ring, token, ENTITYLOCK_IOC_LOCK, &lock);
		sqe->flags |= IOSQE_IO_LINK;
		sqe->user_data = 1;
	} else {
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	}
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_poll_add(sqe, token, POLLIN);
	sqe->user_data = 2;
	ASSERT_LT(0, io_uring_submit(&self->ring));
	if (self->have) {
		EXPECT_EQ(0, complete(&self->ring, &data));
		EXPECT_EQ(1, data);
	}
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	close(holder);
	EXPECT_EQ(POLLIN, complete(&self->ring, &data));
	EXPECT_EQ(2, data);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L11: a command that fails cuts its chain. */
TEST_F(uring, L11_a_failed_command_cuts_its_chain)
{
	struct entitylock_lock lock = { 0 };
	int holder = hold(self->domain, "a"), token = idle(self->domain, "a");
	struct entitylock_unlock give_back = { 0 };
	__u64 data;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	prepare(&self->ring, token, ENTITYLOCK_IOC_LOCK, &lock)->flags |= IOSQE_IO_LINK;
	prepare(&self->ring, holder, ENTITYLOCK_IOC_UNLOCK, &give_back)->user_data = 2;
	ASSERT_EQ(2, io_uring_submit(&self->ring));
	EXPECT_EQ(self->have ? -EAGAIN : -EOPNOTSUPP, complete(&self->ring, NULL));
	EXPECT_EQ(-ECANCELED, complete(&self->ring, &data));
	EXPECT_EQ(2, data);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(holder);
	close(token);
}

/* L6: a wait by POLL_ADD is cancelled, or timed out, as any: the request stays. */
TEST_F(uring, L6_cancel_and_linked_timeout)
{
	struct __kernel_timespec moment = { .tv_nsec = 1000000 };
	int holder = hold(self->domain, "a"), token = await(self->domain, "a");
	struct io_uring_sqe *sqe;
	__u64 data;
	int ret[2];

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_poll_add(sqe, token, POLLIN);
	sqe->user_data = 1;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->user_data = 0;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	for (int i = 0; i < 2; i++) {
		int res = complete(&self->ring, &data);

		ret[data] = res;
	}
	EXPECT_EQ(0, ret[0]);
	EXPECT_EQ(-ECANCELED, ret[1]);

	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_poll_add(sqe, token, POLLIN);
	sqe->flags |= IOSQE_IO_LINK;
	sqe->user_data = 1;
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_link_timeout(sqe, &moment, 0);
	sqe->user_data = 0;
	ASSERT_EQ(2, io_uring_submit(&self->ring));
	for (int i = 0; i < 2; i++) {
		int res = complete(&self->ring, &data);

		ret[data] = res;
	}
	EXPECT_EQ(-ETIME, ret[0]);
	EXPECT_EQ(-ECANCELED, ret[1]);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L11: other kinds of rings, and a command that io_uring gives to a worker. */
TEST_F(uring, L11_kinds_of_rings)
{
	static const struct {
		unsigned int setup;
		unsigned int flags;
	} rows[] = {
		{ 0, IOSQE_ASYNC },
		{ IORING_SETUP_SQPOLL, 0 },
		{ IORING_SETUP_SQE128, 0 },
		{ IORING_SETUP_CQE32, 0 },
		{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0 },
		{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, IOSQE_ASYNC },
		{ IORING_SETUP_COOP_TASKRUN, 0 },
	};
	struct entitylock_acquire acquire = ACQUIRE_ONE(&self->a);
	struct entitylock_unlock give_back = { 0 };
	struct entitylock_lock lock = { 0 };
	struct io_uring ring;
	int polled;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int token;

		ASSERT_EQ(0, io_uring_queue_init(8, &ring, rows[i].setup)) {
			TH_LOG("setup 0x%x", rows[i].setup);
		}
		token = flagged(&ring, self->domain, ENTITYLOCK_IOC_ACQUIRE, &acquire,
				rows[i].flags);
		if (self->have) {
			ASSERT_LE(0, token);
			EXPECT_EQ((__u32)getpid(), token_info(token).owner_pid);
			EXPECT_EQ(0, flagged(&ring, token, ENTITYLOCK_IOC_UNLOCK, &give_back,
					     rows[i].flags));
			EXPECT_EQ(0, flagged(&ring, token, ENTITYLOCK_IOC_LOCK, &lock,
					     rows[i].flags));
			EXPECT_EQ(-EAGAIN, flagged(&ring, self->domain, ENTITYLOCK_IOC_ACQUIRE,
						   &acquire, rows[i].flags));
			close(token);
			/* A request that is about to end is a reference still. */
			EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
		} else {
			EXPECT_EQ(-EOPNOTSUPP, token);
		}
		io_uring_queue_exit(&ring);
	}
	/* One that polls devices does commands as well, or refuses them: as the kernel has it. */
	ASSERT_EQ(0, io_uring_queue_init(8, &ring, IORING_SETUP_IOPOLL));
	polled = command(&ring, self->domain, ENTITYLOCK_IOC_ACQUIRE, &acquire);
	EXPECT_TRUE(polled == -EOPNOTSUPP || (self->have && close(polled) == 0));
	io_uring_queue_exit(&ring);
}

/* L9: a registered file is a reference: the lock stays until it is unregistered. */
TEST_F(uring, L9_registered_files)
{
	struct entitylock_label label = { .label = ptr("edit"), .label_len = 4 };
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, io_uring_register_files(&self->ring, &token, 1));
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(self->have ? 0 : -EOPNOTSUPP,
		  flagged(&self->ring, 0, ENTITYLOCK_IOC_LABEL, &label, IOSQE_FIXED_FILE));
	ASSERT_EQ(0, io_uring_unregister_files(&self->ring));
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
}

/* L9: the ring dies with polls pending. */
TEST_F(uring, L9_the_ring_dies)
{
	int holder = hold(self->domain, "a"), token = await(self->domain, "a");
	struct io_uring ring;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, io_uring_queue_init(8, &ring, 0));
	io_uring_prep_poll_add(io_uring_get_sqe(&ring), token, POLLIN);
	ASSERT_EQ(1, io_uring_submit(&ring));
	close(token);
	EXPECT_EQ(1, token_waiters(holder));
	io_uring_queue_exit(&ring);
	EXPECT_TRUE(eventually(token_waiters(holder) == 0));
	close(holder);
}

/* L9: killed, or replaced by exec, with waits pending: free soon after. */
TEST_F(uring, L9_killed_and_exec)
{
	for (int by_exec = 0; by_exec < 2; by_exec++) {
		int holder = hold(self->domain, "a"), ready[2], died;
		__u64 begin;
		pid_t pid;
		char byte;

		ASSERT_LE(0, holder);
		ASSERT_EQ(0, pipe(ready));
		pid = spawn();
		if (!pid) {
			int b = hold(self->domain, "b"), token = await(self->domain, "a");
			struct io_uring ring;

			if (b < 0 || token < 0 || io_uring_queue_init(8, &ring, 0))
				_exit(1);
			io_uring_prep_poll_add(io_uring_get_sqe(&ring), token, POLLIN);
			if (io_uring_submit(&ring) != 1 || write(ready[1], "", 1) != 1)
				_exit(2);
			while (by_exec && token_waiters(holder) != 1)
				;
			close(holder);
			if (by_exec)
				execl("/bin/sleep", "sleep", "1000", NULL);
			for (;;)
				pause();
		}
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		close(ready[0]);
		close(ready[1]);
		begin = now();
		if (!by_exec)
			kill(pid, SIGKILL);
		EXPECT_TRUE(eventually(try_lock(self->domain, "b", EXCLUSIVE) == 0 &&
				       token_waiters(holder) == 0));
		TH_LOG("%s: %llu us", by_exec ? "exec" : "kill", (now() - begin) / 1000);
		if (by_exec)
			kill(pid, SIGKILL);
		died = reap(pid);
		EXPECT_EQ(256 + SIGKILL, died);
		close(holder);
	}
}

/* L6: granted xor cancelled, when UNLOCK with CANCEL races the grant, as completions tell. */
TEST_F(uring, L6_granted_or_cancelled)
{
	struct entitylock_lock lock = { .flags = ENTITYLOCK_ASYNC, .deadline = FOREVER };
	struct entitylock_unlock cancel = { .flags = ENTITYLOCK_CANCEL }, give_back = { 0 };
	int holder = idle(self->domain, "a"), token = idle(self->domain, "a");
	unsigned int granted = 0, cancelled = 0;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	for (unsigned int i = 0; self->have && i < scaled(2000, 100); i++) {
		bool first = i % 2;
		int ret[2];

		ASSERT_EQ(0, token_lock(holder, 0, soon()));
		ASSERT_EQ(0, command(&self->ring, token, ENTITYLOCK_IOC_LOCK, &lock));
		if (first)
			prepare(&self->ring, holder, ENTITYLOCK_IOC_UNLOCK, &give_back);
		prepare(&self->ring, token, ENTITYLOCK_IOC_UNLOCK, &cancel)->flags |=
			i % 3 ? 0 : IOSQE_ASYNC;
		if (!first)
			prepare(&self->ring, holder, ENTITYLOCK_IOC_UNLOCK, &give_back);
		ASSERT_EQ(2, io_uring_submit(&self->ring));
		for (int j = 0; j < 2; j++)
			ret[j] = complete(&self->ring, NULL);
		if (ret[0] || ret[1]) {
			ASSERT_EQ(-EBADFD, ret[0] ?: ret[1]);
			ASSERT_EQ(ENTITYLOCK_HELD, token_state(token));
			ASSERT_EQ(0, unlock(token));
			granted++;
		} else {
			ASSERT_EQ(ENTITYLOCK_IDLE, token_state(token));
			cancelled++;
		}
	}
	TH_LOG("%u granted, %u cancelled", granted, cancelled);
	close(holder);
	close(token);
}

/* L6: thousands of waits, and one thread. */
TEST_F(uring, L6_10000_waits_on_one_thread)
{
	enum { MOST = 10000 };
	static int tokens[MOST];
	unsigned int count = scaled(MOST, 500), done = 0;
	int holder = hold(self->domain, "a");
	struct io_uring ring;

	raise_fd_limit(MOST + 100);
	ASSERT_LE(0, holder);
	ASSERT_EQ(0, io_uring_queue_init(4096, &ring, 0));
	for (unsigned int i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		tokens[i] = await(self->domain, "a");
		ASSERT_LE(0, tokens[i]);
		io_uring_prep_poll_add(sqe, tokens[i], POLLIN);
		sqe->user_data = i;
		ASSERT_EQ(1, io_uring_submit(&ring));
	}
	EXPECT_EQ(count, token_waiters(holder));
	EXPECT_EQ(1, threads(""));
	close(holder);
	while (done < count) {
		__u64 data;

		ASSERT_EQ(POLLIN, complete(&ring, &data));
		/* In order, each let in by the one before. */
		ASSERT_EQ(done, data);
		close(tokens[data]);
		done++;
	}
	EXPECT_EQ(1, threads(""));
	io_uring_queue_exit(&ring);
}

SELFTEST_MAIN
