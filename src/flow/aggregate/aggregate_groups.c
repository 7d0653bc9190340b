/* Groups that a method makes: keys are words in the host's memory, values go as fields (column/form.h), and groups come back
 * in no order, each with its first row, which says what its keys are.
 *
 * A field is its value's distance from the least one, and 1. So a sum of fields is that of values and a multiple of the
 * count, in 128 bits. */
#include "flow/aggregate/aggregate_groups.h"

#include <stdlib.h>
#include <string.h>

#include "flow/operator.h"

#define SPARE_BYTES (UINT64_C(64) << 20)

/* Groups that came together. */
struct came {
	struct came *next;
	uint64_t count, *first, *rows;
	struct {
		uint64_t *present, *sum, *least, *greatest;
	} values[RQL_GROUPING_VALUES];
};

struct making {
	struct rql_running *r;
	struct rql_grouped_value *values;
	uint32_t value_count;
	struct rql_run_grouping run;
	int64_t least[RQL_GROUPING_VALUES];
	uint64_t total;
	struct came *came;
};

/* ---- fields ---- */

struct span {
	int64_t least, greatest;
	bool any, nulls;
	char room[64];
};

struct measuring {
	const struct rql_vector *v;
	struct span *spans; /* of each worker */
};

/* Lanes of rows [first, first + n). */
static void load_lanes(const struct rql_vector *v, uint64_t first, uint32_t n, int64_t data[RQL_VECTOR_ROWS],
                       uint64_t valid[RQL_VECTOR_WORDS], struct rql_lanes *lanes)
{
	uint32_t numbers[RQL_VECTOR_ROWS];
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = (uint32_t)(first + i);
	rql_vector_load(v, numbers, n, RQL_LANE_I64, data, valid, lanes);
}

static rql_status measure_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct measuring *m = state;
	struct span *s = &m->spans[worker];
	struct rql_lanes lanes;
	int64_t data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	(void)err;
	for (uint64_t at = 0; at < rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, rows);
		load_lanes(m->v, first + at, n, data, valid, &lanes);
		const int64_t *values = lanes.data;
		for (uint32_t i = 0; i < n; i++) {
			if (!rql_bit_valid(lanes.valid, i)) {
				s->nulls = true;
				continue;
			}
			s->least = !s->any || values[i] < s->least ? values[i] : s->least;
			s->greatest = !s->any || values[i] > s->greatest ? values[i] : s->greatest;
			s->any = true;
		}
	}
	return RQL_OK;
}

/* *fits: all values and NULL are fields. */
static rql_status measure(struct making *m, uint32_t v, bool *fits)
{
	const unsigned threads = rql_running_threads(m->r);
	struct measuring x = {.v = &m->values[v].argument, .spans = RQL_NEW_ARRAY(m->r->arena, struct span, threads)};
	struct span all = {.any = false};
	if (!x.spans)
		return rql_error_memory(m->r->err, 0, "groups of rows");
	RQL_TRY(rql_morsels_run(m->r, m->run.rows, measure_morsel, &x));
	for (unsigned t = 0; t < threads; t++) {
		const struct span *s = &x.spans[t];
		all.nulls |= s->nulls;
		if (!s->any)
			continue;
		all.least = !all.any || s->least < all.least ? s->least : all.least;
		all.greatest = !all.any || s->greatest > all.greatest ? s->greatest : all.greatest;
		all.any = true;
	}
	const uint64_t width = (uint64_t)all.greatest - (uint64_t)all.least;
	m->least[v] = all.least;
	m->run.values[v] = (struct rql_run_value){.bits = width < UINT32_MAX ? 32 : 64,
	                                          .present = all.nulls,
	                                          .sum = m->values[v].sum,
	                                          .least = m->values[v].least,
	                                          .greatest = m->values[v].greatest};
	*fits = width < UINT64_MAX;
	return RQL_OK;
}

struct filling {
	const struct rql_vector *v;
	uint64_t first;
	int64_t least;
	uint32_t bits;
	void *fields;
};

