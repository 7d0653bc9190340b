/* A request bound to a snapshot: what is loaded, which steps filter, how groups are numbered, what rows hold. */
#include "column/form.h"
#include "method/scan/scan_query.h"

#include <math.h>
#include <stdlib.h>

/* A binding under way. */
struct binding {
	struct rql_scan *scan;
	const struct rql_device *device;
	const struct rql_request *request;
	struct rql_error *err;
};

static rql_status wrong(struct binding *b, const char *what, uint32_t index)
{
	return rql_error_set(b->err, RQL_ERROR_INTERNAL, "scan request: %s (number %u)", what, index);
}

static void *copy_of(struct binding *b, const void *data, uint64_t bytes)
{
	void *copy = rql_arena_alloc(b->scan->arena, bytes);
	if (copy && bytes)
		memcpy(copy, data, bytes);
	return copy;
}

/* ---- columns ---- */

static enum rql_lane_kind lane_of(const struct rql_store_column *column)
{
	switch (column->kind) {
	case RQL_STORE_CODED:
		return RQL_LANE_I32;
	case RQL_STORE_REAL:
		return RQL_LANE_F64;
	default:
		return column->wide ? RQL_LANE_I128 : RQL_LANE_I64;
	}
}

/* The entry in scan->columns for a column of the store that must be loaded. */
static rql_status need_column(struct binding *b, uint32_t index, uint32_t *out)
{
	struct rql_scan *scan = b->scan;
	if (index >= scan->snapshot->column_count)
		return wrong(b, "no such column", index);
	if (scan->column_of[index] == RQL_NONE) {
		const struct rql_store_column *column = &scan->snapshot->columns[index];
		bool coded = column->kind == RQL_STORE_CODED;
		scan->columns[scan->column_count] = (struct rql_scan_column){
			.column = index,
			.kind = column->kind,
			.lane = lane_of(column),
			.nullable = !coded && column->nulls > 0,
			.codes = coded ? column->dimension->count : 0,
			.null_code = coded && column->dimension->has_null ? column->dimension->count - 1 : RQL_NONE,
			.least = coded ? 0 : column->least,
			.greatest = coded ? column->dimension->count : column->greatest,
		};
		scan->column_of[index] = scan->column_count++;
	}
	*out = scan->column_of[index];
	return RQL_OK;
}

/* ---- sources ---- */

static bool leaves_null(const struct rql_scan_bound_join *join)
{
	return join->kind == RQL_LOOKUP_LEFT && !join->absent;
}

/* Checks a source, copies its arrays, and gives what is known of its values. */
static rql_status bind_join_source(struct binding *b, struct rql_source *s, struct rql_scan_operand *about)
{
	struct rql_scan_bound_join *join = &b->scan->joins[s->index];
	uint64_t payloads = rql_lookup_payloads(join->map, join->absent);
	if (join->kind == RQL_LOOKUP_SEMI || join->kind == RQL_LOOKUP_ANTI)
		return wrong(b, "a semi or anti join has no payload", s->index);
	about->from = s->value_of_payload ? RQL_LANE_I64 : RQL_LANE_I32;
	about->nullable = leaves_null(join) || s->valid_of_payload;
	about->greatest = payloads;
	if (s->valid_of_payload) {
		s->valid_of_payload = copy_of(b, s->valid_of_payload, (payloads + 63) / 64 * 8);
		if (!s->valid_of_payload)
			return rql_error_memory(b->err, payloads / 8, "preparing a scan");
	}
	if (s->value_of_payload) {
		s->value_of_payload = copy_of(b, s->value_of_payload, payloads * sizeof(int64_t));
		if (!s->value_of_payload)
			return rql_error_memory(b->err, payloads * sizeof(int64_t), "preparing a scan");
		for (uint64_t i = 0; i < payloads; i++) {
			int64_t value = s->value_of_payload[i];
			about->least = i == 0 || value < about->least ? value : about->least;
			about->greatest = i == 0 || value > about->greatest ? value : about->greatest;
		}
	}
	return RQL_OK;
}

static rql_status bind_program_source(struct binding *b, const struct rql_source *s, struct rql_scan_operand *about)
{
	const struct rql_scan_bound_program *bound = &b->scan->programs[s->index];
	if (s->result >= bound->program->result_count)
		return wrong(b, "no such result of a program", s->index);
	const struct rql_program_result *result = &bound->program->results[s->result];
	about->from = result->kind;
	about->nullable = result->nullable;
	for (uint32_t i = 0; i < bound->program->input_count; i++) {
		const struct rql_source *input = &bound->inputs[i];
		if (input->kind == RQL_SOURCE_LOOKUP)
			about->nullable |= leaves_null(&b->scan->joins[input->index]) || input->valid_of_payload;
		else
			about->nullable |= b->scan->columns[bound->columns[i]].nullable ||
			                   b->scan->columns[bound->columns[i]].null_code != RQL_NONE;
	}
	about->least = result->bounds.low;
	about->greatest = result->bounds.high;
	if (result->kind == RQL_LANE_BOOL) {
		about->least = 0;
		about->greatest = 1;
	}
	return RQL_OK;
}

