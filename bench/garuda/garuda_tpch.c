/* rayql bench garuda --suite tpch: the queries of papers/004, 6.1.1, on TPC-H's tables. Columns come from DuckDB as words of 32
 * bits, keys as they are and prices in cents; the device joins and groups these, and DuckDB its own tables by the same SQL. The
 * answers' rows are compared by their number and the sum of a mix of each (rql_garuda_mix), which a row that is wrong, missing
 * or there twice changes. */
#include "bench/garuda/garuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/client.h"
#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "bench/ssb/ssb_data.h"
#include "bench/suite/suite_data.h"
#include "primitive/raster/group_by.h"
#include "util/bits.h"

#define DUCKDB_RUNS 3
#define DUCKDB_MS 4000 /* beyond which DuckDB is not asked once more */

/* What the queries name. LineOrder is "the materialized join between Lineitem and Orders". */
static const struct table {
	const char *name, *columns;
} tables[] = {
	{"customer", "c_custkey"},
	{"part", "p_partkey"},
	{"partsupp", "ps_partkey, ps_supplycost"},
	{"orders", "o_orderkey, o_custkey, o_orderdate, o_shippriority"},
	{"lineitem", "l_orderkey, l_partkey, l_extendedprice"},
};

static const struct join_query {
	const char *name, *tables[2], *keys[2];
} joins[] = {
	{"JO1, customer x orders", {"customer", "orders"}, {"c_custkey", "o_custkey"}},
	{"JO2, part x lineitem", {"part", "lineitem"}, {"p_partkey", "l_partkey"}},
	{"JO3, partsupp x lineitem", {"partsupp", "lineitem"}, {"ps_partkey", "l_partkey"}},
	{"JO4, orders x lineitem", {"orders", "lineitem"}, {"o_orderkey", "l_orderkey"}},
};
#define JOINS (sizeof(joins) / sizeof(*joins))

#define HOST 1u
#define ORDERKEY "o_orderkey"
#define DATE "o_orderdate"
#define PRIORITY "o_shippriority"
static const struct group_query {
	uint32_t figures; /* bits; HOST: also from the host's memory */
	const char *name, *table, *keys[RQL_GARUDA_KEYS], *value;
	bool sum;
} groups[] = {
	{1u << 12 | HOST, "SGO1, SUM by orderdate", "lineorder", {DATE}, "l_extendedprice", true},
	{1u << 12 | 1u << 13 | HOST, "SGO2, SUM by orderkey", "lineorder", {ORDERKEY}, "l_extendedprice", true},
	{1u << 12 | HOST, "SGO3, SUM by partkey", "partsupp", {"ps_partkey"}, "ps_supplycost", true},
	{1u << 13, "SGO2, COUNT by orderkey", "lineorder", {ORDERKEY}, "l_extendedprice", false},
	{1u << 13 | HOST, "MGO1, SUM by 2 keys", "lineorder", {ORDERKEY, DATE}, "l_extendedprice", true},
	{1u << 13, "MGO1, COUNT by 2 keys", "lineorder", {ORDERKEY, DATE}, "l_extendedprice", false},
	{1u << 13 | HOST, "MGO2, SUM by 3 keys", "lineorder", {ORDERKEY, DATE, PRIORITY}, "l_extendedprice", true},
	{1u << 13, "MGO2, COUNT by 3 keys", "lineorder", {ORDERKEY, DATE, PRIORITY}, "l_extendedprice", false},
};
#define GROUPS (sizeof(groups) / sizeof(*groups))

/* What DuckDB answered. Mixes of groups: by the first key alone, by all keys, by a word of 64 bits that has them all. */
enum { FIRST, ALL, PACKED, MIXES };
struct answer {
	bool known;
	double ms;
	uint64_t rows, most; /* most: rows of a group */
	uint64_t sums[MIXES]; /* of a join FIRST alone */
	uint64_t distinct;   /* of a join: keys of the build side */
};

struct rql_garuda_tpch {
	struct rql_relation_bench *bench;
	rayql_database *db;
	rayql_connection *con;
	double threads;
	struct answer joins[JOINS], groups[GROUPS];
};