static rql_status fill_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct filling *f = state;
	struct rql_lanes lanes;
	int64_t data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint64_t left = first + rows - at;
		const uint32_t n = rql_vector_part(0, left);
		load_lanes(f->v, f->first + at, n, data, valid, &lanes);
		const int64_t *values = lanes.data;
		for (uint32_t i = 0; i < n; i++) {
			const uint64_t field = rql_bit_valid(lanes.valid, i) ? (uint64_t)values[i] - (uint64_t)f->least + 1 : 0;
			if (f->bits == 32)
				((uint32_t *)f->fields)[at + i] = (uint32_t)field;
			else
				((uint64_t *)f->fields)[at + i] = field;
		}
	}
	return RQL_OK;
}

static rql_status load(void *state, uint32_t value, uint64_t first, uint64_t count, void *fields, struct rql_error *err)
{
	struct making *m = state;
	struct filling f = {.v = &m->values[value].argument, .first = first, .least = m->least[value],
	                    .bits = m->run.values[value].bits, .fields = fields};
	const rql_status status = rql_morsels_run(m->r, count, fill_morsel, &f);
	return status == RQL_OK || err == m->r->err ? status : rql_error_set(err, status, "%s", rql_error_message(m->r->err));
}

/* ---- groups ---- */

static rql_status keep(struct rql_running *r, const uint64_t *from, uint64_t words, uint64_t **to)
{
	*to = NULL;
	if (!from)
		return RQL_OK;
	RQL_TRY(RQL_ROOM(r, *to, words));
	memcpy(*to, from, words * sizeof(**to));
	return RQL_OK;
}

static rql_status put(void *state, const struct rql_run_groups *groups, struct rql_error *err)
{
	struct making *m = state;
	struct came *c = RQL_NEW(m->r->arena, struct came);
	const uint64_t n = groups->count;
	if (!c)
		return rql_error_memory(err, sizeof(*c), "groups of rows");
	*c = (struct came){.next = m->came, .count = n};
	RQL_TRY(keep(m->r, groups->first, n, &c->first));
	RQL_TRY(keep(m->r, groups->rows, n, &c->rows));
	for (uint32_t v = 0; v < m->value_count; v++) {
		RQL_TRY(keep(m->r, groups->values[v].present, n, &c->values[v].present));
		RQL_TRY(keep(m->r, groups->values[v].sum, 2 * n, &c->values[v].sum));
		RQL_TRY(keep(m->r, groups->values[v].least, n, &c->values[v].least));
		RQL_TRY(keep(m->r, groups->values[v].greatest, n, &c->values[v].greatest));
	}
	m->came = c;
	m->total += n;
	return RQL_OK;
}

static rql_int128 value_of(uint64_t field, int64_t least)
{
	return (rql_int128)field - 1 + least;
}

/* What came of a value, to the groups from `at` on. */
static void take_value(const struct making *m, const struct came *c, uint32_t v, uint64_t at)
{
	const struct rql_grouped_value *to = &m->values[v];
	const int64_t least = m->least[v];
	for (uint64_t i = 0; i < c->count; i++) {
		const uint64_t count = c->values[v].present ? c->values[v].present[i] : c->rows[i];
		to->count[at + i] = count;
		if (to->sum) {
			const uint64_t *word = c->values[v].sum + 2 * i;
			const rql_int128 fields = (rql_int128)((rql_uint128)word[1] << 64 | word[0]);
			to->sums[at + i] = fields + (rql_int128)count * ((rql_int128)least - 1);
		}
		if (to->least)
			to->leasts[at + i] = value_of(c->values[v].least[i], least);
		if (to->greatest)
			to->greatests[at + i] = value_of(c->values[v].greatest[i], least);
	}
}

static rql_status take(struct making *m, struct rql_grouped *out)
{
	uint64_t at = 0;
	out->count = m->total;
	RQL_TRY(RQL_ROOM(m->r, out->first, m->total));
	RQL_TRY(RQL_ROOM(m->r, out->rows, m->total));
	for (uint32_t v = 0; v < m->value_count; v++) {
		struct rql_grouped_value *value = &m->values[v];
		RQL_TRY(RQL_ROOM(m->r, value->count, m->total));
		if (value->sum)
			RQL_TRY(RQL_ROOM(m->r, value->sums, m->total));
		if (value->least)
			RQL_TRY(RQL_ROOM(m->r, value->leasts, m->total));
		if (value->greatest)
			RQL_TRY(RQL_ROOM(m->r, value->greatests, m->total));
	}
	for (const struct came *c = m->came; c; c = c->next) {
		for (uint64_t i = 0; i < c->count; i++) {
			out->first[at + i] = (uint32_t)c->first[i];
			out->rows[at + i] = c->rows[i];
		}
		for (uint32_t v = 0; v < m->value_count; v++)
			take_value(m, c, v, at);
		at += c->count;
	}
	return RQL_OK;
}

