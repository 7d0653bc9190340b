/* Making or loading the tables of a suite: by RayQL's generators, by SQL, or from Parquet files. */
#include "bench/suite/suite_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/ssb/ssb_data.h"
#include "util/threads.h"

#define SLICE_ROWS (16u * 122880u) /* a second or two of work, so that progress can be shown */
#define GROUPS 100u                /* K of db-benchmark's G1_1e7_1e2_0_0 */
/* From here on lineorder_flat gets the columns that the queries name only, as in `rayql bench ssb-flat`. */
#define NARROW_SCALE 20

static void show_progress(const struct rql_suite_source_options *o, const char *table, double done)
{
	if (!o->quiet && isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K%s: %.0f %%", table, 100 * done);
		fflush(stderr);
	}
}

/* CREATE TABLE ... AS, then one INSERT a slice; in one transaction. */
static rql_status load_slices(rayql_connection *con, const char *table, const char *call,
                              const struct rql_suite_source_options *o, struct rql_error *err)
{
	RQL_TRY(rql_client_run(con, err, "CREATE TABLE %s AS SELECT * FROM %s 0, 0)", table, call));
	for (uint64_t row = 0; row < (uint64_t)o->size; row += SLICE_ROWS) {
		show_progress(o, table, (double)row / o->size);
		RQL_TRY(rql_client_run(con, err, "INSERT INTO %s SELECT * FROM %s %llu, %u)", table, call,
		                       (unsigned long long)row, SLICE_ROWS));
	}
	return RQL_OK;
}

static rql_status load_generated(rayql_connection *con, const struct rql_suite *suite, const char *table,
                                 const struct rql_suite_source_options *o, struct rql_error *err)
{
	char call[128];
	if (suite->source == RQL_SUITE_HITS)
		snprintf(call, sizeof call, "rayql_hits_rows(%.0f, %lld,", o->size, (long long)o->seed);
	else
		snprintf(call, sizeof call, "rayql_groupby_rows(%.0f, %u, %lld,", o->size, GROUPS, (long long)o->seed);
	RQL_TRY(rql_client_run(con, err, "SET preserve_insertion_order = false"));
	RQL_TRY(rql_client_run(con, err, "BEGIN"));
	rql_status status = load_slices(con, table, call, o, err);
	if (status != RQL_OK) {
		(void)rql_client_run(con, NULL, "ROLLBACK");
		return status;
	}
	return rql_client_run(con, err, "COMMIT");
}

/* Keys of a table: 1.1 times as many as it has rows; x has the lower ten elevenths of them, the other side the upper ones,
 * so that a tenth of each matches nothing (join-datagen.R). Row numbers are scattered over them by a factor that shares
 * no divisor with powers of ten. */
static rql_status load_join(rayql_connection *con, const char *table, const struct rql_suite_source_options *o,
                            struct rql_error *err)
{
	const double rows = o->size, medium = rows / 1e3 < 100 ? 100 : rows / 1e3, small = rows / 1e6 < 10 ? 10 : rows / 1e6;
	const bool x = !strcmp(table, "x"), big = !strcmp(table, "big");
	const double count = x || big ? rows : !strcmp(table, "medium") ? medium : small;
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "CREATE TABLE %s AS SELECT ", table);
	const struct level {
		const char *key, *text;
		double keys;
	} levels[] = {{"id1", "id4", small}, {"id2", "id5", medium}, {"id3", "id6", rows}};
	for (unsigned l = 0; l < 3 && levels[l].keys <= count; l++)
		rql_strbuf_printf(&sql, "(%.0f + i * %s %% %.0f)::INTEGER AS %s, 'id' || %s AS %s, ",
		                  1 + (x ? 0 : trunc(levels[l].keys / 10)), levels[l].keys < count ? "48271 % 2147483647" : "7368787",
		                  levels[l].keys, levels[l].key, levels[l].key, levels[l].text);
	rql_strbuf_printf(&sql, "(i * %u %% 1000003) / 10000.0 AS %s FROM (SELECT range + %lld AS i FROM range(%.0f))",
	                  x ? 16807u : 69621u, x ? "v1" : "v2", (long long)(o->seed & 0xffff) * 1009, count);
	rql_status status = sql.failed ? rql_error_memory(err, 512, "a statement") : rql_client_run(con, err, "%s", sql.data);
	rql_strbuf_free(&sql);
	return status;
}

/* l has four rows of each of rows / 4 keys; r twice as many rows, over four times as many keys, so that one in four finds
 * four, each. Scattered as above, but by multiplication modulo a prime, so that rows come in no order of their keys. */
static rql_status load_pairs(rayql_connection *con, const char *table, const struct rql_suite_source_options *o,
                             struct rql_error *err)
{
	const bool left = *table == 'l';
	const long long seed = (long long)(o->seed & 0xffff) * 1009, rows = (long long)o->size, keys = rows / 4 ? rows / 4 : 1;
	char text[512];
	if (left)
		snprintf(text, sizeof text,
		         "(i * 7368787 %% 2147483647 %% %lld)::INTEGER AS k, (i * 48271 %% 100)::INTEGER AS g, "
		         "(i * 16807 %% 10007 %% 1000)::INTEGER AS v",
		         keys);
	else
		snprintf(text, sizeof text,
		         "(i * 6700417 %% 2147483647 %% %lld)::INTEGER AS k, (i * 69621 %% 2147483629 %% %lld)::INTEGER AS j, "
		         "(i * 48271 %% 50)::INTEGER AS h, (i * 69621 %% 10009 %% 1000)::INTEGER AS w",
		         4 * keys, 4 * keys);
	return rql_client_run(con, err, "CREATE TABLE %s AS SELECT %s FROM (SELECT range + %lld AS i FROM range(%lld))", table,
	                      text, seed, left ? rows : 2 * rows);
}

