// SPDX-License-Identifier: GPL-2.0
/*
 * The command line of the subcommands.  One table says which of them has which
 * option, so that an option has one name and one meaning throughout (but for
 * --exclusive, which says of a domain what O_EXCL says of a file, and -n, which is
 * a number where nothing is locked).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

#define GRACE	(10 * NSEC_PER_SEC)
#define INTERVAL	NSEC_PER_SEC

#define WITH_NAMES	(RUN | WAIT | PARK)
#define UNDER_LOCK	(RUN | GATE | CLAIM)
#define WITH_COMMAND	(UNDER_LOCK | DOMAIN_CREATE | DOMAIN_RUN | DOMAIN_PRIVATE)
#define WAITING		(RUN | GATE | WAIT | PARK)
#define NAMES_DOMAIN	(DOMAIN_CREATE | DOMAIN_RUN | DOMAIN_SHOW)
#define LOOKING		(LS | WHO | BLOCKERS | TOP | STAT)
#define IN_DOMAIN	(RUN | GATE | WAIT | PARK | CLAIM | BREAK | LOOKING | DOMAIN_SHOW)

static const struct {
	struct option option;
	unsigned int subcommands;
	const char *help;
} table[] = {
	{ { "exclusive", no_argument, NULL, 'x' }, WITH_NAMES,
	  "  -x, --exclusive     the names that follow exclusively (the default)\n" },
	{ { "shared", no_argument, NULL, 's' }, WITH_NAMES,
	  "  -s, --shared        the names that follow shared\n" },
	{ { "name", required_argument, NULL, OPTION_NAME },
	  WITH_NAMES | BREAK | WHO | BLOCKERS | NAMES_DOMAIN,
	  "      --name NAME     a name, also one that begins with '-' or is a number\n" },
	{ { "gate", no_argument, NULL, OPTION_GATE }, WAIT | PARK | BREAK | WHO | BLOCKERS,
	  "      --gate          the gate of the domain instead of names\n" },
	{ { "changed", no_argument, NULL, OPTION_CHANGED }, WAIT,
	  "      --changed       until a name has changed; print their versions\n" },
	{ { "since", required_argument, NULL, OPTION_SINCE }, WAIT,
	  "      --since VERSION with --changed and one name: until its version is not\n"
	  "                      VERSION, which was printed by an earlier call; 0: now\n" },
	{ { "nonblock", no_argument, NULL, 'n' }, WAITING,
	  "  -n, --nonblock      do not wait\n" },
	{ { "timeout", required_argument, NULL, 'w' }, WAITING,
	  "  -w, --timeout SECONDS\n"
	  "                      do not wait longer than this; fractions are allowed\n" },
	{ { "conflict-exit-code", required_argument, NULL, 'E' }, WAITING,
	  "  -E, --conflict-exit-code CODE\n"
	  "                      exit status, 0 to 255, when -n or -w gave up (124)\n" },
	{ { "verbose", no_argument, NULL, 'v' }, WAITING,
	  "  -v, --verbose       say why -n or -w gave up\n" },
	{ { "label", required_argument, NULL, OPTION_LABEL }, RUN | GATE | PARK | CLAIM,
	  "      --label TEXT    what 'entitylock ls' shows; by default the command\n"
	  "                      (park: 'parked', which claim leaves as it is)\n" },
	{ { "lease", required_argument, NULL, OPTION_LEASE }, RUN | GATE | PARK | CLAIM,
	  "      --lease SECONDS how long the lock is kept from others when nothing is\n"
	  "                      heard of its owner; renewed while a command runs\n" },
	{ { "grace", required_argument, NULL, OPTION_GRACE }, UNDER_LOCK,
	  "      --grace SECONDS when the lock is lost, time between TERM and KILL for\n"
	  "                      the command (10)\n" },
	{ { "robust", no_argument, NULL, OPTION_ROBUST }, RUN | GATE | PARK,
	  "      --robust        leave an abandoned mark if this does not end in order;\n"
	  "                      for a command, with status 0\n" },
	{ { "consistent", no_argument, NULL, OPTION_CONSISTENT }, UNDER_LOCK,
	  "      --consistent    drop abandoned marks if the command ends with status 0\n" },
	{ { "inherit", no_argument, NULL, OPTION_INHERIT }, UNDER_LOCK,
	  "      --inherit       let the command inherit the lock's descriptor, the\n"
	  "                      number of which is in ENTITYLOCK_FD\n" },
	{ { "unlock", no_argument, NULL, OPTION_UNLOCK }, CLAIM,
	  "      --unlock        run no command, give the lock back\n" },
	{ { "park", no_argument, NULL, OPTION_PARK }, CLAIM,
	  "      --park          run no command, park again; print the new cookie\n" },
	{ { "fence", required_argument, NULL, OPTION_FENCE }, BREAK,
	  "      --fence NUMBER  only from the holder of this fence\n" },
	{ { "raw", no_argument, NULL, OPTION_RAW }, LS,
	  "      --raw           print the lines of the kernel as they are\n" },
	{ { "interval", required_argument, NULL, 'i' }, TOP | STAT,
	  "  -i, --interval SECONDS\n"
	  "                      again each time so much has passed (top: 1)\n" },
	{ { "rounds", required_argument, NULL, 'n' }, TOP | STAT,
	  "  -n, --rounds N      end after so many rounds\n" },
	{ { "sort", required_argument, NULL, OPTION_SORT }, TOP,
	  "      --sort ORDER    wait: by the time that is waited for it (the default);\n"
	  "                      hold: by the time that it has been held\n" },
	{ { "longer-than", required_argument, NULL, OPTION_LONGER_THAN }, TRACE,
	  "      --longer-than TIME\n"
	  "                      only those that took longer: 20ms, 1.5s, 300us\n" },
	{ { "by", required_argument, NULL, OPTION_BY }, TRACE,
	  "      --by WHAT       sum up by 'entity' or by 'process' at the end\n" },
	{ { "for", required_argument, NULL, OPTION_FOR }, TRACE,
	  "      --for SECONDS   end after so much time\n" },
	{ { "waits", no_argument, NULL, OPTION_WAITS }, TRACE,
	  "      --waits         all that was waited for, also by threads that polled\n" },
	{ { "json", no_argument, NULL, OPTION_JSON }, LOOKING | TRACE | DOCTOR,
	  "      --json          print JSON, of which the schema has a number\n" },
	{ { "mode", required_argument, NULL, OPTION_MODE }, DOMAIN_CREATE,
	  "      --mode OCTAL    who may do what in a new domain (0700): owner, group and\n"
	  "                      others, r (4) list, w (2) lock, x (1) take the gate\n" },
	{ { "exclusive", no_argument, NULL, OPTION_EXCLUSIVE }, DOMAIN_CREATE,
	  "      --exclusive     fail if there is a domain of that name\n" },
	{ { "domain", required_argument, NULL, OPTION_DOMAIN }, IN_DOMAIN,
	  "      --domain NAME   the domain; '' is the default one.  Without this it is\n"
	  "                      what ENTITYLOCK_DOMAIN says\n" },
	{ { "domain-fd", required_argument, NULL, OPTION_DOMAIN_FD }, IN_DOMAIN,
	  "      --domain-fd NUMBER\n"
	  "                      the domain of an inherited descriptor.  Without this it\n"
	  "                      is what ENTITYLOCK_DOMAIN_FD says\n" },
	{ { "help", no_argument, NULL, 'h' }, ~0U,
	  "  -h, --help          print this\n" },
};

/* What getopt_long() needs. */
struct options {
	struct option longs[ARRAY_SIZE(table) + 1];
	/* Two for "-:", at most two for each, and the end. */
	char shorts[2 + 2 * ARRAY_SIZE(table) + 1];
};

