// SPDX-License-Identifier: GPL-2.0
/*
 * An instance of the kernel's trace buffers: what is traced here disturbs nobody
 * else who traces, and goes with the instance.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"
#include "tracefs.h"

#define INSTANCE	"entitylock-"	/* and the process's id */
#define PATH_SIZE	512

static char instance[256];
static int trace_pipe = -1;
static char text[65536];
static size_t begin, end;

const char *tracefs_root(void)
{
	static char root[128];
	char type[32], line[1024];
	bool found = false;
	FILE *mounts;

	mounts = fopen("/proc/self/mounts", "re");
	if (!mounts)
		return NULL;
	while (!found && fgets(line, sizeof(line), mounts))
		found = sscanf(line, "%*s %127s %31s", root, type) == 2 &&
			!strcmp(type, "tracefs");
	fclose(mounts);
	return found ? root : NULL;
}

/* Those of commands that were killed; one that is in use cannot be removed. */
static void remove_stale(const char *instances)
{
	struct dirent *entry;
	DIR *dir;
	pid_t pid;

	dir = opendir(instances);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, INSTANCE, strlen(INSTANCE)))
			continue;
		pid = atoi(entry->d_name + strlen(INSTANCE));
		if (pid == getpid() || (kill(pid, 0) && errno == ESRCH))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

static int write_file(const char *name, const char *value)
{
	char path[PATH_SIZE];
	ssize_t written;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	written = write(fd, value, strlen(value));
	err = written < 0 ? -errno : 0;
	close(fd);
	return err;
}

static int refused(const char *sub, const char *what, int error)
{
	if (error == EACCES || error == EPERM)
		return fail(sub,
			    "cannot %s: %s; to trace needs root, and a kernel that is not locked down",
			    what, strerror(error));
	return fail(sub, "cannot %s: %s", what, strerror(error));
}

int tracefs_begin(const char *sub)
{
	const char *root = tracefs_root();
	char path[PATH_SIZE];
	int err;

	if (!root)
		return fail(sub, "tracefs is not mounted; %s", TRACEFS_ADVICE);
	snprintf(path, sizeof(path), "%s/events/entitylock", root);
	if (access(path, F_OK) && errno == ENOENT)
		return fail(sub, "the module is not loaded; load it: modprobe entitylock");

	snprintf(path, sizeof(path), "%s/instances", root);
	remove_stale(path);
	snprintf(instance, sizeof(instance), "%s/instances/" INSTANCE "%d", root, (int)getpid());
	if (mkdir(instance, 0700)) {
		err = errno;
		instance[0] = '\0';
		return refused(sub, "make a trace instance", err);
	}
	snprintf(path, sizeof(path), "%s/trace_pipe", instance);
	trace_pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	err = trace_pipe < 0 ? errno : -write_file("trace_clock", "mono");
	if (!err)
		return EXIT_SUCCESS;
	tracefs_end();
	return refused(sub, "read a trace instance", err);
}

void tracefs_end(void)
{
	if (!instance[0])
		return;
	write_file("events/enable", "0");
	if (trace_pipe >= 0)
		close(trace_pipe);
	if (rmdir(instance))
		fprintf(stderr, "entitylock: cannot remove %s: %s\n", instance, strerror(errno));
	instance[0] = '\0';
	trace_pipe = -1;
}

int tracefs_enable(const char *sub, const char *event, const char *filter)
{
	char path[PATH_SIZE];
	int err = 0;

	if (filter) {
		snprintf(path, sizeof(path), "events/entitylock/%s/filter", event);
		err = write_file(path, filter);
	}
	if (!err) {
		snprintf(path, sizeof(path), "events/entitylock/%s/enable", event);
		err = write_file(path, "1");
	}
	return err ? refused(sub, "trace the module's events", -err) : EXIT_SUCCESS;
}

const char *tracefs_line(void)
{
	char *line, *newline;
	ssize_t got;

	for (;;) {
		newline = memchr(text + begin, '\n', end - begin);
		if (newline)
			break;
		memmove(text, text + begin, end - begin);
		end -= begin;
		begin = 0;
		/* No line of ours is so long: it is dropped. */
		if (end == sizeof(text))
			end = 0;
		got = read(trace_pipe, text + end, sizeof(text) - end);
		if (got <= 0)
			return NULL;
		end += (size_t)got;
	}
	*newline = '\0';
	line = text + begin;
	begin = (size_t)(newline + 1 - text);
	return line;
}
