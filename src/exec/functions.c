/* RayQL's table functions: snapshots taken when the call is bound, as rows of text, numbers and NULLs. */
#include "exec/exec_internal.h"
#include "device/draw.h"
#include "device/placement.h"
#include "plan/map_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table made cell by cell ---- */
enum cell_kind { CELL_NULL, CELL_TEXT, CELL_UINT, CELL_REAL, CELL_BOOL };
struct cell {
	enum cell_kind kind;
	union {
		const char *text;
		uint64_t number;
		double real;
		bool flag;
	};
};
struct table {
	struct rql_arena *arena;
	uint32_t columns;
	uint64_t rows, capacity, next; /* next: the first row not yet given out */
	struct cell *cells;
	bool failed;
	uint32_t at; /* column that the next cell goes to */
};

static void table_free(void *state)
{
	struct table *t = state;
	if (!t)
		return;
	rql_arena_free(t->arena);
	free(t->cells);
	free(t);
}

static void row_begin(struct table *t)
{
	if (t->rows == t->capacity) {
		uint64_t capacity = t->capacity ? t->capacity * 2 : 8;
		struct cell *cells = realloc(t->cells, capacity * t->columns * sizeof *cells);
		if (!cells) {
			t->failed = true;
			return;
		}
		t->cells = cells;
		t->capacity = capacity;
	}
	memset(&t->cells[t->rows * t->columns], 0, t->columns * sizeof *t->cells);
	t->rows++;
	t->at = 0;
}

static void put(struct table *t, struct cell cell)
{
	if (!t->failed && t->at < t->columns)
		t->cells[(t->rows - 1) * t->columns + t->at++] = cell;
}

static void put_text(struct table *t, const char *text)
{
	char *copy = text ? rql_arena_strdup(t->arena, text) : NULL;
	t->failed = t->failed || (text && !copy);
	put(t, (struct cell){.kind = copy ? CELL_TEXT : CELL_NULL, .text = copy});
}

static void put_uint(struct table *t, uint64_t number)
{
	put(t, (struct cell){.kind = CELL_UINT, .number = number});
}

static void put_real(struct table *t, double real)
{
	put(t, (struct cell){.kind = CELL_REAL, .real = real});
}

static void put_bool(struct table *t, bool flag)
{
	put(t, (struct cell){.kind = CELL_BOOL, .flag = flag});
}

static void put_null(struct table *t)
{
	put(t, (struct cell){.kind = CELL_NULL});
}

/* ---- the functions ---- */
struct column {
	const char *name;
	rql_type_id type;
};
/* session is NULL when the calling connection is none of a session's (the loader's). */
typedef void fill_fn(struct rql_database *db, struct rql_session *session, struct table *t);

/* What a kernel's author or a reader of prices wants to know of a GPU. */
static void put_limits(const struct rql_device *d, struct table *t)
{
	char shared[32], buffer[32];
	const struct rql_gpu_limits *l = &d->limits;
	if (d->kind == RQL_DEVICE_CPU) {
		put_null(t);
		return;
	}
	put_text(t, rql_arena_printf(t->arena, "subgroup %u, workgroup %u, shared %s, buffer %s%s", l->subgroup_size,
	                             l->group_size, rql_format_bytes(shared, l->shared_bytes),
	                             rql_format_bytes(buffer, l->buffer_bytes), l->float64 ? ", float64" : ""));
}

