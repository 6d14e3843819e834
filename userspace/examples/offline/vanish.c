// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"
#include "vanish.h"

#define TO_QUEUE	100000000	/* after which the next editor waits in earnest */

enum fate {
	KILLED,			/* while it thinks */
	PARKED,			/* it has parked its token, and is killed */
	PAUSED,			/* it thinks for longer than its lease */
	HANDED,			/* it has passed its edit on, and is killed */
};

static const char *const fates[] = { "killed", "parked", "paused", "handed" };

static const struct scenario {
	enum fate fate;
	const struct way *way;
} scenarios[] = {
	{ KILLED, &version3_way }, { KILLED, &version2_way },
	{ KILLED, &column4_way }, { KILLED, &column2_way },
	{ KILLED, &token_way }, { KILLED, &unchanged_way },
	{ PARKED, &parked_way }, { PAUSED, &token_way },
	{ HANDED, &token_way }, { HANDED, &parked_way }, { HANDED, &unchanged_way },
};

/* A process with an edit of its own, and a socket to it. */
struct editor {
	pid_t pid;
	int sock;
};

struct news {
	enum outcome outcome;
	uint64_t time;
};

static void tell(int sock, enum outcome outcome, uint64_t time)
{
	struct news news = { outcome, time };

	if (send(sock, &news, sizeof(news), MSG_NOSIGNAL) != sizeof(news))
		exit(1);
}

static void wait_for_order(int sock)
{
	char byte;

	if (recv(sock, &byte, 1, 0) != 1)
		exit(1);
}

/* It begins; when it is let, it saves.  @onward: where to pass the edit on, or -1. */
static void be_first(const struct scenario *scenario, const struct vanish *what, int sock,
		     int onward)
{
	struct edit edit = {
		.row = 1,
		.owner = getpid(),
		.deadline = ENTITYLOCK_FOREVER,
		.token = -1,
	};
	uint64_t begun;

	if (scenario->fate == PARKED || scenario->fate == PAUSED)
		edit.lease = what->lease;
	begun = now();
	if (scenario->way->begin(&edit) != DONE)
		exit(1);
	if (onward >= 0) {
		begun = now();		/* the lease of what is parked runs from there */
		scenario->way->send(&edit, onward);
	}
	tell(sock, DONE, begun);
	wait_for_order(sock);
	tell(sock, scenario->way->save(&edit, edit.value + 1), now());
}

/* A first statement takes the database longer than others: on another row. */
static void rehearse(const struct way *way)
{
	struct edit edit = {
		.row = 2,
		.owner = getpid(),
		.deadline = ENTITYLOCK_FOREVER,
		.token = -1,
	};

	if (way->begin(&edit) != DONE)
		exit(1);
	way->drop(&edit);
}

/* It tries to edit the same row. */
static void be_next(const struct scenario *scenario, const struct vanish *what, int sock)
{
	struct edit edit = { .row = 1, .owner = getpid(), .token = -1 };
	enum outcome outcome;

	rehearse(scenario->way);
	tell(sock, DONE, now());
	wait_for_order(sock);
	edit.deadline = now() + what->limit;
	while ((outcome = scenario->way->begin(&edit)) == BUSY)
		sleep_until(now() + what->pause);
	tell(sock, outcome, now());
	if (outcome == DONE)
		tell(sock, scenario->way->save(&edit, edit.value + 1), now());
}

/* It goes on with the edit of another. */
static void be_second(const struct scenario *scenario, int sock, int onward)
{
	struct edit edit;

	tell(sock, DONE, now());
	wait_for_order(sock);
	if (!scenario->way->receive(&edit, onward))
		exit(1);
	tell(sock, scenario->way->save(&edit, edit.value + 1), now());
}

enum role { FIRST, NEXT, SECOND };

static struct editor start(enum role role, const struct scenario *scenario,
			   const struct vanish *what, int onward)
{
	struct editor editor;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die_errno("socketpair");
	fflush(stdout);
	editor.pid = fork();
	if (editor.pid < 0)
		die_errno("fork");
	if (!editor.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		database_open();
		switch (role) {
		case FIRST:
			be_first(scenario, what, pair[1], onward);
			break;
		case NEXT:
			be_next(scenario, what, pair[1]);
			break;
		case SECOND:
			be_second(scenario, pair[1], onward);
			break;
		}
		exit(0);
	}
	close(pair[1]);
	editor.sock = pair[0];
	return editor;
}

