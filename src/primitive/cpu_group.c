/* Group-by accumulation on the CPU: rows in blocks, slot by slot, so that each loop does one thing over data in L1. Few
 * groups have a private state per worker, merged at the end; many share one state, with relaxed atomics when there is
 * more than one worker. */
#include <stdlib.h>

#include "primitive/primitive_internal.h"

#define BLOCK 1024u
#define PRIVATE_BYTES (256u * 1024) /* of one worker's state: it stays in L2 */

struct group_state {
	const struct rql_group *group;
	struct rql_cpu_chunks chunks;
	const void *ids;
	uint64_t *state, *keys;
	uint64_t *private_states; /* [worker][state], or NULL */
	uint64_t state_words;
	bool atomic;
	_Atomic bool overflow;
};

/* A block's rows that belong to a group, and their places. */
struct block {
	uint32_t count;
	uint64_t row[BLOCK], place[BLOCK];
};

static uint64_t slot_key(const struct rql_slot *slot, uint64_t bits)
{
	double value;
	if (slot->type == RQL_WORD_I64)
		return rql_key_of_i64((int64_t)bits);
	if (slot->type == RQL_WORD_U64)
		return bits;
	memcpy(&value, &bits, sizeof(value));
	return rql_key_of_f64(value);
}

static void add_word(uint64_t *to, uint64_t value, bool atomic)
{
	if (atomic)
		__atomic_fetch_add(to, value, __ATOMIC_RELAXED);
	else
		*to += value;
}

/* Every carry out of the low word is seen by exactly one addition. */
static void add_wide(uint64_t *low_to, uint64_t *high_to, uint64_t low, uint64_t high, bool atomic)
{
	uint64_t after;
	if (atomic)
		after = __atomic_add_fetch(low_to, low, __ATOMIC_RELAXED);
	else
		after = *low_to += low;
	high += after < low;
	if (high)
		add_word(high_to, high, atomic);
}

