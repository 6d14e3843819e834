/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of a token fd. */
#ifndef EL_VERBS_H
#define EL_VERBS_H

#include <linux/compiler.h>

struct file;

long el_token_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long el_token_command(struct file *file, unsigned int cmd, void __user *user);

#endif /* EL_VERBS_H */
