// SPDX-License-Identifier: GPL-2.0
/*
 * Which process has which token.
 *
 * Threads may have tables of descriptors of their own, and the leader of a group
 * may have ended before them, so each table is looked at: that of every thread
 * which does not share the leader's.  Processes come and go meanwhile: what is gone
 * is no error.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scan.h"
#include "tool.h"

#define PATH_SIZE	96

/* Room for one more of @nr elements. */
static void *grow(void *array, size_t nr, size_t *size, size_t element)
{
	if (nr < *size)
		return array;
	*size = *size ? 2 * *size : 16;
	return need(reallocarray(array, *size, element));
}

/* A number from a line "key:\tnumber" of a file in /proc. */
static bool read_number(const char *path, const char *key, uint64_t *number)
{
	size_t len = strlen(key);
	bool found = false;
	char line[512];
	FILE *file;

	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, len) && line[len] == ':') {
			*number = strtoull(line + len + 1, NULL, 10);
			found = true;
		}
	fclose(file);
	return found;
}

bool scan_has(const struct scan *scan, pid_t pid, uint64_t token)
{
	size_t i;

	for (i = 0; i < scan->nr_fds; i++)
		if (scan->fds[i].pid == pid && scan->fds[i].token == token)
			return true;
	return false;
}

static bool known(const struct scan *scan, pid_t pid, int fd, uint64_t token)
{
	size_t i;

	for (i = 0; i < scan->nr_fds; i++)
		if (scan->fds[i].pid == pid && scan->fds[i].fd == fd &&
		    scan->fds[i].token == token)
			return true;
	return false;
}

static void add_token(struct scan *scan, pid_t pid, int fd, const char *fdinfo)
{
	struct scan_fd *found;
	uint64_t token;

	if (!read_number(fdinfo, "id", &token) || known(scan, pid, fd, token))
		return;
	scan->fds = grow(scan->fds, scan->nr_fds, &scan->size_fds, sizeof(*scan->fds));
	found = &scan->fds[scan->nr_fds++];
	*found = (struct scan_fd) { .token = token, .pid = pid, .fd = fd };
	process_look(pid, found->comm, NULL);
}

static void add_carrier(struct scan *scan, pid_t pid, int fd, bool socket, const char *fdinfo)
{
	struct scan_carrier *found;
	uint64_t count;

	if (!read_number(fdinfo, socket ? "scm_fds" : "UserFiles", &count) || !count)
		return;
	scan->carriers = grow(scan->carriers, scan->nr_carriers, &scan->size_carriers,
			      sizeof(*scan->carriers));
	found = &scan->carriers[scan->nr_carriers++];
	*found = (struct scan_carrier) {
		.pid = pid, .fd = fd, .socket = socket, .count = count,
	};
	process_look(pid, found->comm, NULL);
}

static void look_at_fd(struct scan *scan, pid_t pid, pid_t tid, int dir, const char *name)
{
	char target[64], fdinfo[PATH_SIZE];
	int fd = atoi(name);
	ssize_t len;

	len = readlinkat(dir, name, target, sizeof(target) - 1);
	if (len < 0)
		return;
	target[len] = '\0';
	snprintf(fdinfo, sizeof(fdinfo), "/proc/%d/task/%d/fdinfo/%d", pid, tid, fd);
	if (!strcmp(target, "anon_inode:[entitylock]"))
		add_token(scan, pid, fd, fdinfo);
	else if (!strncmp(target, "socket:", 7))
		add_carrier(scan, pid, fd, true, fdinfo);
	else if (!strcmp(target, "anon_inode:[io_uring]"))
		add_carrier(scan, pid, fd, false, fdinfo);
}

/* The table of one thread. */
static int look_at_thread(struct scan *scan, pid_t pid, pid_t tid)
{
	char path[PATH_SIZE];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_fd(scan, pid, tid, dirfd(dir), entry->d_name);
	closedir(dir);
	return 0;
}

static bool shares_table(pid_t pid, pid_t tid)
{
	return !syscall(SYS_kcmp, pid, tid, KCMP_FILES, 0, 0);
}

int scan_process(struct scan *scan, pid_t pid)
{
	char path[PATH_SIZE];
	struct dirent *entry;
	int err;
	pid_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	err = look_at_thread(scan, pid, pid);
	while (!err && (entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid && tid != pid && !shares_table(pid, tid))
			look_at_thread(scan, pid, tid);
	}
	closedir(dir);
	return err;
}

/* The first pid namespace has the same number in every kernel. */
#define FIRST_NAMESPACE	"pid:[4026531836]"

int scan_all(struct scan *scan)
{
	char namespace[32] = "";
	struct dirent *entry;
	pid_t pid;
	DIR *dir;

	*scan = (struct scan) {};
	if (readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1) < 0)
		return -errno;
	scan->inside = strcmp(namespace, FIRST_NAMESPACE);
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		if (pid && scan_process(scan, pid) == -EACCES)
			scan->unseen++;
	}
	closedir(dir);
	return 0;
}

void scan_free(struct scan *scan)
{
	free(scan->fds);
	free(scan->carriers);
	*scan = (struct scan) {};
}

/* The 22nd field of a stat, the second of which ends at @end: ticks since the boot. */
static uint64_t started(const char *end)
{
	int field;

	for (field = 2; end && field < 22; field++)
		end = strchr(end + 1, ' ');
	if (!end)
		return 0;
	return strtoull(end, NULL, 10) * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool process_look(pid_t pid, char comm[COMM_SIZE], uint64_t *since)
{
	char path[PATH_SIZE], line[1024];
	char *begin, *end;
	FILE *file;
	bool read;

	comm[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	read = !ferror(file);
	fclose(file);
	/* The command is in parentheses, and may contain some. */
	begin = strchr(line, '(');
	end = strrchr(line, ')');
	if (!read || !begin || !end)
		return false;
	snprintf(comm, COMM_SIZE, "%.*s", (int)(end - begin - 1), begin + 1);
	if (since)
		*since = started(end);
	return true;
}
