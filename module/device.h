/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/entitylock */
#ifndef EL_DEVICE_H
#define EL_DEVICE_H

int el_device_init(void);
void el_device_exit(void);

#endif /* EL_DEVICE_H */
