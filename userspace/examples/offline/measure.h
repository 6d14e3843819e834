/* SPDX-License-Identifier: GPL-2.0 */
/* measure: each way in each cell, and what came of it; a line of CSV each */
#ifndef OFFLINE_MEASURE_H
#define OFFLINE_MEASURE_H

#include "way.h"

struct size {
	unsigned int rows, workers;
	double seconds;
};

struct measure {
	const struct way **ways;
	unsigned int nr_ways;
	struct size *sizes;
	unsigned int nr_sizes;
	uint64_t think, rest, pause;
	unsigned int seed;
};

/* False: an update was lost. */
bool measure(const struct measure *what);

#endif
