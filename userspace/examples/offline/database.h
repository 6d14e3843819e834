/* SPDX-License-Identifier: GPL-2.0 */
/*
 * database: one connection of this process to PostgreSQL, and the table of rows
 *
 * Whatever the database refuses ends the process with its message: what may happen
 * in an orderly run is a row that a statement does not find.
 */
#ifndef OFFLINE_DATABASE_H
#define OFFLINE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

/* Prepared when it is first used; all parameters and columns are numbers. */
struct statement {
	const char *name;
	const char *sql;
	unsigned int prepared;	/* on which connection */
};

/* Connect as the environment says (PGHOST, PGUSER, PGDATABASE). */
void database_open(void);

/* Run a statement of up to 4 parameters.  True if it returned, or changed, a row. */
bool database_run(struct statement *statement, const int64_t *parameters,
		  unsigned int nr_parameters, int64_t *columns, unsigned int nr_columns);

/* For what has neither: BEGIN, COMMIT. */
void database_do(const char *sql);

/* How many statements this process has run so far, those of database_do() too. */
unsigned long database_statements(void);

/* Make the table anew, with rows 1 to @rows: nothing was changed, nothing is locked. */
void database_create(unsigned int rows);
void database_reset(void);

/* Over all rows: how many changes have arrived in the database. */
int64_t database_sum(void);

#endif
