/* Expressions over a dictionary's entries (expr/entries.h), made of DuckDB's plans by flow/compute/compile_entries.c, against
 * DuckDB over a table of the same strings: random functions, patterns, escapes and lists; in every instruction set, alone
 * and on two threads. Case is compared for every code point. test_entries_host [EXPRESSIONS [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "flow/compute/compile_entries.h"
#include "host_fixture.h"
#include "primitive/text.h"
#include "vulkan_fixture.h"

/* Under TSan the host gives every answer many times as slowly, and what runs threads is the same for any expression. */
#ifdef __SANITIZE_THREAD__
static unsigned expression_count = 150;
#else
static unsigned expression_count = 1200;
#endif
static uint64_t seed = 20261123;

static uint32_t roll(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}
#define PICK(list) (list)[roll(sizeof(list) / sizeof((list)[0]))]

static void sql(struct fixture *f, const char *text)
{
	struct rql_error err = {0};
	if (rql_host_query(f->con, text, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
}

/* ---- the tables: strings of all kinds, of which `plain` has ASCII alone, and NULL at the end ---- */

/* Enough for several threads. The host is many times as slow under a sanitizer, and gives every answer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ENTRIES 5000u
#else
#define ENTRIES 20000u
#endif

static void make_tables(struct fixture *f)
{
	char text[2000];
	for (unsigned plain = 0; plain < 2; plain++) {
		snprintf(text, sizeof text,
		         "create table %s as select distinct list_aggregate("
		         "list_transform(range((h %% if(h %% 7 = 0, 60, 16))::bigint), lambda i: list_extract(%s, 1 + (hash(r, i) %% %u)::int)), 'string_agg', '') as s "
		         "from (select range as r, hash(range) as h from range(%u))",
		         plain ? "plain" : "mixed",
		         plain ? "['a','b','c','A','B','%','_','.',' ','x']"
		               : "['a','b','ab','A','B','%','_','.','\\','é','É','ж','Ж','日','😀','ß',chr(10),'/']",
		         plain ? 10 : 18, ENTRIES);
		sql(f, text);
		snprintf(text, sizeof text, "update %s set s = coalesce(s, ''); insert into %s values (NULL)",
		         plain ? "plain" : "mixed", plain ? "plain" : "mixed");
		sql(f, text);
		snprintf(text, sizeof text, "create table %s_sorted as select * from (select distinct s from %s) order by s nulls last",
		         plain ? "plain" : "mixed", plain ? "plain" : "mixed");
		sql(f, text);
	}
}

struct rows {
	struct rql_host_result *result;
	uint64_t count;
	struct rql_column column; /* gathered */
	struct rql_batch *batches[64];
	unsigned batch_count;
};

/* The result's only column in one piece. false: the host raised an error. */
static bool fetch(struct fixture *f, const char *query, struct rows *out)
{
	struct rql_error err = {0};
	*out = (struct rows){0};
	if (rql_host_query(f->con, query, &out->result, &err) != RQL_OK) {
		rql_error_clear(&err);
		return false;
	}
	for (;;) {
		struct rql_batch *batch = NULL;
		if (rql_host_fetch(out->result, &batch, &err) != RQL_OK)
			fail_msg("%s: %s", query, rql_error_message(&err));
		if (!batch)
			break;
		unsigned bytes = rql_type_bytes(batch->columns[0].type);
		out->column.type = batch->columns[0].type;
		out->column.data = realloc(out->column.data, (out->count + batch->rows + 1) * bytes);
		out->column.validity = realloc(out->column.validity, ((out->count + batch->rows) / 64 + 1) * 8);
		assert_true(out->column.data && out->column.validity);
		memcpy((char *)out->column.data + out->count * bytes, batch->columns[0].data, batch->rows * bytes);
		for (uint64_t r = 0; r < batch->rows; r++) {
			uint64_t at = out->count + r, bit = UINT64_C(1) << (at & 63);
			out->column.validity[at >> 6] &= ~bit;
			out->column.validity[at >> 6] |= rql_column_valid(&batch->columns[0], r) ? bit : 0;
		}
		out->count += batch->rows;
		assert_true(out->batch_count < 64);
		out->batches[out->batch_count++] = batch;
	}
	return true;
}

static void forget(struct rows *r)
{
	for (unsigned i = 0; i < r->batch_count; i++)
		rql_batch_release(r->batches[i]);
	rql_host_result_free(r->result);
	free(r->column.data);
	free(r->column.validity);
}

/* As stores hold them: long texts side by side, in the order of the codes. */
static void make_dimension(struct rows *r, struct rql_arena *arena, struct rql_dimension *out)
{
	struct rql_string *strings = r->column.data;
	size_t bytes = 0;
	for (uint64_t i = 0; i + 1 < r->count; i++)
		bytes += strings[i].length;
	char *at = rql_arena_alloc(arena, bytes);
	assert_non_null(at);
	for (uint64_t i = 0; i + 1 < r->count; i++)
		if (strings[i].length > RQL_STRING_INLINE) {
			memcpy(at, strings[i].pointer.data, strings[i].length);
			strings[i].pointer.data = at;
			at += strings[i].length;
		}
	assert_false(rql_column_valid(&r->column, r->count - 1));
	*out = (struct rql_dimension){
		.type = r->column.type, .values = r->column, .count = (uint32_t)r->count, .has_null = true};
}

/* ---- random expressions ---- */
struct text {
	char data[6000];
	size_t length;
};

static void put(struct text *t, const char *fmt, ...) RQL_PRINTF(2, 3);
static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(t->data + t->length, sizeof(t->data) - t->length, fmt, args);
	va_end(args);
	if (n > 0 && t->length + (size_t)n < sizeof(t->data))
		t->length += (size_t)n;
}

