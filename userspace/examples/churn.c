// SPDX-License-Identifier: GPL-2.0
/*
 * churn [SETS]: let SETS * 1,000 entities come and go (100)
 *
 * All of them are held at a time, a thousand by each token; then every token is
 * closed.  Prints how many entities live, as the kernel counts them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <entitylock.h>

#define SET	1000

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

/* The count of live entities in the domain of @domain. */
static unsigned long live(int domain)
{
	char path[64], line[128];
	unsigned long count = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", domain);
	info = fopen(path, "r");
	if (!info) {
		perror(path);
		exit(1);
	}
	while (fgets(line, sizeof(line), info))
		sscanf(line, "entities: %lu", &count);
	fclose(info);
	return count;
}

static int acquire(int domain, unsigned long first)
{
	struct entitylock_entity set[SET];
	char names[SET][16];
	int i, token;

	for (i = 0; i < SET; i++) {
		snprintf(names[i], sizeof(names[i]), "item/%09lu", first + i);
		entitylock_entity_init(&set[i], names[i], strlen(names[i]),
				       ENTITYLOCK_EXCLUSIVE);
	}
	token = entitylock_acquire_set(domain, set, SET, NULL, NULL);
	if (token < 0)
		die("acquire", ENTITYLOCK_VERB_ACQUIRE, token);
	return token;
}

int main(int argc, char **argv)
{
	unsigned long sets = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, i;
	int *tokens = calloc(sets, sizeof(*tokens)), domain;

	if (!tokens) {
		perror("churn");
		return 1;
	}
	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);

	printf("%lu entities live\n", live(domain));
	for (i = 0; i < sets; i++)
		tokens[i] = acquire(domain, i * SET);
	printf("%lu entities live, held by %lu tokens\n", live(domain), sets);
	for (i = 0; i < sets; i++)
		close(tokens[i]);
	printf("%lu entities live\n", live(domain));
	free(tokens);
	return 0;
}
