/* SPDX-License-Identifier: GPL-2.0 */
/* What the tracepoints of trace.h are made of. */
#ifndef EL_TRACING_H
#define EL_TRACING_H

#include <linux/sched.h>
#include <linux/types.h>

#include "token.h"

struct el_domain;
struct el_entity;

/* Beside the modes of the header. */
#define EL_MODE_GATE	3

/* Most bytes of a command, escaped, with its end: it may change while it is read. */
#define EL_COMM_TEXT	(4 * (TASK_COMM_LEN - 1) + 1)

/* What a thread blocks for. */
enum el_cause {
	EL_FOR_ENTITY,
	EL_FOR_GATE,
	EL_FOR_CONVERT,
	EL_FOR_EXTEND,
};

/**
 * struct el_blocked - how a thread has come to block, on its stack
 * @traced: somebody traces it, and what follows is valid
 * @cause: what for
 * @entity: the one whose queue it waits in; a reference; NULL = the gate
 * @holder: number of the token that was in the way first, 0 = there was none
 * @holder_pid: that token's recorded owner
 * @since: when
 * @duration: nanoseconds, in the end
 */
struct el_blocked {
	bool traced;
	enum el_cause cause;
	struct el_entity *entity;
	u64 holder;
	pid_t holder_pid;
	u64 since;
	u64 duration;
};

void el_blocked_begin(struct el_blocked *blocked, struct el_token *token, enum el_cause cause);
void el_blocked_end(struct el_blocked *blocked, struct el_token *token, int result);

/* The hold that stands for a token in an event; under its mutex, or while it is PENDING. */
static inline struct el_hold *el_trace_first(const struct el_token *token)
{
	return token->count ? token->set[0] : NULL;
}

static inline const struct el_entity *el_hold_entity(const struct el_hold *hold)
{
	return hold ? hold->entity : NULL;
}

u8 el_trace_mode(const struct el_token *token, const struct el_hold *hold);
size_t el_domain_text_size(const struct el_domain *domain);
void el_domain_text(char *to, const struct el_domain *domain);
size_t el_name_text_size(const struct el_entity *entity);
void el_name_text(char *to, const struct el_entity *entity);
size_t el_label_text_size(const struct el_token *token);
void el_label_text(char *to, const struct el_token *token);
void el_comm_text(char *to);

/* An event of a token whose lock is not held. */
#define el_trace(event, of, ...) do {					\
	struct el_token *_token = (of);					\
									\
	if (trace_entitylock_##event##_enabled()) {			\
		spin_lock(&_token->lock);				\
		trace_entitylock_##event(_token, ##__VA_ARGS__);	\
		spin_unlock(&_token->lock);				\
	}								\
} while (0)

#endif /* EL_TRACING_H */
