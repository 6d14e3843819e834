// SPDX-License-Identifier: GPL-2.0
/*
 * INFO and fdinfo.
 */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <linux/entitylock.h>

#include "args.h"
#include "breakage.h"
#include "attempt.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "info.h"
#include "listing.h"
#include "order.h"
#include "token.h"
#include "watch.h"

#define INFO_LEAST	offsetofend(struct entitylock_info, reserved)
#define ENTITY_LEAST	offsetofend(struct entitylock_entity, result)

/* What is told of one entity; a reference to it. */
struct el_told {
	struct el_entity *entity;
	u64 version;
	u8 mode;
	u8 result;
};

/* Context: the token's lock is held. */
static void fill(struct entitylock_info *info, const struct el_token *token)
{
	info->state = token->state;
	info->error = token->error;
	info->owner_pid = pid_vnr(token->owner);
	info->id = token->id;
	info->fence = token->fence;
	info->lease_left = el_lease_left(token);
	info->age = el_token_age(token);
	info->flags = 0;
	if (token->state == ENTITYLOCK_PENDING && token->kind == EL_RAISE)
		info->flags |= ENTITYLOCK_HOLDING;
	if (token->gate)
		info->flags |= ENTITYLOCK_GATE;
	if (token->sealed)
		info->flags |= ENTITYLOCK_SEALED;
	if (token->robust && info->state != ENTITYLOCK_IDLE)
		info->flags |= ENTITYLOCK_ROBUST;
}

/* The first @room entities of the set. */
static void tell(struct el_token *token, struct el_told *told, u32 room)
{
	struct el_entity *entity;
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i) {
		if (i == room)
			break;
		entity = hold->entity;
		refcount_inc(&entity->refs);
		spin_lock(&entity->lock);
		told[i] = (struct el_told){
			.entity = entity,
			.version = el_entity_version(token->domain, entity),
			.mode = hold->mode ?: hold->want,
			.result = entity->mark ? ENTITYLOCK_ABANDONED : 0,
		};
		if (!hold->mode && hold->seen && hold->seen != told[i].version)
			told[i].result |= ENTITYLOCK_CHANGED;
		spin_unlock(&entity->lock);
	}
}

/*
 * The caller knows what he was told.  Meanwhile the set may have changed, and the
 * token have seen more.
 */
static void see(struct el_token *token, const struct el_told *told, u32 count)
{
	struct el_hold *hold;
	u32 i;

	mutex_lock(&token->mutex);
	for (i = 0; i < count; i++) {
		hold = el_order_find(token->set, token->count, told[i].entity);
		if (hold)
			el_hold_see(hold, told[i].version);
	}
	mutex_unlock(&token->mutex);
}

static int write_entity(const struct entitylock_info *info, u32 i, const struct el_told *told)
{
	void __user *user = u64_to_user_ptr(info->entities + (u64)i * info->entity_size);
	const struct el_entity *entity = told->entity;
	struct entitylock_entity out;
	int ret;

	ret = el_args_read(&out, sizeof(out), ENTITY_LEAST, user, info->entity_size);
	if (ret)
		return ret;
	if (out.name && copy_to_user(u64_to_user_ptr(out.name), entity->name,
				     min_t(u32, out.name_len, entity->name_len)))
		return -EFAULT;
	out.name_len = entity->name_len;
	out.mode = told->mode;
	out.version = told->version;
	out.flags = 0;
	out.result = told->result;
	return el_args_write(user, info->entity_size, &out, sizeof(out));
}

static int check_info(const struct entitylock_info *info)
{
	if (info->flags & ~ENTITYLOCK_SEEN || info->reserved)
		return -EINVAL;
	if (info->capacity && info->entity_size < ENTITY_LEAST)
		return -EINVAL;
	if (info->capacity && info->entity_size > PAGE_SIZE)
		return -E2BIG;
	return 0;
}

/**
 * el_token_info - INFO
 * @token: the token
 * @cmd: number of the ioctl
 * @user: the caller's struct entitylock_info
 *
 * Return: 0, or -EINVAL, -E2BIG, -EFAULT, -ENOMEM.
 */
