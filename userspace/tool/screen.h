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

/* What is printed next begins at the top; it is cut to the screen's width. */
void screen_clear(void);

#endif /* SCREEN_H */