static rql_status bind_source(struct binding *b, const struct rql_source *source, struct rql_scan_operand *about)
{
	struct rql_scan *scan = b->scan;
	uint32_t at;
	*about = (struct rql_scan_operand){.source = *source, .null_code = RQL_NONE};
	switch (source->kind) {
	case RQL_SOURCE_COLUMN:
		RQL_TRY(need_column(b, source->index, &at));
		about->from = scan->columns[at].lane;
		about->nullable = scan->columns[at].nullable || scan->columns[at].null_code != RQL_NONE;
		about->null_code = scan->columns[at].null_code;
		about->least = scan->columns[at].least;
		about->greatest = scan->columns[at].greatest;
		if (scan->columns[at].kind == RQL_STORE_CODED)
			about->kind = RQL_MEASURE_CODE;
		break;
	case RQL_SOURCE_LOOKUP:
		if (source->index >= scan->join_count)
			return wrong(b, "no such join", source->index);
		RQL_TRY(bind_join_source(b, &about->source, about));
		break;
	case RQL_SOURCE_PROGRAM:
		if (source->index >= scan->program_count)
			return wrong(b, "no such program", source->index);
		RQL_TRY(bind_program_source(b, source, about));
		break;
	}
	if (about->from == RQL_LANE_F64 || about->from == RQL_LANE_F32)
		about->kind = RQL_MEASURE_REAL;
	about->lane = about->kind == RQL_MEASURE_REAL ? RQL_LANE_F64
	              : about->from == RQL_LANE_I128  ? RQL_LANE_I128
	                                              : RQL_LANE_I64;
	return RQL_OK;
}

/* What an answer's source needs at the end of every block. */
static void mark_answer(struct rql_scan *scan, const struct rql_source *source)
{
	if (source->kind == RQL_SOURCE_PROGRAM)
		scan->programs[source->index].in_answer = true;
}

/* ---- joins and programs ---- */

static rql_status bind_joins(struct binding *b)
{
	const struct rql_request *r = b->request;
	struct rql_scan *scan = b->scan;
	for (uint32_t j = 0; j < r->lookup_count; j++) {
		struct rql_scan_bound_join *join = &scan->joins[j];
		*join = (struct rql_scan_bound_join){
			.kind = r->lookups[j].kind, .map = r->lookups[j].map, .second = RQL_NONE, .pair = r->lookups[j].pair};
		if (r->lookups[j].absent && r->lookups[j].kind != RQL_LOOKUP_LEFT)
			return wrong(b, "a payload for rows without a match, which the join drops", j);
		join->absent = r->lookups[j].absent;
		RQL_TRY(need_column(b, r->lookups[j].column, &join->column));
		if (r->lookups[j].second) {
			RQL_TRY(need_column(b, r->lookups[j].second - 1, &join->second));
			enum rql_lane_kind other = scan->columns[join->second].lane;
			if (other != RQL_LANE_I32 && other != RQL_LANE_I64)
				return wrong(b, "a second join key that is no integer of up to 64 bits", j);
		}
		enum rql_lane_kind lane = scan->columns[join->column].lane;
		if (lane != RQL_LANE_I32 && lane != RQL_LANE_I64)
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "column %s cannot be a join key: it is %s",
			                     scan->snapshot->columns[r->lookups[j].column].name,
			                     lane == RQL_LANE_F64 ? "real" : "wider than 64 bits");
		scan->join_count++;
	}
	return RQL_OK;
}

static bool input_fits(enum rql_lane_kind from, enum rql_lane_kind to)
{
	bool from_real = from == RQL_LANE_F64, to_real = to == RQL_LANE_F64 || to == RQL_LANE_F32;
	return from_real == to_real;
}

static rql_status bind_program(struct binding *b, uint32_t p)
{
	struct rql_scan *scan = b->scan;
	const struct rql_row_program *from = &b->request->programs[p];
	struct rql_scan_bound_program *bound = &scan->programs[p];
	uint32_t count = from->program->input_count;
	bound->program = from->program;
	bound->inputs = RQL_NEW_ARRAY(scan->arena, struct rql_source, count);
	bound->columns = RQL_NEW_ARRAY(scan->arena, uint32_t, count);
	if (!bound->inputs || !bound->columns)
		return rql_error_memory(b->err, count * sizeof(*bound->inputs), "preparing a scan");
	for (uint32_t i = 0; i < count; i++) {
		struct rql_scan_operand about;
		if (from->inputs[i].kind == RQL_SOURCE_PROGRAM)
			return wrong(b, "a program's input is a program", p);
		RQL_TRY(bind_source(b, &from->inputs[i], &about));
		if (!input_fits(about.from, from->program->inputs[i].kind))
			return wrong(b, "a program's input has another kind of value", p);
		bound->inputs[i] = about.source;
		if (about.source.kind == RQL_SOURCE_COLUMN)
			bound->columns[i] = scan->column_of[about.source.index];
	}
	scan->program_count++;
	return RQL_OK;
}

/* Programs share the memory of their inputs, but for those that hand an input on as a result: it must outlive the next
 * program's run. */
static void place_inputs(struct rql_scan *scan)
{
	for (int own = 0; own < 2; own++) {
		uint32_t shared = 0;
		for (uint32_t p = 0; p < scan->program_count; p++) {
			const struct rql_program *program = scan->programs[p].program;
			bool hands_on = false;
			for (uint32_t r = 0; r < program->result_count; r++)
				hands_on |= program->regs[program->results[r].reg].role == RQL_REG_INPUT;
			if (hands_on != own)
				continue;
			scan->programs[p].first_input = own ? scan->input_count : 0;
			scan->input_count += own ? program->input_count : 0;
			shared = program->input_count > shared ? program->input_count : shared;
		}
		scan->input_count += own ? 0 : shared;
	}
}

static rql_status need_filter(struct binding *b, uint32_t p)
{
	if (p >= b->scan->program_count)
		return wrong(b, "no such program", p);
	const struct rql_program *program = b->scan->programs[p].program;
	if (program->result_count < 1 || program->results[0].kind != RQL_LANE_BOOL)
		return wrong(b, "a filter's program is not boolean", p);
	return RQL_OK;
}

/* ---- filters ---- */

static double clamp_share(double share)
{
	return share < 0.0001 ? 0.0001 : share > 1 ? 1 : share;
}

