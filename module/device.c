// SPDX-License-Identifier: GPL-2.0
/*
 * The device: each open of it is a domain fd, of the default domain until DOMAIN
 * moves it.  Its first use settles both its domain and its rights there.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <linux/entitylock.h>

#include "acquire.h"
#include "args.h"
#include "attempt.h"
#include "device.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "listing.h"
#include "park.h"
#include "uring.h"

#define DOMAIN_LEAST	offsetofend(struct entitylock_domain, owner)
#define BREAK_LEAST	offsetofend(struct entitylock_break, fence)
#define VERSION_LEAST	offsetofend(struct entitylock_version, lease_max)

#define EL_FEATURES	(ENTITYLOCK_FEATURE_SHARED | ENTITYLOCK_FEATURE_ASYNC | \
			 ENTITYLOCK_FEATURE_CONVERT | ENTITYLOCK_FEATURE_EXTEND | \
			 ENTITYLOCK_FEATURE_GATE | ENTITYLOCK_FEATURE_CLOCKS | \
			 ENTITYLOCK_FEATURE_ROBUST | ENTITYLOCK_FEATURE_VERSION | \
			 ENTITYLOCK_FEATURE_BREAK | ENTITYLOCK_FEATURE_LEASE | \
			 ENTITYLOCK_FEATURE_PARK | ENTITYLOCK_FEATURE_DOMAIN | \
			 EL_URING_FEATURE)

/* Beside the rights of an fd: they are settled. */
#define EL_USED		0x80

/**
 * struct el_opening - an open of the device
 * @listing: its domain, and what is read from it
 * @mutex: DOMAIN against the first use; it guards the domain and @rights
 * @rights: once it is used EL_USED, and what its opener may do; written under @mutex
 */
struct el_opening {
	struct el_listing listing;
	struct mutex mutex;	/* until it is used */
	u8 rights;
};

static struct el_opening *opening_of(const struct file *file)
{
	const struct seq_file *seq = file->private_data;

	return container_of(seq->private, struct el_opening, listing);
}

/* The first use: what the opener may do where the fd is now, and there it stays. */
static u8 settle(struct el_opening *opening, const struct file *file)
{
	lockdep_assert_held(&opening->mutex);
	if (!opening->rights)
		/* Pairs with the acquire in use(). */
		smp_store_release(&opening->rights,
				  el_domain_rights(opening->listing.domain, file) | EL_USED);
	return opening->rights;
}

/**
 * use - let an fd be used
 * @file: the fd's file
 *
 * Rights are those of whoever opened it, whoever uses it.
 *
 * Return: the rights; from now on the fd's domain is constant.
 */
static u8 use(struct file *file)
{
	struct el_opening *opening = opening_of(file);
	/* Pairs with the release in settle(): the domain is that of the rights. */
	u8 rights = smp_load_acquire(&opening->rights);

	if (likely(rights))
		return rights;
	mutex_lock(&opening->mutex);
	rights = settle(opening, file);
	mutex_unlock(&opening->mutex);
	return rights;
}

static struct el_domain *domain_of(const struct file *file)
{
	return opening_of(file)->listing.domain;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct el_opening *opening;
	struct el_domain *domain;
	int ret;

	opening = kzalloc(sizeof(*opening), GFP_KERNEL_ACCOUNT);
	if (!opening)
		return -ENOMEM;
	domain = el_domain_open(file->f_cred->user_ns);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto err_free;
	}
	mutex_init(&opening->mutex);
	opening->listing.domain = domain;
	/* The misc device has left itself there. */
	file->private_data = NULL;
	ret = seq_open(file, &el_listing_ops);
	if (ret)
		goto err_domain;
	((struct seq_file *)file->private_data)->private = &opening->listing;
	return 0;

err_domain:
	el_domain_put(domain);
err_free:
	kfree(opening);
	return ret;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct el_opening *opening = opening_of(file);

	el_listing_end(&opening->listing);
	el_domain_put(opening->listing.domain);
	kfree(opening);
	return seq_release(inode, file);
}

static ssize_t device_read(struct file *file, char __user *buffer, size_t size, loff_t *pos)
{
	return use(file) & EL_MAY_LIST ? seq_read(file, buffer, size, pos) : -EACCES;
}

