/* Random tables. Data come from SQL over range(), so that a log of statements holds them whole and in few bytes. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct integer_type {
	const char *name, *least, *greatest;
	bool is_signed;
	unsigned bits;
};
static const struct integer_type integers[] = {
	{"TINYINT", "-128", "127", true, 8},
	{"SMALLINT", "-32768", "32767", true, 16},
	{"INTEGER", "-2147483648", "2147483647", true, 32},
	{"BIGINT", "-9223372036854775808", "9223372036854775807", true, 64},
	{"HUGEINT", "-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", true, 128},
	{"UTINYINT", "0", "255", false, 8},
	{"USMALLINT", "0", "65535", false, 16},
	{"UINTEGER", "0", "4294967295", false, 32},
	{"UBIGINT", "0", "18446744073709551615", false, 64},
};

static const char *const short_words[] = {"",     "a",   "b",   "ab", "abc", "MFGR#1", "MFGR#12", "ASIA",
                                          "Asia", "x%y", "a_b", "é",  "ß",   "日本",   "zz z"};
static const char *const long_words[] = {"",
                                         "common prefix 0001",
                                         "common prefix 0002",
                                         "common prefix",
                                         "common prefix 0001 and more",
                                         "UNITED KI1",
                                         "UNITED STATES OF AMERICA",
                                         "ÅNGSTRÖM und Söhne GmbH",
                                         "日本国東京都千代田区",
                                         "twelve bytes",
                                         "thirteen byte",
                                         "an apostrophe '' inside",
                                         "\xF0\x9F\x98\x80 smile smile smile"};
static const char *const dates[] = {"1992-01-01", "1995-06-17", "1998-12-31", "2000-02-29",
                                    "1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01"};
static const char *const times[] = {"00:00:00", "23:59:59.999999", "12:34:56", "06:00:00.5", "18:30:00"};
static const char *const stamps[] = {"1992-01-01 00:00:00", "1998-12-31 23:59:59.999999", "2024-02-29 12:00:00",
                                     "1969-12-31 23:59:59.5", "2020-06-17 06:07:08"};
static const char *const reals[] = {"0.0",    "'-0.0'",  "1.0",     "-1.5",    "0.1",
                                    "100.25", "3.14159", "-273.15", "65536.5", "0.000125"};
static const char *const wild_reals[] = {"'inf'", "'-inf'", "'nan'", "1e300", "-1e300", "5e-324"};
static const char *const wild_floats[] = {"'inf'", "'-inf'", "'nan'", "3e38", "-3e38", "1e-45"};

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

struct making {
	struct dt_arena *arena;
	struct dt_random *r;
	struct dt_table *t;
	struct dt_column *c;
};

static void add_value(struct making *m, const char *text)
{
	struct dt_item *item = &m->c->item;
	if (item->value_count < DT_MAX_VALUES)
		item->values[item->value_count++] = text;
}

static void add_words(struct making *m, const char *before, const char *const *words, uint32_t count, const char *after,
                      uint32_t want)
{
	uint32_t start = dt_below(m->r, count);
	for (uint32_t i = 0; i < want && i < count; i++)
		add_value(m, dt_printf(m->arena, "%s%s%s", before, words[(start + i) % count], after));
}

static const char *salted(struct making *m)
{
	uint32_t salt = dt_below(m->r, 1000000) * 7919u, shape = dt_below(m->r, 100);
	if (shape < 8) /* ascending, until they begin again */
		return dt_printf(m->arena, "(i // %u)::UBIGINT", 1 + salt % 50);
	if (shape < 16) /* in runs */
		return dt_printf(m->arena, "hash(i // 700 + %u)", salt);
	if (shape < 40) /* skewed: the smaller of two */
		return dt_printf(m->arena, "least(hash(i + %u), hash(i * 3 + %u))", salt, salt / 2);
	return dt_printf(m->arena, "hash(i + %u)", salt);
}

