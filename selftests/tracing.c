// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: each transition is told, with what it is about. */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness.h"
#include "domains.h"
#include "owners.h"

#define TRACEFS	"/sys/kernel/tracing"
#define VALUE	300

/* A trace of its own, of all that the module tells. */
FIXTURE(tracing) {
	struct ground ground;
	char instance[64];
};

static void path_of(char *path, const char *instance, const char *file)
{
	snprintf(path, 128, "%s/%s", instance, file);
}

FIXTURE_SETUP(tracing)
{
	char path[128];

	ground_check(_metadata, &self->ground);
	snprintf(self->instance, sizeof(self->instance), TRACEFS "/instances/entitylock-%d",
		 getpid());
	ASSERT_EQ(0, mkdir(self->instance, 0700));
	path_of(path, self->instance, "events/entitylock/enable");
	ASSERT_EQ(0, write_file(path, "1"));
}

FIXTURE_TEARDOWN(tracing)
{
	char path[128];

	path_of(path, self->instance, "events/entitylock/enable");
	EXPECT_EQ(0, write_file(path, "0"));
	EXPECT_EQ(0, rmdir(self->instance));
	ground_recheck(_metadata, &self->ground);
}

/* The last event @name that has @key=@value, into @event; false if there is none. */
static bool find(const char *instance, const char *name, const char *key, __u64 value,
		 char *event, size_t size)
{
	char path[128], line[4096], wanted[64], pair[64];
	bool found = false;
	FILE *file;

	path_of(path, instance, "trace");
	file = fopen(path, "re");
	if (!file)
		return false;
	snprintf(wanted, sizeof(wanted), ": entitylock_%s: ", name);
	snprintf(pair, sizeof(pair), " %s=%llu ", key, value);
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, wanted);

		if (!at || !strstr(at, pair))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(event, size, "%s", at + strlen(wanted) - 1);
		found = true;
	}
	fclose(file);
	return found;
}

/* The value of a key of an event, in a static buffer; "?" if it has none. */
static const char *value_of(const char *event, const char *key)
{
	static char value[4 * VALUE];
	char pair[64];
	const char *at;

	snprintf(pair, sizeof(pair), " %s=", key);
	at = strstr(event, pair);
	if (!at)
		return "?";
	at += strlen(pair);
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, " "), at);
	return value;
}

#define EXPECT_EVENT(name, token)						\
	EXPECT_TRUE(find(self->instance, name, "token", token_info(token).id,	\
			 event, sizeof(event)))

#define EXPECT_VALUE(expected, key)	EXPECT_STREQ(expected, value_of(event, key))

#define EXPECT_NUMBER(expected, key)	\
	EXPECT_EQ(expected, strtoull(value_of(event, key), NULL, 10))

TEST_F(tracing, TRACE_request_grant_release)
{
	struct entitylock_entity set[] = { S("b"), X("a #1") };
	int token = acquire_set(self->ground.domain, set, 2, ENTITYLOCK_OPEN, NOWAIT);
	char event[4096];

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_label(token, "nightly run"));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EVENT("request", token);
	EXPECT_VALUE("default", "domain");
	EXPECT_VALUE("a\\x20\\x231", "entity");
	EXPECT_VALUE("2", "count");
	EXPECT_VALUE("exclusive", "mode");
	EXPECT_VALUE("nightly\\x20run", "label");
	EXPECT_NUMBER(0, "fence");
	EXPECT_EVENT("grant", token);
	EXPECT_NUMBER(token_fence(token), "fence");
	EXPECT_VALUE("a\\x20\\x231", "entity");
	EXPECT_VALUE("exclusive", "mode");
	EXPECT_NUMBER(0, "waited");
	usleep(50000);
	ASSERT_EQ(0, unlock(token));
	EXPECT_EVENT("release", token);
	EXPECT_NUMBER(token_fence(token), "fence");
	EXPECT_VALUE("unlocked", "how");
	EXPECT_LE(20 * NSEC_PER_MSEC, strtoull(value_of(event, "held"), NULL, 10));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, token_unlock(token, ENTITYLOCK_UNCHANGED, 0));
	EXPECT_EVENT("release", token);
	EXPECT_VALUE("unchanged", "how");
	close(token);
}

