/* SPDX-License-Identifier: GPL-2.0 */
/* What the two halves of looking through a command line share. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "request.h"

/* Codes of options that have no letter. */
enum {
	OPTION_NAME = 256,
	OPTION_GATE,
	OPTION_CHANGED,
	OPTION_SINCE,
	OPTION_LABEL,
	OPTION_LEASE,
	OPTION_GRACE,
	OPTION_ROBUST,
	OPTION_CONSISTENT,
	OPTION_INHERIT,
	OPTION_UNLOCK,
	OPTION_PARK,
	OPTION_FENCE,
	OPTION_RAW,
	OPTION_JSON,
	OPTION_DOMAIN,
	OPTION_DOMAIN_FD,
	OPTION_MODE,
	OPTION_EXCLUSIVE,
	OPTION_SORT,
	OPTION_LONGER_THAN,
	OPTION_BY,
	OPTION_FOR,
	OPTION_WAITS,
};

/* A command line that is being looked through. */
struct parser {
	struct request *request;
	const struct subcommand *sub;
	uint32_t mode;
	bool mode_unused;
};

/* Takes an option of that code with its optarg; PARSED, or the exit status. */
int take_option(struct parser *parser, int code);

/* Takes what is no option, or what --name says: then it is @surely a name. */
int add_argument(struct parser *parser, const char *argument, bool surely);

int set_domain(struct request *request, const char *name);
int set_domain_fd(struct request *request, const char *text);

#endif /* OPTIONS_H */
