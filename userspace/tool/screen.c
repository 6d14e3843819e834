// SPDX-License-Identifier: GPL-2.0
/*
 * A terminal: what all of them that are in use understand, since the VT100, and
 * nothing else, so that no library is needed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "tool.h"

#define SECOND_SCREEN	"\033[?1049h"
#define FIRST_SCREEN	"\033[?1049l"
#define NO_WRAP		"\033[?7l"
#define WRAP		"\033[?7h"
#define HIDE_CURSOR	"\033[?25l"
#define SHOW_CURSOR	"\033[?25h"
#define HOME		"\033[H"
#define CLEAR_RIGHT	"\033[K"
#define CLEAR_BELOW	"\033[J"

static bool in_use;
static bool keyboard;
static int width;		/* of the frame's lines, in columns */
static struct termios saved;

static bool can_be_used(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

void screen_begin(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct termios raw;

	if (!can_be_used())
		return;
	in_use = true;
	/* Stopped, it would leave the terminal to others as it is here. */
	sigaction(SIGTSTP, &ignore, NULL);
	/* A screenful at once, or it is seen half drawn. */
	setvbuf(stdout, NULL, _IOFBF, 65536);
	keyboard = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &saved);
	if (keyboard) {
		raw = saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(SECOND_SCREEN NO_WRAP HIDE_CURSOR, stdout);
}

bool screen_in_use(void)
{
	return in_use;
}

void screen_end(void)
{
	if (!in_use)
		return;
	fputs(SHOW_CURSOR WRAP FIRST_SCREEN, stdout);
	fflush(stdout);
	if (keyboard)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	in_use = false;
}

size_t screen_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 20;
	return (size_t)size.ws_row - 3;
}

int screen_keyboard(void)
{
	return keyboard ? STDIN_FILENO : -1;
}

static int columns(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

void screen_begin_frame(void)
{
	if (!in_use)
		return;
	fputs(HOME, stdout);
	width = columns();
}

void screen_end_line(int printed)
{
	/* Behind a line that is cut, it would clear the last column. */
	if (in_use && printed < width)
		fputs(CLEAR_RIGHT, stdout);
	putchar('\n');
}

void screen_end_frame(void)
{
	if (in_use)
		fputs(CLEAR_BELOW, stdout);
}
