// SPDX-License-Identifier: GPL-2.0
/* entitylock doctor: whether locking works here, and what to do if not */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "health.h"
#include "request.h"

static const struct subcommand subcommand = {
	.name = "doctor",
	.bit = DOCTOR,
	.help =
"Usage: entitylock doctor [OPTION...]\n"
"\n"
"Looks at all that locking needs, from the kernel to a lock taken in a domain that\n"
"nobody else sees, and says what to do about each thing that is wrong.\n",
	.statuses =
"The exit status is 0 if locking works, 1 if it does not, or\n"
STATUSES_OF_FAILURE,
};

/* Of interface number ENTITYLOCK_ABI. */
static const struct {
	uint64_t bit;
	const char *name;
} features[] = {
	{ ENTITYLOCK_FEATURE_SHARED, "shared" },
	{ ENTITYLOCK_FEATURE_ASYNC, "async" },
	{ ENTITYLOCK_FEATURE_CONVERT, "convert" },
	{ ENTITYLOCK_FEATURE_EXTEND, "extend" },
	{ ENTITYLOCK_FEATURE_GATE, "gate" },
	{ ENTITYLOCK_FEATURE_ROBUST, "robust" },
	{ ENTITYLOCK_FEATURE_LEASE, "lease" },
	{ ENTITYLOCK_FEATURE_VERSION, "version" },
	{ ENTITYLOCK_FEATURE_BREAK, "break" },
	{ ENTITYLOCK_FEATURE_PARK, "park" },
	{ ENTITYLOCK_FEATURE_DOMAIN, "domain" },
	{ ENTITYLOCK_FEATURE_URING, "io_uring" },
	{ ENTITYLOCK_FEATURE_CLOCKS, "clocks" },
};

/* Whether there is a node, of whatever device. */
static bool check_node(void)
{
	struct group *group;
	struct stat st;

	if (stat(ENTITYLOCK_DEVICE, &st)) {
		health_tell(WRONG, "device",
			    module_is_loaded() ? "let udev, or devtmpfs, make it"
					       : "load the module: modprobe entitylock",
			    ENTITYLOCK_DEVICE ": %s", strerror(errno));
		return false;
	}
	if (!S_ISCHR(st.st_mode)) {
		health_tell(WRONG, "device", "remove it, and load the module: modprobe entitylock",
			    ENTITYLOCK_DEVICE " is no device");
		return false;
	}
	group = getgrgid(st.st_gid);
	health_tell(FINE, "device", NULL, ENTITYLOCK_DEVICE ", mode %04o, owner %u, group %s",
		    st.st_mode & 07777, st.st_uid, group ? group->gr_name : "unknown");
	return true;
}

/* A domain fd, or -1. */
static int check_access(void)
{
	int domain = entitylock_open(NULL, O_RDWR);

	if (domain >= 0) {
		health_tell(FINE, "access", NULL, "user %u may open it", geteuid());
		return domain;
	}
	if (domain == -EACCES)
		health_tell(WRONG, "access",
			    "join the device's group: usermod -aG entitylock USER, and log in again",
			    "user %u may not open it", geteuid());
	else
		health_tell(WRONG, "access", entitylock_explain(ENTITYLOCK_VERB_OPEN, domain),
			    "it cannot be opened");
	return -1;
}

static void list_features(uint64_t bits, char *text, size_t size)
{
	size_t used = 0, i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(features) && used < size; i++)
		if (bits & features[i].bit)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 used ? " " : "", features[i].name);
}

static uint64_t known_features(void)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		bits |= features[i].bit;
	return bits;
}

static bool check_interface(int domain)
{
	struct entitylock_version version;
	char text[256];
	int err = entitylock_version(domain, &version);

	if (err) {
		health_tell(WRONG, "interface", "remove the node, and load the module",
			    ENTITYLOCK_DEVICE " is not of the module");
		return false;
	}
	if (version.abi != ENTITYLOCK_ABI) {
		health_tell(WRONG, "interface", "install a command and a module of one release",
			    "the module has interface %u, the command %d", version.abi,
			    ENTITYLOCK_ABI);
		return false;
	}
	list_features(version.features, text, sizeof(text));
	health_tell(FINE, "interface", NULL, "%u, with %s", version.abi, text);
	list_features(known_features() & ~version.features, text, sizeof(text));
	if (*text)
		health_tell(NOTE, "features", "io_uring needs Linux 6.12; else load a newer module",
			    "the module does without: %s", text);
	return true;
}

/* Locks and unlocks where nobody else is, with the rights of the default domain untouched. */
static void check_locking(void)
{
	int domain, token, err;

	domain = entitylock_open_domain(NULL, O_RDWR, NULL, 0, ENTITYLOCK_PRIVATE, NULL, NULL);
	token = domain < 0 ? domain : entitylock_acquire(domain, "doctor", 6, ENTITYLOCK_EXCLUSIVE,
							 NULL, NULL);
	err = token < 0 ? token : entitylock_unlock(token, 0, 0);
	if (err)
		health_tell(WRONG, "lock", "report this, with what dmesg says",
			    "a lock in a private domain: %s",
			    entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, err));
	else
		health_tell(FINE, "lock", NULL, "taken and given back in a private domain");
	if (token >= 0)
		close(token);
	if (domain >= 0)
		close(domain);
}

/* Whether the default domain lets its user lock: a token that is not locked needs w. */
static void check_default_domain(int domain)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	int token;

	options.flags = ENTITYLOCK_OPEN;
	token = entitylock_acquire(domain, "doctor", 6, ENTITYLOCK_EXCLUSIVE, &options, NULL);
	if (token >= 0)
		health_tell(FINE, "domain", NULL, "the default domain lets user %u lock",
			    geteuid());
	else
		health_tell(WRONG, "domain",
			    "see the module's parameter default_mode, or use a domain of your own",
			    "the default domain: %s",
			    entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, token));
	if (token >= 0)
		close(token);
}

int doctor_main(int argc, char **argv)
{
	static struct request request;
	int domain = -1, status;
	bool works;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	health_begin(request.json);
	check_kernel();
	check_secure_boot();
	check_module_file();
	check_module();
	if (check_node())
		domain = check_access();
	if (domain >= 0) {
		if (check_interface(domain)) {
			check_locking();
			check_default_domain(domain);
		}
		close(domain);
	}
	check_tracing();
	works = health_end();
	status = finish_output("doctor");
	return status ? status : !works;
}
