// SPDX-License-Identifier: GPL-2.0
/* entitylock break: take a name, or the gate, from who holds it */
#include <fcntl.h>
#include <unistd.h>

#include "request.h"

static const struct subcommand subcommand = {
	.name = "break",
	.bit = BREAK,
	.help =
"Usage: entitylock break [OPTION...] NAME\n"
"       entitylock break [OPTION...] --gate\n"
"\n"
"Takes the name from its holders, who lose all that they locked with it; commands\n"
"of 'entitylock run' are ended.  Where nobody holds it, drops its abandoned mark.\n"
"With the fence that 'entitylock ls' shows it cannot hit a later holder.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
	.arguments = "name to break",
};

int break_main(int argc, char **argv)
{
	static struct request request;
	const struct entitylock_entity *entity = request.set;
	int domain, status, err;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	if (request.count > 1)
		return fail("break", "more than one name; break one at a time");
	domain = domain_open(&request, O_WRONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	err = entitylock_break(domain, (const void *)(uintptr_t)entity->name,
			       entity->name_len, request.gate ? ENTITYLOCK_GATE : 0,
			       request.fence);
	close(domain);
	return err ? domain_refused(&request, "break", ENTITYLOCK_VERB_BREAK, err) : 0;
}