TEST_F(tracing, TRACE_the_last_close_releases)
{
	int token = hold(self->ground.domain, "a");
	char event[4096];
	__u64 id;

	ASSERT_LE(0, token);
	id = token_info(token).id;
	close(token);
	EXPECT_TRUE(find(self->instance, "release", "token", id, event, sizeof(event)));
	EXPECT_VALUE("vanished", "how");
	EXPECT_VALUE("a", "entity");
}

TEST_F(tracing, TRACE_queue_and_cancel)
{
	int token = hold(self->ground.domain, "a");
	int waiter = await(self->ground.domain, "a");
	char event[4096];

	ASSERT_LE(0, token);
	ASSERT_LE(0, waiter);
	EXPECT_EVENT("queue", waiter);
	EXPECT_VALUE("a", "entity");
	EXPECT_EQ(0, unlock(waiter));
	EXPECT_EVENT("cancel", waiter);
	EXPECT_VALUE("-125", "error");
	ASSERT_EQ(0, token_lock(waiter, ENTITYLOCK_ASYNC, FOREVER));
	usleep(20000);
	close(token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	EXPECT_EVENT("grant", waiter);
	EXPECT_LE(20 * NSEC_PER_MSEC, strtoull(value_of(event, "waited"), NULL, 10));
	close(waiter);
}

TEST_F(tracing, TRACE_convert_and_extend)
{
	int token = hold(self->ground.domain, "b");
	char event[4096];

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_EVENT("convert", token);
	EXPECT_VALUE("shared", "mode");
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("a")));
	EXPECT_EVENT("grant", token);
	EXPECT_NUMBER(token_fence(token), "fence");
	EXPECT_VALUE("2", "count");
	close(token);
}

TEST_F(tracing, TRACE_expire_break_abandon)
{
	int token = lease_entity(self->ground.domain, "a", EXCLUSIVE, ROBUST, NOWAIT, ms(10));
	char event[4096];
	int next;

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	next = hold(self->ground.domain, "a");
	ASSERT_LE(0, next);
	EXPECT_EVENT("expire", token);
	EXPECT_VALUE("a", "entity");
	EXPECT_NUMBER(token_fence(token), "fence");
	EXPECT_EVENT("abandon", token);
	EXPECT_VALUE("a", "entity");
	EXPECT_EQ(0, token_unlock(next, ENTITYLOCK_CONSISTENT, 0));
	EXPECT_EQ(0, token_lock(next, 0, NOWAIT));
	EXPECT_EQ(0, break_entity(self->ground.domain, "a", 0));
	EXPECT_EVENT("break", next);
	EXPECT_VALUE("a", "entity");
	close(token);
	close(next);
}

TEST_F(tracing, TRACE_park_and_claim)
{
	int token = hold(self->ground.domain, "a"), claimed;
	struct cookie cookie;
	char event[4096];

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	EXPECT_EVENT("park", token);
	EXPECT_VALUE("a", "entity");
	close(token);
	claimed = claim(self->ground.domain, &cookie);
	ASSERT_LE(0, claimed);
	EXPECT_EVENT("claim", claimed);
	EXPECT_NUMBER(token_fence(claimed), "fence");
	close(claimed);
}

TEST_F(tracing, TRACE_gate)
{
	int token = hold(self->ground.domain, "a");
	int gate = await_gate(self->ground.domain);
	int behind = await(self->ground.domain, "b");
	char event[4096];

	ASSERT_LE(0, token);
	ASSERT_LE(0, gate);
	ASSERT_LE(0, behind);
	EXPECT_EVENT("gate_await", gate);
	EXPECT_VALUE("gate", "mode");
	EXPECT_VALUE("", "entity");
	EXPECT_EVENT("queue", behind);
	EXPECT_VALUE("", "entity");
	close(token);
	ASSERT_TRUE(eventually(token_state(gate) == ENTITYLOCK_HELD));
	EXPECT_EVENT("gate_grant", gate);
	EXPECT_NUMBER(token_fence(gate), "fence");
	EXPECT_EQ(0, unlock(gate));
	EXPECT_EVENT("gate_release", gate);
	EXPECT_VALUE("unlocked", "how");
	ASSERT_TRUE(eventually(token_state(behind) == ENTITYLOCK_HELD));
	close(gate);
	close(behind);
}

