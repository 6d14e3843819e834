// SPDX-License-Identifier: GPL-2.0
/*
 * What makes life hard for the workers meanwhile.
 *
 * --hotplug: all CPUs but the first go off and on, half of the times when the gate
 * is held or awaited, if it is within a while: its counts are one a CPU.
 *
 * --pressure: the workers are in a memory cgroup that another process fills, again
 * and again, until the kernel kills that one.  Verbs that make something may fail
 * then with ENOMEM; those that let go may not.
 *
 * --priorities: threads become real-time ones and ordinary ones again, at any
 * moment; a real-time one runs until it sleeps, whoever waits for the CPU.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "torture.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"
#define CGROUP		CGROUP_ROOT "/entitylock-torture"
#define MEMORY_MAX	"67108864"
#define PIECE		(1U << 20)
#define CPU_LIMIT	64
#define REALTIME_SHARE	25	/* percent of the threads, in the middle */
#define REALTIME_MOST	20	/* the highest priority that a worker has */

unsigned int stress;

static pid_t hotplugger, feeder;

static void pause_ms(unsigned int ms)
{
	usleep(1000 * ms);
}

/* A file of the kernel's that must take it: what is asked for cannot be had else. */
static bool set_up(const char *path, const char *text)
{
	int ret = write_file(path, text);

	if (ret)
		fprintf(stderr, "cannot write '%s' to %s: %s\n", text, path, strerror(-ret));
	return !ret;
}

/* --- CPUs --- */

static const char *cpu_file(unsigned int cpu)
{
	static char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	return path;
}

static unsigned int removable_cpus(void)
{
	unsigned int cpu = 1;

	while (cpu < CPU_LIMIT && !access(cpu_file(cpu), W_OK))
		cpu++;
	return cpu - 1;
}

static bool gate_wanted(void)
{
	for (unsigned int i = 0; i < SEATS; i++)
		if (shared->seats[i].since && shared->seats[i].verb == TAKE_GATE)
			return true;
	return shared->things[GATE].by[EXCLUSIVE].marks;
}

static void await_gate(void)
{
	__u64 end = now() + scaled_ns(100 * NSEC_PER_MSEC);

	while (!gate_wanted() && now() < end)
		sched_yield();
}

/* Off or on.  EBUSY: the kernel does not let go of it just now. */
static void switch_cpu(struct random *random, unsigned int cpu, bool on)
{
	bool wanted;
	int ret;

	if (chance(random, 50))
		await_gate();
	wanted = gate_wanted();
	ret = write_file(cpu_file(cpu), on ? "1" : "0");
	if (ret && ret != -EBUSY)
		violation(ALL_DONE, NULL, NULL, "CPU %u does not go %s: %s", cpu, on ? "on" : "off",
			  strerror(-ret));
	if (ret || on)
		return;
	shared->hardship.unplugged++;
	shared->hardship.unplugged_at_gate += wanted;
}

static void hotplug(void)
{
	struct random random = random_from(shared->seed, 0, ACTORS, HOTPLUG);
	unsigned int cpus = removable_cpus();

	for (;;) {
		unsigned int cpu = 1 + below(&random, cpus);

		switch_cpu(&random, cpu, false);
		pause_ms(below(&random, 100));
		switch_cpu(&random, cpu, true);
		pause_ms(below(&random, 100));
	}
}

static bool hotplug_ready(void)
{
	if (removable_cpus())
		return true;
	fprintf(stderr, "--hotplug: no CPU can be switched off (CPUS=2 or more)\n");
	return false;
}

static void hotplug_end(void)
{
	for (unsigned int cpu = 1; cpu <= removable_cpus(); cpu++)
		write_file(cpu_file(cpu), "1");
	printf("# CPUs went off %u times, %u of them with the gate held or awaited\n",
	       shared->hardship.unplugged, shared->hardship.unplugged_at_gate);
	if (!shared->hardship.unplugged_at_gate)
		violation(ALL_DONE, NULL, NULL, "no CPU went off with the gate held or awaited");
}

/* --- Memory --- */

static bool pressure_ready(void)
{
	if (mkdir(CGROUP, 0700) && errno != EEXIST) {
		fprintf(stderr, "--pressure: " CGROUP ": %s\n", strerror(errno));
		return false;
	}
	return set_up(CGROUP_ROOT "/cgroup.subtree_control", "+memory") &&
	       set_up(CGROUP "/memory.max", MEMORY_MAX);
}