/* A set without gaps is a range, which needs no look-up. NULL's code is never in it. */
static rql_status bind_codes(struct binding *b, const struct rql_conjunct *c, const struct rql_dimension *dimension,
                             struct rql_scan_step *step)
{
	uint32_t count = dimension->count, words = (count + 63) / 64, set = 0, first = 0, last = 0;
	uint64_t *codes = RQL_NEW_ARRAY(b->scan->arena, uint64_t, words + 1);
	if (!codes)
		return rql_error_memory(b->err, (uint64_t)words * 8, "preparing a scan");
	for (uint32_t code = 0; code < count - dimension->has_null; code++) {
		if (!rql_bit(c->codes, code))
			continue;
		rql_bit_set(codes, code);
		first = set++ ? first : code;
		last = code;
	}
	step->filter = (struct rql_store_filter){.kind = RQL_FILTER_CODE_SET, .set = codes};
	if (set && last - first + 1 == set)
		step->filter =
			(struct rql_store_filter){.kind = RQL_FILTER_CODE_RANGE, .code_least = first, .code_greatest = last};
	step->pass = count ? (double)set / count : 0;
	return RQL_OK;
}

static void bind_code_range(const struct rql_conjunct *c, const struct rql_dimension *dimension,
                            struct rql_scan_step *step)
{
	rql_int128 last = (rql_int128)dimension->count - dimension->has_null - 1;
	rql_int128 least = c->least < 0 ? 0 : c->least, greatest = c->greatest < last ? c->greatest : last;
	step->filter = (struct rql_store_filter){.kind = RQL_FILTER_CODE_RANGE, .code_least = 1, .code_greatest = 0};
	if (least > greatest)
		return; /* nothing: a range that is empty */
	step->filter.code_least = (uint32_t)least;
	step->filter.code_greatest = (uint32_t)greatest;
	step->pass = (double)(greatest - least + 1) / dimension->count;
}

static double number_of(const struct rql_store_column *column, rql_int128 value)
{
	return column->type.id == RQL_TYPE_UHUGEINT ? (double)(rql_uint128)value : (double)value;
}

static rql_status bind_test(struct binding *b, uint32_t i, struct rql_scan_step *step)
{
	const struct rql_conjunct *c = &b->request->conjuncts[i];
	if (c->index >= b->scan->snapshot->column_count)
		return wrong(b, "no such column", c->index);
	const struct rql_store_column *column = &b->scan->snapshot->columns[c->index];
	double rows = b->scan->snapshot->rows ? (double)b->scan->snapshot->rows : 1, nulls = (double)column->nulls / rows;
	*step = (struct rql_scan_step){
		.kind = RQL_SCAN_BY_TEST, .index = c->index, .or_null = c->or_null, .at_first = c->at_first, .cost = 0.2};
	if (c->test == RQL_TEST_IS_NULL || c->test == RQL_TEST_IS_NOT_NULL) {
		bool null = c->test == RQL_TEST_IS_NULL;
		step->filter.kind = null ? RQL_FILTER_IS_NULL : RQL_FILTER_IS_NOT_NULL;
		step->pass = null ? nulls : 1 - nulls;
		step->cost = 0.05;
	} else if (c->test == RQL_TEST_IN_CODES && column->kind == RQL_STORE_CODED) {
		RQL_TRY(bind_codes(b, c, column->dimension, step));
	} else if (c->test == RQL_TEST_IN_RANGE && column->kind == RQL_STORE_CODED) {
		bind_code_range(c, column->dimension, step);
	} else if (c->test == RQL_TEST_IN_RANGE && column->kind == RQL_STORE_INTEGER) {
		step->filter =
			(struct rql_store_filter){.kind = RQL_FILTER_INTEGER_RANGE, .least = c->least, .greatest = c->greatest};
		const double first = number_of(column, column->least), last = number_of(column, column->greatest);
		step->pass = (fmin(number_of(column, c->greatest), last) - fmax(number_of(column, c->least), first) + 1) /
		             (last - first + 1);
	} else if (c->test == RQL_TEST_IN_REALS && column->kind == RQL_STORE_REAL) {
		step->filter = (struct rql_store_filter){
			.kind = RQL_FILTER_REAL_RANGE, .real_least = c->real_least, .real_greatest = c->real_greatest};
		step->pass = 0.3;
	} else {
		return wrong(b, "a test does not fit its column", c->index);
	}
	step->pass = clamp_share(step->pass + (c->or_null ? nulls : 0));
	uint32_t unused;
	return need_column(b, c->index, &unused); /* when few rows are left, theirs are fetched */
}

static rql_status bind_join_step(struct binding *b, uint32_t j, struct rql_scan_step *step)
{
	const struct rql_scan_bound_join *join = &b->scan->joins[j];
	const struct rql_scan_column *column = &b->scan->columns[join->column];
	double range = (double)(column->greatest - column->least) + 1;
	if (join->second != RQL_NONE)
		range *= (double)join->pair.second_span;
	double entries = (double)rql_map_entries(join->map), share = entries / (range > 1 ? range : 1);
	/* A dimension's keys are mostly all those that there are: what was filtered out of them says more than the range. */
	if (join->map->offered > join->map->entries || share < 0.05)
		share = entries / (join->map->offered ? (double)join->map->offered : 1);
	*step = (struct rql_scan_step){
		.kind = RQL_SCAN_BY_JOIN,
		.index = j,
		.cost = rql_map_is_dense(join->map) ? 0.6 : 4,
		.pass = clamp_share(join->kind == RQL_LOOKUP_ANTI ? 1 - share : share),
	};
	return RQL_OK;
}

/* Of so few values a program compares all. */
#define SET_LEAST 8u

