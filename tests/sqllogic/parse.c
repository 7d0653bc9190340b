/* Files of sqllogictest, as commands: loops hold theirs, and nothing is substituted yet. */
#include "sqllogic.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH 16u

struct body { /* commands that are still being added to */
	struct sl_command *loop; /* NULL: the file */
	struct sl_command **commands;
	uint32_t count, capacity;
};
struct parser {
	struct rql_arena *arena;
	char **lines;
	uint32_t line_count, at;
	struct body open[MAX_DEPTH];
	uint32_t depth, skipping;
	struct sl_file *file;
};

static bool blank_or_comment(const char *line)
{
	return !*line || *line == '#';
}

static void read_lines(struct parser *p, const char *path)
{
	FILE *f = fopen(path, "rb");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	uint32_t capacity = 0;
	if (!f) {
		p->file->error = "the file cannot be read";
		return;
	}
	while ((length = getline(&line, &room, f)) >= 0) {
		while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
			length--;
		if (p->line_count == capacity) {
			char **grown = sl_alloc(p->arena, (capacity = capacity ? 2 * capacity : 256) * sizeof *grown);
			if (p->line_count)
				memcpy(grown, p->lines, p->line_count * sizeof *grown);
			p->lines = grown;
		}
		p->lines[p->line_count++] = sl_copy(p->arena, line, (size_t)length);
	}
	free(line);
	fclose(f);
}

static void split(struct rql_arena *arena, const char *line, struct sl_list *words)
{
	while (*line) {
		line += strspn(line, " \t");
		size_t n = strcspn(line, " \t");
		if (n)
			sl_list_add(arena, words, sl_copy(arena, line, n));
		line += n;
	}
}

static void add(struct parser *p, struct sl_command *c)
{
	struct body *b = &p->open[p->depth];
	if (b->count == b->capacity) {
		struct sl_command **grown = sl_alloc(p->arena,
		                                     (b->capacity = b->capacity ? 2 * b->capacity : 16) * sizeof *grown);
		if (b->count)
			memcpy(grown, b->commands, b->count * sizeof(struct sl_command *));
		b->commands = grown;
	}
	b->commands[b->count++] = c;
	if (!p->depth && (c->kind == SL_STATEMENT || c->kind == SL_QUERY))
		p->file->statements++;
}

/* The lines up to an empty line, a comment or ----, joined. */
static const char *statement_text(struct parser *p)
{
	struct rql_strbuf text = {0};
	for (; p->at < p->line_count && !blank_or_comment(p->lines[p->at]) && strcmp(p->lines[p->at], "----"); p->at++)
		rql_strbuf_printf(&text, "%s%s", text.length ? "\n" : "", p->lines[p->at]);
	const char *copy = sl_copy(p->arena, rql_strbuf_text(&text), text.length);
	rql_strbuf_free(&text);
	return copy;
}

static void read_result(struct parser *p, struct sl_list *result)
{
	if (p->at < p->line_count && !strcmp(p->lines[p->at], "----"))
		for (p->at++; p->at < p->line_count && *p->lines[p->at]; p->at++)
			sl_list_add(p->arena, result, p->lines[p->at]);
}

/* ---- conditions ---- */
static bool parse_condition(struct parser *p, const char *text, bool skips, struct sl_command *c)
{
	static const char *const comparisons[] = {"<>", ">=", "<=", ">", "<", "="};
	for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
		const char *at = strstr(text, comparisons[i]);
		if (!at)
			continue;
		struct sl_condition *grown = sl_alloc(p->arena, (c->condition_count + 1) * sizeof *grown);
		if (c->condition_count)
			memcpy(grown, c->conditions, c->condition_count * sizeof *grown);
		c->conditions = grown;
		grown[c->condition_count] = (struct sl_condition){.name = sl_copy(p->arena, text, (size_t)(at - text)),
		                                                  .value = at + strlen(comparisons[i]),
		                                                  .skips = skips};
		strcpy(grown[c->condition_count++].comparison, comparisons[i]);
		return true;
	}
	return false;
}

/* skipif or onlyif: of a loop's variable (joined by &&), or of a system. false: this is not for us. */
static bool parse_conditions(struct parser *p, const char *text, bool skips, struct sl_command *c)
{
	if (!strpbrk(text, "<>="))
		return (strcasecmp(text, "duckdb") == 0) != skips;
	for (;;) {
		const char *end = strstr(text, "&&");
		size_t n = end ? (size_t)(end - text) : strlen(text);
		if (!parse_condition(p, sl_copy(p->arena, text, n), skips, c))
			p->file->error = "a condition of skipif or onlyif is none";
		if (!end)
			return true;
		text = end + 2;
	}
}

