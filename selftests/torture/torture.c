// SPDX-License-Identifier: GPL-2.0
/*
 * torture [--seconds N] [--seed N] [--blind] [--hotplug] [--pressure] [--priorities]
 *
 * Random verbs from many processes that check each other: see torture.h.
 *
 * The run is made of rounds.  What may happen in a round is drawn from the seed;
 * every third round is a patient one: nobody gives up, so that whoever was not
 * woken when he should have been is not woken by somebody else's giving up.  At
 * the end of each round all come to rest, and nothing may be left.
 *
 * Each thread's random numbers are those of the seed, the round, its place and
 * its incarnation: the same seed makes the same requests, although not in the
 * same order of time.
 *
 * --blind leaves out what the listing tells of those who wait; what the last three
 * add is said in stress.c.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "torture.h"

#define ROUND_SECONDS	5
#define KILLS_AT_ONCE	4

struct shared *shared;

static struct random dice;
static bool blind;
static __u64 kills, signals;

static const char *const may_names[] = {
	"few", "many", "gate", "async", "handover", "deadlines", "cancels", "signals", "kills",
	"owners",
};

static bool failed(void)
{
	return shared->report.since;
}

/* Has it failed, and has enough been seen of it? */
static bool over(void)
{
	return failed() && now() > shared->report.since + ROUND_SECONDS * NSEC_PER_SEC;
}

static void nap(void)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	nanosleep(&pause, NULL);
}

/* --- Workers: born, killed, born again --- */

static void init_workers(void)
{
	unsigned int actor = 0;

	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *worker = &shared->workers[i];

		worker->kind = i < SINGLES ? SINGLE : i < SINGLES + THREADED ? MULTI : FINISHER;
		worker->actors = worker->kind == MULTI ? ACTORS_EACH : 1;
		worker->first = actor;
		for (unsigned int j = 0; j < worker->actors; j++)
			shared->actors[actor++].worker = i;
	}
}

static void start_worker(unsigned int number)
{
	struct worker *worker = &shared->workers[number];
	unsigned int first = worker->first * PLACES;
	pid_t pid;

	for (unsigned int i = 0; i < worker->actors; i++) {
		struct actor *actor = &shared->actors[worker->first + i];

		actor->tid = 0;
		actor->resting = false;
		actor->realtime = false;
	}
	for (unsigned int i = 0; i < worker->actors * PLACES; i++) {
		shared->seats[first + i].since = 0;
		shared->seats[first + i].state = EMPTY;
	}
	worker->incarnation++;
	worker->killed = false;
	pid = spawn();
	if (!pid)
		_exit(worker_main(number));
	if (pid < 0)
		abort();
	worker->pid = pid;
}

static void kill_worker(struct worker *worker)
{
	worker->killed = true;
	kill(worker->pid, SIGKILL);
}

static void bury_worker(struct worker *worker)
{
	int status = reap(worker->pid);

	if (status != 256 + SIGKILL)
		violation(NOTHING_LEFT, NULL, NULL, "pid %d, killed, ended with %d", worker->pid,
			  status);
	worker->pid = 0;
	forget(worker->first * PLACES, worker->actors * PLACES);
}

static void kill_some(void)
{
	unsigned int first = below(&dice, WORKERS);
	unsigned int count = 1 + below(&dice, KILLS_AT_ONCE);

	for (unsigned int i = 0; i < count; i++)
		kill_worker(&shared->workers[(first + i) % WORKERS]);
	for (unsigned int i = 0; i < count; i++) {
		bury_worker(&shared->workers[(first + i) % WORKERS]);
		start_worker((first + i) % WORKERS);
	}
	kills += count;
}

static void signal_one(void)
{
	struct actor *actor = &shared->actors[below(&dice, ACTORS)];
	struct worker *worker = &shared->workers[actor->worker];

	/* One that has not yet come to life has no number. */
	if (!syscall(SYS_tgkill, worker->pid, actor->tid, SIGUSR1))
		signals++;
}

