/* The first groups of an order on the compute unit. The collecting pass lists all groups in the device's memory, each with a
 * rank; the n-th greatest rank is found there; what has no lower one goes into memory that the host reads. Where that has
 * too little room, since very many are equal and all are wanted, the host fetches the whole list.
 *
 * Floor: the list is written once; ranks are written once and read seven times, 8 bytes each. Of 2^26 groups that is 1 ms
 * on an H200 (4.3 GB at 4.4 TB/s), and their way to the host would be 30 ms or more. */
#include "method/scan/gpu/scan_compute_run.h"

#include <math.h>

#include "primitive/primitive.h"
#include "shaders/method/scan/scan_choose.comp.h"
#include "util/large.h"

#define CHOOSE_SIZE 256u
#define CHOOSE_MOST 1056u /* workgroups: ranks per invocation beyond */
#define EQUAL_ROOM 1024u  /* groups beyond twice those that are wanted */
/* Of fewer groups all go to the host, which chooses among them: on an H100 some ten dispatches take 35 us, and a group takes
 * 10 ns to be read and ranked there. */
#define CHOOSE_LEAST 3000.0
#define BOUND_BYTES 256u  /* of `choice`; then what finding it takes */

static const struct rql_kernel choose_kernel = {
	.name = "scan.choose",
	.spirv = rql_spv_scan_choose_comp,
	.spirv_bytes = sizeof(rql_spv_scan_choose_comp),
	.args_bytes = sizeof(struct rql_scan_choose_args),
};

/* ---- what a group's rank is ---- */

uint32_t rql_scan_key_kind(const struct rql_scan *scan, const struct rql_groups_value *output)
{
	switch (output->state == RQL_NONE ? RQL_STATE_COUNT : scan->slots[output->state].state.kind) {
	case RQL_STATE_COUNT:
	case RQL_STATE_SUM:
		return RQL_SCAN_KEY_INTEGER;
	case RQL_STATE_MIN:
	case RQL_STATE_MAX:
		return RQL_SCAN_KEY_EXTREME;
	case RQL_STATE_SUM_REAL:
		return RQL_SCAN_KEY_REAL;
	case RQL_STATE_MIN_REAL:
	case RQL_STATE_MAX_REAL:
		return RQL_SCAN_KEY_REAL_EXTREME;
	default:
		return RQL_SCAN_KEY_NONE;
	}
}

uint32_t rql_scan_key_word(const struct rql_scan *scan, const struct rql_groups_value *output)
{
	return output->state == RQL_NONE ? 0 : scan->slots[output->state].state.word;
}

uint32_t rql_scan_key_valid(const struct rql_scan *scan, const struct rql_groups_value *output)
{
	return output->counts || output->valid == RQL_NONE ? RQL_SCAN_NO_WORD : scan->slots[output->valid].state.word;
}

static bool can_test(const struct rql_scan *scan)
{
	bool can = true;
	for (uint32_t i = 0; i < scan->layout.wanted.test_count; i++)
		can &= rql_scan_key_kind(scan, &scan->layout.values[scan->layout.wanted.tests[i].agg]) != RQL_SCAN_KEY_NONE;
	return can;
}

static bool can_rank(const struct rql_scan *scan)
{
	const struct rql_wanted_groups *w = &scan->layout.wanted;
	return w->first && !w->any && can_test(scan) &&
	       (w->of_key ? !scan->layout.wide : rql_scan_key_kind(scan, &scan->layout.values[w->index]) != RQL_SCAN_KEY_NONE);
}

/* Codes ascend with the numbers that stand for them in groups: NULL's is the last one. */
static uint64_t last_if_null(const struct rql_scan_part *part, uint64_t null_key)
{
	const uint64_t last = part->key.key_count - 1;
	return (part->key.keys ? part->key.keys[last] : part->key.first_key + last) == null_key ? last : UINT64_MAX;
}

static struct rql_scan_wanted_args rank_args(const struct rql_scan *scan)
{
	const struct rql_wanted_groups *w = &scan->layout.wanted;
	struct rql_scan_wanted_args out = {.test_count = w->test_count,
	                                   .kind = RQL_SCAN_KEY_NONE,
	                                   .valid = RQL_SCAN_NO_WORD,
	                                   .descending = w->descending,
	                                   .nulls_first = w->nulls_first};
	if (!can_rank(scan))
		return out;
	if (w->of_key) {
		const struct rql_scan_part *part = &scan->parts[w->index];
		out.kind = RQL_SCAN_KEY_GROUP;
		out.stride = part->key.stride;
		out.key_count = part->key.key_count;
		out.null_key = last_if_null(part, w->null_key);
		return out;
	}
	const struct rql_groups_value *output = &scan->layout.values[w->index];
	out.kind = rql_scan_key_kind(scan, output);
	out.word = rql_scan_key_word(scan, output);
	out.valid = rql_scan_key_valid(scan, output);
	return out;
}

