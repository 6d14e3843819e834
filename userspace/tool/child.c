// SPDX-License-Identifier: GPL-2.0
/*
 * The command that runs while a lock is held.  This process keeps the lock and
 * its lease, passes on the signals that it gets, and ends the command when the
 * lock is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
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

/* What the command is to find as it was. */
static struct sigaction pipe_before;

void ignore_sigpipe(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, &pipe_before);
}

/* What a command is watched by while it runs. */
enum { SIGNALS, TIMER, TOKEN, WATCHED };

struct watch {
	const struct request *request;
	pid_t pid;
	int token;
	bool robust;
	struct pollfd pfd[WATCHED];
	bool lost;
	uint64_t kill_at;	/* CLOCK_MONOTONIC; ENTITYLOCK_FOREVER = never */
	pid_t tellers[2];	/* of the loss, and of the kill */
	int nr_tellers;
};

/* Sleeps until one of them has news, or until it is time to kill. */
static void sleep_until_news(struct watch *watch)
{
	uint64_t now = entitylock_deadline_in(0);
	uint64_t left = watch->kill_at > now ? watch->kill_at - now : 0;
	struct timespec ts = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};
	bool forever = watch->kill_at == ENTITYLOCK_FOREVER;
	int i;

	if (ppoll(watch->pfd, WATCHED, forever ? NULL : &ts, NULL) >= 0)
		return;
	for (i = 0; i < WATCHED; i++)
		watch->pfd[i].revents = 0;
}

/*
 * Whether a key of the terminal sent it, to the whole foreground: the command has it as
 * well.  What else the kernel sends is for this process: HUP when the terminal hangs up,
 * if it leads the session, CONT behind that, and ALRM of a timer that it was started with.
 */
static bool is_of_key(const struct signalfd_siginfo *info)
{
	return info->ssi_code > 0 && (info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT ||
				      info->ssi_signo == SIGTSTP);
}

/* Reads one signal, and passes it on if it is for the command. */
static void pass_signal(const struct watch *watch)
{
	struct signalfd_siginfo info;

	if (read(watch->pfd[SIGNALS].fd, &info, sizeof(info)) != sizeof(info) ||
	    info.ssi_signo == SIGCHLD)
		return;
	if (!is_of_key(&info))
		kill(watch->pid, (int)info.ssi_signo);
	if (info.ssi_signo == SIGTSTP)
		stop_here();
}

/*
 * What tells of a change of the token once.  The token itself goes on to report POLLERR
 * when a command that has inherited it has waited in vain for more.
 */
static int watch_token(int token)
{
	struct epoll_event event = { .events = EPOLLET };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 && !epoll_ctl(fd, EPOLL_CTL_ADD, token, &event))
		return fd;
	close(fd);
	return -1;
}

static bool has_hung_up(const struct watch *watch)
{
	struct epoll_event event;

	return watch->pfd[TOKEN].revents &&
	       epoll_wait(watch->pfd[TOKEN].fd, &event, 1, 0) == 1 && event.events & EPOLLHUP;
}

/* Renews the lease if it is time; whether the lock is found lost. */
static bool is_lost(const struct watch *watch)
{
	if (has_hung_up(watch))
		return true;
	return watch->pfd[TIMER].revents &&
	       entitylock_keep(watch->pfd[TIMER].fd, watch->token) == -ESTALE;
}

/*
 * Says something while the command runs.  In a process of its own: the standard error
 * may be a pipe that is full, and nothing that is to be done waits for its reader.
 */
static void tell(struct watch *watch, const char *what)
{
	pid_t teller = fork();

	if (!teller) {
		close(watch->token);
		fail(watch->request->sub, "%s", what);
		_exit(0);
	}
	if (teller > 0)
		watch->tellers[watch->nr_tellers++] = teller;
}

/* The command may do harm now: it is asked to end, also if it is stopped. */
static void lose(struct watch *watch)
{
	watch->lost = true;
	watch->pfd[TIMER].fd = -1;
	watch->pfd[TOKEN].fd = -1;
	watch->kill_at = entitylock_deadline_in(watch->request->grace);
	kill(watch->pid, SIGTERM);
	kill(watch->pid, SIGCONT);
	tell(watch,
	     "the lock is lost: it was broken, or its lease ran out and others came; ending the command");
}

/* It has not heeded that. */
static void finish_off(struct watch *watch)
{
	watch->kill_at = ENTITYLOCK_FOREVER;
	kill(watch->pid, SIGKILL);
	tell(watch, "the command did not end; killing it");
}

/* Watches until the command has ended; returns its wait status. */
static int attend(struct watch *watch)
{
	int status;

	for (;;) {
		sleep_until_news(watch);
		if (watch->pfd[SIGNALS].revents)
			pass_signal(watch);
		if (waitpid(watch->pid, &status, WNOHANG) == watch->pid)
			return status;
		if (!watch->lost && is_lost(watch))
			lose(watch);
		if (entitylock_deadline_in(0) >= watch->kill_at)
			finish_off(watch);
	}
}

static bool export_number(const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return !setenv(name, text, 1);
}

