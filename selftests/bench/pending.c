// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory of a wait: of a token that waits without a thread, as it is,
 * watched by epoll, and by a POLL_ADD of io_uring; of a thread that blocks, its
 * token included.
 *
 * By what the allocator has given out (slab), and by what the memory cgroup was
 * charged, which has the stacks and page tables of threads too.  All of the
 * kernel's own for an fd is included: to wait needs one.
 */
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench.h"
#include "slabs.h"

#define TOKENS	10000
#define THREADS	1000
#define BATCH	100	/* requests that are submitted at once */

static struct io_uring ring;
static int busy;		/* the token that all wait for */

/**
 * struct kind - a way to wait
 * @number: how many wait
 * @prepare: what there is once, and is not counted
 * @wait: makes one wait, as number @i
 */
struct kind {
	unsigned int number;
	int (*prepare)(void);
	void (*wait)(int domain, int place, unsigned int i);
};

static int wait_token(int domain)
{
	return must(acquire(domain, "busy", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
}

static void wait_alone(int domain, int place, unsigned int i)
{
	(void)place;
	(void)i;
	wait_token(domain);
}

static int prepare_epoll(void)
{
	return must(epoll_create1(EPOLL_CLOEXEC));
}

static void wait_epoll(int domain, int place, unsigned int i)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

	must(epoll_ctl(place, EPOLL_CTL_ADD, wait_token(domain), &event));
}

static int prepare_ring(void)
{
	if (io_uring_queue_init(BATCH, &ring, 0))
		fail("io_uring");
	return ring.ring_fd;
}

static void wait_poll_add(int domain, int place, unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	(void)place;
	io_uring_prep_poll_add(sqe, wait_token(domain), POLLIN);
	if (i % BATCH == BATCH - 1 && io_uring_submit(&ring) != BATCH)
		fail("POLL_ADD");
}

static void wait_thread(int domain, int place, unsigned int i)
{
	static struct call calls[THREADS];

	(void)place;
	call_acquire(&calls[i], domain, "busy", EXCLUSIVE, FOREVER);
	/* To look whether it sleeps would make inodes of /proc. */
	if (!eventually(token_waiters(busy) == i + 1))
		fail("thread");
}

static const struct kind
	alone = { TOKENS, NULL, wait_alone },
	by_epoll = { TOKENS, prepare_epoll, wait_epoll },
	by_poll_add = { TOKENS, prepare_ring, wait_poll_add },
	by_thread = { THREADS, NULL, wait_thread };

static void enter_cgroup(const char *path)
{
	char procs[96];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	if (mkdir(path, 0700) && errno != EEXIST)
		fail(path);
	if (write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory") ||
	    write_file(procs, "0"))
		fail(procs);
}

static double cgroup_bytes(const char *path)
{
	char file[96], line[128];
	double bytes = -1;
	FILE *stat;

	snprintf(file, sizeof(file), "%s/memory.stat", path);
	stat = fopen(file, "re");
	if (!stat)
		fail(file);
	while (fgets(line, sizeof(line), stat))
		if (sscanf(line, "kernel %lf", &bytes) == 1)
			break;
	fclose(stat);
	if (bytes < 0)
		fail("memory.stat: no line \"kernel\"");
	return bytes;
}

struct result {
	double slab;
	double cgroup;
};

static struct result wait_many(const struct kind *kind, const char *name)
{
	static struct slabs before, after;
	char path[64];
	int domain, place = -1;
	double charged;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/bench-%s", name);
	enter_cgroup(path);
	raise_fd_limit(2 * TOKENS);
	domain = must(domain_open(O_RDWR));
	busy = must(hold(domain, "busy"));
	if (kind->prepare)
		place = kind->prepare();
	/* The table of fds is as large as it will be. */
	must(dup2(domain, TOKENS + BATCH));
	charged = cgroup_bytes(path);
	slabs_read(&before);
	for (unsigned int i = 0; i < kind->number; i++)
		kind->wait(domain, place, i);
	slabs_read(&after);
	return (struct result){
		.slab = slabs_growth(&before, &after, kind->number, true, name),
		.cgroup = (cgroup_bytes(path) - charged) / kind->number,
	};
}

/* In a process of its own, so that all is gone before the next row. */
static struct result measure(const struct bench_row *row)
{
	struct result result;
	int out[2], status;

	must(pipe(out));
	if (!must(spawn())) {
		result = wait_many(row->data, row->name);
		must(write(out[1], &result, sizeof(result)));
		_exit(0);
	}
	close(out[1]);
	if (must(read(out[0], &result, sizeof(result))) != sizeof(result))
		fail(row->name);
	close(out[0]);
	must(wait(&status));
	return result;
}

static void slab(struct bench_row *row)
{
	record(row, measure(row).slab);
}

static void cgroup(struct bench_row *row)
{
	record(row, measure(row).cgroup);
}

#define KIND(_kind)							\
	{ #_kind "_slab", .unit = "bytes", .sample = slab, .data = (void *)&(_kind) },	\
	{ #_kind "_cgroup", .unit = "bytes", .sample = cgroup, .data = (void *)&(_kind) }

static struct bench_row rows[] = {
	KIND(alone),
	KIND(by_epoll),
	KIND(by_poll_add),
	KIND(by_thread),
};

const struct group pending_group = {
	.name = "pending",
	.rounds = 1,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
