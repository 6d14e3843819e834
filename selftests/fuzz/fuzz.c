// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz [OPTION ...]: programs by chance, of all verbs, on the loaded module, as root
 *
 *   --calls N       so many calls (a size for make test)
 *   --seed N        of the random numbers
 *   --corpus FILE   programs to begin with, instead of those of this tree
 *   --log FILE      where the last programs of each process are written before they run
 *   --replay FILE   run the programs in it (- is standard input), and say what comes of
 *                   each step; --times N: run each N times
 *   --merge FILE... print the fewest and shortest programs that reach as much
 *
 * Programs that reach what none did before are printed to standard output; what else
 * there is to say, to standard error.  Where the kernel tells no coverage (KCOV) there
 * are none, and programs come of the corpus and of chance alone.
 *
 * Without --calls it is a test of the kernel's kind (TAP).
 */
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "work.h"

#define LEASE_MAX	"/sys/module/entitylock/parameters/lease_max"
#define REPORT_SECONDS	10
#define STUCK_SECONDS	60

struct shared *shared;

static unsigned int executors = EXECUTORS, deaths;

/* --- What there is to say --- */

static unsigned int edges_known(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < EDGES_MAX; i++)
		count += shared->known[i];
	return count;
}

static void report(__u64 begin)
{
	double seconds = (now() - begin) / 1e9;
	__u64 calls = calls_made(), programs = 0;

	for (unsigned int i = 0; i < executors; i++)
		programs += shared->executors[i].programs;
	fprintf(stderr, "# %.0f s: %llu programs, %llu calls, %.0f a second, ", seconds, programs,
		calls, calls / seconds);
	if (coverage_there())
		fprintf(stderr, "%u edges, corpus %u + %u\n", edges_known(), shared->given,
			shared->count - shared->given);
	else
		fprintf(stderr, "corpus %u\n", shared->given);
}

static void print_program(FILE *file, const struct program *program)
{
	char text[TEXT_MAX];

	program_text(program, text, sizeof(text));
	fprintf(file, "%s\n", text);
	fflush(file);
}

/* Those that were kept since the last time. */
static void print_found(void)
{
	static unsigned int next;

	if (next < shared->given)
		next = shared->given;
	while (next < shared->count && shared->corpus[next].ready)
		print_program(stdout, &shared->corpus[next++].program);
}

/* --- The executors --- */

static void start(unsigned int i)
{
	pid_t pid = spawn();

	if (!pid)
		executor_main(i);
	if (pid < 0)
		abort();
	shared->executors[i].pid = pid;
	shared->executors[i].since = 0;
}

/* Of what ends is only said what is wrong; one that died is followed by another. */
static bool look_after(unsigned int i)
{
	struct executor *executor = &shared->executors[i];
	int status;

	if (!executor->pid || waitpid(executor->pid, &status, WNOHANG) <= 0)
		return executor->pid;
	executor->pid = 0;
	if (!status || (WIFEXITED(status) && WEXITSTATUS(status) == FAILED))
		return false;
	fprintf(stderr, "# an executor died with status %x, by\n", status);
	print_program(stderr, &executor->program);
	deaths++;
	start(i);
	return true;
}

static void print_file(pid_t pid, const char *task, const char *name)
{
	char path[512], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", pid, task, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		fprintf(stderr, "#   %s", line);
	if (file)
		fclose(file);
}

/* Where are its threads? */
static void print_threads(pid_t pid)
{
	char path[64];
	struct dirent *task;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (task = readdir(dir))) {
		if (task->d_name[0] == '.')
			continue;
		print_file(pid, task->d_name, "syscall");
		print_file(pid, task->d_name, "stack");
	}
	if (dir)
		closedir(dir);
}

/* It has not ended its program in time. */
static bool stuck(const struct executor *executor)
{
	__u64 since = executor->since, limit = STUCK_SECONDS / 10 * limit_seconds();

	if (!executor->pid || !since || now() < since + limit * NSEC_PER_SEC)
		return false;
	fprintf(stderr, "# a program has not ended after %llu s\n", limit);
	print_program(stderr, &executor->program);
	print_threads(executor->pid);
	return true;
}

/* Until all have ended.  Return: nothing was found. */
static bool supervise(void)
{
	__u64 begin = now(), next = begin + REPORT_SECONDS * NSEC_PER_SEC;
	const struct timespec pause = { .tv_nsec = 20000000 };
	unsigned int alive = executors;
	bool hangs = false;

	for (unsigned int i = 0; i < executors; i++)
		start(i);
	while (alive && !hangs) {
		nanosleep(&pause, NULL);
		alive = 0;
		for (unsigned int i = 0; i < executors; i++) {
			alive += look_after(i);
			hangs |= stuck(&shared->executors[i]);
		}
		print_found();
		shared->quit = shared->found || deaths > 3;
		if (now() > next && shared->task == FUZZ) {
			report(begin);
			next = now() + REPORT_SECONDS * NSEC_PER_SEC;
		}
	}
	for (unsigned int i = 0; i < executors; i++)
		if (shared->executors[i].pid)
			kill(shared->executors[i].pid, SIGKILL);
	if (shared->found) {
		fprintf(stderr, "# %s, by\n", shared->text);
		print_program(stderr, &shared->culprit);
	}
	if (shared->task == FUZZ)
		report(begin);
	return !shared->found && !deaths && !hangs;
}