/* The list as a set of the CPU's: its values lie so close that one bit each says which there are. */
static rql_status bind_set(struct binding *b, const struct rql_value_list *list, struct rql_scan_step *step)
{
	struct rql_scan *scan = b->scan;
	const struct rql_map_part part = {.keys = list->values, .count = list->count};
	struct rql_map **map = &scan->sets[step - scan->steps];
	struct rql_scan_bound_join *set;
	if (list->count <= SET_LEAST || b->device->kind != RQL_DEVICE_CPU)
		return RQL_OK;
	RQL_TRY(rql_map_build_parts(&part, 1, NULL, map, b->err));
	if (!rql_map_is_dense(*map))
		return RQL_OK;
	if (!(set = RQL_NEW(scan->arena, struct rql_scan_bound_join)))
		return rql_error_memory(b->err, sizeof(*set), "a set of values that a scan tests");
	*set = (struct rql_scan_bound_join){.kind = RQL_LOOKUP_SEMI, .map = *map, .second = RQL_NONE};
	RQL_TRY(need_column(b, list->column, &set->column));
	step->set = set;
	step->cost = 0.5;
	return RQL_OK;
}

/* What is known of a program's values. Blocks of rows that come in as COLUMNS have no least and greatest one. */
static rql_status bind_ranges(struct binding *b, const struct rql_conjunct *c, struct rql_scan_step *step)
{
	const struct rql_value_ranges *from = &c->ranges;
	const struct rql_store_column *column = from->ranges ? &b->scan->snapshot->columns[from->column] : NULL;
	if (!column || b->request->from.method || column->kind != RQL_STORE_INTEGER || column->wide ||
	    column->type.id == RQL_TYPE_UHUGEINT)
		return RQL_OK;
	step->ranges = *from;
	step->ranges.ranges = copy_of(b, from->ranges, from->count * sizeof(*from->ranges));
	if (from->count && !step->ranges.ranges)
		return rql_error_memory(b->err, from->count * sizeof(*from->ranges), "ranges that a scan tests");
	return c->list.values ? bind_set(b, &c->list, step) : RQL_OK;
}

static rql_status bind_steps(struct binding *b)
{
	const struct rql_request *r = b->request;
	struct rql_scan *scan = b->scan;
	for (uint32_t c = 0; c < r->conjunct_count; c++) {
		struct rql_scan_step *step = &scan->steps[scan->step_count++];
		if (r->conjuncts[c].test != RQL_TEST_IS_TRUE) {
			RQL_TRY(bind_test(b, c, step));
			continue;
		}
		uint32_t p = r->conjuncts[c].index;
		RQL_TRY(need_filter(b, p));
		*step = (struct rql_scan_step){.kind = RQL_SCAN_BY_PROGRAM,
		                               .index = p,
		                               .cost = 1 + 0.3 * scan->programs[p].program->step_count,
		                               .pass = 0.3};
		RQL_TRY(bind_ranges(b, &r->conjuncts[c], step));
	}
	for (uint32_t j = 0; j < r->lookup_count; j++)
		if (scan->joins[j].kind != RQL_LOOKUP_LEFT)
			RQL_TRY(bind_join_step(b, j, &scan->steps[scan->step_count++]));
	return RQL_OK;
}

/* Which conditions can fail in rows that another step drops. */
static void note_checks(struct rql_scan *scan)
{
	uint32_t others = 0;
	for (uint32_t s = 0; s < scan->step_count; s++)
		others += !scan->steps[s].at_first;
	for (uint32_t s = 0; s < scan->step_count && others > 1; s++) {
		struct rql_scan_step *step = &scan->steps[s];
		step->checked =
			step->kind == RQL_SCAN_BY_PROGRAM && rql_program_can_fail(scan->programs[step->index].program);
		scan->checks |= step->checked;
	}
}

/* ---- groups ---- */

/* g: its number, for messages. joins: it is part of a join's key, so that NULL may have no key code. */
static rql_status bind_part(struct binding *b, const struct rql_group_key *key, uint32_t g, bool joins,
                            struct rql_scan_part *part)
{
	struct rql_scan_operand about;
	RQL_TRY(bind_source(b, &key->source, &about));
	mark_answer(b->scan, &about.source);
	bool coded = about.kind == RQL_MEASURE_CODE, join = about.source.kind == RQL_SOURCE_LOOKUP;
	*part = (struct rql_scan_part){
		.source = about.source, .least = key->least, .key.key_count = key->key_count, .null_key = key->null_key};
	part->real = key->real;
	if (key->wide_count) {
		part->key.wide = true;
		part->key.key_count = key->wide_count;
		part->null_key = key->wide_count - 1;
	}
	if (part->key.key_count == 0 || (key->wide_count && (key->key_count || key->key_of_code)) ||
	    (key->null_key != RQL_NONE && part->null_key >= part->key.key_count))
		return wrong(b, "a group key without room", g);
	if (about.from == RQL_LANE_I128)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "group key %u is no integer of up to 64 bits", g);
	if (key->real != (about.kind == RQL_MEASURE_REAL) || (key->real && key->key_of_code))
		return wrong(b, "a group key that is another kind of number", g);
	if (about.nullable && !coded && key->null_key == RQL_NONE && !joins)
		return wrong(b, "a group key can be NULL and has no key for it", g);
	part->plain = about.source.kind == RQL_SOURCE_COLUMN && coded && !key->key_of_code && key->least == 0 &&
	              about.greatest <= part->key.key_count;
	if (key->key_of_code) {
		if ((!coded && !join) || (join && (key->source.value_of_payload || key->source.valid_of_payload)))
			return wrong(b, "a map of codes for what has no codes", g);
		part->codes = (uint32_t)about.greatest;
		part->key_of_code = copy_of(b, key->key_of_code, part->codes * sizeof(uint32_t));
		if (!part->key_of_code)
			return rql_error_memory(b->err, part->codes * sizeof(uint32_t), "preparing a scan");
		for (uint32_t c = 0; c < part->codes; c++)
			if (part->key_of_code[c] >= key->key_count)
				return wrong(b, "a key code above its count", g);
	}
	if (!joins && !rql_scan_narrow(b->scan, part))
		return rql_error_memory(b->err, part->key.key_count * sizeof(uint32_t), "preparing a scan");
	part->key.bits = part->key.key_count > 1 ? 64 - (uint32_t)__builtin_clzll(part->key.key_count - 1) : 1;
	return RQL_OK;
}

