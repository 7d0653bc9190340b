/* Completion: dot commands, files (behind a dot command that takes one, and inside quotes), and in SQL its words, and
 * the functions, settings, tables and columns that the database has. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "shell.h"

static const char *const keywords[] = {"SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT",
	"OFFSET", "JOIN", "LEFT JOIN", "INNER JOIN", "ON", "USING", "AND", "OR", "NOT", "NULL", "IS", "IN", "BETWEEN",
	"LIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "AS", "DISTINCT", "UNION", "ALL", "EXCEPT", "INTERSECT", "WITH",
	"CREATE", "TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "REFRESH MATERIALIZED VIEW", "REFRESH INDEX", "DROP",
	"ALTER", "INSERT INTO", "VALUES", "UPDATE", "SET", "DELETE", "COPY", "EXPLAIN", "EXPLAIN ANALYZE", "DESCRIBE",
	"SUMMARIZE", "SHOW", "PRAGMA", "ATTACH", "DETACH", "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "rollup",
	"unit", "layout", "rayql_fallback", "rayql_auto_columns", "rayql_memory_limit", "rayql_device", "rayql_unit",
	"rayql_force", NULL};

static void add(struct rql_sh_completion *out, const char *name)
{
	if (strncasecmp(name, rql_strbuf_text(&out->word), out->word.length))
		return;
	out->count++;
	rql_strbuf_printf(&out->list, "%s\n", name);
	if (!out->common) {
		out->common = strdup(name);
		return;
	}
	size_t same = 0;
	while (name[same] && !strncasecmp(name + same, out->common + same, 1))
		same++;
	/* Not in the middle of a character. */
	while (same && ((unsigned char)name[same] & 0xc0) == 0x80)
		same--;
	out->common[same] = '\0';
}

static void add_row(void *context, const char *const *texts, uint32_t columns)
{
	if (columns && texts[0])
		add(context, texts[0]);
}

static void add_sql(struct rql_sh *sh, struct rql_sh_completion *out)
{
	struct rql_strbuf sql = {0}, prefix = {0};
	for (size_t i = 0; keywords[i]; i++)
		add(out, keywords[i]);
	rql_sh_each_row(sh,
	                "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name <> 'rayql' UNION "
	                "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION "
	                "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'rayql' UNION "
	                "SELECT column_name FROM duckdb_columns() WHERE NOT internal AND schema_name <> 'rayql'",
	                true, add_row, out);
	rql_sh_each_row(sh, "SELECT name FROM rayql_structures() WHERE kind <> 'map'", true, add_row, out);
	rql_strbuf_put_literal(&prefix, rql_strbuf_text(&out->word), out->word.length);
	rql_strbuf_printf(&sql,
	                  "SELECT DISTINCT function_name || '(' AS name FROM duckdb_functions() WHERE "
	                  "regexp_full_match(function_name, '[a-z][a-z0-9_]*') AND "
	                  "starts_with(function_name, lower(%s)) UNION "
	                  "SELECT name FROM duckdb_settings() WHERE starts_with(name, lower(%s)) ORDER BY name",
	                  rql_strbuf_text(&prefix), rql_strbuf_text(&prefix));
	if (!sql.failed)
		rql_sh_each_row(sh, rql_strbuf_text(&sql), true, add_row, out);
	rql_strbuf_free(&sql);
	rql_strbuf_free(&prefix);
}

/* Does `~/x` or `folder/x` name a folder? */
static bool is_folder(const char *folder, const char *name)
{
	struct rql_strbuf path = {0};
	struct stat about;
	rql_strbuf_printf(&path, "%s/%s", folder, name);
	bool is = !path.failed && !stat(path.data, &about) && S_ISDIR(about.st_mode);
	rql_strbuf_free(&path);
	return is;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The files whose paths begin with the word. Folders end with a slash. */
static void add_files(struct rql_sh_completion *out)
{
	const char *word = rql_strbuf_text(&out->word), *slash = strrchr(word, '/'), *home = getenv("HOME");
	const char *base = slash ? slash + 1 : word;
	struct rql_strbuf folder = {0}, name = {0};
	bool from_home = word[0] == '~' && word[1] == '/' && home;
	if (from_home)
		rql_strbuf_put(&folder, home);
	rql_strbuf_put_n(&folder, word + from_home, slash ? (size_t)(slash + 1 - word) - from_home : 0);
	struct dirent **files = NULL;
	const char *path = folder.length ? rql_strbuf_text(&folder) : ".";
	int count = folder.failed ? 0 : scandir(path, &files, NULL, by_name);
	for (int i = 0; i < count; i++) {
		const char *file = files[i]->d_name;
		bool hidden = *file == '.' && (*base != '.' || !strcmp(file, ".") || !strcmp(file, ".."));
		if (!hidden && !strncmp(file, base, strlen(base))) {
			rql_strbuf_clear(&name);
			rql_strbuf_put_n(&name, word, (size_t)(base - word));
			rql_strbuf_put(&name, file);
			rql_strbuf_put(&name, is_folder(path, file) ? "/" : "");
			add(out, rql_strbuf_text(&name));
		}
		free(files[i]);
	}
	free(files);
	rql_strbuf_free(&folder);
	rql_strbuf_free(&name);
}

/* Where an open quote stands before the cursor, or NULL. */
static const char *open_quote(const char *line, const char *cursor)
{
	const char *quote = NULL;
	for (; line < cursor; line++) {
		if (quote && *line == *quote)
			quote = NULL;
		else if (!quote && (*line == '\'' || *line == '"'))
			quote = line;
	}
	return quote;
}

static bool takes_file(const char *line)
{
	static const char *const commands[] = {".cd", ".import", ".log", ".once", ".open", ".output", ".read"};
	size_t length = strcspn(line, " \t");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strlen(commands[i]) == length && !strncmp(line, commands[i], length))
			return line[length];
	return false;
}

bool rql_sh_complete(struct rql_sh *sh, const char *line, size_t cursor, bool more, struct rql_sh_completion *out)
{
	const char *end = line + cursor, *begin = end, *quote = open_quote(line, end);
	bool dot = *line == '.' && !more, file = quote ? *quote == '\'' || dot : dot && takes_file(line);
	while (begin > line && !strchr(" \t\n(),;=<>+-*/'\"", begin[-1]))
		begin--;
	if (quote)
		begin = quote + 1;
	else if (file)
		while (begin > line && !strchr(" \t", begin[-1]))
			begin--;
	bool command = dot && begin == line;
	begin += command;
	rql_strbuf_put_n(&out->word, begin, (size_t)(end - begin));
	if (out->word.failed)
		return false;
	if (command)
		for (size_t i = 0; rql_sh_command_name("", i); i++)
			add(out, rql_sh_command_name("", i));
	else if (file)
		add_files(out);
	else if (out->word.length && !dot)
		add_sql(sh, out);
	size_t length = out->common ? strlen(out->common) : 0;
	char last = length ? out->common[length - 1] : '\0';
	if (out->count == 1 && last != '(' && last != '/')
		out->behind = quote ? *quote : ' ';
	return !out->list.failed;
}

void rql_sh_completion_free(struct rql_sh_completion *out)
{
	free(out->common);
	rql_strbuf_free(&out->word);
	rql_strbuf_free(&out->list);
	*out = (struct rql_sh_completion){0};
}
