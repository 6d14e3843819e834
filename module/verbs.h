/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of a token fd. */
#ifndef EL_VERBS_H
#define EL_VERBS_H

struct file;

long el_token_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* EL_VERBS_H */
