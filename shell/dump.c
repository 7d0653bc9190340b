/* .dump: the database as SQL that makes it again: schemas, types, sequences, tables and their rows, views, indexes, and
 * RayQL's materialized views and columns. */
#include <stdlib.h>
#include <string.h>

#include "render.h"

#define USERS "NOT internal AND database_name = current_database() AND schema_name <> 'rayql'"

/* Values of a query, each with its NUL, to be used when the connection is free again. */
struct texts {
	struct rql_strbuf data;
};

static void add_texts(void *context, const char *const *texts, uint32_t columns)
{
	struct texts *all = context;
	for (uint32_t c = 0; c < columns; c++) {
		const char *text = texts[c] ? texts[c] : "";
		rql_strbuf_put_n(&all->data, text, strlen(text) + 1);
	}
}

static const char *next_text(const struct texts *all, size_t *pos)
{
	if (*pos >= all->data.length)
		return NULL;
	const char *text = all->data.data + *pos;
	*pos += strlen(text) + 1;
	return text;
}

/* Names like one of the patterns (all without any), as a condition on a column. */
static void put_condition(struct rql_strbuf *out, int argc, char **argv, const char *column)
{
	size_t patterns = 0;
	for (int i = 1; i < argc; i++) {
		if (*argv[i] == '-')
			continue;
		rql_strbuf_printf(out, "%s%s LIKE ", patterns++ ? " OR " : " AND (", column);
		rql_strbuf_put_literal(out, argv[i], strlen(argv[i]));
		rql_strbuf_put(out, " ESCAPE '\\'");
	}
	rql_strbuf_put(out, patterns ? ")" : "");
}

/* Runs `select WHERE ... AND names ORDER BY ...`. */
static bool ask(struct rql_sh *sh, int argc, char **argv, const char *select, const char *column, const char *order,
                struct texts *out)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, select);
	if (column)
		put_condition(&sql, argc, argv, column);
	rql_strbuf_put(&sql, order);
	bool ok = !sql.failed && rql_sh_each_row(sh, rql_strbuf_text(&sql), false, add_texts, out) && !out->data.failed;
	rql_strbuf_free(&sql);
	return ok;
}

/* One statement a row. */
static bool put_statements(struct rql_sh *sh, int argc, char **argv, const char *select, const char *column,
                           const char *order)
{
	struct texts all = {0};
	bool ok = ask(sh, argc, argv, select, column, order, &all);
	size_t pos = 0;
	for (const char *text; ok && (text = next_text(&all, &pos));)
		fprintf(sh->out, "%s;\n", text);
	rql_strbuf_free(&all.data);
	return ok;
}

/* A table's rows as INSERT statements. */
static bool put_rows(struct rql_sh *sh, const char *schema, const char *table)
{
	struct rql_strbuf name = {0}, sql = {0};
	char *insert_table = sh->insert_table;
	rql_sh_put_name(sh, &name, schema);
	rql_strbuf_putc(&name, '.');
	rql_sh_put_name(sh, &name, table);
	rql_strbuf_printf(&sql, "FROM %s", rql_strbuf_text(&name));
	bool ok = !name.failed && !sql.failed;
	sh->insert_table = name.data;
	ok = ok && rql_sh_run_text(sh, rql_strbuf_text(&sql), true);
	sh->insert_table = insert_table;
	rql_strbuf_free(&name);
	rql_strbuf_free(&sql);
	return ok;
}

static bool put_tables(struct rql_sh *sh, int argc, char **argv)
{
	struct texts all = {0};
	bool ok = ask(sh, argc, argv, "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE " USERS, "table_name",
	              " ORDER BY table_oid", &all);
	size_t pos = 0;
	for (const char *schema; ok && (schema = next_text(&all, &pos));) {
		const char *table = next_text(&all, &pos), *sql = next_text(&all, &pos);
		fprintf(sh->out, "%s;\n", sql);
		ok = put_rows(sh, schema, table);
	}
	rql_strbuf_free(&all.data);
	return ok;
}

