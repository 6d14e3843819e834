/* SPDX-License-Identifier: GPL-2.0 */
/* The listing of a domain, read from a domain fd. */
#ifndef EL_LISTING_H
#define EL_LISTING_H

#include <linux/rhashtable-types.h>
#include <linux/seq_file.h>

struct el_domain;

/**
 * struct el_listing - where a domain fd's reader has come to
 * @domain: the domain
 * @iter: in its table; valid while @walking
 * @walking: the reading has begun
 *
 * Guarded by the seq_file's mutex.
 */
struct el_listing {
	struct el_domain *domain;
	struct rhashtable_iter iter;
	bool walking;
};

extern const struct seq_operations el_listing_ops;

void el_listing_end(struct el_listing *listing);
/* What is escaped in a column, and in an item within one, beside what is not printable. */
#define EL_SPECIAL	"#\\"
#define EL_SPECIAL_ITEM	"#\\:,"

size_t el_escape(char *to, const char *text, size_t len, const char *special);
void el_seq_escape(struct seq_file *seq, const char *text, size_t len, const char *special);

#endif /* EL_LISTING_H */
