/* SPDX-License-Identifier: GPL-2.0 */
/* Parked tokens: they live without a file descriptor. */
#ifndef EL_PARK_H
#define EL_PARK_H

#include <linux/types.h>

struct el_domain;
struct el_token;
struct file;

long el_park(struct file *file, unsigned int cmd, void __user *user);
long el_claim(struct el_domain *domain, u8 rights, unsigned int cmd, void __user *user);
void el_park_check(struct el_token *token);

#endif /* EL_PARK_H */
