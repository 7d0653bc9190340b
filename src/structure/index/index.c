/* The kinds "sorted", "btree", "hash" and "auto": indexes of one column, or of up to four; and what those of rays (rays.c)
 * and sieves (sieve.c) have in common with them. They hold
 * no rows of their own. An index says that look-ups are wanted in the columns structures of its table, and the method
 * that looks up keeps what it needs by their segments (method/contents.h); so an index is never stale. CREATE and
 * REFRESH make that ahead of the first query, and a side file keeps it, of whatever segments there are. */
#include <stdio.h>
#include <stdlib.h>
#include "device/placement.h"
#include "structure/columns/columns.h"
#include "structure/index/index.h"
#include "structure/structure_internal.h"

extern const struct rql_structure_kind rql_structure_sorted_index;
extern const struct rql_structure_kind rql_structure_btree_index;
extern const struct rql_structure_kind rql_structure_hash_index;
extern const struct rql_structure_kind rql_structure_auto_index;

/* ---- definition ---- */
static rql_status read_options(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                               struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena;
	*out = (struct rql_structure_options){.refresh = RQL_REFRESH_MANUAL};
	if (!st->option_count)
		return RQL_OK;
	return rql_error_at(err, sql, st->options[0].position,
	                    "Binder Error: CREATE INDEX ... USING %s has no option \"%s\", nor any other", st->method,
	                    st->options[0].name);
}

rql_status rql_structure_index_describe(const struct rql_structure_kind *kind, const struct rql_plan_context *plan,
                                        struct rql_structures *all, const char *sql, const struct rql_statement *st,
                                        rql_columns_check *check, const struct rql_structure_options *options,
                                        struct rql_structure **out, struct rql_error *err)
{
	const bool every = st->column_count == 1 && st->columns[0][0] == '*' && !st->columns[0][1];
	if (st->column_count > RQL_INDEX_COLUMNS_MOST || every)
		return rql_error_at(err, sql, st->name.position,
		                    "Not implemented Error: an index that is %s names its key columns, one to %u of them", st->method,
		                    RQL_INDEX_COLUMNS_MOST);
	return rql_columns_describe_statement(kind, plan, all, sql, st, check, options, out, err);
}

static rql_status describe_sorted(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                                  const struct rql_statement *st, const char *schema,
                                  const struct rql_structure_options *options, struct rql_structure **out,
                                  struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_sorted_index, plan, all, sql, st, NULL, options, out, err);
}

static rql_status describe_btree(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                                 const struct rql_statement *st, const char *schema,
                                 const struct rql_structure_options *options, struct rql_structure **out,
                                 struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_btree_index, plan, all, sql, st, NULL, options, out, err);
}

static rql_status describe_hash(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                                const struct rql_statement *st, const char *schema,
                                const struct rql_structure_options *options, struct rql_structure **out,
                                struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_hash_index, plan, all, sql, st, NULL, options, out, err);
}

static rql_status describe_auto(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                                const struct rql_statement *st, const char *schema,
                                const struct rql_structure_options *options, struct rql_structure **out,
                                struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_auto_index, plan, all, sql, st, NULL, options, out, err);
}

/* Bound is all that it can be. */
rql_status rql_structure_index_bind(struct rql_structures *all, struct rql_structure *s, struct rql_error *err)
{
	RQL_TRY(rql_columns_bind(all, s, err));
	s->index_form = s->kind == &rql_structure_sieve        ? RQL_INDEX_SIEVE
	                : s->kind == &rql_structure_btree_index ? RQL_INDEX_BTREE
	                : s->kind == &rql_structure_hash_index ? RQL_INDEX_HASH
	                : s->kind == &rql_structure_auto_index ? RQL_INDEX_AUTO
	                : s->kind == &rql_structure_rx_index   ? RQL_INDEX_RX
	                : s->kind == &rql_structure_cgrx_index ? RQL_INDEX_CGRX
	                                                       : RQL_INDEX_SORTED;
	s->state = RQL_STATE_READY;
	return RQL_OK;
}

/* ---- the columns that it is of ---- */
/* Calls once for each structure of columns of s's table that holds its key, and of a sieve for each column of it. */
static rql_status each_columns(struct rql_structures *all, const struct rql_structure *s,
                               rql_status (*once)(void *state, const struct rql_store_snapshot *snapshot,
                                                  const struct rql_index_of *of, struct rql_error *err),
                               void *state, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	rql_status status = arena ? rql_catalog_structures(all->catalog, arena, &list, &count, err)
	                          : rql_error_memory(err, 0, "an index");
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_structure *c = list[i];
		bool holds = c->reads == RQL_READS_STORE && c->snapshot && c->table_count == 1 && c->tables[0] == s->tables[0];
		for (uint32_t k = 0; holds && k < s->column_count && status == RQL_OK; k++) {
			struct rql_index_of of;
			if (rql_structure_index_of(s, c, k, &of))
				status = once(state, c->snapshot, &of, err);
		}
		rql_structure_release(list[i]);
	}
	rql_arena_free(arena);
	return status;
}

