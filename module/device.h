/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/entitylock */
#ifndef EL_DEVICE_H
#define EL_DEVICE_H

#include <linux/compiler.h>

struct file;

int el_device_init(void);
void el_device_exit(void);
long el_device_command(struct file *file, unsigned int cmd, void __user *user);

#endif /* EL_DEVICE_H */
