/* What a statement promises about its answer, read from its tokens: an order, which parts of it are free, whether it is
 * the same at all when it is asked again. Of several statements the last one counts: its answer is what comes back. */
#include "sqllogic.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum token_kind { TOKEN_WORD, TOKEN_QUOTED, TOKEN_STRING, TOKEN_NUMBER, TOKEN_OTHER };
struct token {
	enum token_kind kind;
	const char *text; /* words in lower case, quoted names without quotes */
	int depth;        /* of parentheses */
};
struct tokens {
	struct token *items;
	uint32_t count, capacity;
};

static void add_token(struct rql_arena *arena, struct tokens *t, enum token_kind kind, const char *text, size_t length,
                      int depth)
{
	if (t->count == t->capacity) {
		struct token *grown = sl_alloc(arena, (t->capacity = t->capacity ? 2 * t->capacity : 64) * sizeof *grown);
		if (t->count)
			memcpy(grown, t->items, t->count * sizeof *grown);
		t->items = grown;
	}
	char *copy = sl_copy(arena, text, length);
	for (size_t i = 0; kind == TOKEN_WORD && i < length; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	t->items[t->count++] = (struct token){kind, copy, depth};
}

/* Behind a quoted text that starts at sql. */
static const char *skip_quoted(const char *sql)
{
	char quote = *sql;
	for (sql++; *sql; sql++)
		if (*sql == quote && *++sql != quote)
			return sql;
	return sql;
}

/* $$ ... $$ and $tag$ ... $tag$; NULL when there is none here. */
static const char *skip_dollar(const char *sql)
{
	size_t tag = 1 + strspn(sql + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (sql[tag] != '$')
		return NULL;
	for (const char *at = sql + tag + 1; (at = strchr(at, '$')); at++)
		if (!strncmp(at, sql, tag + 1))
			return at + tag + 1;
	return sql + strlen(sql);
}

static const char *skip_space(const char *sql)
{
	for (;;) {
		sql += strspn(sql, " \t\r\n");
		if (!strncmp(sql, "--", 2)) {
			sql += strcspn(sql, "\n");
		} else if (!strncmp(sql, "/*", 2)) {
			const char *end = strstr(sql + 2, "*/");
			sql = end ? end + 2 : sql + strlen(sql);
		} else {
			return sql;
		}
	}
}

static bool word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static void tokenize(struct rql_arena *arena, const char *sql, struct tokens *out)
{
	int depth = 0;
	while (*(sql = skip_space(sql))) {
		const char *start = sql;
		if (*sql == '\'' || *sql == '"') {
			sql = skip_quoted(sql);
			size_t n = (size_t)(sql - start);
			add_token(arena, out, *start == '"' ? TOKEN_QUOTED : TOKEN_STRING, start + 1, n > 1 ? n - 2 : 0, depth);
		} else if (*sql == '$' && skip_dollar(sql)) {
			sql = skip_dollar(sql);
			add_token(arena, out, TOKEN_STRING, start, (size_t)(sql - start), depth);
		} else if (isdigit((unsigned char)*sql)) {
			while (word_character(*sql) || *sql == '.')
				sql++;
			add_token(arena, out, TOKEN_NUMBER, start, (size_t)(sql - start), depth);
		} else if (word_character(*sql)) {
			while (word_character(*sql))
				sql++;
			add_token(arena, out, TOKEN_WORD, start, (size_t)(sql - start), depth);
		} else {
			bool closes = strchr(")]}", *sql) != NULL;
			depth -= closes;
			add_token(arena, out, TOKEN_OTHER, sql, 1, depth);
			depth += strchr("([{", *sql) != NULL;
			sql++;
		}
	}
}

static bool is(const struct tokens *t, uint32_t i, const char *text)
{
	return i < t->count && t->items[i].kind != TOKEN_STRING && t->items[i].kind != TOKEN_QUOTED &&
	       !strcmp(t->items[i].text, text);
}

static bool among(const struct tokens *t, uint32_t i, const char *const *words)
{
	for (; *words; words++)
		if (is(t, i, *words))
			return true;
	return false;
}

/* ---- what need not be equal ---- */
static const char *const called[] = {"now", "today", "get_current_timestamp", "get_current_time",
                                     "transaction_timestamp",
                                     "random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "current_query_id",
                                     "current_transaction_id", "current_connection_id", "txid_current", "current_query",
                                     "pragma_storage_info", "pragma_metadata_info", "pragma_database_size",
                                     "pragma_last_profiling_output", "pragma_detailed_profiling_output",
    "pragma_user_agent",
                                     "current_date", "current_time", "current_timestamp", "query_id", NULL};
static const char *const bare[] = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
                                   "tablesample", "reservoir", "bernoulli", NULL};
static const char *const pragmas[] = {"database_size", "storage_info", "metadata_info", "user_agent", "functions",
                                      "last_profiling_output", "detailed_profiling_output",
    "all_profiling_output", NULL};

/* The rule that takes a statement's answer out of the comparison, or NULL. */
static const char *special(const struct tokens *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->items[i].kind != TOKEN_WORD)
			continue;
		if (!strncmp(t->items[i].text, "duckdb_", 7))
			return "duckdb_*() lists";
		if (is(t, i, "explain") && (i == 0 || is(t, i - 1, ";") || is(t, i - 1, "(")))
			return "EXPLAIN";
		if (is(t, i, "pragma") && among(t, i + 1, pragmas))
			return "PRAGMA about storage, functions or profiles";
		if (among(t, i, called) && is(t, i + 1, "("))
			return "a function of chance, time or the process";
		if (among(t, i, bare) || (is(t, i, "using") && is(t, i + 1, "sample")))
			return "the time, or a sample";
	}
	return NULL;
}

