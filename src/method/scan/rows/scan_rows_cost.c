/* What a selection of rows will cost: the filters as those of any scan, then what the order needs, then the outputs of the
 * rows that are wanted. */
#include "method/scan/rows/scan_rows_query.h"

#include <math.h>

/* Memory that was never touched before: a page fault and the zeroing. */
#define FRESH_BYTE_NS 0.25
/* A row sorted: its key written, two to three passes of a radix sort. */
#define SORTED_ROW_NS 16.0
/* A value written where an order wants it, beyond the caches. */
#define SCATTERED_NS 6.0
#define FAR_ROWS 1e5
/* Workers, masks and the batch. */
#define START_NS 5000.0
/* A row that gets into a heap. */
#define HEAPED_ROW_NS 60.0
/* A row of a list counted and put with its block's; a block that has one: its mask made, columns looked up. */
#define MARKED_ROW_NS 4.0
#define MARKED_BLOCK_NS 100.0

static void add_keys(const struct rql_scan_rows *rows, struct rql_scan_effort *effort)
{
	for (uint32_t f = 0; f < rows->field_count; f++)
		rql_scan_effort_source(rows->scan, &rows->scan->operands[rows->fields[f].operand].source, effort);
	effort->work += effort->left * effort->profile->step_ns * (1 + rows->field_count);
}

/* What can fail in rows that are not wanted. */
static void add_checks(const struct rql_scan_rows *rows, struct rql_scan_effort *effort)
{
	for (uint32_t p = 0; p < rows->scan->program_count && rows->checks; p++) {
		const struct rql_source source = {.kind = RQL_SOURCE_PROGRAM, .index = p};
		if (rows->checked[p] && !rows->ordering[p])
			rql_scan_effort_source(rows->scan, &source, effort);
	}
}

/* What the worst kept row lets through: of n rows in random order, N ln(n / N) get in. */
static double heaped_rows(double left, double wanted, double threads)
{
	return left > wanted ? wanted * (1 + log(left / wanted)) * threads : left;
}

/* The first key's packed column is read for it before everything else. */
static void add_top(const struct rql_scan_rows *rows, double wanted, double threads, struct rql_scan_effort *effort)
{
	double left = effort->left, kept = heaped_rows(left, wanted, threads);
	/* Under ROWS the rows of a block are too few for that. */
	bool filtered = rows->fields[0].column != RQL_NONE && !rows->checks && !rows->scan->under;
	effort->work += kept * HEAPED_ROW_NS;
	if (!filtered) {
		add_keys(rows, effort);
		return;
	}
	const struct rql_store_column *column = &rows->scan->snapshot->columns[rows->fields[0].column];
	double bytes = (double)column->bytes / fmax((double)rows->scan->snapshot->rows, 1);
	effort->work += effort->rows * effort->profile->test_ns;
	effort->bytes += effort->rows * bytes;
	effort->left = fmin(kept, left);
	add_keys(rows, effort);
}

/* The outputs of the result's rows. Returns what one thread does alone. */
static double add_outputs(const struct rql_scan_rows *rows, double rows_out, struct rql_scan_effort *effort)
{
	const struct rql_scan_profile *profile = effort->profile;
	double bytes = 0;
	effort->left = rows_out;
	for (uint32_t c = 0; c < rows->output_count; c++) {
		rql_scan_effort_source(rows->scan, &rows->scan->operands[rows->outputs[c].operand].source, effort);
		bytes += rows_out * rows->outputs[c].bytes;
	}
	effort->work += bytes * FRESH_BYTE_NS + rows_out * rows->output_count * profile->value_ns;
	effort->work += fmin(rows_out, effort->rows / RQL_STORE_BLOCK) * rows->output_count * profile->touch_ns;
	if (!rows->field_count)
		return 0;
	effort->work += rows_out * rows->output_count * (rows_out > FAR_ROWS ? SCATTERED_NS : 1);
	return 4 * rows_out; /* places by block */
}

double rql_rows_price_out(const struct rql_scan_rows *rows, double passed)
{
	return fmax(0, fmin(passed - (double)rows->offset, (double)rows->limit));
}

double rql_rows_price_listed(const struct rql_scan_rows *rows, const struct rql_device *cpu,
                             const struct rql_scan_profile *profile, double listed)
{
	double all = (double)rows->scan->snapshot->rows, wanted = fmax((double)rows->wanted, 1);
	struct rql_scan_effort effort = {.rows = all, .left = listed, .profile = profile};
	double serial = START_NS;
	add_checks(rows, &effort);
	effort.work += listed * MARKED_ROW_NS + fmin(listed, all / RQL_STORE_BLOCK) * MARKED_BLOCK_NS;
	if (rows->field_count) {
		add_keys(rows, &effort);
		effort.work += rows->wanted <= RQL_ROWS_TOP
		                   ? heaped_rows(listed, wanted, rql_pool_threads(cpu->pool)) * HEAPED_ROW_NS
		                   : listed * SORTED_ROW_NS;
	}
	serial += add_outputs(rows, rql_rows_price_out(rows, listed), &effort);
	return rql_scan_effort_shared(&effort, cpu) + serial;
}

void rql_scan_rows_price(const struct rql_scan_rows *rows, const struct rql_device *device,
                         const struct rql_scan_profile *profile, struct rql_cost *out)
{
	struct rql_scan_effort effort;
	double share = rql_scan_effort_filters(rows->scan, profile, &effort), passed = effort.left;
	double wanted = (double)rows->wanted, threads = rql_pool_threads(device->pool), serial = START_NS;
	double rows_out = rql_rows_price_out(rows, passed);
	add_checks(rows, &effort);
	if (!rows->field_count && wanted < passed) { /* a limit is reached early */
		double part = wanted / passed;
		effort.work *= part;
		effort.bytes *= part;
		effort.rows *= part;
	} else if (rows->field_count && rows->wanted <= RQL_ROWS_TOP) {
		add_top(rows, fmax(wanted, 1), threads, &effort);
	} else if (rows->field_count) {
		add_keys(rows, &effort);
		effort.work += passed * SORTED_ROW_NS;
	}
	serial += add_outputs(rows, rows_out, &effort);
	*out = (struct rql_cost){
		.run_ns = rql_scan_effort_shared(&effort, device) + serial,
		.rows_out = rows_out,
		.device_bytes = rows->scan->snapshot->bytes,
		.cells = passed,
		.runs = rows->scan->under_blocks * share,
		.bytes = effort.bytes,
	};
}