struct placing {
	struct rql_build_context *ctx;
	struct rql_structure *s; /* unpublished */
	uint32_t placed;
};

/* Where the session names a GPU, a sieve is made there; what the device has no room for yet, the first query that gains
 * from it makes. */
static rql_status place_on_gpu(const struct placing *p, const struct rql_store_snapshot *snapshot,
                               const struct rql_index_of *of, struct rql_error *err)
{
	struct rql_error why = {0};
	rql_status status = rql_sieve_place(snapshot, of, p->ctx->settings->only, p->ctx->progress, &why);
	if (status == RQL_ERROR_INTERRUPTED)
		rql_error_move(err, &why);
	rql_error_clear(&why);
	return status == RQL_ERROR_INTERRUPTED ? status : RQL_OK;
}

static rql_status place(void *state, const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                        struct rql_error *err)
{
	struct placing *p = state;
	struct rql_device *cpu = &p->ctx->structures->devices->device[0];
	const struct rql_device *only = p->ctx->settings->only;
	p->placed++;
	RQL_TRY(rql_structure_rays_check(p->ctx, p->s, snapshot, of, err));
	if (of->form != RQL_INDEX_SIEVE)
		return rql_index_place(snapshot, of, cpu, p->ctx->progress, err);
	return only && only != cpu && only->units[RQL_UNIT_COMPUTE] ? place_on_gpu(p, snapshot, of, err)
	                                                            : rql_sieve_place(snapshot, of, cpu, p->ctx->progress, err);
}

static void note_nothing(struct rql_build_context *ctx, const struct rql_structure *s)
{
	const char *database, *schema, *table;
	struct rql_strbuf text = {0};
	rql_table_name(s->tables[0], &database, &schema, &table);
	rql_strbuf_printf(&text,
	                  "the index %s is used when the columns of %s are held, which they are not yet: CREATE INDEX ... ON "
	                  "%s USING columns (*), or SET rayql_auto_columns = true",
	                  s->name, table, table);
	free(ctx->notice);
	ctx->notice = rql_strbuf_take(&text);
}

rql_status rql_structure_index_build(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	struct placing p = {.ctx = ctx, .s = s};
	uint64_t start = rql_now_ns();
	(void)rql_structure_set_text(&s->note, NULL); /* of what was there before */
	RQL_TRY(rql_structure_index_bind(ctx->structures, s, err));
	atomic_store(&ctx->progress->phase, "making an index");
	rql_status status = each_columns(ctx->structures, s, place, &p, err);
	atomic_store(&ctx->progress->phase, NULL);
	RQL_TRY(status);
	if (!p.placed)
		note_nothing(ctx, s);
	rql_build_ready(s, start);
	return RQL_OK;
}

/* ---- side files ---- */
struct listing {
	struct rql_index_part *parts;
	uint32_t count;
};

static rql_status add_part(void *state, const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_error *err)
{
	struct listing *l = state;
	struct rql_index_part *grown = realloc(l->parts, (l->count + 1) * sizeof(*grown));
	if (!grown)
		return rql_error_memory(err, (l->count + 1) * sizeof(*grown), "an index");
	l->parts = grown;
	grown[l->count++] = (struct rql_index_part){.snapshot = rql_store_snapshot_retain(snapshot), .of = *of};
	return RQL_OK;
}

/* The columns that s is of, to be given back. */
static rql_status list_parts(struct rql_structures *all, const struct rql_structure *s, struct listing *out,
                             struct rql_error *err)
{
	*out = (struct listing){0};
	return s->table_count ? each_columns(all, s, add_part, out, err) : RQL_OK;
}

static void free_parts(struct listing *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		rql_store_snapshot_release(l->parts[i].snapshot);
	free(l->parts);
}

rql_status rql_structure_index_save(struct rql_structures *all, const struct rql_structure *s,
                                    const struct rql_file_place *place, const char *identity, struct rql_error *err)
{
	struct listing l;
	rql_status status = list_parts(all, s, &l, err);
	if (status == RQL_OK)
		status = rql_runs_write(l.parts, l.count, &all->devices->device[0], place, identity, (uint32_t)strlen(identity),
		                        err);
	free_parts(&l);
	return status;
}