static const char *const letters[] = {"a", "b", "ab", "A",  "B",  "x", ".",  "é",
                                      "É", "ж", "日", "😀", "ß", "ba", " ", "bA"};

static void put_word(struct text *t, bool wild)
{
	put(t, "'");
	for (unsigned n = roll(roll(3) ? 4 : 7); n; n--) {
		unsigned kind = wild ? roll(10) : 9;
		put(t, "%s", kind < 3 ? "%" : kind < 5 ? "_" : kind == 5 ? "\\" : PICK(letters));
	}
	put(t, "'");
}

/* Regular expressions: of all kinds that there are kernels for, and some that are the host's. */
static void put_regexp(struct text *t, unsigned depth)
{
	static const char *const atoms[] = {"a",   "b",    "é",     ".",     "[^/]", "[a-c]", "[^a]", "\\d", "\\.", "A",
	                                    "\\s", "\\W",  "[.%_]", "[^é]",  "ab",   "\\\\", "日",  "[^\\w]", "[\\]a]", "x"};
	for (unsigned n = 1 + roll(4); n; n--) {
		if (depth && roll(4) == 0) {
			put(t, roll(2) ? "(" : "(?:");
			put_regexp(t, depth - 1);
			put(t, roll(3) ? ")" : ")?");
		} else {
			put(t, "%s%s", PICK(atoms), PICK(((const char *const[]){"", "", "", "*", "+", "?", "+", "*?", "{2}"})));
		}
	}
	if (roll(20) == 0)
		put(t, "|b");
}

static void put_anchored(struct text *t)
{
	put(t, ", '%s", roll(3) ? "" : "^");
	put_regexp(t, 2);
	put(t, "%s'", roll(3) ? "" : "$");
}

static void gen_truth(struct text *t, unsigned depth);
static void gen_integer(struct text *t, unsigned depth);

