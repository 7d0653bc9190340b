/* Group-by accumulation on a GPU: in shared memory while all groups fit there, else in the state itself. */
#include "primitive/primitive_internal.h"

#define PRIVATE_GROUPS_MAX 1024u /* workgroups: each flushes every group once */
#define GROUPS_MAX 65535u

static uint64_t words_of(const struct rql_group *group)
{
	uint64_t words = 0;
	for (uint32_t s = 0; s < group->slot_count; s++)
		words += rql_slot_words(group->slots[s].kind);
	return words;
}

uint64_t rql_group_state_bytes(const struct rql_group *group)
{
	return words_of(group) * group->places * 8;
}

/* 32-bit words in shared memory per group (group_private.comp). */
static uint32_t shared_words(const struct rql_group *group)
{
	static const uint32_t words[] = {
		[RQL_SLOT_COUNT] = 1, [RQL_SLOT_SUM64] = 2, [RQL_SLOT_SUM128] = 3, [RQL_SLOT_MIN] = 0, [RQL_SLOT_MAX] = 0};
	uint32_t sum = 0;
	for (uint32_t s = 0; s < group->slot_count; s++)
		sum += words[group->slots[s].kind];
	return sum;
}

/* Copies of all groups that fit into shared memory: a power of two up to 32; 0: not even one, or no use. */
static uint32_t copies_of(const struct rql_group *group)
{
	uint64_t words = shared_words(group) * group->places;
	if (group->hashed || !words || words > RQL_GROUP_SHARED_WORDS)
		return 0;
	uint32_t copies = 1;
	while (copies < 32 && words * copies * 2 <= RQL_GROUP_SHARED_WORDS)
		copies *= 2;
	return copies;
}

static rql_status check(const struct rql_group *group, bool rows, struct rql_error *err)
{
	bool bad = group->slot_count > RQL_GROUP_SLOTS_MAX || (!group->hashed && group->places > UINT64_C(1) << 32) ||
	           (group->hashed && (!group->places || (group->places & (group->places - 1))));
	for (uint32_t s = 0; s < group->slot_count && !bad; s++) {
		const struct rql_slot *slot = &group->slots[s];
		bool sum = slot->kind == RQL_SLOT_SUM64 || slot->kind == RQL_SLOT_SUM128;
		bad = (unsigned)slot->kind > RQL_SLOT_MAX || (unsigned)slot->type > RQL_WORD_F64 ||
		      (sum && slot->type == RQL_WORD_F64);
		if (!bad && rows && slot->kind != RQL_SLOT_COUNT)
			RQL_TRY(rql_span_check(&slot->values, group->rows, 8, "values of a group-by", err));
	}
	if (bad)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a %s group-by with %u slots and %llu places cannot be asked for",
		                     group->hashed ? "hashed" : "dense", group->slot_count, (unsigned long long)group->places);
	RQL_TRY(rql_span_check(&group->state, words_of(group) * group->places, 8, "state words of a group-by", err));
	if (rows)
		RQL_TRY(rql_span_check(&group->ids, group->rows, group->hashed ? 8 : 4, "ids of a group-by", err));
	if (group->hashed) {
		RQL_TRY(rql_span_check(&group->keys, group->places, 8, "places of a group-by", err));
		RQL_TRY(rql_span_check(&group->overflow, 1, 4, "overflow mark of a group-by", err));
	}
	return RQL_OK;
}

rql_status rql_record_group_clear(struct rql_commands *c, const struct rql_group *group, struct rql_error *err)
{
	RQL_TRY(check(group, false, err));
	uint64_t at = group->state.offset;
	for (uint32_t s = 0; s < group->slot_count; s++) {
		enum rql_slot_kind kind = group->slots[s].kind;
		uint64_t bytes = rql_slot_words(kind) * group->places * 8;
		if (bytes)
			rql_record_fill(c, group->state.buffer, at, bytes, kind == RQL_SLOT_MIN ? UINT32_MAX : 0);
		at += bytes;
	}
	if (group->hashed) {
		rql_record_fill(c, group->keys.buffer, group->keys.offset, group->places * 8, UINT32_MAX);
		rql_record_fill(c, group->overflow.buffer, group->overflow.offset, 4, 0);
	}
	return RQL_OK;
}

static uint32_t add_uses(const struct rql_group *group, struct rql_use *uses)
{
	uint32_t count = 0;
	uses[count++] = (struct rql_use){group->ids.buffer, RQL_READ};
	uses[count++] = (struct rql_use){group->state.buffer, RQL_READ_WRITE};
	if (group->hashed) {
		uses[count++] = (struct rql_use){group->keys.buffer, RQL_READ_WRITE};
		uses[count++] = (struct rql_use){group->overflow.buffer, RQL_READ_WRITE};
	}
	for (uint32_t s = 0; s < group->slot_count; s++)
		if (group->slots[s].kind != RQL_SLOT_COUNT)
			uses[count++] = (struct rql_use){group->slots[s].values.buffer, RQL_READ};
	return count;
}

rql_status rql_record_group(struct rql_commands *c, const struct rql_group *group, struct rql_error *err)
{
	RQL_TRY(check(group, true, err));
	if (!group->rows || !group->places)
		return RQL_OK;
	uint32_t copies = copies_of(group);
	uint64_t groups = rql_div_up(group->rows, RQL_THREADS * (copies ? 16u : 4u));
	uint64_t most = copies ? PRIVATE_GROUPS_MAX : GROUPS_MAX;
	struct rql_group_args args = {
		.ids = rql_span_address(&group->ids),
		.state = rql_span_address(&group->state),
		.keys = rql_span_address(&group->keys),
		.overflow = rql_span_address(&group->overflow),
		.rows = group->rows,
		.places = group->places,
		.groups = (uint32_t)(groups < most ? groups : most),
		.copies = copies,
	};
	uint32_t constants[1 + RQL_GROUP_SLOTS_MAX] = {group->slot_count};
	for (uint32_t s = 0; s < group->slot_count; s++) {
		args.values[s] = rql_span_address(&group->slots[s].values);
		constants[1 + s] = (uint32_t)group->slots[s].kind | (uint32_t)group->slots[s].type << 8;
	}
	const struct rql_pipeline *pipeline;
	enum rql_primitive_kernel kernel = group->hashed ? RQL_KERNEL_GROUP_HASH
	                                   : copies      ? RQL_KERNEL_GROUP_PRIVATE
	                                                 : RQL_KERNEL_GROUP_DENSE;
	RQL_TRY(rql_primitive_pipeline(group->state.buffer->device, kernel, constants, 1 + RQL_GROUP_SLOTS_MAX, &pipeline,
	                               err));
	struct rql_use uses[4 + RQL_GROUP_SLOTS_MAX];
	uint32_t use_count = add_uses(group, uses);
	rql_record_dispatch(c,
	                    copies          ? "group.private"
	                    : group->hashed ? "group.hash"
	                                    : "group.dense",
	                    pipeline, &args, args.groups, uses, use_count);
	return RQL_OK;
}
