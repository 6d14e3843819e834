/* SPDX-License-Identifier: GPL-2.0 */
/* Aligned columns on stdout. */
#ifndef TABLE_H
#define TABLE_H

#include <stdint.h>

#define TABLE_COLUMNS_MAX	8

/* Rows are aligned in batches, so that a long table is printed as it comes. */
#define TABLE_BATCH		256

/**
 * struct table - rows that are to be printed
 * @columns: how many there are.
 * @cells: texts of malloc().
 * @rows: those filled in.
 * @width: of each column, so far.
 */
struct table {
	unsigned int columns;
	char *cells[TABLE_BATCH][TABLE_COLUMNS_MAX];
	unsigned int rows;
	int width[TABLE_COLUMNS_MAX];
};

/* Begins a table with a row of titles, the last of which is followed by NULL. */
void table_begin(struct table *table, const char *const *titles);

/* The cells of the next row, to be filled in; then table_end_row(). */
char **table_row(struct table *table);

/* Takes the row, and prints the rows if there are enough. */
void table_end_row(struct table *table);

/* Prints what has not been printed. */
void table_flush(struct table *table);

/* Texts of malloc(); this is the end if there is no memory. */
char *text_cell(const char *text);
char *number_cell(uint64_t number);
char *duration_cell(uint64_t ns);

#endif /* TABLE_H */