static rql_status bind_groups(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	scan->part_count = b->request->group_count;
	scan->layout.scalar = scan->part_count == 0;
	scan->layout.group_count = 1;
	uint32_t bits = 0;
	for (uint32_t g = scan->part_count; g-- > 0;) {
		RQL_TRY(bind_part(b, &b->request->groups[g], g, false, &scan->parts[g]));
		scan->parts[g].key.stride = scan->layout.group_count;
		scan->parts[g].key.shift = bits;
		bits += scan->parts[g].key.bits;
		if (__builtin_mul_overflow(scan->layout.group_count, scan->parts[g].key.key_count, &scan->layout.group_count) ||
		    scan->layout.group_count > RQL_GROUPS_MOST) {
			scan->layout.wide = true;
			scan->layout.group_count = RQL_GROUPS_MOST;
		}
	}
	if (scan->layout.wide && bits > 128)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED,
		                     "the group keys take %u bits together, more than 128; group by fewer of them", bits);
	return RQL_OK;
}

/* ---- maps to build ---- */

static rql_status bind_keyed(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	const uint32_t wanted[] = {b->request->keyed, b->request->keyed_second};
	for (uint32_t k = 0; k < 2 && wanted[k]; k++) {
		RQL_TRY(need_column(b, wanted[k] - 1, &scan->keyed[k]));
		enum rql_lane_kind lane = scan->columns[scan->keyed[k]].lane;
		if (lane != RQL_LANE_I64 && lane != RQL_LANE_I32)
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "column %s, wider than 64 bits or a real number, is a key",
			                     scan->snapshot->columns[wanted[k] - 1].name);
		scan->keyed_count++;
	}
	if (scan->keyed_count && b->request->agg_count)
		return wrong(b, "a map to build has aggregates", b->request->agg_count);
	if (scan->keyed_count && (scan->layout.wide || scan->layout.group_count > RQL_KEYED_GROUPS))
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "a map to build has more than %llu payloads",
		                     (unsigned long long)RQL_KEYED_GROUPS);
	return RQL_OK;
}

/* ---- aggregates ---- */

static bool same_source(const struct rql_source *a, const struct rql_source *b)
{
	return a->kind == b->kind && a->index == b->index &&
	       (a->kind == RQL_SOURCE_COLUMN || (a->kind == RQL_SOURCE_PROGRAM && a->result == b->result));
}

static rql_status need_operand(struct binding *b, const struct rql_source *source, uint32_t *out)
{
	struct rql_scan *scan = b->scan;
	for (uint32_t o = 0; o < scan->operand_count; o++)
		if (same_source(&scan->operands[o].source, source)) {
			*out = o;
			return RQL_OK;
		}
	RQL_TRY(bind_source(b, source, &scan->operands[scan->operand_count]));
	mark_answer(scan, source);
	*out = scan->operand_count++;
	return RQL_OK;
}

static uint32_t need_slot(struct rql_scan *scan, enum rql_state_kind kind, uint32_t operand, uint32_t filter)
{
	for (uint32_t s = 0; s < scan->slot_count; s++)
		if (scan->slots[s].state.kind == kind && scan->slots[s].operand == operand && scan->slots[s].filter == filter)
			return s;
	scan->slots[scan->slot_count] =
		(struct rql_scan_slot){.state = {.kind = kind, .word = scan->layout.row_words}, .operand = operand, .filter = filter};
	scan->layout.row_words += rql_state_words(kind);
	return scan->slot_count++;
}

/* Whether what any rows add up to fits int64: rows * value, or what is known of a column's rows together. */
static bool sum_fits(const struct rql_scan *scan, const struct rql_scan_operand *o)
{
	struct rql_store_total total = {0};
	return rql_store_total_add(&total, scan->snapshot->rows ? scan->snapshot->rows : 1, o->least, o->greatest) ||
	       (o->source.kind == RQL_SOURCE_COLUMN && rql_store_total(scan->snapshot, o->source.index, &total));
}

static rql_status value_slot_kind(struct binding *b, const struct rql_scan_operand *o, uint32_t a,
                                  enum rql_state_kind *out)
{
	bool max = b->request->aggs[a].kind == RQL_AGG_MAX;
	if (b->request->aggs[a].kind == RQL_AGG_SUM) {
		if (o->kind == RQL_MEASURE_CODE)
			return wrong(b, "a sum of codes", a);
		*out = o->kind == RQL_MEASURE_REAL                       ? RQL_STATE_SUM_REAL
		       : o->lane == RQL_LANE_I64 && sum_fits(b->scan, o) ? RQL_STATE_SUM
		                                                         : RQL_STATE_SUM_WIDE;
	} else if (o->kind == RQL_MEASURE_REAL) {
		*out = max ? RQL_STATE_MAX_REAL : RQL_STATE_MIN_REAL;
	} else if (o->lane == RQL_LANE_I128) {
		*out = max ? RQL_STATE_MAX_WIDE : RQL_STATE_MIN_WIDE;
	} else {
		*out = max ? RQL_STATE_MAX : RQL_STATE_MIN;
	}
	return RQL_OK;
}

