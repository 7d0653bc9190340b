#include "plan/codes.h"

#include <math.h>
#include <string.h>

uint64_t *rql_codes_new(struct rql_arena *arena, const struct rql_dimension *d)
{
	return RQL_NEW_ARRAY(arena, uint64_t, rql_codes_words(d) + 1);
}

static void add_range(uint64_t *set, uint32_t from, uint32_t to)
{
	for (uint32_t c = from; c < to; c++)
		set[c >> 6] |= 1ull << (c & 63);
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
		add_range(set, 0, below);
	if (equal != negated)
		add_range(set, below, through);
	if (greater != negated)
		add_range(set, through, all);
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
			add_range(set, boundary(d, v, false), boundary(d, v, true));
	}
	if (!outside)
		return;
	/* x NOT IN (..., NULL) is never true. */
	for (uint32_t w = 0; w < words; w++)
		set[w] = has_null ? 0 : ~set[w];
	for (uint32_t c = value_count(d); c < words * 64; c++)
		set[c >> 6] &= ~(1ull << (c & 63));
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
			add_range(set, value_count(d), d->count);
		else
			add_range(set, 0, value_count(d));
		return RQL_OK;
	case RQL_EXPR_BETWEEN:
		return select_between(arena, d, e, negated, set, err);
	case RQL_EXPR_NOT:
		return select_plain(arena, d, e->children[0], !negated, set, err);
	default: /* AND, OR: De Morgan's rules hold for three-valued "is true" and "is false" */
		return combine(arena, d, e->children, e->child_count, negated, (e->kind == RQL_EXPR_AND) != negated, set, err);
	}
}

/* ---- by the host ---- */

static void print_dimension(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index;
	(void)state;
	rql_strbuf_put(out, "c1");
}

/* 0.0 and -0.0 are one value, and so are all NaNs: one entry of the dictionary. A function that tells them apart, such
 * as a cast to VARCHAR, has no single value there. */
static bool is_real(struct rql_type type)
{
	return type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE;
}

static bool has_two_faces(const struct rql_dimension *d)
{
	for (uint32_t c = 0; is_real(d->type) && c < value_count(d); c++) {
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
		return is_real(e->type) || rql_type_is_integer(e->type) || e->type.id == RQL_TYPE_DECIMAL ||
		       e->type.id == RQL_TYPE_BOOLEAN;
	for (size_t i = 0; e->kind == RQL_EXPR_FUNCTION && i < sizeof names / sizeof *names; i++)
		if (!strcmp(e->name, names[i]))
			return true;
	return e->kind != RQL_EXPR_FUNCTION;
}

static bool tells_faces_apart(const struct rql_expr *e)
{
	for (uint32_t i = 0; i < e->child_count; i++)
		if ((is_real(e->children[i]->type) && e->children[i]->kind != RQL_EXPR_CONSTANT && !keeps_equals_equal(e)) ||
		    tells_faces_apart(e->children[i]))
			return true;
	return false;
}

static rql_status run_over_dictionary(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                      const struct rql_dimension *d, const struct rql_expr *e,
                                      struct rql_host_result **out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	uint32_t *codes = RQL_NEW_ARRAY(arena, uint32_t, d->count);
	if (!codes)
		return rql_error_memory(err, 0, "a plan");
	for (uint32_t c = 0; c < d->count; c++)
		codes[c] = c;
	struct rql_column columns[2] = {{.type = rql_type_simple(RQL_TYPE_UINTEGER), .data = codes}, d->values};
	struct rql_batch batch = {.rows = d->count, .column_count = 2, .columns = columns};
	uint64_t number = rql_host_lend(ctx->host_db, &batch);
	rql_strbuf_put(&sql, "SELECT c0, (");
	bool ok = number && !(tells_faces_apart(e) && has_two_faces(d)) && rql_expr_print(&sql, e, print_dimension, NULL);
	rql_strbuf_printf(&sql, ") FROM system.main.rayql_batch(%llu)", (unsigned long long)number);
	rql_status status;
	if (!ok) {
		struct rql_strbuf text = {0};
		rql_expr_describe(&text, e);
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s cannot be evaluated over a dictionary",
		                       rql_strbuf_text(&text));
		rql_strbuf_free(&text);
	} else {
		status = rql_host_query(ctx->host, rql_strbuf_text(&sql), out, err);
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

static rql_status over_dictionary(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                  const struct rql_dimension *d, const struct rql_expr *e, put_fn *put, void *state,
                                  struct rql_error *err)
{
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL;
	/* An error over a value that no row of the answer has would abort the user's transaction. */
	if (ctx->snapshot_stamp)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "inside a transaction expressions are not evaluated ahead over a dictionary");
	RQL_TRY(run_over_dictionary(ctx, arena, d, e, &result, err));
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
	if (status == RQL_OK && rows != d->count)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "the host evaluated %llu of %u dictionary entries",
		                       (unsigned long long)rows, d->count);
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
		s->set[code >> 6] |= 1ull << (code & 63);
	return RQL_OK;
}

rql_status rql_codes_select(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *e, bool negated, uint64_t **out, struct rql_error *err)
{
	uint64_t *set = rql_codes_new(arena, d);
	if (!set)
		return rql_error_memory(err, 0, "a plan");
	rql_status status = RQL_OK;
	if (is_plain(e, d->type)) {
		status = select_plain(arena, d, e, negated, set, err);
	} else if (e->type.id != RQL_TYPE_BOOLEAN) {
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a predicate is not of type BOOLEAN");
	} else if (d->count) {
		struct selecting s = {set, negated};
		status = over_dictionary(ctx, arena, d, e, put_code, &s, err);
	}
	if (status == RQL_OK)
		*out = set;
	return status;
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
		s->column->validity[code >> 6] &= ~(1ull << (code & 63));
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

rql_status rql_codes_evaluate(const struct rql_plan_context *ctx, struct rql_arena *arena,
                              const struct rql_dimension *d, const struct rql_expr *e, struct rql_column *out,
                              struct rql_error *err)
{
	unsigned bytes = rql_type_bytes(e->type);
	if (!bytes || e->type.id == RQL_TYPE_INTERVAL)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a group key has the type %s, which RayQL does not hold",
		                     rql_type_id_name(e->type.id));
	struct rql_column column = {.type = e->type,
	                            .data = rql_arena_array(arena, (size_t)d->count + 1, bytes),
	                            .validity = RQL_NEW_ARRAY(arena, uint64_t, rql_codes_words(d) + 1)};
	if (!column.data || !column.validity)
		return rql_error_memory(err, 0, "a plan");
	memset(column.validity, 0xff, rql_codes_words(d) * sizeof *column.validity);
	struct evaluating s = {arena, &column};
	if (d->count)
		RQL_TRY(over_dictionary(ctx, arena, d, e, put_value, &s, err));
	*out = column;
	return RQL_OK;
}
