// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include "names.h"

#define LONGEST		255

struct name name_at(unsigned int number)
{
	static char text[NAMES][8];
	static char longest[LONGEST + 1];
	const struct name hard[NAME_KINDS] = {
		{ "a", 1 }, { "b", 1 }, { "ab", 2 }, { "c", 1 }, { "", 1 }, { "a\0b", 3 },
		{ "\xff\xfe", 2 }, { "a\tb\n", 4 }, { "-", 1 }, { longest, LONGEST },
		{ longest, LONGEST - 1 }, { "0007", 4 },
		/* Not allowed. */
		{ "a", 0 }, { longest, LONGEST + 1 },
	};

	memset(longest, 'L', sizeof(longest));
	if (number < NAME_KINDS)
		return hard[number];
	number %= NAMES;
	snprintf(text[number], sizeof(text[0]), "%04u", number);
	return (struct name){ text[number], 4 };
}
