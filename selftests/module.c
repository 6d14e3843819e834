// SPDX-License-Identifier: GPL-2.0
/* The module: loaded and unloaded, with and without open fds.  Run alone. */
#include <sys/socket.h>
#include <sys/syscall.h>

#include "harness.h"

static int unload(void)
{
	return syscall(SYS_delete_module, "entitylock", O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	const char *path = getenv("ENTITYLOCK_KO");
	int fd = open(path ? path : "", O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* Whoever watches for new devices may have it open for a moment. */
static bool unload_soon(void)
{
	return eventually(unload() == 0);
}

FIXTURE(module) {
};

FIXTURE_SETUP(module)
{
}

/* Loaded again whatever happened. */
FIXTURE_TEARDOWN(module)
{
	if (access(DEVICE, F_OK))
		load();
	EXPECT_TRUE(eventually(access(DEVICE, F_OK) == 0));
}

/* D4: the module cannot be unloaded while a domain fd is open. */
TEST_F(module, D4_refused_while_a_domain_is_open)
{
	int domain = domain_open(O_RDONLY);

	ASSERT_LE(0, domain);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(domain);
	EXPECT_TRUE(unload_soon());
	EXPECT_NE(0, access(DEVICE, F_OK));
	EXPECT_EQ(0, load());
}

/* D4: nor while a token is, its domain fd closed. */
TEST_F(module, D4_refused_while_a_token_is_open)
{
	int domain = domain_open(O_RDWR);
	int token = hold(domain, "a");

	ASSERT_LE(0, token);
	close(domain);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(token);
	EXPECT_TRUE(unload_soon());
	EXPECT_EQ(0, load());
}

/* D4: nor while a token is in flight in a socket. */
TEST_F(module, D4_refused_while_a_token_is_in_flight)
{
	int domain = domain_open(O_RDWR);
	int token = hold(domain, "a");
	int pair[2];

	ASSERT_LE(0, token);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	close(domain);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(pair[0]);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(pair[1]);
	EXPECT_TRUE(unload_soon());
	EXPECT_EQ(0, load());
}

/* D4: nor while a verb waits on an fd that is closed. */
TEST_F(module, D4_refused_while_a_verb_waits)
{
	int domain = domain_open(O_RDWR);
	int holder = hold(domain, "a");
	int token = idle(domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	close(domain);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	close(token);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_TRUE(unload_soon());
	EXPECT_EQ(0, load());
}

/* D4: nor while a token is parked, which no fd refers to; and its lease ends that. */
TEST_F(module, D4_refused_while_a_token_is_parked)
{
	struct entitylock_park park = { .lease = 2 * NSEC_PER_SEC };
	int domain = domain_open(O_RDWR);
	int token = hold(domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_PARK, &park));
	close(token);
	close(domain);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	EXPECT_TRUE(unload_soon());
	EXPECT_EQ(0, load());
}

/* D4: marks do not keep it, of entities and of the gate; they are forgotten with it. */
TEST_F(module, D4_unloads_with_marks)
{
	int domain = domain_open(O_RDWR);

	ASSERT_LE(0, domain);
	close(acquire(domain, "a", EXCLUSIVE, ENTITYLOCK_ROBUST, NOWAIT));
	close(acquire_gate(domain, ENTITYLOCK_ROBUST, in_ms(10000)));
	EXPECT_EQ(1, live_entities(domain));
	close(domain);
	EXPECT_TRUE(unload_soon());
	ASSERT_EQ(0, load());
	ASSERT_TRUE(eventually(access(DEVICE, F_OK) == 0));
	domain = domain_open(O_RDWR);
	EXPECT_EQ(0, live_entities(domain));
	close(domain);
}

/* D4: unloads clean after heavy use, again and again. */
TEST_F(module, D4_unloads_and_loads_again)
{
	static struct numbered many;

	numbered_set(&many, 0, 1024, EXCLUSIVE);
	for (int i = 0; i < 5; i++) {
		int domain = domain_open(O_RDWR);

		ASSERT_LE(0, domain);
		EXPECT_EQ(0, live_entities(domain));
		for (unsigned int j = 0; j < scaled(20, 3); j++) {
			int token = acquire_set(domain, many.set, 1024, 0, NOWAIT);

			ASSERT_LE(0, token);
			close(token);
		}
		close(domain);
		ASSERT_TRUE(unload_soon());
		ASSERT_EQ(0, load());
		ASSERT_TRUE(eventually(access(DEVICE, F_OK) == 0));
	}
}

/* L10: across module load the fence is seeded from the clock: it goes on rising. */
TEST_F(module, L10_fences_rise_across_a_reload)
{
	__u64 last = 0;

	for (int i = 0; i < 3; i++) {
		int domain = domain_open(O_RDWR);
		int token;

		for (int j = 0; j < 100; j++) {
			token = hold(domain, "a");
			ASSERT_LE(0, token);
			EXPECT_LT(last, token_fence(token));
			last = token_fence(token);
			close(token);
		}
		close(domain);
		ASSERT_TRUE(unload_soon());
		ASSERT_EQ(0, load());
		ASSERT_TRUE(eventually(access(DEVICE, F_OK) == 0));
	}
}

SELFTEST_MAIN
