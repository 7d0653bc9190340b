/* The method on the CPU: what it is asked for, and its price. index_choose.c says which conditions are looked up,
 * index_look.c runs it. */
#include <stdlib.h>
#include "method/index/index_look.h"

struct rql_prepared {
	struct rql_index_choice choice;
};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	bool all = request->conjunct_count > 0;
	const struct rql_conjunct *c = request->conjuncts;
	(void)reason;
	if (request->under.method || device->kind != RQL_DEVICE_CPU)
		return RQL_OFFER_NO;
	if (request->wants == RQL_PORT_SORTED)
		return rql_index_can_order(request) ? RQL_OFFER_FULL : RQL_OFFER_NO;
	for (const struct rql_conjunct *end = c + request->conjunct_count; c < end && all; c++)
		all = rql_index_answers(RQL_INDEX_FORMS_CPU, request, c);
	return all ? RQL_OFFER_FULL : RQL_OFFER_NO;
}

static void free_prepared(struct rql_prepared *p)
{
	if (p)
		rql_index_choice_clear(&p->choice);
	free(p);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	rql_status status = RQL_OK;
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	if (request->wants == RQL_PORT_SORTED)
		rql_index_prepare_order(request, &p->choice);
	else
		status = rql_index_choose(RQL_INDEX_FORMS_CPU, request, device, &p->choice, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

/* ---- its price ---- */
#define RUN_ROW_BYTES 17.0    /* at most */
#define MAKING_ROW_BYTES 32.0 /* beside, while one is made */
#define LOOK_UP_NS 250.0 /* some lines of memory that nobody has read lately */
#define ROW_NS 3.0       /* a bit set; rows of a key lie anywhere */
#define BLOCK_NS 100.0   /* ... in a block that is listed: its bitmap cleared, read, and what the scan does with it */
/* A row of a run that is to be made takes tens of ns. CREATE INDEX has asked for it, so the first query that gains from it
 * bears little of that in its price: else a large index that gave way, or was never made, would not come back. */
#define MAKE_ROW_NS 1.0
#define TEST_ROW_NS 2.0  /* a row decoded and tested */

/* May the runs that are not there be made? Else their rows are tested. */
static bool has_room(const struct rql_index_choice *p)
{
	const struct rql_budget *budget = rql_store_budget(p->snapshot);
	uint64_t limit = budget ? atomic_load(&budget->limit) : 0, used = budget ? atomic_load(&budget->used) : 0;
	return !limit || (double)used + p->missing_rows * (RUN_ROW_BYTES + MAKING_ROW_BYTES) <= (double)limit;
}

static void price(const struct rql_prepared *prepared, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_index_choice *p = &prepared->choice;
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const bool room = has_room(p);
	if (p->sorted) { /* who takes it pays for what is found */
		*out = (struct rql_cost){.rows_out = (double)snapshot->rows};
		return;
	}
	const double each = rql_index_look_ups(p->tests, NULL, p->covered, p->tuple);
	double left = p->found, blocks = p->found + (room ? 0 : p->missing_rows / RQL_STORE_BLOCK);
	blocks = blocks < (double)snapshot->blocks ? blocks : (double)snapshot->blocks;
	(void)device;
	for (uint32_t t = p->covered; t < p->test_count; t++)
		left *= rql_index_guess(&snapshot->columns[p->tests[t].column], &p->tests[t], 1);
	*out = (struct rql_cost){
		.setup_ns = room ? p->missing_rows * MAKE_ROW_NS : 0,
		.run_ns = (p->look_ups + p->missing * each) * LOOK_UP_NS + p->found * ROW_NS +
		          (p->test_count - (p->prefix ? 0 : p->covered)) * blocks * 64 * TEST_ROW_NS + blocks * BLOCK_NS +
		          (room ? 0 : p->missing_rows * TEST_ROW_NS),
		.rows_out = left,
		.counted = p->test_count == p->covered && !p->missing && !p->prefix,
		.runs = blocks,
		.bytes = blocks * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t) + p->found * sizeof(uint32_t),
	};
}

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	return (p->choice.sorted ? rql_index_order : rql_index_look)(&p->choice, device, how, out, err);
}

static uint32_t points_of(const struct rql_prepared *p)
{
	return rql_index_points(&p->choice);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_index_choice_bytes(&p->choice);
}

static uint32_t index_of(const struct rql_prepared *p)
{
	return p->choice.of.number;
}

const struct rql_method rql_method_index_cpu = {
	.name = "index",
	.description = "rows by their keys: sorted, hashed or direct, as CREATE INDEX says",
	.paper = "none: the rivals of RTIndeX (PVLDB 2023) and cgRX",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS | 1u << RQL_PORT_SORTED,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.run = run,
	.points = points_of,
	.index = index_of,
	.free = free_prepared,
	.bytes = bytes,
};