static void gen_text(struct text *t, unsigned depth)
{
	switch (depth ? roll(11) : 0) {
	case 6:
		put(t, "regexp_replace(");
		gen_text(t, depth - 1);
		put_anchored(t);
		put(t, ", '%s')", PICK(((const char *const[]){"", "\\1", "<\\0>", "\\2\\1", "x\\\\é", "\\1", "a longer text", "\\x"})));
		break;
	case 1:
		put(t, "%s(", roll(2) ? "upper" : "lower");
		gen_text(t, depth - 1);
		put(t, ")");
		break;
	case 2:
		put(t, "%s(", roll(2) ? "substring" : "substr");
		gen_text(t, depth - 1);
		put(t, ", %d", (int)roll(14) - (roll(4) ? 0 : 10));
		if (roll(4))
			put(t, ", %d", (int)roll(14) - (roll(4) ? 0 : 10));
		put(t, ")");
		break;
	case 3:
		put(t, "%s(", roll(2) ? "left" : "right");
		gen_text(t, depth - 1);
		put(t, ", %d)", (int)roll(12) - (roll(3) ? 0 : 8));
		break;
	case 4:
		put(t, "CASE WHEN ");
		gen_truth(t, depth - 1);
		put(t, " THEN ");
		gen_text(t, depth - 1);
		if (roll(3)) {
			put(t, " ELSE ");
			gen_text(t, depth - 1);
		}
		put(t, " END");
		break;
	case 5:
		put(t, "coalesce(");
		gen_text(t, depth - 1);
		put(t, ", 'a long text that is none of them')");
		break;
	default:
		put(t, "s");
	}
}

static void gen_integer(struct text *t, unsigned depth)
{
	switch (depth ? roll(8) : 1) {
	case 0:
		put(t, "%s(", roll(2) ? "strpos" : "instr");
		gen_text(t, depth - 1);
		put(t, ", ");
		put_word(t, false);
		put(t, ")");
		break;
	case 1:
	case 2:
		put(t, "%s(", PICK(((const char *const[]){"length", "strlen", "len", "char_length"})));
		gen_text(t, depth ? depth - 1 : 0);
		put(t, ")");
		break;
	case 3:
		put(t, "(");
		gen_integer(t, depth - 1);
		put(t, " %c %d)", "+-*"[roll(3)], (int)roll(30));
		break;
	case 4:
		put(t, "CASE WHEN ");
		gen_truth(t, depth - 1);
		put(t, " THEN ");
		gen_integer(t, depth - 1);
		put(t, roll(2) ? " ELSE 3 END" : " ELSE NULL END");
		break;
	default:
		put(t, "length(s)");
	}
}

static void gen_match(struct text *t, unsigned depth)
{
	switch (roll(9)) {
	case 3:
	case 4:
		put(t, "%s(", roll(3) ? "regexp_matches" : "regexp_full_match");
		gen_text(t, depth);
		put_anchored(t);
		put(t, ")");
		break;
	case 0:
		put(t, "%s(", PICK(((const char *const[]){"prefix", "starts_with", "suffix", "ends_with", "contains"})));
		gen_text(t, depth);
		put(t, ", ");
		put_word(t, false);
		put(t, ")");
		break;
	case 1:
		gen_text(t, depth);
		put(t, roll(3) ? " ILIKE '%s%s%s'" : " NOT ILIKE '%s%s%s'", roll(3) ? "%" : "", PICK(letters), roll(2) ? "%" : "_");
		break;
	case 2:
		gen_text(t, depth);
		put(t, roll(3) ? " LIKE " : " NOT LIKE ");
		put_word(t, true);
		put(t, " ESCAPE '%s'", PICK(((const char *const[]){"\\", ".", "a", "\\", "%", ""})));
		break;
	default:
		gen_text(t, depth);
		put(t, roll(3) ? " LIKE " : " NOT LIKE ");
		put_word(t, true);
	}
}