/* Every value from the list of literals. */
static void generate_from_list(struct making *m)
{
	struct dt_text list = {0};
	uint32_t n = m->c->item.value_count;
	if (n > 2 && dt_chance(m->r, 20))
		n = 1 + dt_below(m->r, 2); /* few distinct values; the others never occur */
	for (uint32_t i = 0; i < n; i++)
		dt_put(&list, "%s%s", i ? ", " : "", m->c->item.values[i]);
	m->c->generator =
		dt_printf(m->arena, "list_extract([%s]::%s[], 1 + (%s %% %u)::BIGINT)", list.data, m->c->type, salted(m), n);
	dt_text_free(&list);
}

static void make_integer(struct making *m)
{
	const struct integer_type *type =
		&integers[dt_chance(m->r, 55) ? 2 + dt_below(m->r, 2) : dt_below(m->r, COUNT(integers))];
	m->c->type = type->name;
	m->c->item.class = DT_INT;
	if (dt_chance(m->r, 50)) { /* a range */
		uint32_t span = type->bits == 8 ? 100 : type->bits == 16 ? 20000 : dt_chance(m->r, 50) ? 50 : 1000000;
		if (dt_chance(m->r, 50))
			span = 3 + dt_below(m->r, 20);
		int32_t low = type->is_signed && dt_chance(m->r, 40) ? -(int32_t)(span / 2) : (int32_t)dt_below(m->r, 20);
		m->c->generator = dt_printf(m->arena, "((%s %% %u)::BIGINT + %d)::%s", salted(m), span, low, type->name);
		for (uint32_t i = 0; i < 8; i++)
			add_value(m, dt_printf(m->arena, "%d", low + (int32_t)dt_below(m->r, span)));
		add_value(m, dt_printf(m->arena, "%d", low));
		add_value(m, dt_printf(m->arena, "%d", low + (int32_t)span));
		return;
	}
	uint32_t n = 2 + dt_below(m->r, 12);
	for (uint32_t i = 0; i < n; i++)
		add_value(
			m, dt_printf(m->arena, "%d", type->is_signed ? (int)dt_below(m->r, 200) - 100 : (int)dt_below(m->r, 200)));
	if (dt_chance(m->r, 30)) {
		m->c->item.extremes = true;
		add_value(m, dt_printf(m->arena, "'%s'::%s", type->least, type->name));
		add_value(m, dt_printf(m->arena, "'%s'::%s", type->greatest, type->name));
	}
	generate_from_list(m);
}

static void make_decimal(struct making *m)
{
	static const unsigned widths[] = {4, 9, 12, 15, 18, 25, 38};
	unsigned width = widths[dt_below(m->r, COUNT(widths))], scale = dt_below(m->r, width < 9 ? 3 : 5);
	m->c->type = dt_printf(m->arena, "DECIMAL(%u,%u)", width, scale);
	m->c->item.class = DT_DECIMAL;
	if (width > 9 && scale && dt_chance(m->r, 50)) {
		m->c->generator = dt_printf(m->arena, "((%s %% 10000)::VARCHAR || '.' || (hash(i * 5) %% 10)::VARCHAR)::%s",
		                            salted(m), m->c->type);
		for (uint32_t i = 0; i < 8; i++)
			add_value(m, dt_printf(m->arena, "%u.%u", dt_below(m->r, 10000), dt_below(m->r, 10)));
		return;
	}
	uint32_t n = 2 + dt_below(m->r, 12);
	for (uint32_t i = 0; i < n; i++)
		add_value(m, scale ? dt_printf(m->arena, "%d.%u", (int)dt_below(m->r, 80) - 40, dt_below(m->r, 10))
		                   : dt_printf(m->arena, "%d", (int)dt_below(m->r, 80) - 40));
	if (dt_chance(m->r, 20)) {
		m->c->item.extremes = true;
		char digits[48];
		memset(digits, '9', width - scale);
		digits[width - scale] = '\0';
		add_value(m, dt_printf(m->arena, "'%s'::%s", digits, m->c->type));
		add_value(m, dt_printf(m->arena, "'-%s'::%s", digits, m->c->type));
	}
	generate_from_list(m);
}

