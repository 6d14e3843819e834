// SPDX-License-Identifier: GPL-2.0
/* The values of options, and arguments: each is checked, and taken over. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define INTERVAL_MIN	(NSEC_PER_SEC / 10)

static int set_seconds(const char *sub, uint64_t *ns, const char *text)
{
	if (parse_seconds(text, ns))
		return PARSED;
	return fail(sub, "'%s' is no time; give seconds, 0 to 18446744072, such as 2.5",
		    escaped(text));
}

static int set_number(const char *sub, uint64_t *number, const char *text,
		      const char *what)
{
	if (parse_integer(text, UINT64_MAX, number))
		return PARSED;
	return fail(sub, "'%s' is no %s; give the number as it was printed",
		    escaped(text), what);
}

/* To the module 0 means whoever holds: that is not what one asks for who gives a number. */
static int set_fence(struct request *request, const char *text)
{
	int status = set_number(request->sub, &request->fence, text, "fence");

	if (status == PARSED && !request->fence)
		return fail(request->sub,
			    "'0' is no fence: nobody has held it; leave --fence out to break whoever holds");
	return status;
}

static int set_lease(struct request *request, const char *text)
{
	int status = set_seconds(request->sub, &request->lease, text);

	if (status == PARSED && !request->lease)
		return fail(request->sub,
			    "a lease of 0 is none; leave --lease out, or give it some time");
	return status;
}

static int set_conflict_status(struct request *request, const char *text)
{
	if (parse_integer(text, 255, &request->conflict_status))
		return PARSED;
	return fail(request->sub, "'%s' is not an exit status; give 0 to 255",
		    escaped(text));
}

static int set_label(struct request *request, const char *label)
{
	size_t len = strlen(label);

	if (len > ENTITYLOCK_LABEL_MAX)
		return fail(request->sub, "the label has %zu bytes; shorten it to %d",
			    len, ENTITYLOCK_LABEL_MAX);
	request->label = label;
	return PARSED;
}

static int set_mode(struct request *request, const char *text)
{
	size_t len = strspn(text, "01234567");
	unsigned long mode = strtoul(text, NULL, 8);

	if (!len || len > 4 || text[len] || mode > 0777)
		return fail(request->sub, "'%s' is no mode; give octal digits, 0 to 0777",
			    escaped(text));
	request->mode = (uint32_t)mode;
	request->mode_given = true;
	return PARSED;
}

int set_domain_fd(struct request *request, const char *text)
{
	uint64_t number;

	if (!parse_integer(text, INT_MAX, &number))
		return fail(request->sub,
			    "'%s' is no descriptor of a domain; give its number",
			    escaped(text));
	request->domain_fd = (int)number;
	return PARSED;
}

static int set_rounds(struct request *request, const char *text)
{
	if (parse_integer(text, UINT32_MAX, &request->rounds) && request->rounds)
		return PARSED;
	return fail(request->sub, "'%s' is no number of rounds; give 1 or more",
		    escaped(text));
}

static int set_interval(struct request *request, const char *text)
{
	int status = set_seconds(request->sub, &request->interval, text);

	if (status == PARSED && request->interval < INTERVAL_MIN)
		return fail(request->sub, "an interval of %s is too short; give 0.1 or more",
			    text);
	return status;
}

static int set_longer_than(struct request *request, const char *text)
{
	if (parse_duration(text, &request->longer_than))
		return PARSED;
	return fail(request->sub, "'%s' is no time; give a number and a unit: 20ms, 1.5s, 300us",
		    escaped(text));
}

/* One of two words. */
static int set_word(const struct request *request, const char *text, const char *const words[2],
		    const char *option)
{
	if (!strcmp(text, words[0]))
		return 0;
	if (!strcmp(text, words[1]))
		return 1;
	fail(request->sub, "'%s' is nothing for %s; give '%s' or '%s'", escaped(text), option,
	     words[0], words[1]);
	return -1;
}

static int set_sort(struct request *request, const char *text)
{
	static const char *const orders[] = { "wait", "hold" };
	int order = set_word(request, text, orders, "--sort");

	request->sort_hold = order == 1;
	return order < 0 ? EXIT_OWN_FAILURE : PARSED;
}

static int set_by(struct request *request, const char *text)
{
	static const char *const groups[] = { "entity", "process" };
	int group = set_word(request, text, groups, "--by");

	request->by = group == 0 ? BY_ENTITY : BY_PROCESS;
	return group < 0 ? EXIT_OWN_FAILURE : PARSED;
}

static int check_name(const struct request *request, const char *name)
{
	size_t len = strlen(name);
	char head[21];

	snprintf(head, sizeof(head), "%s", name);
	if (!len)
		return fail(request->sub, "a name is empty; give it at least one byte");
	if (len > ENTITYLOCK_NAME_MAX)
		return fail(request->sub,
			    "the name '%s...' has %zu bytes; shorten it to %d",
			    escaped(head), len, ENTITYLOCK_NAME_MAX);
	return PARSED;
}