TEST_F(tracing, TRACE_a_named_domain)
{
	int domain = domain_make("my accounts", 0700);
	int token = hold(domain, "a");
	char event[4096];

	ASSERT_LE(0, token);
	EXPECT_EVENT("grant", token);
	EXPECT_VALUE("named:my\\x20accounts", "domain");
	close(token);
	close(domain);
}

/* A command is any bytes, too, and may look like another line. */
TEST_F(tracing, TRACE_blocked_command_is_escaped)
{
	int holder = hold(self->ground.domain, "a");
	char event[4096];
	pid_t child;
	int status;

	ASSERT_LE(0, holder);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "a \\\n=\xff b");
		acquire(self->ground.domain, "a", EXCLUSIVE, 0, in_ms(20));
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_TRUE(find(self->instance, "blocked", "tid", child, event, sizeof(event)));
	EXPECT_VALUE("a\\x20\\x5c\\x0a=\\xff\\x20b", "comm");
	close(holder);
}

/* A thread that blocked: what for, how long, and who was in the way. */
TEST_F(tracing, TRACE_blocked)
{
	int holder = acquire(self->ground.domain, "a", SHARED, 0, NOWAIT);
	int token = idle(self->ground.domain, "b");
	struct entitylock_entity more[] = { X("c") };
	int other, gate;
	struct call call;
	char event[4096];

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_acquire(&call, self->ground.domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(call_blocked(&call)));
	EXPECT_FALSE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	usleep(20000);
	EXPECT_EQ(0, unlock(holder));
	other = call_result(&call);
	ASSERT_LE(0, other);
	ASSERT_TRUE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	EXPECT_VALUE("entity", "cause");
	EXPECT_VALUE("a", "entity");
	EXPECT_NUMBER(token_info(other).id, "token");
	EXPECT_NUMBER(token_info(holder).id, "holder");
	EXPECT_NUMBER((__u64)getpid(), "holder_pid");
	EXPECT_VALUE("0", "result");
	EXPECT_LE(20 * NSEC_PER_MSEC, strtoull(value_of(event, "duration"), NULL, 10));
	EXPECT_VALUE("tracing", "comm");

	/* EXTEND and CONVERT. */
	EXPECT_EQ(0, token_convert(other, SHARED, 0, NOWAIT));
	ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
	call_convert(&call, other, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(call_blocked(&call)));
	EXPECT_EQ(0, unlock(holder));
	EXPECT_EQ(0, call_result(&call));
	ASSERT_TRUE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	EXPECT_VALUE("convert", "cause");
	EXPECT_NUMBER(token_info(holder).id, "holder");
	close(holder);
	holder = hold(self->ground.domain, "c");
	ASSERT_LE(0, holder);
	call_extend(&call, other, more, 1, FOREVER);
	ASSERT_TRUE(eventually(call_blocked(&call)));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	ASSERT_TRUE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	EXPECT_VALUE("extend", "cause");
	EXPECT_VALUE("c", "entity");
	close(other);

	/* Behind the gate, and in vain. */
	gate = acquire_gate(self->ground.domain, 0, NOWAIT);
	ASSERT_LE(0, gate);
	call_lock(&call, token, in_ms(20));
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	ASSERT_TRUE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	EXPECT_VALUE("gate", "cause");
	EXPECT_VALUE("", "entity");
	EXPECT_NUMBER(token_info(gate).id, "holder");
	EXPECT_VALUE("-110", "result");
	close(gate);

	/* Behind a request for it that waits itself. */
	holder = hold(self->ground.domain, "a");
	gate = acquire_gate(self->ground.domain, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	call_lock(&call, token, in_ms(20));
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	ASSERT_TRUE(find(self->instance, "blocked", "tid", call.tid, event, sizeof(event)));
	EXPECT_VALUE("gate", "cause");
	EXPECT_NUMBER(token_info(gate).id, "holder");
	close(gate);
	close(holder);
	close(token);
}

SELFTEST_MAIN
