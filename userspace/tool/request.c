// SPDX-License-Identifier: GPL-2.0
/*
 * To lock, run a command meanwhile, unlock.
 *
 * While this process waits for the lock it handles no signal: the default action
 * ends it, and with it the request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

const struct option request_options[] = {
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

void request_init(struct request *request, const char *sub)
{
	request->sub = sub;
	request->conflict_status = EXIT_TIMED_OUT;
	/* Messages are our own. */
	opterr = 0;
}

static int set_timeout(struct request *request, const char *text)
{
	if (!parse_seconds(text, &request->timeout))
		return fail(request->sub,
			    "'%s' is no time; give seconds, 0 to 18446744072, such as 2.5",
			    text);
	request->timed = true;
	return 0;
}

static int set_conflict_status(struct request *request, const char *text)
{
	if (!parse_integer(text, 255, &request->conflict_status))
		return fail(request->sub,
			    "'%s' is not an exit status; give 0 to 255", text);
	return 0;
}

static int set_label(struct request *request, const char *label)
{
	size_t len = strlen(label);

	if (len > ENTITYLOCK_LABEL_MAX)
		return fail(request->sub, "the label has %zu bytes; shorten it to %d",
			    len, ENTITYLOCK_LABEL_MAX);
	request->label = label;
	return 0;
}

int request_option(struct request *request, int code, char **argv)
{
	switch (code) {
	case 'n':
		request->nonblock = true;
		return 0;
	case 'w':
		return set_timeout(request, optarg);
	case 'E':
		return set_conflict_status(request, optarg);
	case OPTION_LABEL:
		return set_label(request, optarg);
	case OPTION_INHERIT:
		request->inherit = true;
		return 0;
	case 'v':
		request->verbose = true;
		return 0;
	default:
		return fail_option(request->sub, code, argv, request_options);
	}
}

int request_command(struct request *request, char **argv)
{
	request->command = argv + optind;
	if (strcmp(argv[optind - 1], "--"))
		return fail_usage(request->sub, "there is no '--' before the command");
	if (!*request->command)
		return fail_usage(request->sub, "there is no command after '--'");
	if (request->nonblock && request->timed)
		return fail(request->sub,
			    "-n and -w exclude each other; leave one out");
	return 0;
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

static int acquire(struct request *request, int domain)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	char label[ENTITYLOCK_LABEL_MAX + 1];

	if (request->nonblock)
		options.deadline = ENTITYLOCK_NOWAIT;
	else if (request->timed)
		options.deadline = entitylock_deadline_in(request->timeout);
	label_of_command(label, request->command);
	options.label = request->label ? request->label : label;
	options.restart = 1;

	if (request->gate)
		return entitylock_gate(domain, &options, NULL);
	return entitylock_acquire_set(domain, request->set, request->count,
				      &options, NULL);
}

/* Says why there is no lock, as far as it is to be said; the exit status. */
static int refused(const struct request *request, int error)
{
	const char *why = entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, error);

	if (error != -EAGAIN && error != -ETIMEDOUT)
		return fail(request->sub, "cannot lock: %s", why);
	if (request->verbose)
		fail(request->sub, "gave up: %s", why);
	return (int)request->conflict_status;
}

int request_run(struct request *request)
{
	int domain, token;

	domain = open_device(request->sub, O_WRONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	token = acquire(request, domain);
	close(domain);
	if (token < 0)
		return refused(request, token);
	return run_command(request->sub, request->command, token,
			   request->inherit);
}
