/* SPDX-License-Identifier: GPL-2.0 */
/* Where work is done that cannot be done under a spinlock. */
#ifndef EL_WORK_H
#define EL_WORK_H

#include <linux/workqueue.h>

extern struct workqueue_struct *el_workqueue;

#endif /* EL_WORK_H */
