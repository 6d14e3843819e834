/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: one for each transition of a token, and one for a thread that
 * has blocked.  Texts that a user chose are escaped as in the listing, so that
 * no value but the last has a space in it; it is empty where there is none.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM entitylock

#if !defined(EL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EL_TRACE_H

#include <linux/tracepoint.h>

#include "tracing.h"

TRACE_DEFINE_ENUM(EL_UNDONE);
TRACE_DEFINE_ENUM(EL_TAKEN_BACK);
TRACE_DEFINE_ENUM(EL_UNLOCKED);
TRACE_DEFINE_ENUM(EL_UNCHANGED);
TRACE_DEFINE_ENUM(EL_VANISHED);
TRACE_DEFINE_ENUM(EL_FOR_ENTITY);
TRACE_DEFINE_ENUM(EL_FOR_GATE);
TRACE_DEFINE_ENUM(EL_FOR_CONVERT);
TRACE_DEFINE_ENUM(EL_FOR_EXTEND);

#define el_show_mode(mode) __print_symbolic(mode,	\
	{ 0,				"-" },		\
	{ ENTITYLOCK_SHARED,		"shared" },	\
	{ ENTITYLOCK_EXCLUSIVE,		"exclusive" },	\
	{ EL_MODE_GATE,			"gate" })

#define el_show_end(how) __print_symbolic(how,		\
	{ EL_UNDONE,			"undone" },	\
	{ EL_TAKEN_BACK,		"taken-back" },	\
	{ EL_UNLOCKED,			"unlocked" },	\
	{ EL_UNCHANGED,			"unchanged" },	\
	{ EL_VANISHED,			"vanished" })

#define el_show_cause(cause) __print_symbolic(cause,	\
	{ EL_FOR_ENTITY,		"entity" },	\
	{ EL_FOR_GATE,			"gate" },	\
	{ EL_FOR_CONVERT,		"convert" },	\
	{ EL_FOR_EXTEND,		"extend" })

/*
 * What each event tells of a token: @hold is the entity that it is about, or the
 * first one of the set; NULL = the gate, or none.
 *
 * Context: the token's lock is held, which guards its label.
 */
#define EL_TOKEN_FIELDS						\
	__field(u64, token)					\
	__field(u64, fence)					\
	__field(u32, count)					\
	__field(u8, mode)					\
	__dynamic_array(char, domain, el_domain_text_size(token->domain))	\
	__dynamic_array(char, entity, el_name_text_size(el_hold_entity(hold)))	\
	__dynamic_array(char, label, el_label_text_size(token))

#define EL_TOKEN_ASSIGN						\
	lockdep_assert_held(&token->lock);			\
	__entry->token = token->id;				\
	__entry->fence = token->fence;				\
	__entry->count = token->count;				\
	__entry->mode = el_trace_mode(token, hold);		\
	el_domain_text(__get_dynamic_array(domain), token->domain);	\
	el_name_text(__get_dynamic_array(entity), el_hold_entity(hold));	\
	el_label_text(__get_dynamic_array(label), token)

#define EL_TOKEN_FORMAT	"domain=%s entity=%s count=%u token=%llu fence=%llu mode=%s label=%s"

#define EL_TOKEN_ARGS						\
	__get_str(domain), __get_str(entity), __entry->count,	\
	__entry->token, __entry->fence, el_show_mode(__entry->mode), __get_str(label)

DECLARE_EVENT_CLASS(entitylock_token,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold),
	TP_ARGS(token, hold),
	TP_STRUCT__entry(EL_TOKEN_FIELDS),
	TP_fast_assign(EL_TOKEN_ASSIGN;),
	TP_printk(EL_TOKEN_FORMAT, EL_TOKEN_ARGS)
);

#define EL_TOKEN_EVENT(name)						\
DEFINE_EVENT(entitylock_token, name,					\
	TP_PROTO(const struct el_token *token, const struct el_hold *hold),	\
	TP_ARGS(token, hold))

