/* SPDX-License-Identifier: GPL-2.0 */
/* What the subcommands of entitylock share. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __noreturn	__attribute__((noreturn))

#define NSEC_PER_SEC	1000000000ULL

/* Exit statuses, as env(1) and timeout(1) have them, and one of our own. */
enum {
	EXIT_LOST = 123,	/* the lock was lost while the command ran */
	EXIT_TIMED_OUT = 124,
	EXIT_OWN_FAILURE = 125,
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128,	/* and the signal's number */
};

int run_main(int argc, char **argv);
int gate_main(int argc, char **argv);
int wait_main(int argc, char **argv);
int park_main(int argc, char **argv);
int claim_main(int argc, char **argv);
int break_main(int argc, char **argv);
int ls_main(int argc, char **argv);
int who_main(int argc, char **argv);
int blockers_main(int argc, char **argv);
int top_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int trace_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int domain_main(int argc, char **argv);

/* Prints a message of subcommand @sub to stderr; returns EXIT_OWN_FAILURE. */
__printf(2, 3) int fail(const char *sub, const char *format, ...);

/* The same, and points to the subcommand's help. */
__printf(2, 3) int fail_usage(const char *sub, const char *format, ...);

/*
 * Says which of the @options getopt_long(), which must not print anything
 * itself, stumbled over: @code is what it returned.
 */
int fail_option(const char *sub, int code, char **argv,
		const struct option *options);

/* @memory, unless there is none: then the command ends with a message. */
void *need(void *memory);

/* Prints @text to stdout; returns EXIT_SUCCESS, or EXIT_OWN_FAILURE. */
int print_help(const char *sub, const char *text);

/* Flushes stdout; returns EXIT_SUCCESS, or EXIT_OWN_FAILURE with a message. */
int finish_output(const char *sub);

/* Prints bytes, and those in @also as \xHH, so that they cannot harm a terminal. */
void put_escaped(FILE *to, const char *bytes, size_t len, const char *also);

/* What a user gave, as messages show it within quotes; until the next call. */
const char *escaped(const char *text);

/* A decimal number of seconds, fraction allowed, as nanoseconds. */
bool parse_seconds(const char *text, uint64_t *ns);

/* The same with a unit behind it: s, ms, us. */
bool parse_duration(const char *text, uint64_t *ns);

/* A decimal integer from 0 to @max. */
bool parse_integer(const char *text, uint64_t max, uint64_t *number);

#endif /* TOOL_H */
