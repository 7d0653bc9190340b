/* Which codes of a dictionary a condition selects: by binary search where it compares, else by evaluating it over the
 * entries, on the CPU's threads, on a GPU or by the host. */
#include "bind/relation/codes.h"

#include <math.h>
#include <string.h>
#include "bind/block/price_host.h"
#include "bind/normal/evaluate.h"
#include "bind/normal/fallible.h"
#include "bind/relation/codes_device.h"
#include "bind/relation/codes_values.h"
#include "flow/compute/compile_entries.h"

uint64_t *rql_codes_new(struct rql_arena *arena, const struct rql_dimension *d)
{
	return RQL_NEW_ARRAY(arena, uint64_t, rql_codes_words(d) + 1);
}

int rql_codes_compare(const void *values, uint32_t a, uint32_t b)
{
	const struct rql_column *column = values;
	bool valid_a = rql_column_valid(column, a), valid_b = rql_column_valid(column, b);
	if (!valid_a || !valid_b)
		return (int)!valid_a - (int)!valid_b;
	return rql_column_compare(column, a, column, b);
}

static uint32_t value_count(const struct rql_dimension *d)
{
	return d->count - (d->has_null ? 1 : 0);
}

/* Codes below the first value that is >= bound (or > bound when after_equal). */
static uint32_t boundary(const struct rql_dimension *d, const struct rql_value *bound, bool after_equal)
{
	uint32_t low = 0, high = value_count(d);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct rql_value v = rql_column_get(&d->values, middle);
		int c = rql_value_compare(&v, bound);
		if (c < 0 || (c == 0 && after_equal))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_comparison(const struct rql_dimension *d, const char *op, const struct rql_value *bound, bool negated,
                           uint64_t *set)
{
	uint32_t below = boundary(d, bound, false), through = boundary(d, bound, true), all = value_count(d);
	bool less = false, equal = false, greater = false;
	if (!strcmp(op, "="))
		equal = true;
	else if (!strcmp(op, "<>"))
		less = greater = true;
	else {
		less = op[0] == '<';
		greater = op[0] == '>';
		equal = op[1] == '=';
	}
	if (less != negated)
		rql_bits_set(set, 0, below);
	if (equal != negated)
		rql_bits_set(set, below, through);
	if (greater != negated)
		rql_bits_set(set, through, all);
}

static bool is_dimension(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_REF;
}

static bool is_constant_of(const struct rql_expr *e, struct rql_type type)
{
	return e->kind == RQL_EXPR_CONSTANT && rql_type_equal(e->type, type);
}

/* Can select_plain evaluate it? */
static bool is_plain(const struct rql_expr *e, struct rql_type type)
{
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
		return is_dimension(e->children[0]) && is_constant_of(e->children[1], type) && e->name[0] != 'I' &&
		       type.id != RQL_TYPE_OTHER && type.id != RQL_TYPE_INTERVAL;
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		if (!is_dimension(e->children[0]))
			return false;
		for (uint32_t i = 1; i < e->child_count; i++)
			if (!is_constant_of(e->children[i], type))
				return false;
		return true;
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		return is_dimension(e->children[0]);
	case RQL_EXPR_BETWEEN:
		return is_dimension(e->children[0]) && is_constant_of(e->children[1], type) &&
		       is_constant_of(e->children[2], type) && e->name && strlen(e->name) == 2;
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
	case RQL_EXPR_NOT:
		for (uint32_t i = 0; i < e->child_count; i++)
			if (!is_plain(e->children[i], type))
				return false;
		return true;
	default:
		return false;
	}
}

static rql_status select_plain(struct rql_arena *arena, const struct rql_dimension *d, const struct rql_expr *e,
                               bool negated, uint64_t *set, struct rql_error *err);

static rql_status combine(struct rql_arena *arena, const struct rql_dimension *d, struct rql_expr *const *parts,
                          uint32_t count, bool negated, bool intersect, uint64_t *set, struct rql_error *err)
{
	uint64_t *part = rql_codes_new(arena, d);
	if (!part)
		return rql_error_memory(err, 0, "a plan");
	uint32_t words = rql_codes_words(d);
	for (uint32_t i = 0; i < count; i++) {
		memset(part, 0, words * sizeof *part);
		RQL_TRY(select_plain(arena, d, parts[i], negated, part, err));
		for (uint32_t w = 0; w < words; w++)
			set[w] = i == 0 ? part[w] : intersect ? set[w] & part[w] : set[w] | part[w];
	}
	return RQL_OK;
}