static void put_profile(const struct rql_device *d, struct table *t)
{
	const struct rql_profile *p = &d->profile;
	const struct rql_scan_profile *scan = &p->scan;
	struct rql_strbuf text = {0};
	if (d->kind == RQL_DEVICE_CPU) {
		rql_strbuf_printf(&text,
		                  "interval %.3g ns, cell %.3g ns, tested cell %.3g ns, group %.3g ns, statement %.3g us, "
		                  "DuckDB: statement %.3g us, value %.3g ns",
		                  p->run_ns, p->cell_ns, p->tested_cell_ns, p->group_ns, p->statement_ns / 1e3,
		                  p->host_statement_ns / 1e3, p->host_value_ns);
		rql_strbuf_printf(&text,
		                  "; scans: test %.3g ns, value %.3g ns, gathered %.3g ns, touch %.3g ns, probe %.3g ns, row "
		                  "%.3g ns, group %.3g ns, step %.3g ns, block %.3g ns",
		                  scan->test_ns, scan->value_ns, scan->gather_ns, scan->touch_ns, scan->probe_ns, scan->row_ns,
		                  scan->group_ns, scan->step_ns, scan->block_ns);
	} else {
		rql_strbuf_printf(&text,
		                  "submission %.3g us, pass %.3g us, upload %.3g GB/s, download %.3g GB/s, random read %.3g ns, "
		                  "interval %.3g ns, cell %.3g ns, tested cell %.3g ns, group %.3g ns",
		                  p->submit_ns / 1e3, p->pass_ns / 1e3, p->upload_gbps, p->download_gbps, p->sector_ns, p->run_ns,
		                  p->cell_ns, p->tested_cell_ns, p->group_ns);
		if (d->units[RQL_UNIT_RT])
			rql_strbuf_printf(&text, ", ray %.3g ns, hit %.3g ns, triangle %.3g ns and %.3g bytes", p->ray_ns,
			                  p->hit_ns, p->primitive_ns, p->primitive_bytes);
		if (d->units[RQL_UNIT_RASTER])
			rql_strbuf_printf(&text, ", point %.3g ns, atomic %.3g ns", p->point_ns, p->atomic_ns);
		if (d->units[RQL_UNIT_RASTER] && rql_device_blends_floats(d))
			rql_strbuf_printf(&text, ", blending %.3g ns", p->blend_ns);
		else if (d->units[RQL_UNIT_RASTER])
			rql_strbuf_put(&text, ", no blending of floats");
		rql_strbuf_printf(&text,
		                  "; scans: tested row %.3g ns, taken row %.3g ns, kernel %.3g ms, group put out %.3g ns",
		                  scan->tested_row_ns, scan->taken_row_ns, scan->compile_ns / 1e6, scan->answer_group_ns);
	}
	put_text(t, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
}

static void put_device_note(const struct rql_devices *devices, const struct rql_device *d, struct table *t)
{
	if (d->kind == RQL_DEVICE_CPU && devices->no_gpu)
		put_text(t, rql_arena_printf(t->arena, "there is no GPU: %s", devices->no_gpu));
	else if (atomic_load(&d->lost))
		put_text(t, "lost; restart the program to use it again");
	else if (atomic_load(&d->left))
		put_text(t, rql_arena_printf(t->arena,
		                             "a join or a group-by of rows in host memory failed on it (%s); restart the program to "
		                             "send it such rows again",
		                             atomic_load(&d->left)));
	else if (d->kind == RQL_DEVICE_SOFTWARE && !d->as_real)
		put_text(t, "a driver in software, used only when rayql_device names it");
	else
		put_null(t);
}

static void put_available(struct rql_device *d, struct table *t)
{
	uint64_t available = 0, total = 0;
	if (d->kind == RQL_DEVICE_CPU || atomic_load(&d->lost)) {
		put_null(t);
		return;
	}
	rql_device_memory(d, &available, &total);
	put_uint(t, available);
}

static void fill_devices(struct rql_database *db, struct rql_session *session, struct table *t)
{
	(void)session;
	rql_opening_finish(db); /* a profile is shown as it is */
	rql_devices_find(db->devices);
	for (uint32_t i = 0; i < atomic_load(&db->devices->count); i++) {
		struct rql_device *d = &db->devices->device[i];
		struct rql_strbuf units = {0}, missing = {0};
		for (int u = 0; u < RQL_UNIT_COUNT; u++) {
			if (d->units[u])
				rql_strbuf_printf(&units, "%s%s", units.length ? ", " : "", rql_unit_name((enum rql_unit)u));
			else if (d->missing[u])
				rql_strbuf_printf(&missing, "%s%s: %s", missing.length ? "; " : "", rql_unit_name((enum rql_unit)u),
				                  d->missing[u]);
		}
		row_begin(t);
		put_text(t, d->id);
		put_text(t, d->name);
		put_text(t, d->driver);
		put_uint(t, d->memory_bytes);
		put_uint(t, d->pool ? rql_pool_threads(d->pool) : 0);
		put_text(t, rql_strbuf_text(&units));
		put_text(t, missing.length ? rql_strbuf_text(&missing) : NULL);
		put_bool(t, d->profile.measured);
		put_real(t, d->profile.read_gbps);
		put_text(t, rql_device_kind_name(d->kind));
		put_text(t, d->uuid);
		put_text(t, d->pci);
		put_available(d, t);
		put_limits(d, t);
		put_profile(d, t);
		put_device_note(db->devices, d, t);
		rql_strbuf_free(&units);
		rql_strbuf_free(&missing);
	}
}

static const char *state_of(const struct rql_database *db, const struct rql_structure *s)
{
	switch (s->state) {
	case RQL_STATE_UNBUILT:
		return "unbuilt";
	case RQL_STATE_BUILDING:
		return "building";
	case RQL_STATE_INVALID:
		return "invalid";
	case RQL_STATE_READY:
		break;
	}
	return rql_structure_fresh(db->catalog, s) ? "ready" : "stale";
}

static void put_reason(const struct rql_database *db, const struct rql_structure *s, struct table *t)
{
	const char *database, *schema, *name;
	const struct rql_table *moved = s->state == RQL_STATE_READY ? rql_structure_moved_table(db->catalog, s) : NULL;
	if (moved) {
		rql_table_name(moved, &database, &schema, &name);
		struct rql_strbuf then = {0};
		if (rql_structure_appendable(db->catalog, s))
			rql_strbuf_put(&then, rql_table_only_grew(db->catalog, s->tables[0], s->versions[0])
			                          ? "the next matching query appends the added rows"
			                          : "the next matching query takes over the rows that changed");
		else
			rql_strbuf_printf(&then, "%s rebuilds it",
			                  s->refresh == RQL_REFRESH_AUTO ? "the next matching query" : s->kind->refresh);
		put_text(t, rql_arena_printf(t->arena, "the table %s has changed since it was built; %s", name,
		                             rql_strbuf_text(&then)));
		rql_strbuf_free(&then);
	} else {
		struct rql_strbuf text = {0};
		rql_strbuf_put(&text, s->reason ? s->reason : s->note ? s->note : "");
		for (uint32_t i = 0; i < s->failure_count; i++) {
			rql_strbuf_put(&text, text.length ? "; " : "");
			rql_device_put_failure(&text, s, s->failures[i].device, s->failures[i].reason);
		}
		put_text(t, text.length ? rql_strbuf_text(&text) : NULL);
		rql_strbuf_free(&text);
	}
}

static void put_tables(const struct rql_structure *s, struct table *t)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < s->table_count; i++) {
		const char *database, *schema, *name;
		rql_table_name(s->tables[i], &database, &schema, &name);
		rql_strbuf_put(&text, i ? ", " : "");
		if (strcmp(schema, "main") != 0) {
			rql_put_name(&text, schema);
			rql_strbuf_putc(&text, '.');
		}
		rql_put_name(&text, name);
	}
	put_text(t, s->table_count ? rql_strbuf_text(&text) : NULL);
	rql_strbuf_free(&text);
}

