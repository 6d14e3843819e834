// SPDX-License-Identifier: GPL-2.0
/*
 * lease SECONDS NAME: work under a lease, in an event loop
 *
 * Locks NAME, and does a piece of work for each line of standard input, under the
 * fence that it prints.  Ends with the input; or with status 1 when the lock is lost,
 * because this program was paused for longer than SECONDS and another one came.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <entitylock.h>

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

static int lock(const char *name, uint64_t lease, uint64_t *fence)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	int domain = entitylock_open(NULL, O_RDWR), token;
	struct entitylock_grant grant;

	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	options.lease = lease;
	options.label = "lease";
	token = entitylock_acquire(domain, name, strlen(name), ENTITYLOCK_EXCLUSIVE,
				   &options, &grant);
	if (token < 0)
		die(name, ENTITYLOCK_VERB_ACQUIRE, token);
	close(domain);
	*fence = grant.fence;
	return token;
}

/* A piece of work; false at the end of the input. */
static int work(uint64_t fence)
{
	char piece[4096];
	ssize_t len = read(STDIN_FILENO, piece, sizeof(piece));

	if (len <= 0)
		return 0;
	/* Whoever stores this refuses a fence smaller than the last it has seen. */
	printf("%llu: %.*s", (unsigned long long)fence, (int)len, piece);
	fflush(stdout);
	return 1;
}

/* What can be read when the token has changed; polled itself it may report POLLERR for ever. */
static int watch_changes(int token)
{
	struct epoll_event event = { .events = EPOLLET };	/* POLLHUP comes unasked */
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, token, &event)) {
		perror("epoll");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	uint64_t lease, fence;
	struct pollfd pfd[3] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .events = POLLIN },
		{ .events = POLLIN },
	};
	int token, timer, err;

	if (argc != 3 || atof(argv[1]) <= 0) {
		fputs("usage: lease SECONDS NAME\n", stderr);
		return 1;
	}
	lease = (uint64_t)(atof(argv[1]) * 1e9);
	token = lock(argv[2], lease, &fence);
	timer = entitylock_keep_timer(token, lease);
	if (timer < 0)
		die("lease", ENTITYLOCK_VERB_RENEW, timer);
	printf("%llu: begins\n", (unsigned long long)fence);
	fflush(stdout);

	pfd[1].fd = timer;
	pfd[2].fd = watch_changes(token);
	while (poll(pfd, 3, -1) > 0) {
		if (pfd[1].revents || pfd[2].revents) {
			epoll_wait(pfd[2].fd, &event, 1, 0);	/* it was told */
			err = entitylock_keep(timer, token);
			if (err == -ESTALE)
				die(argv[2], ENTITYLOCK_VERB_RENEW, err);
			continue;	/* before any work: it may have taken long */
		}
		if (pfd[0].revents && !work(fence))
			break;
	}
	close(token);
	return 0;
}
