// SPDX-License-Identifier: GPL-2.0
/*
 * entitylock: locks on named entities, held by file descriptors.
 *
 * Start and stop of the parts.
 */
#include <linux/module.h>

#include "device.h"
#include "domain.h"
#include "fence.h"
#include "token.h"
#include "user.h"

static int __init entitylock_init(void)
{
	int ret;

	el_fence_init();
	ret = el_tokens_init();
	if (ret)
		return ret;
	ret = el_domains_init();
	if (ret)
		goto err_tokens;
	ret = el_device_init();
	if (ret)
		goto err_domains;
	return 0;

err_domains:
	el_domains_exit();
err_tokens:
	el_tokens_exit();
	return ret;
}

/* Every fd holds a reference to the module: nothing of a user's is left. */
static void __exit entitylock_exit(void)
{
	el_device_exit();
	el_domains_exit();
	el_tokens_exit();
	el_users_exit();
}

module_init(entitylock_init);
module_exit(entitylock_exit);

MODULE_DESCRIPTION("Locks on named entities, held by file descriptors");
MODULE_LICENSE("GPL");
/* Of the library, the command and the packages, too. */
MODULE_VERSION("0.1.0");
