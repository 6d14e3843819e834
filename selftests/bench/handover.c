// SPDX-License-Identifier: GPL-2.0
/*
 * How long a process that sleeps in its lock call waits from the other's
 * release on, in two processes that hand over to each other.
 *
 * Before each release the waiter is known to sleep, so that a lock that does
 * not hand over, and gives the releaser another turn if it is quick, is
 * measured by what it does when it must.
 */
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"

#define EXCHANGES	20	/* of a round; even: the first side holds again */

struct relay;

/**
 * struct lock - what is handed over
 * @open: what both sides share
 * @open_side: what one side has for itself, in its own process
 * @take: until it is had
 * @give: for the other to take
 * @message: there is nothing to be had between two hand-overs
 */
struct lock {
	void (*open)(struct relay *relay);
	void (*open_side)(struct relay *relay, int side);
	void (*take)(struct relay *relay, int side);
	void (*give)(struct relay *relay, int side);
	bool message;
};

enum which { TO_FIRST = 1, TO_SECOND = 2, BOTH = 3 };

/**
 * struct relay - two processes and a lock
 * @lock: the lock
 * @which: hand-overs that are of interest
 * @fds: the lock's, of each side
 * @turn: of each side: number of the exchange that it is about to wait for
 * @given: when the lock was given last
 * @took: how long each exchange took
 * @go: pipes: the other side has what it waited for
 * @stat: each side's state
 */
struct relay {
	const struct lock *lock;
	enum which which;
	char name[32];
	int fds[2][2];
	atomic_uint turn[2];
	atomic_ullong given;
	__u64 took[EXCHANGES];
	int go[2][2];
	int stat[2];
};

static void entity_open_side(struct relay *relay, int side)
{
	relay->fds[side][0] = must(idle(must(domain_open(O_RDWR)), relay->name));
}

static void token_take(struct relay *relay, int side)
{
	must(token_lock(relay->fds[side][0], 0, FOREVER));
}

static void token_give(struct relay *relay, int side)
{
	must(unlock(relay->fds[side][0]));
}

static const struct lock entity_lock = {
	.open_side = entity_open_side, .take = token_take, .give = token_give,
};

/* The first side is an ordinary operation, the second the gate. */
static void gate_open_side(struct relay *relay, int side)
{
	if (side)
		relay->fds[side][0] = must(acquire_gate(must(domain_open(O_RDWR)),
							ENTITYLOCK_OPEN, NOWAIT));
	else
		entity_open_side(relay, side);
}

static const struct lock gate_lock = {
	.open_side = gate_open_side, .take = token_take, .give = token_give,
};

