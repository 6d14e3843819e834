// SPDX-License-Identifier: GPL-2.0
/* The format of histories: see history.h. */
#include <stdlib.h>
#include <string.h>

#include "history.h"

static const char *const verb_names[VERBS] = {
	"acquire", "lock", "extend", "upgrade", "downgrade", "look", "renew", "unlock",
	"unlock-unchanged", "close", "park", "claim", "pass", "take", "break", "kill",
};

static const char *const result_names[RESULTS] = {
	[OK] = "ok", [GRANTED] = "granted", [WAITS] = "waits", [FAILED] = "failed", [LOST] = "lost",
};

const char *thing_name(unsigned char thing)
{
	static char letters[THINGS][2];

	if (thing == GATE)
		return "gate";
	letters[thing][0] = 'A' + thing - 1;
	return letters[thing];
}

static bool locks(const struct event *event)
{
	return event->verb <= DOWNGRADE;
}

void event_print(FILE *file, const struct event *event)
{
	fprintf(file, "%lu ", event->begin);
	if (event->end == NEVER)
		fputc('-', file);
	else
		fprintf(file, "%lu", event->end);
	fprintf(file, " %u %u %s", event->process, event->token, verb_names[event->verb]);
	if (event->verb == KILL)
		fprintf(file, " %lu", event->number);
	for (u32 i = 0; i < event->count && locks(event); i++)
		fprintf(file, " %s:%c", thing_name(event->items[i].thing),
			event->items[i].exclusive ? 'x' : 's');
	if (event->verb == BREAK)
		fprintf(file, " %s fence=%lu", thing_name(event->items[0].thing), event->number);
	if (event->lease)
		fprintf(file, " lease=%lu", event->lease);
	if (event->end == NEVER || event->result == NONE) {
		fputc('\n', file);
		return;
	}
	fprintf(file, " -> %s", result_names[event->result]);
	if (event->fence)
		fprintf(file, " fence=%lu", event->fence);
	for (u32 i = 0; i < event->count; i++)
		if (event->items[i].told)
			fprintf(file, " %s=%lu", thing_name(event->items[i].thing),
				event->items[i].version);
	fputc('\n', file);
}

/* One of @count names, or @count. */
static unsigned int find_name(const char *const *names, unsigned int count, const char *name)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (names[i] && !strcmp(names[i], name))
			break;
	return i;
}

static bool read_number(const char *text, u64 *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end;
}

static int read_thing(const char *text, size_t len)
{
	if (len == 4 && !strncmp(text, "gate", 4))
		return GATE;
	if (len == 1 && *text >= 'A' && *text <= 'z')
		return thing_of(*text);
	return -1;
}

static struct item *event_item(struct event *event, int thing)
{
	for (u32 i = 0; i < event->count; i++)
		if (event->items[i].thing == thing)
			return &event->items[i];
	if (event->count == ITEMS)
		return NULL;
	event->items[event->count] = (struct item){ .thing = thing };
	return &event->items[event->count++];
}

/* A word behind the verb: NAME, NAME:MODE, KEY=NUMBER, or a number. */
static bool read_word(struct event *event, const char *word)
{
	size_t len = strcspn(word, ":=");
	int thing = read_thing(word, len);
	struct item *item;
	u64 number = 0;

	if (word[len] == '=' && !read_number(word + len + 1, &number))
		return false;
	if (!strncmp(word, "lease=", 6)) {
		event->lease = number;
		return true;
	}
	if (!strncmp(word, "fence=", 6)) {
		if (event->verb == BREAK)
			event->number = number;
		else
			event->fence = number;
		return true;
	}
	if (event->verb == KILL)
		return read_number(word, &event->number);
	item = thing < 0 ? NULL : event_item(event, thing);
	if (!item)
		return false;
	if (word[len] == '=') {
		item->told = true;
		item->version = number;
		return true;
	}
	if (event->verb == BREAK)
		return !word[len];
	item->exclusive = !strcmp(word + len, ":x");
	return item->exclusive || !strcmp(word + len, ":s");
}

static bool read_line(struct event *event, char *line)
{
	static const char blank[] = " \t\n";
	u64 head[4] = { 0 };
	char *word;

	for (int i = 0; i < 4; i++) {
		word = strtok(i ? NULL : line, blank);
		if (!word)
			return false;
		if (i == 1 && !strcmp(word, "-"))
			head[i] = NEVER;
		else if (!read_number(word, &head[i]))
			return false;
	}
	event->begin = head[0];
	event->end = head[1];
	event->process = head[2];
	event->token = head[3];
	word = strtok(NULL, blank);
	event->verb = word ? find_name(verb_names, VERBS, word) : VERBS;
	if (event->verb == VERBS || event->end < event->begin)
		return false;
	while ((word = strtok(NULL, blank)) && strcmp(word, "->"))
		if (!read_word(event, word))
			return false;
	if (!word)
		return event->end == NEVER;
	word = strtok(NULL, blank);
	event->result = word ? find_name(result_names, RESULTS, word) : RESULTS;
	if (event->result == RESULTS || event->end == NEVER)
		return false;
	while ((word = strtok(NULL, blank)))
		if (!read_word(event, word))
			return false;
	return event->result != GRANTED || event->fence;
}

static int by_begin(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return one->line < other->line ? -1 : 1;
}

bool history_read(struct history *history, FILE *file)
{
	char line[512], copy[512];
	u32 room = 0, number = 0;

	*history = (struct history){ 0 };
	while (fgets(line, sizeof(line), file)) {
		struct event event = { .line = ++number };

		if (line[0] == '#' || line[0] == '\n')
			continue;
		strcpy(copy, line);
		if (!read_line(&event, copy)) {
			fprintf(stderr, "line %u is no call of a history: %s", number, line);
			return false;
		}
		if (history->count == room) {
			room = 2 * room + 1024;
			history->events = realloc(history->events, room * sizeof(event));
			if (!history->events)
				abort();
		}
		history->events[history->count++] = event;
	}
	if (history->count)
		qsort(history->events, history->count, sizeof(*history->events), by_begin);
	return true;
}
