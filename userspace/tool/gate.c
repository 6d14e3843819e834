// SPDX-License-Identifier: GPL-2.0
/* entitylock gate: run a command while holding the domain's gate */
#include "request.h"

static const char help[] =
"Usage: entitylock gate [OPTION...] -- COMMAND [ARGUMENT...]\n"
"\n"
"Lets no new operation of the domain begin, waits until those that run have\n"
"ended, runs the command, and lets the others go on.  While it runs nobody else\n"
"holds a lock on anything, nor gets one.\n"
"\n"
"  -n, --nonblock      do not wait if anything is locked\n"
REQUEST_HELP;

int gate_main(int argc, char **argv)
{
	static struct request request;
	int code, status;

	request_init(&request, "gate");
	request.gate = true;
	while ((code = getopt_long(argc, argv, REQUEST_SHORT, request_options,
				   NULL)) != -1) {
		if (code == 'h')
			return print_help("gate", help);
		if (code == 1 || code == OPTION_NAME || code == 'x' || code == 's')
			return fail_usage("gate", "the gate has no name and no mode");
		status = request_option(&request, code, argv);
		if (status)
			return status;
	}
	status = request_command(&request, argv);
	return status ? status : request_run(&request);
}
