// SPDX-License-Identifier: GPL-2.0
/*
 * handover: an operation that begins in one process and ends in another
 *
 *   handover finish SOCKET        wait for an operation, say so, and finish it
 *                                 when a line comes on standard input
 *   handover begin SOCKET NAME    lock NAME, pass the lock on, and end
 *
 * The lock is the descriptor: it is never free in between, whichever of the two
 * processes dies when.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <entitylock.h>

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

static void die_errno(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "%s: too long for a socket\n", path);
		exit(1);
	}
	strcpy(address.sun_path, path);
	return address;
}

static void begin(const char *path, const char *name)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct sockaddr_un address = address_of(path);
	int domain, token, sock, err;

	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	options.label = "first half";
	token = entitylock_acquire(domain, name, strlen(name),
				   ENTITYLOCK_EXCLUSIVE, &options, NULL);
	if (token < 0)
		die(name, ENTITYLOCK_VERB_ACQUIRE, token);

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0 ||
	    connect(sock, (struct sockaddr *)&address, sizeof(address)))
		die_errno(path);
	err = entitylock_send(sock, token, name, strlen(name));
	if (err)
		die(path, ENTITYLOCK_VERB_SEND, err);
	printf("process %d has locked %s and passes it on\n", getpid(), name);
}

static void finish(const char *path)
{
	struct sockaddr_un address = address_of(path);
	char name[ENTITYLOCK_NAME_MAX], line[16];
	size_t len = sizeof(name);
	int listener, sock, token, err;

	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1))
		die_errno(path);
	printf("process %d is waiting\n", getpid());
	fflush(stdout);
	sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (sock < 0)
		die_errno(path);
	token = entitylock_recv(sock, name, &len);
	if (token < 0)
		die(path, ENTITYLOCK_VERB_RECV, token);

	/* From now on listings shall name this process. */
	err = entitylock_label(token, "second half");
	if (err)
		die("label", ENTITYLOCK_VERB_LABEL, err);
	printf("process %d goes on with %.*s\n", getpid(), (int)len, name);
	fflush(stdout);

	if (!fgets(line, sizeof(line), stdin))
		fprintf(stderr, "standard input has ended\n");
	err = entitylock_unlock(token, 0, 0);
	if (err)
		die("unlock", ENTITYLOCK_VERB_UNLOCK, err);
	printf("process %d has finished with %.*s\n", getpid(), (int)len, name);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "begin")) {
		begin(argv[2], argv[3]);
	} else if (argc == 3 && !strcmp(argv[1], "finish")) {
		finish(argv[2]);
	} else {
		fprintf(stderr, "usage: handover begin SOCKET NAME | handover finish SOCKET\n");
		return 1;
	}
	return 0;
}
