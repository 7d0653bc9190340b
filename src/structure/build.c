/* Building: what all kinds need for it. The lock, the tables and their versions, a connection, the side file. */
#include "structure/structure_internal.h"

#include "device/placement.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "util/hash.h"

#define POLL_NS 2000000L
#define WRITER_WAIT_NS 5000000000u /* a build waits so long for writes in flight */
#define ATTEMPTS 2u

/* ---- the lock ---- */
static void pause_briefly(void)
{
	struct timespec t = {.tv_nsec = POLL_NS};
	nanosleep(&t, NULL);
}

rql_status rql_interrupted(struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
}

rql_status rql_structures_lock(struct rql_build_context *ctx, bool try_only, struct rql_error *err)
{
	while (pthread_mutex_trylock(&ctx->structures->build_lock) != 0) {
		if (try_only)
			return rql_error_set(err, RQL_ERROR_STALE, "another connection is building a structure");
		if (atomic_load(&ctx->progress->cancel))
			return rql_interrupted(err);
		atomic_store(&ctx->progress->phase, "waiting for another build");
		pause_briefly();
	}
	return RQL_OK;
}

void rql_structures_unlock(struct rql_structures *all)
{
	pthread_mutex_unlock(&all->build_lock);
	if (atomic_exchange(&all->sync_wanted, false))
		rql_structures_sync(all);
}

/* ---- definitions ---- */
rql_status rql_structure_describe(const struct rql_structures *all, const struct rql_structure_kind *kind,
                                  const char *schema, const char *name, const struct rql_structure_options *options,
                                  struct rql_structure **out, struct rql_error *err)
{
	struct rql_structure *s = rql_structure_new();
	if (!s)
		return rql_error_memory(err, sizeof *s, "a structure");
	s->kind = kind;
	s->reads = kind->reads;
	s->refresh = options->refresh;
	s->unit_wanted = options->unit_wanted;
	s->unit = options->unit;
	s->sieve = options->sieve;
	s->rays = options->rays;
	s->database = strdup(all->name);
	s->schema = strdup(schema);
	s->name = strdup(name);
	if (!s->database || !s->schema || !s->name || !rql_structure_set_text(&s->layout, options->layout)) {
		rql_structure_release(s);
		return rql_error_memory(err, sizeof *s, "a structure");
	}
	*out = s;
	return RQL_OK;
}

/* Enough to tell definitions apart. */
char *rql_structure_hash(const char *text)
{
	uint64_t hash[2];
	rql_hash_wide(text, strlen(text), hash);
	char *out = NULL;
	return asprintf(&out, "%016llx%016llx", (unsigned long long)hash[0], (unsigned long long)hash[1]) < 0 ? NULL : out;
}

rql_status rql_structure_define(struct rql_structure *s, uint32_t count, struct rql_table *const *tables, char *hash,
                                struct rql_error *err)
{
	struct rql_table **copy = calloc(count + 1, sizeof(struct rql_table *));
	uint64_t *versions = calloc(count + 1, sizeof *versions);
	bool ok = hash && copy && versions;
	for (uint32_t i = 0; i < count && ok; i++)
		ok = (copy[i] = tables[i]) != NULL;
	if (!ok) {
		free(hash);
		free(copy);
		free(versions);
		return rql_error_memory(err, count, "a definition");
	}
	if (s->side_file && s->side_file_valid && (!s->definition_hash || strcmp(s->definition_hash, hash) != 0)) {
		s->side_file_valid = false;
		(void)rql_structure_set_text(&s->note, s->kind->moved);
	}
	free(s->tables);
	free(s->versions);
	free(s->definition_hash);
	s->table_count = count;
	s->tables = copy;
	s->versions = versions;
	s->definition_hash = hash;
	return RQL_OK;
}

rql_status rql_structure_check_table(const struct rql_structures *all, const struct rql_table_ref *table,
                                     const char *cannot, const char *can, struct rql_error *err)
{
	if (strcasecmp(table->catalog, "temp") == 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Binder Error: %s the temporary table \"%s\", which other connections do not see; copy it "
		                     "into an ordinary table first",
		                     cannot, table->table);
	if (strcasecmp(table->catalog, all->name) != 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Binder Error: %s tables of the database that was opened (\"%s\"); \"%s\".\"%s\" is in "
		                     "\"%s\"",
		                     can, all->name, table->schema, table->table, table->catalog);
	if (strcasecmp(table->schema, "rayql") == 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT, "Binder Error: %s RayQL's own table rayql.%s", cannot,
		                     table->table);
	return RQL_OK;
}

void rql_put_qualified(struct rql_strbuf *out, const char *database, const char *schema, const char *name)
{
	rql_strbuf_put_ident(out, database);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, schema);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, name);
}

static void put_same(struct rql_strbuf *out, const char *column, const char *name)
{
	rql_strbuf_printf(out, " AND system.main.lower(%s) = system.main.lower(", column);
	rql_strbuf_put_literal(out, name, strlen(name));
	rql_strbuf_putc(out, ')');
}

void rql_put_objects(struct rql_strbuf *out, const char *function, const char *column, const char *database,
                     const char *schema, const char *name)
{
	rql_strbuf_printf(out, "system.main.%s() WHERE database_name = ", function);
	rql_strbuf_put_literal(out, database, strlen(database));
	if (schema)
		put_same(out, "schema_name", schema);
	put_same(out, column, name);
}