static void select_options(struct options *options, unsigned int subcommand)
{
	struct option *option = options->longs;
	char *letter = options->shorts;
	size_t i;

	/* What is no option counts as one of code 1; ':' if its value lacks. */
	*letter++ = '-';
	*letter++ = ':';
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (!(table[i].subcommands & subcommand))
			continue;
		*option = table[i].option;
		if (option->val < OPTION_NAME)
			*letter++ = (char)option->val;
		if (option->val < OPTION_NAME && option->has_arg)
			*letter++ = ':';
		option++;
	}
	*option = (struct option) {};
	*letter = '\0';
}

static int print_options(const struct subcommand *sub)
{
	size_t i;

	fputs(sub->help, stdout);
	putchar('\n');
	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].subcommands & sub->bit)
			fputs(table[i].help, stdout);
	putchar('\n');
	return print_help(sub->name, sub->statuses);
}

static bool wants_command(const struct request *request, const struct subcommand *sub)
{
	return sub->bit & WITH_COMMAND && !request->unlock && !request->park;
}

/* What stands behind "--": the command, or more arguments. */
static int take_rest(struct parser *parser, char **argv)
{
	struct request *request = parser->request;
	int status = PARSED;

	if (wants_command(request, parser->sub)) {
		request->command = argv + optind;
		return PARSED;
	}
	for (; status == PARSED && argv[optind]; optind++)
		status = add_argument(parser, argv[optind], false);
	return status;
}