static void select_in(const struct rql_dimension *d, const struct rql_expr *e, bool negated, uint64_t *set)
{
	bool outside = (e->kind == RQL_EXPR_NOT_IN) != negated, has_null = false;
	uint32_t words = rql_codes_words(d);
	for (uint32_t i = 1; i < e->child_count; i++) {
		const struct rql_value *v = &e->children[i]->value;
		has_null |= v->is_null;
		if (!v->is_null)
			rql_bits_set(set, boundary(d, v, false), boundary(d, v, true));
	}
	if (!outside)
		return;
	/* x NOT IN (..., NULL) is never true. */
	for (uint32_t w = 0; w < words; w++)
		set[w] = has_null ? 0 : ~set[w];
	for (uint32_t c = value_count(d); c < words * 64; c++)
		rql_bit_clear(set, c);
}

static rql_status select_between(struct rql_arena *arena, const struct rql_dimension *d, const struct rql_expr *e,
                                 bool negated, uint64_t *set, struct rql_error *err)
{
	struct rql_expr low = {.kind = RQL_EXPR_COMPARE,
	                       .name = e->name[0] == '[' ? ">=" : ">",
	                       .child_count = 2,
	                       .children = (struct rql_expr *[]){e->children[0], e->children[1]}};
	struct rql_expr high = {.kind = RQL_EXPR_COMPARE,
	                        .name = e->name[1] == ']' ? "<=" : "<",
	                        .child_count = 2,
	                        .children = (struct rql_expr *[]){e->children[0], e->children[2]}};
	struct rql_expr *both[] = {&low, &high};
	return combine(arena, d, both, 2, negated, !negated, set, err);
}

static rql_status select_plain(struct rql_arena *arena, const struct rql_dimension *d, const struct rql_expr *e,
                               bool negated, uint64_t *set, struct rql_error *err)
{
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
		if (!e->children[1]->value.is_null)
			add_comparison(d, e->name, &e->children[1]->value, negated, set);
		return RQL_OK;
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		select_in(d, e, negated, set);
		return RQL_OK;
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		if ((e->kind == RQL_EXPR_IS_NULL) != negated)
			rql_bits_set(set, value_count(d), d->count);
		else
			rql_bits_set(set, 0, value_count(d));
		return RQL_OK;
	case RQL_EXPR_BETWEEN:
		return select_between(arena, d, e, negated, set, err);
	case RQL_EXPR_NOT:
		return select_plain(arena, d, e->children[0], !negated, set, err);
	default: /* AND, OR: De Morgan's rules hold for three-valued "is true" and "is false" */
		return combine(arena, d, e->children, e->child_count, negated, (e->kind == RQL_EXPR_AND) != negated, set, err);
	}
}

/* ---- by programs, or by the host ---- */

static void print_dimension(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index;
	(void)state;
	rql_strbuf_put(out, "c1");
}

/* 0.0 and -0.0 are one value, and so are all NaNs: one entry of the dictionary. A function that tells them apart, such
 * as a cast to VARCHAR, has no single value there. */
static bool has_two_faces(const struct rql_dimension *d)
{
	for (uint32_t c = 0; rql_type_is_real(d->type) && c < value_count(d); c++) {
		struct rql_value v = rql_column_get(&d->values, c);
		if (v.real == 0 || isnan(v.real))
			return true;
	}
	return false;
}

static bool keeps_equals_equal(const struct rql_expr *e)
{
	static const char *const names[] = {"+",     "-",    "*",     "%",     "abs",   "round",
	                                    "floor", "ceil", "trunc", "isnan", "isinf", "isfinite"};
	if (e->kind == RQL_EXPR_CAST)
		return rql_type_is_real(e->type) || rql_type_is_integer(e->type) || e->type.id == RQL_TYPE_DECIMAL ||
		       e->type.id == RQL_TYPE_BOOLEAN;
	for (size_t i = 0; e->kind == RQL_EXPR_FUNCTION && i < sizeof names / sizeof *names; i++)
		if (!strcmp(e->name, names[i]))
			return true;
	return e->kind != RQL_EXPR_FUNCTION;
}

