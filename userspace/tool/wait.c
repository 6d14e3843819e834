// SPDX-License-Identifier: GPL-2.0
/* entitylock wait: wait until names are free, or have changed */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "request.h"

static const struct subcommand subcommand = {
	.name = "wait",
	.bit = WAIT,
	.help =
"Usage: entitylock wait [OPTION...] NAME...\n"
"\n"
"Waits in the queue until all the names could be locked, and leaves them free.\n"
"With --changed waits, without queueing, until somebody has given back an\n"
"exclusive lock on one of the names, and prints a version for each name.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_WAIT
STATUSES_OF_FAILURE,
	.arguments = "name to wait for",
	.label = "wait",
};

static int wait_until_free(struct request *request)
{
	uint32_t result;
	int token, status, err;

	token = request_lock(request, &result, &status);
	if (token < 0)
		return status;
	/* Nobody shall think that something was changed. */
	err = entitylock_unlock(token, 0, ENTITYLOCK_UNCHANGED);
	if (err)
		return fail(request->sub, "cannot unlock: %s",
			    entitylock_explain(ENTITYLOCK_VERB_UNLOCK, err));
	return 0;
}

static uint64_t deadline_of(const struct request *request)
{
	if (request->nonblock)
		return ENTITYLOCK_NOWAIT;
	return request->timed ? entitylock_deadline_in(request->timeout)
			      : ENTITYLOCK_FOREVER;
}

/* Sleeps until the token may have news; 0, -ETIMEDOUT, -EAGAIN without a wait. */
static int sleep_until_news(int token, uint64_t deadline)
{
	struct pollfd pfd = { .fd = token, .events = POLLPRI };
	uint64_t now = entitylock_deadline_in(0);
	uint64_t left = deadline > now ? deadline - now : 0;
	struct timespec ts = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};

	switch (ppoll(&pfd, 1, deadline == ENTITYLOCK_FOREVER ? NULL : &ts, NULL)) {
	case -1:
		return errno == EINTR ? 0 : -errno;
	case 0:
		return deadline == ENTITYLOCK_NOWAIT ? -EAGAIN : -ETIMEDOUT;
	default:
		return 0;
	}
}

static bool any_changed(const struct request *request)
{
	unsigned int i;

	for (i = 0; i < request->count; i++)
		if (request->set[i].result & ENTITYLOCK_CHANGED)
			return true;
	return false;
}

static int print_versions(const struct request *request)
{
	unsigned int i;

	for (i = 0; i < request->count; i++)
		printf("%llu\n", (unsigned long long)request->set[i].version);
	return finish_output(request->sub);
}

static int watch(struct request *request, int token)
{
	uint64_t deadline = deadline_of(request);
	int err;

	if (request->since_given && request->set[0].version != request->since)
		return print_versions(request);
	do {
		err = sleep_until_news(token, deadline);
		if (!err)
			err = entitylock_seen(token, request->set, request->count);
		if (err == -EAGAIN || err == -ETIMEDOUT) {
			if (request->verbose)
				fail(request->sub, "gave up: nothing has changed");
			return (int)request->conflict_status;
		}
		if (err)
			return fail(request->sub, "cannot watch: %s",
				    entitylock_explain(ENTITYLOCK_VERB_INFO, err));
	} while (!any_changed(request));
	return print_versions(request);
}

static int wait_until_changed(struct request *request)
{
	int domain, token, status;

	domain = domain_open(request, O_WRONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	token = request_acquire(request, domain, ENTITYLOCK_OPEN, NULL);
	close(domain);
	if (token < 0)
		return request_refused(request, token);
	status = watch(request, token);
	close(token);
	return status;
}

int wait_main(int argc, char **argv)
{
	static struct request request;
	int status;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	if (request.since_given && (!request.changed || request.count != 1))
		return fail("wait", "--since goes with --changed and one name");
	if (request.changed && request.gate)
		return fail("wait", "the gate has no version; leave out --changed, or --gate");
	return request.changed ? wait_until_changed(&request)
			       : wait_until_free(&request);
}
