// SPDX-License-Identifier: GPL-2.0
/*
 * The device: each open of it is a domain fd.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/entitylock.h>

#include "acquire.h"
#include "args.h"
#include "device.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "listing.h"
#include "park.h"

#define BREAK_LEAST	offsetofend(struct entitylock_break, fence)
#define VERSION_LEAST	offsetofend(struct entitylock_version, lease_max)

#define EL_FEATURES	(ENTITYLOCK_FEATURE_SHARED | ENTITYLOCK_FEATURE_ASYNC | \
			 ENTITYLOCK_FEATURE_CONVERT | ENTITYLOCK_FEATURE_EXTEND | \
			 ENTITYLOCK_FEATURE_GATE | ENTITYLOCK_FEATURE_CLOCKS | \
			 ENTITYLOCK_FEATURE_ROBUST | ENTITYLOCK_FEATURE_VERSION | \
			 ENTITYLOCK_FEATURE_BREAK | ENTITYLOCK_FEATURE_LEASE | \
			 ENTITYLOCK_FEATURE_PARK)

static struct el_listing *listing_of(const struct file *file)
{
	const struct seq_file *seq = file->private_data;

	return seq->private;
}

/* An fd is in the domain of whoever opened it, whoever uses it. */
static int device_open(struct inode *inode, struct file *file)
{
	struct el_listing *listing;
	struct el_domain *domain;
	int ret;

	listing = kzalloc(sizeof(*listing), GFP_KERNEL_ACCOUNT);
	if (!listing)
		return -ENOMEM;
	domain = el_domain_open(file->f_cred->user_ns);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto err_free;
	}
	listing->domain = domain;
	/* The misc device has left itself there. */
	file->private_data = NULL;
	ret = seq_open(file, &el_listing_ops);
	if (ret)
		goto err_domain;
	((struct seq_file *)file->private_data)->private = listing;
	return 0;

err_domain:
	el_domain_put(domain);
err_free:
	kfree(listing);
	return ret;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct el_listing *listing = listing_of(file);

	el_listing_end(listing);
	el_domain_put(listing->domain);
	kfree(listing);
	return seq_release(inode, file);
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
	ret = el_entity_break(domain, entity, args->fence);
	el_entity_put(domain, entity);
	return ret;
}

/* BREAK: take an entity, or the gate, from its holders. */
static long device_break(struct file *file, unsigned int cmd, void __user *user)
{
	struct el_domain *domain = listing_of(file)->domain;
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
	if (!el_domain_owned(domain, file))
		return -EPERM;
	return gate ? el_gate_break(domain, args.fence) : break_entity(domain, &args);
}

/* Verbs are told apart by type and number; sizes may differ. */
static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	if (_IOC_TYPE(cmd) != ENTITYLOCK_IOC_TYPE)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(ENTITYLOCK_IOC_VERSION):
		return device_version(cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_ACQUIRE):
		if (!(file->f_mode & FMODE_WRITE))
			return -EBADF;
		return el_acquire(listing_of(file)->domain, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_CLAIM):
		if (!(file->f_mode & FMODE_WRITE))
			return -EBADF;
		return el_claim(listing_of(file)->domain, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_BREAK):
		return device_break(file, cmd, user);
	default:
		return -ENOTTY;
	}
}

static void device_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct el_domain *domain = listing_of(file)->domain;

	seq_puts(seq, "domain:\tdefault\n");
	seq_printf(seq, "entities:\t%d\n", atomic_read(&domain->table.nelems));
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = seq_read,
	.llseek = seq_lseek,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = device_show_fdinfo,
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