rql_status rql_structure_index_load(struct rql_structures *all, struct rql_structure *s,
                                    const struct rql_file_place *place, const char *identity, struct rql_error *err)
{
	struct listing l;
	uint32_t taken = 0;
	rql_status status = list_parts(all, s, &l, err);
	if (status == RQL_OK)
		status = rql_runs_read(l.parts, l.count, &all->devices->device[0], place, identity, (uint32_t)strlen(identity),
		                       &taken, err);
	if (status == RQL_OK && !taken)
		status = rql_error_set(err, RQL_ERROR_STALE, "the columns of its table hold other rows than it was made of");
	free_parts(&l);
	return status;
}

uint64_t rql_structure_index_mark(struct rql_structures *all, const struct rql_structure *s)
{
	struct listing l;
	const uint64_t mark = list_parts(all, s, &l, NULL) == RQL_OK
	                          ? rql_runs_mark(l.parts, l.count, &all->devices->device[0])
	                          : 0;
	free_parts(&l);
	return mark;
}

/* ---- on devices ---- */
#define PLACED_PARTS 4u
struct on_device {
	const struct rql_device *device;
	const struct rql_store_segment *segment;
	const struct rql_index_of *of;
	const struct rql_store_snapshot *last; /* spaces are of several columns: not each once more */
	bool again;
	uint64_t bytes;
	uint32_t count;
	struct {
		const char *name;
		double ms;
	} parts[PLACED_PARTS];
};

static void add_placed(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct on_device *d = state;
	const char *name = rql_index_part_of(d->segment, d->of, at);
	uint32_t p = 0;
	if (!name || (d->again && strcmp(name, "spaces") == 0))
		return;
	while (p < d->count && strcmp(d->parts[p].name, name) != 0)
		p++;
	if (p == PLACED_PARTS)
		return;
	d->count = p < d->count ? d->count : p + 1;
	d->parts[p].name = name;
	d->parts[p].ms += placement->build_ms;
	d->bytes += placement->bytes;
}

static rql_status add_column(void *state, const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                             struct rql_error *err)
{
	struct on_device *d = state;
	(void)err;
	d->of = of;
	d->again = d->last == snapshot;
	for (uint32_t i = 0; i < snapshot->segment_count; i++) {
		d->segment = &snapshot->segments[i];
		rql_placements_each(d->segment->identity, d->device, add_placed, d);
	}
	d->last = snapshot;
	return RQL_OK;
}

/* A device that failed is the columns' to remember. */
uint64_t rql_structure_index_on_device(struct rql_structures *all, const struct rql_structure *s,
                                       const struct rql_device *device, char *kinds, size_t size, double *ms,
                                       const char **failure)
{
	struct on_device d = {.device = device};
	size_t used = 0;
	if (s->table_count)
		(void)!each_columns(all, s, add_column, &d, NULL);
	*ms = 0;
	*failure = NULL;
	for (uint32_t p = 0; p < d.count && used < size; p++) {
		const int n = snprintf(kinds + used, size - used, "%s%s in %.1f ms", p ? ", " : "", d.parts[p].name, d.parts[p].ms);
		used += n > 0 ? (size_t)n : 0;
		*ms += d.parts[p].ms;
	}
	return d.bytes;
}

/* ---- what it is ---- */
struct sizing {
	struct rql_structures *all;
	struct rql_structure_size *size;
};

static rql_status add_size(void *state, const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_error *err)
{
	struct sizing *s = state;
	uint64_t rows = 0;
	(void)err;
	struct rql_device *cpu = &s->all->devices->device[0];
	if (of->form != RQL_INDEX_SIEVE) {
		s->size->bytes += rql_index_bytes(snapshot, of, cpu, &rows);
		s->size->rows += rows;
		return RQL_OK;
	}
	s->size->bytes += rql_sieve_bytes(snapshot, of, cpu, &rows);
	s->size->rows = rows > s->size->rows ? rows : s->size->rows; /* of several columns: not each once more */
	return RQL_OK;
}

void rql_structure_index_size(struct rql_structures *all, const struct rql_structure *s, struct rql_structure_size *out)
{
	struct sizing sizing = {.all = all, .size = out};
	*out = (struct rql_structure_size){0};
	if (s->table_count)
		(void)!each_columns(all, s, add_size, &sizing, NULL);
}

const struct rql_structure_kind rql_structure_sorted_index = {
	RQL_INDEX_KIND("sorted"), .options = read_options, .describe = describe_sorted};
const struct rql_structure_kind rql_structure_btree_index = {
	RQL_INDEX_KIND("btree"), .options = read_options, .describe = describe_btree};
const struct rql_structure_kind rql_structure_hash_index = {
	RQL_INDEX_KIND("hash"), .options = read_options, .describe = describe_hash};
const struct rql_structure_kind rql_structure_auto_index = {
	RQL_INDEX_KIND("auto"), .options = read_options, .describe = describe_auto};