/* What a structure, or (s NULL) a map, has on a device. */
static uint64_t on_device(const struct rql_database *db, const struct rql_structure *s, const struct rql_map *map,
                          const struct rql_device *d, char *kinds, size_t size, double *ms, const char **failure)
{
	struct rql_structures *all = (struct rql_structures *)(uintptr_t)&db->structures;
	return s ? s->kind->on_device(all, s, d, kinds, size, ms, failure)
	         : rql_placements_of(map, d, kinds, size, ms, failure);
}

/* "vulkan:0 (arrays in 0.4 ms, rt in 12.0 ms): 12.0 MiB", and all bytes and times together. */
static void put_placements(const struct rql_database *db, const struct rql_structure *s, const struct rql_map *map,
                           struct table *t)
{
	struct rql_strbuf text = {0};
	bool built = !s || s->relation || s->snapshot || (s->kind->mark && s->state == RQL_STATE_READY);
	uint64_t sum = 0;
	double ms = 0;
	for (uint32_t i = 0; built && i < atomic_load(&db->devices->count); i++) {
		const struct rql_device *d = &db->devices->device[i];
		const char *failure = NULL;
		char kinds[512] = "", size[32];
		double took = 0;
		uint64_t bytes =
			d->kind == RQL_DEVICE_CPU ? 0 : on_device(db, s, map, d, kinds, sizeof kinds, &took, &failure);
		if (bytes && atomic_load(&d->lost)) { /* by another structure's query: its memory went with it */
			failure = failure ? failure : "the device was lost";
			bytes = 0;
		}
		sum += bytes;
		ms += bytes ? took : 0;
		if (!bytes && !failure)
			continue;
		rql_strbuf_printf(&text, "%s%s", text.length ? "; " : "", d->id);
		if (kinds[0])
			rql_strbuf_printf(&text, " (%s)", kinds);
		if (failure)
			rql_strbuf_printf(&text, ": not used: %s", failure);
		else
			rql_strbuf_printf(&text, ": %s", rql_format_bytes(size, bytes));
	}
	put_text(t, text.length ? rql_strbuf_text(&text) : NULL);
	if (built) {
		put_uint(t, sum);
		put_real(t, ms);
	} else {
		put_null(t);
		put_null(t);
	}
	rql_strbuf_free(&text);
}

