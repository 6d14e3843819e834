// SPDX-License-Identifier: GPL-2.0
/* entitylock park, entitylock claim: a lock that no process has, and back */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

static const struct subcommand park = {
	.name = "park",
	.bit = PARK,
	.help =
"Usage: entitylock park --lease SECONDS [OPTION...] NAME...\n"
"\n"
"Locks all the names, and keeps the lock without a process until the lease ends\n"
"or somebody claims it.  Prints a cookie for 'entitylock claim', which works\n"
"once.  Whoever has the cookie has the lock: keep it secret.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_WAIT
STATUSES_OF_FAILURE,
	.arguments = "name to lock",
	.label = "parked",
};

static const struct subcommand claim = {
	.name = "claim",
	.bit = CLAIM,
	.help =
"Usage: entitylock claim [OPTION...] COOKIE -- COMMAND [ARGUMENT...]\n"
"       entitylock claim --unlock [OPTION...] COOKIE\n"
"       entitylock claim --park [OPTION...] COOKIE\n"
"\n"
"Takes over the lock that 'entitylock park' has parked, runs the command, keeps\n"
"the lease meanwhile, and unlocks when the command ends.  A COOKIE of '-' is read\n"
"from the first line of the standard input.\n",
	.statuses =
STATUSES_OF_COMMAND
STATUSES_OF_FAILURE
STATUSES_OF_EXEC,
	.arguments = "cookie",
};

/* Nobody has the cookie: to be parked, even unlocked, is of no use. */
static void unpark(const struct request *request, int token, const unsigned char *cookie)
{
	int domain;

	entitylock_unlock(token, 0, 0);
	domain = domain_open(request, O_WRONLY);
	if (domain < 0)
		return;
	token = entitylock_claim(domain, cookie);
	if (token >= 0)
		close(token);
	close(domain);
}

static int park_token(const struct request *request, int token)
{
	unsigned char cookie[ENTITYLOCK_COOKIE_SIZE];
	char text[ENTITYLOCK_COOKIE_TEXT];
	int err, status;

	err = entitylock_park(token, request->lease, cookie);
	if (err)
		return fail(request->sub, "cannot park: %s",
			    entitylock_explain(ENTITYLOCK_VERB_PARK, err));
	entitylock_cookie_format(cookie, text);
	puts(text);
	status = finish_output(request->sub);
	if (status)
		unpark(request, token, cookie);
	return status;
}

int park_main(int argc, char **argv)
{
	static struct request request;
	uint32_t result;
	int token, status;

	status = request_parse(&request, &park, argc, argv);
	if (status != PARSED)
		return status;
	if (!request.lease)
		return fail_usage("park", "there is no --lease: how long to keep the lock");
	ignore_sigpipe();
	token = request_lock(&request, &result, &status);
	return token < 0 ? status : park_token(&request, token);
}

/* A line of the standard input, and nothing behind it: that is the command's. */
static void read_line(char *line, size_t size)
{
	size_t len = 0;

	while (len < size - 1 && read(STDIN_FILENO, &line[len], 1) == 1 &&
	       line[len] != '\n')
		len++;
	line[len] = '\0';
}

static bool get_cookie(const struct request *request,
		       unsigned char cookie[ENTITYLOCK_COOKIE_SIZE])
{
	char line[ENTITYLOCK_COOKIE_TEXT + 1];
	const char *text = request->cookie;

	if (!strcmp(text, "-")) {
		read_line(line, sizeof(line));
		text = line;
	}
	if (!entitylock_cookie_parse(text, cookie))
		return true;
	fail(request->sub, "that is no cookie; give the %d digits that 'entitylock park' printed",
	     2 * ENTITYLOCK_COOKIE_SIZE);
	return false;
}

/* The token, or -1 after a message.  What can fail does so before the cookie is used up. */
static int claim_token(const struct request *request)
{
	unsigned char cookie[ENTITYLOCK_COOKIE_SIZE];
	int domain, token;

	if (!get_cookie(request, cookie))
		return -1;
	domain = domain_open(request, O_WRONLY);
	if (domain < 0)
		return -1;
	if (!lease_fits(request, domain)) {
		close(domain);
		return -1;
	}
	token = entitylock_claim(domain, cookie);
	close(domain);
	if (token >= 0)
		return token;
	domain_refused(request, "claim", ENTITYLOCK_VERB_CLAIM, token);
	return -1;
}

/*
 * Whether the token holds its lock, and what that was found with.  Not the outcome of its
 * last request, which may have been one for more that failed.
 */
static bool is_held(int token, uint32_t *result)
{
	static struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	struct entitylock_info info = {
		.entities = (uintptr_t)set,
		.entity_size = sizeof(set[0]),
		.capacity = ENTITYLOCK_SET_MAX,
	};
	unsigned int i;

	if (entitylock_info(token, &info) || info.state != ENTITYLOCK_HELD)
		return false;
	*result = 0;
	for (i = 0; i < info.count; i++)
		*result |= set[i].result;
	return true;
}

static int give_back(const struct request *request, int token)
{
	int err = entitylock_unlock(token, 0,
				    request->consistent ? ENTITYLOCK_CONSISTENT : 0);

	return err ? fail(request->sub, "cannot unlock: %s",
			  entitylock_explain(ENTITYLOCK_VERB_UNLOCK, err))
		   : 0;
}

int claim_main(int argc, char **argv)
{
	static struct request request;
	int token, status, err;
	uint32_t result;

	status = request_parse(&request, &claim, argc, argv);
	if (status != PARSED)
		return status;
	ignore_sigpipe();
	token = claim_token(&request);
	if (token < 0)
		return EXIT_OWN_FAILURE;
	/* A program may park one that is not locked, or lock it meanwhile. */
	if (!is_held(token, &result))
		return fail("claim", "what was parked under that cookie holds no lock");
	err = request.label ? entitylock_label(token, request.label) : 0;
	if (err)
		return fail("claim", "cannot label: %s",
			    entitylock_explain(ENTITYLOCK_VERB_LABEL, err));
	if (request.unlock)
		return give_back(&request, token);
	tell_abandoned(&request, token, result);
	if (request.park)
		return park_token(&request, token);
	return run_command(&request, token, result, true);
}