static rql_status bind_agg(struct binding *b, uint32_t a)
{
	struct rql_scan *scan = b->scan;
	const struct rql_agg *agg = &b->request->aggs[a];
	struct rql_groups_value *out = &scan->layout.values[a];
	const uint32_t filter = agg->filter ? agg->filter - 1 : RQL_NONE;
	uint32_t operand = RQL_NONE;
	*out = (struct rql_groups_value){.kind = RQL_MEASURE_INTEGER, .state = RQL_NONE, .valid = RQL_NONE};
	if (agg->filter) {
		RQL_TRY(need_filter(b, filter));
		scan->programs[filter].in_answer = true;
	}
	if (agg->kind != RQL_AGG_COUNT_STAR)
		RQL_TRY(need_operand(b, &agg->source, &operand));
	bool nullable = operand != RQL_NONE && scan->operands[operand].nullable;
	uint32_t counted = nullable || agg->filter
	                       ? need_slot(scan, RQL_STATE_COUNT, nullable ? operand : RQL_NONE, filter)
	                       : RQL_NONE;
	if (agg->kind == RQL_AGG_COUNT_STAR || agg->kind == RQL_AGG_COUNT) {
		out->counts = true;
		out->state = counted;
		return RQL_OK;
	}
	enum rql_state_kind kind = RQL_STATE_SUM;
	RQL_TRY(value_slot_kind(b, &scan->operands[operand], a, &kind));
	out->kind = scan->operands[operand].kind;
	out->valid = counted;
	out->state = need_slot(scan, kind, operand, filter);
	return RQL_OK;
}

/* ---- columns of rows ---- */

static rql_status bind_key(struct binding *b, const struct rql_output *output, struct rql_scan_emit *emit)
{
	rql_int128 numbers = 1;
	emit->operand = RQL_NONE;
	emit->part_count = output->part_count;
	emit->parts = RQL_NEW_ARRAY(b->scan->arena, struct rql_scan_part, output->part_count + 1u);
	if (!emit->parts)
		return rql_error_memory(b->err, output->part_count * sizeof(*emit->parts), "preparing a scan");
	for (uint32_t p = output->part_count; p-- > 0;) {
		RQL_TRY(bind_part(b, &output->parts[p], p, true, &emit->parts[p]));
		emit->parts[p].key.stride = (uint64_t)numbers;
		numbers *= (rql_int128)emit->parts[p].key.key_count;
		if (numbers > (rql_int128)RQL_GROUPS_MOST || emit->parts[p].key.wide)
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "a join's key has more than 2^62 values");
	}
	if (emit->column->kind != RQL_STORE_INTEGER || emit->column->least != 0 || emit->column->greatest < numbers - 1)
		return wrong(b, "a join's key does not fit its column", emit->part_count);
	return RQL_OK;
}

static bool half_fits(const struct rql_scan_operand *o, enum rql_half half, const struct rql_store_column *column)
{
	const bool upper = half == RQL_HALF_UPPER;
	return o->kind == RQL_MEASURE_INTEGER && o->lane != RQL_LANE_I128 && column->kind == RQL_STORE_INTEGER &&
	       column->least <= (upper ? o->least >> RQL_FORM_LOW_BITS : 0) &&
	       (upper ? o->greatest >> RQL_FORM_LOW_BITS : RQL_FORM_LOW_MASK) <= column->greatest;
}

/* Every value has a field of the form's column. */
static bool emit_fits(const struct rql_scan_operand *o, enum rql_half half, const struct rql_store_column *column)
{
	if (half != RQL_HALF_NONE)
		return half_fits(o, half, column);
	if ((o->kind == RQL_MEASURE_REAL) != (column->kind == RQL_STORE_REAL) ||
	    (o->kind == RQL_MEASURE_CODE) != (column->kind == RQL_STORE_CODED))
		return false;
	if (column->kind == RQL_STORE_CODED)
		return o->source.kind == RQL_SOURCE_COLUMN && o->greatest <= (rql_int128)column->dimension->count;
	return column->kind == RQL_STORE_REAL ||
	       (o->lane != RQL_LANE_I128 && column->least <= o->least && o->greatest <= column->greatest) ||
	       o->least > o->greatest;
}

static rql_status bind_emits(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	const struct rql_request *r = b->request;
	if (r->wants != RQL_PORT_COLUMNS)
		return RQL_OK;
	scan->gives = r->gives;
	for (uint32_t i = 0; i < r->output_count; i++) {
		struct rql_scan_emit *emit = &scan->emits[scan->emit_count++];
		if (i >= r->gives->column_count)
			return wrong(b, "no such column of the form", i);
		*emit = (struct rql_scan_emit){.column = &r->gives->columns[i],
		                               .bits = rql_form_bits(&r->gives->columns[i]),
		                               .offset = rql_form_offset(r->gives, i),
		                               .half = r->outputs[i].half,
		                               .filter = r->outputs[i].filter ? r->outputs[i].filter - 1 : RQL_NONE,
		                               .canonical = r->outputs[i].canonical,
		                               .null_value = r->outputs[i].null_value};
		if (r->outputs[i].parts) {
			RQL_TRY(bind_key(b, &r->outputs[i], emit));
			continue;
		}
		if (emit->filter != RQL_NONE) {
			RQL_TRY(need_filter(b, emit->filter));
			scan->programs[emit->filter].in_answer = true;
		}
		RQL_TRY(need_operand(b, &r->outputs[i].source, &emit->operand));
		if (!emit_fits(&scan->operands[emit->operand], emit->half, emit->column))
			return wrong(b, "values without a field in the form", i);
	}
	return RQL_OK;
}

/* ---- columns of groups ---- */

