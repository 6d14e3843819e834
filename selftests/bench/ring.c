// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of LOCK and UNLOCK by io_uring, each as much as 64 pairs by ioctl.
 *
 * Commands of verbs that do not wait are done as they are submitted, in order, so
 * a pair needs no link.
 */
#include <liburing.h>

#include "bench.h"

#define PAIRS	64

struct batch {
	struct io_uring ring;
	int token;
	bool fixed;
	struct entitylock_lock lock;
	struct entitylock_unlock unlock;
};

static int a_token(void)
{
	return must(idle(must(domain_open(O_RDWR)), "entity-0123456789"));
}

static bool start_ioctl(struct bench_row *row)
{
	row->fd = a_token();
	return true;
}

static void ioctl_batch(struct bench_row *row, unsigned int calls)
{
	lock_unlock_token(row->fd, calls * PAIRS);
}

static void start_batch(struct bench_row *row, unsigned int flags, bool fixed)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	batch->token = a_token();
	batch->fixed = fixed;
	if (io_uring_queue_init(2 * PAIRS, &batch->ring, flags) ||
	    (fixed && io_uring_register_files(&batch->ring, &batch->token, 1)))
		fail("io_uring");
	row->data = batch;
}

static bool have_commands(void)
{
	int domain = must(domain_open(O_RDWR));
	bool have = features(domain) & ENTITYLOCK_FEATURE_URING;

	close(domain);
	return have;
}

static bool start_plain(struct bench_row *row)
{
	if (!have_commands())
		return false;
	start_batch(row, 0, false);
	return true;
}

/* As who knows io_uring well would do it. */
static bool start_fixed(struct bench_row *row)
{
	if (!have_commands())
		return false;
	start_batch(row, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, true);
	return true;
}

static void prepare(struct batch *batch, unsigned long verb, const void *arg)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&batch->ring);
	__u64 address = ptr(arg);

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, batch->fixed ? 0 : batch->token, NULL, 0, 0);
	if (batch->fixed)
		sqe->flags |= IOSQE_FIXED_FILE;
	sqe->cmd_op = verb;
	memcpy(sqe->cmd, &address, sizeof(address));
}

static void uring_batch(struct bench_row *row, unsigned int calls)
{
	struct batch *batch = row->data;
	struct io_uring_cqe *cqe;
	unsigned int head, count;

	while (calls--) {
		for (int i = 0; i < PAIRS; i++) {
			prepare(batch, ENTITYLOCK_IOC_LOCK, &batch->lock);
			prepare(batch, ENTITYLOCK_IOC_UNLOCK, &batch->unlock);
		}
		must(io_uring_submit_and_wait(&batch->ring, 2 * PAIRS));
		count = 0;
		io_uring_for_each_cqe(&batch->ring, head, cqe) {
			errno = -cqe->res;
			must(cqe->res);
			count++;
		}
		if (count != 2 * PAIRS)
			fail("io_uring: completions are missing");
		io_uring_cq_advance(&batch->ring, count);
	}
}

static struct bench_row rows[] = {
	{ "ioctl_batch", .param = PAIRS, .start = start_ioctl, .loop = ioctl_batch },
	{ "uring_batch", .param = PAIRS, .start = start_plain, .loop = uring_batch },
	{ "uring_fixed_batch", .param = PAIRS, .start = start_fixed, .loop = uring_batch },
};

const struct group ring_group = {
	.name = "ring",
	.rounds = 101,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
