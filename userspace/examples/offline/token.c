// SPDX-License-Identifier: GPL-2.0
/*
 * On entitylock.  The entity "item:N" stands for row N:
 *
 * - token: pessimistic; its holder passes the token on as a file descriptor
 * - parked: pessimistic; it parks the token, and passes the cookie on
 * - unchanged: optimistic; an idle token is parked, which knows what it has seen
 *
 * The fence of a grant goes with the statements, and the row refuses those that come
 * too late.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "way.h"

#define NAME_SIZE	32
#define PARKED_FOR	3600000000000ULL	/* where no lease is given */

static int domain_fd(void)
{
	static int domain = -1;

	if (domain < 0)
		domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	return domain;
}

/* Returns the token, or -ETIMEDOUT. */
static int acquire(const struct edit *edit, uint32_t flags, uint64_t *fence)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_grant grant;
	char name[NAME_SIZE];
	int token;

	snprintf(name, sizeof(name), "item:%lld", (long long)edit->row);
	options.flags = flags;
	options.deadline = edit->deadline;
	options.lease = flags & ENTITYLOCK_OPEN ? 0 : edit->lease;
	options.label = "edit, first half";
	token = entitylock_acquire(domain_fd(), name, strlen(name), ENTITYLOCK_EXCLUSIVE,
				   &options, &grant);
	if (token < 0 && token != -ETIMEDOUT)
		die(name, ENTITYLOCK_VERB_ACQUIRE, token);
	*fence = grant.fence;
	return token;
}

/*
 * Raises the row's fence as it reads: from now on the row refuses whoever had the lock
 * before, be it one that was paused, or a statement on its way when its sender was
 * killed.  If only the write did so, theirs might slip in between.
 *
 * False: the lock is lost already, and the next holder has been here.
 */
static bool read_row(struct edit *edit)
{
	static struct statement read = {
		.name = "token_read",
		.sql = "UPDATE item SET fence = $2 WHERE id = $1 AND fence < $2 RETURNING value",
	};
	int64_t parameters[] = { edit->row, (int64_t)edit->fence };

	return database_run(&read, parameters, 2, &edit->value, 1);
}

static enum outcome begin(struct edit *edit)
{
	edit->token = acquire(edit, 0, &edit->fence);
	if (edit->token < 0)
		return OVER;
	if (read_row(edit))
		return DONE;
	close(edit->token);
	return BUSY;
}

static void send_token(struct edit *edit, int sock)
{
	int err = entitylock_send(sock, edit->token, edit, sizeof(*edit));

	if (err)
		die("send", ENTITYLOCK_VERB_SEND, err);
	close(edit->token);	/* the message in flight keeps the lock */
}

/* From now on listings name this process. */
static void take_over(const struct edit *edit)
{
	int err = entitylock_label(edit->token, "edit, second half");

	if (err && err != -ESTALE)	/* if it was lost the fence will tell */
		die("label", ENTITYLOCK_VERB_LABEL, err);
}

static bool receive_token(struct edit *edit, int sock)
{
	size_t len = sizeof(*edit);
	int token = entitylock_recv(sock, edit, &len);

	if (token == -ENODATA)
		return false;
	if (token < 0)
		die("receive", ENTITYLOCK_VERB_RECV, token);
	edit->token = token;
	take_over(edit);
	return true;
}

static bool write_row(const struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "token_write",
		.sql = "UPDATE item SET value = $2 WHERE id = $1 AND fence = $3",
	};
	int64_t parameters[] = { edit->row, value, (int64_t)edit->fence };

	return database_run(&update, parameters, 3, NULL, 0);
}

/* UNLOCK frees it at once, close when the last copy is closed; it may be lost already. */
static void unlock(struct edit *edit)
{
	int err = entitylock_unlock(edit->token, 0, 0);

	if (err && err != -ESTALE)
		die("unlock", ENTITYLOCK_VERB_UNLOCK, err);
	close(edit->token);
}

/* The row's fence decides, not what became of the token. */
static enum outcome save(struct edit *edit, int64_t value)
{
	bool saved = write_row(edit, value);

	if (edit->token >= 0)
		unlock(edit);
	return saved ? DONE : STALE;
}

static void drop(struct edit *edit)
{
	if (edit->token >= 0)
		close(edit->token);
}

static void park(struct edit *edit, int sock)
{
	int err = entitylock_park(edit->token, edit->lease ? edit->lease : PARKED_FOR,
				  edit->cookie);

	if (err)
		die("park", ENTITYLOCK_VERB_PARK, err);
	close(edit->token);
	way_send(edit, sock);
}

static bool claim(struct edit *edit, int sock)
{
	if (!way_receive(edit, sock))
		return false;
	edit->token = entitylock_claim(domain_fd(), edit->cookie);
	if (edit->token >= 0)
		take_over(edit);
	else if (edit->token != -ENOENT)	/* the lease has ended */
		die("claim", ENTITYLOCK_VERB_CLAIM, edit->token);
	return true;
}

/* Made before the row is read: a change from now on makes what is read stale. */
static enum outcome begin_unlocked(struct edit *edit)
{
	static struct statement read = {
		.name = "unlocked_read",
		.sql = "SELECT value FROM item WHERE id = $1",
	};

	if (now() >= edit->deadline)
		return OVER;
	edit->token = acquire(edit, ENTITYLOCK_OPEN, &edit->fence);
	database_run(&read, &edit->row, 1, &edit->value, 1);
	return DONE;
}

/* The kernel tells of a change when it happens: no need to think to the end. */
static bool think_and_watch(struct edit *edit, uint64_t until)
{
	struct pollfd pfd = { .fd = edit->token, .events = POLLPRI };
	struct timespec left;
	uint64_t time;

	while ((time = now()) < until) {
		left.tv_sec = (until - time) / 1000000000;
		left.tv_nsec = (until - time) % 1000000000;
		if (ppoll(&pfd, 1, &left, NULL) > 0)
			return true;
	}
	return false;
}

static enum outcome save_if_unchanged(struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "unchanged_write",
		.sql = "UPDATE item SET value = $2, fence = $3 WHERE id = $1 AND fence < $3",
	};
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	int64_t parameters[] = { edit->row, value, 0 };
	struct entitylock_grant grant;
	bool saved;
	int err;

	if (edit->token < 0)
		return STALE;
	options.flags = ENTITYLOCK_IF_UNCHANGED;
	err = entitylock_lock(edit->token, &options, &grant);
	if (err == -ESTALE) {
		drop(edit);
		return STALE;
	}
	if (err)
		die("lock", ENTITYLOCK_VERB_LOCK, err);
	parameters[2] = (int64_t)grant.fence;
	saved = database_run(&update, parameters, 3, NULL, 0);
	unlock(edit);
	return saved ? DONE : STALE;
}

const struct way token_way = {
	.name = "token",
	.title = "3 pessimistic: entitylock, the descriptor passed on",
	.holds = true,
	.begin = begin,
	.send = send_token,
	.receive = receive_token,
	.think = way_think,
	.save = save,
	.drop = drop,
};

const struct way parked_way = {
	.name = "parked",
	.title = "3 pessimistic: entitylock, parked meanwhile",
	.holds = true,
	.begin = begin,
	.send = park,
	.receive = claim,
	.think = way_think,
	.save = save,
	.drop = drop,
};

const struct way unchanged_way = {
	.name = "unchanged",
	.title = "4 optimistic: entitylock, IF_UNCHANGED",
	.begin = begin_unlocked,
	.send = park,
	.receive = claim,
	.think = think_and_watch,
	.save = save_if_unchanged,
	.drop = drop,
};
