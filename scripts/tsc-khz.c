// SPDX-License-Identifier: GPL-2.0
/*
 * Prints how many thousand ticks the processor's time stamp counter makes in a
 * second: what QEMU shows its guest is this machine's own counter.
 */
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	unsigned long long tsc;
	unsigned long long ns;
};

/* On a busy machine, both are of one moment in the quickest of some tries. */
static struct sample take_sample(void)
{
	struct sample best = { 0, 0 };
	unsigned long long width = ULLONG_MAX;

	for (int i = 0; i < 100; i++) {
		struct timespec now;
		unsigned long long before, after;

		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		after = __rdtsc();
		if (after - before < width) {
			width = after - before;
			best.tsc = before + width / 2;
			best.ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
		}
	}
	return best;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct sample start, end;

	start = take_sample();
	nanosleep(&pause, NULL);
	end = take_sample();
	printf("%llu\n", (end.tsc - start.tsc) * 1000000 / (end.ns - start.ns));
	return 0;
}