/* ---- the end of a SELECT ---- */

/* An ORDER BY item from its tokens: a number, a name (its last part), or "" for what is neither. */
static const char *order_item(const struct tokens *t, uint32_t from, uint32_t to)
{
	static const char *const ends[] = {"asc", "desc", "nulls", "first", "last", NULL};
	while (to > from && among(t, to - 1, ends))
		to--;
	if (to == from + 1 && t->items[from].kind == TOKEN_NUMBER)
		return t->items[from].text;
	for (uint32_t i = from; i < to; i++) {
		bool name = t->items[i].kind == TOKEN_WORD || t->items[i].kind == TOKEN_QUOTED;
		if ((i - from) % 2 == 0 ? !name : !is(t, i, "."))
			return "";
	}
	return (to - from) % 2 ? t->items[to - 1].text : "";
}

static void order_items(struct rql_arena *arena, const struct tokens *t, uint32_t from, struct sl_facts *out)
{
	static const char *const ends[] = {"limit", "offset", "using", "fetch", ";", NULL};
	uint32_t start = from, i;
	for (i = from; i <= t->count; i++) {
		bool end = i == t->count || (t->items[i].depth == 0 && among(t, i, ends));
		if (!end && !(t->items[i].depth == 0 && is(t, i, ",")))
			continue;
		if (i == start + 1 && is(t, start, "all"))
			out->order_all = true;
		sl_list_add(arena, &out->order, order_item(t, start, i));
		start = i + 1;
		if (end)
			return;
	}
}

/* SELECT ... FROM name [AS alias] [WHERE ...], and nothing that merges or reorders rows. */
static bool selects_one_table(const struct tokens *t)
{
	static const char *const others[] = {"group", "having", "distinct", "union", "except", "intersect", "join", "over",
	                                     "order", "window", "qualify", "unnest", "pivot", "unpivot", "sample", "with",
	                                     NULL};
	static const char *const after[] = {"where", "limit", "offset", ";", NULL};
	uint32_t from = 0;
	if (!is(t, 0, "select") && !is(t, 0, "from"))
		return false;
	for (uint32_t i = 0; i < t->count; i++) {
		if (among(t, i, others))
			return false;
		if (is(t, i, "from") && t->items[i].depth == 0)
			from = i + 1;
	}
	bool name = from && from < t->count && (t->items[from].kind == TOKEN_WORD || t->items[from].kind == TOKEN_QUOTED);
	for (from++; name && is(t, from, "."); from += 2)
		;
	if (is(t, from, "as"))
		from++;
	if (name && from < t->count && !among(t, from, after) && t->items[from].kind <= TOKEN_QUOTED)
		from++;
	return name && (from >= t->count || among(t, from, after));
}

static void facts_of_select(struct rql_arena *arena, const struct tokens *t, struct sl_facts *out)
{
	uint32_t order = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->items[i].depth)
			continue;
		if (is(t, i, "order") && is(t, i + 1, "by"))
			order = i + 2;
		out->limited |= is(t, i, "limit") || is(t, i, "offset") || is(t, i, "fetch");
	}
	out->ordered = order != 0;
	if (order)
		order_items(arena, t, order, out);
	out->one_table = !order && selects_one_table(t);
}

/* ---- what reaches beyond the statement ---- */
static void facts_of_effects(const struct tokens *t, struct sl_facts *out)
{
	static const char *const begins[] = {"begin", "start", NULL};
	static const char *const ends[] = {"commit", "rollback", "abort", "end", NULL};
	static const char *const fixes[] = {"prepare", "attach", "temp", "temporary", NULL};
	static const char *const settings[] = {"set", "reset", "pragma", "use", NULL};
	for (uint32_t i = 0; i < t->count; i++) {
		bool first = i == 0 || is(t, i - 1, ";");
		out->fixed |= among(t, i, fixes) || (first && is(t, i, "load"));
		if (first && among(t, i, begins))
			out->begins = true, out->ends = false;
		if (first && among(t, i, ends))
			out->ends = true, out->begins = false;
		if (i == 0)
			out->setting = among(t, i, settings);
	}
}

void sl_split(struct rql_arena *arena, const char *sql, struct sl_list *out)
{
	const char *start = sql = skip_space(sql);
	while (*sql) {
		if (*sql == ';') {
			if (sql > start)
				sl_list_add(arena, out, sl_copy(arena, start, (size_t)(sql - start)));
			start = sql = skip_space(sql + 1);
			continue;
		}
		const char *dollar = *sql == '$' ? skip_dollar(sql) : NULL;
		sql = skip_space(dollar ? dollar : *sql == '\'' || *sql == '"' ? skip_quoted(sql) : sql + 1);
	}
	if (sql > start)
		sl_list_add(arena, out, sl_copy(arena, start, (size_t)(sql - start)));
}

void sl_facts_of(struct rql_arena *arena, const char *sql, struct sl_facts *out)
{
	struct tokens all = {0}, last;
	*out = (struct sl_facts){0};
	tokenize(arena, sql, &all);
	while (all.count && is(&all, all.count - 1, ";"))
		all.count--;
	facts_of_effects(&all, out);
	out->special = special(&all);
	last = all;
	for (uint32_t i = 0; i < all.count; i++)
		if (is(&all, i, ";"))
			last = (struct tokens){all.items + i + 1, all.count - i - 1, 0};
	facts_of_select(arena, &last, out);
}