/* ---- tables ---- */

/* The mix as macros. Operands are 64 bits wide and products 63. */
static rql_status make_macros(rayql_connection *con, struct rql_error *err)
{
	RQL_TRY(rql_client_run(con, err, "CREATE MACRO garuda_last(x) AS (xor(x, x >> 15) * %d::BIGINT >> 11) & 4294967295",
	                       RQL_BENCH_MIX_C));
	return rql_client_run(con, err,
	                      "CREATE MACRO garuda_mix(a, b) AS garuda_last(xor((a::BIGINT * %d) & 4294967295, "
	                      "(b::BIGINT * %d) & 4294967295))",
	                      RQL_BENCH_MIX_A, RQL_BENCH_MIX_B);
}

rql_status rql_garuda_tpch_open(struct rql_relation_bench *b, struct rql_garuda_tpch **out, struct rql_error *err)
{
	struct rql_garuda_tpch *t = calloc(1, sizeof(*t));
	if (!t)
		return rql_error_memory(err, sizeof(*t), "the benchmark's tables");
	t->bench = b;
	rql_status status = rql_client_open(NULL, 0, &t->db, &t->con, err);
	if (status == RQL_OK)
		status = rql_client_methods(t->con, false, err);
	if (status == RQL_OK)
		status = make_macros(t->con, err);
	if (status == RQL_OK)
		status = rql_client_number(t->con, &t->threads, err, "SELECT current_setting('threads')");
	if (status != RQL_OK)
		rql_garuda_tpch_close(t);
	else
		*out = t;
	return status;
}

void rql_garuda_tpch_close(struct rql_garuda_tpch *tpch)
{
	if (!tpch)
		return;
	rayql_disconnect(tpch->con);
	rayql_close(tpch->db);
	free(tpch);
}

static rql_status need_table(struct rql_garuda_tpch *t, const char *name, struct rql_error *err)
{
	const struct rql_relation_options *o = t->bench->options;
	const struct rql_suite_source_options source = {.size = o->scale, .data = o->data};
	bool exists;
	RQL_TRY(rql_ssb_table_exists(t->con, name, &exists, err));
	if (exists)
		return RQL_OK;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(tables[i].name, name))
			return rql_suite_load_parquet(t->con, name, tables[i].columns, &source, err);
	RQL_TRY(need_table(t, "orders", err));
	RQL_TRY(need_table(t, "lineitem", err));
	return rql_client_run(t->con, err,
	                      "CREATE TABLE lineorder AS SELECT o_orderkey, o_orderdate, o_shippriority, l_extendedprice "
	                      "FROM lineitem JOIN orders ON l_orderkey = o_orderkey");
}

/* ---- columns as words ---- */

struct words {
	uint64_t rows, seen;
	uint32_t count;
	uint32_t *of[RQL_GARUDA_KEYS + 1];
};

static void free_words(struct words *w)
{
	for (uint32_t c = 0; c < w->count; c++)
		free(w->of[c]);
	*w = (struct words){.rows = 0};
}

/* Rows come with their number in the table. */
static rql_status take_words(void *state, const rayql_batch *batch, struct rql_error *err)
{
	struct words *w = state;
	const int64_t *numbers = rayql_batch_data(batch, 0);
	const uint64_t rows = rayql_batch_rows(batch);
	for (uint32_t c = 0; c < w->count; c++) {
		const uint32_t *from = rayql_batch_data(batch, c + 1);
		const uint64_t *valid = rayql_batch_validity(batch, c + 1);
		for (uint64_t i = 0; i < rows; i++) {
			if ((uint64_t)numbers[i] >= w->rows || !rql_bit_valid(valid, i))
				return rql_error_set(err, RQL_ERROR_STATEMENT, "a column of TPC-H has a NULL, or a table a gap");
			w->of[c][numbers[i]] = from[i];
		}
	}
	w->seen += rows;
	return RQL_OK;
}

