/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON on stdout.  Numbers that may exceed 2^53 are strings of digits, times are
 * seconds.  A @key is NULL in an array, and for the document.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins an object ('{') or array ('['). */
void json_open(const char *key, char bracket);

/* Ends it with '}' or ']'; the outermost one ends the line. */
void json_close(char bracket);

/* The next element begins on a line of its own. */
void json_new_line(void);

/* Begins a document, which is an object, with its schema's number. */
void json_begin(void);

void json_text(const char *key, const char *bytes, size_t len);
void json_string(const char *key, const char *text);
/* What the kernel has escaped already. */
void json_escaped(const char *key, const char *text);
void json_string_or_null(const char *key, const char *text);
void json_number(const char *key, uint64_t number);
void json_signed(const char *key, int64_t number);
void json_digits(const char *key, uint64_t number);
void json_seconds(const char *key, uint64_t ns);
void json_bool(const char *key, bool value);
void json_null(const char *key);

#endif /* JSON_H */
