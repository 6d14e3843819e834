// SPDX-License-Identifier: GPL-2.0
/* The lanes, and whose turn it is. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "run.h"

#define TURN_NS		500000	/* then a step seems to wait */
#define STILL_NS	(4 * NSEC_PER_MSEC)	/* then all of them do; more than enum deadline's */
#define START_NS	(100 * NSEC_PER_MSEC)	/* then the first one does */

struct run run;

/* Wait for a change, not for longer than until @end. */
static bool wait_change(__u64 end)
{
	struct timespec until = { .tv_sec = end / NSEC_PER_SEC, .tv_nsec = end % NSEC_PER_SEC };

	return !pthread_cond_timedwait(&run.changed, &run.lock, &until);
}

/* Who waits too long lets the next step begin, which may be another one's. */
static bool take_turn(unsigned int number)
{
	bool over;

	pthread_mutex_lock(&run.lock);
	while (run.program->ordered && run.turn < number && !run.over) {
		unsigned int before = run.turn;
		__u64 end = now() + TURN_NS;

		while (run.turn == before && !run.over && wait_change(end))
			;
		if (run.turn == before && !run.over) {
			run.turn++;
			run.exact = false;
			pthread_cond_broadcast(&run.changed);
		}
	}
	over = run.over;
	pthread_mutex_unlock(&run.lock);
	return !over;
}

static void pass_turn(unsigned int number)
{
	pthread_mutex_lock(&run.lock);
	if (run.turn <= number) {
		run.turn = number + 1;
		pthread_cond_broadcast(&run.changed);
	}
	pthread_mutex_unlock(&run.lock);
}

int step_make(struct lane *lane, unsigned int number)
{
	const struct step *step = &run.program->steps[number];
	bool verb = step->verb != OPEN && step->verb <= WILD;
	int ret;

	coverage_begin();
	ret = verb ? make_call(lane, step) : make_around(lane, step, number);
	coverage_end(&run.edges);
	return ret;
}

static void run_lane(struct lane *lane)
{
	for (unsigned int i = 0; i < run.program->count; i++) {
		if (run.program->steps[i].lane != lane->number)
			continue;
		if (!take_turn(i))
			break;
		run.results[i] = step_make(lane, i);
		run.made++;
		pass_turn(i);
	}
}

static void *lane_main(void *data)
{
	struct lane *lane = data;

	lane->tid = gettid();
	desks_make(&lane->desks);
	lane->has_ring = !io_uring_queue_init(4, &lane->ring, 0);
	coverage_start();
	pthread_mutex_lock(&run.lock);
	for (;;) {
		run.busy--;
		pthread_cond_broadcast(&run.changed);
		while (!lane->start)
			pthread_cond_wait(&lane->started, &run.lock);
		lane->start = false;
		pthread_mutex_unlock(&run.lock);
		run_lane(lane);
		pthread_mutex_lock(&run.lock);
	}
	return NULL;
}

static void interrupted(int number)
{
	(void)number;
}

void run_init(__u8 *known)
{
	const struct sigaction action = { .sa_handler = interrupted };
	struct entitylock_version version = { 0 };
	pthread_condattr_t clock;
	int domain;

	edges_init(&run.edges, known);
	sigaction(SIGUSR1, &action, NULL);
	run.cookies = mmap(NULL, sizeof(*run.cookies), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run.cookies == MAP_FAILED || run.epoll < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, run.sockets))
		abort();
	pthread_mutex_init(&run.lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&run.changed, &clock);
	for (unsigned int i = 0; i < SLOTS; i++)
		run.slots[i].fd = -1;

	run.busy = LANES;
	for (unsigned int i = 0; i < LANES; i++) {
		run.lanes[i].number = i;
		pthread_cond_init(&run.lanes[i].started, NULL);
		if (pthread_create(&run.lanes[i].thread, NULL, lane_main, &run.lanes[i]))
			abort();
	}
	pthread_mutex_lock(&run.lock);
	while (run.busy)
		pthread_cond_wait(&run.changed, &run.lock);
	pthread_mutex_unlock(&run.lock);

	domain = domain_open(O_RDWR);
	if (domain < 0 || el_ioctl(domain, ENTITYLOCK_IOC_VERSION, &version))
		violation("%s: %d", DEVICE, domain);
	run.lease_max = version.lease_max;
	watch(domain);
	close(domain);
	nothing_is_left();
}

static void begin(const struct program *program)
{
	edges_new_run(&run.edges);
	run.program = program;
	run.turn = 0;
	run.over = false;
	run.made = 0;
	run.births = 0;
	run.copied = false;
	run.exact = program->ordered;
	for (unsigned int i = 0; i < program->count; i++) {
		run.results[i] = NOT_MADE;
		run.lanes[program->steps[i].lane].start = true;
	}
	for (unsigned int i = 0; i < LANES; i++) {
		if (!run.lanes[i].start)
			continue;
		run.busy++;
		pthread_cond_signal(&run.lanes[i].started);
	}
}

/* Of what is waited for all is given up: so every wait ends by a grant. */
static void end_all(void)
{
	__u64 end = now() + 3 * limit_seconds() * NSEC_PER_SEC;
	unsigned int waiting, busy;

	do {
		pthread_mutex_lock(&run.lock);
		if (run.busy)
			wait_change(now() + TURN_NS);
		busy = run.busy;
		pthread_mutex_unlock(&run.lock);
		/* After that: the last lane may have left something. */
		waiting = give_up_all();
		if ((busy || waiting) && now() > end)
			violation("slots %x and %u lanes wait, and nobody holds anything", waiting,
				  busy);
	} while (busy || waiting);
}

unsigned int run_program(const struct program *program)
{
	unsigned int made;

	pthread_mutex_lock(&run.lock);
	begin(program);
	do {
		__u64 end;

		made = run.made;
		end = now() + (made ? STILL_NS : START_NS);
		while (run.busy && wait_change(end))
			;
	} while (run.busy && run.made != made);
	run.over = true;
	pthread_cond_broadcast(&run.changed);
	if (!run.busy)
		nothing_conflicts();
	pthread_mutex_unlock(&run.lock);
	end_all();
	nothing_is_left();
	return run.made;
}
