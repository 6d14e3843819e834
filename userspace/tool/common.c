// SPDX-License-Identifier: GPL-2.0
/* Messages and numbers, for all subcommands. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entitylock.h"
#include "tool.h"

static __printf(2, 0) void print_message(const char *sub, const char *format,
					 va_list args)
{
	fprintf(stderr, "entitylock: %s: ", sub);
	vfprintf(stderr, format, args);
}

int fail(const char *sub, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(sub, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_OWN_FAILURE;
}

int fail_usage(const char *sub, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(sub, format, args);
	va_end(args);
	fprintf(stderr, "; see entitylock %s --help\n", sub);
	return EXIT_OWN_FAILURE;
}

int fail_option(const char *sub, int code, char **argv,
		const struct option *options)
{
	const char *word = escaped(argv[optind - 1]);
	const char letter[] = { (char)optopt, '\0' };

	if (code == ':')
		return fail_usage(sub, "option '%s' lacks its value", word);
	if (!optopt)
		return fail_usage(sub, "option '%s' is not known", word);
	for (; options->name; options++)
		if (options->val == optopt)
			return fail(sub, "option '--%s' takes no value; leave it out",
				    options->name);
	return fail_usage(sub, "option '-%s' is not known", escaped(letter));
}

void *need(void *memory)
{
	if (memory)
		return memory;
	fputs("entitylock: out of memory\n", stderr);
	exit(EXIT_OWN_FAILURE);
}

int finish_output(const char *sub)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_SUCCESS;
	return fail(sub, "cannot write the output: %s", strerror(errno));
}

int print_help(const char *sub, const char *text)
{
	fputs(text, stdout);
	return finish_output(sub);
}

void put_escaped(FILE *to, const char *bytes, size_t len, const char *also)
{
	unsigned char c;
	size_t i;

	for (i = 0; i < len; i++) {
		c = (unsigned char)bytes[i];
		if (c < ' ' || c > '~' || c == '\\' || strchr(also, c))
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
}

const char *escaped(const char *text)
{
	static char shown[4 * ENTITYLOCK_NAME_MAX + sizeof("...")];
	size_t len = strlen(text);
	FILE *to = fmemopen(shown, sizeof(shown), "w");

	if (!to)
		return "...";
	put_escaped(to, text, len < ENTITYLOCK_NAME_MAX ? len : ENTITYLOCK_NAME_MAX, "'");
	fputs(len > ENTITYLOCK_NAME_MAX ? "..." : "", to);
	fclose(to);
	return shown;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool parse_integer(const char *text, uint64_t max, uint64_t *number)
{
	uint64_t n = 0;
	unsigned int digit;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (!is_digit(*text))
			return false;
		digit = (unsigned int)(*text - '0');
		if (digit > max || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*number = n;
	return true;
}

bool parse_seconds(const char *text, uint64_t *ns)
{
	const uint64_t max = UINT64_MAX / NSEC_PER_SEC - 1;
	uint64_t seconds = 0, fraction = 0, unit = NSEC_PER_SEC;
	bool some = false;

	for (; is_digit(*text); text++, some = true) {
		seconds = seconds * 10 + (uint64_t)(*text - '0');
		if (seconds > max)
			return false;
	}
	if (*text == '.') {
		/* Digits beyond the nanoseconds do not count. */
		for (text++; is_digit(*text); text++, some = true) {
			unit /= 10;
			fraction += (uint64_t)(*text - '0') * unit;
		}
	}
	if (!some || *text)
		return false;
	*ns = seconds * NSEC_PER_SEC + fraction;
	return true;
}

bool parse_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t divisor;
	} units[] = { { "ms", 1000 }, { "us", 1000000 }, { "s", 1 } };
	size_t len = strlen(text), i, unit;
	char number[32];

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		unit = strlen(units[i].name);
		if (len <= unit || strcmp(text + len - unit, units[i].name))
			continue;
		if (len - unit >= sizeof(number))
			return false;
		snprintf(number, sizeof(number), "%.*s", (int)(len - unit), text);
		if (!parse_seconds(number, ns))
			return false;
		*ns /= units[i].divisor;
		return true;
	}
	return false;
}
