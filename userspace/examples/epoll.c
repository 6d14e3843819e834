// SPDX-License-Identifier: GPL-2.0
/*
 * epoll SECONDS NAME...: wait for many locks at once, in one thread
 *
 * Asks for each name without blocking, says which are granted as it happens,
 * and ends when all are, or with status 1 when the time is over.
 */
#include <errno.h>
#include <fcntl.h>
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

static void die_errno(const char *what)
{
	perror(what);
	exit(1);
}

struct request {
	const char *name;
	int token;
};

/* Asks for the lock; @poller will tell when there is news. */
static void ask(struct request *request, int domain, int poller, uint64_t deadline)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = request };

	options.flags = ENTITYLOCK_ASYNC;
	options.deadline = deadline;
	options.label = "epoll";
	request->token = entitylock_acquire(domain, request->name,
					    strlen(request->name),
					    ENTITYLOCK_EXCLUSIVE, &options, NULL);
	if (request->token < 0)
		die(request->name, ENTITYLOCK_VERB_ACQUIRE, request->token);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, request->token, &event))
		die_errno("epoll_ctl");
}

/* Returns whether the lock was granted; says what happened. */
static int answer(struct request *request, int poller)
{
	struct entitylock_grant grant;
	int err;

	err = entitylock_outcome(request->token, &grant);
	if (err == -EAGAIN)
		return 0;
	epoll_ctl(poller, EPOLL_CTL_DEL, request->token, NULL);
	if (err)
		die(request->name, ENTITYLOCK_VERB_LOCK, err);
	printf("%s: granted, number %llu\n", request->name,
	       (unsigned long long)grant.fence);
	fflush(stdout);
	return 1;
}

int main(int argc, char **argv)
{
	struct epoll_event events[16];
	struct request *requests;
	int domain, poller, pending, nr, i;
	uint64_t deadline;

	if (argc < 3) {
		fprintf(stderr, "usage: epoll SECONDS NAME...\n");
		return 1;
	}
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	pending = argc - 2;
	requests = calloc(pending, sizeof(*requests));
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (!requests || poller < 0)
		die_errno("epoll");

	/* The kernel watches over the time: at its end the token says so. */
	deadline = entitylock_deadline_in(strtoull(argv[1], NULL, 10) * 1000000000);
	for (i = 0; i < pending; i++) {
		requests[i].name = argv[i + 2];
		ask(&requests[i], domain, poller, deadline);
	}
	while (pending) {
		nr = epoll_wait(poller, events, 16, -1);
		if (nr < 0 && errno != EINTR)
			die_errno("epoll_wait");
		for (i = 0; i < nr; i++)
			pending -= answer(events[i].data.ptr, poller);
	}
	free(requests);
	return 0;
}