long el_token_info(struct el_token *token, unsigned int cmd, void __user *user)
{
	u32 room, told_count, seen, label_room, label_len = 0, i;
	char label[ENTITYLOCK_LABEL_MAX];
	struct entitylock_info info;
	struct el_told *told;
	int ret;

	ret = el_args_read(&info, sizeof(info), INFO_LEAST, user, _IOC_SIZE(cmd));
	if (!ret)
		ret = check_info(&info);
	if (ret)
		return ret;
	/* What is told, and all that is seen. */
	room = min_t(u32, info.capacity, ENTITYLOCK_SET_MAX);
	seen = info.flags & ENTITYLOCK_SEEN;
	if (seen)
		room = max_t(u32, room, READ_ONCE(token->count));
	label_room = info.label_len;
	told = kvmalloc_array(room, sizeof(*told), GFP_KERNEL_ACCOUNT);
	if (room && !told)
		return -ENOMEM;

	mutex_lock(&token->mutex);
	info.count = token->count;
	told_count = min(room, token->count);
	spin_lock(&token->lock);
	fill(&info, token);
	if (token->label) {
		label_len = token->label->len;
		memcpy(label, token->label->text, label_len);
	}
	spin_unlock(&token->lock);
	el_break_dawdle();
	/* Entities last: they are as a grant found them only if that is what is told. */
	tell(token, told, told_count);
	info.waiters = el_watch_waiters(token);
	/* What was lost meanwhile may have been others' since. */
	spin_lock(&token->lock);
	if (token->state == ENTITYLOCK_LOST)
		fill(&info, token);
	spin_unlock(&token->lock);
	mutex_unlock(&token->mutex);

	info.label_len = label_len;
	if (copy_to_user(u64_to_user_ptr(info.label), label, min(label_room, label_len)))
		ret = -EFAULT;
	for (i = 0; !ret && i < min(told_count, info.capacity); i++) {
		ret = write_entity(&info, i, &told[i]);
		cond_resched();
	}
	if (!ret)
		ret = el_args_write(user, _IOC_SIZE(cmd), &info, sizeof(info));
	if (!ret && seen)
		see(token, told, told_count);
	for (i = 0; i < told_count; i++) {
		el_entity_put(token->domain, told[i].entity);
		cond_resched();
	}
	kvfree(told);
	return ret;
}

static const char *state_name(u8 state)
{
	switch (state) {
	case ENTITYLOCK_IDLE:
		return "idle";
	case ENTITYLOCK_PENDING:
		return "pending";
	case ENTITYLOCK_HELD:
		return "held";
	case ENTITYLOCK_LOST:
		return "lost";
	default:
		return "leaving";
	}
}

/* Most entities that fdinfo names. */
#define EL_NAMED_MAX	16

static void show_entities(struct seq_file *seq, const struct el_token *token)
{
	const struct el_entity *entity;
	const struct el_hold *hold;
	u32 i;

	lockdep_assert_held(&token->mutex);
	el_for_each_hold(hold, token, i) {
		if (i == EL_NAMED_MAX)
			break;
		entity = hold->entity;
		seq_printf(seq, "entity:\t%c ", hold->want == ENTITYLOCK_EXCLUSIVE ? 'x' : 's');
		el_seq_escape(seq, entity->name, entity->name_len, EL_SPECIAL);
		seq_putc(seq, '\n');
	}
}

/* el_token_show_fdinfo - a line for each thing that a token tells of itself */
void el_token_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct pid_namespace *ns = proc_pid_ns(file_inode(seq->file)->i_sb);
	struct el_token *token = file->private_data;
	u32 waiters;

	mutex_lock(&token->mutex);
	waiters = el_watch_waiters(token);
	spin_lock(&token->lock);
	seq_printf(seq, "state:\t%s\n", state_name(token->state));
	seq_printf(seq, "id:\t%llu\n", token->id);
	seq_printf(seq, "fence:\t%llu\n", token->fence);
	seq_printf(seq, "gate:\t%d\n", token->gate);
	seq_printf(seq, "count:\t%u\n", token->count);
	seq_printf(seq, "waiters:\t%u\n", waiters);
	seq_printf(seq, "error:\t%d\n", token->error);
	seq_printf(seq, "age:\t%llu\n", el_token_age(token));
	if (el_lease_left(token) != ENTITYLOCK_FOREVER)
		seq_printf(seq, "lease:\t%llu\n", el_lease_left(token));
	seq_printf(seq, "owner:\t%d\n", pid_nr_ns(token->owner, ns));
	seq_puts(seq, "comm:\t");
	el_seq_escape(seq, token->comm, strnlen(token->comm, sizeof(token->comm)),
		      EL_SPECIAL);
	seq_puts(seq, "\nlabel:\t");
	if (token->label)
		el_seq_escape(seq, token->label->text, token->label->len, EL_SPECIAL);
	seq_putc(seq, '\n');
	spin_unlock(&token->lock);
	show_entities(seq, token);
	mutex_unlock(&token->mutex);
}