/* An attempt begins: LOCK, ACQUIRE, or for more: EXTEND, CONVERT. */
EL_TOKEN_EVENT(entitylock_request);
/* It waits in the queue of that entity, or at the gate. */
EL_TOKEN_EVENT(entitylock_queue);
/* CONVERT to shared; a raise is a request and a grant. */
EL_TOKEN_EVENT(entitylock_convert);
/* The token is LOST: its lease has run out, and somebody wants that entity. */
EL_TOKEN_EVENT(entitylock_expire);
/* The token is LOST: that entity, or the gate, was broken. */
EL_TOKEN_EVENT(entitylock_break);
/* A robust hold has vanished, and left its mark. */
EL_TOKEN_EVENT(entitylock_abandon);
EL_TOKEN_EVENT(entitylock_park);
EL_TOKEN_EVENT(entitylock_claim);
/* A request for the gate is the first: newcomers wait, those in flight are drained. */
EL_TOKEN_EVENT(entitylock_gate_await);

/* What was waited for it in all, in nanoseconds; 0 = nothing. */
DECLARE_EVENT_CLASS(entitylock_granted,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, u64 waited),
	TP_ARGS(token, hold, waited),
	TP_STRUCT__entry(EL_TOKEN_FIELDS __field(u64, waited)),
	TP_fast_assign(EL_TOKEN_ASSIGN; __entry->waited = waited;),
	TP_printk(EL_TOKEN_FORMAT " waited=%llu", EL_TOKEN_ARGS, __entry->waited)
);

DEFINE_EVENT(entitylock_granted, entitylock_grant,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, u64 waited),
	TP_ARGS(token, hold, waited)
);

DEFINE_EVENT(entitylock_granted, entitylock_gate_grant,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, u64 waited),
	TP_ARGS(token, hold, waited)
);

/* What was held since the last grant, in nanoseconds, to a timer tick. */
DECLARE_EVENT_CLASS(entitylock_released,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, enum el_end how,
		 u64 held),
	TP_ARGS(token, hold, how, held),
	TP_STRUCT__entry(EL_TOKEN_FIELDS __field(u32, how) __field(u64, held)),
	TP_fast_assign(EL_TOKEN_ASSIGN; __entry->how = how; __entry->held = held;),
	TP_printk(EL_TOKEN_FORMAT " how=%s held=%llu", EL_TOKEN_ARGS,
		  el_show_end(__entry->how), __entry->held)
);

DEFINE_EVENT(entitylock_released, entitylock_release,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, enum el_end how,
		 u64 held),
	TP_ARGS(token, hold, how, held)
);

DEFINE_EVENT(entitylock_released, entitylock_gate_release,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, enum el_end how,
		 u64 held),
	TP_ARGS(token, hold, how, held)
);

/* An attempt has ended without a grant: a negative errno, 0 if its verb could not be told. */
TRACE_EVENT(entitylock_cancel,
	TP_PROTO(const struct el_token *token, const struct el_hold *hold, int error),
	TP_ARGS(token, hold, error),
	TP_STRUCT__entry(EL_TOKEN_FIELDS __field(int, error)),
	TP_fast_assign(EL_TOKEN_ASSIGN; __entry->error = error;),
	TP_printk(EL_TOKEN_FORMAT " error=%d", EL_TOKEN_ARGS, __entry->error)
);

/*
 * A thread has blocked in a verb; @blocked tells what for, behind whom, and for
 * how long.
 */
TRACE_EVENT(entitylock_blocked,
	TP_PROTO(const struct el_token *token, const struct el_blocked *blocked, int result),
	TP_ARGS(token, blocked, result),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u64, holder)
		__field(u64, duration)
		__field(u32, cause)
		__field(int, result)
		__field(pid_t, tid)
		__field(pid_t, holder_pid)
		__dynamic_array(char, domain, el_domain_text_size(token->domain))
		__dynamic_array(char, entity, el_name_text_size(blocked->entity))
		__dynamic_array(char, comm, EL_COMM_TEXT)
	),
	TP_fast_assign(
		__entry->token = token->id;
		__entry->holder = blocked->holder;
		__entry->duration = blocked->duration;
		__entry->cause = blocked->cause;
		__entry->result = result;
		__entry->tid = current->pid;
		__entry->holder_pid = blocked->holder_pid;
		el_domain_text(__get_dynamic_array(domain), token->domain);
		el_name_text(__get_dynamic_array(entity), blocked->entity);
		el_comm_text(__get_dynamic_array(comm));
	),
	TP_printk("domain=%s entity=%s token=%llu cause=%s tid=%d duration=%llu holder=%llu holder_pid=%d result=%d comm=%s",
		  __get_str(domain), __get_str(entity), __entry->token,
		  el_show_cause(__entry->cause), __entry->tid, __entry->duration,
		  __entry->holder, __entry->holder_pid, __entry->result, __get_str(comm))
);

#endif /* EL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