static bool tells_faces_apart(const struct rql_expr *e)
{
	for (uint32_t i = 0; i < e->child_count; i++)
		if ((rql_type_is_real(e->children[i]->type) && e->children[i]->kind != RQL_EXPR_CONSTANT && !keeps_equals_equal(e)) ||
		    tells_faces_apart(e->children[i]))
			return true;
	return false;
}

/* The dictionary's entries of some codes, beside the codes. */
static rql_status gather_entries(struct rql_arena *arena, const struct rql_dimension *d, const uint64_t *within,
                                 struct rql_batch *out, struct rql_error *err)
{
	unsigned bytes = rql_type_bytes(d->values.type);
	uint32_t rows = within ? (uint32_t)rql_bits_count(within, d->count) : d->count, words = rql_codes_words(d);
	uint32_t *codes = RQL_NEW_ARRAY(arena, uint32_t, rows + 1u);
	struct rql_column *columns = RQL_NEW_ARRAY(arena, struct rql_column, 2);
	if (!codes || !columns)
		return rql_error_memory(err, 0, "a plan");
	columns[0] = (struct rql_column){.type = rql_type_simple(RQL_TYPE_UINTEGER), .data = codes};
	columns[1] = d->values;
	*out = (struct rql_batch){.rows = rows, .column_count = 2, .columns = columns};
	for (uint32_t c = 0; c < d->count && !within; c++)
		codes[c] = c;
	if (!within)
		return RQL_OK;
	char *data = rql_arena_array(arena, rows + 1u, bytes);
	uint64_t *validity = RQL_NEW_ARRAY(arena, uint64_t, rows / 64 + 1u);
	if (!data || !validity)
		return rql_error_memory(err, 0, "a plan");
	columns[1].data = data;
	columns[1].validity = validity;
	for (uint32_t w = 0, r = 0; w < words; w++)
		for (uint64_t left = within[w]; left; left &= left - 1, r++) {
			codes[r] = w * 64 + (uint32_t)__builtin_ctzll(left);
			memcpy(data + (size_t)r * bytes, (const char *)d->values.data + (size_t)codes[r] * bytes, bytes);
			rql_bit_or(validity, r, rql_column_valid(&d->values, codes[r]));
		}
	return RQL_OK;
}

static rql_status run_over_dictionary(const struct rql_plan_context *ctx, const struct rql_dimension *d,
                                      const struct rql_batch *batch, const struct rql_expr *e,
                                      struct rql_host_result **out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	uint64_t number = rql_host_lend(ctx->host_db, batch);
	rql_strbuf_put(&sql, "SELECT c0, (");
	bool ok = number && !(tells_faces_apart(e) && has_two_faces(d)) && rql_expr_print(&sql, e, print_dimension, NULL);
	rql_strbuf_printf(&sql, ") FROM system.main.rayql_batch(%llu)", (unsigned long long)number);
	rql_status status;
	if (!ok) {
		status = rql_expr_refuse(err, "", e, " cannot be evaluated over a dictionary");
	} else {
		status = rql_host_query(ctx->host, rql_strbuf_sql(&sql), out, err);
		/* The host's own evaluation may meet other values first, or none: it decides whether this is an error. */
		if (status == RQL_ERROR_HOST && err)
			err->status = status = RQL_ERROR_UNSUPPORTED;
	}
	rql_strbuf_free(&sql);
	if (number)
		rql_host_unlend(ctx->host_db, number);
	return status;
}

/* Calls put(row of the batch, code) for every result row. */
typedef rql_status put_fn(void *state, const struct rql_column *value, uint64_t row, uint32_t code,
                          struct rql_error *err);

