// SPDX-License-Identifier: GPL-2.0
/* Writing JSON. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "tool.h"

/* The number of the schema of all documents: see Documentation/command.rst. */
#define SCHEMA	1

static unsigned int depth;
static bool separate;	/* something stands before, in the same brackets */
static bool new_line;

/*
 * ASCII alone: what is not printable, and the backslash, is \xHH as in the kernel's
 * listing, so that nothing is lost.
 */
static void put_string(const char *bytes, size_t len)
{
	unsigned char c;
	size_t i;

	putchar('"');
	for (i = 0; i < len; i++) {
		c = (unsigned char)bytes[i];
		if (c < ' ' || c > '~' || c == '\\')
			printf("\\\\x%02x", c);
		else if (c == '"')
			fputs("\\\"", stdout);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin_value(const char *key)
{
	if (separate)
		putchar(',');
	if (new_line)
		putchar('\n');
	else if (separate)
		putchar(' ');
	new_line = false;
	separate = true;
	if (key)
		printf("\"%s\": ", key);
}

void json_open(const char *key, char bracket)
{
	begin_value(key);
	putchar(bracket);
	separate = false;
	depth++;
}

void json_close(char bracket)
{
	if (new_line)
		putchar('\n');
	new_line = false;
	putchar(bracket);
	separate = true;
	if (--depth)
		return;
	putchar('\n');
	separate = false;
}

void json_new_line(void)
{
	new_line = true;
}

void json_begin(void)
{
	json_open(NULL, '{');
	json_number("schema", SCHEMA);
}

void json_text(const char *key, const char *bytes, size_t len)
{
	begin_value(key);
	put_string(bytes, len);
}

void json_string(const char *key, const char *text)
{
	json_text(key, text, strlen(text));
}

void json_escaped(const char *key, const char *text)
{
	begin_value(key);
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

void json_string_or_null(const char *key, const char *text)
{
	if (text)
		json_string(key, text);
	else
		json_null(key);
}

void json_number(const char *key, uint64_t number)
{
	begin_value(key);
	printf("%llu", (unsigned long long)number);
}

void json_signed(const char *key, int64_t number)
{
	begin_value(key);
	printf("%lld", (long long)number);
}

void json_digits(const char *key, uint64_t number)
{
	begin_value(key);
	printf("\"%llu\"", (unsigned long long)number);
}

void json_seconds(const char *key, uint64_t ns)
{
	begin_value(key);
	printf("%llu.%09llu", (unsigned long long)(ns / NSEC_PER_SEC),
	       (unsigned long long)(ns % NSEC_PER_SEC));
}

void json_bool(const char *key, bool value)
{
	begin_value(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	begin_value(key);
	fputs("null", stdout);
}