/* ---- loops ---- */
static const char *const signed_types[] = {"tinyint", "smallint", "integer", "bigint", "hugeint", NULL};
static const char *const unsigned_types[] = {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", NULL};
static const char *const real_types[] = {"float", "double", NULL};
static const char *const other_types[] = {"bool", "interval", "varchar", NULL};
static const char *const compressions[] = {"none", "uncompressed", "rle",  "bitpacking", "dictionary", "fsst",
                                           "dict_fsst",
                                           "alp",  "alprd",        NULL};
/* The columns of DuckDB's test_all_types(). */
static const char *const all_columns[] = {
	"bool", "tinyint", "smallint", "int", "bigint", "hugeint", "uhugeint", "utinyint", "usmallint", "uint", "ubigint",
	"date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "time_tz", "timestamp_tz", "float",
	"double", "dec_4_1", "dec_9_4", "dec_18_6", "dec38_10", "uuid", "interval", "varchar", "blob", "bit", "small_enum",
	"medium_enum", "large_enum", "int_array", "double_array", "date_array", "timestamp_array", "timestamptz_array",
	"varchar_array", "nested_int_array", "struct", "struct_of_arrays", "array_of_structs", "map", "union",
	"fixed_int_array", "fixed_varchar_array", "fixed_nested_int_array", "fixed_nested_varchar_array",
	"fixed_struct_array", "struct_of_fixed_array", "fixed_array_of_int_list", "list_of_fixed_int_array", NULL};
static const struct {
	const char *name;
	const char *const *sets[5];
} collections[] = {
	{"<compression>", {compressions}},
	{"<signed>", {signed_types}},
	{"<unsigned>", {unsigned_types}},
	{"<integral>", {signed_types, unsigned_types}},
	{"<numeric>", {signed_types, unsigned_types, real_types}},
	{"<alltypes>", {signed_types, unsigned_types, real_types, other_types}},
	{"<all_types_columns>", {all_columns}},
};

static void remove_value(struct sl_list *list, const char *value)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], value)) {
			memmove(&list->items[i], &list->items[i + 1], (list->count - i - 1) * sizeof(char *));
			list->count--;
			return;
		}
}

static void add_values(struct parser *p, const char *word, struct sl_list *values)
{
	for (size_t i = 0; i < sizeof collections / sizeof collections[0]; i++) {
		if (strcasecmp(word, collections[i].name))
			continue;
		for (size_t s = 0; s < 5 && collections[i].sets[s]; s++)
			for (const char *const *v = collections[i].sets[s]; *v; v++)
				sl_list_add(p->arena, values, *v);
		return;
	}
	uint32_t before = values->count;
	if (*word == '!')
		remove_value(values, word + 1);
	if (values->count == before)
		sl_list_add(p->arena, values, word);
}

static void open_loop(struct parser *p, struct sl_command *c, bool foreach)
{
	if (c->words.count < (foreach ? 2u : 3u) || p->depth + 1 == MAX_DEPTH) {
		p->file->error = "a loop lacks its values, or is too deep";
		return;
	}
	c->kind = SL_LOOP;
	c->variable = c->words.items[0];
	for (uint32_t i = 1; foreach && i < c->words.count; i++)
		add_values(p, c->words.items[i], &c->values);
	if (!foreach) {
		long from = atol(c->words.items[1]), to = atol(c->words.items[2]);
		do /* as DuckDB's own runner: at least once */
			sl_list_add(p->arena, &c->values, sl_printf(p->arena, "%ld", from));
		while (++from < to);
	}
	add(p, c);
	p->open[++p->depth] = (struct body){.loop = c};
}

static void close_loop(struct parser *p)
{
	if (!p->depth) {
		p->file->error = "endloop without a loop";
		return;
	}
	struct body *b = &p->open[p->depth--];
	b->loop->body = b->commands;
	b->loop->body_count = b->count;
}

/* ---- directives ---- */
static void parse_statement(struct parser *p, struct sl_command *c)
{
	const char *what = c->words.count ? c->words.items[0] : "";
	c->kind = SL_STATEMENT;
	c->expected = !strcmp(what, "ok") ? SL_EXPECT_OK : !strcmp(what, "error") ? SL_EXPECT_ERROR : SL_EXPECT_ANY;
	c->connection = c->words.count > 1 ? c->words.items[1] : "";
	p->at++;
	c->sql = statement_text(p);
	read_result(p, &c->result);
	add(p, c);
}