/* rows, cells, bytes, bytes_per_row, build_ms, rolled_up, and the dimensions in the order of the key. */
static void put_contents(const struct rql_database *db, const struct rql_structure *s, struct table *t)
{
	struct rql_structure_size size;
	struct rql_strbuf order = {0};
	if (!s->relation && !s->snapshot && s->reads != RQL_READS_INDEX) {
		for (int i = 0; i < 7; i++)
			put_null(t);
		return;
	}
	s->kind->size((struct rql_structures *)(uintptr_t)&db->structures, s, &size);
	put_uint(t, size.rows);
	put(t, (struct cell){.kind = size.has_cells ? CELL_UINT : CELL_NULL, .number = size.cells});
	put_uint(t, size.bytes);
	if (size.rows)
		put_real(t, (double)size.bytes / (double)size.rows);
	else
		put_null(t);
	put_real(t, s->build_ms);
	put(t, (struct cell){.kind = size.has_cells ? CELL_BOOL : CELL_NULL, .flag = size.rolled_up});
	if (s->kind->put_order)
		s->kind->put_order(s, &order);
	put_text(t, s->kind->put_order ? rql_strbuf_text(&order) : NULL);
	rql_strbuf_free(&order);
}

static void put_structure(const struct rql_database *db, const struct rql_structure *s, struct table *t)
{
	row_begin(t);
	put_text(t, s->name);
	put_text(t, s->kind->name);
	put_text(t, s->automatic ? NULL : s->statement); /* nobody's statement */
	put_text(t, state_of(db, s));
	put_reason(db, s, t);
	put_contents(db, s, t);
	put_text(t, s->options);
	put_tables(s, t);
	put_text(t, s->schema);
	put_text(t, s->unit_wanted ? rql_unit_name(s->unit) : "auto");
	put_text(t, s->layout ? s->layout : "auto");
	put_placements(db, s, NULL, t);
}

struct maps_seen {
	const struct rql_database *db;
	struct table *t;
};

/* "map of supplier, nation": what plans have made of dimensions, and share. */
static void put_map(void *state, const struct rql_map_seen *seen)
{
	const struct maps_seen *maps = state;
	struct table *t = maps->t;
	const struct rql_scan_dim *dim = &seen->map->dim;
	struct rql_strbuf tables = {0};
	const char *database, *schema = NULL, *name;
	if (!dim->map)
		return;
	for (uint32_t i = 0; i < seen->table_count; i++) {
		rql_table_name(seen->tables[i], &database, &schema, &name);
		rql_strbuf_put(&tables, i ? ", " : "");
		rql_put_name(&tables, name);
	}
	row_begin(t);
	put_text(t, rql_arena_printf(t->arena, "map of %s", rql_strbuf_text(&tables)));
	put_text(t, "map");
	put_null(t);
	put_text(t, seen->current ? "ready" : "stale");
	put_text(t, rql_arena_printf(t->arena, "made for plans; its rows came %s", dim->how));
	put_uint(t, rql_map_entries(dim->map));
	put_null(t);
	put_uint(t, seen->bytes);
	if (rql_map_entries(dim->map))
		put_real(t, (double)seen->bytes / (double)rql_map_entries(dim->map));
	else
		put_null(t);
	put_real(t, dim->build_ms);
	put_null(t);
	put_null(t);
	put_null(t);
	put_text(t, rql_strbuf_text(&tables));
	put_text(t, schema);
	put_text(t, rql_unit_name(RQL_UNIT_CPU));
	put_text(t, rql_map_is_dense(dim->map) ? "dense" : "hashed");
	put_placements(maps->db, NULL, dim->map, t);
	rql_strbuf_free(&tables);
}

