/* Dot commands that ask the catalog: .tables .schema .indexes .databases .import. DuckDB's catalog functions know its
 * tables, views and indexes; rayql_structures() knows RayQL's. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render.h"
#include "width.h"

/* The schema in which RayQL keeps the definitions of its structures is no business of the user's. */
#define NOT_OURS "NOT internal AND schema_name <> 'rayql'"

struct entry {
	char *name, *sql;
};

struct entries {
	struct entry *items;
	size_t count, capacity;
	const char *pattern; /* LIKE, NULL for all */
	bool views, indexes; /* which of RayQL's structures are wanted */
	bool failed;
};

/* SQL's LIKE without case. Recursion only for %, so it is as deep as there are of them. */
static bool like(const char *pattern, const char *text)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == '%') {
			while (*pattern == '%')
				pattern++;
			if (!*pattern)
				return true;
			for (; *text; text++)
				if (like(pattern, text))
					return true;
			return false;
		}
		if (!*text || (*pattern != '_' && tolower((unsigned char)*pattern) != tolower((unsigned char)*text)))
			return false;
	}
	return !*text;
}

static void add(struct entries *entries, const char *name, const char *sql)
{
	if (!name || entries->failed || (entries->pattern && !like(entries->pattern, name)))
		return;
	for (size_t i = 0; i < entries->count; i++) {
		if (strcmp(entries->items[i].name, name))
			continue;
		/* RayQL's own definition says more than the view that DuckDB may keep for it. */
		char *copy = sql ? strdup(sql) : NULL;
		if (copy) {
			free(entries->items[i].sql);
			entries->items[i].sql = copy;
		}
		return;
	}
	if (entries->count == entries->capacity) {
		size_t capacity = entries->capacity ? 2 * entries->capacity : 32;
		struct entry *items = realloc(entries->items, capacity * sizeof(*items));
		if (!items) {
			entries->failed = true;
			return;
		}
		entries->items = items;
		entries->capacity = capacity;
	}
	struct entry *entry = &entries->items[entries->count++];
	*entry = (struct entry){.name = strdup(name), .sql = sql ? strdup(sql) : NULL};
	if (!entry->name) {
		entries->count--;
		free(entry->sql);
		entries->failed = true;
	}
}

static void add_host(void *context, const char *const *texts, uint32_t columns)
{
	add(context, texts[0], columns > 1 ? texts[1] : NULL);
}

/* CREATE [OR REPLACE] MATERIALIZED VIEW ...: anything else that RayQL keeps is an index. */
static bool is_view(const char *definition)
{
	static const char *const words[] = {"CREATE", "OR", "REPLACE", "MATERIALIZED"};
	if (!definition)
		return false;
	for (size_t i = 0; i < 4; i++) {
		size_t length = strlen(words[i]);
		definition += strspn(definition, " \t\r\n");
		if (!strncasecmp(definition, words[i], length))
			definition += length;
		else if (i == 0 || i == 3)
			return false;
	}
	return true;
}

static void add_structure(void *context, const char *const *texts, uint32_t columns)
{
	struct entries *entries = context;
	const char *definition = columns > 1 ? texts[1] : NULL;
	if (is_view(definition) ? entries->views : entries->indexes)
		add(entries, texts[0], definition ? definition : "");
}

static bool gather(struct rql_sh *sh, struct entries *entries, const char *host_sql)
{
	if (!rql_sh_each_row(sh, host_sql, false, add_host, entries) ||
	    !rql_sh_each_row(sh, "SELECT name, definition FROM rayql_structures() WHERE definition IS NOT NULL", false, add_structure, entries))
		return false;
	if (entries->failed)
		rql_sh_error(sh, "Error: out of memory for the list of tables");
	return !entries->failed;
}

static void free_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		free(entries->items[i].name);
		free(entries->items[i].sql);
	}
	free(entries->items);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Names in columns, read downwards. */
static void print_names(struct rql_sh *sh, struct entries *entries)
{
	enum { LINE = 80 };
	size_t widest = 0;
	if (!entries->count)
		return;
	qsort(entries->items, entries->count, sizeof(*entries->items), by_name);
	for (size_t i = 0; i < entries->count; i++) {
		size_t width = rql_sh_width(entries->items[i].name, strlen(entries->items[i].name));
		widest = width > widest ? width : widest;
	}
	size_t across = LINE / (widest + 2);
	across = across ? across : 1;
	size_t down = (entries->count + across - 1) / across;
	for (size_t row = 0; row < down; row++) {
		for (size_t i = row; i < entries->count; i += down) {
			const char *name = entries->items[i].name;
			fputs(name, sh->out);
			if (i + down < entries->count)
				rql_sh_put_run(sh->out, " ", widest + 2 - rql_sh_width(name, strlen(name)));
		}
		putc('\n', sh->out);
	}
}

bool rql_sh_cmd_tables(struct rql_sh *sh, int argc, char **argv)
{
	struct entries entries = {.pattern = argc > 1 ? argv[1] : NULL, .views = true};
	bool ok = gather(sh, &entries, "SELECT table_name FROM duckdb_tables() WHERE " NOT_OURS " UNION ALL "
	                               "SELECT view_name FROM duckdb_views() WHERE " NOT_OURS);
	if (ok)
		print_names(sh, &entries);
	free_entries(&entries);
	return ok;
}

