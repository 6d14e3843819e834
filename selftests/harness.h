/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kselftest's harness, and the fixture that nearly every test uses: a domain
 * fd, and the proof that the test left nothing behind.  Each test closes what
 * it opened, so that the check also shows that closing released it.
 *
 * Tests are named for the rule of the contract that they prove: L3_..., or
 * have it in a comment above them.
 */
#ifndef SELFTESTS_HARNESS_H
#define SELFTESTS_HARNESS_H

#include <kselftest_harness.h>

#include "common.h"

struct ground {
	int domain;
	unsigned int fds;
};

static inline void ground_check(struct __test_metadata *_metadata, struct ground *ground)
{
	ground->domain = domain_open(O_RDWR);
	ASSERT_LE(0, ground->domain);
	ASSERT_TRUE(eventually(live_entities(ground->domain) == 0));
	ground->fds = open_fds();
}

static inline void ground_recheck(struct __test_metadata *_metadata, const struct ground *ground)
{
	/* A worker may hold on to an entity for a moment. */
	EXPECT_TRUE(eventually(live_entities(ground->domain) == 0)) {
		TH_LOG("%u entities left", live_entities(ground->domain));
	}
	EXPECT_EQ(ground->fds, open_fds());
	close(ground->domain);
}

/* self->domain is short for self->ground.domain, its first field. */
FIXTURE(entitylock) {
	union {
		struct ground ground;
		int domain;
	};
};

FIXTURE_SETUP(entitylock)
{
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(entitylock)
{
	ground_recheck(_metadata, &self->ground);
}

/* All tests, each for at most @seconds. */
#define SELFTESTS_RUN(argc, argv, seconds) ({				\
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next) \
		for (struct __test_metadata *t = f->tests; t; t = t->next) \
			t->timeout = (seconds);				\
	ksft_print_msg("%.1f times slower than a stock kernel, emulated\n", \
		       speed_scale());					\
	test_harness_run(argc, argv);					\
})

#define SELFTESTS_IN_ORDER						\
	static void __attribute__((constructor))			\
	__constructor_order_last(void)					\
	{								\
		if (!__constructor_order)				\
			__constructor_order = _CONSTRUCTOR_ORDER_BACKWARD; \
	}

/* TEST_HARNESS_MAIN with time-outs that follow the kernel's speed. */
#define SELFTEST_MAIN							\
	SELFTESTS_IN_ORDER						\
	int main(int argc, char **argv)					\
	{								\
		return SELFTESTS_RUN(argc, argv, test_seconds());	\
	}

#endif