static void join_cgroup(void)
{
	if (write_file(CGROUP "/cgroup.procs", "0"))
		abort();
}

/* The kernel's choice, when there is no more. */
static void eat(void)
{
	join_cgroup();
	write_file("/proc/self/oom_score_adj", "1000");
	for (;;) {
		mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		pause_ms(2);
	}
}

static void feed(void)
{
	int status;

	for (;;) {
		pid_t pid = spawn();

		if (!pid)
			eat();
		if (pid > 0 && waitpid(pid, &status, 0) == pid)
			shared->hardship.eaters++;
		pause_ms(100);
	}
}

static void pressure_end(void)
{
	printf("# memory ran out %u times, %u verbs failed for want of it\n",
	       shared->hardship.eaters, shared->hardship.refused);
	if (!shared->hardship.eaters)
		violation(ALL_DONE, NULL, NULL, "memory never ran out");
	if (!eventually(!rmdir(CGROUP)))
		violation(NOTHING_LEFT, NULL, NULL, CGROUP ": %s", strerror(errno));
}

/* A worker has all that it needs, and begins. */
void stress_worker(void)
{
	if (!(stress & PRESSURE))
		return;
	write_file("/proc/self/oom_score_adj", "-1000");
	join_cgroup();
}

/* May something have failed with @ret for want of memory? */
bool out_of_memory(int ret)
{
	if (!(stress & PRESSURE) || (ret != -ENOMEM && ret != -ENOBUFS))
		return false;
	shared->hardship.refused++;
	return true;
}

/* --- Priorities --- */

/* The controller goes before its workers, and they begin as ordinary ones. */
static bool priorities_ready(void)
{
	struct sched_param param = { .sched_priority = REALTIME_MOST + 1 };

	if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		return true;
	fprintf(stderr, "--priorities: %s\n", strerror(errno));
	return false;
}

static void change_priority(struct random *random)
{
	struct actor *actor = &shared->actors[below(random, ACTORS)];
	bool realtime = chance(random, REALTIME_SHARE);
	struct sched_param param = {
		.sched_priority = realtime ? 1 + below(random, REALTIME_MOST) : 0,
	};

	/* One that has not yet come to life has no number. */
	if (!actor->tid ||
	    sched_setscheduler(actor->tid, realtime ? SCHED_FIFO : SCHED_OTHER, &param))
		return;
	actor->realtime = realtime;
	shared->hardship.raised += realtime;
}

static void priorities_end(void)
{
	printf("# threads became real-time ones %u times\n", shared->hardship.raised);
	if (!shared->hardship.raised)
		violation(ALL_DONE, NULL, NULL, "no thread became a real-time one");
}

/* Real-time threads sleep now and then, or all others would starve. */
void stress_step(const struct actor *actor)
{
	if (actor->realtime && actor->operations % 4 == 0)
		usleep(500);
}

/* --- All of them --- */

/* Is there what it takes?  Before anything is started. */
bool stress_ready(void)
{
	return (!(stress & HOTPLUG) || hotplug_ready()) &&
	       (!(stress & PRESSURE) || pressure_ready()) &&
	       (!(stress & PRIORITIES) || priorities_ready());
}

static pid_t helper(void (*run)(void))
{
	pid_t pid = spawn();

	if (!pid)
		run();
	if (pid < 0)
		abort();
	return pid;
}

void stress_begin(void)
{
	if (stress & HOTPLUG)
		hotplugger = helper(hotplug);
	if (stress & PRESSURE)
		feeder = helper(feed);
}

void stress_tick(struct random *random)
{
	if (stress & PRIORITIES)
		change_priority(random);
}

static void end_helper(pid_t pid)
{
	kill(pid, SIGKILL);
	if (reap(pid) != 256 + SIGKILL)
		violation(ALL_DONE, NULL, NULL, "pid %d, which made it hard, did not go on", pid);
}

void stress_end(void)
{
	if (stress & HOTPLUG) {
		end_helper(hotplugger);
		hotplug_end();
	}
	if (stress & PRESSURE) {
		end_helper(feeder);
		pressure_end();
	}
	if (stress & PRIORITIES)
		priorities_end();
}