/* An empty name, as variables may have it, stands for the default domain. */
int set_domain(struct request *request, const char *name)
{
	request->domain = name;
	return *name ? check_name(request, name) : PARSED;
}

static int add_domain(struct request *request, const char *name)
{
	if (request->domain)
		return fail_usage(request->sub, "there is more than one domain");
	request->domain = name;
	return check_name(request, name);
}

static int add_name(struct parser *parser, const char *name)
{
	struct request *request = parser->request;
	int status = check_name(request, name);

	parser->mode_unused = false;
	if (status != PARSED)
		return status;
	if (request->count == ENTITYLOCK_SET_MAX)
		return fail(request->sub,
			    "more than %d names; lock something that stands for many",
			    ENTITYLOCK_SET_MAX);
	entitylock_entity_init(&request->set[request->count++], name, strlen(name),
			       parser->mode);
	return PARSED;
}

static int add_pid_or_name(struct parser *parser, const char *argument)
{
	uint64_t pid;

	if (!parse_integer(argument, INT_MAX, &pid))
		return add_name(parser, argument);
	if (!pid || parser->request->pid)
		return fail_usage(parser->sub->name, pid ? "there is more than one process id"
							 : "no process has the id 0");
	parser->request->pid = (pid_t)pid;
	return PARSED;
}

int add_argument(struct parser *parser, const char *argument, bool surely)
{
	struct request *request = parser->request;

	switch (parser->sub->bit) {
	case GATE:
		return fail_usage(request->sub, "the gate has no name and no mode");
	case CLAIM:
		if (request->cookie)
			return fail_usage(request->sub,
					  "there is more than one cookie before '--'");
		request->cookie = argument;
		return PARSED;
	case LS:
	case TOP:
	case STAT:
	case TRACE:
	case DOCTOR:
		return fail_usage(request->sub, "'%s' is one argument too many",
				  escaped(argument));
	case DOMAIN_PRIVATE:
		return fail_usage(request->sub, "a private domain has no name");
	case DOMAIN_CREATE:
	case DOMAIN_RUN:
	case DOMAIN_SHOW:
		return add_domain(request, argument);
	case BLOCKERS:
		return surely ? add_name(parser, argument)
			      : add_pid_or_name(parser, argument);
	default:
		return add_name(parser, argument);
	}
}

int take_option(struct parser *parser, int code)
{
	struct request *request = parser->request;

	switch (code) {
	case 1:
	case OPTION_NAME:
		return add_argument(parser, optarg, code == OPTION_NAME);
	case 'x':
	case 's':
		parser->mode = code == 's' ? ENTITYLOCK_SHARED : ENTITYLOCK_EXCLUSIVE;
		parser->mode_unused = true;
		return PARSED;
	case 'w':
		request->timed = true;
		return set_seconds(request->sub, &request->timeout, optarg);
	case 'E':
		return set_conflict_status(request, optarg);
	case OPTION_LABEL:
		return set_label(request, optarg);
	case OPTION_LEASE:
		return set_lease(request, optarg);
	case OPTION_GRACE:
		return set_seconds(request->sub, &request->grace, optarg);
	case OPTION_SINCE:
		request->since_given = true;
		return set_number(request->sub, &request->since, optarg, "version");
	case OPTION_FENCE:
		return set_fence(request, optarg);
	case OPTION_DOMAIN:
		return set_domain(request, optarg);
	case OPTION_DOMAIN_FD:
		return set_domain_fd(request, optarg);
	case OPTION_MODE:
		return set_mode(request, optarg);
	case OPTION_EXCLUSIVE:
		request->exclusive = true;
		return PARSED;
	case OPTION_RAW:
		request->raw = true;
		return PARSED;
	case OPTION_JSON:
		request->json = true;
		return PARSED;
	case 'n':
		if (parser->sub->bit & (TOP | STAT))
			return set_rounds(request, optarg);
		request->nonblock = true;
		return PARSED;
	case 'i':
		return set_interval(request, optarg);
	case OPTION_SORT:
		return set_sort(request, optarg);
	case OPTION_LONGER_THAN:
		return set_longer_than(request, optarg);
	case OPTION_BY:
		return set_by(request, optarg);
	case OPTION_FOR:
		request->timed = true;
		return set_seconds(request->sub, &request->timeout, optarg);
	case OPTION_WAITS:
		request->waits = true;
		return PARSED;
	case 'v':
		request->verbose = true;
		return PARSED;
	case OPTION_GATE:
		request->gate = true;
		return PARSED;
	case OPTION_CHANGED:
		request->changed = true;
		return PARSED;
	case OPTION_ROBUST:
		request->robust = true;
		return PARSED;
	case OPTION_CONSISTENT:
		request->consistent = true;
		return PARSED;
	case OPTION_INHERIT:
		request->inherit = true;
		return PARSED;
	case OPTION_UNLOCK:
		request->unlock = true;
		return PARSED;
	case OPTION_PARK:
		request->park = true;
		return PARSED;
	default:
		return PARSED;
	}
}