static void order(const struct editor *editor)
{
	if (send(editor->sock, "", 1, MSG_NOSIGNAL) != 1)
		die_errno("send");
}

static void hear(const struct editor *editor, struct news *news)
{
	if (recv(editor->sock, news, sizeof(*news), 0) == sizeof(*news))
		return;
	fputs("offline: an editor has died\n", stderr);
	exit(1);
}

static void end(const struct editor *editor)
{
	kill(editor->pid, SIGKILL);
	waitpid(editor->pid, NULL, 0);
	close(editor->sock);
}

/* @after: nanoseconds from the moment it should be free; negative: it was so before. */
static void print(const struct scenario *scenario, const char *what, int64_t after)
{
	printf("vanish,%s,%s,%s,%lld\n", fates[scenario->fate], scenario->way->name, what,
	       (long long)after / 1000);
	fflush(stdout);
}

/* Returns how many changes were made. */
static unsigned int next_edits(const struct scenario *scenario, const struct vanish *what,
			       int onward)
{
	struct editor next = start(NEXT, scenario, what, -1), first;
	struct news news;
	unsigned int saved = 0;
	uint64_t begun, from;

	hear(&next, &news);	/* it is ready before the lease begins */
	first = start(FIRST, scenario, what, onward);
	hear(&first, &news);
	begun = news.time;
	order(&next);
	if (scenario->way->holds)
		sleep_until(now() + TO_QUEUE);
	else
		hear(&next, &news);
	from = now();
	kill(first.pid, scenario->fate == PAUSED ? SIGSTOP : SIGKILL);
	if (scenario->fate == PARKED || scenario->fate == PAUSED)
		from = begun + what->lease;
	if (scenario->way->holds)
		hear(&next, &news);
	if (news.outcome == DONE) {
		print(scenario, "free", (int64_t)(news.time - from));
		hear(&next, &news);
		saved += news.outcome == DONE;
	} else {
		print(scenario, "never", (int64_t)what->limit);
	}
	if (scenario->fate == PAUSED) {
		kill(first.pid, SIGCONT);
		order(&first);
		hear(&first, &news);
		print(scenario, news.outcome == DONE ? "accepted" : "refused", 0);
		saved += news.outcome == DONE;
	}
	end(&first);
	end(&next);
	return saved;
}

static unsigned int second_saves(const struct scenario *scenario, const struct vanish *what,
				 const int pair[2])
{
	struct editor first = start(FIRST, scenario, what, pair[0]);
	struct editor second = start(SECOND, scenario, what, pair[1]);
	struct news news;
	uint64_t from;

	hear(&first, &news);
	hear(&second, &news);
	from = now();
	end(&first);
	order(&second);
	hear(&second, &news);
	print(scenario, news.outcome == DONE ? "saved" : "failed", (int64_t)(news.time - from));
	end(&second);
	return news.outcome == DONE;
}

static bool play(const struct scenario *scenario, const struct vanish *what)
{
	unsigned int saved;
	int64_t before;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die_errno("socketpair");
	database_reset();	/* as an administrator frees what is locked */
	before = database_sum();
	if (scenario->fate == HANDED)
		saved = second_saves(scenario, what, pair);
	else
		saved = next_edits(scenario, what, scenario->fate == PARKED ? pair[0] : -1);
	close(pair[0]);
	close(pair[1]);
	return database_sum() - before == saved;
}

bool vanish(const struct vanish *what)
{
	unsigned int i, repeat;
	bool right = true;

	database_open();
	database_create(2);
	puts("# vanish,fate,way,what,us (free: after the kill, or after the lease)");
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		printf("# way %s: %s\n", scenarios[i].way->name, scenarios[i].way->title);
		fprintf(stderr, "%s: %s\n", fates[scenarios[i].fate], scenarios[i].way->title);
		for (repeat = 0; repeat < what->repeats; repeat++)
			right &= play(&scenarios[i], what);
	}
	return right;
}
