// SPDX-License-Identifier: GPL-2.0
/*
 * L2: another thread unmaps, protects and maps again where a verb reads its argument
 * and writes its results, all the time: a verb that fails with EFAULT has changed
 * nothing, one that succeeds has done all of it.
 */
#include "domains.h"

/* The same memory twice: here it can always be written, there only now and then. */
struct flicker {
	char *here;
	char *there;
	long page;
	int memory;
	atomic_bool stop;
	pthread_t thread;
};

static void *flicker_thread(void *data)
{
	struct flicker *flicker = data;

	for (unsigned int i = 0; !flicker->stop; i++) {
		if (i % 2)
			mprotect(flicker->there, flicker->page, PROT_READ);
		else
			munmap(flicker->there, flicker->page);
		mmap(flicker->there, flicker->page, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, flicker->memory, 0);
	}
	return NULL;
}

FIXTURE(flicker) {
	union {
		struct ground ground;
		int domain;
	};
	struct flicker flicker;
	unsigned int failed;
	unsigned int done;
};

FIXTURE_SETUP(flicker)
{
	struct flicker *flicker = &self->flicker;

	ground_check(_metadata, &self->ground);
	flicker->page = sysconf(_SC_PAGESIZE);
	flicker->memory = memfd_create("argument", MFD_CLOEXEC);
	ASSERT_LE(0, flicker->memory);
	ASSERT_EQ(0, ftruncate(flicker->memory, flicker->page));
	flicker->here = mmap(NULL, flicker->page, PROT_READ | PROT_WRITE, MAP_SHARED,
			     flicker->memory, 0);
	/* Between two pages that nobody else is given. */
	flicker->there = mmap(NULL, 3 * flicker->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	ASSERT_NE(MAP_FAILED, flicker->here);
	ASSERT_NE(MAP_FAILED, flicker->there);
	flicker->there += flicker->page;
	ASSERT_EQ(0, pthread_create(&flicker->thread, NULL, flicker_thread, flicker));
}

FIXTURE_TEARDOWN(flicker)
{
	struct flicker *flicker = &self->flicker;

	flicker->stop = true;
	pthread_join(flicker->thread, NULL);
	munmap(flicker->there - flicker->page, 3 * flicker->page);
	munmap(flicker->here, flicker->page);
	close(flicker->memory);
	TH_LOG("%u calls succeeded, %u failed", self->done, self->failed);
	ground_recheck(_metadata, &self->ground);
}

/* A verb with its argument there.  EFAULT is counted; all else is as it should be. */
static int call_there(FIXTURE_DATA(flicker) *test, int fd, unsigned long verb, const void *arg)
{
	int ret;

	memcpy(test->flicker.here, arg, _IOC_SIZE(verb));
	ret = el_ioctl(fd, verb, test->flicker.there);
	if (ret == -EFAULT)
		test->failed++;
	else
		test->done++;
	return ret;
}

/* Each test goes on until it has seen enough of both. */
static bool seen_both(const FIXTURE_DATA(flicker) *test)
{
	unsigned int enough = scaled(200, 20);

	return test->done >= enough && test->failed >= enough;
}

static struct entitylock_acquire acquire_there(FIXTURE_DATA(flicker) *test, const char *name)
{
	struct entitylock_entity entity = ENTITY(name, EXCLUSIVE);
	size_t offset = 1024;

	memcpy(test->flicker.here + offset, &entity, sizeof(entity));
	return (struct entitylock_acquire){
		.count = 1,
		.entities = ptr(test->flicker.there + offset),
		.entity_size = sizeof(entity),
	};
}

/* L2: nothing is held after EFAULT, and no fd is left. */
TEST_F(flicker, L2_ACQUIRE)
{
	EXPECT_TRUE(eventually(({
		struct entitylock_acquire arg = acquire_there(self, "a");
		int token = call_there(self, self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);

		if (token >= 0) {
			EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
			close(token);
		} else {
			EXPECT_EQ(-EFAULT, token);
		}
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		seen_both(self);
	})));
}

/* L2: a token that was not granted is IDLE, with the number that it had. */
TEST_F(flicker, L2_LOCK)
{
	int token = idle(self->domain, "a");
	__u64 fence = 0;

	EXPECT_TRUE(eventually(({
		struct entitylock_lock arg = { 0 };
		int ret = call_there(self, token, ENTITYLOCK_IOC_LOCK, &arg);

		if (ret) {
			EXPECT_EQ(-EFAULT, ret);
			EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
			EXPECT_EQ(fence, token_fence(token));
		} else {
			EXPECT_LT(fence, token_fence(token));
			fence = token_fence(token);
			EXPECT_EQ(0, unlock(token));
		}
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		seen_both(self);
	})));
	close(token);
}

/* L2: what was held stays, and no more is. */
TEST_F(flicker, L2_EXTEND)
{
	EXPECT_TRUE(eventually(({
		int token = hold(self->domain, "a");
		struct entitylock_acquire arg = acquire_there(self, "b");
		__u64 fence = token_fence(token);
		int ret = call_there(self, token, ENTITYLOCK_IOC_EXTEND, &arg);

		if (ret) {
			EXPECT_EQ(-EFAULT, ret);
			EXPECT_STREQ("a", token_names(token));
			EXPECT_EQ(fence, token_fence(token));
			EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
		} else {
			EXPECT_STREQ("a b", token_names(token));
			EXPECT_LT(fence, token_fence(token));
		}
		close(token);
		seen_both(self);
	})));
}

/* L2: an upgrade is done or not, and others see which. */
TEST_F(flicker, L2_CONVERT)
{
	int token = share(self->domain, "a");

	EXPECT_TRUE(eventually(({
		struct entitylock_convert arg = { .mode = EXCLUSIVE };
		__u64 fence = token_fence(token);
		int ret = call_there(self, token, ENTITYLOCK_IOC_CONVERT, &arg);

		if (ret) {
			EXPECT_EQ(-EFAULT, ret);
			EXPECT_STREQ("s", token_modes(token));
			EXPECT_EQ(fence, token_fence(token));
			EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
		} else {
			EXPECT_STREQ("x", token_modes(token));
			EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
			EXPECT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
		}
		seen_both(self);
	})));
	close(token);
}

/* L2, V4: a cookie that nobody was told of parks nothing. */
TEST_F(flicker, L2_PARK)
{
	int token = hold(self->domain, "a");

	EXPECT_TRUE(eventually(({
		struct entitylock_park arg = { .lease = HOUR };
		struct cookie cookie;
		int ret = call_there(self, token, ENTITYLOCK_IOC_PARK, &arg), again;

		if (ret) {
			EXPECT_EQ(-EFAULT, ret);
			EXPECT_EQ(0, token_park(token, HOUR, &cookie));
		} else {
			memcpy(cookie.bytes, ((struct entitylock_park *)self->flicker.here)->cookie,
			       sizeof(cookie.bytes));
			EXPECT_EQ(-EBADFD, token_park(token, HOUR, &(struct cookie){ 0 }));
		}
		again = claim(self->domain, &cookie);
		EXPECT_LE(0, again);
		close(again);
		seen_both(self);
	})));
	close(token);
}

/* L2: an fd whose new domain could not be told has the old one. */
TEST_F(flicker, L2_DOMAIN)
{
	EXPECT_TRUE(eventually(({
		struct entitylock_domain arg = { .flags = PRIVATE };
		int fd = domain_open(O_RDWR);
		int ret = call_there(self, fd, ENTITYLOCK_IOC_DOMAIN, &arg);

		if (ret)
			EXPECT_EQ(-EFAULT, ret);
		EXPECT_STREQ(ret ? "default" : "private", fdinfo_value(fd, "domain"));
		close(fd);
		seen_both(self);
	})));
}

SELFTEST_MAIN
