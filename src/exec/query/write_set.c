/* What a statement of the host may change, from its tokens. Anything not recognised for sure is `everything`: too
 * much costs a
 * rebuild, too little would cost a wrong answer. */
#include "exec/exec_internal.h"
#include "exec/query/text.h"

#include <stdlib.h>
#include <string.h>

struct scan {
	const char *sql;
	uint32_t position;
	struct rql_token token;
};

static void next(struct scan *s)
{
	s->token = rql_token_next(s->sql, &s->position);
}

static bool is(const struct scan *s, const char *word)
{
	return rql_token_is(s->sql, s->token, word);
}

static bool accept(struct scan *s, const char *word)
{
	if (!is(s, word))
		return false;
	next(s);
	return true;
}

static bool symbol(const struct scan *s, char c)
{
	return rql_token_is_symbol(s->sql, s->token, c);
}

/* The token's identifier, malloc'ed and unquoted; NULL when it is none (or out of memory). */
static char *identifier(const struct scan *s)
{
	const char *text = s->sql + s->token.start;
	if (s->token.kind == RQL_TOKEN_WORD)
		return strndup(text, s->token.length);
	if (s->token.kind != RQL_TOKEN_QUOTED_WORD || s->token.length < 2)
		return NULL;
	char *out = malloc(s->token.length), *o = out;
	if (!out)
		return NULL;
	for (uint32_t i = 1; i + 1 < s->token.length; i++) {
		*o++ = text[i];
		if (text[i] == '"' && i + 2 < s->token.length && text[i + 1] == '"')
			i++;
	}
	*o = 0;
	return out;
}

/* [a.[b.]]name: the last component; NULL when it is no name. */
static char *qualified(struct scan *s)
{
	char *name = identifier(s);
	if (!name)
		return NULL;
	next(s);
	while (symbol(s, '.')) {
		next(s);
		free(name);
		name = identifier(s);
		if (!name)
			return NULL;
		next(s);
	}
	return name;
}

static void add(struct rql_write_set *set, struct scan *s)
{
	char *name = qualified(s);
	if (name)
		(void)rql_write_set_add(set, name);
	else
		set->everything = true;
	free(name);
}

static bool changes_rows(const struct scan *s)
{
	return is(s, "INSERT") || is(s, "UPDATE") || is(s, "DELETE") || is(s, "MERGE") || is(s, "TRUNCATE");
}

/* A parenthesis that opens a data-changing query writes something that the head of the statement does not name. */
static void look_inside(struct rql_write_set *set, const char *sql)
{
	struct scan s = {.sql = sql};
	bool opened = false;
	for (next(&s); s.token.kind != RQL_TOKEN_END; next(&s)) {
		if (s.token.kind == RQL_TOKEN_BROKEN || (opened && changes_rows(&s)))
			set->everything = true;
		opened = symbol(&s, '(');
	}
}

/* An INSERT that succeeds has added rows, and one that fails has done nothing, but where a conflict changes a row. */
static bool changes_on_conflict(const char *sql)
{
	struct scan s = {.sql = sql};
	bool on = false, conflict = false;
	for (next(&s); s.token.kind != RQL_TOKEN_END && s.token.kind != RQL_TOKEN_BROKEN; next(&s)) {
		conflict = conflict || (on && is(&s, "CONFLICT"));
		on = is(&s, "ON");
		if (conflict && accept(&s, "DO"))
			return !is(&s, "NOTHING");
	}
	return conflict;
}

static void write_of(struct scan *s, struct rql_effects *out)
{
	struct rql_write_set *set = &out->set;
	if (accept(s, "INSERT")) {
		bool plain = !changes_on_conflict(s->sql);
		if (accept(s, "OR")) {
			plain = plain && is(s, "IGNORE");
			next(s);
		}
		if (accept(s, "INTO"))
			add(plain ? &out->appends : set, s);
		else
			set->everything = true;
	} else if (accept(s, "UPDATE")) {
		if (is(s, "ONLY") || is(s, "OR"))
			set->everything = true;
		else
			add(set, s);
	} else if (accept(s, "DELETE")) {
		if (accept(s, "FROM") && !is(s, "ONLY"))
			add(set, s);
		else
			set->everything = true;
	} else if (accept(s, "TRUNCATE")) {
		accept(s, "TABLE");
		add(set, s);
		if (symbol(s, ','))
			set->everything = true;
	} else if (accept(s, "MERGE") && accept(s, "INTO")) {
		add(set, s);
	} else {
		set->everything = true;
	}
}

/* COPY t FROM writes t; COPY t TO and COPY (query) TO write files only. */
static void copy_of(struct scan *s, struct rql_effects *out)
{
	struct rql_write_set *set = &out->set;
	if (symbol(s, '('))
		return;
	if (is(s, "FROM") || is(s, "DATABASE")) {
		set->everything = true;
		return;
	}
	char *name = qualified(s);
	if (symbol(s, '(')) {
		while (s->token.kind != RQL_TOKEN_END && !symbol(s, ')'))
			next(s);
		next(s);
	}
	if (is(s, "TO"))
		;
	else if (name && is(s, "FROM"))
		(void)rql_write_set_add(&out->appends, name);
	else
		set->everything = true;
	free(name);
}

