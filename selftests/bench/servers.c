// SPDX-License-Identifier: GPL-2.0
/*
 * Locks that a server keeps: PostgreSQL's advisory locks by prepared statements,
 * and Redis' SET NX and DEL, each through a Unix socket; ours beside them.
 *
 * run.sh starts the servers and says where they are; a row without its server is
 * left out.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <libpq-fe.h>

#include "bench.h"

static PGconn *postgres;
static int redis;

static bool start_postgres(struct bench_row *row)
{
	static const struct {
		const char *name;
		const char *sql;
	} statements[] = {
		{ "lock", "SELECT pg_try_advisory_lock(42)" },
		{ "unlock", "SELECT pg_advisory_unlock(42)" },
	};

	(void)row;
	if (!getenv("PGHOST"))
		return false;
	postgres = PQconnectdb("");
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		PGresult *result = PQprepare(postgres, statements[i].name, statements[i].sql, 0,
					     NULL);

		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			fail(PQerrorMessage(postgres));
		PQclear(result);
	}
	return true;
}

/* Both statements answer with a boolean. */
static void execute(const char *statement)
{
	PGresult *result = PQexecPrepared(postgres, statement, 0, NULL, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK || *PQgetvalue(result, 0, 0) != 't')
		fail(PQerrorMessage(postgres));
	PQclear(result);
}

static void postgres_pair(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--) {
		execute("lock");
		execute("unlock");
	}
}

static bool start_redis(struct bench_row *row)
{
	const char *path = getenv("BENCH_REDIS");
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)row;
	if (!path)
		return false;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	redis = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	must(connect(redis, (struct sockaddr *)&address, sizeof(address)));
	return true;
}

static void ask(const char *request, const char *answer)
{
	size_t len = strlen(request);
	char reply[64];
	ssize_t got;

	if (must(write(redis, request, len)) != (ssize_t)len)
		fail("redis: write");
	got = must(read(redis, reply, sizeof(reply)));
	if ((size_t)got != strlen(answer) || memcmp(reply, answer, got))
		fail("redis: another answer");
}

static void redis_pair(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--) {
		ask("*4\r\n$3\r\nSET\r\n$6\r\nentity\r\n$5\r\nowner\r\n$2\r\nNX\r\n", "+OK\r\n");
		ask("*2\r\n$3\r\nDEL\r\n$6\r\nentity\r\n", ":1\r\n");
	}
}

static bool start_token(struct bench_row *row)
{
	row->fd = must(idle(must(domain_open(O_RDWR)), "entity-0123456789"));
	return true;
}

static void lock_unlock(struct bench_row *row, unsigned int calls)
{
	lock_unlock_token(row->fd, calls);
}

static bool start_domain(struct bench_row *row)
{
	row->fd = must(domain_open(O_RDWR));
	return true;
}

static void acquire_close(struct bench_row *row, unsigned int calls)
{
	acquire_close_one(row->fd, calls);
}

static struct bench_row rows[] = {
	{ "lock_unlock", .start = start_token, .loop = lock_unlock },
	{ "acquire_close", .start = start_domain, .loop = acquire_close },
	{ "postgres_pair", .start = start_postgres, .loop = postgres_pair },
	{ "redis_pair", .start = start_redis, .loop = redis_pair },
};

const struct group servers_group = {
	.name = "servers",
	.rounds = 101,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