uint64_t rql_scan_wanted_put(struct rql_scan_plan *plan)
{
	const struct rql_scan *scan = plan->scan;
	struct {
		struct rql_scan_wanted_args rank;
		struct rql_scan_group_test tests[RQL_GROUP_TESTS];
	} out = {.rank = rank_args(scan)};
	if (plan->whole || rql_groups_wants_all(&scan->layout) || !can_test(scan))
		return 0;
	for (uint32_t i = 0; i < scan->layout.wanted.test_count; i++) {
		const struct rql_group_test *test = &scan->layout.wanted.tests[i];
		const struct rql_groups_value *output = &scan->layout.values[test->agg];
		out.tests[i] = (struct rql_scan_group_test){.kind = rql_scan_key_kind(scan, output),
		                                            .word = rql_scan_key_word(scan, output),
		                                            .valid = rql_scan_key_valid(scan, output),
		                                            .least = rql_groups_integer_key(test->least),
		                                            .greatest = rql_groups_integer_key(test->greatest)};
	}
	return rql_scan_blob_put(&plan->blob, &out, sizeof out);
}

/* ---- memory ---- */

bool rql_scan_can_choose(const struct rql_prepared *p, uint64_t capacity)
{
	return !p->rows && !p->scan->gives && !p->plan.whole && !p->scan->groups_form && can_rank(p->scan) &&
	       p->scan->layout.wanted.first < capacity && capacity <= RQL_NTH_KEYS;
}

bool rql_scan_chooses(const struct rql_prepared *p, uint64_t capacity)
{
	return fmax(p->scan->rows_out, (double)p->found) >= CHOOSE_LEAST && rql_scan_can_choose(p, capacity);
}

/* Of the list that the host reads. */
static uint64_t room_of(const struct rql_prepared *p, uint64_t capacity)
{
	const uint64_t first = p->scan->layout.wanted.first, most = RQL_SCAN_DIRECT_BYTES / rql_scan_entry_bytes(p);
	uint64_t room = first < most ? 2 * first + EQUAL_ROOM : most;
	room = room < most ? room : most;
	return room < capacity ? room : capacity;
}

static struct rql_nth nth_of(const struct rql_prepared *p, const struct rql_scan_context *x)
{
	return (struct rql_nth){.n = p->scan->layout.wanted.first,
	                        .count = x->capacity,
	                        .found = {x->result, RQL_SCAN_STATE_FOUND * sizeof(uint64_t)},
	                        .keys = {x->ranks, 0},
	                        .out = {x->choice, 0},
	                        .temp = {x->choice, BOUND_BYTES}};
}

uint64_t rql_scan_first_bytes(const struct rql_prepared *p, uint64_t capacity)
{
	const struct rql_nth nth = {.n = 1, .count = capacity};
	return RQL_SCAN_STATE_WORDS * sizeof(uint64_t) * 2 + capacity * (rql_scan_entry_bytes(p) + sizeof(uint64_t)) +
	       BOUND_BYTES + rql_nth_temp_bytes(&nth);
}

rql_status rql_scan_first_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t), entry = rql_scan_entry_bytes(p);
	struct rql_device *device = p->stage.device;
	const struct rql_nth nth = nth_of(p, x);
	x->room = room_of(p, x->capacity);
	RQL_TRY(rql_stage_buffer_new(device, head, RQL_MEMORY_DEVICE, "the result of a query", &x->result, err));
	RQL_TRY(rql_stage_buffer_new(device, head + x->room * entry, RQL_MEMORY_READBACK, "the result of a query", &x->seen,
	                             err));
	RQL_TRY(rql_stage_buffer_new(device, x->capacity * entry, RQL_MEMORY_DEVICE, "the found groups of a query",
	                             &x->others, err));
	RQL_TRY(rql_stage_buffer_new(device, BOUND_BYTES + rql_nth_temp_bytes(&nth), RQL_MEMORY_DEVICE,
	                             "the choice of a query's groups", &x->choice, err));
	return rql_stage_buffer_new(device, x->capacity * sizeof(uint64_t), RQL_MEMORY_DEVICE, "the ranks of a query's groups",
	                            &x->ranks, err);
}

/* ---- runs ---- */