/* To seek is to read up to there. */
static loff_t device_llseek(struct file *file, loff_t offset, int whence)
{
	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	return use(file) & EL_MAY_LIST ? seq_lseek(file, offset, whence) : -EACCES;
}

static long device_version(unsigned int cmd, void __user *user)
{
	struct entitylock_version args = {
		.abi = ENTITYLOCK_ABI,
		.set_max = ENTITYLOCK_SET_MAX,
		.features = EL_FEATURES,
		.lease_max = el_lease_max(),
	};

	if (_IOC_SIZE(cmd) < VERSION_LEAST)
		return -EINVAL;
	return el_args_write(user, _IOC_SIZE(cmd), &args, sizeof(args));
}

static int break_entity(struct el_domain *domain, const struct entitylock_break *args)
{
	char name[ENTITYLOCK_NAME_MAX];
	struct el_entity *entity;
	int ret;

	if (copy_from_user(name, u64_to_user_ptr(args->name), args->name_len))
		return -EFAULT;
	entity = el_entity_find(domain, name, args->name_len);
	if (!entity)
		return args->fence ? -ESTALE : -ENOENT;
	ret = el_entity_break(domain, entity, args->fence, el_attempt_advance);
	el_entity_put(domain, entity);
	return ret;
}

/* BREAK: take an entity, or the gate, from its holders. */
static long device_break(struct file *file, unsigned int cmd, void __user *user)
{
	struct el_domain *domain;
	struct entitylock_break args;
	bool gate;
	int ret;

	ret = el_args_read(&args, sizeof(args), BREAK_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	gate = args.flags & ENTITYLOCK_GATE;
	if (args.flags & ~ENTITYLOCK_GATE || args.name_len > ENTITYLOCK_NAME_MAX ||
	    gate != !args.name_len)
		return -EINVAL;
	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	use(file);
	domain = domain_of(file);
	if (!el_domain_owned(domain, file))
		return -EPERM;
	return gate ? el_gate_break(domain, args.fence) : break_entity(domain, &args);
}

static int check_domain(const struct entitylock_domain *args)
{
	if (args->flags & ENTITYLOCK_PRIVATE)
		return args->flags != ENTITYLOCK_PRIVATE || args->name_len ? -EINVAL : 0;
	if (args->flags & ~(ENTITYLOCK_CREATE | ENTITYLOCK_EXCL) ||
	    args->flags == ENTITYLOCK_EXCL ||
	    !args->name_len || args->name_len > ENTITYLOCK_NAME_MAX)
		return -EINVAL;
	return args->flags & ENTITYLOCK_CREATE && args->mode & ~0777 ? -EINVAL : 0;
}

/* A reference to the domain that DOMAIN asks for; its opener, not its user, owns a new one. */
static struct el_domain *find_domain(const struct file *file, const struct entitylock_domain *args)
{
	char name[ENTITYLOCK_NAME_MAX];
	struct el_domain_id id = {
		.ns = file->f_cred->user_ns,
		.kind = EL_NAMED,
		.name = name,
		.name_len = args->name_len,
		.mode = args->mode,
		.owner = file->f_cred->euid,
		.group = file->f_cred->egid,
	};

	if (args->flags & ENTITYLOCK_PRIVATE) {
		id.kind = EL_PRIVATE;
		id.mode = 0700;
		return el_domain_create(&id, true);
	}
	if (copy_from_user(name, u64_to_user_ptr(args->name), args->name_len))
		return ERR_PTR(-EFAULT);
	if (args->flags & ENTITYLOCK_CREATE)
		return el_domain_create(&id, args->flags & ENTITYLOCK_EXCL);
	return el_domain_find(&id) ?: ERR_PTR(-ENOENT);
}

/* Does the domain allow what the fd was opened for, at least some of it? */
static bool may_enter(const struct el_domain *domain, const struct file *file)
{
	u8 rights = el_domain_rights(domain, file);

	if (file->f_mode & FMODE_READ && !(rights & EL_MAY_LIST))
		return false;
	return !(file->f_mode & FMODE_WRITE) || rights & (EL_MAY_LOCK | EL_MAY_GATE);
}

/* Exchange the domain of an fd that was not used; this is its first use. */
static int move(const struct file *file, struct el_domain **domain)
{
	struct el_opening *opening = opening_of(file);
	int ret = -EBUSY;

	mutex_lock(&opening->mutex);
	if (!opening->rights) {
		swap(opening->listing.domain, *domain);
		settle(opening, file);
		ret = 0;
	}
	mutex_unlock(&opening->mutex);
	return ret;
}

/* DOMAIN: move the fd to another domain.  The results are written first. */
static long device_domain(struct file *file, unsigned int cmd, void __user *user)
{
	struct entitylock_domain args;
	struct el_domain *domain;
	int ret;

	ret = el_args_read(&args, sizeof(args), DOMAIN_LEAST, user, _IOC_SIZE(cmd));
	if (!ret)
		ret = check_domain(&args);
	if (ret)
		return ret;
	if (READ_ONCE(opening_of(file)->rights))
		return -EBUSY;
	domain = find_domain(file, &args);
	if (IS_ERR(domain))
		return PTR_ERR(domain);

	args.mode = el_domain_mode(domain);
	args.owner = from_kuid_munged(current_user_ns(), el_domain_owner(domain));
	if (!may_enter(domain, file))
		ret = -EACCES;
	if (!ret)
		ret = el_args_write(user, _IOC_SIZE(cmd), &args, sizeof(args));
	if (!ret)
		ret = move(file, &domain);
	el_domain_put(domain);
	return ret;
}

/* Verbs are told apart by type and number; sizes may differ. */
static long verb(struct file *file, unsigned int cmd, void __user *user, bool may_wait)
{
	u8 rights;

	if (_IOC_TYPE(cmd) != ENTITYLOCK_IOC_TYPE)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(ENTITYLOCK_IOC_VERSION):
		return device_version(cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_DOMAIN):
		return device_domain(file, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_ACQUIRE):
		if (!(file->f_mode & FMODE_WRITE))
			return -EBADF;
		rights = use(file);
		return el_acquire(domain_of(file), rights, cmd, user, may_wait);
	case _IOC_NR(ENTITYLOCK_IOC_CLAIM):
		if (!(file->f_mode & FMODE_WRITE))
			return -EBADF;
		rights = use(file);
		return el_claim(domain_of(file), rights, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_BREAK):
		return device_break(file, cmd, user);
	default:
		return -ENOTTY;
	}
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return verb(file, cmd, (void __user *)arg, true);
}

