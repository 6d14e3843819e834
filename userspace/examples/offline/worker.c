// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "database.h"
#include "worker.h"

static struct shared *shared;

/* This process's. */
static unsigned int number;
static struct score *score;
static unsigned long long seed, randomness;

static unsigned int random_below(unsigned int end)
{
	randomness ^= randomness << 13;
	randomness ^= randomness >> 7;
	randomness ^= randomness << 17;
	return randomness % end;
}

/* The second process: what the first has begun it thinks to the end, and saves. */
static void finish_edits(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	enum outcome outcome;
	const struct way *way;
	struct edit edit;

	for (;;) {
		/* Only what has come tells that the cell is set. */
		poll(&pfd, 1, -1);
		way = shared->cell.way;
		if (!way->receive(&edit, sock))
			exit(0);
		if (way->think(&edit, edit.until)) {
			way->drop(&edit);
			outcome = STALE;
		} else {
			outcome = way->save(&edit, edit.value + 1);
		}
		score->statements[1] = database_statements();
		if (send(sock, &outcome, sizeof(outcome), MSG_NOSIGNAL) != sizeof(outcome))
			exit(0);
	}
}

/* One try, from the first statement to the last. */
static enum outcome attempt(const struct cell *cell, struct edit *edit, int second)
{
	enum outcome outcome = cell->way->begin(edit);
	uint64_t begun;

	if (outcome != DONE)
		return outcome;
	begun = now();
	edit->until = begun + cell->think;
	if (cell->way->think(edit, begun + cell->think / 2)) {
		cell->way->drop(edit);
		outcome = STALE;
	} else {
		cell->way->send(edit, second);
		if (recv(second, &outcome, sizeof(outcome), 0) != sizeof(outcome)) {
			fprintf(stderr, "offline: worker %u: its second process has died\n",
				number);
			exit(1);
		}
	}
	if (outcome == STALE) {
		score->wasted++;
		score->wasted_time += now() - begun;
	}
	return outcome;
}

static void record_wait(uint64_t wait, uint64_t think)
{
	if (score->nr_waits == WAITS_MAX) {
		fprintf(stderr, "offline: more than %u edits of a worker: shorten the cell\n",
			WAITS_MAX);
		exit(1);
	}
	score->waits[score->nr_waits++] = wait > think ? wait - think : 0;
}

/* An edit, with as many tries as it takes. */
static void edit_a_row(const struct cell *cell, uint64_t wanted, int second)
{
	struct edit edit = {
		.row = 1 + random_below(cell->rows),
		.owner = 1 + number,
		.deadline = cell->end,
		.token = -1,
	};
	enum outcome outcome;
	uint64_t done;

	while ((outcome = attempt(cell, &edit, second)) != DONE) {
		if (outcome == OVER || now() >= cell->end) {
			record_wait(cell->end - wanted, 0);
			return;
		}
		if (cell->way->pauses)
			sleep_until(now() + cell->pause);
	}
	done = now();
	record_wait(done - wanted, cell->think);
	score->saved++;
	if (done <= cell->end)
		score->changes++;
}

static void work(const struct cell *cell, int second)
{
	uint64_t time;

	/* In each way they rest as long, and want the same rows. */
	randomness = seed;
	sleep_until(cell->start);
	for (;;) {
		time = now() + cell->rest * random_below(2001) / 1000;
		if (time >= cell->end)
			break;
		sleep_until(time);
		edit_a_row(cell, time, second);
	}
}

static int second_process(void)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die_errno("socketpair");
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (pid) {
		close(pair[1]);
		return pair[0];
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[0]);
	database_open();
	finish_edits(pair[1]);
	return -1;
}

static void first_process(int sock)
{
	int second = second_process();
	char byte = 0;

	database_open();
	while (send(sock, &byte, 1, MSG_NOSIGNAL) == 1 && recv(sock, &byte, 1, 0) == 1) {
		work(&shared->cell, second);
		score->statements[0] = database_statements();
	}
	exit(0);
}

/* Each says a byte when it idles. */
static void wait_for(const struct worker *worker)
{
	char byte;

	if (recv(worker->sock, &byte, 1, 0) == 1)
		return;
	fputs("offline: a worker has died\n", stderr);
	exit(1);
}

void workers_start(struct worker *workers, unsigned int nr, struct shared *memory,
		   unsigned int seed_of_all)
{
	unsigned int i, j;
	int pair[2];
	pid_t pid;

	shared = memory;
	fflush(stdout);		/* or each child would print it again */
	for (i = 0; i < nr; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			die_errno("socketpair");
		pid = fork();
		if (pid < 0)
			die_errno("fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* Or the end of another would not be seen. */
			for (j = 0; j < i; j++)
				close(workers[j].sock);
			close(pair[0]);
			number = i;
			score = &shared->scores[i];
			seed = (seed_of_all + i + 1) * 0x9e3779b97f4a7c15ULL;
			first_process(pair[1]);
		}
		close(pair[1]);
		workers[i].sock = pair[0];
		wait_for(&workers[i]);
	}
}

void workers_run(struct worker *workers, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (send(workers[i].sock, "", 1, MSG_NOSIGNAL) != 1)
			die_errno("send");
	for (i = 0; i < nr; i++)
		wait_for(&workers[i]);
}