/* ---- reading ---- */
/* The largest table's size is what a star join reads, and DuckDB knows it without reading a row. */
uint64_t rql_build_estimate(const struct rql_structure *s, struct rql_host_con *con)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < s->table_count; i++) {
		const char *database, *schema, *name;
		int64_t rows = 0;
		struct rql_strbuf sql = {0};
		rql_table_name(s->tables[i], &database, &schema, &name);
		rql_strbuf_put(&sql, "SELECT coalesce(system.main.max(estimated_size), 0)::BIGINT FROM ");
		rql_put_objects(&sql, "duckdb_tables", "table_name", database, schema, name);
		if (rql_host_query_int(con, rql_strbuf_sql(&sql), &rows, NULL) == RQL_OK && rows > 0 && (uint64_t)rows > most)
			most = (uint64_t)rows;
		rql_strbuf_free(&sql);
	}
	return most;
}

void rql_build_show(struct rql_build_context *ctx, const char *phase, uint64_t rows)
{
	atomic_store(&ctx->progress->rows, 0);
	atomic_store(&ctx->progress->total_rows, rows);
	atomic_store(&ctx->progress->phase, phase);
}

rql_status rql_build_note_versions(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	struct rql_catalog *catalog = ctx->structures->catalog;
	uint64_t start = rql_now_ns();
	for (uint32_t i = 0; i < s->table_count;) {
		if (!rql_table_being_written(catalog, s->tables[i])) {
			s->versions[i] = rql_table_version(catalog, s->tables[i]);
			i++;
			continue;
		}
		if (atomic_load(&ctx->progress->cancel))
			return rql_interrupted(err);
		if (rql_now_ns() - start > WRITER_WAIT_NS) {
			const char *database, *schema, *name;
			rql_table_name(s->tables[i], &database, &schema, &name);
			return rql_error_set(
				err, RQL_ERROR_STALE,
				"%s cannot be built: another connection has been writing to %s for some seconds. Try again when "
				"it is done",
				s->name, name);
		}
		pause_briefly();
	}
	return RQL_OK;
}

static void set_running(struct rql_build_context *ctx, struct rql_host_con *con)
{
	pthread_mutex_lock(&ctx->running_lock);
	ctx->running = con;
	pthread_mutex_unlock(&ctx->running_lock);
}

rql_status rql_build_on(struct rql_build_context *ctx, struct rql_host_con *con,
                        rql_status (*read)(void *state, struct rql_host_con *con, struct rql_error *err), void *state,
                        struct rql_error *err)
{
	set_running(ctx, con);
	rql_status status = atomic_load(&ctx->progress->cancel) ? rql_interrupted(err) : read(state, con, err);
	set_running(ctx, NULL);
	atomic_store(&ctx->progress->phase, NULL);
	rql_host_disconnect(con);
	return status;
}

rql_status rql_build_settled(struct rql_build_context *ctx, struct rql_structure *s,
                             rql_status (*once)(void *state, struct rql_error *err), void *state, struct rql_error *err)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		RQL_TRY(rql_build_note_versions(ctx, s, err));
		RQL_TRY(once(state, err));
		if (!rql_structure_moved_table(ctx->structures->catalog, s))
			break;
	}
	return RQL_OK;
}

void rql_build_ready(struct rql_structure *s, uint64_t start)
{
	rql_structure_clear(s);
	s->state = RQL_STATE_READY;
	s->build_ms = (double)(rql_now_ns() - start) / 1e6;
	s->side_file_valid = false;
}

rql_status rql_structure_build(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	rql_status status;
	const uint64_t start = rql_now_ns(); /* what this build makes on the host (an index) must not give way to itself */
	do {
		rql_error_clear(err);
		status = s->kind->build(ctx, s, err);
	} while (status == RQL_ERROR_LIMIT &&
	         (rql_placements_evict(&ctx->structures->devices->device[0], UINT64_MAX, start) || rql_columns_evict(ctx, s)));
	return status;
}

/* ---- side files ---- */
void rql_structure_save(struct rql_structures *all, struct rql_structure *s)
{
	struct rql_error failed = {0};
	char *file = NULL;
	if (!s->kind->save || !all->side.folder || !all->side.writable || s->automatic)
		return;
	rql_side_replaced(&all->side, s->side_file); /* first: its room on the disk may be wanted */
	(void)rql_structure_set_text(&s->side_file, NULL);
	(void)rql_structure_set_text(&s->side_missing, NULL);
	s->side_file_valid = false;
	s->side_mark = s->kind->mark ? s->kind->mark(all, s) : 0;
	if (s->kind->mark && !s->side_mark) /* an index of which there is nothing yet */
		return;
	if (rql_side_write(all, s, &file, &failed) == RQL_OK) {
		s->side_file = file;
		rql_device_save(all, s);
	} else {
		struct rql_strbuf note = {0};
		rql_strbuf_printf(&note, "its side file could not be written, so it will be built again after reopening: %s",
		                  rql_error_message(&failed));
		(void)rql_structure_set_text(&s->note, rql_strbuf_text(&note));
		(void)rql_structure_set_text(&s->side_missing, rql_error_message(&failed));
		rql_strbuf_free(&note);
	}
	rql_error_clear(&failed);
}