/* The word of 32 bits that a column's value becomes. */
static const char *word_of(const char *column)
{
	static const char *const words[][2] = {{DATE, "(" DATE " - DATE '1970-01-01')"},
	                                       {"l_extendedprice", "(l_extendedprice * 100)"},
	                                       {"ps_supplycost", "(ps_supplycost * 100)"}};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i][0], column))
			return words[i][1];
	return column;
}

static rql_status fetch(struct rql_garuda_tpch *t, const char *table, const char *const *columns, uint32_t count,
                        struct words *out, struct rql_error *err)
{
	struct words w = {.count = count};
	struct rql_strbuf sql = {0};
	double rows;
	RQL_TRY(rql_client_number(t->con, &rows, err, "SELECT count(*) FROM %s", table));
	w.rows = (uint64_t)rows;
	bool there = true;
	rql_strbuf_put(&sql, "SELECT rowid");
	for (uint32_t c = 0; c < count; c++) {
		w.of[c] = malloc(w.rows * 4 + 4);
		there &= w.of[c] != NULL;
		rql_strbuf_printf(&sql, ", %s::UINTEGER", word_of(columns[c]));
	}
	rql_strbuf_printf(&sql, " FROM %s", table);
	rql_status status = RQL_OK;
	if (!there || sql.failed)
		status = rql_error_memory(err, w.rows * 4 * count, "the benchmark's columns");
	else
		status = rql_client_batches(t->con, sql.data, take_words, &w, err);
	if (status == RQL_OK && w.seen != w.rows)
		status = rql_error_set(err, RQL_ERROR_STATEMENT, "%s gave other rows than it has", table);
	rql_strbuf_free(&sql);
	if (status == RQL_OK)
		*out = w;
	else
		free_words(&w);
	return status;
}

/* ---- DuckDB ---- */

struct numbers {
	uint64_t *of;
	uint32_t count;
};

static rql_status take_numbers(void *state, const rayql_batch *batch, struct rql_error *err)
{
	const struct numbers *n = state;
	(void)err;
	for (uint32_t c = 0; c < n->count && rayql_batch_rows(batch); c++)
		n->of[c] = ((const uint64_t *)rayql_batch_data(batch, c))[0];
	return RQL_OK;
}

/* Makes the table `answer` as often as it is fast, after a run to warm up: from tables in memory to a table in memory. */
static rql_status time_duckdb(struct rql_garuda_tpch *t, const char *query, double *ms, struct rql_error *err)
{
	struct rql_samples samples = {0};
	struct rql_strbuf sql = {0};
	double total = 0;
	rql_strbuf_printf(&sql, "CREATE OR REPLACE TEMP TABLE answer AS %s", query);
	rql_status status = sql.failed ? rql_error_memory(err, 256, "a statement") : RQL_OK;
	for (int i = 0; i <= DUCKDB_RUNS && total < DUCKDB_MS && status == RQL_OK; i++) {
		status = rql_client_time(t->con, sql.data, ms, NULL, NULL, err);
		total += *ms;
		if (i == 1)
			samples.count = 0;
		rql_samples_add(&samples, *ms);
	}
	*ms = rql_samples_median(&samples);
	rql_strbuf_free(&sql);
	return status;
}

static rql_status ask_join(struct rql_garuda_tpch *t, const struct join_query *q, struct answer *a, struct rql_error *err)
{
	char query[256];
	double distinct;
	uint64_t of[2] = {0, 0};
	struct numbers numbers = {of, 2};
	if (a->known)
		return RQL_OK;
	snprintf(query, sizeof(query), "SELECT b.rowid::UINTEGER AS b, p.rowid::UINTEGER AS p FROM %s b JOIN %s p ON %s = %s",
	         q->tables[0], q->tables[1], q->keys[0], q->keys[1]);
	RQL_TRY(time_duckdb(t, query, &a->ms, err));
	RQL_TRY(rql_client_batches(t->con, "SELECT count(*)::UBIGINT, sum(garuda_mix(b, p))::UBIGINT FROM answer", take_numbers,
	                           &numbers, err));
	RQL_TRY(rql_client_number(t->con, &distinct, err, "SELECT count(DISTINCT %s) FROM %s", q->keys[0], q->tables[0]));
	*a = (struct answer){.known = true, .ms = a->ms, .rows = of[0], .sums = {of[1]}, .distinct = (uint64_t)distinct};
	return rql_client_run(t->con, err, "DROP TABLE answer");
}