static void gen_truth(struct text *t, unsigned depth)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};
	switch (depth ? roll(10) : 9) {
	case 0:
	case 1:
		put(t, "(");
		gen_truth(t, depth - 1);
		put(t, roll(2) ? " AND " : " OR ");
		gen_truth(t, depth - 1);
		put(t, ")");
		break;
	case 2:
		put(t, "NOT (");
		gen_truth(t, depth - 1);
		put(t, ")");
		break;
	case 3:
		gen_text(t, depth - 1);
		put(t, roll(2) ? " IS NULL" : " IS NOT NULL");
		break;
	case 4:
		gen_integer(t, depth - 1);
		put(t, " %s %u", PICK(compare), roll(20));
		break;
	case 5:
		gen_text(t, depth - 1);
		put(t, " %s ", PICK(compare));
		if (roll(3))
			put_word(t, false);
		else
			gen_text(t, depth - 1);
		break;
	case 6:
		gen_text(t, depth - 1);
		put(t, " %sIN (", roll(3) ? "" : "NOT ");
		for (unsigned n = 1 + roll(5); n; n--) {
			put_word(t, false);
			put(t, n > 1 ? ", " : roll(4) ? "" : ", NULL");
		}
		put(t, ")");
		break;
	case 7:
		gen_integer(t, depth - 1);
		if (roll(2))
			put(t, " BETWEEN %u AND %u", roll(6), roll(20));
		else
			put(t, " %sIN (1, 2, 5, %u)", roll(3) ? "" : "NOT ", roll(20));
		break;
	default:
		gen_match(t, depth ? depth - 1 : 0);
	}
}

/* ---- comparing ---- */
struct world {
	struct fixture *f;
	struct rql_arena *arena;
	const char *table;
	struct rql_dimension dimension;
	struct rql_pool *pool;
	struct rql_texts *texts; /* on a GPU; NULL: there is none */
	unsigned compiled, planned, refused, unknown, truths, worded;
};

/* The planner folds constants first: here, what a plan has around literals. */
static void fold(struct rql_expr *e)
{
	for (uint32_t i = 0; i < e->child_count; i++)
		fold(e->children[i]);
	if (e->child_count != 1 || e->children[0]->kind != RQL_EXPR_CONSTANT)
		return;
	struct rql_value v = e->children[0]->value;
	bool minus = e->kind == RQL_EXPR_FUNCTION && !strcmp(e->name, "-");
	bool same = rql_type_is_integer(e->type) == rql_type_is_integer(v.type) || v.is_null;
	if (!minus && !(e->kind == RQL_EXPR_CAST && same))
		return;
	v.type = e->type;
	v.integer = minus ? -v.integer : v.integer;
	*e = (struct rql_expr){.kind = RQL_EXPR_CONSTANT, .type = e->type, .value = v};
}

/* The plan's only expression. NULL: it was folded, or is an error. */
static const struct rql_expr *planned(struct world *w, struct rql_arena *arena, const char *query)
{
	char *json = NULL;
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	struct rql_expr *expr = NULL;
	if (rql_host_plan(w->f->con, query, &json, &err) == RQL_OK &&
	    rql_rel_parse(arena, rql_plan_dialect_of(rql_host_library_version()), json, strlen(json), &rel, &err) == RQL_OK && rel->kind == RQL_REL_PROJECT &&
	    rel->children[0]->kind == RQL_REL_GET && rel->expr_count == 1)
		fold(expr = rel->exprs[0]);
	free(json);
	rql_error_clear(&err);
	return expr;
}

static bool is_wanted(const struct rql_entry_run *run, uint32_t i)
{
	return (!run->within || (run->within[i >> 6] >> (i & 63) & 1)) && !(run->unknown[i >> 6] >> (i & 63) & 1);
}

static const struct rql_string *string_of(const struct rql_entry_run *run, uint32_t i)
{
	return (const struct rql_string *)run->dimension->values.data + i;
}

static void compare_set(const char *text, struct rql_entry_run *run, struct rql_entry *e, const struct rql_column *want)
{
	uint32_t n = run->dimension->count;
	for (unsigned negated = 0; negated < 2; negated++) {
		uint64_t *set = calloc(n / 64 + 1, 8);
		assert_non_null(set);
		assert_int_equal(rql_entry_select(run, e, negated, set, NULL), RQL_OK);
		for (uint32_t i = 0; i < n && !run->refused; i++)
			if (is_wanted(run, i) && (set[i >> 6] >> (i & 63) & 1) !=
			                             (rql_column_valid(want, i) && ((uint8_t *)want->data)[i] != negated))
				fail_msg("%s: '%.*s', %s", text, (int)string_of(run, i)->length, rql_string_data(string_of(run, i)),
				         negated ? "false" : "true");
		free(set);
	}
}