static rql_status bind_key_output(struct binding *b, struct rql_group_output *o, const struct rql_store_column *column)
{
	const struct rql_group_key *key = o->index < b->request->group_count ? &b->request->groups[o->index] : NULL;
	if (!key || column->kind == RQL_STORE_REAL)
		return wrong(b, "a group key without a field in the form", o->index);
	const rql_int128 numbers =
		column->kind == RQL_STORE_CODED ? column->dimension->count : column->greatest - column->least + 1;
	const rql_int128 keys = key->wide_count ? key->wide_count : key->key_count;
	const uint32_t *from = o->number_of_key;
	if (!from && keys > numbers + (o->null_key != UINT64_MAX))
		return wrong(b, "a key beyond its column", o->index);
	if (!from)
		return RQL_OK;
	if (!(o->number_of_key = copy_of(b, from, key->key_count * sizeof(uint32_t))))
		return rql_error_memory(b->err, key->key_count * sizeof(uint32_t), "preparing a scan");
	for (uint32_t k = 0; k < key->key_count; k++)
		if (from[k] >= numbers && k != o->null_key)
			return wrong(b, "a key beyond its column", o->index);
	return RQL_OK;
}

static rql_status bind_agg_output(struct binding *b, const struct rql_group_output *o,
                                  const struct rql_store_column *column)
{
	static const enum rql_store_kind kinds[] = {[RQL_MEASURE_INTEGER] = RQL_STORE_INTEGER,
	                                            [RQL_MEASURE_REAL] = RQL_STORE_REAL,
	                                            [RQL_MEASURE_CODE] = RQL_STORE_CODED};
	const struct rql_groups_value *out = o->index < b->scan->layout.value_count ? &b->scan->layout.values[o->index] : NULL;
	if (out && o->average) {
		if (o->count >= b->scan->layout.value_count || !b->scan->layout.values[o->count].counts ||
		    out->kind == RQL_MEASURE_CODE || out->counts || column->kind != RQL_STORE_REAL)
			return wrong(b, "an average does not fit its column", o->index);
		return RQL_OK;
	}
	if (!out || kinds[out->kind] != column->kind || (out->valid != RQL_NONE && !out->counts && !column->nulls))
		return wrong(b, "an aggregate does not fit its column", o->index);
	const bool sum = out->kind == RQL_MEASURE_INTEGER && !out->counts;
	if (o->half && (!sum || (o->lower && o->lower > b->scan->layout.value_count)))
		return wrong(b, "a half of what is no sum", o->index);
	if (!o->half && out->state != RQL_NONE && rql_state_words(b->scan->slots[out->state].state.kind) > 1)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "aggregate %u of groups on a device takes more than 64 bits",
		                     o->index);
	return RQL_OK;
}

static rql_status bind_group_outputs(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	const struct rql_request *r = b->request;
	if (r->wants != RQL_PORT_COLUMNS || r->gives->column_count != r->group_output_count)
		return wrong(b, "groups without a form", r->group_output_count);
	if (scan->layout.scalar)
		return wrong(b, "groups without a key as columns", r->group_output_count);
	scan->groups_form = r->gives;
	scan->group_outputs = copy_of(b, r->group_outputs, r->group_output_count * sizeof(*r->group_outputs));
	if (!scan->group_outputs)
		return rql_error_memory(b->err, r->group_output_count * sizeof(*r->group_outputs), "preparing a scan");
	for (uint32_t i = 0; i < r->group_output_count; i++) {
		struct rql_group_output *o = &scan->group_outputs[i];
		RQL_TRY(o->of_key ? bind_key_output(b, o, &r->gives->columns[i]) : bind_agg_output(b, o, &r->gives->columns[i]));
	}
	return RQL_OK;
}

/* One group is made whatever passes, and a map to build speaks of groups by their numbers: all of them are given. */
static rql_status bind_wanted(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	const struct rql_wanted_groups *w = &b->request->wanted;
	if (scan->layout.scalar || scan->keyed_count)
		return RQL_OK;
	for (uint32_t i = 0; i < w->test_count; i++)
		if (i >= RQL_GROUP_TESTS || w->tests[i].agg >= scan->layout.value_count ||
		    scan->layout.values[w->tests[i].agg].kind == RQL_MEASURE_REAL)
			return wrong(b, "a test of groups", i);
	if (w->first && w->index >= (w->of_key ? scan->part_count : scan->layout.value_count))
		return wrong(b, "an order of groups", w->index);
	scan->layout.wanted = *w;
	return RQL_OK;
}

/* What all groups are alike in. Whether they are hashed the estimate says. */
static rql_status lay_groups(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	struct rql_groups_layout *layout = &scan->layout;
	layout->keys = RQL_NEW_ARRAY(scan->arena, struct rql_groups_key, scan->part_count);
	layout->states = RQL_NEW_ARRAY(scan->arena, struct rql_state, scan->slot_count);
	if (!layout->keys || !layout->states)
		return rql_error_memory(b->err, (scan->part_count + scan->slot_count) * sizeof(*layout->keys),
		                        "preparing a scan");
	layout->key_count = scan->part_count;
	layout->state_count = scan->slot_count;
	for (uint32_t p = 0; p < scan->part_count; p++)
		layout->keys[p] = scan->parts[p].key;
	for (uint32_t s = 0; s < scan->slot_count; s++)
		layout->states[s] = scan->slots[s].state;
	return rql_groups_lay(layout, scan->arena, b->err);
}

/* ---- the whole ---- */