rql_status rql_scan_first_record(const struct rql_prepared *p, const struct rql_scan_context *x,
                                 struct rql_commands *commands, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t);
	struct rql_device *device = x->choice->device;
	const uint32_t most = device->limits.group_size, size = most < CHOOSE_SIZE ? most : CHOOSE_SIZE;
	const struct rql_nth nth = nth_of(p, x);
	const struct rql_pipeline *pipeline;
	uint64_t groups = (x->capacity + size - 1) / size;
	groups = groups < CHOOSE_MOST ? groups : CHOOSE_MOST;
	RQL_TRY(rql_record_nth(commands, &nth, err));
	RQL_TRY(rql_pipeline_get(device, &choose_kernel, &size, 1, &pipeline, err));
	const struct rql_scan_choose_args args = {.list = x->others->address,
	                                          .ranks = x->ranks->address,
	                                          .bound = x->choice->address,
	                                          .head = x->result->address,
	                                          .to = x->seen->address + head,
	                                          .capacity = x->capacity,
	                                          .room = x->room,
	                                          .groups = (uint32_t)groups,
	                                          .row_words = p->scan->layout.row_words,
	                                          .key_words = (uint32_t)rql_scan_key_words(p),
	                                          .first = p->scan->layout.wanted.first};
	const struct rql_use uses[] = {{x->others, RQL_READ},
	                               {x->ranks, RQL_READ},
	                               {x->choice, RQL_READ},
	                               {x->result, RQL_READ_WRITE},
	                               {x->seen, RQL_WRITE}};
	rql_record_dispatch(commands, "choose", pipeline, &args, groups, uses, 5);
	rql_record_copy(commands, x->result, 0, x->seen, 0, head);
	return RQL_OK;
}

rql_status rql_scan_first_see(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	struct rql_rehearsal *rehearsal;
	struct rql_commands *commands = NULL;
	RQL_TRY(rql_rehearsal_new(p->stage.device, see, state, &rehearsal, err));
	struct rql_buffer *any = rql_rehearsal_buffer(rehearsal);
	const struct rql_scan_context x = {
		.capacity = p->capacity, .result = any, .seen = any, .others = any, .choice = any, .ranks = any};
	rql_status status = rql_commands_new(rql_rehearsal_device(rehearsal), 0, &commands, err);
	if (status == RQL_OK)
		status = rql_scan_first_record(p, &x, commands, err);
	rql_commands_free(commands);
	rql_rehearsal_free(rehearsal);
	return status;
}

/* Those that are equal to the last one behind the others; *count: groups then. false: the list has not all that are
 * needed. Ranks at the ends may be several values'. */
static bool close_list(const struct rql_prepared *p, const struct rql_scan_context *x, uint64_t *list, uint64_t *count)
{
	const uint64_t *head = x->seen->map, first = p->scan->layout.wanted.first, keys = rql_scan_key_words(p);
	const uint64_t chosen = head[RQL_SCAN_STATE_CHOSEN], bound = head[RQL_SCAN_STATE_BOUND], words = p->scan->layout.row_words;
	const bool all = !p->scan->layout.wanted.ties_free || bound == 0 || bound == UINT64_MAX;
	uint64_t equal = head[RQL_SCAN_STATE_EQUAL];
	equal = all || equal < first - chosen ? equal : first - chosen;
	if (chosen > first || first + equal > x->room)
		return false;
	uint64_t *rows = list + x->room * keys;
	memmove(list + chosen * keys, list + first * keys, equal * keys * sizeof(*list));
	memmove(rows + chosen * words, rows + first * words, equal * words * sizeof(*rows));
	*count = chosen + equal;
	return true;
}

rql_status rql_scan_first_fetch(const struct rql_prepared *p, const struct rql_scan_context *x,
                                struct rql_groups *g, uint64_t **memory, struct rql_error *err)
{
	uint64_t *head = x->seen->map, *list = head + RQL_SCAN_STATE_WORDS, keys = rql_scan_key_words(p), count = 0;
	const uint64_t found = head[RQL_SCAN_STATE_FOUND], word = sizeof(uint64_t);
	const bool closed = close_list(p, x, list, &count);
	*g = (struct rql_groups){
		.layout = &p->scan->layout, .ready = true, .copies = 1, .low_bits = p->plan.wide ? RQL_SCAN_LOW_BITS : 0, .pool = p->stage.device->pool,
		.capacity = count, .keys = list, .rows = list + x->room * keys};
	if (closed)
		return RQL_OK;
	g->capacity = found;
	g->keys = *memory = rql_large_alloc(found * rql_scan_entry_bytes(p));
	if (!*memory)
		return rql_error_memory(err, found * rql_scan_entry_bytes(p), "the groups of a query");
	g->rows = g->keys + found * keys;
	RQL_TRY(rql_buffer_download(x->others, 0, g->keys, found * keys * word, err));
	return rql_buffer_download(x->others, x->capacity * keys * word, g->rows, found * p->scan->layout.row_words * word, err);
}