static void fill_structures(struct rql_database *db, struct rql_session *session, struct table *t)
{
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	(void)session;
	if (rql_catalog_structures(db->catalog, t->arena, &list, &count, NULL) != RQL_OK) {
		t->failed = true;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		put_structure(db, list[i], t);
		rql_structure_release(list[i]);
	}
	const struct rql_map_epochs now = {.structures = rql_catalog_structure_epoch(db->catalog),
	                                   .schema = rql_catalog_schema_epoch(db->catalog),
	                                   .settings = atomic_load(&db->settings_epoch)};
	rql_map_cache_each(db->maps, db->catalog, &now, put_map, &(struct maps_seen){db, t});
}

static void fill_methods(struct rql_database *db, struct rql_session *session, struct table *t)
{
	(void)db;
	for (uint32_t i = 0; rql_methods()[i]; i++) {
		const struct rql_method *m = rql_methods()[i];
		row_begin(t);
		put_text(t, m->name);
		put_text(t, rql_unit_name(m->unit));
		put_bool(t, !session || !(session->settings.disabled_methods >> i & 1));
		put_text(t, m->description);
		put_text(t, m->paper);
	}
}

static void fill_last_query(struct rql_database *db, struct rql_session *session, struct table *t)
{
	(void)db;
	if (!session || session->report.serial <= 1)
		return;
	struct rql_report *r = &session->report;
	row_begin(t);
	put_text(t, r->method);
	put_text(t, r->unit);
	put_text(t, r->structure);
	put_text(t, rql_strbuf_text(&r->reason));
	put_bool(t, r->plan_cached);
	put_uint(t, r->stats.cells_read);
	put_uint(t, r->stats.cells_covered);
	put_uint(t, r->stats.bytes_read);
	put_uint(t, r->stats.rows);
	put_real(t, r->plan_ms);
	put_real(t, r->run_ms);
	put_real(t, r->finish_ms);
	put_real(t, r->estimated_ms);
	put_real(t, r->host_estimated_ms);
	put_text(t, r->device);
	put_uint(t, r->stats.runs);
	put_uint(t, r->stats.rays);
	put_uint(t, r->stats.hits);
	put_real(t, r->stats.device_ns / 1e6);
	put_uint(t, r->stats.bytes_uploaded);
	put_bool(t, r->plan_bound);
}

static void fill_settings(struct rql_database *db, struct rql_session *session, struct table *t)
{
	struct rql_setting_row row;
	(void)db;
	for (uint32_t i = 0; session && rql_settings_row(session, i, &row); i++) {
		row_begin(t);
		put_text(t, row.name);
		put_text(t, row.value);
		put_text(t, row.description);
	}
}

#define TEXT RQL_TYPE_VARCHAR
#define UINT RQL_TYPE_UBIGINT
#define REAL RQL_TYPE_DOUBLE
#define BOOL RQL_TYPE_BOOLEAN
static const struct function {
	const char *name;
	fill_fn *fill;
	struct column columns[24]; /* ended by a NULL name */
} functions[] = {
	{"rayql_devices",
     fill_devices,
     {{"device", TEXT},
      {"name", TEXT},
      {"driver", TEXT},
      {"memory", UINT},
      {"threads", UINT},
      {"units", TEXT},
      {"missing", TEXT},
      {"measured", BOOL},
      {"read_gbps", REAL},
      {"kind", TEXT},
      {"uuid", TEXT},
      {"pci", TEXT},
      {"memory_available", UINT},
      {"limits", TEXT},
      {"profile", TEXT},
      {"note", TEXT},
      {NULL, TEXT}}},
	{"rayql_structures",
     fill_structures,
     {{"name", TEXT},      {"kind", TEXT},      {"definition", TEXT}, {"state", TEXT},         {"reason", TEXT},
      {"rows", UINT},      {"cells", UINT},     {"bytes", UINT},      {"bytes_per_row", REAL}, {"build_ms", REAL},
      {"rolled_up", BOOL}, {"key_order", TEXT}, {"options", TEXT},    {"tables", TEXT},        {"schema", TEXT},
      {"unit", TEXT},      {"layout", TEXT},    {"placed", TEXT},     {"device_bytes", UINT},  {"place_ms", REAL},
      {NULL, TEXT}}},
	{"rayql_methods",
     fill_methods,
     {{"name", TEXT}, {"unit", TEXT}, {"enabled", BOOL}, {"description", TEXT}, {"paper", TEXT}, {NULL, TEXT}}},
	{"rayql_last_query", fill_last_query, {{"method", TEXT},        {"unit", TEXT},
                                           {"structure", TEXT},     {"reason", TEXT},
                                           {"plan_cached", BOOL},   {"cells_read", UINT},
                                           {"cells_covered", UINT}, {"bytes_read", UINT},
                                           {"rows", UINT},          {"plan_ms", REAL},
                                           {"run_ms", REAL},        {"finish_ms", REAL},
                                           {"estimated_ms", REAL},  {"host_estimated_ms", REAL},
                                           {"device", TEXT},        {"intervals", UINT},
                                           {"rays", UINT},          {"hits", UINT},
                                           {"device_ms", REAL},     {"bytes_uploaded", UINT},
                                           {"plan_bound", BOOL},    {NULL, TEXT}}},
	{"rayql_settings", fill_settings, {{"name", TEXT}, {"value", TEXT}, {"description", TEXT}, {NULL, TEXT}}},
};
#define FUNCTION_COUNT (sizeof functions / sizeof *functions)

