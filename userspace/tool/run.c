// SPDX-License-Identifier: GPL-2.0
/*
 * entitylock run: run a command while holding a lock
 *
 * The lock is taken in this process, which then waits for its child.  While it
 * waits for the lock no signal is handled: the default action ends the process
 * and with it the request.  While the child runs, signals are passed on to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entitylock.h"
#include "tool.h"

static const char help[] =
"Usage: entitylock run [OPTION...] NAME... -- COMMAND [ARGUMENT...]\n"
"\n"
"Locks all the names, runs the command, and unlocks when the command ends.  All\n"
"names are locked together or none, in an order that cannot deadlock.\n"
"\n"
"  -x, --exclusive     lock the names that follow exclusively (the default)\n"
"  -s, --shared        lock the names that follow shared\n"
"      --name NAME     a name, also one that begins with '-'\n"
"  -n, --nonblock      do not wait if a name is locked\n"
"  -w, --timeout SECONDS\n"
"                      do not wait longer than this; fractions are allowed\n"
"  -E, --conflict-exit-code CODE\n"
"                      exit status, 0 to 255, when -n or -w gave up (124)\n"
"      --label TEXT    what 'entitylock ls' shows; the default is the command\n"
"      --inherit       let the command inherit the lock's descriptor, the\n"
"                      number of which is in ENTITYLOCK_FD\n"
"  -v, --verbose       say why -n or -w gave up\n"
"  -h, --help          print this\n"
"\n"
"The exit status is that of the command, or 128 + N if signal N ended it, or\n"
"124  -n or -w gave up\n"
"125  entitylock itself failed\n"
"126  the command cannot be executed\n"
"127  the command was not found\n";

struct run {
	struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	unsigned int count;
	uint32_t mode;		/* of the names to come */
	bool mode_unused;	/* no name came after -s or -x */
	bool nonblock;
	bool timed;
	uint64_t timeout;
	unsigned int conflict_status;
	const char *label;
	bool inherit;
	bool verbose;
	char **command;
};

enum {
	OPTION_NAME = 256,
	OPTION_LABEL,
	OPTION_INHERIT,
};

static const struct option long_options[] = {
	{ "exclusive", no_argument, NULL, 'x' },
	{ "shared", no_argument, NULL, 's' },
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 'w' },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "label", required_argument, NULL, OPTION_LABEL },
	{ "inherit", no_argument, NULL, OPTION_INHERIT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

static int add_name(struct run *run, const char *name)
{
	size_t len = strlen(name);

	if (!len)
		return fail("run", "a name is empty; give it at least one byte");
	if (len > ENTITYLOCK_NAME_MAX)
		return fail("run", "the name '%.20s...' has %zu bytes; shorten it to %d",
			    name, len, ENTITYLOCK_NAME_MAX);
	if (run->count == ENTITYLOCK_SET_MAX)
		return fail("run", "more than %d names; lock something that stands for many",
			    ENTITYLOCK_SET_MAX);
	entitylock_entity_init(&run->set[run->count++], name, len, run->mode);
	run->mode_unused = false;
	return 0;
}

static int set_label(struct run *run, const char *label)
{
	size_t len = strlen(label);

	if (len > ENTITYLOCK_LABEL_MAX)
		return fail("run", "the label has %zu bytes; shorten it to %d",
			    len, ENTITYLOCK_LABEL_MAX);
	run->label = label;
	return 0;
}

static int set_mode(struct run *run, uint32_t mode)
{
	run->mode = mode;
	run->mode_unused = true;
	return 0;
}

static int set_timeout(struct run *run, const char *text)
{
	if (!parse_seconds(text, &run->timeout))
		return fail("run", "'%s' is no time; give seconds, 0 to 18446744072, such as 2.5",
			    text);
	run->timed = true;
	return 0;
}

static int set_conflict_status(struct run *run, const char *text)
{
	if (!parse_integer(text, 255, &run->conflict_status))
		return fail("run", "'%s' is not an exit status; give 0 to 255",
			    text);
	return 0;
}

static int set_option(struct run *run, int code, char **argv)
{
	switch (code) {
	case 'x':
		return set_mode(run, ENTITYLOCK_EXCLUSIVE);
	case 's':
		return set_mode(run, ENTITYLOCK_SHARED);
	case 1: /* what is no option */
	case OPTION_NAME:
		return add_name(run, optarg);
	case 'n':
		run->nonblock = true;
		return 0;
	case 'w':
		return set_timeout(run, optarg);
	case 'E':
		return set_conflict_status(run, optarg);
	case OPTION_LABEL:
		return set_label(run, optarg);
	case OPTION_INHERIT:
		run->inherit = true;
		return 0;
	case 'v':
		run->verbose = true;
		return 0;
	default:
		return fail_option("run", code, argv, long_options);
	}
}

/* Whether what was given makes sense together. */
static int check(const struct run *run, bool separated)
{
	if (!run->count)
		return fail_usage("run", "there is no name to lock");
	if (!separated)
		return fail_usage("run", "there is no '--' between the names and the command");
	if (!*run->command)
		return fail_usage("run", "there is no command after '--'");
	if (run->mode_unused)
		return fail("run", "-s or -x after the last name; put it before its names");
	if (run->nonblock && run->timed)
		return fail("run", "-n and -w exclude each other; leave one out");
	return 0;
}

/*
 * Reads the command line into @run.  Returns false if that was all that there
 * is to do, with the exit status in *@status.
 */
static bool parse(struct run *run, int argc, char **argv, int *status)
{
	int code;

	run->mode = ENTITYLOCK_EXCLUSIVE;
	run->conflict_status = EXIT_TIMED_OUT;
	opterr = 0;
	/* "-": names and options in the order given; ":": tell ':' from '?' */
	while ((code = getopt_long(argc, argv, "-:xsnw:E:vh", long_options,
				   NULL)) != -1) {
		if (code == 'h') {
			*status = print_help("run", help);
			return false;
		}
		*status = set_option(run, code, argv);
		if (*status)
			return false;
	}
	run->command = argv + optind;
	*status = check(run, !strcmp(argv[optind - 1], "--"));
	return !*status;
}

/* The beginning of the command line, for those who list the lock. */
static void label_of_command(char label[ENTITYLOCK_LABEL_MAX + 1], char **command)
{
	size_t used = 0;
	int len;

	for (; *command && used < ENTITYLOCK_LABEL_MAX; command++) {
		len = snprintf(label + used, ENTITYLOCK_LABEL_MAX + 1 - used,
			       "%s%s", used ? " " : "", *command);
		used += (size_t)len;
	}
}

/* Returns a token, or -1 and the exit status. */
static int take(struct run *run, int *status)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	char label[ENTITYLOCK_LABEL_MAX + 1];
	int domain, token;

	domain = open_device("run", O_WRONLY);
	if (domain < 0) {
		*status = EXIT_OWN_FAILURE;
		return -1;
	}

	if (run->nonblock)
		options.deadline = ENTITYLOCK_NOWAIT;
	else if (run->timed)
		options.deadline = entitylock_deadline_in(run->timeout);
	label_of_command(label, run->command);
	options.label = run->label ? run->label : label;
	options.restart = 1;
	token = entitylock_acquire_set(domain, run->set, run->count, &options,
				       NULL);
	close(domain);
	if (token >= 0)
		return token;

	if (token == -EAGAIN || token == -ETIMEDOUT) {
		*status = (int)run->conflict_status;
		if (run->verbose)
			fail("run", "gave up: %s",
			     entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, token));
	} else {
		*status = fail("run", "cannot lock: %s",
			       entitylock_explain(ENTITYLOCK_VERB_ACQUIRE,
						  token));
	}
	return -1;
}

