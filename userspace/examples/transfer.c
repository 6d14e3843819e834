// SPDX-License-Identifier: GPL-2.0
/*
 * transfer DIR FROM TO TIMES: move 1 from an account to another, TIMES times
 *
 * An account is a file in DIR with a number in it.  Both are locked as one set:
 * in whatever order this process and others name them, none can deadlock.  The
 * token is made once, and locked and unlocked for each transfer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <entitylock.h>

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

/* Reads the number, and writes it back changed: not atomic at all. */
static void change(const char *dir, const char *account, long by)
{
	char path[4096];
	long balance;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, account);
	file = fopen(path, "r+");
	if (!file || fscanf(file, "%ld", &balance) != 1) {
		perror(path);
		exit(1);
	}
	rewind(file);
	fprintf(file, "%010ld\n", balance + by);
	if (fclose(file)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_entity accounts[2];
	int domain, token, err;
	long times;

	if (argc != 5) {
		fprintf(stderr, "usage: transfer DIR FROM TO TIMES\n");
		return 1;
	}
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);

	entitylock_entity_init(&accounts[0], argv[2], strlen(argv[2]),
			       ENTITYLOCK_EXCLUSIVE);
	entitylock_entity_init(&accounts[1], argv[3], strlen(argv[3]),
			       ENTITYLOCK_EXCLUSIVE);
	options.flags = ENTITYLOCK_OPEN;
	options.label = "transfer";
	token = entitylock_acquire_set(domain, accounts, 2, &options, NULL);
	if (token < 0)
		die("accounts", ENTITYLOCK_VERB_ACQUIRE, token);

	for (times = atol(argv[4]); times > 0; times--) {
		err = entitylock_lock(token, NULL, NULL);
		if (err)
			die("lock", ENTITYLOCK_VERB_LOCK, err);
		change(argv[1], argv[2], -1);
		change(argv[1], argv[3], 1);
		err = entitylock_unlock(token, 0, 0);
		if (err)
			die("unlock", ENTITYLOCK_VERB_UNLOCK, err);
	}
	close(token);
	close(domain);
	return 0;
}
