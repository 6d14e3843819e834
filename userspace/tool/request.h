/* SPDX-License-Identifier: GPL-2.0 */
/* A command line, and what the subcommands that lock have in common. */
#ifndef REQUEST_H
#define REQUEST_H

#include "entitylock.h"
#include "tool.h"

/* Bits of subcommands. */
enum {
	RUN = 1 << 0,
	GATE = 1 << 1,
	WAIT = 1 << 2,
	PARK = 1 << 3,
	CLAIM = 1 << 4,
	BREAK = 1 << 5,
	LS = 1 << 6,
	DOMAIN_CREATE = 1 << 7,
	DOMAIN_RUN = 1 << 8,
	DOMAIN_SHOW = 1 << 9,
	DOMAIN_PRIVATE = 1 << 10,
	WHO = 1 << 11,
	BLOCKERS = 1 << 12,
	TOP = 1 << 13,
	STAT = 1 << 14,
	TRACE = 1 << 15,
	DOCTOR = 1 << 16,
};

/* What a trace is summed up by. */
enum grouping { BY_NOTHING, BY_ENTITY, BY_PROCESS };

/**
 * struct subcommand - what a subcommand is called with
 * @name: its name.
 * @bit: its bit, which selects the options.
 * @help: what --help prints before the options.
 * @statuses: what it prints behind them.
 * @arguments: the arguments in words, "name" or "cookie"; NULL if none is needed.
 * @label: the default label, NULL for the command.
 */
struct subcommand {
	const char *name;
	unsigned int bit;
	const char *help;
	const char *statuses;
	const char *arguments;
	const char *label;
};

/* A command line, once request_parse() has looked through it. */
struct request {
	const char *sub;	/* name of the subcommand */
	bool gate;		/* the gate is asked for, and no entity */
	struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	unsigned int count;
	const char *cookie;
	const char *domain;	/* "" is the default one, NULL that of domain_fd */
	int domain_fd;
	bool exclusive;
	bool mode_given;
	uint32_t mode;
	bool raw;
	bool json;
	bool nonblock;
	bool timed;
	uint64_t timeout;
	uint64_t conflict_status;
	bool verbose;
	const char *label;
	uint64_t lease;		/* nanoseconds, 0 = none is given */
	uint64_t grace;		/* nanoseconds */
	bool robust;
	bool consistent;
	bool inherit;
	bool changed;
	bool since_given;
	uint64_t since;
	bool unlock;
	bool park;
	uint64_t fence;
	pid_t pid;		/* 0 = none is given */
	uint64_t interval;	/* nanoseconds, 0 = one round */
	uint64_t rounds;	/* 0 = without end */
	bool sort_hold;
	uint64_t longer_than;	/* nanoseconds */
	enum grouping by;
	bool waits;
	char **command;		/* NULL if there is none */
};

#define STATUSES_OF_COMMAND \
"The exit status is that of the command, or 128 + N if signal N ended it, or\n" \
"123  the lock was lost while the command ran\n"

#define STATUSES_OF_WAIT \
"124  -n or -w gave up\n"

#define STATUSES_OF_FAILURE \
"125  entitylock itself failed\n"

#define STATUSES_OF_EXEC \
"126  the command cannot be executed\n" \
"127  the command was not found\n"

/*
 * Looks through the command line.  Returns PARSED, or the exit status after a
 * message or the help.
 */
#define PARSED	-1
int request_parse(struct request *request, const struct subcommand *sub, int argc,
		  char **argv);

/* To refer to a domain and look at it takes no right there: see open(2). */
#define O_REFER	O_ACCMODE

/*
 * Opens the domain of the request, which is made if @flags, of DOMAIN, say so, and
 * looks at what it is.  Returns an fd, or -1 after a message.
 */
int domain_open(const struct request *request, int oflags);

/* Lets a command find the domain of the request. */
bool domain_export(const struct request *request);

/*
 * Says that what was to be done, @what, failed with @error of @verb; if it is for
 * want of a right, of which domain.  Returns EXIT_OWN_FAILURE.
 */
int domain_refused(const struct request *request, const char *what,
		   enum entitylock_verb verb, int error);

/*
 * Locks what the request names.  Returns a token, or -1 and in *@status the exit
 * status after a message.  What was found abandoned is told.
 */
int request_lock(struct request *request, uint32_t *result, int *status);

/* Whether there may be a lease so long in the domain; if not, after a message. */
bool lease_fits(const struct request *request, int domain);

/* Makes a token of the request, with @flags; returns it, or a negative errno. */
int request_acquire(struct request *request, int domain, uint32_t flags,
		    struct entitylock_grant *grant);

/* Whether the entry of a listing is the first name of the request, or the gate. */
bool request_asks_for(const struct request *request,
		      const struct entitylock_list_entry *entry);

/* Says why there is no lock, as far as it is to be said; the exit status. */
int request_refused(const struct request *request, int error);

/* Says why a command could not be executed; the exit status. */
int exec_failed(const struct request *request, int error);

/*
 * From now on a message, or output, that nobody reads is no reason to end: whoever has
 * a lock sees to it first.  The command finds SIGPIPE as it was.  To be called once.
 */
void ignore_sigpipe(void);

/* Says what of a token's entities, or gate, is abandoned, if @result says so. */
void tell_abandoned(const struct request *request, int token, uint32_t result);

/*
 * Runs the command to its end while this process has @token, whose lease it
 * keeps if @keep; returns the exit status.
 */
int run_command(const struct request *request, int token, uint32_t result, bool keep);

#endif /* REQUEST_H */
