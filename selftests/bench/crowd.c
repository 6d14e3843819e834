// SPDX-License-Identifier: GPL-2.0
/*
 * Many processes that lock and unlock, in the shape of will-it-scale's lock1, each
 * something of its own, and lock2, all the same thing; there in shared mode, so
 * that nobody waits.  The time of a pair is that of all of them over the number of
 * pairs: on n CPUs at best an n-th.
 */
#include <sys/file.h>
#include <sys/mman.h>

#include "bench.h"

/**
 * struct pairs - what a process does
 * @open: an fd for process number @i; @same: one thing for all
 * @loop: so many pairs
 */
struct pairs {
	int (*open)(unsigned int i, bool same);
	void (*loop)(int fd, bool same, unsigned int pairs);
};

/**
 * struct crowd - so many processes
 * @pairs: what they do
 * @same: on one thing
 * @number: how many they are
 * @calls: pairs of each in a turn
 * @go: a byte for each that shall begin
 * @done: a byte from each that has ended
 */
struct crowd {
	const struct pairs *pairs;
	bool same;
	unsigned int number;
	unsigned int calls;
	int go[2];
	int done[2];
};

static int token_open(unsigned int i, bool same)
{
	char name[32];

	snprintf(name, sizeof(name), "crowd-%u", same ? 0 : i);
	return must(acquire(must(domain_open(O_RDWR)), name, same ? SHARED : EXCLUSIVE,
			    ENTITYLOCK_OPEN, NOWAIT));
}

static void token_loop(int fd, bool same, unsigned int pairs)
{
	(void)same;
	lock_unlock_token(fd, pairs);
}

static int file_open(unsigned int i, bool same)
{
	char path[32];

	snprintf(path, sizeof(path), "/tmp/crowd-%u", same ? 0 : i);
	return must(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

static void flock_loop(int fd, bool same, unsigned int pairs)
{
	while (pairs--) {
		must(flock(fd, (same ? LOCK_SH : LOCK_EX) | LOCK_NB));
		must(flock(fd, LOCK_UN));
	}
}

static void ofd_loop(int fd, bool same, unsigned int pairs)
{
	struct flock lock = { .l_type = same ? F_RDLCK : F_WRLCK };
	struct flock unlock = { .l_type = F_UNLCK };

	while (pairs--) {
		must(fcntl(fd, F_OFD_SETLK, &lock));
		must(fcntl(fd, F_OFD_SETLK, &unlock));
	}
}

static const struct pairs
	tokens = { token_open, token_loop },
	flocks = { file_open, flock_loop },
	ofds = { file_open, ofd_loop };

static void __attribute__((noreturn)) member(const struct crowd *crowd, unsigned int i)
{
	int fd;
	char byte;

	pin_to_cpu(i % cpus());
	fd = crowd->pairs->open(i, crowd->same);
	for (;;) {
		must(write(crowd->done[1], "", 1));
		must(read(crowd->go[0], &byte, 1));
		crowd->pairs->loop(fd, crowd->same, crowd->calls);
	}
}

static void wait_for_all(const struct crowd *crowd)
{
	char byte;

	for (unsigned int i = 0; i < crowd->number; i++)
		must(read(crowd->done[0], &byte, 1));
}

static __u64 turn(struct crowd *crowd)
{
	__u64 begin = now();

	for (unsigned int i = 0; i < crowd->number; i++)
		must(write(crowd->go[1], "", 1));
	wait_for_all(crowd);
	return now() - begin;
}

static bool start(struct bench_row *row, const struct pairs *pairs, bool same)
{
	struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (crowd == MAP_FAILED)
		fail("mmap");
	crowd->pairs = pairs;
	crowd->same = same;
	crowd->number = row->param;
	must(pipe(crowd->go));
	must(pipe(crowd->done));
	for (unsigned int i = 0; i < crowd->number; i++)
		if (!must(spawn()))
			member(crowd, i);
	wait_for_all(crowd);
	/* As much that to begin and to end do not count. */
	for (crowd->calls = 16; turn(crowd) < 10 * NSEC_PER_MSEC; crowd->calls *= 2)
		;
	row->data = crowd;
	return true;
}

static void sample(struct bench_row *row)
{
	struct crowd *crowd = row->data;

	record(row, (double)turn(crowd) / ((double)crowd->calls * crowd->number));
}

static bool own_token(struct bench_row *row)
{
	return start(row, &tokens, false);
}

static bool own_flock(struct bench_row *row)
{
	return start(row, &flocks, false);
}

static bool own_ofd(struct bench_row *row)
{
	return start(row, &ofds, false);
}

static bool same_token(struct bench_row *row)
{
	return start(row, &tokens, true);
}

static bool same_flock(struct bench_row *row)
{
	return start(row, &flocks, true);
}

static bool same_ofd(struct bench_row *row)
{
	return start(row, &ofds, true);
}

#define FOR_EACH(_number)							\
	{ "own_token", .param = _number, .start = own_token, .sample = sample },	\
	{ "own_flock", .param = _number, .start = own_flock, .sample = sample },	\
	{ "own_ofd", .param = _number, .start = own_ofd, .sample = sample },		\
	{ "same_token", .param = _number, .start = same_token, .sample = sample },	\
	{ "same_flock", .param = _number, .start = same_flock, .sample = sample },	\
	{ "same_ofd", .param = _number, .start = same_ofd, .sample = sample }

static struct bench_row rows[] = {
	FOR_EACH(1), FOR_EACH(2), FOR_EACH(4), FOR_EACH(16), FOR_EACH(64),
};

const struct group crowd_group = {
	.name = "crowd",
	.rounds = 21,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