/* el_device_command - a verb by io_uring, which must not wait */
long el_device_command(struct file *file, unsigned int cmd, void __user *user)
{
	return verb(file, cmd, user, false);
}

static void show_domain(struct seq_file *seq, const struct el_domain *domain)
{
	static const char * const kinds[] = {
		[EL_DEFAULT] = "default", [EL_NAMED] = "named", [EL_PRIVATE] = "private",
	};
	struct user_namespace *ns = seq_user_ns(seq);

	seq_printf(seq, "domain:\t%s\n", kinds[domain->kind]);
	if (domain->kind == EL_NAMED) {
		seq_puts(seq, "name:\t");
		el_seq_escape(seq, domain->name, domain->name_len, EL_SPECIAL);
		seq_putc(seq, '\n');
	}
	seq_printf(seq, "mode:\t0%o\n", el_domain_mode(domain));
	seq_printf(seq, "owner:\t%u\n", from_kuid_munged(ns, el_domain_owner(domain)));
	seq_printf(seq, "entities:\t%d\n", atomic_read(&domain->table.nelems));
}

/* DOMAIN may exchange it; somebody who looks is no use of the fd. */
static void device_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct el_opening *opening = opening_of(file);

	mutex_lock(&opening->mutex);
	show_domain(seq, opening->listing.domain);
	if (el_domain_rights(opening->listing.domain, file) & EL_MAY_LIST)
		el_stats_show(seq, opening->listing.domain);
	mutex_unlock(&opening->mutex);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.llseek = device_llseek,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = device_show_fdinfo,
	.uring_cmd = el_device_uring_cmd,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "entitylock",
	.fops = &device_fops,
	.mode = 0660,
};

int el_device_init(void)
{
	return misc_register(&device);
}

void el_device_exit(void)
{
	misc_deregister(&device);
}