/* sum(mix) over an answer's rows, of `first` and so many further keys k1, ..., and the aggregates. */
static void put_mix(struct rql_strbuf *sql, uint32_t keys, const char *second, bool sum)
{
	rql_strbuf_put(sql, ", sum(");
	for (uint32_t i = 0; i < keys + (sum ? 2 : 0); i++)
		rql_strbuf_put(sql, "garuda_mix(");
	rql_strbuf_put(sql, "k0");
	for (uint32_t i = 1; i < keys; i++) {
		if (second)
			rql_strbuf_printf(sql, ", %s)", second);
		else
			rql_strbuf_printf(sql, ", k%u)", i);
	}
	rql_strbuf_put(sql, ", c)");
	if (sum)
		rql_strbuf_put(sql, ", s & 4294967295), s >> 32)");
	rql_strbuf_put(sql, ")::UBIGINT");
}

static rql_status sum_groups(struct rql_garuda_tpch *t, const struct group_query *q, uint32_t keys, struct answer *a,
                             struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	uint64_t of[2 + MIXES] = {0};
	struct numbers numbers = {of, 2 + MIXES};
	rql_strbuf_put(&sql, "SELECT count(*)::UBIGINT, max(c)::UBIGINT");
	put_mix(&sql, 1, NULL, q->sum);
	put_mix(&sql, keys, NULL, q->sum);
	put_mix(&sql, keys > 1 ? 2 : 1, keys > 2 ? "(k1 | (k2 << 16))" : "k1", q->sum);
	rql_strbuf_put(&sql, " FROM (SELECT c");
	for (uint32_t w = 0; w < keys; w++)
		rql_strbuf_printf(&sql, ", %s::BIGINT AS k%u", word_of(q->keys[w]), w);
	rql_strbuf_put(&sql, q->sum ? ", (s * 100)::BIGINT AS s FROM answer)" : " FROM answer)");
	rql_status status = sql.failed ? rql_error_memory(err, 512, "a statement") : RQL_OK;
	if (status == RQL_OK)
		status = rql_client_batches(t->con, sql.data, take_numbers, &numbers, err);
	rql_strbuf_free(&sql);
	*a = (struct answer){.known = status == RQL_OK, .ms = a->ms, .rows = of[0], .most = of[1],
	                     .sums = {of[2], of[3], of[4]}};
	return status;
}

static uint32_t keys_of(const struct group_query *q)
{
	uint32_t keys = 0;
	while (keys < RQL_GARUDA_KEYS && q->keys[keys])
		keys++;
	return keys;
}

static rql_status ask_group(struct rql_garuda_tpch *t, const struct group_query *q, struct answer *a, struct rql_error *err)
{
	char list[128] = "", query[512];
	const uint32_t keys = keys_of(q);
	if (a->known)
		return RQL_OK;
	for (uint32_t w = 0, at = 0; w < keys; w++)
		at += (uint32_t)snprintf(list + at, sizeof(list) - at, "%s%s", w ? ", " : "", q->keys[w]);
	snprintf(query, sizeof(query), "SELECT %s, count(*) AS c%s%s%s FROM %s GROUP BY %s", list, q->sum ? ", sum(" : "",
	         q->sum ? q->value : "", q->sum ? ") AS s" : "", q->table, list);
	RQL_TRY(time_duckdb(t, query, &a->ms, err));
	RQL_TRY(sum_groups(t, q, keys, a, err));
	return rql_client_run(t->con, err, "DROP TABLE answer");
}

