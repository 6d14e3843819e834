// SPDX-License-Identifier: GPL-2.0
/* Aligned columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "screen.h"
#include "table.h"
#include "tool.h"

void table_begin(struct table *table, const char *const *titles)
{
	char **cells;
	size_t i;

	*table = (struct table) {};
	cells = table_row(table);
	for (i = 0; titles[i]; i++)
		cells[i] = text_cell(titles[i]);
	table->columns = (unsigned int)i;
	table_end_row(table);
}

char **table_row(struct table *table)
{
	return table->cells[table->rows];
}

void table_end_row(struct table *table)
{
	char **cells = table_row(table);
	unsigned int i;
	int width;

	for (i = 0; i < table->columns; i++) {
		width = (int)strlen(cells[i]);
		if (width > table->width[i])
			table->width[i] = width;
	}
	if (++table->rows == TABLE_BATCH)
		table_flush(table);
}

void table_flush(struct table *table)
{
	unsigned int row, i;
	char **cells;
	int printed;

	for (row = 0; row < table->rows; row++) {
		cells = table->cells[row];
		printed = 0;
		for (i = 0; i < table->columns; i++) {
			if (i + 1 < table->columns)
				printed += printf("%-*s  ", table->width[i], cells[i]);
			else
				printed += printf("%s", cells[i]);
			free(cells[i]);
		}
		screen_end_line(printed);
	}
	table->rows = 0;
}

char *text_cell(const char *text)
{
	return need(strdup(*text ? text : "-"));
}

char *number_cell(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return text_cell(text);
}

char *duration_cell(uint64_t ns)
{
	char text[DURATION_TEXT];

	return text_cell(duration(ns, text));
}
