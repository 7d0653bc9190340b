/* .why and the line after a CREATE: what a statement cost, in one line. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell.h"

/* 1234567 as 1,234,567. */
static void put_count(struct rql_strbuf *out, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			rql_strbuf_putc(out, ',');
		rql_strbuf_putc(out, digits[i]);
	}
}

/* Large round figures in words: 5 million. */
static void put_about(struct rql_strbuf *out, uint64_t count)
{
	static const struct {
		uint64_t unit;
		const char *name;
	} units[] = {{1000000000, "billion"}, {1000000, "million"}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (count < units[i].unit)
			continue;
		rql_strbuf_printf(out, "%.3g %s", (double)count / (double)units[i].unit, units[i].name);
		return;
	}
	put_count(out, count);
}

static void put_bytes(struct rql_strbuf *out, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;
	for (; value >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		value /= 1000;
	rql_strbuf_printf(out, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void put_time(struct rql_strbuf *out, double ms)
{
	if (ms >= 1000)
		rql_strbuf_printf(out, "%.2f s", ms / 1000);
	else if (ms >= 1)
		rql_strbuf_printf(out, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
	else
		rql_strbuf_printf(out, "%.0f us", ms * 1000);
}

void rql_sh_why_note(struct rql_sh *sh)
{
	rayql_query_info info = {.size = sizeof(info)};
	struct rql_strbuf *out = &sh->why;
	rql_strbuf_clear(out);
	if (rayql_last_query(sh->con, &info) != RAYQL_OK || !info.method || !*info.method)
		return;
	double total = info.plan_ms + info.run_ms + info.finish_ms;
	bool host = !strcmp(info.method, "host"), own = !strcmp(info.method, "rayql");
	if (host)
		rql_strbuf_printf(out, "DuckDB answered: %s", info.reason ? info.reason : "");
	else if (own)
		rql_strbuf_put(out, info.reason ? info.reason : "RayQL's own statement");
	else
		rql_strbuf_printf(out, "%s%s%s on %s answered", info.structure ? info.structure : "",
		                  info.structure && *info.structure ? ", a " : "", info.method,
		                  info.device && *info.device ? info.device : info.unit);
	if (total > 0) {
		rql_strbuf_put(out, host ? "; " : " in ");
		put_time(out, total);
		if (!host && !own)
			rql_strbuf_put(out, info.plan_cached ? ", by a known plan" : info.plan_bound ? ", by a plan with other values" : "");
	}
	if (!host && !own) {
		rql_strbuf_put(out, "; read ");
		put_count(out, info.cells_read);
		rql_strbuf_put(out, info.cells_read == 1 ? " cell, " : " cells, ");
		put_bytes(out, info.bytes_read);
	}
	if (info.host_estimated_ms > 0 && !own) {
		rql_strbuf_put(out, "; estimated ");
		if (!host) {
			put_time(out, info.estimated_ms);
			rql_strbuf_put(out, " here, ");
		}
		put_time(out, info.host_estimated_ms);
		rql_strbuf_put(out, " by DuckDB");
	}
}

bool rql_sh_cmd_why(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(sh->out, "%s\n", sh->why.length ? rql_strbuf_text(&sh->why) : "no statement has run");
	return true;
}

/* ---- after CREATE and REFRESH ---- */
/* Skips the word at *sql, when it is there. */
static bool skip_word(const char **sql, const char *word)
{
	const char *at = *sql + strspn(*sql, " \t\r\n");
	size_t length = strlen(word);
	if (strncasecmp(at, word, length) || isalnum((unsigned char)at[length]) || at[length] == '_')
		return false;
	*sql = at + length;
	return true;
}

/* The structure's name in CREATE ... MATERIALIZED VIEW, CREATE INDEX or REFRESH; its last part. */
static bool structure_name(const char *sql, struct rql_strbuf *name)
{
	bool create = skip_word(&sql, "CREATE");
	if (!create && !skip_word(&sql, "REFRESH"))
		return false;
	if (create && skip_word(&sql, "OR"))
		skip_word(&sql, "REPLACE");
	bool view = skip_word(&sql, "MATERIALIZED") && skip_word(&sql, "VIEW");
	if (!view && !skip_word(&sql, "INDEX"))
		return false;
	if (skip_word(&sql, "IF") && skip_word(&sql, "NOT"))
		skip_word(&sql, "EXISTS");
	for (;; sql++) {
		rql_strbuf_clear(name);
		sql += strspn(sql, " \t\r\n");
		bool quoted = *sql == '"';
		for (sql += quoted; *sql && (quoted ? *sql != '"' || sql[1] == '"' : !strchr(" \t\r\n.;(", *sql)); sql++) {
			sql += quoted && *sql == '"';
			rql_strbuf_putc(name, *sql);
		}
		sql += quoted && *sql;
		if (*sql != '.')
			return name->length > 0;
	}
}

struct built {
	struct rql_strbuf text;
	double ms;
};

/* rows; cells, or NULL for columns */
static void say_built(void *context, const char *const *texts, uint32_t columns)
{
	struct built *built = context;
	if (columns < 2 || !texts[0])
		return;
	rql_strbuf_clear(&built->text);
	if (texts[1]) {
		put_count(&built->text, strtoull(texts[1], NULL, 10));
		rql_strbuf_put(&built->text, strcmp(texts[1], "1") ? " cells from " : " cell from ");
	}
	put_about(&built->text, strtoull(texts[0], NULL, 10));
	rql_strbuf_put(&built->text, strcmp(texts[0], "1") ? " rows" : " row");
	rql_strbuf_put(&built->text, " in ");
	put_time(&built->text, built->ms);
}

void rql_sh_say_built(struct rql_sh *sh, const char *sql, double ms)
{
	struct rql_strbuf name = {0}, query = {0};
	struct built built = {.ms = ms};
	if (structure_name(sql, &name)) {
		rql_strbuf_put(&query, "SELECT rows, cells FROM rayql_structures() WHERE state = 'ready' AND lower(name) = ");
		rql_strbuf_put(&query, "lower(");
		rql_strbuf_put_literal(&query, rql_strbuf_text(&name), name.length);
		rql_strbuf_put(&query, ")");
		if (!query.failed && rql_sh_each_row(sh, rql_strbuf_text(&query), true, say_built, &built) && built.text.length)
			fprintf(sh->out, "%s\n", rql_strbuf_text(&built.text));
	}
	rql_strbuf_free(&name);
	rql_strbuf_free(&query);
	rql_strbuf_free(&built.text);
}