/* Behind the lines of the device. */
static void report_duckdb(struct rql_garuda_tpch *t, const char *name, const struct answer *a)
{
	struct rql_strbuf *j = &t->bench->json;
	printf("%-44s %-26s %9.3f ms  %.0f threads, %llu rows come out\n", name, "DuckDB", a->ms, t->threads,
	       (unsigned long long)a->rows);
	rql_strbuf_put(j, ",\n  {");
	if (t->bench->figure)
		rql_json_count(j, "figure", t->bench->figure);
	rql_json_string(j, "case", name);
	rql_json_string(j, "variant", "DuckDB");
	rql_json_number(j, "ms", a->ms);
	rql_json_count(j, "threads", (uint64_t)t->threads);
	rql_json_count(j, "rows", a->rows);
	rql_strbuf_put(j, "}");
}

/* ---- joins ---- */

/* One join by all ways, its keys on the device. Figure 11 builds on either side. */
static rql_status measure_orders(struct rql_garuda_tpch *t, const struct join_query *q, struct rql_garuda_join *join,
                                 struct rql_error *err)
{
	const bool orders = t->bench->figure == 11;
	for (int swapped = 0; swapped < 1 + orders; swapped++) {
		join->swapped = swapped;
		join->ways = !orders ? 1u << RQL_GARUDA_STACK | 1u << RQL_GARUDA_DENSE
		                     : 1u << RQL_GARUDA_PARTS | (swapped ? 0 : 1u << RQL_GARUDA_SNAKE);
		if (orders)
			snprintf(join->name, sizeof(join->name), "%.3s, built on %s", q->name, q->tables[swapped]);
		RQL_TRY(rql_garuda_join_measure(t->bench, join, err));
	}
	return RQL_OK;
}

static rql_status measure_join(struct rql_garuda_tpch *t, const struct join_query *q, struct rql_garuda_join *join,
                               struct rql_error *err)
{
	if (t->bench->options->host)
		return rql_garuda_host(t->bench, join, err);
	RQL_TRY(rql_garuda_join_upload(t->bench, join, err));
	return measure_orders(t, q, join, err);
}

static rql_status run_join(struct rql_garuda_tpch *t, size_t number, struct rql_error *err)
{
	const struct join_query *q = &joins[number];
	struct answer *a = &t->joins[number];
	struct words sides[2] = {{0}, {0}};
	struct rql_garuda_join join = {.kernel = RQL_BENCH_PAIR_MIX};
	rql_status status = RQL_OK;
	for (int side = 0; side < 2 && status == RQL_OK; side++) {
		status = need_table(t, q->tables[side], err);
		if (status == RQL_OK)
			status = fetch(t, q->tables[side], &q->keys[side], 1, &sides[side], err);
		join.rows[side] = sides[side].rows;
		join.host_keys[side] = sides[side].of[0];
	}
	if (status == RQL_OK)
		status = ask_join(t, q, a, err);
	if (status == RQL_OK) {
		snprintf(join.name, sizeof(join.name), "%s", q->name);
		join.distinct = a->distinct;
		join.pairs = a->rows;
		join.sum = a->sums[FIRST];
		join.duckdb_ms = a->ms;
		status = measure_join(t, q, &join, err);
	}
	if (status == RQL_OK)
		report_duckdb(t, q->name, a);
	free_words(&sides[0]);
	free_words(&sides[1]);
	rql_relation_drop(t->bench);
	return status;
}

/* ---- group-bys ---- */

static rql_status check_group(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                              const struct rql_relation_bench_args *answer, uint32_t words, bool *good, struct rql_error *err)
{
	const struct answer *a = group->state;
	struct rql_relation_bench_args args = *answer;
	const bool wide = args.flags & RQL_BENCH_WIDE_KEYS;
	args.part = (uint32_t)group->rows;
	if (args.flags & RQL_BENCH_HEADS)
		args.keys = group->keys[0].buffer->address;
	for (uint32_t w = 1; w < group->key_words && args.flags & RQL_BENCH_HEADS; w++)
		args.column_to[w - 1] = group->keys[w].buffer->address;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_GROUP_MIX, &args, err));
	*good = rql_relation_results(b)[2] == 0 &&
	        rql_relation_results(b)[3] == a->sums[wide ? PACKED : words > 1 ? ALL : FIRST];
	return RQL_OK;
}

