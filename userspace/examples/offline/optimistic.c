// SPDX-License-Identifier: GPL-2.0
/*
 * Optimistic, by a version column: nothing is held while somebody thinks.  And, to
 * see that lost updates are found, the same without looking at the version.
 */
#include "database.h"
#include "way.h"

static struct statement select_row = {
	.name = "version_select",
	.sql = "SELECT value, version FROM item WHERE id = $1",
};

static enum outcome begin(struct edit *edit)
{
	int64_t columns[2] = { 0, 0 };

	if (now() >= edit->deadline)
		return OVER;
	database_run(&select_row, &edit->row, 1, columns, 2);
	edit->value = columns[0];
	edit->version = columns[1];
	return DONE;
}

/* The row lock of the second statement lasts until COMMIT. */
static enum outcome save3(struct edit *edit, int64_t value)
{
	static struct statement check = {
		.name = "version_check",
		.sql = "SELECT version FROM item WHERE id = $1 FOR UPDATE",
	};
	static struct statement update = {
		.name = "version_update",
		.sql = "UPDATE item SET value = $2, version = version + 1 WHERE id = $1",
	};
	int64_t parameters[] = { edit->row, value }, version = 0;

	database_do("BEGIN");
	database_run(&check, &edit->row, 1, &version, 1);
	if (version != edit->version) {
		database_do("ROLLBACK");
		return STALE;
	}
	database_run(&update, parameters, 2, NULL, 0);
	database_do("COMMIT");
	return DONE;
}

static enum outcome save2(struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "version_guarded",
		.sql = "UPDATE item SET value=$2, version=version+1 WHERE id=$1 AND version=$3",
	};
	int64_t parameters[] = { edit->row, value, edit->version };

	return database_run(&update, parameters, 3, NULL, 0) ? DONE : STALE;
}

static enum outcome save_blindly(struct edit *edit, int64_t value)
{
	static struct statement update = {
		.name = "blind_update",
		.sql = "UPDATE item SET value = $2 WHERE id = $1",
	};
	int64_t parameters[] = { edit->row, value };

	database_run(&update, parameters, 2, NULL, 0);
	return DONE;
}

const struct way version3_way = {
	.name = "version3",
	.title = "1 optimistic: version column, 3 statements",
	.pauses = true,
	.begin = begin,
	.send = way_send,
	.receive = way_receive,
	.think = way_think,
	.save = save3,
	.drop = way_drop,
};

const struct way version2_way = {
	.name = "version2",
	.title = "1 optimistic: version column, 2 statements",
	.pauses = true,
	.begin = begin,
	.send = way_send,
	.receive = way_receive,
	.think = way_think,
	.save = save2,
	.drop = way_drop,
};

const struct way none_way = {
	.name = "none",
	.title = "none: the last writer wins",
	.begin = begin,
	.send = way_send,
	.receive = way_receive,
	.think = way_think,
	.save = save_blindly,
	.drop = way_drop,
};