/* Tells the command of its lock, and nothing of one around this. */
static bool export_lock(const struct request *request, const struct entitylock_info *info,
			const char *label, uint32_t result)
{
	unsetenv("ENTITYLOCK_FD");
	unsetenv("ENTITYLOCK_ABANDONED");
	if (result & ENTITYLOCK_ABANDONED && setenv("ENTITYLOCK_ABANDONED", "1", 1))
		return false;
	return domain_export(request) && export_number("ENTITYLOCK_TOKEN", info->id) &&
	       export_number("ENTITYLOCK_FENCE", info->fence) &&
	       !setenv("ENTITYLOCK_LABEL", label, 1);
}

int exec_failed(const struct request *request, int error)
{
	fail(request->sub, "cannot execute '%s': %s", escaped(request->command[0]),
	     strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

static __noreturn void become(const struct request *request, int token)
{
	char **command = request->command;
	int err;

	if (request->inherit && (!export_number("ENTITYLOCK_FD", (unsigned int)token) ||
				 fcntl(token, F_SETFD, 0))) {
		fail(request->sub, "cannot pass the lock on: %s", strerror(errno));
		_exit(EXIT_OWN_FAILURE);
	}
	execvp(command[0], command);
	err = errno;
	/* Nothing was begun that could be half done. */
	entitylock_unlock(token, 0, 0);
	_exit(exec_failed(request, err));
}

static bool start(struct watch *watch)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, chld;
	sigset_t watched, mask;
	int fd;

	watched_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &mask);
	/* Were it ignored, as it may be from the start, there were no status. */
	sigaction(SIGCHLD, &dfl, &chld);

	fd = signalfd(-1, &watched, SFD_CLOEXEC);
	watch->pfd[SIGNALS] = (struct pollfd) { .fd = fd, .events = POLLIN };
	watch->pid = fd < 0 ? -1 : fork();
	if (watch->pid < 0) {
		fail(watch->request->sub, "cannot start the command: %s", strerror(errno));
		return false;
	}
	if (!watch->pid) {
		sigaction(SIGCHLD, &chld, NULL);
		sigaction(SIGPIPE, &pipe_before, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		become(watch->request, watch->token);
	}
	return true;
}

/*
 * Gives the lock back in order, or lets a robust one leave its mark: what was not
 * @done may be half done.  Returns whether the lock is found lost.
 */
static bool give_back(const struct watch *watch, bool done)
{
	const struct request *request = watch->request;
	bool leave = watch->robust && !done;
	int err;

	/* Who has inherited the descriptor may keep the lock, but could not end it in order. */
	if (leave || (request->inherit && !watch->robust))
		err = entitylock_outcome(watch->token, NULL);
	else
		err = entitylock_unlock(watch->token, 0, done && request->consistent
							 ? ENTITYLOCK_CONSISTENT : 0);
	close(watch->token);
	if (!err && leave)
		fail(request->sub,
		     "the command did not succeed: what it locked exclusively is marked as abandoned");
	return err == -ESTALE;
}

/* Prepares all that is needed to watch the command, and starts it. */
static bool begin(struct watch *watch, uint32_t result, bool keep)
{
	const char *sub = watch->request->sub;
	char label[ENTITYLOCK_LABEL_MAX + 1] = "";
	struct entitylock_info info = {
		.label = (uintptr_t)label, .label_len = ENTITYLOCK_LABEL_MAX,
	};
	int err, change, timer = -1;

	err = entitylock_info(watch->token, &info);
	if (err) {
		fail(sub, "cannot ask about the lock: %s",
		     entitylock_explain(ENTITYLOCK_VERB_INFO, err));
		return false;
	}
	if (!export_lock(watch->request, &info, label, result)) {
		fail(sub, "cannot tell the command of the lock: %s", strerror(errno));
		return false;
	}
	if (keep) {
		timer = entitylock_keep_timer(watch->token, watch->request->lease);
		if (timer < 0) {
			fail(sub, "cannot keep the lease: %s",
			     entitylock_explain(ENTITYLOCK_VERB_RENEW, timer));
			return false;
		}
	}
	change = watch_token(watch->token);
	if (change < 0) {
		fail(sub, "cannot watch the lock: %s", strerror(errno));
		return false;
	}
	watch->robust = info.flags & ENTITYLOCK_ROBUST;
	watch->pfd[TIMER] = (struct pollfd) { .fd = timer, .events = POLLIN };
	watch->pfd[TOKEN] = (struct pollfd) { .fd = change, .events = POLLIN };
	return start(watch);
}

int run_command(const struct request *request, int token, uint32_t result, bool keep)
{
	struct watch watch = {
		.request = request, .token = token, .kill_at = ENTITYLOCK_FOREVER,
	};
	int status;

	if (!begin(&watch, result, keep)) {
		entitylock_unlock(token, 0, 0);
		return EXIT_OWN_FAILURE;
	}
	status = attend(&watch);
	if (give_back(&watch, WIFEXITED(status) && !WEXITSTATUS(status)) && !watch.lost) {
		watch.lost = true;
		fail(request->sub, "the lock was lost before the command had ended");
	}
	while (watch.nr_tellers)
		waitpid(watch.tellers[--watch.nr_tellers], NULL, 0);
	if (watch.lost)
		return EXIT_LOST;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : EXIT_BY_SIGNAL + WTERMSIG(status);
}
