// SPDX-License-Identifier: GPL-2.0
/*
 * The domain that the subcommands act in, and "entitylock domain", which makes
 * one, runs a command in it, and tells what it is.
 *
 * A domain lives while something refers to it, so a command that runs in one
 * inherits a descriptor of it.  That of a named domain gives no right: it is open
 * for neither reading nor writing.  That of a private one gives all there are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

/* Descriptors of commands begin here: scripts use those below for themselves. */
#define FD_FIRST	10

/* What fdinfo says of a domain, "" where it does not. */
struct look {
	char kind[16];
	char name[4 * ENTITYLOCK_NAME_MAX + 1];
	char mode[8];
	char owner[16];
	char entities[16];
};

static void take_value(char *value, size_t size, const char *line, const char *key)
{
	size_t len = strlen(key);

	if (!strncmp(line, key, len) && line[len] == ':')
		snprintf(value, size, "%s", line + len + 1 + strspn(line + len + 1, " \t"));
}

static bool look_at(int domain, struct look *look)
{
	char line[sizeof(look->name) + 16];
	FILE *file;

	*look = (struct look) {};
	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", domain);
	file = fopen(line, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		take_value(look->kind, sizeof(look->kind), line, "domain");
		take_value(look->name, sizeof(look->name), line, "name");
		take_value(look->mode, sizeof(look->mode), line, "mode");
		take_value(look->owner, sizeof(look->owner), line, "owner");
		take_value(look->entities, sizeof(look->entities), line, "entities");
	}
	fclose(file);
	return look->kind[0] && look->mode[0] && look->owner[0];
}