static void make_real(struct making *m)
{
	bool single = dt_chance(m->r, 35);
	m->c->type = single ? "FLOAT" : "DOUBLE";
	m->c->item.class = DT_REAL;
	const char *cast = single ? "::FLOAT" : "::DOUBLE";
	if (dt_chance(m->r, 30)) {
		m->c->generator = dt_printf(m->arena, "((%s %% 100000)::DOUBLE / 8 - 3000)::%s", salted(m), m->c->type);
		add_words(m, "", reals, COUNT(reals), cast, 6);
		return;
	}
	add_words(m, "", reals, COUNT(reals), cast, 2 + dt_below(m->r, 7));
	if (dt_chance(m->r, 30)) {
		m->c->item.wild = true;
		add_words(m, "", single ? wild_floats : wild_reals, 6, cast, 1 + dt_below(m->r, 6));
	}
	generate_from_list(m);
}

static void make_string(struct making *m)
{
	m->c->type = "VARCHAR";
	m->c->item.class = DT_STRING;
	if (dt_chance(m->r, 25)) {
		uint32_t n = dt_chance(m->r, 50) ? 30 : 3000;
		const char *before = dt_chance(m->r, 50) ? "c" : "customer number ";
		m->c->generator = dt_printf(m->arena, "'%s' || (%s %% %u)::VARCHAR", before, salted(m), n);
		for (uint32_t i = 0; i < 8; i++)
			add_value(m, dt_printf(m->arena, "'%s%u'", before, dt_below(m->r, n)));
		return;
	}
	if (dt_chance(m->r, 50))
		add_words(m, "'", short_words, COUNT(short_words), "'", 2 + dt_below(m->r, 13));
	else
		add_words(m, "'", long_words, COUNT(long_words), "'", 2 + dt_below(m->r, 11));
	generate_from_list(m);
}

static void make_dated(struct making *m, bool stamp)
{
	m->c->type = stamp ? "TIMESTAMP" : "DATE";
	m->c->item.class = stamp ? DT_TIMESTAMP : DT_DATE;
	if (dt_chance(m->r, 60)) {
		uint32_t days = dt_chance(m->r, 50) ? 2556 : 60;
		m->c->generator =
			stamp ? dt_printf(m->arena, "TIMESTAMP '1992-01-01 00:00:00' + to_seconds((%s %% %u)::BIGINT * 7001)",
		                      salted(m), days)
				  : dt_printf(m->arena, "DATE '1992-01-01' + (%s %% %u)::INTEGER", salted(m), days);
		for (uint32_t i = 0; i < 8; i++)
			add_value(m, dt_printf(m->arena, "%s '199%u-0%u-1%u%s'", m->c->type, 2 + dt_below(m->r, 6),
			                       1 + dt_below(m->r, 9), dt_below(m->r, 10), stamp ? " 00:00:00" : ""));
		return;
	}
	const char *before = stamp ? "TIMESTAMP '" : "DATE '";
	add_words(m, before, stamp ? stamps : dates, stamp ? COUNT(stamps) : COUNT(dates), "'", 2 + dt_below(m->r, 6));
	if (dt_chance(m->r, 25)) {
		m->c->item.extremes = true;
		add_value(m, dt_printf(m->arena, "%sinfinity'", before));
		add_value(m, dt_printf(m->arena, "%s-infinity'", before));
	}
	generate_from_list(m);
}