/* The signals that are passed on to the command. */
static const int passed_on[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT,
	SIGTSTP,
};

static void watched_signals(sigset_t *set)
{
	size_t i;

	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(set, passed_on[i]);
}

/* Lets the default action of SIGTSTP stop this process. */
static void stop_here(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Passes signals on until the command has ended; returns its wait status. */
static int attend(pid_t pid)
{
	siginfo_t info;
	sigset_t set;
	int sig, status;

	watched_signals(&set);
	for (;;) {
		sig = sigwaitinfo(&set, &info);
		if (sig == SIGCHLD && waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (sig < 0 || sig == SIGCHLD)
			continue;
		/* What the terminal sent has reached the command as well. */
		if (info.si_code <= 0)
			kill(pid, sig);
		if (sig == SIGTSTP)
			stop_here();
	}
}

static void execute(const struct run *run, int token)
{
	char number[12];
	int err;

	if (run->inherit) {
		snprintf(number, sizeof(number), "%d", token);
		if (setenv("ENTITYLOCK_FD", number, 1) ||
		    fcntl(token, F_SETFD, 0)) {
			fail("run", "cannot pass the lock on: %s",
			     strerror(errno));
			_exit(EXIT_OWN_FAILURE);
		}
	}
	execvp(run->command[0], run->command);
	err = errno;
	fail("run", "cannot execute '%s': %s", run->command[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

/* Runs the command to its end; returns the exit status. */
static int run_command(const struct run *run, int token)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, chld;
	sigset_t watched, mask;
	int status;
	pid_t pid;

	watched_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &mask);
	/* Were it ignored, as it may be from the start, there were no status. */
	sigaction(SIGCHLD, &dfl, &chld);

	pid = fork();
	if (pid < 0)
		return fail("run", "cannot start the command: %s",
			    strerror(errno));
	if (!pid) {
		sigaction(SIGCHLD, &chld, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		execute(run, token);
	}
	status = attend(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : EXIT_BY_SIGNAL + WTERMSIG(status);
}

int run_main(int argc, char **argv)
{
	static struct run run;
	int status, token;

	if (!parse(&run, argc, argv, &status))
		return status;
	token = take(&run, &status);
	if (token < 0)
		return status;
	return run_command(&run, token);
}