static bool put_schemas(struct rql_sh *sh, int argc, char **argv)
{
	struct texts all = {0};
	struct rql_strbuf name = {0};
	bool ok = ask(sh, argc, argv,
	              "SELECT DISTINCT schema_name FROM duckdb_tables() WHERE schema_name <> 'main' AND " USERS, "table_name",
	              " ORDER BY schema_name", &all);
	size_t pos = 0;
	for (const char *schema; ok && (schema = next_text(&all, &pos)); rql_strbuf_clear(&name)) {
		rql_sh_put_name(sh, &name, schema);
		fprintf(sh->out, "CREATE SCHEMA IF NOT EXISTS %s;;\n", rql_strbuf_text(&name));
		ok = !name.failed;
	}
	rql_strbuf_free(&name);
	rql_strbuf_free(&all.data);
	return ok;
}

/* What tables need comes before them. The types are the ENUMs: DuckDB spells their statement out nowhere. */
static bool put_database(struct rql_sh *sh, int argc, char **argv)
{
	return put_schemas(sh, argc, argv) &&
	       put_statements(sh, argc, argv,
	                      "SELECT 'CREATE TYPE \"' || replace(type_name, '\"', '\"\"') || '\" AS ENUM (' || "
	                      "list_aggregate(list_transform(labels, lambda l: '''' || replace(l, '''', '''''') || ''''), "
	                      "'string_agg', ', ') || ')' FROM duckdb_types() "
	                      "WHERE logical_type = 'ENUM' AND type_name <> 'enum' AND " USERS,
	                      NULL, " ORDER BY type_oid") &&
	       put_statements(sh, argc, argv,
	                      "SELECT rtrim(sql, ';') FROM duckdb_sequences() WHERE database_name = current_database()", NULL,
	                      " ORDER BY sequence_oid") &&
	       put_tables(sh, argc, argv) &&
	       put_statements(sh, argc, argv,
	                      "SELECT sql FROM duckdb_indexes() WHERE sql IS NOT NULL AND database_name = current_database()",
	                      "index_name", " ORDER BY index_oid") &&
	       put_statements(sh, argc, argv,
	                      "SELECT sql FROM duckdb_views() v WHERE NOT EXISTS (FROM rayql_structures() s "
	                      "WHERE s.name = v.view_name AND s.schema = v.schema_name) AND " USERS, "view_name",
	                      " ORDER BY view_oid");
}

bool rql_sh_cmd_dump(struct rql_sh *sh, int argc, char **argv)
{
	const struct rql_sh_mode *mode = sh->mode;
	bool header = sh->header, echo = sh->echo, timer = sh->timer, raw = sh->raw_newlines;
	bool once = sh->once, newlines_wanted = false;
	FILE *log = sh->log;
	for (int i = 1; i < argc; i++) {
		bool newlines = !strcmp(argv[i], "--newlines") || !strcmp(argv[i], "-newlines");
		if (*argv[i] == '-' && !newlines) {
			rql_sh_error(sh, "Error: .dump has no option \"%s\"; it has --newlines", argv[i]);
			return false;
		}
		newlines_wanted = newlines_wanted || newlines;
	}
	sh->raw_newlines = newlines_wanted;
	sh->mode = &rql_sh_mode_insert;
	sh->header = sh->echo = sh->timer = false;
	sh->log = NULL;
	sh->once = false; /* all of this is one thing */
	fputs("BEGIN TRANSACTION;\n", sh->out);
	bool ok = put_database(sh, argc, argv);
	fputs(ok ? "COMMIT;\n" : "ROLLBACK; -- due to errors\n", sh->out);
	/* RayQL builds its structures from what is committed. */
	ok = ok && put_statements(sh, argc, argv,
	                          "SELECT rtrim(definition, '; ') FROM rayql_structures() WHERE definition IS NOT NULL",
	                          "name", "");
	sh->mode = mode;
	sh->header = header;
	sh->echo = echo;
	sh->timer = timer;
	sh->raw_newlines = raw;
	sh->log = log;
	return (!once || rql_sh_output(sh, NULL)) && ok;
}