static void check_alive(void)
{
	for (unsigned int i = 0; i < WORKERS; i++) {
		int status;

		if (shared->workers[i].pid && waitpid(shared->workers[i].pid, &status, WNOHANG)) {
			violation(NOTHING_LEFT, NULL, NULL, "worker %u ended by itself, status %x",
				  i, status);
			shared->workers[i].pid = 0;
		}
	}
}

/* --- The watchdog --- */

/*
 * A wait is to end when others have let go, and they do that soon.  If all have,
 * as far as they say, something was forgotten.
 */
static void watch_seat(struct seat *seat)
{
	__u64 limit = limit_seconds() * NSEC_PER_SEC;
	__u64 since = seat->since, until = seat->until;
	__u64 over = until == FOREVER ? since : until;

	if (!since || seat_worker(seat_number(seat))->killed || now() < over + limit)
		return;
	if (!free_for(seat) && now() < over + 4 * limit)
		return;
	if (!failed())
		report_waits();
	violation(WOKEN, seat, NULL, "waits for %s, %s", verb_names[seat->verb],
		  free_for(seat) ? "and nobody holds it" : "too long");
}

/* Of an entity that is free nobody waits for, not for a moment. */
static void watch_listing(int domain)
{
	static struct row row;
	char *text = listing_read(domain, 65536);
	char *line = text ? strchr(text, '\n') + 1 : NULL;

	if (!text)
		violation(NOTHING_LEFT, NULL, NULL, "the listing cannot be read");
	for (; line && *line; line = strchr(line, '\n') + 1) {
		if (!row_parse(line, &row))
			violation(NOTHING_LEFT, NULL, NULL, "a line cannot be read: %.100s", line);
		else if (!strcmp(row.state, "free") && row.waiters)
			violation(WOKEN, NULL, NULL, "%s is free, and %u wait for it: %.200s",
				  row.name, row.waiters, row.waiter);
	}
	free(text);
	lseek(domain, 0, SEEK_SET);
}

static void watch(int domain)
{
	static __u64 next;

	if (now() < next)
		return;
	for (unsigned int i = 0; i < SEATS; i++)
		watch_seat(&shared->seats[i]);
	if (!blind)
		watch_listing(domain);
	check_alive();
	next = now() + NSEC_PER_SEC / 2;
}

/* --- Progress --- */

static __u64 operations(void)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < ACTORS; i++)
		sum += shared->actors[i].operations;
	return sum;
}

static __u64 grants(void)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < ACTORS; i++)
		sum += shared->actors[i].grants;
	return sum;
}

static __u32 done(enum verb verb, enum outcome outcome)
{
	__u32 sum = 0;

	for (unsigned int i = 0; i < ACTORS; i++)
		sum += shared->actors[i].done[verb][outcome];
	return sum;
}

static void print_progress(void)
{
	double seconds = (now() - shared->begin) / 1e9;

	printf("# %3.0f s: %llu operations, %llu grants, %.0f a second, %u of the gate, %llu kills",
	       seconds, operations(), grants(), grants() / seconds, done(TAKE_GATE, OK), kills);
	printf("; round %u:", shared->round);
	for (unsigned int i = 0; i < ARRAY_SIZE(may_names); i++)
		if (shared->may & 1U << i)
			printf(" %s", may_names[i]);
	printf("\n");
}

static void progress(void)
{
	static __u64 next;

	if (now() < next)
		return;
	if (next)
		print_progress();
	next = now() + 5 * NSEC_PER_SEC;
}

/* --- Rounds --- */

static unsigned int draw_round(unsigned int round)
{
	unsigned int may = 0;

	if (!round)
		return DO_ALL;
	for (unsigned int bit = 1; bit < DO_ALL; bit <<= 1)
		if (chance(&dice, 70))
			may |= bit;
	if (round % 3 == 1)
		may = (may & ~DO_RESCUES) | DO_FEW;
	return may & (DO_FEW | DO_MANY) ? may : may | DO_FEW;
}

static void tick(int domain)
{
	nap();
	if (shared->may & DO_SIGNALS)
		for (int i = 0; i < 8; i++)
			signal_one();
	stress_tick(&dice);
	watch(domain);
	progress();
}

