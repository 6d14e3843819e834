// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of every struct of the interface, for 32-bit and 64-bit C and for
 * C++.  It is compiled only.  A struct may grow at its end; no line here may
 * change, but for a size that grew.
 */
#include <stddef.h>
#include <linux/entitylock.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), "size of " #type)
#define FIELD(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), "offset of " #type "." #field)

SIZE(entitylock_entity, 32);
FIELD(entitylock_entity, name, 0);
FIELD(entitylock_entity, name_len, 8);
FIELD(entitylock_entity, mode, 12);
FIELD(entitylock_entity, version, 16);
FIELD(entitylock_entity, flags, 24);
FIELD(entitylock_entity, result, 28);

SIZE(entitylock_acquire, 64);
FIELD(entitylock_acquire, flags, 0);
FIELD(entitylock_acquire, count, 4);
FIELD(entitylock_acquire, entities, 8);
FIELD(entitylock_acquire, entity_size, 16);
FIELD(entitylock_acquire, label_len, 20);
FIELD(entitylock_acquire, label, 24);
FIELD(entitylock_acquire, deadline, 32);
FIELD(entitylock_acquire, lease, 40);
FIELD(entitylock_acquire, fence, 48);
FIELD(entitylock_acquire, result, 56);
FIELD(entitylock_acquire, reserved, 60);

SIZE(entitylock_lock, 32);
FIELD(entitylock_lock, flags, 0);
FIELD(entitylock_lock, result, 4);
FIELD(entitylock_lock, deadline, 8);
FIELD(entitylock_lock, lease, 16);
FIELD(entitylock_lock, fence, 24);

SIZE(entitylock_unlock, 16);
FIELD(entitylock_unlock, flags, 0);
FIELD(entitylock_unlock, reserved, 4);
FIELD(entitylock_unlock, fence, 8);

SIZE(entitylock_convert, 24);
FIELD(entitylock_convert, mode, 0);
FIELD(entitylock_convert, flags, 4);
FIELD(entitylock_convert, deadline, 8);
FIELD(entitylock_convert, fence, 16);

SIZE(entitylock_renew, 16);
FIELD(entitylock_renew, lease, 0);
FIELD(entitylock_renew, flags, 8);
FIELD(entitylock_renew, reserved, 12);

SIZE(entitylock_label, 16);
FIELD(entitylock_label, label, 0);
FIELD(entitylock_label, label_len, 8);
FIELD(entitylock_label, reserved, 12);

SIZE(entitylock_park, 32);
FIELD(entitylock_park, lease, 0);
FIELD(entitylock_park, flags, 8);
FIELD(entitylock_park, reserved, 12);
FIELD(entitylock_park, cookie, 16);

SIZE(entitylock_claim, 24);
FIELD(entitylock_claim, cookie, 0);
FIELD(entitylock_claim, flags, 16);
FIELD(entitylock_claim, reserved, 20);

SIZE(entitylock_break, 24);
FIELD(entitylock_break, name, 0);
FIELD(entitylock_break, name_len, 8);
FIELD(entitylock_break, flags, 12);
FIELD(entitylock_break, fence, 16);

SIZE(entitylock_domain, 24);
FIELD(entitylock_domain, name, 0);
FIELD(entitylock_domain, name_len, 8);
FIELD(entitylock_domain, flags, 12);
FIELD(entitylock_domain, mode, 16);
FIELD(entitylock_domain, owner, 20);

SIZE(entitylock_version, 24);
FIELD(entitylock_version, abi, 0);
FIELD(entitylock_version, set_max, 4);
FIELD(entitylock_version, features, 8);
FIELD(entitylock_version, lease_max, 16);

SIZE(entitylock_info, 88);
FIELD(entitylock_info, state, 0);
FIELD(entitylock_info, flags, 4);
FIELD(entitylock_info, error, 8);
FIELD(entitylock_info, owner_pid, 12);
FIELD(entitylock_info, id, 16);
FIELD(entitylock_info, fence, 24);
FIELD(entitylock_info, lease_left, 32);
FIELD(entitylock_info, age, 40);
FIELD(entitylock_info, waiters, 48);
FIELD(entitylock_info, count, 52);
FIELD(entitylock_info, entities, 56);
FIELD(entitylock_info, entity_size, 64);
FIELD(entitylock_info, capacity, 68);
FIELD(entitylock_info, label, 72);
FIELD(entitylock_info, label_len, 80);
FIELD(entitylock_info, reserved, 84);

/* The numbers of the verbs carry the sizes. */
#define VERB(verb, number) \
	_Static_assert(ENTITYLOCK_IOC_##verb == (number), "number of " #verb)

VERB(VERSION, 0x8018e100U);
VERB(ACQUIRE, 0xc040e101U);
VERB(DOMAIN, 0xc018e102U);
VERB(CLAIM, 0x4018e103U);
VERB(BREAK, 0x4018e104U);
VERB(LOCK, 0xc020e110U);
VERB(UNLOCK, 0x4010e111U);
VERB(CONVERT, 0xc018e112U);
VERB(EXTEND, 0xc040e113U);
VERB(RENEW, 0x4010e114U);
VERB(LABEL, 0x4010e115U);
VERB(PARK, 0xc020e116U);
VERB(INFO, 0xc058e117U);
