// SPDX-License-Identifier: GPL-2.0
/*
 * The command that runs while a lock is held.  This process keeps the lock, and
 * passes on the signals that it gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "request.h"

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

static void become(const char *sub, char **command, int token, bool inherit)
{
	char number[12];
	int err;

	if (inherit) {
		snprintf(number, sizeof(number), "%d", token);
		if (setenv("ENTITYLOCK_FD", number, 1) ||
		    fcntl(token, F_SETFD, 0)) {
			fail(sub, "cannot pass the lock on: %s",
			     strerror(errno));
			_exit(EXIT_OWN_FAILURE);
		}
	}
	execvp(command[0], command);
	err = errno;
	fail(sub, "cannot execute '%s': %s", command[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

int run_command(const char *sub, char **command, int token, bool inherit)
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
		return fail(sub, "cannot start the command: %s",
			    strerror(errno));
	if (!pid) {
		sigaction(SIGCHLD, &chld, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		become(sub, command, token, inherit);
	}
	status = attend(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : EXIT_BY_SIGNAL + WTERMSIG(status);
}
