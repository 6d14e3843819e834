// SPDX-License-Identifier: GPL-2.0
/*
 * record [--seconds N] [--seed N]: many processes lock the same few names, are
 * paused and killed, lose leases, break each other's locks, take the gate, park
 * tokens and send them, while the real-time clock is stepped.  What they did is
 * printed as a history: see history.h.
 *
 *   record.c   what a process does next; the controller, which pauses and kills
 *   calls.c    each call, and how it is written down
 *   parcels.c  the same for those that hand a token over
 */
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "record.h"

#define CALLS_A_TURN	32	/* at most */
#define KILLER		WORKERS	/* log of the controller */

struct shared *shared;

static void linger(struct worker *worker)
{
	if (chance(worker, 30))
		usleep(below(worker, 500));
	else if (chance(worker, 30))
		sched_yield();
}

/* --- A worker --- */

/* Until it is granted, has failed, or is given up. */
static bool await_grant(struct worker *worker)
{
	for (unsigned int looks = 0; looks < CALLS_A_TURN / 4; looks++) {
		struct pollfd pfd = { .fd = worker->fd, .events = POLLIN };
		enum result result = look_call(worker);

		if (result == GRANTED) {
			post(worker, token_fence(worker->fd));
			return true;
		}
		if (result == FAILED)
			worker->locked = false;
		if (result != WAITS)
			return false;
		if (chance(worker, 3))
			break;
		poll(&pfd, 1, chance(worker, 30) ? 0 : 20);
	}
	close_call(worker);
	return false;
}

static void hold_turn(struct worker *worker)
{
	for (unsigned int calls = 0; calls < 4 && worker->fd >= 0 && worker->locked; calls++) {
		linger(worker);
		if (chance(worker, 40) && look_call(worker) == LOST) {
			close_call(worker);
			return;
		}
		if (chance(worker, 10))
			hand_over_call(worker);
		else if (chance(worker, 10) && !has_gate(worker))
			extend_call(worker);
		else if (chance(worker, 15) && !has_gate(worker))
			convert_call(worker);
		else if (worker->lease && chance(worker, 30))
			renew_call(worker);
		else if (chance(worker, 60))
			unlock_call(worker);
	}
}

static void turn(struct worker *worker)
{
	enum result result;

	if (chance(worker, 5))
		break_call(worker);
	if (worker->fd < 0 && chance(worker, 50) && take_over_call(worker))
		result = GRANTED;
	else
		result = worker->fd < 0 ? acquire_call(worker) : lock_call(worker);
	if (result == GRANTED || (result == WAITS && await_grant(worker)))
		hold_turn(worker);
	if (worker->fd >= 0 && (worker->locked || chance(worker, 50)))
		close_call(worker);
	linger(worker);
}

static bool has_room(unsigned int slot)
{
	return shared->logs[slot].count < LOG_MAX - CALLS_A_TURN;
}

static void worker_main(unsigned int slot, u32 process, unsigned int seed, int domain)
{
	struct worker worker = {
		.slot = slot,
		.process = process,
		.seed = seed + process,
		.domain = domain,
		.fd = -1,
	};

	while (!shared->stop && has_room(slot))
		turn(&worker);
	if (worker.fd >= 0)
		close_call(&worker);
}

/* --- The controller --- */

static pid_t pids[WORKERS];
static u32 processes[WORKERS];
static unsigned int kills, pauses, steps;

static void start(unsigned int slot, unsigned int seed, int domain)
{
	static u32 process;

	processes[slot] = ++process;
	pids[slot] = spawn();
	if (pids[slot])
		return;
	worker_main(slot, process, seed, domain);
	_exit(0);
}

static void kill_one(struct worker *killer)
{
	unsigned int slot = below(killer, WORKERS);
	struct event *event;

	if (!has_room(slot))
		return;
	event = call_begins(killer, KILL);
	event->number = processes[slot];
	kill(pids[slot], SIGKILL);
	if (reap(pids[slot]) == -1)
		abort();
	call_ends(event, OK, 0);
	parcels_of_the_dead(processes[slot]);
	kills++;
	start(slot, killer->seed, killer->domain);
}

