// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "way.h"

const struct way *way_find(const char *name)
{
	static const struct way *const ways[] = {
		&version3_way, &version2_way, &column4_way, &column2_way,
		&token_way, &parked_way, &unchanged_way, &none_way,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i]->name, name))
			return ways[i];
	return NULL;
}

void way_send(struct edit *edit, int sock)
{
	if (send(sock, edit, sizeof(*edit), MSG_NOSIGNAL) != sizeof(*edit))
		die_errno("send");
}

bool way_receive(struct edit *edit, int sock)
{
	return recv(sock, edit, sizeof(*edit), 0) == sizeof(*edit);
}

bool way_think(struct edit *edit, uint64_t until)
{
	(void)edit;
	sleep_until(until);
	return false;
}

void way_drop(struct edit *edit)
{
	(void)edit;
}

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

void sleep_until(uint64_t time)
{
	struct timespec until = {
		.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "offline: %s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

void die_errno(const char *what)
{
	fprintf(stderr, "offline: %s: %s\n", what, strerror(errno));
	exit(1);
}
