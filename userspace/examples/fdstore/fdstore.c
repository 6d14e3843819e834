// SPDX-License-Identifier: GPL-2.0
/*
 * fdstore: a service that keeps its locks over its own restart
 *
 * On the Unix socket "control" that systemd hands it, it takes one command a
 * connection: "lock NAME", "unlock NAME", "list".  A lock is held for whoever asked
 * until it is unlocked, not until the connection ends.
 *
 * Each token goes into systemd's store of file descriptors, where it lives on while
 * the service is restarted, or has crashed: nobody else gets the lock meanwhile.  The
 * token itself tells the next instance what it holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <entitylock.h>
#include <systemd/sd-daemon.h>

#define LOCKS_MAX	64	/* FileDescriptorStoreMax= of the unit */

struct lock {
	int token;		/* -1: free to use */
	uint64_t fence;
	char name[ENTITYLOCK_NAME_MAX + 1];
	char stored[32];	/* its name in the store */
};

static struct lock locks[LOCKS_MAX];
static int domain;

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "fdstore: %s: %s\n", what, why);
	exit(1);
}

static struct lock *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < LOCKS_MAX; i++)
		if (locks[i].token >= 0 && !strcmp(locks[i].name, name))
			return &locks[i];
	return NULL;
}

static struct lock *unused(void)
{
	unsigned int i;

	for (i = 0; i < LOCKS_MAX; i++)
		if (locks[i].token < 0)
			return &locks[i];
	return NULL;
}

/* What the token holds, and the name for the store: a token's id is its own. */
static int look(struct lock *lock, int token)
{
	struct entitylock_entity entity = {
		.name = (uintptr_t)lock->name,
		.name_len = ENTITYLOCK_NAME_MAX,
	};
	struct entitylock_info info = {
		.entities = (uintptr_t)&entity,
		.entity_size = sizeof(entity),
		.capacity = 1,
	};
	int err = entitylock_info(token, &info);

	if (err)
		return err;
	if (info.state != ENTITYLOCK_HELD || info.count != 1)
		return -EBADFD;
	lock->name[entity.name_len] = '\0';
	lock->fence = info.fence;
	snprintf(lock->stored, sizeof(lock->stored), "lock-%llu", (unsigned long long)info.id);
	return 0;
}

/* Into the store.  Negative: an error; 0: there is no manager. */
static int store(const struct lock *lock, int token)
{
	char state[64];

	snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=%s", lock->stored);
	return sd_pid_notify_with_fds(0, 0, state, &token, 1);
}

static void forget(const char *stored)
{
	sd_pid_notifyf(0, 0, "FDSTOREREMOVE=1\nFDNAME=%s", stored);
}

/* One that comes back from the store. */
static void take_back(int token, const char *stored)
{
	struct lock *lock = unused();
	int err = lock ? look(lock, token) : -ENFILE;

	if (err) {
		fprintf(stderr, "fdstore: %s from the store is no lock that is held: %s\n",
			stored, strerror(-err));
		forget(stored);
		close(token);
		return;
	}
	entitylock_label(token, "fdstore");	/* listings name this process from now on */
	lock->token = token;
}

/* The socket "control"; everything else that was handed over was in the store. */
static int take_over(void)
{
	int nr, i, control = -1;
	char **names = NULL;

	nr = sd_listen_fds_with_names(1, &names);
	if (nr < 0)
		die("what the manager hands over", strerror(-nr));
	for (i = 0; i < nr; i++) {
		if (!strcmp(names[i], "control"))
			control = SD_LISTEN_FDS_START + i;
		else
			take_back(SD_LISTEN_FDS_START + i, names[i]);
		free(names[i]);
	}
	free(names);
	if (control < 0)
		die("no socket \"control\"", "start it by systemd, or by manager.py");
	return control;
}

static void do_lock(int client, const char *name)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct lock *lock = unused();
	int token, err;

	if (find(name)) {
		dprintf(client, "%s is locked already\n", name);
		return;
	}
	if (!lock) {
		dprintf(client, "%s: no room for another lock\n", name);
		return;
	}
	options.deadline = ENTITYLOCK_NOWAIT;
	options.label = "fdstore";
	token = entitylock_acquire(domain, name, strlen(name), ENTITYLOCK_EXCLUSIVE, &options,
				   NULL);
	err = token < 0 ? token : look(lock, token);
	if (err || store(lock, token) <= 0) {
		if (token >= 0)
			close(token);
		dprintf(client, "not locked: %s\n", token < 0 ?
			entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, token) :
			"the manager does not store it");
		return;
	}
	lock->token = token;
	dprintf(client, "locked %s, fence %llu\n", name, (unsigned long long)lock->fence);
}

/* UNLOCK and not only close: the store has a copy. */
static void do_unlock(int client, const char *name)
{
	struct lock *lock = find(name);
	int err;

	if (!lock) {
		dprintf(client, "%s is not locked\n", name);
		return;
	}
	err = entitylock_unlock(lock->token, 0, 0);
	forget(lock->stored);
	close(lock->token);
	lock->token = -1;
	if (err)
		dprintf(client, "%s: %s\n", name, entitylock_explain(ENTITYLOCK_VERB_UNLOCK, err));
	else
		dprintf(client, "unlocked %s\n", name);
}

static void serve(int client)
{
	char line[ENTITYLOCK_NAME_MAX + 16];
	ssize_t len = read(client, line, sizeof(line) - 1);
	unsigned int i;

	if (len <= 0)
		return;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "lock ", 5)) {
		do_lock(client, line + 5);
	} else if (!strncmp(line, "unlock ", 7)) {
		do_unlock(client, line + 7);
	} else if (!strcmp(line, "list")) {
		for (i = 0; i < LOCKS_MAX; i++)
			if (locks[i].token >= 0)
				dprintf(client, "%s, fence %llu\n", locks[i].name,
					(unsigned long long)locks[i].fence);
	} else {
		dprintf(client, "\"%s\": lock NAME, unlock NAME or list is needed\n", line);
	}
}

int main(void)
{
	unsigned int i;
	int control, client;

	for (i = 0; i < LOCKS_MAX; i++)
		locks[i].token = -1;
	control = take_over();
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, entitylock_explain(ENTITYLOCK_VERB_OPEN, domain));
	sd_notify(0, "READY=1");
	for (;;) {
		client = accept4(control, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			die("accept", strerror(errno));
		serve(client);
		close(client);
	}
}
