// SPDX-License-Identifier: GPL-2.0
/*
 * The command's --lease, --grace and status 123: it keeps the lease while its command
 * runs, and ends it when the lock is lost.  Here rather than in a shell script, because
 * only INFO tells for certain that a lease has run out.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "owners.h"

#define LOST_STATUS	123

/* "entitylock run x" with a command that is a shell's. */
struct tool {
	pid_t pid;
	int in;		/* the command's standard input ... */
	int out;	/* ... and output */
	pid_t command;	/* the command's first line of output is its id */
	int token;	/* a copy of the tool's */
};

/* What a process has open as a token, as a descriptor of ours; -1 if there is none. */
static int token_of(pid_t pid)
{
	char path[300], link[64];
	struct dirent *entry;
	int pidfd, token = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	while (token < 0 && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		if (readlink(path, link, sizeof(link)) >= 23 &&
		    !memcmp(link, "anon_inode:[entitylock]", 23))
			token = syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
	}
	close(pidfd);
	closedir(dir);
	return token;
}

/* Reads a line of the command's output; false at its end. */
static bool says(struct tool *tool, char *line, size_t size)
{
	size_t len = 0;

	while (len < size - 1 && read(tool->out, &line[len], 1) == 1) {
		if (line[len] == '\n') {
			line[len] = '\0';
			return true;
		}
		len++;
	}
	return false;
}

/* Runs shell text that prints its id when it is ready. */
static bool tool_run(struct tool *tool, const char *options, const char *text)
{
	char command[512], line[32];
	int in[2], out[2];

	snprintf(command, sizeof(command), "exec entitylock run %s x -- sh -c '%s'", options, text);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	tool->pid = spawn();
	if (!tool->pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	tool->in = in[1];
	tool->out = out[0];
	tool->command = says(tool, line, sizeof(line)) ? atoi(line) : 0;
	tool->token = token_of(tool->pid);
	return tool->command && tool->token >= 0;
}

/* Its exit status, when it has ended. */
static int tool_end(struct tool *tool)
{
	int status;

	close(tool->token);
	close(tool->in);
	status = reap(tool->pid);
	close(tool->out);
	return status;
}

static bool is_in_state(pid_t pid, char wanted)
{
	char path[32], state = '?';
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (stat) {
		if (fscanf(stat, "%*d %*s %c", &state) != 1)
			state = '?';
		fclose(stat);
	}
	return state == wanted;
}

static bool stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	return eventually(is_in_state(pid, 'T'));
}

#define READ_A_LINE	"echo $$; read -r line; exit 5"

/* Nobody wants it, so that a slow machine loses nothing: INFO shows the renewals. */
TEST_F(owners, V2_kept_while_the_command_runs)
{
	__u64 left, last, fence;
	struct tool tool;
	int i;

	ASSERT_TRUE(tool_run(&tool, "--lease 0.5", READ_A_LINE));
	fence = token_fence(tool.token);
	/* It grows again and again only if it is renewed. */
	for (i = 0; i < 4; i++) {
		last = lease_left(tool.token);
		EXPECT_TRUE(eventually((left = lease_left(tool.token), left > last) ||
				       (last = left, false)));
	}
	EXPECT_EQ(fence, token_fence(tool.token));
	EXPECT_EQ(5, tool_end(&tool));
}

TEST_F(owners, V2_paused_and_not_missed)
{
	struct tool tool;
	__u64 fence;

	ASSERT_TRUE(tool_run(&tool, "--lease 0.2", READ_A_LINE));
	fence = token_fence(tool.token);
	EXPECT_TRUE(stop(tool.pid));
	EXPECT_TRUE(runs_out(tool.token));
	kill(tool.pid, SIGCONT);
	EXPECT_TRUE(eventually(lease_left(tool.token)));
	EXPECT_EQ(fence, token_fence(tool.token));
	EXPECT_EQ(5, tool_end(&tool));
}

/* The lock is another's: the command is asked to end, and its own status does not count. */
TEST_F(owners, V2_paused_and_missed)
{
	struct tool tool;
	char line[8];
	int other;

	ASSERT_TRUE(tool_run(&tool, "--lease 0.2",
			     "trap \"echo term; exit 0\" TERM; echo $$;"
			     "while :; do sleep 0.1; done"));
	EXPECT_TRUE(stop(tool.pid));
	EXPECT_TRUE(runs_out(tool.token));
	other = hold(self->domain, "x");
	ASSERT_LE(0, other);
	kill(tool.pid, SIGCONT);
	EXPECT_TRUE(says(&tool, line, sizeof(line)));
	EXPECT_STREQ("term", line);
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
	close(other);
}

/* BREAK, which needs no lease. */
TEST_F(owners, D3_a_broken_lock_ends_the_command)
{
	struct tool tool;

	ASSERT_TRUE(tool_run(&tool, "", "echo $$; exec sleep 1000"));
	EXPECT_EQ(0, break_entity(self->domain, "x", token_fence(tool.token)));
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
}

/* A command that does not heed TERM has the grace, and is killed then. */
TEST_F(owners, V2_term_grace_kill)
{
	struct tool tool;
	char line[8];

	ASSERT_TRUE(tool_run(&tool, "--grace 0.3", "trap \"\" TERM; echo $$; exec sleep 1000"));
	EXPECT_EQ(0, break_entity(self->domain, "x", 0));
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
	EXPECT_FALSE(kill(tool.command, 0) == 0);

	ASSERT_TRUE(tool_run(&tool, "--grace 1000",
			     "trap \"echo term\" TERM; echo $$; while :; do sleep 0.1; done"));
	EXPECT_EQ(0, break_entity(self->domain, "x", 0));
	EXPECT_TRUE(says(&tool, line, sizeof(line)));
	EXPECT_STREQ("term", line);
	EXPECT_EQ(0, kill(tool.command, SIGKILL));
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
}

TEST_F(owners, V2_a_stopped_command_ends_too)
{
	struct tool tool;

	ASSERT_TRUE(tool_run(&tool, "--grace 1000", "echo $$; exec sleep 1000"));
	EXPECT_TRUE(stop(tool.command));
	EXPECT_EQ(0, break_entity(self->domain, "x", 0));
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
}

/* Lost before the command had ended, and not noticed before: success is no success. */
TEST_F(owners, V2_lost_at_the_last_moment)
{
	struct tool tool;

	ASSERT_TRUE(tool_run(&tool, "", "echo $$; read -r line; exit 0"));
	EXPECT_TRUE(stop(tool.pid));
	EXPECT_EQ(0, break_entity(self->domain, "x", 0));
	EXPECT_EQ(1, write(tool.in, "\n", 1));
	EXPECT_TRUE(eventually(is_in_state(tool.command, 'Z')));
	kill(tool.pid, SIGCONT);
	EXPECT_EQ(LOST_STATUS, tool_end(&tool));
}

SELFTEST_MAIN