/* A copy of the descriptor that was inherited, or a negative errno. */
static int copy_inherited(int inherited)
{
	struct entitylock_version version;
	int fd = fcntl(inherited, F_DUPFD_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	err = entitylock_version(fd, &version);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int enter(const struct request *request, int oflags)
{
	if (!request->domain)
		return copy_inherited(request->domain_fd);
	if (!*request->domain)
		return entitylock_open(NULL, oflags);
	return entitylock_open_domain(NULL, oflags, request->domain, strlen(request->domain),
				      0, NULL, NULL);
}

int domain_refused(const struct request *request, const char *what,
		   enum entitylock_verb verb, int error)
{
	const char *why = entitylock_explain(verb, error);
	bool told = error == -EACCES || error == -EPERM || error == -EEXIST;
	int domain = told ? enter(request, O_REFER) : -1;
	struct look look;

	if (domain < 0)
		return fail(request->sub, "cannot %s: %s", what, why);
	if (look_at(domain, &look))
		fail(request->sub, "cannot %s: %s (owner %s, mode %s)", what, why,
		     look.owner, look.mode);
	else
		fail(request->sub, "cannot %s: %s", what, why);
	close(domain);
	return EXIT_OWN_FAILURE;
}

/* Says why the request's domain cannot be entered. */
static int entry_refused(const struct request *request, int error)
{
	char what[4 * ENTITYLOCK_NAME_MAX + 32];

	if (!request->domain)
		return fail(request->sub,
			    "descriptor %d %s; let it be inherited, or choose another domain",
			    request->domain_fd,
			    error == -EBADF ? "is not open" : "is not of a domain");
	if (!*request->domain)
		return fail(request->sub, "cannot open " ENTITYLOCK_DEVICE ": %s",
			    entitylock_explain(ENTITYLOCK_VERB_OPEN, error));
	if (error == -ENOENT)
		return fail(request->sub,
			    "there is no domain '%s'; make it by 'entitylock domain create'",
			    escaped(request->domain));
	snprintf(what, sizeof(what), "use the domain '%s'", escaped(request->domain));
	return domain_refused(request, what, ENTITYLOCK_VERB_DOMAIN, error);
}

int domain_open(const struct request *request, int oflags)
{
	int domain = enter(request, oflags);

	if (domain >= 0)
		return domain;
	entry_refused(request, domain);
	return -1;
}

bool domain_export(const struct request *request)
{
	char number[16];

	if (!request->domain) {
		snprintf(number, sizeof(number), "%d", request->domain_fd);
		return !unsetenv("ENTITYLOCK_DOMAIN") &&
		       !setenv("ENTITYLOCK_DOMAIN_FD", number, 1);
	}
	unsetenv("ENTITYLOCK_DOMAIN_FD");
	if (!*request->domain)
		return !unsetenv("ENTITYLOCK_DOMAIN");
	return !setenv("ENTITYLOCK_DOMAIN", request->domain, 1);
}

/* Becomes the command, which inherits @domain; returns the exit status if it cannot. */
static int run_inside(struct request *request, int domain)
{
	int inherited = fcntl(domain, F_DUPFD, FD_FIRST);

	close(domain);
	if (inherited < 0)
		return fail(request->sub, "cannot pass the domain on: %s", strerror(errno));
	if (!request->domain)
		request->domain_fd = inherited;
	if (!domain_export(request))
		return fail(request->sub, "cannot tell the command of the domain: %s",
			    strerror(errno));
	execvp(request->command[0], request->command);
	return exec_failed(request, errno);
}

/* Whether anything at all may be done in the domain. */
static int check_rights(const struct request *request)
{
	int domain = enter(request, O_RDONLY);

	if (domain == -EACCES)
		domain = enter(request, O_WRONLY);
	if (domain < 0)
		return domain;
	close(domain);
	return 0;
}

/* Anybody can have been the first to take a name. */
static void tell_owner(const struct request *request, uint32_t mode, uint32_t owner)
{
	if (owner == geteuid() && (mode == request->mode || !request->mode_given))
		return;
	fail(request->sub,
	     "the domain '%s' was there before (owner %u, mode 0%o); to refuse that, say --exclusive",
	     escaped(request->domain), owner, mode);
}

static int create_or_run(const struct subcommand *sub, int argc, char **argv)
{
	static struct request request;
	uint32_t flags = 0, mode, owner;
	int domain, status, err;

	status = request_parse(&request, sub, argc, argv);
	if (status != PARSED)
		return status;
	if (sub->bit == DOMAIN_CREATE)
		flags = ENTITYLOCK_CREATE | (request.exclusive ? ENTITYLOCK_EXCL : 0);
	mode = request.mode;
	domain = entitylock_open_domain(NULL, O_REFER, request.domain, strlen(request.domain),
					flags, &mode, &owner);
	if (domain < 0)
		return entry_refused(&request, domain);
	err = check_rights(&request);
	if (err)
		return entry_refused(&request, err);
	if (sub->bit == DOMAIN_CREATE)
		tell_owner(&request, mode, owner);
	return run_inside(&request, domain);
}

static int run_private(const struct subcommand *sub, int argc, char **argv)
{
	static struct request request;
	int domain, status;

	status = request_parse(&request, sub, argc, argv);
	if (status != PARSED)
		return status;
	domain = entitylock_open_domain(NULL, O_RDWR, NULL, 0, ENTITYLOCK_PRIVATE, NULL, NULL);
	if (domain < 0)
		return fail(sub->name, "cannot make a private domain: %s",
			    entitylock_explain(ENTITYLOCK_VERB_DOMAIN, domain));
	return run_inside(&request, domain);
}

/* rwxr-x--- */
static void print_mode(const char *octal)
{
	unsigned long mode = strtoul(octal, NULL, 8);
	int bit;

	printf("mode      %04lo ", mode);
	for (bit = 8; bit >= 0; bit--)
		putchar(mode & 1UL << bit ? "xwr"[bit % 3] : '-');
	putchar('\n');
}

static int show(const struct subcommand *sub, int argc, char **argv)
{
	static struct request request;
	struct look look;
	int domain, status;
	bool seen;

	status = request_parse(&request, sub, argc, argv);
	if (status != PARSED)
		return status;
	domain = domain_open(&request, O_REFER);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	seen = look_at(domain, &look);
	close(domain);
	if (!seen)
		return fail(sub->name, "cannot see what the domain is; mount /proc");

	printf("domain    %s\n", look.kind);
	if (look.name[0])
		printf("name      %s\n", look.name);
	print_mode(look.mode);
	printf("owner     %s\n", look.owner);
	if (look.entities[0])
		printf("entities  %s\n", look.entities);
	return finish_output(sub->name);
}

static const char statuses[] =
"The exit status is that of the command, or\n"
STATUSES_OF_FAILURE
STATUSES_OF_EXEC;

static const struct {
	const char *word;
	int (*main)(const struct subcommand *sub, int argc, char **argv);
	struct subcommand sub;
} subcommands[] = {
	{ "create", create_or_run, {
		.name = "domain create",
		.bit = DOMAIN_CREATE,
		.help =
"Usage: entitylock domain create [OPTION...] NAME -- COMMAND [ARGUMENT...]\n"
"\n"
"Makes the domain, or joins it if there is one, and runs the command in it.  The\n"
"domain ends with the last that refers to it: commands that run in it, locks that\n"
"are held or parked there, abandoned marks.\n",
		.statuses = statuses,
		.arguments = "name of the domain",
	} },
	{ "run", create_or_run, {
		.name = "domain run",
		.bit = DOMAIN_RUN,
		.help =
"Usage: entitylock domain run [OPTION...] NAME -- COMMAND [ARGUMENT...]\n"
"\n"
"Runs the command in a domain that there is.\n",
		.statuses = statuses,
		.arguments = "name of the domain",
	} },
	{ "show", show, {
		.name = "domain show",
		.bit = DOMAIN_SHOW,
		.help =
"Usage: entitylock domain show [OPTION...] [NAME]\n"
"\n"
"Prints kind, name, mode, owner and number of entities of the domain.  Without a\n"
"NAME it is the one that other subcommands would use.\n",
		.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
	} },
	{ "private", run_private, {
		.name = "domain private",
		.bit = DOMAIN_PRIVATE,
		.help =
"Usage: entitylock domain private [OPTION...] -- COMMAND [ARGUMENT...]\n"
"\n"
"Runs the command in a new domain without a name.  Only who has inherited its\n"
"descriptor, the number of which is in ENTITYLOCK_DOMAIN_FD, can use it.\n",
		.statuses = statuses,
	} },
};

static const char help[] =
"Usage: entitylock domain create [OPTION...] NAME -- COMMAND [ARGUMENT...]\n"
"       entitylock domain run [OPTION...] NAME -- COMMAND [ARGUMENT...]\n"
"       entitylock domain show [OPTION...] [NAME]\n"
"       entitylock domain private [OPTION...] -- COMMAND [ARGUMENT...]\n"
"\n"
"Names have a meaning within a domain, and each has a gate, and rights, of its own.\n"
"\n"
"  create     make a domain, or join it, and run a command in it\n"
"  run        run a command in a domain\n"
"  show       print what a domain is\n"
"  private    run a command in a new domain that others cannot enter\n"
"\n"
"  --help     print this; 'entitylock domain create --help' tells more\n";

int domain_main(int argc, char **argv)
{
	const char *word = argv[1];
	size_t i;

	if (!word)
		return fail_usage("domain", "there is no 'create', 'run', 'show' or 'private'");

	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(word, subcommands[i].word))
			return subcommands[i].main(&subcommands[i].sub, argc - 1, argv + 1);
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return print_help("domain", help);
	return fail_usage("domain", "'%s' is none of 'create', 'run', 'show' and 'private'",
			  escaped(word));
}