/* ---- the run ---- */

/* Else the reason names the method whose rows are grouped. */
static rql_status run_method(struct making *m)
{
	return rql_pairs_run(m->r, (struct rql_run){.grouping = &m->run}, "groups",
	                     "grouping rows of the host's memory on a device");
}

/* Partitions are charged to the budget as long as they are there: as many bytes as these rows need, where there are more. */
static rql_status run_within(struct making *m)
{
	struct rql_running *r = m->r;
	const struct rql_flow *flow = r->flow;
	const uint64_t share = rql_pairs_host_bytes(flow->budget);
	const uint64_t most = m->run.rows * 2 * (12 + 8 * m->value_count) + SPARE_BYTES;
	m->run.host_bytes = share < most ? share : most;
	m->run.budget = flow->budget;
	if (!m->run.host_bytes)
		return run_method(m);
	char *folder = flow->host ? rql_host_temporary_folder(flow->host, &m->run.file_bytes) : NULL;
	m->run.folder = folder;
	rql_status status = rql_budget_charge(flow->budget, m->run.host_bytes, "partitions of a group-by", r->err);
	if (status == RQL_OK) {
		status = run_method(m);
		rql_budget_release(flow->budget, m->run.host_bytes);
	}
	free(folder);
	return status;
}

rql_status rql_rows_group(struct rql_running *r, const struct rql_keys *keys, struct rql_grouped_value *values, uint32_t count,
                          struct rql_grouped *out, bool *done)
{
	const struct rql_key_side *side = &keys->sides[0];
	struct making m = {.r = r, .values = values, .value_count = count};
	uint32_t columns = 1;
	m.run = (struct rql_run_grouping){
		.rows = side->set->rows, .words = side->words, .bits = keys->bits, .value_count = count, .load = load, .put = put};
	m.run.device_bytes = rql_pairs_room(r->flow->device_room, r->flow->device_state, &r->pairs->on, &m.run.limited);
	m.run.state = &m;
	*done = false;
	if (count > RQL_GROUPING_VALUES)
		return RQL_OK;
	if (!m.run.device_bytes)
		return rql_pairs_no_room(r, m.run.limited);
	for (uint32_t v = 0; v < count; v++) {
		bool fits = false;
		RQL_TRY(measure(&m, v, &fits));
		columns += m.run.values[v].present + (values[v].sum || values[v].least || values[v].greatest);
		if (!fits)
			return RQL_OK;
	}
	if (columns > RQL_GROUPING_VALUES + 1)
		return RQL_OK;
	*done = true;
	RQL_TRY(run_within(&m));
	return take(&m, out);
}

/* ---- what goes so ---- */

static bool is_narrow(struct rql_type type)
{
	return rql_type_bytes(type) && rql_type_bytes(type) <= 8 && type.id != RQL_TYPE_UBIGINT && type.id != RQL_TYPE_VARCHAR &&
	       type.id != RQL_TYPE_BLOB && type.id != RQL_TYPE_DOUBLE && type.id != RQL_TYPE_FLOAT &&
	       type.id != RQL_TYPE_INTERVAL;
}

bool rql_aggregate_by_groups(const struct rql_rel *rel, uint32_t *values)
{
	*values = 0;
	if (rel->kind != RQL_REL_AGGREGATE || !rel->group_count)
		return false;
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (e->distinct || e->filter || (e->child_count && !is_narrow(e->children[0]->type)))
			return false;
		*values += e->child_count != 0;
	}
	*values = *values < RQL_GROUPING_VALUES ? *values : RQL_GROUPING_VALUES;
	return true;
}
