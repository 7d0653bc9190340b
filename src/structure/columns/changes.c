/* Rows that DELETE and UPDATE changed in a table, taken over into its columns without reading it.
 *
 * exec/follow/follow.c says which row ids such statements changed. The columns hold the rows with ids 0 to greatest_rowid but
 * for known gaps, in order, so an id is the number of a row. But a checkpoint of the host may give rows that follow
 * deleted ones lower ids. Whether it has is seen afterwards, in the transaction that reads the table: a row that moved
 * has taken an id that was free. There it is found, or it has been deleted in its turn, under an id that was gone
 * before. So these are the very rows when no id is gone twice, no row has an id that is gone, and as many rows are left
 * as there must be (append.c counts). */
#include "structure/columns/columns.h"

#include <stdlib.h>
#include <string.h>
#include "structure/structure_internal.h"
#include "util/sort.h"

#define SLICE_ROWS (128u << 10)    /* read and written at once, so that their values take little memory */
#define BUILT_SHARE 16u            /* a larger part of the rows with other values is read faster by a build */
#define MOST_GAPS (4u << 20)       /* remembered of a table */
#define DENSE 16u                 /* rows of a range that are read for one that is wanted */

static int by_id(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* A statement finds them in order, mostly. */
static bool ascend(const int64_t *ids, uint64_t count)
{
	uint64_t i = 1;
	while (i < count && ids[i - 1] <= ids[i])
		i++;
	return i >= count;
}

static void sort_ids(int64_t *ids, uint64_t count)
{
	if (!ascend(ids, count))
		qsort(ids, count, sizeof *ids, by_id);
}

static bool has_twice(const int64_t *ids, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
		if (ids[i - 1] == ids[i])
			return true;
	return false;
}

/* How many of the ascending ids, which are not negative, are below id. */
static uint64_t below(const int64_t *ids, uint64_t count, int64_t id)
{
	return id > 0 ? rql_count_below((const uint64_t *)ids, count, (uint64_t)id) : 0;
}

static bool contains(const int64_t *ids, uint64_t count, int64_t id)
{
	const uint64_t at = below(ids, count, id);
	return at < count && ids[at] == id;
}

/* ---- which rows ---- */

/* Each id once, without those that are gone. */
static void settle_renewed(struct rql_row_changes *ch)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < ch->renewed_count; i++)
		if ((!kept || ch->renewed[kept - 1] != ch->renewed[i]) && !contains(ch->gone, ch->gone_count, ch->renewed[i]))
			ch->renewed[kept++] = ch->renewed[i];
	ch->renewed_count = kept;
}

static rql_status number_rows(const struct rql_structure *s, const int64_t *ids, uint64_t count, uint64_t **out,
                              struct rql_error *err)
{
	*out = malloc((count + 1) * sizeof **out);
	if (!*out)
		return rql_error_memory(err, count * sizeof **out, "changed rows");
	for (uint64_t i = 0; i < count; i++)
		(*out)[i] = (uint64_t)ids[i] - below(s->gaps, s->gap_count, ids[i]);
	return RQL_OK;
}

static rql_status join_gaps(const struct rql_structure *s, struct rql_columns_changed *c, struct rql_error *err)
{
	c->gap_count = s->gap_count + c->changes.gone_count;
	c->gaps = malloc((c->gap_count + 1) * sizeof *c->gaps);
	if (!c->gaps)
		return rql_error_memory(err, c->gap_count * sizeof *c->gaps, "changed rows");
	if (s->gap_count)
		memcpy(c->gaps, s->gaps, s->gap_count * sizeof *c->gaps);
	if (c->changes.gone_count)
		memcpy(c->gaps + s->gap_count, c->changes.gone, c->changes.gone_count * sizeof *c->gaps);
	sort_ids(c->gaps, c->gap_count);
	return RQL_OK;
}

