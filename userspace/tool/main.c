// SPDX-License-Identifier: GPL-2.0
/* entitylock: the command around the library; finds the subcommand. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entitylock.h"
#include "tool.h"

static const char help[] =
"Usage: entitylock run [OPTION...] NAME... -- COMMAND [ARGUMENT...]\n"
"       entitylock gate [OPTION...] -- COMMAND [ARGUMENT...]\n"
"       entitylock wait [OPTION...] NAME...\n"
"       entitylock park --lease SECONDS [OPTION...] NAME...\n"
"       entitylock claim [OPTION...] COOKIE -- COMMAND [ARGUMENT...]\n"
"       entitylock break [OPTION...] NAME\n"
"       entitylock ls [OPTION...]\n"
"       entitylock who [OPTION...] NAME\n"
"       entitylock blockers [OPTION...] PID | NAME\n"
"       entitylock top | stat | trace | doctor [OPTION...]\n"
"       entitylock domain create | run | show | private ...\n"
"       entitylock --version | --help\n"
"\n"
"Locks on named entities, held by file descriptors.\n"
"\n"
"  run        run a command while holding the lock on one or more names\n"
"  gate       run a command while nobody holds a lock on anything\n"
"  wait       wait until names are free, or have changed\n"
"  park       lock names, and keep the lock without a process\n"
"  claim      run a command under a lock that was parked, or give that back\n"
"  break      take a name, or the gate, from who holds it\n"
"  ls         list what is locked, by whom, and who waits\n"
"  who        tell who holds a name: its owner, and every process that has the lock\n"
"  blockers   tell who stands before a process, or a name: a tree, with its cycles\n"
"  top        show what is waited for, and held, most; again each second\n"
"  stat       print the numbers of the domain, and how long was waited\n"
"  trace      list the threads that lock calls have blocked\n"
"  doctor     find out whether locking works here, and what to do if not\n"
"  domain     names with a meaning, and rights, of their own: make and use it\n"
"\n"
"  --version  print the version of the command and of the loaded module\n"
"  --help     print this; 'entitylock SUBCOMMAND --help' tells more\n";

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} subcommands[] = {
	{ "run", run_main },
	{ "gate", gate_main },
	{ "wait", wait_main },
	{ "park", park_main },
	{ "claim", claim_main },
	{ "break", break_main },
	{ "ls", ls_main },
	{ "who", who_main },
	{ "blockers", blockers_main },
	{ "top", top_main },
	{ "stat", stat_main },
	{ "trace", trace_main },
	{ "doctor", doctor_main },
	{ "domain", domain_main },
};

static int print_version(void)
{
	struct entitylock_version version;
	int domain, err;

	printf("entitylock %s, interface %d\n", TOOL_VERSION, ENTITYLOCK_ABI);

	domain = entitylock_open(NULL, O_RDONLY);
	err = domain < 0 ? domain : entitylock_version(domain, &version);
	if (err)
		printf("module: none: %s\n",
		       entitylock_explain(ENTITYLOCK_VERB_OPEN, err));
	else
		printf("module: interface %u, features 0x%llx, at most %u entities a lock\n",
		       version.abi, (unsigned long long)version.features,
		       version.set_max);
	if (domain >= 0)
		close(domain);
	return finish_output("version");
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		fputs(help, stderr);
		return EXIT_OWN_FAILURE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help("help", help);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return print_version();

	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(argv[1], subcommands[i].name))
			return subcommands[i].main(argc - 1, argv + 1);

	return fail(escaped(argv[1]), "there is no such subcommand; see entitylock --help");
}
