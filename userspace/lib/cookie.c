// SPDX-License-Identifier: LGPL-2.1-or-later
/* Parking cookies as text. */
#include <errno.h>
#include <string.h>

#include "internal.h"

void entitylock_cookie_format(const unsigned char cookie[ENTITYLOCK_COOKIE_SIZE],
			      char text[ENTITYLOCK_COOKIE_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = 0; i < ENTITYLOCK_COOKIE_SIZE; i++) {
		*text++ = digits[cookie[i] >> 4];
		*text++ = digits[cookie[i] & 15];
	}
	*text = '\0';
}

int entitylock_cookie_parse(const char *text,
			    unsigned char cookie[ENTITYLOCK_COOKIE_SIZE])
{
	unsigned char parsed[ENTITYLOCK_COOKIE_SIZE] = {};
	int i, value;

	if (strlen(text) != 2 * ENTITYLOCK_COOKIE_SIZE)
		return -EINVAL;
	for (i = 0; i < 2 * ENTITYLOCK_COOKIE_SIZE; i++) {
		value = __entitylock_hex_digit(text[i]);
		if (value < 0)
			return -EINVAL;
		parsed[i / 2] = (unsigned char)(parsed[i / 2] << 4 | value);
	}
	memcpy(cookie, parsed, sizeof(parsed));
	return 0;
}