/* within: of these codes; NULL: of all. What can fail is evaluated for all: somewhere else it would have failed, too. */
static rql_status over_dictionary(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                  const struct rql_dimension *d, const struct rql_expr *e, const uint64_t *within,
                                  put_fn *put, void *state, struct rql_error *err)
{
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL, entries;
	struct rql_column made;
	RQL_TRY(gather_entries(arena, d, rql_expr_can_fail(e) ? NULL : within, &entries, err));
	if (!entries.rows)
		return RQL_OK;
	if (rql_evaluate_column(arena, e, &entries.columns[1], entries.rows, &made)) {
		const uint32_t *codes = entries.columns[0].data;
		for (uint64_t r = 0; r < entries.rows; r++)
			RQL_TRY(put(state, &made, r, codes[r], err));
		return RQL_OK;
	}
	/* An error over a value that no row of the answer has would abort the user's transaction. */
	if (ctx->snapshot_stamp)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "inside a transaction expressions are not evaluated ahead over a dictionary");
	RQL_TRY(run_over_dictionary(ctx, d, &entries, e, &result, err));
	rql_status status;
	uint64_t rows = 0;
	while ((status = rql_host_fetch(result, &batch, err)) == RQL_OK && batch) {
		const uint32_t *codes = batch->columns[0].data;
		for (uint64_t r = 0; r < batch->rows && status == RQL_OK; r++)
			status = put(state, &batch->columns[1], r, codes[r], err);
		rows += batch->rows;
		rql_batch_release(batch);
		batch = NULL;
		if (status != RQL_OK)
			break;
	}
	if (status == RQL_OK && rows != entries.rows)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "the host evaluated %llu of %llu dictionary entries",
		                       (unsigned long long)rows, (unsigned long long)entries.rows);
	rql_host_result_free(result);
	return status;
}

struct selecting {
	uint64_t *set;
	bool negated;
};

static rql_status put_code(void *state, const struct rql_column *value, uint64_t row, uint32_t code,
                           struct rql_error *err)
{
	struct selecting *s = state;
	(void)err;
	if (rql_column_valid(value, row) && (((const uint8_t *)value->data)[row] != 0) != s->negated)
		rql_bit_set(s->set, code);
	return RQL_OK;
}

struct selection {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena;
	const struct rql_dimension *d;
	struct rql_error *err;
};

static rql_status select_by_host(struct selection *s, const struct rql_expr *e, bool negated, const uint64_t *within,
                                 uint64_t *set)
{
	struct selecting state = {set, negated};
	return over_dictionary(s->ctx, s->arena, s->d, e, within, put_code, &state, s->err);
}

static rql_status refuse_entries(struct rql_error *err, const struct rql_expr *e)
{
	return rql_expr_refuse(err, "the host's answer to ", e, " depends on the column's statistics");
}

static rql_status begin_entries(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                const struct rql_dimension *d, const uint64_t *within, struct rql_entry_run *run,
                                struct rql_error *err)
{
	const struct rql_device *cpu = &ctx->devices->device[0];
	*run = (struct rql_entry_run){.dimension = d,
	                              .pool = cpu->pool,
	                              .simd = cpu->simd,
	                              .arena = arena,
	                              .within = within,
	                              .unknown = rql_codes_new(arena, d)};
	return run->unknown ? RQL_OK : rql_error_memory(err, 0, "a plan");
}

/* An entry whose value is fetched from the host, and one whose value is made here. */
#define FETCHED_NS 50.0
#define MADE_NS 4.0
#define SAMPLED 64u

static double mean_bytes(const struct rql_dimension *d)
{
	const struct rql_string *strings = d->values.data;
	uint32_t count = value_count(d), step = count / SAMPLED + 1, sampled = 0;
	double sum = 0;
	for (uint32_t c = 0; c < count; c += step, sampled++)
		sum += strings[c].length;
	return sampled ? sum / sampled : 0;
}

/* Of the entries within, by the CPU's threads. */
static struct rql_entry_price price_of(const struct rql_plan_context *ctx, const struct rql_dimension *d,
                                       const struct rql_entry *e, const uint64_t *within)
{
	struct rql_entry_price price = {.mean_bytes = mean_bytes(d)};
	uint64_t count = within ? rql_bits_count(within, d->count) : d->count;
	price.cpu_ns =
		(double)count * (rql_entry_ns(e, price.mean_bytes) + MADE_NS) / rql_pool_threads(ctx->devices->device[0].pool);
	return price;
}