/* It may be built where nobody waits for a REFRESH. */
static bool is_built_faster(const struct rql_structure *s, const struct rql_columns_changed *c)
{
	return s->refresh == RQL_REFRESH_AUTO && c->renewed_below > SLICE_ROWS &&
	       c->renewed_below > s->snapshot->rows / BUILT_SHARE;
}

rql_status rql_columns_changed_find(const struct rql_structures *all, const struct rql_structure *s, uint64_t since,
                                    struct rql_columns_changed *out, bool *known, struct rql_error *err)
{
	struct rql_row_changes *ch = &out->changes;
	bool all_known = false;
	*known = rql_table_only_grew(all->catalog, s->tables[0], since);
	if (!*known && !rql_table_followed(all->catalog, s->tables[0], since))
		return RQL_OK;
	RQL_TRY(rql_table_changes(all->catalog, s->tables[0], since, s->versions[0], ch, &all_known, err));
	sort_ids(ch->gone, ch->gone_count);
	sort_ids(ch->renewed, ch->renewed_count);
	settle_renewed(ch);
	out->gone_below = below(ch->gone, ch->gone_count, s->greatest_rowid + 1);
	out->renewed_below = below(ch->renewed, ch->renewed_count, s->greatest_rowid + 1);
	RQL_TRY(join_gaps(s, out, err));
	*known = *known || (all_known && rql_structure_follows(s) && !has_twice(out->gaps, out->gap_count) &&
	                    out->gap_count <= MOST_GAPS && !is_built_faster(s, out));
	if (!*known)
		return RQL_OK;
	RQL_TRY(number_rows(s, ch->gone, out->gone_below, &out->gone, err));
	return number_rows(s, ch->renewed, out->renewed_below, &out->renewed, err);
}

void rql_columns_changed_clear(struct rql_columns_changed *changed)
{
	rql_row_changes_clear(&changed->changes);
	free(changed->gone);
	free(changed->renewed);
	free(changed->gaps);
	*changed = (struct rql_columns_changed){0};
}

/* ---- are they still these? ---- */

static rql_status open_query(struct rql_host_con *con, struct rql_strbuf *sql, struct rql_host_stmt **stmt,
                             struct rql_host_result **res, struct rql_error *err)
{
	RQL_TRY(rql_host_prepare(con, rql_strbuf_sql(sql), stmt, err));
	return rql_host_execute(*stmt, true, res, err);
}

/* Has a row that con sees one of the ids first + i whose bit i is set? */
static rql_status meets(const struct rql_structure *s, struct rql_host_con *con, int64_t first, int64_t last,
                        const uint64_t *bits, bool *met, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT rowid FROM ");
	rql_columns_put_table(&sql, s);
	rql_strbuf_printf(&sql, " WHERE rowid BETWEEN %lld AND %lld", (long long)first, (long long)last);
	rql_status status = open_query(con, &sql, &stmt, &res, err);
	*met = false;
	while (status == RQL_OK && !*met && (status = rql_host_fetch(res, &chunk, err)) == RQL_OK && chunk) {
		const int64_t *ids = chunk->columns[0].data;
		uint64_t any = 0;
		for (uint64_t r = 0; r < chunk->rows; r++)
			any |= bits[(uint64_t)(ids[r] - first) / 64] >> ((uint64_t)(ids[r] - first) % 64) & 1;
		*met = any != 0;
		rql_batch_release(chunk);
	}
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&sql);
	return status;
}

