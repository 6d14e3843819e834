/* SPDX-License-Identifier: GPL-2.0 */
/* What a token tells of itself: INFO and fdinfo. */
#ifndef EL_INFO_H
#define EL_INFO_H

struct el_token;
struct file;
struct seq_file;

long el_token_info(struct el_token *token, unsigned int cmd, void __user *user);
void el_token_show_fdinfo(struct seq_file *seq, struct file *file);

#endif /* EL_INFO_H */
