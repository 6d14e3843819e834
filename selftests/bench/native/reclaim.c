// SPDX-License-Identifier: GPL-2.0
/*
 * The end of many entities, and what somebody on another CPU notices of it who
 * looks at one of them all the time.
 */
#include <linux/array_size.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "domain.h"
#include "entity.h"

#include "native.h"

#define ROUNDS	7

/**
 * struct reader - somebody who looks
 * @domain: where
 * @name: at what, which lives as long
 * @gap: longest time between two looks
 * @stop: it shall end
 * @started: it has begun
 * @ended: it has
 */
struct reader {
	struct el_domain *domain;
	struct native_name name;
	u64 gap;
	bool stop;
	struct completion started;
	struct completion ended;
};

static int reader_main(void *data)
{
	struct reader *reader = data;
	struct el_entity *entity;
	u64 last, now;

	/* What it sees is not that others have their turn on this CPU. */
	sched_set_fifo(current);
	complete(&reader->started);
	for (last = ktime_get_ns(); !READ_ONCE(reader->stop); last = now) {
		entity = el_entity_find(reader->domain, reader->name.text,
					sizeof(reader->name.text) - 1);
		if (entity)
			el_entity_put(reader->domain, entity);
		now = ktime_get_ns();
		reader->gap = max(reader->gap, now - last);
		cond_resched();
	}
	kthread_complete_and_exit(&reader->ended, 0);
}

static bool reader_begin(struct reader *reader)
{
	struct task_struct *task = kthread_create_on_cpu(reader_main, reader, 1, "reader/%u");

	if (IS_ERR(task)) {
		native_error = PTR_ERR(task);
		return false;
	}
	reader->gap = 0;
	reader->stop = false;
	init_completion(&reader->started);
	init_completion(&reader->ended);
	wake_up_process(task);
	wait_for_completion(&reader->started);
	return true;
}

static u64 reader_end(struct reader *reader)
{
	WRITE_ONCE(reader->stop, true);
	wait_for_completion(&reader->ended);
	return reader->gap;
}

/**
 * struct subject - so many entities
 * @time: per entity
 * @gap: seen meanwhile
 * @control: seen in as much time, before, in which the other CPU spins
 * @last: nanoseconds that the last reclaim took
 */
struct subject {
	struct native_row time;
	struct native_row gap;
	struct native_row control;
	u64 last;
};

static void spin(u64 duration)
{
	u64 end = ktime_get_ns() + duration;

	while (ktime_get_ns() < end)
		cond_resched();
}

/* The control takes as long as the last reclaim took, and has nothing of it to free. */
static void sample(struct subject *subject, struct reader *reader, u32 count)
{
	struct native_crowd *crowd = native_crowd(reader->domain, count);
	u64 begin, time, gap;

	if (!crowd)
		return;
	if (subject->last) {
		if (!reader_begin(reader))
			goto err;
		spin(subject->last);
		native_record(&subject->control, reader_end(reader), NSEC_PER_USEC);
	}
	if (!reader_begin(reader))
		goto err;
	begin = ktime_get_ns();
	native_disperse(crowd);
	time = ktime_get_ns() - begin;
	gap = reader_end(reader);
	native_record(&subject->time, time, count);
	native_record(&subject->gap, gap, NSEC_PER_USEC);
	subject->last = time;
	return;

err:
	native_disperse(crowd);
}

static const u32 sizes[] = { 10000, 100000, 1000000 };

static void name_row(struct native_row *row, const char *name, u32 param, const char *unit)
{
	row->name = name;
	row->param = param;
	row->unit = unit;
}

static void run(struct subject *subjects, struct reader *reader, u32 most)
{
	int round, i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		name_row(&subjects[i].time, "reclaim", sizes[i], NULL);
		name_row(&subjects[i].gap, "reclaim_gap", sizes[i], "us");
		name_row(&subjects[i].control, "reclaim_no_gap", sizes[i], "us");
	}
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < ARRAY_SIZE(sizes) && sizes[i] <= most && !native_error; i++)
			sample(&subjects[i], reader, sizes[i]);
	for (i = 0; i < ARRAY_SIZE(sizes) && sizes[i] <= most && !native_error; i++) {
		native_report(&subjects[i].time);
		native_report(&subjects[i].gap);
		native_report(&subjects[i].control);
	}
}

void native_reclaim(u32 most)
{
	struct reader reader = { .domain = native_domain() };
	struct subject *subjects;
	struct el_token *token;

	if (!reader.domain || num_online_cpus() < 2)
		goto out;
	native_name(&reader.name, 999999999);
	token = native_token(reader.domain, &reader.name);
	subjects = kvcalloc(ARRAY_SIZE(sizes), sizeof(*subjects), GFP_KERNEL);
	if (token && subjects)
		run(subjects, &reader, most);
	else
		native_error = -ENOMEM;
	kvfree(subjects);
	if (token)
		native_end(token);
out:
	if (reader.domain)
		el_domain_put(reader.domain);
}
