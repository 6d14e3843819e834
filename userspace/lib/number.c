// SPDX-License-Identifier: LGPL-2.1-or-later
/* Numbers in texts. */
#include <errno.h>

#include "internal.h"

int __entitylock_number(const char *text, uint64_t max, uint64_t *number)
{
	uint64_t n = 0;
	unsigned int digit;

	if (!*text)
		return -EPROTO;
	for (; *text; text++) {
		digit = (unsigned char)*text - '0';
		if (digit > 9 || digit > max || n > (max - digit) / 10)
			return -EPROTO;
		n = n * 10 + digit;
	}
	*number = n;
	return 0;
}

int __entitylock_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}