bool rql_sh_cmd_indexes(struct rql_sh *sh, int argc, char **argv)
{
	struct entries entries = {.indexes = true};
	struct rql_strbuf sql = {0};
	bool ok;
	rql_strbuf_put(&sql, "SELECT index_name FROM duckdb_indexes()");
	if (argc > 1) {
		rql_strbuf_put(&sql, " WHERE table_name ILIKE ");
		rql_strbuf_put_literal(&sql, argv[1], strlen(argv[1]));
	}
	/* Which tables a structure of RayQL's belongs to is not asked: with a table given, only DuckDB's are listed. */
	entries.indexes = argc == 1;
	ok = gather(sh, &entries, rql_strbuf_text(&sql));
	if (ok)
		print_names(sh, &entries);
	rql_strbuf_free(&sql);
	free_entries(&entries);
	return ok;
}

bool rql_sh_cmd_schema(struct rql_sh *sh, int argc, char **argv)
{
	struct entries entries = {.pattern = argc > 1 ? argv[1] : NULL, .views = true, .indexes = true};
	bool ok = gather(sh, &entries, "SELECT table_name, sql FROM duckdb_tables() WHERE " NOT_OURS " UNION ALL "
	                               "SELECT view_name, sql FROM duckdb_views() WHERE " NOT_OURS " UNION ALL "
	                               "SELECT index_name, sql FROM duckdb_indexes()");
	for (size_t i = 0; ok && i < entries.count; i++) {
		const char *sql = entries.items[i].sql ? entries.items[i].sql : "";
		size_t length = strlen(sql);
		while (length && strchr("; \t\r\n", sql[length - 1]))
			length--;
		if (length)
			fprintf(sh->out, "%.*s;\n", (int)length, sql);
	}
	free_entries(&entries);
	return ok;
}

static void print_database(void *context, const char *const *texts, uint32_t columns)
{
	struct rql_sh *sh = context;
	fprintf(sh->out, "%s: %s\n", texts[0], columns > 1 && texts[1] ? texts[1] : ":memory:");
}

bool rql_sh_cmd_databases(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return rql_sh_each_row(sh, "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal ORDER BY 1", false,
	                       print_database, sh);
}

/* ---- .import ---- */
static const char *reader_of(const char *file)
{
	const char *dot = strrchr(file, '.');
	if (dot && !strcasecmp(dot, ".parquet"))
		return "read_parquet";
	if (dot && (!strcasecmp(dot, ".json") || !strcasecmp(dot, ".jsonl") || !strcasecmp(dot, ".ndjson")))
		return "read_json";
	return "read_csv";
}

/* Reads the arguments into the reader's call, `read_csv('file', skip=1)`, and the table's name. */
static bool import_arguments(struct rql_sh *sh, int argc, char **argv, struct rql_strbuf *source, const char **table)
{
	const char *file = NULL, *reader = NULL;
	struct rql_strbuf parameters = {0};
	bool ok = true;
	*table = NULL;
	for (int i = 1; i < argc && ok; i++) {
		const char *flag = argv[i][0] == '-' && argv[i][1] ? argv[i] + 1 + (argv[i][1] == '-') : NULL;
		if (flag && (!strcmp(flag, "csv") || !strcmp(flag, "json") || !strcmp(flag, "parquet"))) {
			reader = !strcmp(flag, "csv") ? "read_csv" : !strcmp(flag, "json") ? "read_json" : "read_parquet";
		} else if (flag) {
			/* Any other --name VALUE is a parameter of the reader. */
			ok = ++i < argc && flag[strspn(flag, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
			if (ok) {
				rql_strbuf_printf(&parameters, ", %s=", flag);
				rql_strbuf_put_literal(&parameters, argv[i], strlen(argv[i]));
			}
		} else if (!file) {
			file = argv[i];
		} else if (!*table) {
			*table = argv[i];
		} else {
			ok = false;
		}
	}
	ok = ok && file && *table;
	if (ok) {
		rql_strbuf_printf(source, "%s(", reader ? reader : reader_of(file));
		rql_strbuf_put_literal(source, file, strlen(file));
		rql_strbuf_printf(source, "%s)", rql_strbuf_text(&parameters));
	} else {
		rql_sh_error(sh, "Error: usage: .import ?--csv|--json|--parquet? ?--PARAMETER VALUE?... FILE TABLE");
	}
	rql_strbuf_free(&parameters);
	return ok && !source->failed;
}

static void ignore_row(void *context, const char *const *texts, uint32_t columns)
{
	(void)context;
	(void)texts;
	(void)columns;
}

bool rql_sh_cmd_import(struct rql_sh *sh, int argc, char **argv)
{
	struct rql_strbuf source = {0}, name = {0}, sql = {0};
	const char *table;
	bool ok = import_arguments(sh, argc, argv, &source, &table);
	if (ok) {
		/* schema.table is two names; anything else that is no plain word is one. */
		bool plain = true;
		for (const char *p = table; *p; p++)
			plain = plain && (isalnum((unsigned char)*p) || *p == '_' || *p == '.');
		if (plain)
			rql_strbuf_put(&name, table);
		else
			rql_strbuf_put_ident(&name, table);
		rql_strbuf_printf(&sql, "SELECT 1 FROM %s LIMIT 0", rql_strbuf_text(&name));
		bool exists = rql_sh_each_row(sh, rql_strbuf_text(&sql), true, ignore_row, NULL);
		rql_strbuf_clear(&sql);
		rql_strbuf_printf(&sql, exists ? "INSERT INTO %s SELECT * FROM %s" : "CREATE TABLE %s AS SELECT * FROM %s",
		                  rql_strbuf_text(&name), rql_strbuf_text(&source));
		ok = !sql.failed && rql_sh_run_text(sh, rql_strbuf_text(&sql), true);
	}
	rql_strbuf_free(&source);
	rql_strbuf_free(&name);
	rql_strbuf_free(&sql);
	return ok;
}