static void create_of(struct scan *s, struct rql_effects *out)
{
	if (accept(s, "OR")) {
		next(s);
		out->replace = true;
	}
	while (is(s, "TEMP") || is(s, "TEMPORARY") || is(s, "PERSISTENT") || is(s, "LOCAL") || is(s, "GLOBAL") ||
	       is(s, "RECURSIVE") || is(s, "UNIQUE"))
		next(s);
	/* Only OR REPLACE touches a table that is there; views, schemas, types, macros, sequences and indexes hold no
	 * rows. */
	if (out->replace && accept(s, "TABLE")) {
		if (accept(s, "IF")) {
			accept(s, "NOT");
			accept(s, "EXISTS");
		}
		add(&out->set, s);
	}
}

static void drop_of(struct scan *s, struct rql_effects *out)
{
	out->replace = true;
	if (is(s, "VIEW") || is(s, "INDEX") || is(s, "SEQUENCE") || is(s, "MACRO") || is(s, "FUNCTION") || is(s, "TYPE"))
		return;
	if (!accept(s, "TABLE")) {
		out->set.everything = true;
		return;
	}
	if (accept(s, "IF"))
		accept(s, "EXISTS");
	add(&out->set, s);
	if (symbol(s, ','))
		out->set.everything = true;
}

static bool harmless(const struct scan *s)
{
	static const char *const words[] = {"ATTACH",  "DETACH", "INSTALL",    "LOAD",    "COMMENT",   "VACUUM",
	                                    "ANALYZE", "FORCE",  "CHECKPOINT", "PREPARE", "DEALLOCATE"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is(s, words[i]))
			return true;
	return false;
}

static bool is_query(const struct scan *s)
{
	return symbol(s, '(') || is(s, "SELECT") || is(s, "FROM") || is(s, "WITH") || is(s, "PIVOT") || is(s, "UNPIVOT");
}

void rql_effects_clear(struct rql_effects *effects)
{
	rql_write_set_clear(&effects->set);
	rql_write_set_clear(&effects->appends);
}

void rql_effects_of(const char *sql, enum rql_host_class kind, struct rql_effects *out)
{
	*out = (struct rql_effects){0};
	struct scan s = {.sql = sql};
	if (kind == RQL_HOST_WRITE)
		(void)rql_text_skip_with(sql, &s.position); /* or it begins with no verb: then it writes everything */
	next(&s);
	if (kind == RQL_HOST_WRITE) {
		if (accept(&s, "COPY"))
			copy_of(&s, out);
		else
			write_of(&s, out);
		look_inside(&out->set, sql);
		if (out->appends.everything) { /* no name, or no memory for it */
			out->set.everything = true;
			out->appends.everything = false;
		}
	} else if (kind == RQL_HOST_SCHEMA || kind == RQL_HOST_OTHER) {
		if (is_query(&s))
			return; /* a part of a PIVOT: an enum type comes and goes */
		out->schema = true;
		out->attach = is(&s, "ATTACH");
		out->detach = is(&s, "DETACH");
		if (harmless(&s))
			return; /* they change no row of a table that structures are built from */
		if (accept(&s, "CREATE")) {
			create_of(&s, out);
		} else if (accept(&s, "DROP")) {
			drop_of(&s, out);
		} else {
			out->set.everything = true;
			out->replace = true;
		}
	}
}

char *rql_executed_name(const char *sql)
{
	struct scan s = {.sql = sql};
	next(&s);
	return accept(&s, "EXECUTE") ? identifier(&s) : NULL;
}

void rql_effects_of_executed(const char *prepared, struct rql_effects *out)
{
	struct scan s = {.sql = prepared};
	next(&s);
	if (is_query(&s)) { /* a writing one begins with WITH: nobody looks for what it names */
		*out = (struct rql_effects){0};
		out->set.everything = rql_text_class(prepared) != RQL_HOST_SELECT;
	} else {
		rql_effects_of(prepared, changes_rows(&s) ? RQL_HOST_WRITE : RQL_HOST_OTHER, out);
	}
}

enum rql_txn_verb rql_txn_verb_of(const char *sql)
{
	struct scan s = {.sql = sql};
	next(&s);
	if (is(&s, "COMMIT") || is(&s, "END"))
		return RQL_TXN_COMMIT;
	return is(&s, "ROLLBACK") || is(&s, "ABORT") ? RQL_TXN_ROLLBACK : RQL_TXN_BEGIN;
}

bool rql_mentions_own_functions(const char *sql)
{
	static const char *const names[] = {"rayql_devices", "rayql_structures", "rayql_methods", "rayql_last_query",
	                                    "rayql_settings"};
	if (!strcasestr(sql, "rayql_"))
		return false;
	struct scan s = {.sql = sql};
	for (next(&s); s.token.kind != RQL_TOKEN_END && s.token.kind != RQL_TOKEN_BROKEN; next(&s))
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (is(&s, names[i]))
				return true;
	return false;
}
