/* Groups of several tables become one: see the header. */
#include "primitive/host/host_group_merge.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_BEFORE 2u /* key, count */
#define WORDS 4u        /* of a column: sum, least, greatest */
enum { SUM_LOW, SUM_HIGH, LEAST, GREATEST };
#define SLOTS_LEAST 1024u

struct rql_host_merge {
	const struct rql_host_group_by *by;
	uint64_t *groups; /* words of groups, in the order in which they came */
	uint64_t count, room, words;
	uint64_t *slots; /* a group's number + 1, or 0 */
	uint64_t slot_count;
};

rql_status rql_host_merge_new(const struct rql_host_group_by *by, struct rql_host_merge **out, struct rql_error *err)
{
	struct rql_host_merge *m = calloc(1, sizeof(*m));
	*out = m;
	if (!m)
		return rql_error_memory(err, sizeof(*m), "groups of several devices");
	m->by = by;
	m->words = WORDS_BEFORE + WORDS * by->column_count;
	return RQL_OK;
}

void rql_host_merge_free(struct rql_host_merge *m)
{
	if (!m)
		return;
	free(m->groups);
	free(m->slots);
	free(m);
}

uint64_t rql_host_merge_count(const struct rql_host_merge *m)
{
	return m->count;
}

/* ---- groups by key ---- */

/* Where the key is, or may be put. */
static uint64_t *slot_of(const struct rql_host_merge *m, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	for (hash ^= hash >> 32;; hash++) {
		uint64_t *slot = &m->slots[hash & (m->slot_count - 1)];
		if (!*slot || m->groups[(*slot - 1) * m->words] == key)
			return slot;
	}
}

/* Room for one group more. */
static rql_status make_room(struct rql_host_merge *m, struct rql_error *err)
{
	if (m->count < m->room)
		return RQL_OK;
	const uint64_t room = m->room ? 2 * m->room : SLOTS_LEAST / 2;
	uint64_t *groups = realloc(m->groups, room * m->words * sizeof(*groups));
	m->groups = groups ? groups : m->groups;
	uint64_t *slots = groups ? calloc(2 * room, sizeof(*slots)) : NULL;
	if (!slots)
		return rql_error_memory(err, room * m->words * sizeof(*groups), "groups of several devices");
	free(m->slots);
	m->slots = slots;
	m->slot_count = 2 * room;
	m->room = room;
	for (uint64_t g = 0; g < m->count; g++)
		*slot_of(m, m->groups[g * m->words]) = g + 1;
	return RQL_OK;
}

/* ---- a group ---- */

static uint64_t word_at(const struct rql_span *from, uint64_t at, uint32_t bytes)
{
	uint64_t word = 0;
	if (from->buffer)
		memcpy(&word, (const uint8_t *)from->buffer->map + from->offset + at * bytes, bytes);
	return word;
}

static void put_word(const struct rql_span *to, uint64_t at, uint32_t bytes, uint64_t word)
{
	if (to->buffer)
		memcpy((uint8_t *)to->buffer->map + to->offset + at * bytes, &word, bytes);
}

static void read_group(const struct rql_host_merge *m, const struct rql_host_groups *from, uint64_t at, uint64_t *group)
{
	group[0] = word_at(&from->keys, at, m->by->rows.shape.key_bits / 8);
	group[1] = word_at(&from->counts, at, 8);
	for (uint32_t c = 0; c < m->by->column_count; c++) {
		uint64_t *words = group + WORDS_BEFORE + WORDS * c;
		const bool wide = m->by->columns[c].wide_sum;
		words[SUM_LOW] = word_at(&from->sum[c], wide ? 2 * at : at, 8);
		words[SUM_HIGH] = wide ? word_at(&from->sum[c], 2 * at + 1, 8) : 0;
		words[LEAST] = word_at(&from->min[c], at, 8);
		words[GREATEST] = word_at(&from->max[c], at, 8);
	}
}

static bool is_less(const struct rql_host_group_column *column, uint64_t a, uint64_t b)
{
	return column->kind == RQL_GROUP_BY_INTEGERS && column->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static void add_column(const struct rql_host_group_column *column, uint64_t *to, const uint64_t *from)
{
	/* Of fields without a value the least is 0. */
	const bool none = column->kind == RQL_GROUP_BY_FIELDS && !from[LEAST];
	const bool first = column->kind == RQL_GROUP_BY_FIELDS && !to[LEAST];
	if (column->kind == RQL_GROUP_BY_REAL_FIELDS) {
		double a, b;
		memcpy(&a, &to[SUM_LOW], sizeof(a));
		memcpy(&b, &from[SUM_LOW], sizeof(b));
		a += b;
		memcpy(&to[SUM_LOW], &a, sizeof(a));
	} else {
		to[SUM_LOW] += from[SUM_LOW];
		to[SUM_HIGH] += from[SUM_HIGH] + (to[SUM_LOW] < from[SUM_LOW]);
	}
	if (!none && (first || is_less(column, from[LEAST], to[LEAST])))
		to[LEAST] = from[LEAST];
	if (is_less(column, to[GREATEST], from[GREATEST]))
		to[GREATEST] = from[GREATEST];
}

rql_status rql_host_merge_put(void *state, const struct rql_host_groups *groups, struct rql_error *err)
{
	struct rql_host_merge *m = state;
	for (uint64_t i = 0; i < groups->rows; i++) {
		RQL_TRY(make_room(m, err));
		uint64_t *group = m->groups + m->count * m->words; /* where a new one goes */
		read_group(m, groups, i, group);
		uint64_t *slot = slot_of(m, group[0]);
		if (!*slot) {
			*slot = ++m->count;
			continue;
		}
		uint64_t *to = m->groups + (*slot - 1) * m->words;
		to[1] += group[1];
		for (uint32_t c = 0; c < m->by->column_count; c++)
			add_column(&m->by->columns[c], to + WORDS_BEFORE + WORDS * c, group + WORDS_BEFORE + WORDS * c);
	}
	return RQL_OK;
}

void rql_host_merge_write(const struct rql_host_merge *m, uint64_t first, const struct rql_host_groups *to)
{
	for (uint64_t i = 0; i < to->rows; i++) {
		const uint64_t *group = m->groups + (first + i) * m->words;
		put_word(&to->keys, i, m->by->rows.shape.key_bits / 8, group[0]);
		put_word(&to->counts, i, 8, group[1]);
		for (uint32_t c = 0; c < m->by->column_count; c++) {
			const uint64_t *words = group + WORDS_BEFORE + WORDS * c;
			const bool wide = m->by->columns[c].wide_sum;
			put_word(&to->sum[c], wide ? 2 * i : i, 8, words[SUM_LOW]);
			if (wide)
				put_word(&to->sum[c], 2 * i + 1, 8, words[SUM_HIGH]);
			put_word(&to->min[c], i, 8, words[LEAST]);
			put_word(&to->max[c], i, 8, words[GREATEST]);
		}
	}
}
