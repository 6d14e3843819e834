// SPDX-License-Identifier: GPL-2.0
/*
 * Pessimistic, by a locked column: who finds it empty puts a number there, and whoever
 * does not comes again later.  If its owner vanishes it stays locked: the database
 * cannot know.
 */
#include "database.h"
#include "way.h"

static enum outcome begin4(struct edit *edit)
{
	static struct statement check = {
		.name = "column_check",
		.sql = "SELECT value, coalesce(locked, 0) FROM item WHERE id = $1 FOR UPDATE",
	};
	static struct statement lock = {
		.name = "column_lock",
		.sql = "UPDATE item SET locked = $2 WHERE id = $1",
	};
	int64_t parameters[] = { edit->row, edit->owner }, columns[2] = { 0, 0 };

	if (now() >= edit->deadline)
		return OVER;
	database_do("BEGIN");
	database_run(&check, &edit->row, 1, columns, 2);
	if (columns[1]) {
		database_do("ROLLBACK");
		return BUSY;
	}
	database_run(&lock, parameters, 2, NULL, 0);
	database_do("COMMIT");
	edit->value = columns[0];
	return DONE;
}

static enum outcome begin2(struct edit *edit)
{
	static struct statement lock = {
		.name = "column_lock_if_free",
		.sql = "UPDATE item SET locked=$2 WHERE id=$1 AND locked IS NULL RETURNING value",
	};
	int64_t parameters[] = { edit->row, edit->owner };

	if (now() >= edit->deadline)
		return OVER;
	return database_run(&lock, parameters, 2, &edit->value, 1) ? DONE : BUSY;
}

static struct statement unlock = {
	.name = "column_unlock",
	.sql = "UPDATE item SET locked = NULL WHERE id = $1 AND locked = $2",
};

static void drop(struct edit *edit)
{
	int64_t parameters[] = { edit->row, edit->owner };

	database_run(&unlock, parameters, 2, NULL, 0);
}

static enum outcome save4(struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "column_update",
		.sql = "UPDATE item SET value = $2 WHERE id = $1",
	};
	int64_t parameters[] = { edit->row, value };

	database_do("BEGIN");
	database_run(&update, parameters, 2, NULL, 0);
	drop(edit);
	database_do("COMMIT");
	return DONE;
}

static enum outcome save2(struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "column_update_and_unlock",
		.sql = "UPDATE item SET value = $3, locked = NULL WHERE id = $1 AND locked = $2",
	};
	int64_t parameters[] = { edit->row, edit->owner, value };

	return database_run(&update, parameters, 3, NULL, 0) ? DONE : STALE;
}

const struct way column4_way = {
	.name = "column4",
	.title = "2 pessimistic: locked column, 4 statements",
	.holds = true,
	.pauses = true,
	.begin = begin4,
	.send = way_send,
	.receive = way_receive,
	.think = way_think,
	.save = save4,
	.drop = drop,
};

const struct way column2_way = {
	.name = "column2",
	.title = "2 pessimistic: locked column, 2 statements",
	.holds = true,
	.pauses = true,
	.begin = begin2,
	.send = way_send,
	.receive = way_receive,
	.think = way_think,
	.save = save2,
	.drop = drop,
};