static bool all_resting(void)
{
	for (unsigned int i = 0; i < ACTORS; i++)
		if (!shared->actors[i].resting)
			return false;
	return true;
}

static bool listing_empty(int domain)
{
	char *text = listing_read(domain, 65536);
	bool empty = text && strchr(text, '\n') && !strchr(text, '\n')[1];

	free(text);
	lseek(domain, 0, SEEK_SET);
	return empty;
}

/*
 * Robust holders were killed, or closed what they held: their marks stay.  Those
 * who had parked what they held leave one when the parking ends.
 */
static void drop_marks(int domain)
{
	struct entitylock_break arg = { .flags = ENTITYLOCK_GATE };

	el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
	for (unsigned int what = 1; what < THINGS; what++) {
		arg = (struct entitylock_break){
			.name = ptr(name_of(what)),
			.name_len = strlen(name_of(what)),
		};
		el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
	}
}

/* The first lines of the listing. */
static void print_listing(int domain)
{
	char *text, *line, *end;

	lseek(domain, 0, SEEK_SET);
	text = listing_read(domain, 65536);
	line = text;
	for (int i = 0; i < 8 && line && (end = strchr(line, '\n')); i++, line = end + 1)
		printf("# %.*s\n", (int)(end - line), line);
	free(text);
}

static void check_nothing_left(int domain)
{
	if (occupied())
		violation(NOTHING_LEFT, NULL, NULL, "%u things are marked at rest", occupied());
	if (!eventually((drop_marks(domain), live_entities(domain) == 0)))
		violation(NOTHING_LEFT, NULL, NULL, "%u entities are left at rest",
			  live_entities(domain));
	if (!eventually(listing_empty(domain)))
		violation(NOTHING_LEFT, NULL, NULL, "the listing is not empty at rest");
	if (failed())
		print_listing(domain);
}

static void run_round(unsigned int round, int domain, __u64 end)
{
	__u64 next_kill = 0;

	shared->round = round;
	dice = random_from(shared->seed, round, ACTORS, 0);
	shared->may = draw_round(round);
	shared->stop = false;
	while (now() < end && !over()) {
		tick(domain);
		if (shared->may & DO_KILLS && now() >= next_kill && !failed()) {
			kill_some();
			next_kill = now() + scaled_ns((20 + below(&dice, 200)) * NSEC_PER_MSEC);
		}
	}
	shared->stop = true;
	while (!over() && !all_resting())
		tick(domain);
	if (!failed())
		check_nothing_left(domain);
}

/* --- The end --- */

static void end_workers(void)
{
	bool by_force = failed();

	shared->quit = true;
	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *worker = &shared->workers[i];
		int status;

		if (!worker->pid)
			continue;
		if (by_force)
			kill_worker(worker);
		status = reap(worker->pid);
		if (status && !(by_force && status == 256 + SIGKILL))
			violation(NOTHING_LEFT, NULL, NULL, "worker %u ended with %d", i, status);
	}
}

static __u32 outcomes(enum outcome outcome)
{
	__u32 sum = 0;

	for (unsigned int verb = 0; verb < VERBS; verb++)
		sum += done(verb, outcome);
	return sum;
}

static void check_all_done(void)
{
	__u64 ordered = 0;

	for (unsigned int i = 0; i < ACTORS; i++)
		ordered += shared->actors[i].ordered;
	for (unsigned int verb = 0; verb < VERBS; verb++)
		if (!done(verb, OK))
			violation(ALL_DONE, NULL, NULL, "%s never succeeded", verb_names[verb]);
	for (unsigned int outcome = 0; outcome < NOMEM; outcome++)
		if (!outcomes(outcome))
			violation(ALL_DONE, NULL, NULL, "outcome %u was never seen", outcome);
	if (!kills || !signals || !ordered)
		violation(ALL_DONE, NULL, NULL, "%llu kills, %llu signals, %llu waits in order",
			  kills, signals, ordered);
	printf("# order checked for %llu grants, %llu signals sent\n", ordered, signals);
}

