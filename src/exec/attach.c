/* ATTACH and DETACH of database files: a file that this process has open already is refused before DuckDB opens it once
 * more, and what is known of the database itself ends when it is detached. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>

struct attach {
	char *path; /* as DuckDB gets it, malloc'ed; NULL: not known */
	bool read_only;
};

/* The string that a token stands for: 'x', E'x' or $tag$x$tag$; malloc'ed, NULL: out of memory. */
static char *string_of(const char *text, uint32_t length)
{
	char *out = malloc(length + 1u), *o = out;
	if (!out)
		return NULL;
	if (text[0] == '$') {
		const char *from = memchr(text + 1, '$', length - 1);
		uint32_t tag = from ? (uint32_t)(from + 1 - text) : 0;
		uint32_t n = from && length >= 2 * tag ? length - 2 * tag : 0;
		memcpy(out, text + tag, n);
		out[n] = 0;
		return out;
	}
	bool escapes = text[0] == 'e' || text[0] == 'E';
	for (uint32_t i = escapes ? 2 : 1; i + 1 < length; i++) {
		if (text[i] == '\'' || (escapes && text[i] == '\\')) /* '' and \' alike: a file name has no \n */
			i++;
		*o++ = text[i];
	}
	*o = 0;
	return out;
}

static bool read_only_option(const char *sql, uint32_t position)
{
	struct rql_token t;
	do
		t = rql_token_next(sql, &position);
	while (t.kind != RQL_TOKEN_END && t.kind != RQL_TOKEN_BROKEN && !rql_token_is(sql, t, "READ_ONLY"));
	if (t.kind != RQL_TOKEN_WORD)
		return false;
	t = rql_token_next(sql, &position);
	return rql_token_is(sql, t, "TRUE") || rql_token_is_symbol(sql, t, ')') || rql_token_is_symbol(sql, t, ',');
}

/* ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'path' ...; false: it is another statement, or of another form. */
static bool read_attach(const char *sql, struct attach *out)
{
	static const char *const words[] = {"OR", "REPLACE", "DATABASE", "IF", "NOT", "EXISTS"};
	uint32_t position = 0;
	struct rql_token t = rql_token_next(sql, &position);
	if (!rql_token_is(sql, t, "ATTACH"))
		return false;
	for (bool skipped = true; skipped;) {
		t = rql_token_next(sql, &position);
		skipped = false;
		for (size_t i = 0; i < sizeof words / sizeof *words && !skipped; i++)
			skipped = rql_token_is(sql, t, words[i]);
	}
	if (t.kind != RQL_TOKEN_STRING)
		return false;
	*out = (struct attach){string_of(sql + t.start, t.length), read_only_option(sql, position)};
	return true;
}

/* By DuckDB itself, under that name: then it knows what to say. (Of a hard link it does not know.) */
static bool is_attached(struct rql_database *db, const char *local)
{
	struct rql_strbuf sql = {0};
	char *real = realpath(local, NULL);
	int64_t count = 0;
	if (real) {
		rql_strbuf_put(&sql, "SELECT count(*) FROM system.main.duckdb_databases() WHERE path = ");
		rql_strbuf_put_literal(&sql, real, strlen(real));
		pthread_mutex_lock(&db->structures.loader_lock);
		if (rql_host_query_int(db->structures.loader, rql_strbuf_sql(&sql), &count, NULL) != RQL_OK)
			count = 0;
		pthread_mutex_unlock(&db->structures.loader_lock);
	}
	rql_strbuf_free(&sql);
	free(real);
	return count > 0;
}

rql_status rql_attach_check(struct rql_database *db, const char *sql, struct rql_error *err)
{
	struct attach attach = {0};
	char *local = NULL;
	if (!read_attach(sql, &attach))
		return RQL_OK;
	rql_attach_done(db); /* DuckDB may have closed it after the DETACH: then it may come back */
	rql_status status = RQL_OK;
	if (!attach.path || !rql_local_path(attach.path, &local))
		status = rql_error_memory(err, strlen(sql), "a path");
	else if (local && !is_attached(db, local))
		status = rql_open_file_check(local, attach.read_only, err);
	free(local);
	free(attach.path);
	return status;
}

void rql_attach_done(struct rql_database *db)
{
	static const struct rql_write_set everything = {.everything = true};
	if (!rql_open_file_follow(db->open_file))
		return;
	/* Others may have written meanwhile, or another file has the database's name now. */
	atomic_store(&db->structures.side.writable, false);
	rql_catalog_write_begin(db->catalog, &everything);
	rql_catalog_write_end(db->catalog, &everything);
	rql_catalog_schema_changed(db->catalog);
}