static void make_other(struct making *m, uint32_t number)
{
	switch (dt_below(m->r, 9)) {
	case 0:
	case 1:
		m->c->type = "BOOLEAN";
		m->c->item.class = DT_BOOL;
		add_value(m, "true");
		add_value(m, "false");
		break;
	case 2:
		m->c->type = "TIME";
		m->c->item.class = DT_TIME;
		add_words(m, "TIME '", times, COUNT(times), "'", 2 + dt_below(m->r, 4));
		break;
	case 3:
		m->c->type = dt_printf(m->arena, "mood_%s_%u", m->t->name, number);
		m->c->item.class = DT_ENUM;
		m->t->types =
			dt_printf(m->arena, "%sCREATE TYPE %s AS ENUM ('sad', 'ok', 'happy', 'a very very long mood', '');",
		              m->t->types ? m->t->types : "", m->c->type);
		add_value(m, "'ok'");
		add_value(m, "'sad'");
		add_value(m, "'happy'");
		add_value(m, "'a very very long mood'");
		break;
	case 4:
		m->c->type = "UUID";
		m->c->item.class = DT_UUID;
		for (uint32_t i = 0; i < 6; i++)
			add_value(m, dt_printf(m->arena, "'%08x-0000-4000-8000-0000000000%02x'::UUID", i * 0x3fffffffu, i * 17));
		break;
	case 6: {
		static const char *const zoned[] = {"TIMESTAMPTZ",  "TIMESTAMP_S", "TIMESTAMP_MS",
		                                    "TIMESTAMP_NS", "UHUGEINT",    "INTERVAL"};
		uint32_t which = dt_below(m->r, 6);
		m->c->type = zoned[which];
		m->c->item.class = DT_UUID; /* no functions of its own */
		for (uint32_t i = 0; i < 6; i++)
			add_value(m, which == 4 ? dt_printf(m->arena, "%u::UHUGEINT", i * i * i * 1000)
			             : which == 5
			                 ? dt_printf(m->arena, "INTERVAL %u DAY", i * 9)
			                 : dt_printf(m->arena, "'20%02u-03-%02u 12:34:%02u'::%s", i * 7, i + 1, i * 9, m->c->type));
		break;
	}
	default:
		m->c->type = "BLOB";
		m->c->item.class = DT_BLOB;
		add_value(m, "'abc'::BLOB");
		add_value(m, "'\\x00\\xFF'::BLOB");
		add_value(m, "''::BLOB");
		add_value(m, "'a longer blob than twelve \\x00 bytes'::BLOB");
		break;
	}
	generate_from_list(m);
}

/* A parent column: determined by a column that was made before (city -> nation -> region). */
static void make_hierarchy(struct making *m, uint32_t levels)
{
	uint32_t fan = 2 + dt_below(m->r, 4), leaves = fan;
	for (uint32_t i = 1; i < levels; i++)
		leaves *= fan;
	const char *code = dt_printf(m->arena, "(%s %% %u)::BIGINT", salted(m), leaves);
	uint32_t divisor = 1, first = m->t->column_count;
	for (uint32_t level = 0; level < levels && m->t->column_count < DT_MAX_COLUMNS; level++, divisor *= fan) {
		m->c = &m->t->columns[m->t->column_count++];
		uint32_t count = leaves / divisor;
		*m->c = (struct dt_column){
			.type = "VARCHAR",
			.item = {.class = DT_STRING, .values = dt_alloc(m->arena, DT_MAX_VALUES * sizeof(char *))}};
		m->c->item.name = dt_printf(m->arena, "h%u_%u", first, level);
		m->c->item.text = m->c->item.name;
		for (uint32_t i = 0; i < count && i < 10; i++)
			add_value(m, dt_printf(m->arena, "'level %u member %u'", level, dt_below(m->r, count) * 7 % count));
		m->c->generator =
			dt_printf(m->arena, "'level %u member ' || ((%s // %u) * 7 %% %u)::VARCHAR", level, code, divisor, count);
	}
}

static void make_column(struct making *m, uint32_t number)
{
	static const char *const odd[] = {"\"select\"", "\"Mixed Case\"", "\"c \"\"q\"\"\""};
	struct dt_item *item = &m->c->item;
	item->values = dt_alloc(m->arena, DT_MAX_VALUES * sizeof(char *));
	item->name = dt_chance(m->r, 6) ? odd[number % 3] : dt_printf(m->arena, "c%u", number);
	for (uint32_t i = 0; i < m->t->column_count - 1; i++)
		if (!strcmp(m->t->columns[i].item.name, item->name))
			item->name = dt_printf(m->arena, "c%u", number);
	item->text = item->name;
	uint32_t kind = dt_below(m->r, 100);
	if (kind < 32)
		make_integer(m);
	else if (kind < 47)
		make_decimal(m);
	else if (kind < 57)
		make_real(m);
	else if (kind < 75)
		make_string(m);
	else if (kind < 83)
		make_dated(m, false);
	else if (kind < 88)
		make_dated(m, true);
	else
		make_other(m, number);
	uint32_t nulls = dt_below(m->r, 100);
	unsigned percent = nulls < 55 ? 0 : nulls < 80 ? 10 : nulls < 92 ? 60 : nulls < 96 ? 100 : 95;
	if (dt_chance(m->r, 15)) /* blocks of rows, as columns structures have them, with nothing but NULLs */
		m->c->generator = dt_printf(m->arena, "CASE WHEN hash(i // 4096 + %u) %% 100 < %u THEN NULL ELSE %s END",
		                            number * 31, dt_chance(m->r, 50) ? 40 : 75, m->c->generator);
	if (percent)
		m->c->generator = dt_printf(m->arena, "CASE WHEN hash(i * 11 + %u) %% 100 < %u THEN NULL ELSE %s END",
		                            number * 31, percent, m->c->generator);
}