static void print_done(void)
{
	printf("# %-13s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "", "ok", "waits", "EAGAIN",
	       "ETIMEDOUT", "EINTR", "ECANCELED", "EDEADLK", "EBADFD", "ESTALE", "ENOMEM");
	for (unsigned int verb = 0; verb < VERBS; verb++) {
		printf("# %-13s", verb_names[verb]);
		for (unsigned int outcome = 0; outcome < OUTCOMES; outcome++)
			printf(" %9u", done(verb, outcome));
		printf("\n");
	}
}

/*
 * Among those who do the same: the most grants of a thread, and the fewest.
 * Finishers take what they get.
 */
static void check_fair(void)
{
	printf("# fairness, most and fewest grants of a thread:");
	for (unsigned int kind = 0; kind < FINISHER; kind++) {
		__u64 most = 0, fewest = FOREVER;

		for (unsigned int i = 0; i < ACTORS; i++) {
			__u64 count = shared->actors[i].grants;

			if (shared->workers[shared->actors[i].worker].kind != kind)
				continue;
			most = count > most ? count : most;
			fewest = count < fewest ? count : fewest;
		}
		printf(" %s %llu/%llu = %.2f", kind_names[kind], most, fewest,
		       fewest ? (double)most / fewest : 0);
		if (most > 3 * fewest + 30)
			violation(FAIR, NULL, NULL, "a %s thread starves", kind_names[kind]);
	}
	printf("\n");
}

static int print_result(void)
{
	unsigned int bad = 0;

	if (failed())
		report_print();
	for (unsigned int i = 0; i < CHECKS; i++) {
		bool good = !shared->findings[i].count;

		printf("%sok %u %s\n", good ? "" : "not ", i + 1, check_names[i]);
		bad += !good;
	}
	printf("%u passed, %u failed\n", CHECKS - bad, bad);
	return bad ? 1 : 0;
}

/* Tokens that were on their way when all were killed. */
static void drain_inbox(void)
{
	while (recv(shared->inbox[0], NULL, 0, MSG_DONTWAIT) >= 0)
		;
}

static void map_shared(__u64 seed)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, shared->inbox))
		abort();
	shared->seed = seed;
	shared->begin = now();
	shared->stop = true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "blind", no_argument, NULL, 'b' },
		{ "hotplug", no_argument, NULL, 'h' },
		{ "pressure", no_argument, NULL, 'm' },
		{ "priorities", no_argument, NULL, 'p' },
		{ 0 },
	};
	unsigned int seconds = 60, round = 0;
	__u64 seed = now_on(CLOCK_REALTIME) % 1000000007, end;
	int domain, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			seconds = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			blind = true;
			break;
		case 'h':
			stress |= HOTPLUG;
			break;
		case 'm':
			stress |= PRESSURE;
			break;
		case 'p':
			stress |= PRIORITIES;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	domain = domain_open(O_RDWR);
	if (domain < 0) {
		fprintf(stderr, DEVICE ": %s\n", strerror(-domain));
		return 2;
	}
	if (!stress_ready())
		return 2;
	printf("1..%u\n# torture --seconds %u --seed %llu, %.1f times slower than a stock kernel\n"
	       "# %u processes, %u threads, %u names that all want, %u others\n", CHECKS, seconds,
	       seed, speed_scale(), WORKERS, ACTORS, FEW, MANY);

	map_shared(seed);
	names_init();
	init_workers();
	for (unsigned int i = 0; i < WORKERS; i++)
		start_worker(i);
	stress_begin();
	end = now() + seconds * NSEC_PER_SEC;
	while (now() < end && !over()) {
		__u64 round_end = now() + ROUND_SECONDS * NSEC_PER_SEC;

		run_round(round++, domain, round_end < end ? round_end : end);
	}
	end_workers();
	stress_end();
	drain_inbox();
	print_progress();
	print_done();
	if (!failed()) {
		check_nothing_left(domain);
		check_all_done();
		check_fair();
	}
	return print_result();
}
