/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring commands. */
#ifndef EL_URING_H
#define EL_URING_H

#include "compat.h"

#ifdef EL_HAVE_URING
struct io_uring_cmd;

#define EL_URING_FEATURE	ENTITYLOCK_FEATURE_URING

int el_device_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
int el_token_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
#else
#define EL_URING_FEATURE	0
#define el_device_uring_cmd	NULL
#define el_token_uring_cmd	NULL
#endif

#endif /* EL_URING_H */
