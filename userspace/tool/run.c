// SPDX-License-Identifier: GPL-2.0
/* entitylock run: run a command while holding the lock on some names */
#include <string.h>

#include "request.h"

static const char help[] =
"Usage: entitylock run [OPTION...] NAME... -- COMMAND [ARGUMENT...]\n"
"\n"
"Locks all the names, runs the command, and unlocks when the command ends.  All\n"
"names are locked together or none, in an order that cannot deadlock.\n"
"\n"
"  -x, --exclusive     lock the names that follow exclusively (the default)\n"
"  -s, --shared        lock the names that follow shared\n"
"      --name NAME     a name, also one that begins with '-'\n"
"  -n, --nonblock      do not wait if a name is locked\n"
REQUEST_HELP;

static int add_name(struct request *request, const char *name, uint32_t mode)
{
	size_t len = strlen(name);

	if (!len)
		return fail("run", "a name is empty; give it at least one byte");
	if (len > ENTITYLOCK_NAME_MAX)
		return fail("run", "the name '%.20s...' has %zu bytes; shorten it to %d",
			    name, len, ENTITYLOCK_NAME_MAX);
	if (request->count == ENTITYLOCK_SET_MAX)
		return fail("run", "more than %d names; lock something that stands for many",
			    ENTITYLOCK_SET_MAX);
	entitylock_entity_init(&request->set[request->count++], name, len, mode);
	return 0;
}

/* Takes the names and options, in the order given; 0 or the exit status. */
static int parse(struct request *request, int argc, char **argv, bool *helped)
{
	uint32_t mode = ENTITYLOCK_EXCLUSIVE;
	bool mode_unused = false;
	int code, status = 0;

	while (!status &&
	       (code = getopt_long(argc, argv, REQUEST_SHORT, request_options,
				   NULL)) != -1) {
		switch (code) {
		case 'x':
		case 's':
			mode = code == 's' ? ENTITYLOCK_SHARED
					   : ENTITYLOCK_EXCLUSIVE;
			mode_unused = true;
			break;
		case 1:
		case OPTION_NAME:
			status = add_name(request, optarg, mode);
			mode_unused = false;
			break;
		case 'h':
			*helped = true;
			return print_help("run", help);
		default:
			status = request_option(request, code, argv);
		}
	}
	if (status)
		return status;
	if (!request->count)
		return fail_usage("run", "there is no name to lock");
	if (mode_unused)
		return fail("run", "-s or -x after the last name; put it before its names");
	return request_command(request, argv);
}

int run_main(int argc, char **argv)
{
	static struct request request;
	bool helped = false;
	int status;

	request_init(&request, "run");
	status = parse(&request, argc, argv, &helped);
	return status || helped ? status : request_run(&request);
}
