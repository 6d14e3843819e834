// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "database.h"

#define PARAMETERS	4

static PGconn *connection;
static unsigned int number;	/* of the connection; a forked process makes another */
static unsigned long statements;

static void die(const char *what)
{
	fprintf(stderr, "offline: %s: %s", what, PQerrorMessage(connection));
	exit(1);
}

void database_open(void)
{
	number++;
	/* Else it would be told about each table that is not there to be dropped. */
	connection = PQconnectdb("options='-c client_min_messages=warning'");
	if (PQstatus(connection) == CONNECTION_OK)
		return;
	fprintf(stderr, "offline: %s", PQerrorMessage(connection));
	fputs("offline: run it by database.sh, or set PGHOST, PGUSER and PGDATABASE\n", stderr);
	exit(1);
}

static PGresult *check(PGresult *result, const char *what)
{
	switch (PQresultStatus(result)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		return result;
	default:
		die(what);
		return NULL;
	}
}

bool database_run(struct statement *statement, const int64_t *parameters,
		  unsigned int nr_parameters, int64_t *columns, unsigned int nr_columns)
{
	char text[PARAMETERS][24];
	const char *values[PARAMETERS];
	PGresult *result;
	unsigned int i;
	bool found;

	if (statement->prepared != number) {
		PQclear(check(PQprepare(connection, statement->name, statement->sql, 0, NULL),
			      statement->name));
		statement->prepared = number;
	}
	for (i = 0; i < nr_parameters; i++) {
		snprintf(text[i], sizeof(text[i]), "%lld", (long long)parameters[i]);
		values[i] = text[i];
	}
	result = check(PQexecPrepared(connection, statement->name, (int)nr_parameters, values,
				      NULL, NULL, 0), statement->name);
	statements++;
	found = atoi(PQcmdTuples(result)) > 0;
	for (i = 0; found && i < nr_columns; i++)
		columns[i] = strtoll(PQgetvalue(result, 0, (int)i), NULL, 10);
	PQclear(result);
	return found;
}

void database_do(const char *sql)
{
	PQclear(check(PQexec(connection, sql), sql));
	statements++;
}

unsigned long database_statements(void)
{
	return statements;
}

/*
 * The version is for optimistic.c, locked for pessimistic.c, the fence for token.c.  Half
 * of each page is left free, so that a change stays on its page.
 */
void database_create(unsigned int rows)
{
	struct statement insert = {
		.name = "insert",
		.sql = "INSERT INTO item SELECT n, 0, 0, NULL, 0 FROM generate_series(1, $1) n",
	};
	int64_t parameter = rows;

	database_do("DROP TABLE IF EXISTS item");
	database_do("CREATE TABLE item (id bigint PRIMARY KEY, value bigint)");
	database_do("ALTER TABLE item ADD version bigint, ADD locked bigint, ADD fence bigint");
	database_do("ALTER TABLE item SET (fillfactor = 50)");
	database_run(&insert, &parameter, 1, NULL, 0);
}

void database_reset(void)
{
	database_do("UPDATE item SET value = 0, locked = NULL");
}

int64_t database_sum(void)
{
	static struct statement sum = { .name = "sum", .sql = "SELECT sum(value) FROM item" };
	int64_t column = 0;

	database_run(&sum, NULL, 0, &column, 1);
	return column;
}