static rql_status select_by_threads(struct selection *s, const struct rql_expr *e, struct rql_entry *entry,
                                    bool negated, const uint64_t *within, uint64_t *set)
{
	struct rql_entry_run run;
	RQL_TRY(begin_entries(s->ctx, s->arena, s->d, within, &run, s->err));
	RQL_TRY(rql_entry_select(&run, entry, negated, set, s->err));
	if (run.refused)
		return refuse_entries(s->err, e);
	if (!run.unknown_count)
		return RQL_OK;
	for (uint32_t w = 0; w < rql_codes_words(s->d); w++)
		set[w] &= ~run.unknown[w];
	return select_by_host(s, e, negated, run.unknown, set);
}

static rql_status select_by_entries(struct selection *s, const struct rql_expr *e, struct rql_entry *entry,
                                    bool negated, const uint64_t *within, uint64_t *set)
{
	const struct rql_entry_price price = price_of(s->ctx, s->d, entry, within);
	uint64_t *left = NULL, *part, any = 0;
	bool done = false;
	RQL_TRY(rql_codes_on_device(s->ctx, s->arena, s->d, entry, negated, &price, set, &left, &done, s->err));
	if (!done)
		return select_by_threads(s, e, entry, negated, within, set);
	for (uint32_t w = 0; w < rql_codes_words(s->d); w++)
		any |= left[w] &= within ? within[w] : ~UINT64_C(0);
	if (!any)
		return RQL_OK;
	if (!(part = rql_codes_new(s->arena, s->d)))
		return rql_error_memory(s->err, 0, "a plan");
	RQL_TRY(select_by_threads(s, e, entry, negated, left, part));
	for (uint32_t w = 0; w < rql_codes_words(s->d); w++)
		set[w] = (set[w] & ~left[w]) | (part[w] & left[w]);
	return RQL_OK;
}

static struct rql_entry *as_entries(struct selection *s, const struct rql_expr *e)
{
	return s->d->type.id == RQL_TYPE_VARCHAR ? rql_compile_entries(s->arena, e) : NULL;
}

static rql_status select_codes(struct selection *s, const struct rql_expr *e, bool negated, const uint64_t *within,
                               uint64_t *set);

/* set, of codes in *left, after one part: what it leaves open is left. */
static rql_status select_part(struct selection *s, const struct rql_expr *e, bool negated, bool all, uint64_t *left,
                              uint64_t *set)
{
	uint64_t *part = rql_codes_new(s->arena, s->d);
	if (!part)
		return rql_error_memory(s->err, 0, "a plan");
	RQL_TRY(select_codes(s, e, negated, left, part));
	for (uint32_t w = 0; w < rql_codes_words(s->d); w++) {
		part[w] &= left[w];
		left[w] &= all ? part[w] : ~part[w];
		set[w] |= part[w];
	}
	return RQL_OK;
}

/* The parts of AND and OR: those first that need no host, then the others together, for the codes that are left open. */
static rql_status select_parts(struct selection *s, const struct rql_expr *e, bool negated, const uint64_t *within,
                               uint64_t *set)
{
	bool all = (e->kind == RQL_EXPR_AND) != negated;
	uint64_t *left = rql_codes_new(s->arena, s->d);
	struct rql_expr rest = *e;
	if (!left || !(rest.children = RQL_NEW_ARRAY(s->arena, struct rql_expr *, e->child_count)))
		return rql_error_memory(s->err, 0, "a plan");
	rest.child_count = 0;
	rql_bits_set(left, 0, s->d->count);
	for (uint32_t w = 0; within && w < rql_codes_words(s->d); w++)
		left[w] &= within[w];
	for (uint32_t i = 0; i < e->child_count; i++) {
		struct rql_expr *part = e->children[i];
		if (is_plain(part, s->d->type) || as_entries(s, part))
			RQL_TRY(select_part(s, part, negated, all, left, set));
		else
			rest.children[rest.child_count++] = part;
	}
	if (rest.child_count)
		RQL_TRY(select_part(s, rest.child_count == 1 ? rest.children[0] : &rest, negated, all, left, set));
	for (uint32_t w = 0; all && w < rql_codes_words(s->d); w++)
		set[w] = left[w];
	return RQL_OK;
}

static bool has_own_part(struct selection *s, const struct rql_expr *e)
{
	for (uint32_t i = 0; i < e->child_count; i++)
		if (is_plain(e->children[i], s->d->type) || as_entries(s, e->children[i]))
			return true;
	return false;
}

