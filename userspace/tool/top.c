// SPDX-License-Identifier: GPL-2.0
/* entitylock top: what is waited for, and held, most */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "duration.h"
#include "entry.h"
#include "json.h"
#include "request.h"
#include "rounds.h"
#include "screen.h"
#include "table.h"

static const struct subcommand subcommand = {
	.name = "top",
	.bit = TOP,
	.help =
"Usage: entitylock top [OPTION...]\n"
"\n"
"Shows what is waited for most, or has been held longest, again each second.  On a\n"
"terminal: w and h change the order, q ends.  Elsewhere each round is printed\n"
"behind the one before.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
};

#define ROWS_PLAIN	20	/* shown where there is no terminal */
#define ROWS_MAX	500

/* Of one entity, or the gate: for how long it is waited for, in all, and held. */
struct heat {
	uint64_t waited;
	uint64_t held;
};

/* The hottest so far, in order. */
struct ranking {
	struct snapshot rows;
	struct heat heat[ROWS_MAX + 1];
	size_t max;
	bool by_hold;
};

/* Of those that a listing shows; as many more wait at least as long as the last. */
static struct heat heat_of(const struct entitylock_list_entry *entry)
{
	struct heat heat = {};
	size_t i;

	for (i = 0; i < entry->nr_waiter; i++)
		if (entry->waiter[i].age != ENTITYLOCK_UNTOLD)
			heat.waited += entry->waiter[i].age;
	for (i = 0; i < entry->nr_holder; i++)
		if (entry->holder[i].age != ENTITYLOCK_UNTOLD &&
		    entry->holder[i].age > heat.held)
			heat.held = entry->holder[i].age;
	return heat;
}

static bool hotter(const struct ranking *ranking, const struct heat *a, const struct heat *b)
{
	uint64_t first = ranking->by_hold ? a->held : a->waited;
	uint64_t second = ranking->by_hold ? b->held : b->waited;

	if (first != second)
		return first > second;
	return ranking->by_hold ? a->waited > b->waited : a->held > b->held;
}

/* Puts it in its place, from behind; the last one falls out if there are too many. */
static void rank(struct ranking *ranking, const struct entitylock_list_entry *entry)
{
	struct snapshot *rows = &ranking->rows;
	struct heat heat = heat_of(entry);
	struct entitylock_list_entry row;
	size_t i = rows->nr;

	if (i == ranking->max && (!i || !hotter(ranking, &heat, &ranking->heat[i - 1])))
		return;
	snapshot_add(rows, entry);
	row = rows->entries[i];
	for (; i && hotter(ranking, &heat, &ranking->heat[i - 1]); i--) {
		rows->entries[i] = rows->entries[i - 1];
		ranking->heat[i] = ranking->heat[i - 1];
	}
	rows->entries[i] = row;
	ranking->heat[i] = heat;
	if (rows->nr > ranking->max)
		snapshot_drop_last(rows);
}

static int rank_all(struct ranking *ranking, int domain)
{
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	int ret;

	ret = entitylock_list_open(domain, &list);
	if (ret)
		return ret;
	while ((ret = entitylock_list_next(list, &entry)) > 0)
		if (entry->holders || entry->waiters)
			rank(ranking, entry);
	entitylock_list_close(list);
	return ret;
}

/* What is known of the domain as a whole, now and a round ago. */
struct numbers {
	struct entitylock_stats stats;
	uint64_t at;
};

static double rate(uint64_t now, uint64_t before, uint64_t ns)
{
	return ns ? (double)(now - before) * (double)NSEC_PER_SEC / (double)ns : 0;
}

static void print_head(const struct ranking *ranking, const struct numbers *now,
		       const struct numbers *before)
{
	const struct entitylock_stats *stats = &now->stats;
	uint64_t ns = now->at - before->at;
	int printed;

	printed = printf("entities %llu, tokens %llu, waiters %llu; ",
			 (unsigned long long)stats->entities, (unsigned long long)stats->tokens,
			 (unsigned long long)stats->waiters);
	printed += printf("grants %.1f/s, contended %.1f/s; by %s",
			  rate(stats->grants, before->stats.grants, ns),
			  rate(stats->contended, before->stats.contended, ns),
			  ranking->by_hold ? "hold" : "wait");
	screen_end_line(printed);
}

