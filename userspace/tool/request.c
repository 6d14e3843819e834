// SPDX-License-Identifier: GPL-2.0
/*
 * To lock what a command line names.
 *
 * While this process waits for the lock it handles no signal: the default action
 * ends it, and with it the request.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

/* The beginning of the command line, for those who list the lock. */
static void label_of_command(char label[ENTITYLOCK_LABEL_MAX + 1], char **command)
{
	size_t used = 0;
	int len;

	for (; *command && used < ENTITYLOCK_LABEL_MAX; command++) {
		len = snprintf(label + used, ENTITYLOCK_LABEL_MAX + 1 - used,
			       "%s%s", used ? " " : "", *command);
		used += (size_t)len;
	}
}

int request_acquire(struct request *request, int domain, uint32_t flags,
		    struct entitylock_grant *grant)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	char label[ENTITYLOCK_LABEL_MAX + 1];

	options.flags = flags;
	if (request->nonblock)
		options.deadline = ENTITYLOCK_NOWAIT;
	else if (request->timed)
		options.deadline = entitylock_deadline_in(request->timeout);
	options.lease = request->lease;
	options.label = request->label;
	if (!options.label) {
		label_of_command(label, request->command);
		options.label = label;
	}
	options.restart = 1;

	if (request->gate)
		return entitylock_gate(domain, &options, grant);
	return entitylock_acquire_set(domain, request->set, request->count, &options,
				      grant);
}

int request_refused(const struct request *request, int error)
{
	if (error != -EAGAIN && error != -ETIMEDOUT)
		return domain_refused(request, "lock", ENTITYLOCK_VERB_ACQUIRE, error);
	if (request->verbose)
		fail(request->sub, "gave up: %s",
		     entitylock_explain(ENTITYLOCK_VERB_ACQUIRE, error));
	return (int)request->conflict_status;
}

bool lease_fits(const struct request *request, int domain)
{
	struct entitylock_version version;

	if (!request->lease || entitylock_version(domain, &version) ||
	    request->lease <= version.lease_max)
		return true;
	if (!version.lease_max)
		fail(request->sub, "the module has no leases; load a newer one");
	else
		fail(request->sub, "the lease is too long; give at most %llu seconds",
		     (unsigned long long)(version.lease_max / NSEC_PER_SEC));
	return false;
}

int request_lock(struct request *request, uint32_t *result, int *status)
{
	struct entitylock_grant grant;
	int domain, token = -1;

	*status = EXIT_OWN_FAILURE;
	domain = domain_open(request, O_WRONLY);
	if (domain < 0)
		return -1;
	if (lease_fits(request, domain)) {
		token = request_acquire(request, domain,
					request->robust ? ENTITYLOCK_ROBUST : 0, &grant);
		if (token < 0)
			*status = request_refused(request, token);
	}
	close(domain);
	if (token < 0)
		return -1;
	*result = grant.result;
	tell_abandoned(request, token, grant.result);
	return token;
}

bool request_asks_for(const struct request *request,
		      const struct entitylock_list_entry *entry)
{
	const struct entitylock_entity *entity = &request->set[0];

	if (request->gate || entry->gate)
		return request->gate && entry->gate;
	return entry->name_len == entity->name_len &&
	       !memcmp(entry->name, (const void *)(uintptr_t)entity->name, entity->name_len);
}

/* Entities that are told one by one. */
#define TOLD	16

static void tell_abandoned_name(const struct request *request,
				const struct entitylock_entity *entity)
{
	const char *name = (const char *)(uintptr_t)entity->name;

	fprintf(stderr, "entitylock: %s: '", request->sub);
	put_escaped(stderr, name, entity->name_len, "");
	fputs("' is abandoned: an earlier holder vanished; see to what it left\n", stderr);
}

void tell_abandoned(const struct request *request, int token, uint32_t result)
{
	static char names[ENTITYLOCK_SET_MAX][ENTITYLOCK_NAME_MAX];
	static struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	struct entitylock_info info = {
		.entities = (uintptr_t)set,
		.entity_size = sizeof(set[0]),
		.capacity = ENTITYLOCK_SET_MAX,
	};
	unsigned int i, told = 0;

	if (!(result & ENTITYLOCK_ABANDONED))
		return;
	for (i = 0; i < ENTITYLOCK_SET_MAX; i++)
		entitylock_entity_init(&set[i], names[i], sizeof(names[i]), 0);
	if (!entitylock_info(token, &info))
		for (i = 0; i < info.count; i++)
			if (set[i].result & ENTITYLOCK_ABANDONED && ++told <= TOLD)
				tell_abandoned_name(request, &set[i]);
	if (!told)
		fail(request->sub,
		     "the gate is abandoned: an earlier holder vanished; see to what it left");
	if (told > TOLD)
		fail(request->sub, "%u more are abandoned; see entitylock ls", told - TOLD);
	if (!request->consistent)
		fail(request->sub, "when that is in order, say so by --consistent");
}
