// SPDX-License-Identifier: GPL-2.0
/* Times as people read them. */
#include <stdio.h>
#include <time.h>

#include "duration.h"
#include "tool.h"

static const struct {
	uint64_t unit;		/* in nanoseconds */
	uint64_t below;		/* times shorter than this are told in it */
	int digits;		/* behind the point */
	const char *name;
} units[] = {
	{ 1000, 1000000, 0, "us" },
	{ 1000000, NSEC_PER_SEC, 0, "ms" },
	{ NSEC_PER_SEC, 100 * NSEC_PER_SEC, 1, "s" },
	{ 60 * NSEC_PER_SEC, 100 * 60 * NSEC_PER_SEC, 0, "min" },
	{ 3600 * NSEC_PER_SEC, 48 * 3600 * NSEC_PER_SEC, 1, "h" },
	{ 86400 * NSEC_PER_SEC, UINT64_MAX, 0, "d" },
};

const char *duration(uint64_t ns, char text[DURATION_TEXT])
{
	size_t i = 0;

	while (i < ARRAY_SIZE(units) - 1 && ns >= units[i].below)
		i++;
	snprintf(text, DURATION_TEXT, "%.*f %s", units[i].digits,
		 (double)ns / (double)units[i].unit, units[i].name);
	return text;
}

uint64_t boottime_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}