rql_status rql_columns_changed_check(const struct rql_structure *s, struct rql_host_con *con,
                                     const struct rql_columns_changed *changed, bool *same, struct rql_error *err)
{
	const bool any = changed->changes.gone_count || changed->changes.renewed_count;
	bool met = false;
	*same = true;
	if (!any || !changed->gap_count)
		return RQL_OK;
	const int64_t first = changed->gaps[0], last = changed->gaps[changed->gap_count - 1];
	uint64_t *bits = calloc((uint64_t)(last - first) / 64 + 1, sizeof *bits);
	if (!bits)
		return rql_error_memory(err, (uint64_t)(last - first) / 8, "changed rows");
	for (uint64_t i = 0; i < changed->gap_count; i++)
		bits[(uint64_t)(changed->gaps[i] - first) / 64] |= 1ull << ((uint64_t)(changed->gaps[i] - first) % 64);
	rql_status status = meets(s, con, first, last, bits, &met, err);
	free(bits);
	*same = !met;
	return status;
}

/* ---- ids that are free from the start ---- */

/* Ids up to the greatest that none of the chunks has; they ascend. False: too many, or no memory. */
struct gaps {
	int64_t *ids, next;
	uint64_t count, most, rows;
};

static bool note_gaps(struct gaps *g, const struct rql_batch *chunk)
{
	const int64_t *ids = chunk->columns[0].data;
	for (uint64_t r = 0; r < chunk->rows; r++) {
		if (ids[r] < g->next || g->count + (uint64_t)(ids[r] - g->next) > g->most)
			return false;
		while (g->next < ids[r])
			g->ids[g->count++] = g->next++;
		g->next++;
	}
	g->rows += chunk->rows;
	return true;
}

void rql_columns_find_gaps(struct rql_structure *s, struct rql_host_con *con)
{
	const uint64_t ids = (uint64_t)(s->greatest_rowid + 1), rows = s->snapshot->rows;
	struct gaps g = {.most = ids - rows};
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	struct rql_strbuf sql = {0};
	if (s->greatest_rowid < 0 || !s->snapshot->ordered || ids <= rows || ids - rows > MOST_GAPS)
		return;
	g.ids = malloc(g.most * sizeof *g.ids);
	rql_strbuf_put(&sql, "SELECT rowid FROM ");
	rql_columns_put_table(&sql, s);
	bool good = g.ids && open_query(con, &sql, &stmt, &res, NULL) == RQL_OK;
	rql_status status = RQL_OK;
	while (good && (status = rql_host_fetch(res, &chunk, NULL)) == RQL_OK && chunk) {
		good = note_gaps(&g, chunk);
		rql_batch_release(chunk);
	}
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&sql);
	if (good && status == RQL_OK && g.rows == rows && g.count == g.most)
		rql_structure_set_gaps(s, g.ids, g.count);
	else
		free(g.ids);
}

/* ---- taking over ---- */

/* Rows that were read, as one batch; the chunks keep what long strings point to. */
struct renewed {
	struct rql_batch *rows;
	uint64_t filled;
	struct rql_batch **chunks;
	uint64_t chunk_count;
};

static void renewed_clear(struct renewed *r)
{
	for (uint64_t i = 0; i < r->chunk_count; i++)
		rql_batch_release(r->chunks[i]);
	free(r->chunks);
	rql_batch_release(r->rows);
}

static void put_query(struct rql_strbuf *sql, const struct rql_structure *s, const int64_t *ids, uint64_t count)
{
	const uint64_t span = (uint64_t)(ids[count - 1] - ids[0]) + 1;
	rql_strbuf_put(sql, "SELECT ");
	for (uint32_t c = 0; c < s->snapshot->column_count; c++) {
		rql_strbuf_put_ident(sql, s->snapshot->columns[c].name);
		rql_strbuf_put(sql, ", ");
	}
	rql_strbuf_put(sql, "rowid FROM ");
	rql_columns_put_table(sql, s);
	rql_strbuf_printf(sql, " WHERE rowid BETWEEN %lld AND %lld", (long long)ids[0], (long long)ids[count - 1]);
	if (span / DENSE > count) {
		rql_strbuf_put(sql, " AND rowid IN (");
		for (uint64_t i = 0; i < count; i++)
			rql_strbuf_printf(sql, i ? ", %lld" : "%lld", (long long)ids[i]);
		rql_strbuf_put(sql, ")");
	}
	rql_strbuf_put(sql, " ORDER BY rowid");
}

