// SPDX-License-Identifier: GPL-2.0
/*
 * libuv SECONDS NAME...: wait for many locks at once, in libuv's event loop
 *
 * Asks for each name without blocking, says which are granted as it happens,
 * and ends when all are, or with status 1 when the time is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <entitylock.h>
#include <uv.h>

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

static void die_uv(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, uv_strerror(error));
	exit(1);
}

struct request {
	uv_poll_t poll;
	const char *name;
	int token;
};

/*
 * To libuv an error of a descriptor (POLLERR) is one of the poll, and status is
 * UV_EBADF, also where only the time is over.  So ask the token in any case.
 */
static void answer(uv_poll_t *poll, int status, int events)
{
	struct request *request = poll->data;
	struct entitylock_grant grant;
	int err;

	(void)status;
	(void)events;
	err = entitylock_outcome(request->token, &grant);
	if (err == -EAGAIN)
		return;
	uv_close((uv_handle_t *)poll, NULL);
	if (err)
		die(request->name, ENTITYLOCK_VERB_LOCK, err);
	printf("%s: granted, number %llu\n", request->name,
	       (unsigned long long)grant.fence);
	fflush(stdout);
}

/* Asks for the lock; the loop will call answer() when there is news. */
static void ask(struct request *request, int domain, uv_loop_t *loop, uint64_t deadline)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	int err;

	options.flags = ENTITYLOCK_ASYNC;
	options.deadline = deadline;
	options.label = "libuv";
	request->token = entitylock_acquire(domain, request->name,
					    strlen(request->name),
					    ENTITYLOCK_EXCLUSIVE, &options, NULL);
	if (request->token < 0)
		die(request->name, ENTITYLOCK_VERB_ACQUIRE, request->token);
	err = uv_poll_init(loop, &request->poll, request->token);
	if (err)
		die_uv("uv_poll_init", err);
	request->poll.data = request;
	err = uv_poll_start(&request->poll, UV_READABLE, answer);
	if (err)
		die_uv("uv_poll_start", err);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	struct request *requests;
	uint64_t deadline;
	int domain, i;

	if (argc < 3) {
		fprintf(stderr, "usage: libuv SECONDS NAME...\n");
		return 1;
	}
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	requests = calloc(argc - 2, sizeof(*requests));
	if (!loop || !requests)
		die_uv("libuv", UV_ENOMEM);

	/* The kernel watches over the time: at its end the token says so. */
	deadline = entitylock_deadline_in(strtoull(argv[1], NULL, 10) * 1000000000);
	for (i = 0; i < argc - 2; i++) {
		requests[i].name = argv[i + 2];
		ask(&requests[i], domain, loop, deadline);
	}
	uv_run(loop, UV_RUN_DEFAULT);	/* until the last handle is closed */
	uv_loop_close(loop);
	free(requests);
	return 0;
}
