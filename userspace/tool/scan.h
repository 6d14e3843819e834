/* SPDX-License-Identifier: GPL-2.0 */
/* Which process has which token: found through /proc, whatever their owners. */
#ifndef SCAN_H
#define SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COMM_SIZE	64	/* bytes of a process's name in /proc, and a zero */

/**
 * struct scan_fd - a descriptor of a token
 * @token: the token's number.
 * @pid: of the process, in the reader's pid namespace.
 * @fd: its number there.
 * @comm: the process's command.
 */
struct scan_fd {
	uint64_t token;
	pid_t pid;
	int fd;
	char comm[COMM_SIZE];
};

/**
 * struct scan_carrier - a descriptor that others are kept in
 * @pid: of the process.
 * @fd: its number there.
 * @socket: a socket with messages that nobody has received; else an io_uring.
 * @count: how many descriptors are in it, of whatever kind.
 * @comm: the process's command.
 */
struct scan_carrier {
	pid_t pid;
	int fd;
	bool socket;
	uint64_t count;
	char comm[COMM_SIZE];
};

/**
 * struct scan - what was found
 * @unseen: processes whose descriptors could not be looked at.
 * @inside: this is a pid namespace from which not all processes can be seen.
 */
struct scan {
	struct scan_fd *fds;
	size_t nr_fds, size_fds;
	struct scan_carrier *carriers;
	size_t nr_carriers, size_carriers;
	unsigned int unseen;
	bool inside;
};

/* Looks at all processes; 0, or a negative errno if there is no /proc. */
int scan_all(struct scan *scan);

/* Looks at one; 0, or a negative errno: -ENOENT, there is none, -EACCES. */
int scan_process(struct scan *scan, pid_t pid);

bool scan_has(const struct scan *scan, pid_t pid, uint64_t token);
void scan_free(struct scan *scan);

/* Whether there is such a process; its command, and since when (CLOCK_BOOTTIME). */
bool process_look(pid_t pid, char comm[COMM_SIZE], uint64_t *since);

#endif /* SCAN_H */
