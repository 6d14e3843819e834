// SPDX-License-Identifier: GPL-2.0
/*
 * uring SECONDS NAME...: take whichever lock is free first, on an io_uring
 *
 * Asks for all, and polls each token with a linked time-out.  The first that is
 * granted is kept, the polls of the others are cancelled, and their requests given
 * up.  Ends with status 1 when the time is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <entitylock.h>
#include <liburing.h>

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

static void die_error(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

struct request {
	const char *name;
	int token;
	bool polled;
};

/* Asks for the lock; a completion will tell when there is news, or the time is over. */
static void ask(struct request *request, int domain, struct io_uring *ring,
		struct __kernel_timespec *limit)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct io_uring_sqe *sqe;

	options.flags = ENTITYLOCK_ASYNC;
	options.label = "uring";
	request->token = entitylock_acquire(domain, request->name,
					    strlen(request->name),
					    ENTITYLOCK_EXCLUSIVE, &options, NULL);
	if (request->token < 0)
		die(request->name, ENTITYLOCK_VERB_ACQUIRE, request->token);

	sqe = io_uring_get_sqe(ring);
	io_uring_prep_poll_add(sqe, request->token, POLLIN);
	io_uring_sqe_set_data(sqe, request);
	io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_link_timeout(sqe, limit, 0);
	io_uring_sqe_set_data(sqe, NULL);
	request->polled = true;
}

static void cancel_polls(struct request *requests, int nr, struct io_uring *ring)
{
	struct io_uring_sqe *sqe;
	int i;

	for (i = 0; i < nr; i++) {
		if (!requests[i].polled)
			continue;
		sqe = io_uring_get_sqe(ring);
		io_uring_prep_cancel(sqe, &requests[i], 0);
		io_uring_sqe_set_data(sqe, NULL);
	}
	io_uring_submit(ring);
}

/*
 * The poll has ended: returns whether with a grant that is wanted.  The completion
 * does not say, a grant may have come with the time-out or the cancellation.
 */
static bool answer(struct request *request, bool wanted)
{
	struct entitylock_grant grant;

	request->polled = false;
	if (!entitylock_outcome(request->token, &grant) && wanted) {
		printf("%s: granted, number %llu\n", request->name,
		       (unsigned long long)grant.fence);
		return true;
	}
	/*
	 * With the poll the request has not ended.  UNLOCK ends it now; close() would
	 * once the ring has forgotten the token as well.
	 */
	entitylock_unlock(request->token, 0, 0);
	close(request->token);
	printf("%s: given up\n", request->name);
	return false;
}

int main(int argc, char **argv)
{
	struct __kernel_timespec limit = { };
	int domain, nr, pending, i, err;
	struct request *requests, *request;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	bool granted = false;

	if (argc < 3) {
		fprintf(stderr, "usage: uring SECONDS NAME...\n");
		return 1;
	}
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	nr = argc - 2;
	requests = calloc(nr, sizeof(*requests));
	if (!requests)
		die_error("memory", errno);
	err = io_uring_queue_init(2 * nr, &ring, 0);	/* a poll and a time-out each */
	if (err)
		die_error("io_uring", -err);

	limit.tv_sec = atoi(argv[1]);
	for (i = 0; i < nr; i++) {
		requests[i].name = argv[i + 2];
		ask(&requests[i], domain, &ring, &limit);
	}
	io_uring_submit(&ring);

	for (pending = nr; pending;) {
		err = io_uring_wait_cqe(&ring, &cqe);
		if (err == -EINTR)
			continue;
		if (err)
			die_error("io_uring", -err);
		request = io_uring_cqe_get_data(cqe);
		io_uring_cqe_seen(&ring, cqe);
		if (!request)
			continue;	/* a time-out, a cancellation */
		pending--;
		if (answer(request, !granted)) {
			granted = true;
			cancel_polls(requests, nr, &ring);
		}
	}
	io_uring_queue_exit(&ring);
	free(requests);
	if (!granted)
		die("all", ENTITYLOCK_VERB_LOCK, -ETIMEDOUT);
	return 0;
}