/* A plain condition of a function whose few values are there: on each of them, then on the codes that have it. */
static rql_status select_by_keys(struct selection *s, const struct rql_expr *e, bool negated, uint64_t *set, bool *done)
{
	const struct rql_expr *of = e->child_count ? e->children[0] : NULL;
	const struct rql_codes_keys *keys;
	struct rql_expr plain = *e;
	*done = false;
	if (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR || e->kind == RQL_EXPR_NOT || !of || of->kind == RQL_EXPR_CONSTANT ||
	    !rql_codes_values_there(s->ctx, s->d, of))
		return RQL_OK;
	struct rql_expr *ref = rql_expr_new(s->arena, RQL_EXPR_REF, of->type, 0);
	if (!ref || !(plain.children = RQL_NEW_ARRAY(s->arena, struct rql_expr *, e->child_count)))
		return rql_error_memory(s->err, 0, "a plan");
	memcpy(plain.children, e->children, e->child_count * sizeof *plain.children);
	plain.children[0] = ref;
	if (!is_plain(&plain, of->type))
		return RQL_OK;
	RQL_TRY(rql_codes_keys(s->ctx, s->arena, s->d, of, &keys, s->err));
	if (!keys)
		return RQL_OK;
	uint64_t *of_values = rql_codes_new(s->arena, &keys->values);
	if (!of_values)
		return rql_error_memory(s->err, 0, "a plan");
	RQL_TRY(select_plain(s->arena, &keys->values, &plain, negated, of_values, s->err));
	for (uint32_t c = 0; c < s->d->count; c++)
		rql_bit_or(set, c, rql_bit(of_values, keys->of_code[c]));
	*done = true;
	return RQL_OK;
}

static rql_status select_codes(struct selection *s, const struct rql_expr *e, bool negated, const uint64_t *within,
                               uint64_t *set)
{
	bool done;
	if (is_plain(e, s->d->type))
		return select_plain(s->arena, s->d, e, negated, set, s->err);
	if (e->type.id != RQL_TYPE_BOOLEAN)
		return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "a predicate is not of type BOOLEAN");
	if (!s->d->count)
		return RQL_OK;
	if (e->kind == RQL_EXPR_NOT)
		return select_codes(s, e->children[0], !negated, within, set);
	if ((e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR) && has_own_part(s, e))
		return select_parts(s, e, negated, within, set);
	RQL_TRY(select_by_keys(s, e, negated, set, &done));
	if (done)
		return RQL_OK;
	struct rql_entry *entry = as_entries(s, e);
	if (entry)
		return select_by_entries(s, e, entry, negated, within, set);
	return select_by_host(s, e, negated, within, set);
}

rql_status rql_codes_select(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *e, bool negated, const uint64_t *within, uint64_t **out,
                            struct rql_error *err)
{
	struct selection s = {ctx, arena, d, err};
	uint64_t *set = rql_codes_new(arena, d);
	if (!set)
		return rql_error_memory(err, 0, "a plan");
	RQL_TRY(select_codes(&s, e, negated, within, set));
	*out = set;
	return RQL_OK;
}

struct evaluating {
	struct rql_arena *arena;
	struct rql_column *column;
};

static rql_status put_value(void *state, const struct rql_column *value, uint64_t row, uint32_t code,
                            struct rql_error *err)
{
	struct evaluating *s = state;
	unsigned bytes = rql_type_bytes(value->type);
	char *to = (char *)s->column->data + (size_t)code * bytes;
	if (!rql_column_valid(value, row)) {
		rql_bit_clear(s->column->validity, code);
		return RQL_OK;
	}
	memcpy(to, (const char *)value->data + row * bytes, bytes);
	if (value->type.id == RQL_TYPE_VARCHAR || value->type.id == RQL_TYPE_BLOB) {
		struct rql_string *string = (struct rql_string *)(void *)to;
		if (string->length > RQL_STRING_INLINE) {
			const char *copy = rql_arena_strndup(s->arena, string->pointer.data, string->length);
			if (!copy)
				return rql_error_memory(err, string->length, "a plan");
			string->pointer.data = copy;
		}
	}
	return RQL_OK;
}

