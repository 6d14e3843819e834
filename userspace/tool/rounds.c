// SPDX-License-Identifier: GPL-2.0
/* What is done again and again. */
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "entitylock.h"
#include "rounds.h"
#include "tool.h"

static volatile sig_atomic_t ended;
static sigset_t unblocked;

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

void rounds_begin(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction end = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;
	sigset_t set;
	size_t i;

	/* Blocked but in rounds_sleep(), so that none comes just before it sleeps. */
	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		/* nohup(1), and a shell for its background, know what they want. */
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &end, NULL);
		sigaddset(&set, signals[i]);
	}
	sigaction(SIGPIPE, &ignore, NULL);
	sigprocmask(SIG_BLOCK, &set, &unblocked);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigdelset(&unblocked, signals[i]);
}

bool rounds_ended(void)
{
	return ended;
}

void rounds_end(void)
{
	ended = 1;
}

bool rounds_sleep(uint64_t until, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t now = entitylock_deadline_in(0);
	uint64_t left = until > now ? until - now : 0;
	struct timespec ts = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};

	return !ended && ppoll(&pfd, 1, &ts, &unblocked) > 0;
}