static void print_rows(const struct ranking *ranking)
{
	static const char *const titles[] = {
		"NAME", "STATE", "WAITERS", "WAITED", "HELD", "HOLDER", NULL,
	};
	const struct entitylock_list_entry *entry;
	static struct table table;
	char **cells;
	size_t i;

	table_begin(&table, titles);
	for (i = 0; i < ranking->rows.nr; i++) {
		entry = &ranking->rows.entries[i];
		cells = table_row(&table);
		cells[0] = name_cell(entry);
		cells[1] = state_cell(entry);
		cells[2] = number_cell(entry->waiters);
		cells[3] = entry->waiters ? duration_cell(ranking->heat[i].waited) : text_cell("");
		cells[4] = entry->holders ? duration_cell(ranking->heat[i].held) : text_cell("");
		cells[5] = parties_cell(entry->holder, entry->nr_holder ? 1 : 0, entry->holders);
		table_end_row(&table);
	}
	table_flush(&table);
}

static void print_json(const struct ranking *ranking, const struct numbers *now,
		       const struct numbers *before)
{
	const struct entitylock_list_entry *entry;
	const struct entitylock_stats *stats = &now->stats;
	uint64_t ns = now->at - before->at;
	size_t i;

	json_begin();
	json_string("sort", ranking->by_hold ? "hold" : "wait");
	json_seconds("interval", ns);
	json_number("entities", stats->entities);
	json_number("tokens", stats->tokens);
	json_number("waiters", stats->waiters);
	json_number("grants", stats->grants - before->stats.grants);
	json_number("contended", stats->contended - before->stats.contended);
	json_open("hottest", '[');
	for (i = 0; i < ranking->rows.nr; i++) {
		entry = &ranking->rows.entries[i];
		json_open(NULL, '{');
		json_entry(entry);
		json_seconds("waited", ranking->heat[i].waited);
		json_seconds("held", ranking->heat[i].held);
		json_parties("holder", entry->holder, entry->nr_holder);
		json_parties("waiter", entry->waiter, entry->nr_waiter);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

/* On the screen that stays. */
static int refused(const struct request *request, const char *what, enum entitylock_verb verb,
		   int error)
{
	screen_end();
	return domain_refused(request, what, verb, error);
}

/* One round; EXIT_SUCCESS, or the exit status after a message. */
static int print_round(const struct request *request, int domain, struct ranking *ranking,
		       struct numbers *before, bool first)
{
	struct numbers now;
	int err;

	err = entitylock_stats(domain, &now.stats);
	if (err)
		return refused(request, "read the statistics", ENTITYLOCK_VERB_STATS, err);
	now.at = entitylock_deadline_in(0);
	if (first)
		*before = now;

	ranking->max = screen_in_use() ? screen_rows() : ROWS_PLAIN;
	if (ranking->max > ROWS_MAX)
		ranking->max = ROWS_MAX;
	err = rank_all(ranking, domain);
	if (err)
		return refused(request, "list", ENTITYLOCK_VERB_LIST, err);
	screen_begin_frame();
	if (request->json) {
		print_json(ranking, &now, before);
	} else {
		if (!first && !screen_in_use())
			putchar('\n');
		print_head(ranking, &now, before);
		print_rows(ranking);
	}
	screen_end_frame();
	snapshot_free(&ranking->rows);
	*before = now;
	return finish_output("top");
}

/* What was typed; q and the like end it. */
static void obey(struct ranking *ranking)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
		rounds_end();
	else if (key == 'w' || key == 'h')
		ranking->by_hold = key == 'h';
}

static int show_rounds(const struct request *request, int domain)
{
	static struct ranking ranking;
	struct numbers before;
	uint64_t round = 0, next;
	int status;

	ranking.by_hold = request->sort_hold;
	for (;;) {
		next = entitylock_deadline_in(request->interval);
		status = print_round(request, domain, &ranking, &before, !round);
		if (status || ++round == request->rounds)
			return status;
		while (!rounds_ended() && entitylock_deadline_in(0) < next) {
			if (!rounds_sleep(next, screen_keyboard()))
				continue;
			obey(&ranking);
			break;
		}
		if (rounds_ended())
			return EXIT_SUCCESS;
	}
}

int top_main(int argc, char **argv)
{
	static struct request request;
	int domain, status;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	domain = domain_open(&request, O_RDONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	rounds_begin();
	/* What ends by itself is to be seen afterwards: there it is not on a screen of its own. */
	if (!request.json && !request.rounds)
		screen_begin();
	status = show_rounds(&request, domain);
	screen_end();
	close(domain);
	return status;
}
