// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of the trace:
 *
 *	         command-173     [000] ..... 12345.678901: entitylock_grant: key=value ...
 *
 * A command is any bytes, at most 15 of them, which may look like the beginning of an
 * event, or, behind a newline, of a line.  Values are escaped, and have no spaces in
 * them: so the last name of an event is the event's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "tool.h"

#define MARK	": entitylock_"
#define COMM_WIDTH	16	/* to which it is filled up */

static const char *last_mark(const char *line)
{
	const char *mark = NULL, *next;

	for (next = strstr(line, MARK); next; next = strstr(next + 1, MARK))
		mark = next;
	return mark;
}

/* What follows "key=" up to a space; NULL = there is no such key. */
static const char *value_of(const char *body, const char *key, size_t *len)
{
	size_t key_len = strlen(key);
	const char *word;

	for (word = body; word; word = strchr(word, ' ')) {
		word += strspn(word, " ");
		if (strncmp(word, key, key_len) || word[key_len] != '=')
			continue;
		word += key_len + 1;
		*len = strcspn(word, " ");
		return word;
	}
	return NULL;
}

static void take_text(char *to, size_t size, const char *body, const char *key)
{
	size_t len = 0;
	const char *value = value_of(body, key, &len);

	snprintf(to, size, "%.*s", (int)len, value ? value : "");
}

/* With each \xHH as the byte that it stands for. */
static void take_bytes(char *to, size_t size, const char *body, const char *key)
{
	size_t len = 0, i = 0, used = 0;
	const char *value = value_of(body, key, &len);
	unsigned int byte;

	while (i < len && used + 1 < size) {
		byte = (unsigned char)value[i];
		i += byte == '\\' && sscanf(value + i, "\\x%2x", &byte) == 1 ? 4 : 1;
		to[used++] = (char)byte;
	}
	to[used] = '\0';
}

static uint64_t number_of(const char *body, const char *key)
{
	size_t len;
	const char *value = value_of(body, key, &len);

	return value ? strtoull(value, NULL, 10) : 0;
}

static int signed_of(const char *body, const char *key)
{
	size_t len;
	const char *value = value_of(body, key, &len);

	return value ? atoi(value) : 0;
}

/* The time ends at @mark. */
static uint64_t time_before(const char *line, const char *mark)
{
	char seconds[32];
	uint64_t ns = 0;
	const char *start = mark;

	while (start > line && start[-1] != ' ')
		start--;
	snprintf(seconds, sizeof(seconds), "%.*s", (int)(mark - start), start);
	parse_seconds(seconds, &ns);
	return ns;
}

static void take_task(struct event *event, const char *line, const char *mark)
{
	size_t skip = strspn(line, " ");

	event->task = 0;
	event->task_comm[0] = '\0';
	if (mark - line <= COMM_WIDTH || line[COMM_WIDTH] != '-')
		return;
	event->task = atoi(line + COMM_WIDTH + 1);
	snprintf(event->task_comm, sizeof(event->task_comm), "%.*s",
		 (int)(COMM_WIDTH - skip), line + skip);
}

bool event_parse(struct event *event, const char *line)
{
	const char *mark = last_mark(line), *body;
	size_t len;

	if (!mark)
		return false;
	body = mark + strlen(MARK);
	len = strcspn(body, ":");
	if (!body[len])
		return false;
	snprintf(event->name, sizeof(event->name), "%.*s", (int)len, body);
	body += len + 1;
	event->at = time_before(line, mark);
	take_task(event, line, mark);
	event->token = number_of(body, "token");
	take_text(event->domain, sizeof(event->domain), body, "domain");
	take_text(event->entity, sizeof(event->entity), body, "entity");
	event->duration = number_of(body, "duration") ?: number_of(body, "waited");
	event->error = signed_of(body, "result") ?: signed_of(body, "error");
	take_text(event->cause, sizeof(event->cause), body, "cause");
	event->tid = signed_of(body, "tid");
	event->holder = number_of(body, "holder");
	event->holder_pid = signed_of(body, "holder_pid");
	take_bytes(event->comm, sizeof(event->comm), body, "comm");
	return true;
}

/* The number at *@text, which is moved behind it; false if there is none. */
static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return true;
}

static bool take_word(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

/* CPU:1 [LOST 23 EVENTS], and nothing else: it is longer than what a command can have. */
bool event_lost(const char *line, uint64_t *lost)
{
	uint64_t cpu, events;

	if (!take_word(&line, "CPU:") || !take_number(&line, &cpu) ||
	    !take_word(&line, " [LOST ") || !take_number(&line, &events) ||
	    strcmp(line, " EVENTS]"))
		return false;
	*lost = events;
	return true;
}