/* As many points and trades as rows, a tenth as many spans and quotes. A span has some 20 points, so that a point is in two
 * spans (step: the time from a point to the next); no two quotes are of one time, since an ASOF join may take any of such. Trades come in the order of time. */
static rql_status load_ranges(rayql_connection *con, const char *table, const struct rql_suite_source_options *o,
                              struct rql_error *err)
{
	static const struct {
		const char *table, *select;
		double part;
	} texts[] = {
		{"points",
	     "(i * 7368787 % 2147483647)::BIGINT AS t, (i * 48271 % 100)::INTEGER AS g, (i * 16807 % 10007 % 1000)::INTEGER AS v",
	     1},
		{"spans",
	     "(i * 6700417 % 2147483629)::BIGINT AS lo, (i * 6700417 % 2147483629 + i * 69621 % 10009 / 10009.0 * 40 * "
	     "step)::BIGINT AS hi, i AS id, (i * 48271 % 100)::INTEGER AS h, (i * 69621 % 10009 % 1000)::INTEGER AS w",
	     10},
		{"trades",
	     "(i * step)::BIGINT AS t, (i * 48271 % 10007 % 1000)::INTEGER AS k, (i * 16807 % 97)::INTEGER AS n", 1},
		{"quotes",
	     "(i * 6700417 % 2147483629)::BIGINT AS t, (i * 69621 % 10009 % 1000)::INTEGER AS k, (i * 16807 % "
	     "10007)::INTEGER AS price",
	     10},
	};
	const long long seed = *table == 't' ? 0 : (long long)(o->seed & 0xffff) * 1009;
	unsigned i = 0;
	while (strcmp(texts[i].table, table))
		i++;
	return rql_client_run(con, err,
	                      "CREATE TABLE %s AS SELECT %s FROM (SELECT range + %lld AS i, %.6f::DOUBLE AS step FROM "
	                      "range(%.0f))",
	                      table, texts[i].select, seed, 2147483647.0 / o->size, o->size / texts[i].part);
}

rql_status rql_suite_load_parquet(rayql_connection *con, const char *table, const char *columns,
                                  const struct rql_suite_source_options *o, struct rql_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path;
	int length;
	if (o->data)
		length = asprintf(&path, "%s/%s.parquet", o->data, table);
	else if (cache && *cache)
		length = asprintf(&path, "%s/rayql/tpch-sf%g/%s.parquet", cache, o->size, table);
	else
		length = asprintf(&path, "%s/.cache/rayql/tpch-sf%g/%s.parquet", home && *home ? home : "/tmp", o->size, table);
	if (length < 0)
		return rql_error_memory(err, 256, "a path");
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "CREATE TABLE %s AS SELECT %s FROM read_parquet(", table, columns);
	rql_strbuf_put_literal(&sql, path, (size_t)length);
	rql_strbuf_put(&sql, ")");
	rql_status status = RQL_OK;
	if (access(path, R_OK))
		status = rql_error_set(
			err, RQL_ERROR_IO,
			"there is no \"%s\": script/tpch-data %g makes TPC-H's tables; --data DIR names another folder", path,
			o->size);
	else if (sql.failed)
		status = rql_error_memory(err, 256, "a statement");
	else
		status = rql_client_run(con, err, "%s", sql.data);
	rql_strbuf_free(&sql);
	free(path);
	return status;
}

static rql_status load_table(rayql_connection *con, const struct rql_suite *suite, const char *table,
                             const struct rql_suite_source_options *o, struct rql_error *err)
{
	if (suite->source == RQL_SUITE_TPCH)
		return rql_suite_load_parquet(con, table, "*", o, err);
	if (suite->source == RQL_SUITE_JOIN)
		return load_join(con, table, o, err);
	if (suite->source == RQL_SUITE_PAIRS)
		return load_pairs(con, table, o, err);
	if (suite->source == RQL_SUITE_RANGES)
		return load_ranges(con, table, o, err);
	if (suite->source != RQL_SUITE_SSB)
		return load_generated(con, suite, table, o, err);
	struct rql_ssb_loaded loaded;
	struct rql_ssb_source source = {.scale = o->size, .seed = o->seed};
	if ((suite == rql_suite_ssb(true) || suite == &rql_suite_rows) && o->size >= NARROW_SCALE)
		source.columns = suite->facts[0].columns;
	return rql_ssb_load_table(con, table, &source, &loaded, err);
}

rql_status rql_suite_load(rayql_connection *con, const struct rql_suite *suite,
                          const struct rql_suite_source_options *options, double *seconds, struct rql_error *err)
{
	uint64_t start = rql_now_ns();
	bool made = false;
	for (const char *const *table = suite->tables; *table; table++) {
		bool exists;
		RQL_TRY(rql_ssb_table_exists(con, *table, &exists, err));
		if (exists)
			continue;
		RQL_TRY(load_table(con, suite, *table, options, err));
		made = true;
	}
	if (made)
		RQL_TRY(rql_client_run(con, err, "CHECKPOINT"));
	*seconds = made ? (double)(rql_now_ns() - start) / 1e9 : 0;
	return RQL_OK;
}