static void add_extreme(uint64_t *to, uint64_t key, bool least, bool atomic)
{
	uint64_t old = atomic ? __atomic_load_n(to, __ATOMIC_RELAXED) : *to;
	while (least ? key < old : key > old) {
		if (!atomic) {
			*to = key;
			return;
		}
		if (__atomic_compare_exchange_n(to, &old, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

static inline void add_slot(const struct rql_slot *slot, const struct block *b, uint64_t *to, uint64_t places,
                            bool atomic)
{
	const uint64_t *values = slot->cpu_values;
	switch (slot->kind) {
	case RQL_SLOT_COUNT:
		for (uint32_t i = 0; i < b->count; i++)
			add_word(&to[b->place[i]], 1, atomic);
		break;
	case RQL_SLOT_SUM64:
		for (uint32_t i = 0; i < b->count; i++)
			add_word(&to[b->place[i]], values[b->row[i]], atomic);
		break;
	case RQL_SLOT_SUM128:
		for (uint32_t i = 0; i < b->count; i++) {
			uint64_t bits = values[b->row[i]];
			uint64_t sign = slot->type == RQL_WORD_I64 && bits >> 63 ? UINT64_MAX : 0;
			add_wide(&to[b->place[i]], &to[b->place[i] + places], bits, sign, atomic);
		}
		break;
	default:
		for (uint32_t i = 0; i < b->count; i++)
			add_extreme(&to[b->place[i]], slot_key(slot, values[b->row[i]]), slot->kind == RQL_SLOT_MIN, atomic);
	}
}

/* UINT64_MAX: no place. */
static uint64_t find_place(const struct group_state *s, uint64_t key)
{
	uint64_t mask = s->group->places - 1, place = rql_group_hash(key) & mask;
	for (uint64_t probe = 0; probe < RQL_GROUP_PROBES && probe <= mask; probe++) {
		uint64_t there = __atomic_load_n(&s->keys[place], __ATOMIC_RELAXED);
		if (there == RQL_GROUP_NONE &&
		    __atomic_compare_exchange_n(&s->keys[place], &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return place;
		if (there == key) /* the failed exchange has read what is there */
			return place;
		place = (place + 1) & mask;
	}
	return UINT64_MAX;
}

static bool fill_block(struct group_state *s, struct block *b, uint64_t first, uint64_t end)
{
	b->count = 0;
	for (uint64_t row = first; row < end; row++) {
		uint64_t place;
		if (s->group->hashed) {
			uint64_t key = ((const uint64_t *)s->ids)[row];
			if (key == RQL_GROUP_NONE)
				continue;
			place = find_place(s, key);
			if (place == UINT64_MAX) {
				atomic_store_explicit(&s->overflow, true, memory_order_relaxed);
				return false;
			}
		} else {
			place = ((const uint32_t *)s->ids)[row];
			if (place >= s->group->places)
				continue;
		}
		b->row[b->count] = row;
		b->place[b->count++] = place;
	}
	return true;
}

static void group_chunk(void *state, uint64_t chunk, unsigned worker)
{
	struct group_state *s = state;
	struct block b;
	uint64_t *to = s->private_states ? s->private_states + worker * s->state_words : s->state;
	uint64_t end = rql_chunk_end(&s->chunks, chunk);
	for (uint64_t first = chunk * s->chunks.size; first < end; first += BLOCK) {
		if (atomic_load_explicit(&s->overflow, memory_order_relaxed) ||
		    !fill_block(s, &b, first, end - first < BLOCK ? end : first + BLOCK))
			return;
		uint64_t *at = to;
		for (uint32_t i = 0; i < s->group->slot_count; i++) {
			const struct rql_slot *slot = &s->group->slots[i];
			/* Two calls, so that each is compiled for its case. */
			if (s->atomic)
				add_slot(slot, &b, at, s->group->places, true);
			else
				add_slot(slot, &b, at, s->group->places, false);
			at += rql_slot_words(slot->kind) * s->group->places;
		}
	}
}

void rql_cpu_group_clear(const struct rql_group *group, uint64_t *state, uint64_t *keys)
{
	for (uint32_t s = 0; s < group->slot_count; s++) {
		uint64_t words = rql_slot_words(group->slots[s].kind) * group->places;
		memset(state, group->slots[s].kind == RQL_SLOT_MIN ? 0xff : 0, words * sizeof(*state));
		state += words;
	}
	if (group->hashed && keys)
		memset(keys, 0xff, group->places * sizeof(*keys));
}

static void merge(const struct group_state *s, const uint64_t *from)
{
	uint64_t places = s->group->places, *to = s->state;
	for (uint32_t i = 0; i < s->group->slot_count; i++) {
		enum rql_slot_kind kind = s->group->slots[i].kind;
		for (uint64_t g = 0; g < places; g++) {
			if (kind == RQL_SLOT_SUM128)
				add_wide(&to[g], &to[g + places], from[g], from[g + places], false);
			else if (kind == RQL_SLOT_MIN || kind == RQL_SLOT_MAX)
				add_extreme(&to[g], from[g], kind == RQL_SLOT_MIN, false);
			else
				to[g] += from[g];
		}
		to += rql_slot_words(kind) * places;
		from += rql_slot_words(kind) * places;
	}
}

static rql_status check(const struct rql_group *group, struct rql_error *err)
{
	bool bad = group->slot_count > RQL_GROUP_SLOTS_MAX || (!group->hashed && group->places > UINT64_C(1) << 32) ||
	           (group->hashed && (!group->places || (group->places & (group->places - 1))));
	for (uint32_t s = 0; s < group->slot_count && !bad; s++) {
		const struct rql_slot *slot = &group->slots[s];
		bool sum = slot->kind == RQL_SLOT_SUM64 || slot->kind == RQL_SLOT_SUM128;
		bad = (unsigned)slot->kind > RQL_SLOT_MAX || (unsigned)slot->type > RQL_WORD_F64 ||
		      (sum && slot->type == RQL_WORD_F64);
	}
	if (!bad)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_INTERNAL, "a %s group-by with %u slots and %llu places cannot be asked for",
	                     group->hashed ? "hashed" : "dense", group->slot_count, (unsigned long long)group->places);
}

rql_status rql_cpu_group(struct rql_device *cpu, const struct rql_group *group, const void *ids, uint64_t *state,
                         uint64_t *keys, bool *overflow, struct rql_error *err)
{
	RQL_TRY(check(group, err));
	struct group_state s = {.group = group,
	                        .chunks = rql_cpu_chunks(cpu, group->rows),
	                        .ids = ids,
	                        .state = state,
	                        .keys = keys,
	                        .state_words = rql_group_state_bytes(group) / 8};
	unsigned workers = rql_pool_threads(cpu->pool);
	s.atomic = workers > 1 && s.chunks.number > 1;
	if (s.atomic && !group->hashed && s.state_words * 8 <= PRIVATE_BYTES) {
		s.private_states = malloc(workers * s.state_words * 8 + 8);
		if (!s.private_states)
			return rql_error_memory(err, workers * s.state_words * 8, "the groups of each thread");
		for (unsigned w = 0; w < workers; w++)
			rql_cpu_group_clear(group, s.private_states + w * s.state_words, NULL);
		s.atomic = false;
	}
	rql_pool_run(cpu->pool, s.chunks.number, group_chunk, &s);
	for (unsigned w = 0; w < workers && s.private_states; w++)
		merge(&s, s.private_states + w * s.state_words);
	free(s.private_states);
	if (group->hashed && s.overflow)
		*overflow = true;
	return RQL_OK;
}
