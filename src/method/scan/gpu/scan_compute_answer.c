/* The groups of a finished run on a GPU, as an answer. */
#include "method/scan/gpu/scan_compute_run.h"

#include <stdatomic.h>

#include "util/large.h"

/* Extremes come as unsigned keys. */
static uint64_t value_of_key(enum rql_state_kind kind, uint64_t key)
{
	switch (kind) {
	case RQL_STATE_MIN:
	case RQL_STATE_MAX:
		return key ^ UINT64_C(1) << 63;
	case RQL_STATE_MIN_REAL:
	case RQL_STATE_MAX_REAL:
		return rql_real_bits(key);
	default:
		return key;
	}
}

#define SETTLED UINT64_C(16384) /* groups that a thread takes at once */
struct settling {
	const struct rql_groups_layout *layout;
	uint64_t *rows, count;
	_Atomic uint64_t passed;
};

static void settle_some(void *state, uint64_t index, unsigned worker)
{
	struct settling *t = state;
	const uint32_t words = t->layout->row_words;
	const uint64_t first = index * SETTLED, end = first + SETTLED < t->count ? first + SETTLED : t->count;
	uint64_t passed = 0;
	(void)worker;
	for (uint64_t i = first; i < end; i++)
		passed += t->rows[i * words];
	for (uint32_t s = 0; s < t->layout->state_count; s++) {
		const struct rql_state *state = &t->layout->states[s];
		for (uint64_t i = first; i < end && state->kind >= RQL_STATE_MIN; i++)
			t->rows[i * words + state->word] = value_of_key(state->kind, t->rows[i * words + state->word]);
	}
	atomic_fetch_add(&t->passed, passed);
}

/* Makes the device's rows the CPU's; returns the table rows in them. */
static uint64_t settle_rows(const struct rql_groups *g)
{
	struct settling t = {.layout = g->layout, .rows = g->rows, .count = g->capacity};
	rql_pool_each(g->pool, (t.count + SETTLED - 1) / SETTLED, settle_some, &t);
	return t.passed;
}

/* The groups of a finished run. memory: what to free afterwards, NULL when they are read where they lie. */
static rql_status fetch_groups(const struct rql_prepared *p, const struct rql_scan_context *x, struct rql_groups *g,
                               uint64_t **memory, struct rql_error *err)
{
	if (x->ranks)
		return rql_scan_first_fetch(p, x, g, memory, err);
	uint64_t *head = x->result->map, *list = head + RQL_SCAN_STATE_WORDS;
	uint64_t count = head[RQL_SCAN_STATE_FOUND], words = p->scan->layout.row_words, keys = rql_scan_key_words(p);
	if (p->table.wanted && p->scan->layout.wanted.any && count > p->scan->layout.wanted.first)
		count = p->scan->layout.wanted.first;
	*g = (struct rql_groups){.layout = &p->scan->layout, .ready = true, .copies = 1, .low_bits = keys == 2 ? RQL_SCAN_LOW_BITS : 0, .pool = p->stage.device->pool};
	if (p->plan.whole) {
		g->capacity = x->capacity;
		g->rows = list;
		return RQL_OK;
	}
	g->capacity = count;
	if (count <= x->room) {
		g->keys = list;
		g->rows = list + x->room * keys;
		return RQL_OK;
	}
	*memory = rql_large_alloc(count * rql_scan_entry_bytes(p));
	if (!*memory)
		return rql_error_memory(err, count * rql_scan_entry_bytes(p), "the groups of a query");
	g->keys = *memory;
	g->rows = g->keys + count * keys;
	const uint64_t word = sizeof(uint64_t), room = x->room, others = count - room;
	memcpy(g->keys, list, room * keys * word);
	memcpy(g->rows, list + room * keys, room * words * word);
	RQL_TRY(rql_buffer_download(x->others, 0, g->keys + room * keys, others * keys * word, err));
	return rql_buffer_download(x->others, (x->capacity - room) * keys * word, g->rows + room * words,
	                           others * words * word, err);
}

/* The zone maps leave nothing: no device is needed for that. */
static rql_status answer_nothing(const struct rql_prepared *p, struct rql_arena *arena, struct rql_port *out,
                                 struct rql_error *err)
{
	struct rql_groups groups = {
		.layout = &p->scan->layout, .rows = p->scan->layout.row_template, .capacity = p->scan->layout.scalar, .copies = 1, .ready = true};
	return rql_groups_answer(&groups, arena, out, err);
}

rql_status rql_scan_compute_answer(struct rql_prepared *p, struct rql_scan_context *x, const struct rql_stage_run *run,
                                   struct rql_error *err)
{
	struct rql_groups groups;
	struct rql_port answer = {0};
	uint64_t *memory = NULL, passed = 0;
	if (!x)
		return answer_nothing(p, run->arena, run->port, err);
	rql_status status = fetch_groups(p, x, &groups, &memory, err);
	if (status == RQL_OK) {
		passed = settle_rows(&groups);
		if (p->table.wanted) /* these are not all */
			passed = ((const uint64_t *)(x->seen ? x->seen : x->result)->map)[RQL_SCAN_STATE_PASSED];
		status = rql_groups_answer(&groups, run->arena, &answer, err);
	}
	rql_large_free(memory);
	if (status != RQL_OK)
		return status;
	answer.cells_read = p->table.rows;
	answer.cells_covered = passed;
	answer.runs = p->table.item_count;
	answer.bytes_read =
		(uint64_t)(p->table.bytes + rql_scan_late_bytes(p, p->table.rows ? (double)passed / (double)p->table.rows : 0));
	if (run->timed)
		RQL_TRY(rql_stage_times(&x->base, run->arena, &answer, err));
	*run->port = answer;
	return RQL_OK;
}