/* Those rows of a chunk that are wanted next. Takes the chunk over. */
static rql_status take_chunk(struct renewed *r, const int64_t *ids, uint64_t count, struct rql_batch *chunk,
                             struct rql_error *err)
{
	struct rql_batch **chunks = realloc(r->chunks, (r->chunk_count + 1) * sizeof *chunks);
	if (!chunks) {
		rql_batch_release(chunk);
		return rql_error_memory(err, sizeof *chunks, "changed rows");
	}
	r->chunks = chunks;
	r->chunks[r->chunk_count++] = chunk;
	const int64_t *have = chunk->columns[chunk->column_count - 1].data;
	for (uint64_t from = 0; from < chunk->rows; from++) {
		if (r->filled == count || have[from] != ids[r->filled])
			continue;
		for (uint32_t c = 0; c < r->rows->column_count; c++) {
			const size_t width = rql_type_bytes(r->rows->columns[c].type);
			memcpy((char *)r->rows->columns[c].data + r->filled * width,
			       (const char *)chunk->columns[c].data + from * width, width);
			if (!rql_column_valid(&chunk->columns[c], from) && !rql_batch_set_null(r->rows, c, r->filled))
				return rql_error_memory(err, 0, "changed rows");
		}
		r->filled++;
	}
	return RQL_OK;
}

static rql_status read_renewed(const struct rql_structure *s, struct rql_host_con *con, const int64_t *ids,
                               uint64_t count, struct renewed *out, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	struct rql_strbuf sql = {0};
	struct rql_type *types = calloc(s->snapshot->column_count + 1, sizeof *types);
	for (uint32_t c = 0; types && c < s->snapshot->column_count; c++)
		types[c] = s->snapshot->columns[c].type;
	out->rows = types ? rql_batch_new(s->snapshot->column_count, types, count) : NULL;
	free(types);
	if (!out->rows)
		return rql_error_memory(err, 0, "changed rows");
	put_query(&sql, s, ids, count);
	rql_status status = open_query(con, &sql, &stmt, &res, err);
	while (status == RQL_OK && (status = rql_host_fetch(res, &chunk, err)) == RQL_OK && chunk)
		status = take_chunk(out, ids, count, chunk, err);
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&sql);
	return status;
}

/* Renewed rows [from, from + count), and behind the last of them those that are gone: they number the others anew. */
static rql_status apply_slice(const struct rql_structure *s, struct rql_host_con *con,
                              const struct rql_columns_changed *changed, uint64_t from, uint64_t count, bool *same,
                              struct rql_error *err)
{
	const bool last = from + count == changed->renewed_below;
	struct renewed renewed = {0};
	rql_status status =
		count ? read_renewed(s, con, changed->changes.renewed + from, count, &renewed, err) : RQL_OK;
	*same = renewed.filled == count;
	if (status == RQL_OK && *same) {
		const struct rql_store_changes changes = {.gone_count = last ? changed->gone_below : 0,
		                                          .renewed_count = count,
		                                          .gone = changed->gone,
		                                          .renewed = changed->renewed + from,
		                                          .rows = renewed.rows};
		status = rql_store_change(s->store, &changes, err);
	}
	renewed_clear(&renewed);
	return status;
}

rql_status rql_columns_changed_apply(const struct rql_structure *s, struct rql_host_con *con,
                                     const struct rql_columns_changed *changed, bool *same, struct rql_error *err)
{
	uint64_t from = 0, count;
	*same = true;
	do {
		count = changed->renewed_below - from;
		count = count < SLICE_ROWS ? count : SLICE_ROWS;
		RQL_TRY(apply_slice(s, con, changed, from, count, same, err));
		from += count;
	} while (*same && from < changed->renewed_below);
	return RQL_OK;
}