/* --- What is wanted --- */

static int read_programs(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	unsigned int line = 0;
	int ret = 1;

	if (!file) {
		fprintf(stderr, "fuzz: %s: %m\n", path);
		return -1;
	}
	while (ret > 0) {
		struct entry *entry = &shared->corpus[shared->given];

		if (shared->given == CORPUS_MAX) {
			fprintf(stderr, "fuzz: %s: more than %u programs\n", path, CORPUS_MAX);
			ret = -1;
			break;
		}
		ret = program_read(file, path, &line, &entry->program);
		if (ret > 0 && entry->program.count) {
			entry->ready = true;
			shared->given++;
		}
	}
	fclose(file);
	return ret;
}

static int usage(void)
{
	fprintf(stderr, "fuzz [--calls N] [--seed N] [--corpus FILE] [--log FILE]\n"
		"fuzz --replay FILE [--times N]\n"
		"fuzz --merge FILE...\n");
	return 2;
}

static __u64 number_of(const char *text)
{
	char *end;
	__u64 number = strtoull(text, &end, 0);

	if (!*text || *end || *text == '-') {
		fprintf(stderr, "fuzz: %s: not a number\n", text);
		exit(2);
	}
	return number;
}

static void set_lease_max(const char *seconds)
{
	int ret = write_file(LEASE_MAX, seconds);

	if (ret) {
		fprintf(stderr, "fuzz: %s: %s (is the module loaded, are you root?)\n", LEASE_MAX,
			strerror(-ret));
		exit(1);
	}
}

/* With leases of a second no token stays parked for long. */
static bool fuzz_with_short_leases(void)
{
	char before[16] = "";
	FILE *file = fopen(LEASE_MAX, "re");
	bool right;

	if (!file || !fgets(before, sizeof(before), file)) {
		fprintf(stderr, "fuzz: %s: %m (is the module loaded?)\n", LEASE_MAX);
		exit(1);
	}
	fclose(file);
	set_lease_max("1");
	right = supervise();
	set_lease_max(before);
	return right;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "calls", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "corpus", required_argument, NULL, 'f' },
		{ "log", required_argument, NULL, 'l' },
		{ "replay", required_argument, NULL, 'r' },
		{ "times", required_argument, NULL, 't' },
		{ "merge", no_argument, NULL, 'm' },
		{ 0 }
	};
	const char *corpus = CORPUS;
	bool right;
	int opt;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		abort();
	shared->log = -1;
	shared->times = 1;
	shared->seed = now_on(CLOCK_REALTIME) / 1000;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			shared->wanted = number_of(optarg);
			break;
		case 's':
			shared->seed = number_of(optarg);
			break;
		case 'f':
			corpus = optarg;
			break;
		case 'l':
			shared->log = open(optarg, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			if (shared->log < 0) {
				fprintf(stderr, "fuzz: %s: %m\n", optarg);
				return 1;
			}
			break;
		case 'r':
			shared->task = REPLAY;
			corpus = optarg;
			break;
		case 't':
			shared->times = number_of(optarg);
			break;
		case 'm':
			shared->task = MERGE;
			break;
		default:
			return usage();
		}
	}
	if (shared->task == MERGE ? optind == argc : optind < argc)
		return usage();
	if (shared->task == MERGE && !coverage_there()) {
		fprintf(stderr, "fuzz: this kernel tells no coverage (KCOV): KERNEL=debug\n");
		return 1;
	}
	if (shared->task != MERGE && read_programs(corpus) < 0)
		return 1;
	while (optind < argc)
		if (read_programs(argv[optind++]) < 0)
			return 1;
	if (shared->task != FUZZ) {
		executors = 1;
		return !fuzz_with_short_leases();
	}
	shared->count = shared->given;
	fprintf(stderr, "# seed %llu, %u programs%s\n", shared->seed, shared->given,
		coverage_there() ? "" : "; no coverage (KCOV) here: no guidance");
	if (shared->wanted)
		return !fuzz_with_short_leases();
	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	shared->wanted = scaled(8000, 2000);
	right = fuzz_with_short_leases();
	printf("%sok 1 L2_L3_L9_whatever_is_called_nothing_is_left\n", right ? "" : "not ");
	return !right;
}