static void parse_query(struct parser *p, struct sl_command *c)
{
	const char *sort = c->words.count > 1 ? c->words.items[1] : "nosort";
	bool rows = !strcmp(sort, "rowsort") || !strcmp(sort, "sort"), values = !strcmp(sort, "valuesort");
	c->kind = SL_QUERY;
	c->expected = SL_EXPECT_OK;
	c->columns = c->words.count ? c->words.items[0] : "";
	c->sort = rows ? SL_SORT_ROWS : values ? SL_SORT_VALUES : SL_SORT_NONE;
	c->connection = rows || values || !strcmp(sort, "nosort") ? "" : sort;
	c->labelled = c->words.count > 2;
	p->at++;
	c->sql = statement_text(p);
	read_result(p, &c->result);
	add(p, c);
}

static const struct {
	const char *word;
	enum sl_kind kind;
} plain[] = {
	{"load", SL_LOAD},       {"restart", SL_RESTART}, {"reconnect", SL_RECONNECT},     {"sleep", SL_SLEEP},
	{"unzip", SL_UNZIP},     {"require", SL_REQUIRE}, {"require-env", SL_REQUIRE_ENV}, {"test-env", SL_TEST_ENV},
	{"continue", SL_CONTINUE}, {"halt", SL_HALT},     {"set", SL_SET},
};

static void parse_mode(struct parser *p, const struct sl_command *c)
{
	const char *mode = c->words.count ? c->words.items[0] : "";
	if (!strcmp(mode, "skip"))
		p->skipping++;
	else if (!strcmp(mode, "unskip") && p->skipping)
		p->skipping--;
	/* All others are about what the runner of DuckDB prints. */
}

static void parse_directive(struct parser *p, const char *word, struct sl_command *c)
{
	bool parallel = !strncmp(word, "concurrent", 10);
	if (!strcmp(word, "mode")) {
		parse_mode(p, c);
	} else if (p->skipping || !strcmp(word, "hash-threshold") || !strcmp(word, "tags") || !strcmp(word, "reset")) {
		; /* how results are written down, and which tests are chosen */
	} else if (!strcmp(word, "statement")) {
		parse_statement(p, c);
	} else if (!strcmp(word, "query")) {
		parse_query(p, c);
	} else if (!strcmp(word + (parallel ? 10 : 0), "loop") || !strcmp(word + (parallel ? 10 : 0), "foreach")) {
		c->parallel = parallel;
		open_loop(p, c, strstr(word, "foreach") != NULL);
	} else if (!strcmp(word, "endloop")) {
		close_loop(p);
	} else {
		c->kind = SL_UNKNOWN;
		for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
			if (!strcmp(word, plain[i].word))
				c->kind = plain[i].kind;
		if (c->kind == SL_UNKNOWN)
			sl_list_add(p->arena, &c->words, word);
		add(p, c);
	}
}

/* One directive with the conditions before it. */
static void parse_record(struct parser *p)
{
	struct sl_command *c = sl_alloc(p->arena, sizeof *c);
	for (bool wanted = true;; p->at++) {
		struct sl_list words = {0};
		if (p->at >= p->line_count)
			return;
		split(p->arena, p->lines[p->at], &words);
		if (!words.count)
			return;
		bool skips = !strcmp(words.items[0], "skipif");
		if ((skips || !strcmp(words.items[0], "onlyif")) && words.count > 1) {
			wanted &= parse_conditions(p, words.items[1], skips, c);
			continue;
		}
		c->line = p->at + 1;
		c->words = (struct sl_list){words.items + 1, words.count - 1, 0};
		if (wanted)
			parse_directive(p, words.items[0], c);
		return;
	}
}

void sl_parse(struct rql_arena *arena, const char *path, struct sl_file *out)
{
	struct parser p = {.arena = arena, .file = out};
	*out = (struct sl_file){.path = path};
	read_lines(&p, path);
	while (!out->error) {
		while (p.at < p.line_count && blank_or_comment(p.lines[p.at]))
			p.at++;
		if (p.at >= p.line_count)
			break;
		parse_record(&p);
		while (p.at < p.line_count && !blank_or_comment(p.lines[p.at]))
			p.at++;
	}
	if (!out->error && p.depth)
		out->error = "a loop has no endloop";
	out->commands = p.open[0].commands;
	out->count = p.open[0].count;
}