/* The same by a GPU's kernel, where the condition has that form. */
static void compare_words(struct world *w, const char *text, struct rql_arena *arena, const struct rql_entry *e,
                          const struct rql_column *want)
{
	const struct rql_dimension *d = &w->dimension;
	struct rql_text_program program;
	struct rql_error err = {0};
	for (unsigned negated = 0; negated < 2 && rql_entry_words(arena, e, negated, d, &program); negated++) {
		uint64_t *set = calloc(d->count / 64 + 1, 8);
		assert_non_null(set);
		w->worded += !negated;
		if (rql_texts_select(w->texts, &program, NULL, set, &err) != RQL_OK)
			fail_msg("%s: %s", text, rql_error_message(&err));
		for (uint32_t i = 0; i < d->count; i++) {
			bool got = set[i >> 6] >> (i & 63) & 1, valid = rql_column_valid(want, i);
			bool open = program.folds && i + 1 < d->count && (w->texts->wide[i >> 6] >> (i & 63) & 1);
			const struct rql_string *s = (const struct rql_string *)d->values.data + i;
			if (!open && got != (valid && ((uint8_t *)want->data)[i] != negated))
				fail_msg("%s: '%.*s', %s on a GPU", text, (int)s->length, rql_string_data(s), negated ? "false" : "true");
		}
		free(set);
	}
}

static void compare_column(const char *text, struct rql_entry_run *run, struct rql_entry *e, const struct rql_column *want)
{
	uint32_t n = run->dimension->count;
	struct rql_column got = {.type = want->type,
	                         .data = calloc(n + 1, rql_type_bytes(want->type)),
	                         .validity = calloc(n / 64 + 1, 8)};
	assert_true(got.data && got.validity);
	assert_int_equal(rql_entry_evaluate(run, e, &got, NULL), RQL_OK);
	for (uint32_t i = 0; i < n && !run->refused; i++) {
		bool valid = rql_column_valid(want, i);
		if (is_wanted(run, i) &&
		    (rql_column_valid(&got, i) != valid || (valid && rql_column_compare(&got, i, want, i) != 0)))
			fail_msg("%s: '%.*s'", text, (int)string_of(run, i)->length, rql_string_data(string_of(run, i)));
	}
	free(got.data);
	free(got.validity);
}

static void compare_expression(struct world *w, const char *text)
{
	char query[7000];
	struct rows want;
	struct rql_arena *arena = rql_arena_new();
	snprintf(query, sizeof query, "SELECT %s FROM %s_sorted", text, w->table);
	const struct rql_expr *expr = planned(w, arena, query);
	w->planned += expr != NULL;
	struct rql_entry *e = expr ? rql_compile_entries(arena, expr) : NULL;
	if (!e || !fetch(w->f, query, &want)) {
		if (e)
			fail_msg("%s: the host raises an error", text);
		rql_arena_free(arena);
		return;
	}
	w->compiled++;
	assert_int_equal(want.count, w->dimension.count);
	for (unsigned how = 0; how < 6; how++) {
		uint64_t *words = calloc(2 * (w->dimension.count / 64 + 1), 8), *within = words + w->dimension.count / 64 + 1;
		for (uint32_t i = 0; how >= 3 && i < w->dimension.count; i++)
			within[i >> 6] |= (uint64_t)(roll(5) == 0) << (i & 63);
		struct rql_entry_run run = {.dimension = &w->dimension,
		                            .pool = how % 2 ? w->pool : NULL,
		                            .simd = how % 3 ? RQL_SIMD_AVX2 : RQL_SIMD_PORTABLE,
		                            .arena = arena,
		                            .within = how >= 3 ? within : NULL,
		                            .unknown = words};
		if (rql_entry_kind(e) == RQL_ENTRY_TRUTH)
			compare_set(text, &run, e, &want.column);
		compare_column(text, &run, e, &want.column);
		w->refused += run.refused;
		w->unknown += run.unknown_count != 0;
		free(words);
	}
	w->truths += rql_entry_kind(e) == RQL_ENTRY_TRUTH;
	if (rql_entry_kind(e) == RQL_ENTRY_TRUTH && w->texts)
		compare_words(w, text, arena, e, &want.column);
	forget(&want);
	rql_arena_free(arena);
}

