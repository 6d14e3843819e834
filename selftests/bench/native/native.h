/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module's own code costs, called where the ioctls would call it, with
 * neither a system call nor an fd: for a kernel that runs at the machine's speed
 * but is slow at system calls.
 */
#ifndef NATIVE_H
#define NATIVE_H

#include <linux/types.h>

struct el_domain;
struct el_token;

#define NATIVE_ROUNDS	101	/* most that a row records */
#define NATIVE_UNIT	1000	/* values are kept in thousandths */

/**
 * struct native_row - one thing that is measured
 * @name: how reports know it, together with @param
 * @param: what its cost may grow with, or 0
 * @unit: of the values, NULL for nanoseconds
 * @count: how many @values
 * @values: what was measured, in thousandths
 */
struct native_row {
	const char *name;
	u32 param;
	const char *unit;
	u32 count;
	u64 values[NATIVE_ROUNDS];
};

void native_record(struct native_row *row, u64 value, u32 divisor);
void native_report(struct native_row *row);

/* Remembered and reported in the end: what fails was not measured. */
extern int native_error;

/* "entity-000000042": 16 bytes, and the end that is not part of it. */
struct native_name {
	char text[17];
};

void native_name(struct native_name *name, u32 number);

struct el_domain *native_domain(void);
struct el_token *native_token(struct el_domain *domain, const struct native_name *name);
struct el_token *native_set(struct el_domain *domain, u32 first, u32 count);
struct el_token *native_gate(struct el_domain *domain);
void native_end(struct el_token *token);
void native_lock(struct el_token *token);
void native_unlock(struct el_token *token);

struct native_crowd;
struct native_crowd *native_crowd(struct el_domain *domain, u32 count);
void native_disperse(struct native_crowd *crowd);

/* The rows, a subject each; @most entities at a time. */
void native_calls(u32 most);
void native_pairs(void);
void native_reclaim(u32 most);

#endif
