// SPDX-License-Identifier: LGPL-2.1-or-later
/* What went wrong, in words, and what to do. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ANY	-1

/* The first row that matches is the answer. */
static const struct {
	int verb;
	int error;
	const char *text;
} reasons[] = {
	{ ENTITYLOCK_VERB_OPEN, ENOENT,
	  "there is no such device; load the module: modprobe entitylock" },
	{ ENTITYLOCK_VERB_OPEN, ENXIO,
	  "the module is not loaded; load it: modprobe entitylock" },
	{ ENTITYLOCK_VERB_OPEN, ENODEV,
	  "the module is not loaded; load it: modprobe entitylock" },
	{ ENTITYLOCK_VERB_OPEN, EACCES,
	  "permission denied; join the device's group, see ls -l " ENTITYLOCK_DEVICE },
	{ ENTITYLOCK_VERB_OPEN, EPERM,
	  "permission denied; let this container, or service, use the device" },

	{ ENTITYLOCK_VERB_DOMAIN, ENOENT,
	  "there is no such domain; create it, and keep a descriptor of it open" },
	{ ENTITYLOCK_VERB_DOMAIN, EEXIST,
	  "the domain exists already; choose another name, or join it" },
	{ ENTITYLOCK_VERB_DOMAIN, EBUSY,
	  "the device was used already; choose the domain first" },
	{ ENTITYLOCK_VERB_DOMAIN, EACCES,
	  "the domain does not let you list (r), or lock (w, x), as asked; ask its owner" },
	{ ENTITYLOCK_VERB_DOMAIN, EINVAL,
	  "a name has 1 to 255 bytes, a private domain none, a mode is at most 0777" },
	{ ENTITYLOCK_VERB_DOMAIN, ENODEV,
	  "the module is not loaded; load it: modprobe entitylock" },
	{ ENTITYLOCK_VERB_DOMAIN, EPERM,
	  "the device may not be opened; join its group, see ls -l " ENTITYLOCK_DEVICE },
	{ ENTITYLOCK_VERB_DOMAIN, ENOTTY,
	  "not an open of the device, or a module without domains; load a newer one" },

	{ ENTITYLOCK_VERB_CLAIM, ENOENT,
	  "nothing is parked under that cookie; it works once, and until the lease ends" },
	{ ENTITYLOCK_VERB_CLAIM, EACCES,
	  "the domain does not let you lock (w); ask its owner" },
	{ ENTITYLOCK_VERB_CLAIM, EBADF,
	  "the device is not open for writing; open it O_RDWR" },
	{ ENTITYLOCK_VERB_CLAIM, ENOTTY,
	  "not an open of the device, or a module without parking; load a newer one" },

	{ ENTITYLOCK_VERB_BREAK, ENOENT,
	  "nobody holds it, and it bears no mark; see entitylock ls" },
	{ ENTITYLOCK_VERB_BREAK, ESTALE,
	  "the holder of that fence has it no more; see entitylock ls for who has" },
	{ ENTITYLOCK_VERB_BREAK, EPERM,
	  "only the domain's owner may do that; ask it, or become root" },
	{ ENTITYLOCK_VERB_BREAK, EBADF,
	  "the device is not open for writing; open it O_RDWR" },
	{ ENTITYLOCK_VERB_BREAK, ENOTTY,
	  "not an open of the device, or a module without breaking; load a newer one" },

	{ ENTITYLOCK_VERB_LIST, EBADF,
	  "the device is not open for reading; open it O_RDONLY or O_RDWR" },
	{ ENTITYLOCK_VERB_LIST, EACCES,
	  "the domain does not let you list (r); ask its owner" },
	{ ENTITYLOCK_VERB_LIST, EPROTO,
	  "not a listing that this library understands; update it" },

	{ ENTITYLOCK_VERB_STATS, EACCES,
	  "the domain does not let you list (r); ask its owner" },
	{ ENTITYLOCK_VERB_STATS, ENOENT,
	  "/proc is not mounted; mount it" },
	{ ENTITYLOCK_VERB_STATS, ENOTTY,
	  "not an open of the device" },
	{ ENTITYLOCK_VERB_STATS, EPROTO,
	  "not the statistics that this library understands; update it" },

	{ ENTITYLOCK_VERB_ACQUIRE, EAGAIN,
	  "somebody else holds it; wait, or see entitylock ls" },
	{ ENTITYLOCK_VERB_ACQUIRE, ETIMEDOUT,
	  "somebody else held it until the time was over; wait longer, or see entitylock ls" },
	{ ENTITYLOCK_VERB_ACQUIRE, EBADF,
	  "the device is not open for writing; open it O_RDWR" },
	{ ENTITYLOCK_VERB_ACQUIRE, EACCES,
	  "the domain does not let you lock (w), or take the gate (x); ask its owner" },
	{ ENTITYLOCK_VERB_ACQUIRE, EINVAL,
	  "a bad length of a name, label or set, or a mode or flag that the module lacks" },
	{ ENTITYLOCK_VERB_ACQUIRE, ENOTTY,
	  "not an open of the device" },

	{ ENTITYLOCK_VERB_UNLOCK, EBADFD,
	  "it was not locked; look for a second unlock" },
	{ ENTITYLOCK_VERB_CANCEL, EBADFD,
	  "nothing waits any more" },
	{ ENTITYLOCK_VERB_LOCK, EBADFD,
	  "it is locked, or waits, already; unlock it first" },
	{ ENTITYLOCK_VERB_PARK, EBADFD,
	  "it waits, or is parked already" },
	{ ENTITYLOCK_VERB_RENEW, EBADFD,
	  "it is not locked; lock it with a new lease" },
	{ ENTITYLOCK_VERB_RENEW, ESTALE,
	  "the lock is lost, and another may have it; stop, and begin again" },
	{ ENTITYLOCK_VERB_CONVERT, EBADFD,
	  "it is not locked; lock it first" },
	{ ENTITYLOCK_VERB_EXTEND, EBADFD,
	  "it is not locked; lock it first" },
	{ ENTITYLOCK_VERB_CONVERT, EDEADLK,
	  "to wait for that could deadlock; unlock and lock again in the stronger mode" },
	{ ENTITYLOCK_VERB_EXTEND, EDEADLK,
	  "to wait for that could deadlock; unlock and acquire all of them as one set" },
	{ ENTITYLOCK_VERB_EXTEND, E2BIG,
	  "more than 1024 entities in all; use several tokens, in one order everywhere" },
	{ ENTITYLOCK_VERB_RENEW, EINVAL,
	  "no lease to repeat, or one that is longer than the module allows" },
	{ ENTITYLOCK_VERB_PARK, EINVAL,
	  "a lease is needed, and not longer than the module allows" },
	{ ENTITYLOCK_VERB_LABEL, EINVAL,
	  "the label is longer than 63 bytes; shorten it" },
	{ ENTITYLOCK_VERB_PARK, EDQUOT,
	  "too many tokens are parked; claim some, or ask for a higher quota" },

	{ ENTITYLOCK_VERB_SEND, EPIPE,
	  "the other end is closed" },
	{ ENTITYLOCK_VERB_SEND, ETOOMANYREFS,
	  "too many descriptors are on their way; let the receiver take some" },
	{ ENTITYLOCK_VERB_SEND, EBADF,
	  "not a descriptor" },
	{ ENTITYLOCK_VERB_RECV, ENODATA,
	  "the other end is closed" },
	{ ENTITYLOCK_VERB_RECV, EBADMSG,
	  "not exactly one descriptor, or not the agreed bytes; check the sender" },
	{ ENTITYLOCK_VERB_RECV, ENOTTY,
	  "the descriptor received is of another kind; check the sender" },
	{ ENTITYLOCK_VERB_RECV, EMFILE,
	  "no room for another descriptor; close some, or raise ulimit -n" },

	{ ANY, EAGAIN, "not yet" },
	{ ANY, ETIMEDOUT, "the time is over" },
	{ ANY, ECANCELED, "the wait was cancelled" },
	{ ANY, EINTR, "a signal came" },
	{ ANY, ESTALE,
	  "the lock is lost, or an entity changed; another may have been at work: begin again" },
	{ ANY, ETIME, "the lease has run out; renew it" },
	{ ANY, EPERM, "the token is sealed" },
	{ ANY, EDQUOT,
	  "too many robust locks; give some back, or ask for a higher quota" },
	{ ANY, EBADF, "not a descriptor, or not open for this" },
	{ ANY, ENOTTY,
	  "not a token, or a module that cannot do this; load a newer one" },
	{ ANY, EINVAL, "the module does not know such a mode, flag or value" },
	{ ANY, EMFILE,
	  "too many open descriptors; close some, or raise ulimit -n" },
	{ ANY, ENFILE,
	  "too many open files in the system; raise sysctl fs.file-max" },
	{ ANY, ENOMEM, "out of memory" },
};

const char *entitylock_explain(enum entitylock_verb verb, int error)
{
	/* Not abs(), which the least number has no answer for. */
	int number = error > -INT_MAX ? abs(error) : INT_MAX;
	const char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].error == number &&
		    (reasons[i].verb == ANY || reasons[i].verb == (int)verb))
			return reasons[i].text;

	text = strerrordesc_np(number);
	return text ? text : "unknown error";
}