/* *by_host: what is left to it; NULL: nothing. */
static rql_status evaluate_entries(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                   const struct rql_dimension *d, const struct rql_expr *e, struct rql_entry *entry,
                                   struct rql_column *column, const uint64_t **by_host, struct rql_error *err)
{
	struct rql_entry_run run;
	RQL_TRY(begin_entries(ctx, arena, d, NULL, &run, err));
	RQL_TRY(rql_entry_evaluate(&run, entry, column, err));
	if (run.refused)
		return refuse_entries(err, e);
	for (uint32_t w = 0; w < rql_codes_words(d) && run.unknown_count; w++)
		column->validity[w] |= run.unknown[w]; /* put_value says what is not */
	*by_host = run.unknown_count ? run.unknown : NULL;
	return RQL_OK;
}

static bool has_values(const struct rql_expr *e)
{
	return rql_type_bytes(e->type) && e->type.id != RQL_TYPE_INTERVAL;
}

/* Room for the value of every code; all are valid. */
static rql_status values_room(struct rql_arena *arena, const struct rql_dimension *d, struct rql_type type,
                              struct rql_column *out, struct rql_error *err)
{
	*out = (struct rql_column){.type = type,
	                           .data = rql_arena_array(arena, (size_t)d->count + 1, rql_type_bytes(type)),
	                           .validity = RQL_NEW_ARRAY(arena, uint64_t, rql_codes_words(d) + 1)};
	if (!out->data || !out->validity)
		return rql_error_memory(err, 0, "a plan");
	memset(out->validity, 0xff, rql_codes_words(d) * sizeof *out->validity);
	return RQL_OK;
}

rql_status rql_codes_evaluate_here(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                   const struct rql_dimension *d, const struct rql_expr *e, struct rql_column *out,
                                   bool *done, struct rql_error *err)
{
	const uint64_t *by_host = NULL;
	struct rql_entry *entry =
		d->count && d->type.id == RQL_TYPE_VARCHAR && has_values(e) ? rql_compile_entries(arena, e) : NULL;
	*done = false;
	if (!entry)
		return RQL_OK;
	RQL_TRY(values_room(arena, d, e->type, out, err));
	RQL_TRY(evaluate_entries(ctx, arena, d, e, entry, out, &by_host, err));
	*done = !by_host;
	return RQL_OK;
}

rql_status rql_codes_evaluate(const struct rql_plan_context *ctx, struct rql_arena *arena,
                              const struct rql_dimension *d, const struct rql_expr *e, struct rql_column *out,
                              struct rql_error *err)
{
	if (!has_values(e))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a group key has the type %s, which RayQL does not hold",
		                     rql_type_id_name(e->type.id));
	struct rql_column column;
	RQL_TRY(values_room(arena, d, e->type, &column, err));
	struct evaluating s = {arena, &column};
	const uint64_t *by_host = NULL;
	struct rql_entry *entry = d->count && d->type.id == RQL_TYPE_VARCHAR ? rql_compile_entries(arena, e) : NULL;
	if (entry)
		RQL_TRY(evaluate_entries(ctx, arena, d, e, entry, &column, &by_host, err));
	if (d->count && (!entry || by_host))
		RQL_TRY(over_dictionary(ctx, arena, d, e, by_host, put_value, &s, err));
	*out = column;
	return RQL_OK;
}

/* ---- the price ---- */

double rql_codes_price(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                       const struct rql_expr *e, bool selects)
{
	const struct rql_device *cpu = &ctx->devices->device[0];
	struct selection s = {ctx, arena, d, NULL};
	if (selects && is_plain(e, d->type))
		return 0;
	bool logic = e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR;
	double sum = 0;
	if (selects && (e->kind == RQL_EXPR_NOT || (logic && has_own_part(&s, e)))) {
		for (uint32_t i = 0; i < e->child_count; i++)
			sum += rql_codes_price(ctx, arena, d, e->children[i], true);
		return sum;
	}
	struct rql_entry *entry = as_entries(&s, e);
	if (entry) {
		const struct rql_entry_price price = price_of(ctx, d, entry, NULL);
		return selects                                ? rql_codes_device_price(ctx, arena, d, entry, &price)
		       : rql_codes_values_there(ctx, d, e) ? 0
		                                           : price.cpu_ns;
	}
	return d->count * (rql_host_work_expression(e) * cpu->profile.host_value_ns + FETCHED_NS);
}