static rql_status allocate(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	const struct rql_request *r = b->request;
	uint32_t columns = r->snapshot->column_count, emits = r->wants == RQL_PORT_COLUMNS ? r->output_count : 0;
	scan->columns = RQL_NEW_ARRAY(scan->arena, struct rql_scan_column, columns);
	scan->column_of = RQL_NEW_ARRAY(scan->arena, uint32_t, columns);
	scan->programs = RQL_NEW_ARRAY(scan->arena, struct rql_scan_bound_program, r->program_count);
	scan->joins = RQL_NEW_ARRAY(scan->arena, struct rql_scan_bound_join, r->lookup_count);
	scan->steps = RQL_NEW_ARRAY(scan->arena, struct rql_scan_step, (size_t)r->conjunct_count + r->lookup_count);
	scan->sets = RQL_NEW_ARRAY(scan->arena, struct rql_map *, (size_t)r->conjunct_count + r->lookup_count);
	scan->parts = RQL_NEW_ARRAY(scan->arena, struct rql_scan_part, r->group_count);
	scan->operands = RQL_NEW_ARRAY(scan->arena, struct rql_scan_operand, (size_t)r->agg_count + emits);
	scan->emits = RQL_NEW_ARRAY(scan->arena, struct rql_scan_emit, emits);
	scan->slots = RQL_NEW_ARRAY(scan->arena, struct rql_scan_slot, (size_t)r->agg_count * 2);
	scan->layout.values = RQL_NEW_ARRAY(scan->arena, struct rql_groups_value, r->agg_count);
	if (!scan->columns || !scan->column_of || !scan->programs || !scan->joins || !scan->steps || !scan->sets || !scan->parts ||
	    !scan->operands || !scan->slots || !scan->layout.values)
		return rql_error_memory(b->err, columns * sizeof(*scan->columns), "preparing a scan");
	for (uint32_t c = 0; c < columns; c++)
		scan->column_of[c] = RQL_NONE;
	scan->layout.row_words = 1;
	return RQL_OK;
}

/* Whoever gave ROWS has not tested what can fail. */
static rql_status bind_under(struct binding *b)
{
	struct rql_scan *scan = b->scan;
	scan->under = b->request->under.method != NULL;
	scan->under_share = scan->under ? b->request->under.share : 1;
	scan->under_blocks = scan->under ? b->request->under.blocks : (double)scan->snapshot->blocks;
	scan->under_lists = scan->under && b->request->under.lists;
	for (uint32_t p = 0; scan->under && p < scan->program_count; p++)
		if (rql_program_can_fail(scan->programs[p].program))
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "an expression that can fail is not computed under ROWS");
	return RQL_OK;
}

static rql_status bind(struct binding *b)
{
	const struct rql_request *r = b->request;
	RQL_TRY(allocate(b));
	RQL_TRY(bind_joins(b));
	for (uint32_t p = 0; p < r->program_count; p++)
		RQL_TRY(bind_program(b, p));
	place_inputs(b->scan);
	RQL_TRY(bind_steps(b));
	note_checks(b->scan);
	RQL_TRY(bind_under(b));
	RQL_TRY(bind_groups(b));
	RQL_TRY(bind_keyed(b));
	for (uint32_t a = 0; a < r->agg_count; a++) {
		RQL_TRY(bind_agg(b, a));
		b->scan->layout.value_count++;
	}
	RQL_TRY(b->request->group_output_count ? bind_group_outputs(b) : bind_emits(b));
	RQL_TRY(bind_wanted(b));
	return lay_groups(b);
}

rql_status rql_scan_prepare(const struct rql_request *request, struct rql_device *device, struct rql_scan **out,
                            struct rql_error *err)
{
	struct rql_scan *scan = calloc(1, sizeof(*scan));
	if (!scan)
		return rql_error_memory(err, sizeof(*scan), "preparing a scan");
	if (pthread_mutex_init(&scan->mutex, NULL)) {
		free(scan);
		return rql_error_memory(err, sizeof(*scan), "preparing a scan");
	}
	scan->snapshot = request->snapshot;
	scan->expected_rows = request->from.method ? request->from.rows : (double)request->snapshot->rows;
	scan->kernels = rql_scan_kernels_for(device->simd);
	scan->store = rql_store_kernels_for(device->simd);
	scan->simd = device->simd;
	struct binding b = {scan, device, request, err};
	rql_status status;
	scan->arena = rql_arena_new();
	status = scan->arena ? bind(&b) : rql_error_memory(b.err, 4096, "preparing a scan");
	if (status != RQL_OK) {
		rql_scan_free(scan);
		return status;
	}
	rql_scan_estimate(scan, request->sample);
	scan->layout.hashed = scan->layout.hashed && !scan->keyed_count;
	scan->known = rql_scan_may_know(scan);
	scan->few = !scan->layout.scalar && !scan->layout.hashed && scan->layout.group_count <= RQL_GROUPS_COPY_WORDS / scan->layout.row_words;
	for (uint32_t s = 0; s < scan->slot_count; s++)
		scan->few &= scan->slots[s].filter == RQL_NONE &&
		             (scan->slots[s].state.kind == RQL_STATE_SUM || scan->slots[s].state.kind == RQL_STATE_SUM_REAL ||
		              scan->slots[s].state.kind == RQL_STATE_COUNT);
	*out = scan;
	return RQL_OK;
}

uint64_t rql_scan_bytes(const struct rql_scan *scan)
{
	return sizeof(*scan) + rql_arena_bytes(scan->arena);
}

void rql_scan_dismiss(struct rql_scan *scan)
{
	while (scan->idle) {
		struct rql_scan_worker *next = scan->idle->next;
		rql_scan_worker_free(scan->idle);
		scan->idle = next;
	}
}

void rql_scan_free(struct rql_scan *scan)
{
	if (!scan)
		return;
	rql_scan_dismiss(scan);
	for (uint32_t s = 0; scan->sets && s < scan->step_count; s++)
		rql_map_free(scan->sets[s]);
	pthread_mutex_destroy(&scan->mutex);
	rql_arena_free(scan->arena);
	free(scan);
}
