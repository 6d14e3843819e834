/* SPDX-License-Identifier: GPL-2.0 */
/* To lock, run a command meanwhile, unlock: what "run" and "gate" have in common. */
#ifndef REQUEST_H
#define REQUEST_H

#include <getopt.h>

#include "entitylock.h"
#include "tool.h"

struct request {
	const char *sub;	/* name of the subcommand */
	bool gate;		/* the gate is asked for, and no entity */
	struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	unsigned int count;
	bool nonblock;
	bool timed;
	uint64_t timeout;
	unsigned int conflict_status;
	const char *label;
	bool inherit;
	bool verbose;
	char **command;
};

/* For getopt_long(): the options of both; "-": what is no option counts as 1. */
#define REQUEST_SHORT "-:xsnw:E:vh"
extern const struct option request_options[];

enum {
	OPTION_NAME = 256,
	OPTION_LABEL,
	OPTION_INHERIT,
};

/* The lines about those in common. */
#define REQUEST_HELP \
"  -w, --timeout SECONDS\n" \
"                      do not wait longer than this; fractions are allowed\n" \
"  -E, --conflict-exit-code CODE\n" \
"                      exit status, 0 to 255, when -n or -w gave up (124)\n" \
"      --label TEXT    what 'entitylock ls' shows; the default is the command\n" \
"      --inherit       let the command inherit the lock's descriptor, the\n" \
"                      number of which is in ENTITYLOCK_FD\n" \
"  -v, --verbose       say why -n or -w gave up\n" \
"  -h, --help          print this\n" \
"\n" \
"The exit status is that of the command, or 128 + N if signal N ended it, or\n" \
"124  -n or -w gave up\n" \
"125  entitylock itself failed\n" \
"126  the command cannot be executed\n" \
"127  the command was not found\n"

void request_init(struct request *request, const char *sub);

/*
 * Takes an option that is not the subcommand's own: @code is what getopt_long()
 * has returned.  Returns 0, or the exit status after a message.
 */
int request_option(struct request *request, int code, char **argv);

/*
 * Takes what getopt_long() has left of the command line: the command.  Returns
 * 0, or the exit status after a message.
 */
int request_command(struct request *request, char **argv);

/* Locks, runs the command, unlocks; returns the exit status. */
int request_run(struct request *request);

/*
 * Runs a command to its end while this process has @token, which the command
 * inherits if @inherit; returns the exit status.
 */
int run_command(const char *sub, char **command, int token, bool inherit);

#endif /* REQUEST_H */