static void add_key(struct making *m, const char *name, const char *generator, uint32_t keys)
{
	m->c = &m->t->columns[m->t->column_count++];
	*m->c = (struct dt_column){.type = "INTEGER", .generator = generator};
	m->c->item = (struct dt_item){
		.name = name, .text = name, .class = DT_INT, .values = dt_alloc(m->arena, DT_MAX_VALUES * sizeof(char *))};
	for (uint32_t i = 0; i < 6; i++)
		add_value(m, dt_printf(m->arena, "%u", dt_below(m->r, keys + 2)));
}

void dt_table_make(struct dt_arena *arena, struct dt_random *r, uint32_t number, uint32_t rows, const uint32_t *key_of,
                   uint32_t key_count, bool is_dimension, struct dt_table *out)
{
	struct making m = {arena, r, out, NULL};
	*out = (struct dt_table){.name = dt_printf(arena, "t%u", number), .rows = rows, .next_row = rows};
	if (is_dimension) {
		const char *key = dt_chance(r, 75)   ? "i"
		                  : dt_chance(r, 50) ? "i // 2"
		                                     : "CASE WHEN i % 5 = 0 THEN NULL ELSE i END";
		add_key(&m, "id", key, rows);
	}
	if (!is_dimension && dt_chance(r, 40)) { /* grows or shrinks with the row: every row group has its own range */
		static const char *const growing[] = {"i", "i // 3", "100000 - i", "CASE WHEN i >= 5000 THEN i END"};
		add_key(&m, "seq", growing[dt_below(r, COUNT(growing))], rows);
	}
	for (uint32_t i = 0; i < key_count; i++) {
		const char *value =
			dt_printf(arena, "(hash(i + %u) %% %u)::INTEGER", 1000 + i * 77, key_of[i] + dt_below(r, 2));
		if (dt_chance(r, 30))
			value = dt_printf(arena, "CASE WHEN i %% 7 = %u THEN NULL ELSE %s END", i, value);
		add_key(&m, dt_printf(arena, "fk%u", i), value, key_of[i]);
	}
	if (dt_chance(r, 40))
		make_hierarchy(&m, 2 + dt_below(r, 2));
	uint32_t want = out->column_count + (is_dimension ? 2 : 3) + dt_below(r, is_dimension ? 4 : 7);
	while (out->column_count < want && out->column_count < DT_MAX_COLUMNS) {
		m.c = &out->columns[out->column_count++];
		*m.c = (struct dt_column){0};
		make_column(&m, out->column_count - 1);
	}
}

const char *dt_table_create(struct dt_arena *arena, const struct dt_table *t)
{
	struct dt_text sql = {0};
	dt_put(&sql, "CREATE TABLE %s (", t->name);
	for (uint32_t i = 0; i < t->column_count; i++)
		dt_put(&sql, "%s%s %s", i ? ", " : "", t->columns[i].item.name, t->columns[i].type);
	dt_put(&sql, ")");
	const char *out = dt_printf(arena, "%s", sql.data);
	dt_text_free(&sql);
	return out;
}

const char *dt_table_insert(struct dt_arena *arena, const struct dt_table *t)
{
	struct dt_text sql = {0};
	dt_put(&sql, "INSERT INTO %s (", t->name);
	for (uint32_t i = 0; i < t->column_count; i++)
		dt_put(&sql, "%s%s", i ? ", " : "", t->columns[i].item.name);
	dt_put(&sql, ") SELECT ");
	for (uint32_t i = 0; i < t->column_count; i++)
		dt_put(&sql, "%s%s", i ? ", " : "", t->columns[i].generator);
	dt_put(&sql, " FROM range(");
	const char *out = dt_printf(arena, "%s", sql.data);
	dt_text_free(&sql);
	return out;
}