static void place(struct world *w, struct rql_devices *devices, struct rql_watch *watch)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	struct rql_device *device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
	struct rql_error err = {0};
	w->dimension.watch = watch;
#ifdef __SANITIZE_THREAD__ /* drivers have not been built for it */
	device = NULL;
#endif
	if (device && device->units[RQL_UNIT_COMPUTE] && rql_texts_place(&w->dimension, device, &w->texts, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

static void test_expressions(void **state)
{
	struct world w = {.f = *state};
	struct rql_devices *devices = NULL;
	struct rql_watch watch = {NULL};
	make_tables(w.f);
	vulkan_keep_drivers();
	assert_int_equal(rql_pool_new(2, &w.pool, NULL), RQL_OK);
	assert_int_equal(rql_devices_open(1, &devices, NULL), RQL_OK);
	for (unsigned plain = 0; plain < 2; plain++) {
		struct rows rows;
		w.arena = rql_arena_new();
		w.table = plain ? "plain" : "mixed";
		assert_true(fetch(w.f, plain ? "SELECT s FROM plain_sorted" : "SELECT s FROM mixed_sorted", &rows));
		make_dimension(&rows, w.arena, &w.dimension);
		place(&w, devices, &watch);
		for (unsigned i = 0; i < expression_count / 2; i++) {
			struct text t = {.length = 0};
			unsigned kind = roll(4);
			if (kind == 0)
				gen_text(&t, 1 + roll(3));
			else if (kind == 1)
				gen_integer(&t, 1 + roll(3));
			else
				gen_truth(&t, roll(4));
			compare_expression(&w, t.data);
		}
		rql_texts_release(w.texts);
		rql_placements_drop(&watch);
		forget(&rows);
		rql_arena_free(w.arena);
	}
	print_message("%u of %u plans compiled; runs: %u refused, %u with unknown entries\n", w.compiled, w.planned, w.refused,
	              w.unknown);
	print_message("%u of %u conditions ran on a GPU\n", w.worded, w.truths);
	assert_true(w.compiled * 10 > w.planned * 6);
	assert_true(!w.texts || w.worded * 4 > w.truths);
	rql_devices_close(devices);
	rql_pool_free(w.pool);
}

/* What the tables know of case is the host's. */
#ifndef __SANITIZE_THREAD__
static void test_case(void **state)
{
	struct rows in, want;
	char out[8];
	uint64_t known = 0;
	for (unsigned upper = 0; upper < 2; upper++) {
		char query[300];
		for (uint32_t plane = 0; plane < 0x110000; plane += 0x10000) { /* surrogates are no characters */
			static const char format[] =
				"SELECT %schr(i::int)%s FROM range(%u, %u) r(i) WHERE i NOT BETWEEN 55296 AND 57343 ORDER BY i";
			snprintf(query, sizeof query, format, "", "", plane + 1, plane + 0x10000);
			assert_true(fetch(*state, query, &in));
			snprintf(query, sizeof query, format, upper ? "upper(" : "lower(", ")", plane + 1, plane + 0x10000);
			assert_true(fetch(*state, query, &want));
			assert_int_equal(in.count, want.count);
			for (uint64_t i = 0; i < in.count; i++) {
				const struct rql_string *s = (const struct rql_string *)in.column.data + i,
										*to = (const struct rql_string *)want.column.data + i;
				if (!rql_text_case(rql_string_data(s), s->length, upper, out))
					continue;
				known++;
				if (to->length != s->length || memcmp(out, rql_string_data(to), s->length) != 0)
					fail_msg("%s('%.*s')", upper ? "upper" : "lower", (int)s->length, rql_string_data(s));
			}
			forget(&in);
			forget(&want);
		}
	}
	assert_true(known > 2 * 30000);
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__ /* it runs none */
		cmocka_unit_test_setup_teardown(test_case, setup, teardown),
#endif
		cmocka_unit_test_setup_teardown(test_expressions, setup, teardown),
	};
	if (argc > 1)
		expression_count = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
