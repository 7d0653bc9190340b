/* Rows of which few are wanted in each block: what is read of them lies far apart in memory, two cache lines for each block
 * and column (the block's record, then the value) that depend on each other. Waited for one by one they take some hundred
 * nanoseconds each; so memory is asked for all that a morsel needs at once, records first.
 *
 * Floor: the lines, as many at a time as a core can have under way (10 to 24). */
#include "method/scan/rows/scan_rows_query.h"
#include "util/touch.h"

/* Of more rows in a block than this, the processor's own prefetcher finds some, and others share lines. */
#define FEW_ROWS 16u
/* A block's column that was touched before; a value that is made of what was read. */
#define BLOCK_NS 30
#define VALUE_NS 3
/* Less work than this stays with the caller: waking a worker takes longer than the work. */
#define LEAST_SHARED_NS 60000u

static void note_column(uint32_t column, struct rql_rows_columns *columns)
{
	for (uint32_t i = 0; i < columns->count; i++)
		if (columns->index[i] == column)
			return;
	columns->index[columns->count++] = column;
}

static void note_join(const struct rql_scan *scan, uint32_t j, struct rql_rows_columns *columns)
{
	const struct rql_scan_bound_join *join = &scan->joins[j];
	note_column(scan->columns[join->column].column, columns);
	if (join->second != RQL_NONE)
		note_column(scan->columns[join->second].column, columns);
}

void rql_rows_note_columns(const struct rql_scan *scan, const struct rql_source *source,
                           struct rql_rows_columns *columns)
{
	if (source->kind == RQL_SOURCE_COLUMN)
		note_column(source->index, columns);
	else if (source->kind == RQL_SOURCE_LOOKUP)
		note_join(scan, source->index, columns);
	else
		for (uint32_t i = 0; i < scan->programs[source->index].program->input_count; i++)
			rql_rows_note_columns(scan, &scan->programs[source->index].inputs[i], columns);
}

bool rql_rows_worth_sharing(const struct rql_rows_run *run, const struct rql_rows_columns *columns, uint64_t rows,
                            uint32_t values)
{
	uint64_t blocks = rows < run->blocks ? rows : run->blocks;
	return columns->count * blocks * BLOCK_NS + rows * values * VALUE_NS >= LEAST_SHARED_NS;
}

/* ---- touching ---- */

/* Rows of a block that are wanted, if they are few; else 0. */
static uint32_t few_rows(const struct rql_rows_run *run, uint64_t block, uint16_t *rows)
{
	uint32_t count = 0;
	if (run->picks) {
		uint64_t first = run->pick_first[block], end = run->pick_first[block + 1];
		for (uint64_t p = first; p < end && end - first <= FEW_ROWS; p++)
			rows[count++] = (uint16_t)(run->picks[p] >> 32);
		return count;
	}
	if (run->left[block] > FEW_ROWS || !(run->listed || run->masks))
		return 0;
	if (run->listed) {
		memcpy(rows, run->row_list + run->first[block], run->left[block] * sizeof(*rows));
		return run->left[block];
	}
	const uint64_t *mask = run->masks + block * RQL_SCAN_MASK_WORDS;
	for (uint32_t word = 0; count < run->left[block]; word++)
		for (uint64_t left = mask[word]; left; left &= left - 1)
			rows[count++] = (uint16_t)(word * 64 + (uint32_t)__builtin_ctzll(left));
	return count;
}

/* Where a value of a block begins, as near as its record alone says. */
static void touch_values(const struct rql_store_view *view, const struct rql_store_block *block, const uint16_t *rows,
                         uint32_t count)
{
	const uint8_t *data = view->bytes + (uint64_t)block->data * 64;
	if (block->validity != RQL_STORE_NONE)
		rql_touch(view->bytes + (uint64_t)block->validity * 64 + rows[0] / 8);
	if (block->encoding == RQL_STORE_CONSTANT)
		return;
	if (block->encoding != RQL_STORE_PACKED) {
		rql_touch(data);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		rql_touch(data + (uint64_t)rows[i] * block->bits / 8);
}

void rql_rows_touch(const struct rql_rows_run *run, const struct rql_rows_columns *columns, uint64_t first,
                    uint64_t end)
{
	const struct rql_store_snapshot *snapshot = run->rows->scan->snapshot;
	const struct rql_store_segment *segments[RQL_SCAN_MORSEL];
	uint32_t blocks[RQL_SCAN_MORSEL], counts[RQL_SCAN_MORSEL];
	uint16_t rows[RQL_SCAN_MORSEL][FEW_ROWS];
	for (uint64_t b = first; b < end; b++) {
		uint64_t i = b - first, at = run->block_of ? run->block_of[b] : b;
		counts[i] = few_rows(run, b, rows[i]);
		if (!counts[i])
			continue;
		segments[i] = rql_store_locate(snapshot, at);
		blocks[i] = (uint32_t)(at - segments[i]->first_block);
		for (uint32_t c = 0; c < columns->count; c++)
			rql_touch(&segments[i]->columns[columns->index[c]].blocks[blocks[i]]);
	}
	for (uint64_t i = 0; i < end - first; i++)
		for (uint32_t c = 0; counts[i] && c < columns->count; c++) {
			const struct rql_store_view *view = &segments[i]->columns[columns->index[c]];
			touch_values(view, &view->blocks[blocks[i]], rows[i], counts[i]);
		}
}
