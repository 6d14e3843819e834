// SPDX-License-Identifier: GPL-2.0
/*
 * check [--break RULE [--nth N]] [FILE]: is a history what locks promise?
 *
 * TAP, a test a rule; a rule that is violated is followed by the calls that do.
 * Exit status 0, 1 where a rule is violated, 2 where it is no history.
 *
 * --break RULE prints the history with this rule broken, in the Nth place (0) of
 * those that there are, counted round and round, and says on stderr which lines
 * violate it now; status 3 where there is none.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

#define SAY	3	/* violations of a rule, at most */

static const char usage[] = "check [--break RULE [--nth N]] [FILE]\n";

static enum rule rule_find(const char *name)
{
	enum rule rule = ALONE;

	while (rule < RULES && strcmp(rule_names[rule], name))
		rule++;
	return rule;
}

static int check(const struct history *history, const struct grants *grants)
{
	struct verdict verdict;
	u32 bad = 0;

	printf("1..%d\n# %u calls, %u grants\n", RULES, history->count, grants->count);
	rules_check(&verdict, grants, SAY);
	for (enum rule rule = 0; rule < RULES; rule++) {
		bool good = !verdict.violations[rule];

		printf("%sok %u %s # looked at %u, violated %u times\n", good ? "" : "not ",
		       rule + 1, rule_names[rule], verdict.checked[rule],
		       verdict.violations[rule]);
		bad += !good;
	}
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "break", required_argument, NULL, 'b' },
		{ "nth", required_argument, NULL, 'n' },
		{ 0 },
	};
	enum rule broken = RULES;
	struct history history;
	struct grants grants;
	FILE *file = stdin;
	u32 nth = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			broken = rule_find(optarg);
			if (broken < RULES)
				break;
			fprintf(stderr, "check: there is no rule %s, but these:\n", optarg);
			for (enum rule rule = 0; rule < RULES; rule++)
				fprintf(stderr, "  %s\n", rule_names[rule]);
			return 2;
		case 'n':
			nth = strtoul(optarg, NULL, 10);
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc)
		file = fopen(argv[optind], "re");
	if (!file) {
		perror(argv[optind]);
		return 2;
	}
	if (!history_read(&history, file) || !grants_make(&grants, &history))
		return 2;
	if (broken == RULES)
		return check(&history, &grants);
	if (!mutate(&history, &grants, broken, nth)) {
		fprintf(stderr, "check: there is no place to break %s\n", rule_names[broken]);
		return 3;
	}
	for (u32 i = 0; i < history.count; i++)
		event_print(stdout, &history.events[i]);
	return 0;
}