static void pause_one(struct worker *killer)
{
	pid_t pid = pids[below(killer, WORKERS)];

	kill(pid, SIGSTOP);
	usleep(below(killer, 10000));
	kill(pid, SIGCONT);
	pauses++;
}

/* There and back: it must not concern leases, nor deadlines by other clocks. */
static void step_clock(struct worker *killer)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += steps++ % 2 ? -3600 : 3600;
	if (clock_settime(CLOCK_REALTIME, &time))
		abort();
	usleep(below(killer, 1000));
}

static bool all_full(void)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		if (has_room(i))
			return false;
	return true;
}

/* A domain of our own, in which names in small letters are never reclaimed. */
static int domain_make(void)
{
	struct entitylock_domain arg = { .flags = ENTITYLOCK_PRIVATE };
	int domain = domain_open(O_RDWR);

	if (domain < 0 || el_ioctl(domain, ENTITYLOCK_IOC_DOMAIN, &arg)) {
		fprintf(stderr, DEVICE ": %s\n", strerror(domain < 0 ? -domain : errno));
		exit(2);
	}
	for (size_t i = 0; i < LETTERS; i++)
		if (is_kept(thing_of(*letters[i])) && idle(domain, letters[i]) < 0)
			exit(2);
	return domain;
}

/* Nobody takes what is sent now, and others may wait for it. */
static bool reap_without_parcels(pid_t pid)
{
	pid_t ended;
	int status;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
		parcels_drop();
		usleep(1000);
	}
	return ended == pid && status == 0;
}

static bool record(unsigned int seconds, unsigned int seed, int domain)
{
	struct worker killer = { .slot = KILLER, .seed = seed, .domain = domain };
	__u64 end = now() + seconds * NSEC_PER_SEC;
	bool good = true;

	for (unsigned int i = 0; i < WORKERS; i++)
		start(i, seed, domain);
	while (now() < end && !all_full() && has_room(KILLER)) {
		usleep(below(&killer, 20000));
		if (chance(&killer, 40))
			kill_one(&killer);
		else if (chance(&killer, 20))
			step_clock(&killer);
		else
			pause_one(&killer);
	}
	if (steps % 2)
		step_clock(&killer);
	shared->stop = true;
	for (unsigned int i = 0; i < WORKERS; i++)
		good &= reap_without_parcels(pids[i]);
	return good;
}

static int by_begin(const void *a, const void *b)
{
	const struct event *one = *(const struct event **)a, *other = *(const struct event **)b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return one < other ? -1 : 1;
}

static void print_history(void)
{
	const struct event **all = calloc((WORKERS + 1) * LOG_MAX, sizeof(*all));
	u32 count = 0;

	if (!all)
		abort();
	for (unsigned int i = 0; i <= WORKERS; i++)
		for (u32 j = 0; j < shared->logs[i].count; j++)
			all[count++] = &shared->logs[i].events[j];
	qsort(all, count, sizeof(*all), by_begin);
	for (u32 i = 0; i < count; i++)
		event_print(stdout, all[i]);
	fprintf(stderr, "# %u calls of %u processes, %u killed, %u paused, %u clock steps\n",
		count, WORKERS + kills, kills, pauses, steps);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	unsigned int seconds = 20, seed = 1;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?') {
			fputs("record [--seconds N] [--seed N]\n", stderr);
			return 2;
		}
		*(option == 't' ? &seconds : &seed) = strtoul(optarg, NULL, 10);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || !parcels_make())
		abort();
	if (!record(seconds, seed, domain_make())) {
		fprintf(stderr, "record: a process did not end by itself\n");
		return 1;
	}
	print_history();
	return 0;
}
