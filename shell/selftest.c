/* `rayql selftest`: does this installation answer, and are the answers from a cube DuckDB's? A table of known sums, a
 * view over it, and the same queries with and without the view. */
#include <string.h>

#include "shell.h"

static const char setup[] =
	"CREATE TABLE rayql_selftest AS SELECT (i % 7)::INTEGER AS a, (i % 3)::VARCHAR AS b, i::BIGINT AS v "
	"FROM range(20000) t(i)";
static const char view[] =
	"CREATE MATERIALIZED VIEW rayql_selftest_cube AS SELECT a, b, sum(v) AS s, count(*) AS n FROM rayql_selftest "
	"GROUP BY a, b";
static const char *const queries[] = {
	"SELECT b, sum(v), count(*) FROM rayql_selftest WHERE a BETWEEN 2 AND 4 GROUP BY b ORDER BY b",
	"SELECT a, avg(v) FROM rayql_selftest GROUP BY a ORDER BY a",
	"SELECT sum(v) FROM rayql_selftest WHERE b IN ('0', '2') AND a > 100",
};
enum { QUERIES = sizeof(queries) / sizeof(queries[0]) };

static bool run(struct rql_sh *sh, const char *sql)
{
	rayql_error *err = NULL;
	if (rayql_query(sh->con, sql, NULL, &err) == RAYQL_OK)
		return true;
	rql_sh_error(sh, "selftest: %s\n  in: %s", rayql_error_message(err), sql);
	rayql_error_free(err);
	return false;
}

static void collect(void *context, const char *const *texts, uint32_t columns)
{
	struct rql_strbuf *rows = context;
	for (uint32_t c = 0; c < columns; c++)
		rql_strbuf_printf(rows, "%s%s", texts[c] ? texts[c] : "NULL", c + 1 < columns ? "|" : "\n");
}

static bool ask(struct rql_sh *sh, struct rql_strbuf *answers, char *methods, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < QUERIES; i++) {
		rayql_query_info info = {.size = sizeof info};
		if (!rql_sh_each_row(sh, queries[i], false, collect, answers))
			return false;
		const char *method = rayql_last_query(sh->con, &info) == RAYQL_OK && info.method ? info.method : "?";
		int wrote = snprintf(methods + used, size - used, "%s%s", i ? ", " : "", method);
		used += wrote > 0 && (size_t)wrote < size - used ? (size_t)wrote : 0;
	}
	return !answers->failed;
}

int rql_sh_selftest(struct rql_sh *sh)
{
	struct rql_strbuf plain = {0}, fast = {0};
	char plain_methods[128] = "", methods[128] = "";
	int code = 1;
	if (!run(sh, setup) || !ask(sh, &plain, plain_methods, sizeof(plain_methods)) || !run(sh, view) ||
	    !ask(sh, &fast, methods, sizeof(methods)))
		goto done;
	if (plain.length != fast.length || memcmp(plain.data, fast.data, plain.length)) {
		rql_sh_error(sh, "selftest: answers differ.\nwithout the view (%s):\n%swith it (%s):\n%s", plain_methods,
		             rql_strbuf_text(&plain), methods, rql_strbuf_text(&fast));
		goto done;
	}
	if (!strstr(methods, "cube")) {
		rql_sh_error(sh, "selftest: no query was answered from the materialized view (%s); "
		             "EXPLAIN SELECT ... says why", methods);
		goto done;
	}
	printf("selftest: %d queries agree; answered by %s, without the view by %s\nselftest: OK\n", QUERIES, methods,
	       plain_methods);
	code = 0;
done:
	rql_strbuf_free(&plain);
	rql_strbuf_free(&fast);
	return code;
}
