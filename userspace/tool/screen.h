/* SPDX-License-Identifier: GPL-2.0 */
/* A terminal of which all is used, and which is given back as it was. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Takes it if stdout is a terminal that can do this; else all is plain. */
void screen_begin(void);
bool screen_in_use(void);
void screen_end(void);

/* Rows that there are below a head and titles. */
size_t screen_rows(void);

/* Where keys come from, -1 = from nowhere. */
int screen_keyboard(void);

/*
 * A frame takes the place of the one before, line by line: it is never seen empty.
 * Each line, of @printed characters, is ended by screen_end_line(), also where no
 * screen is in use; one that is too long is cut.
 */
void screen_begin_frame(void);
void screen_end_line(int printed);
void screen_end_frame(void);

#endif /* SCREEN_H */