static rql_status measure_resident(struct rql_garuda_tpch *t, const struct words *w, struct rql_garuda_group *group,
                                   struct rql_error *err)
{
	for (uint32_t c = 0; c < w->count; c++) {
		struct rql_span *to = c < group->key_words ? &group->keys[c] : &group->values;
		RQL_TRY(rql_relation_buffer(t->bench, w->rows * 4, &to->buffer, err));
		RQL_TRY(rql_buffer_upload(to->buffer, 0, w->of[c], w->rows * 4, err));
	}
	return rql_garuda_group_measure(t->bench, group, err);
}

/* Several keys are a word of 64 bits. */
static rql_status measure_from_host(struct rql_garuda_tpch *t, const struct words *w, struct rql_garuda_group *group,
                                    struct rql_error *err)
{
	uint64_t *wide = NULL;
	group->host_key_bits = group->key_words > 1 ? 64 : 32;
	group->host_keys = w->of[0];
	group->host_values = (const int32_t *)w->of[group->key_words];
	if (group->key_words > 1) {
		if (!(wide = malloc(w->rows * 8 + 8)))
			return rql_error_memory(err, w->rows * 8, "the benchmark's keys");
		for (uint64_t i = 0; i < w->rows; i++) {
			const uint32_t more = w->of[1][i] | (group->key_words > 2 ? w->of[2][i] << 16 : 0);
			wide[i] = (uint64_t)more << 32 | w->of[0][i];
		}
		group->host_keys = wide;
	}
	const rql_status status = rql_garuda_host_group(t->bench, group, err);
	free(wide);
	return status;
}

static rql_status run_group(struct rql_garuda_tpch *t, size_t number, struct rql_error *err)
{
	const struct group_query *q = &groups[number];
	struct answer *a = &t->groups[number];
	const char *columns[RQL_GARUDA_KEYS + 1] = {NULL};
	struct words w = {0};
	const uint32_t keys = keys_of(q);
	for (uint32_t c = 0; c <= keys; c++)
		columns[c] = c < keys ? q->keys[c] : q->value;
	RQL_TRY(need_table(t, q->table, err));
	RQL_TRY(ask_group(t, q, a, err));
	RQL_TRY(fetch(t, q->table, columns, keys + 1, &w, err));
	struct rql_garuda_group group = {.rows = w.rows, .groups = a->rows, .key_words = keys, .sum = q->sum,
	                                 .few_a_group = a->most <= RQL_RASTER_EXACT_ROWS, .check = check_group, .state = a,
	                                 .duckdb_ms = a->ms};
	snprintf(group.name, sizeof(group.name), "%s", q->name);
	rql_status status = t->bench->options->host ? measure_from_host(t, &w, &group, err)
	                                            : measure_resident(t, &w, &group, err);
	if (status == RQL_OK)
		report_duckdb(t, q->name, a);
	free_words(&w);
	rql_relation_drop(t->bench);
	return status;
}

/* ---- figures ---- */

static rql_status run_groups(struct rql_garuda_tpch *t, uint32_t figures, struct rql_error *err)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (groups[i].figures & figures && rql_relation_wanted(t->bench, groups[i].name))
			RQL_TRY(run_group(t, i, err));
	return RQL_OK;
}

static rql_status run_joins(struct rql_garuda_tpch *t, struct rql_error *err)
{
	for (size_t i = 0; i < JOINS; i++)
		if (rql_relation_wanted(t->bench, joins[i].name))
			RQL_TRY(run_join(t, i, err));
	return RQL_OK;
}

rql_status rql_garuda_tpch_figure(struct rql_garuda_tpch *tpch, uint32_t figure, struct rql_error *err)
{
	return figure < 12 ? run_joins(tpch, err) : run_groups(tpch, 1u << figure, err);
}

rql_status rql_garuda_tpch_host(struct rql_garuda_tpch *tpch, struct rql_error *err)
{
	return tpch->bench->options->groups ? run_groups(tpch, HOST, err) : run_joins(tpch, err);
}