/* Whether there is what the subcommand acts on. */
static int check_arguments(const struct parser *parser)
{
	const struct request *request = parser->request;
	const struct subcommand *sub = parser->sub;

	if (!sub->arguments)
		return PARSED;
	if (request->gate && request->count)
		return fail(sub->name, "the gate has no name; leave out --gate, or the name");
	if (!request->gate && !request->count && !request->cookie && !request->pid &&
	    !(sub->bit & NAMES_DOMAIN && request->domain))
		return fail_usage(sub->name, "there is no %s", sub->arguments);
	if (parser->mode_unused)
		return fail(sub->name, "-s or -x after the last name; put it before its names");
	return PARSED;
}

static int check_command(const struct request *request)
{
	if (!request->command)
		return PARSED;
	if (strcmp(request->command[-1], "--"))
		return fail_usage(request->sub, "there is no '--' before the command");
	if (!*request->command)
		return fail_usage(request->sub, "there is no command after '--'");
	return PARSED;
}

static int check_options(const struct request *request)
{
	if (request->nonblock && request->timed)
		return fail(request->sub, "-n and -w exclude each other; leave one out");
	if (request->inherit && (request->robust || request->consistent))
		return fail(request->sub,
			    "--inherit lets the lock outlive the command, so its status tells nothing; leave out --robust and --consistent");
	if (request->unlock && request->park)
		return fail(request->sub, "--unlock and --park exclude each other; leave one out");
	if (request->rounds && !request->interval)
		return fail(request->sub, "-n needs an interval; give it by -i");
	if (request->raw && request->json)
		return fail(request->sub, "--raw and --json exclude each other; leave one out");
	return PARSED;
}

/* Which domain it is, if the command line does not say so. */
static int find_domain(struct request *request)
{
	const char *name = getenv("ENTITYLOCK_DOMAIN");
	const char *fd = getenv("ENTITYLOCK_DOMAIN_FD");

	if (request->domain && request->domain_fd >= 0)
		return fail(request->sub,
			    "a domain's name and --domain-fd exclude each other; leave one out");
	if (request->domain || request->domain_fd >= 0)
		return PARSED;
	if (name && *name && fd && *fd)
		return fail(request->sub,
			    "ENTITYLOCK_DOMAIN and ENTITYLOCK_DOMAIN_FD are both set; unset one");
	if (fd && *fd)
		return set_domain_fd(request, fd);
	return set_domain(request, name ? name : "");
}

int request_parse(struct request *request, const struct subcommand *sub, int argc,
		  char **argv)
{
	struct parser parser = {
		.request = request, .sub = sub, .mode = ENTITYLOCK_EXCLUSIVE,
	};
	struct options options;
	int code, status = PARSED;

	request->sub = sub->name;
	request->gate = sub->bit == GATE;
	request->label = sub->label;
	request->conflict_status = EXIT_TIMED_OUT;
	request->grace = GRACE;
	request->interval = sub->bit == TOP ? INTERVAL : 0;
	request->domain_fd = -1;
	request->mode = 0700;
	select_options(&options, sub->bit);

	opterr = 0;	/* messages are our own */
	while (status == PARSED &&
	       (code = getopt_long(argc, argv, options.shorts, options.longs, NULL)) != -1) {
		if (code == 'h')
			return print_options(sub);
		if (code == '?' || code == ':')
			return fail_option(sub->name, code, argv, options.longs);
		status = take_option(&parser, code);
	}
	if (status == PARSED)
		status = take_rest(&parser, argv);
	if (status == PARSED)
		status = check_arguments(&parser);
	if (status == PARSED)
		status = check_command(request);
	if (status == PARSED)
		status = check_options(request);
	return status == PARSED && sub->bit & IN_DOMAIN ? find_domain(request) : status;
}
