/* What RayQL makes of a text that is cast is what DuckDB makes of it: texts as they are written, and random ones near
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bind/normal/normal.h"
#include "host/host.h"

#ifdef __SANITIZE_ADDRESS__ /* script/test --all has more of them, without it */
static unsigned text_count = 8000;
#else
static unsigned text_count = 20000; /* the first argument */
#endif

static struct rql_host_db *db;
static struct rql_host_con *con;

static int set_up(void **state)
{
	struct rql_error err = {0};
	(void)state;
	return rql_host_open(NULL, NULL, 0, &db, &err) == RQL_OK && rql_host_connect(db, &con, &err) == RQL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rql_host_disconnect(con);
	rql_host_close(db);
	return 0;
}

static const char *const written[] = {
	"0", "-0", "5", "-5", "05", " 5", "5 ", "+5", "5.", ".5", "1e3", "1.5e3", "5_0", "127", "128", "-128", "-129", "255", "256",
	"32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296",
	"999999999999999999", "9223372036854775807", "-9223372036854775808", "1.25", "-1.25", "1.255", "1.2", "0.05", "-0.05",
	"9999999.99", "10000000.00", "99999999.99", "1e", "-", "", "1e400", "1e-400", "0.1", "0.30000000000000004", "1.e3", "1-2",
	"1994-01-31", "1994-02-30", "2000-02-29", "1900-02-29", "1994-1-31", "0000-01-01", "9999-12-31", "1994-13-01",
	"1994-00-10", "1994-01-00", "1994-01-31 00:00:00", "1994-01-31 23:59:59", "1994-01-31 24:00:00",
	"1994-01-31 23:60:00", "1994-01-31 23:59:60", "1994-01-31T10:00:00", "1994-01-31 10:00", "1994-01-31 10:00:00.5",
	"infinity", "epoch", "x",
};

/* A written one with a character or two changed. */
static void random_text(unsigned *seed, char *out)
{
	static const char letters[] = "00112345678999-.: eE+";
	strcpy(out, written[rand_r(seed) % (sizeof written / sizeof *written)]);
	for (int n = rand_r(seed) % 3; n > 0 && out[0]; n--)
		out[(size_t)rand_r(seed) % strlen(out)] = letters[(size_t)rand_r(seed) % (sizeof letters - 1)];
}

/* All texts, as a query's VALUES. */
static void put_texts(struct rql_strbuf *sql, unsigned seed)
{
	char text[64];
	for (size_t i = 0; i < text_count; i++) {
		if (i < sizeof written / sizeof *written)
			strcpy(text, written[i]);
		else
			random_text(&seed, text);
		rql_strbuf_printf(sql, "%s('%s')", i ? ", " : "", text);
	}
}

/* How many of the batch's texts RayQL reads; each as DuckDB does. */
static unsigned check_batch(const struct rql_batch *batch, const char *name)
{
	unsigned read = 0;
	for (uint64_t r = 0; r < batch->rows; r++) {
		struct rql_value text = rql_column_get(&batch->columns[0], r), want = rql_column_get(&batch->columns[1], r), have;
		if (!rql_plan_fold_text(&text, batch->columns[1].type, &have))
			continue;
		read++;
		if (want.is_null || rql_value_compare(&have, &want) != 0)
			fail_msg("'%.*s' as %s: DuckDB %s", (int)text.string.length, text.string.data, name,
			         want.is_null ? "fails" : "gives another value");
	}
	return read;
}

static void texts(void **state)
{
	static const char *const types[] = {"TINYINT",  "UTINYINT", "SMALLINT", "USMALLINT",    "INTEGER",       "UINTEGER",      "BIGINT",
	                                    "UBIGINT",  "DOUBLE",   "DATE",     "TIMESTAMP",    "DECIMAL(9, 2)", "DECIMAL(4, 0)", "DECIMAL(38, 10)",
	                                    "HUGEINT",  "FLOAT",    "BOOLEAN",  "TIMESTAMP_NS", "TIMESTAMPTZ",   "TIME",          "INTERVAL"};
	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		struct rql_strbuf sql = {0};
		struct rql_host_result *result = NULL;
		struct rql_batch *batch = NULL;
		struct rql_error err = {0};
		unsigned read = 0;
		rql_strbuf_printf(&sql, "SELECT s, TRY_CAST(s AS %s) FROM (VALUES ", types[t]);
		put_texts(&sql, (unsigned)t + 1);
		rql_strbuf_put(&sql, ") q(s)");
		if (rql_host_query(con, rql_strbuf_text(&sql), &result, &err) != RQL_OK)
			fail_msg("%s", rql_error_message(&err));
		while (rql_host_fetch(result, &batch, &err) == RQL_OK && batch) {
			read += check_batch(batch, types[t]);
			rql_batch_release(batch);
		}
		assert_true(t < 12 ? read > 50 : read < text_count / 2); /* the last ones are the host's */
		rql_host_result_free(result);
		rql_strbuf_free(&sql);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		text_count = (unsigned)strtoul(argv[1], NULL, 10);
	const struct CMUnitTest tests[] = {cmocka_unit_test(texts)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