/* ---- the host's side ---- */
struct registered { /* a function's `extra`: lives as long as the database */
	struct rql_database *db;
	const struct function *function;
};

static struct rql_session *caller(struct rql_database *db, uint64_t id)
{
	pthread_mutex_lock(&db->sessions_lock);
	struct rql_session *s = db->sessions;
	while (s && s->host_id != id)
		s = s->next;
	pthread_mutex_unlock(&db->sessions_lock);
	return s; /* it is running this very statement, so it cannot be closed meanwhile */
}

static rql_status bind(struct rql_host_tf_bind *b, void *extra, void **state, struct rql_error *err)
{
	const struct registered *r = extra;
	struct table *t = calloc(1, sizeof *t);
	if (!t || !(t->arena = rql_arena_new())) {
		free(t);
		return rql_error_memory(err, sizeof *t, r->function->name);
	}
	for (; r->function->columns[t->columns].name; t->columns++) {
		const struct column *c = &r->function->columns[t->columns];
		rql_status status = rql_host_tf_column(b, c->name, rql_type_simple(c->type));
		if (status != RQL_OK) {
			table_free(t);
			return rql_error_set(err, status, "%s: column %s", r->function->name, c->name);
		}
	}
	r->function->fill(r->db, caller(r->db, rql_host_tf_connection_id(b)), t);
	if (t->failed) {
		table_free(t);
		return rql_error_memory(err, 0, r->function->name);
	}
	rql_host_tf_rows(b, t->rows);
	rql_host_tf_threads(b, 1);
	*state = t;
	return RQL_OK;
}

static void give(struct rql_batch *out, uint32_t column, uint64_t row, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_NULL:
		rql_host_tf_null(out, column, row);
		break;
	case CELL_TEXT:
		rql_host_tf_string(out, column, row, cell->text, (uint32_t)strlen(cell->text));
		break;
	case CELL_UINT:
		((uint64_t *)out->columns[column].data)[row] = cell->number;
		break;
	case CELL_REAL:
		((double *)out->columns[column].data)[row] = cell->real;
		break;
	case CELL_BOOL:
		((uint8_t *)out->columns[column].data)[row] = cell->flag;
		break;
	}
}

static rql_status fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity, struct rql_error *err)
{
	struct table *t = state;
	(void)thread;
	(void)err;
	out->rows = 0;
	for (; t->next < t->rows && out->rows < capacity; t->next++, out->rows++)
		for (uint32_t c = 0; c < t->columns; c++)
			give(out, c, out->rows, &t->cells[t->next * t->columns + c]);
	return RQL_OK;
}

rql_status rql_functions_register(struct rql_database *db, struct rql_host_con *con, struct rql_error *err)
{
	db->functions = calloc(FUNCTION_COUNT, sizeof(struct registered));
	struct registered *r = db->functions;
	if (!r)
		return rql_error_memory(err, FUNCTION_COUNT * sizeof *r, "table functions");
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		r[i] = (struct registered){db, &functions[i]};
		struct rql_host_table_function f = {
			.name = functions[i].name, .bind = bind, .fill = fill, .free_state = table_free, .extra = &r[i]};
		RQL_TRY(rql_host_register(con, &f, err));
	}
	return RQL_OK;
}
