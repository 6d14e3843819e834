// SPDX-License-Identifier: GPL-2.0
/* entitylock run, entitylock gate: run a command while holding a lock */
#include "request.h"

static const char statuses[] =
STATUSES_OF_COMMAND
STATUSES_OF_WAIT
STATUSES_OF_FAILURE
STATUSES_OF_EXEC;

static const struct subcommand run = {
	.name = "run",
	.bit = RUN,
	.help =
"Usage: entitylock run [OPTION...] NAME... -- COMMAND [ARGUMENT...]\n"
"\n"
"Locks all the names, runs the command, and unlocks when the command ends.  All\n"
"names are locked together or none, in an order that cannot deadlock.\n",
	.statuses = statuses,
	.arguments = "name to lock",
};

static const struct subcommand gate = {
	.name = "gate",
	.bit = GATE,
	.help =
"Usage: entitylock gate [OPTION...] -- COMMAND [ARGUMENT...]\n"
"\n"
"Lets no new operation of the domain begin, waits until those that run have\n"
"ended, runs the command, and lets the others go on.  While it runs nobody else\n"
"holds a lock on anything, nor gets one.\n",
	.statuses = statuses,
};

static int lock_and_run(const struct subcommand *sub, int argc, char **argv)
{
	static struct request request;
	uint32_t result;
	int token, status;

	status = request_parse(&request, sub, argc, argv);
	if (status != PARSED)
		return status;
	ignore_sigpipe();
	token = request_lock(&request, &result, &status);
	if (token < 0)
		return status;
	return run_command(&request, token, result, request.lease);
}

int run_main(int argc, char **argv)
{
	return lock_and_run(&run, argc, argv);
}

int gate_main(int argc, char **argv)
{
	return lock_and_run(&gate, argc, argv);
}
