/* Blocks that need not be read: all of their rows pass, and what is counted or compared in them stands in their descriptors.
 * Small materialized aggregates (Moerkotte, VLDB 1998) for COUNT, MIN and MAX of columns, without groups.
 *
 * Floor: 64 bytes of a descriptor for each block and column, about 20 ns. */
#include "method/scan/scan_query.h"

/* A descriptor holds a count and the extremes; other sums need the rows. */
static bool may_know(const struct rql_scan *scan, const struct rql_scan_slot *slot)
{
	if (slot->filter != RQL_NONE)
		return false;
	if (slot->operand == RQL_NONE)
		return slot->state.kind == RQL_STATE_COUNT;
	return scan->operands[slot->operand].source.kind == RQL_SOURCE_COLUMN && slot->state.kind != RQL_STATE_SUM &&
	       slot->state.kind != RQL_STATE_SUM_WIDE && slot->state.kind != RQL_STATE_SUM_REAL;
}

bool rql_scan_may_know(const struct rql_scan *scan)
{
	bool may = scan->layout.scalar && !scan->keyed_count && scan->layout.row_words <= RQL_SCAN_KNOWN_WORDS;
	for (uint32_t s = 0; s < scan->slot_count && may; s++)
		may = may_know(scan, &scan->slots[s]);
	return may;
}

/* The descriptor has 0.0 for -0.0 and one NaN for all: which of them a column holds only the rows say. */
static bool real_extreme(uint64_t bits, uint64_t *word)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	*word = bits;
	return value == value && value != 0;
}

/* NULL's code is the last one, so that it hides the greatest value. */
static bool code_extreme(const struct rql_store_view *view, const struct rql_store_block *block, bool max, uint64_t *word)
{
	uint64_t code = max ? block->greatest[0] : block->least[0];
	if (max && block->nulls)
		return false;
	*word = view->translate ? view->translate[code] : code;
	return true;
}

/* Of a block with values. */
static bool extreme(const struct rql_store_view *view, const struct rql_store_block *block, enum rql_state_kind kind,
                    uint64_t *word)
{
	bool max = kind == RQL_STATE_MAX || kind == RQL_STATE_MAX_WIDE || kind == RQL_STATE_MAX_REAL;
	const uint64_t *value = max ? block->greatest : block->least;
	if (view->kind == RQL_STORE_REAL)
		return real_extreme(value[0], word);
	if (view->kind == RQL_STORE_CODED)
		return code_extreme(view, block, max, word);
	memcpy(word, value, rql_state_words(kind) * sizeof *word);
	return true;
}

bool rql_scan_add_known(struct rql_scan_worker *w)
{
	const struct rql_scan *scan = w->scan;
	uint64_t row[RQL_SCAN_KNOWN_WORDS];
	memcpy(row, scan->layout.row_template, scan->layout.row_words * sizeof *row);
	row[0] = w->block_rows;
	for (uint32_t s = 0; s < scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &scan->slots[s];
		if (slot->operand == RQL_NONE) {
			row[slot->state.word] = w->block_rows;
			continue;
		}
		const struct rql_store_view *view = &w->segment->columns[scan->operands[slot->operand].source.index];
		const struct rql_store_block *block = &view->blocks[w->block];
		uint64_t valid = (uint64_t)block->rows - block->nulls;
		if (slot->state.kind == RQL_STATE_COUNT)
			row[slot->state.word] = valid;
		else if (valid && !extreme(view, block, slot->state.kind, row + slot->state.word))
			return false;
	}
	return rql_states_add(scan->layout.states, scan->layout.state_count, w->table.rows, row);
}