static void flock_open_side(struct relay *relay, int side)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/%s", relay->name);
	relay->fds[side][0] = must(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

static void flock_take(struct relay *relay, int side)
{
	must(flock(relay->fds[side][0], LOCK_EX));
}

static void flock_give(struct relay *relay, int side)
{
	must(flock(relay->fds[side][0], LOCK_UN));
}

static const struct lock flock_lock = {
	.open_side = flock_open_side, .take = flock_take, .give = flock_give,
};

/* A byte in one's own pipe. */
static void pipe_open(struct relay *relay)
{
	must(pipe(relay->fds[0]));
	must(pipe(relay->fds[1]));
}

static void pipe_take(struct relay *relay, int side)
{
	char byte;

	must(read(relay->fds[side][0], &byte, 1));
}

static void pipe_give(struct relay *relay, int side)
{
	must(write(relay->fds[!side][1], "", 1));
}

static const struct lock pipe_lock = {
	.open = pipe_open, .take = pipe_take, .give = pipe_give, .message = true,
};

static bool sleeps(int stat)
{
	char text[256], *end;
	ssize_t len = must(pread(stat, text, sizeof(text) - 1, 0));

	text[len] = '\0';
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void wait_until_it_waits(struct relay *relay, int side, unsigned int turn)
{
	const struct timespec pause = { .tv_nsec = 10000 };

	while (relay->turn[side] != turn || !sleeps(relay->stat[side]))
		nanosleep(&pause, NULL);
}

static void let_go_on(struct relay *relay, int side)
{
	must(write(relay->go[side][1], "", 1));
}

static void wait_to_go_on(struct relay *relay, int side)
{
	char byte;

	must(read(relay->go[side][0], &byte, 1));
}

static void exchange(struct relay *relay, int side)
{
	for (unsigned int i = 0; i < EXCHANGES; i++) {
		if (i % 2 == (unsigned int)side) {
			wait_until_it_waits(relay, !side, i + 1);
			relay->given = now();
			relay->lock->give(relay, side);
			wait_to_go_on(relay, side);
		} else {
			relay->turn[side] = i + 1;
			relay->lock->take(relay, side);
			relay->took[i] = now() - relay->given;
			let_go_on(relay, !side);
		}
	}
	relay->turn[side] = 0;
}

static int open_stat(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return must(open(path, O_RDONLY | O_CLOEXEC));
}

static void open_side(struct relay *relay, int side)
{
	if (relay->lock->open_side)
		relay->lock->open_side(relay, side);
}

static void __attribute__((noreturn)) second_side(struct relay *relay, unsigned int cpu)
{
	pin_to_cpu(cpu);
	open_side(relay, 1);
	let_go_on(relay, 0);
	for (;;) {
		wait_to_go_on(relay, 1);
		exchange(relay, 1);
	}
}

/* @param of a row: number of CPUs. */
static bool start(struct bench_row *row, const struct lock *lock, enum which which)
{
	static unsigned int number;
	struct relay *relay;
	pid_t pid;

	if (cpus() < row->param)
		return false;
	relay = mmap(NULL, sizeof(*relay), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (relay == MAP_FAILED)
		fail("mmap");
	relay->lock = lock;
	relay->which = which;
	snprintf(relay->name, sizeof(relay->name), "relay-%u", number++);
	if (lock->open)
		lock->open(relay);
	for (int side = 0; side < 2; side++)
		must(pipe(relay->go[side]));
	relay->stat[0] = open_stat(getpid());
	pid = must(spawn());
	if (!pid)
		second_side(relay, row->param - 1);
	wait_to_go_on(relay, 0);
	relay->stat[1] = open_stat(pid);
	open_side(relay, 0);
	row->data = relay;
	return true;
}

static void handover(struct bench_row *row)
{
	struct relay *relay = row->data;

	if (!relay->lock->message)
		relay->lock->take(relay, 0);
	let_go_on(relay, 1);
	exchange(relay, 0);
	if (!relay->lock->message)
		relay->lock->give(relay, 0);
	for (unsigned int i = 0; i < EXCHANGES; i++)
		if (relay->which & (i % 2 ? TO_FIRST : TO_SECOND))
			record(row, relay->took[i]);
}

static bool start_entity(struct bench_row *row)
{
	return start(row, &entity_lock, BOTH);
}

static bool start_flock(struct bench_row *row)
{
	return start(row, &flock_lock, BOTH);
}

static bool start_pipe(struct bench_row *row)
{
	return start(row, &pipe_lock, BOTH);
}

static bool start_to_gate(struct bench_row *row)
{
	return start(row, &gate_lock, TO_SECOND);
}

static bool start_from_gate(struct bench_row *row)
{
	return start(row, &gate_lock, TO_FIRST);
}

static struct bench_row rows[] = {
	{ "handover_entitylock", .param = 1, .start = start_entity, .sample = handover },
	{ "handover_flock", .param = 1, .start = start_flock, .sample = handover },
	{ "handover_pipe", .param = 1, .start = start_pipe, .sample = handover },
	{ "handover_to_gate", .param = 1, .start = start_to_gate, .sample = handover },
	{ "handover_from_gate", .param = 1, .start = start_from_gate, .sample = handover },
	{ "handover_entitylock", .param = 2, .start = start_entity, .sample = handover },
	{ "handover_flock", .param = 2, .start = start_flock, .sample = handover },
	{ "handover_pipe", .param = 2, .start = start_pipe, .sample = handover },
	{ "handover_to_gate", .param = 2, .start = start_to_gate, .sample = handover },
	{ "handover_from_gate", .param = 2, .start = start_from_gate, .sample = handover },
};

const struct group handover_group = {
	.name = "handover",
	.rounds = 50,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
