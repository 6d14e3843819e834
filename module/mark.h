/* SPDX-License-Identifier: GPL-2.0 */
/* Marks that a robust owner has vanished. */
#ifndef EL_MARK_H
#define EL_MARK_H

#include <linux/types.h>

struct el_token;
struct el_user;

int el_mark_reserve(struct el_token *token, u32 count);
void el_mark_keep(struct el_token *token, u32 count);
struct el_user *el_mark_take(struct el_token *token);
void el_mark_drop(struct el_user *user);

#endif /* EL_MARK_H */
