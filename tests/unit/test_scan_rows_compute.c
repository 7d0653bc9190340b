/* Selections of rows whose conditions a Vulkan device tests, against a naive oracle (scan_choice.h): random ones; lists that
 * are too short, limits that need more blocks than were expected; bounds of the first rows of an order; several threads;
 * faults, interrupts, limits and expressions that fail. */
#include "scan_choice.h"

#include <pthread.h>

#include "method/scan/rows/scan_rows_query.h"
#include "scan_device.h"

/* A table of each size, and one whose requests are bounded and listed. */
static const uint64_t seeds[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 24};
#define CASES (SLOW ? 8u : is_long() ? 40u : sizeof seeds / sizeof *seeds)

static const struct rql_method *const method = &rql_method_scan_compute;
static unsigned ran, refused, bounded, listed_fewer;

static void open_arena(struct rql_arena **arena)
{
	*arena = need(rql_arena_new());
}

/* One run, held against the oracle; who interferes with sizes comes back to the same rows. */
static void run_checked(struct rql_prepared *p, unsigned flags, const struct oracle *o)
{
	struct rql_error err = {0};
	struct rql_port answer = {0};
	struct rql_arena *arena;
	open_arena(&arena);
	ok(method->run(p, gpu, &(struct rql_run){.flags = flags, .arena = arena}, &answer, &err), &err);
	assert_int_equal(answer.kind, RQL_PORT_BATCH);
	check_batch(o, answer.batch);
	assert_int_equal(answer.group_count, o->count);
	assert_true(answer.cells_covered <= answer.cells_read);
	assert_int_equal(answer.pass_count > 0, (flags & RQL_RUN_TIMED) && answer.runs);
	rql_batch_release(answer.batch);
	rql_arena_free(arena);
}

static uint64_t passing(const struct choice *c, const struct table *t)
{
	uint64_t count = 0;
	for (uint32_t r = 0; r < t->rows; r++)
		count += passes(&c->q, t, r);
	return count;
}

static void note_list(const struct rql_prepared *p, uint64_t passed)
{
	const struct rql_scan_context *x = (const struct rql_scan_context *)p->stage.contexts;
	if (!x)
		return;
	uint64_t found = ((const uint64_t *)x->result->map)[RQL_SCAN_STATE_FOUND];
	assert_true(found <= passed && found <= x->capacity);
	bounded += p->bound_rows > 0;
	listed_fewer += p->bound_rows > 0 && found < passed;
}

/* False: the device does not take it, and says why. */
static bool compare_choice(const struct choice *c, const struct table *t)
{
	struct rql_error err = {0};
	struct rql_prepared *p = NULL;
	struct rql_cost cost;
	struct oracle o;
	const char *why = NULL;
	if (method->offer(&c->request, gpu, &why) == RQL_OFFER_NO) {
		assert_non_null(why);
		refused++;
		return false;
	}
	expect(&o, c, t);
	/* Half of them find what the ones before have left on the device. */
	if (roll(2))
		rql_placements_evict(gpu, UINT64_MAX, UINT64_MAX);
	const uint64_t kept = rql_placements_bytes(gpu, false);
	ok(method->prepare(&c->request, gpu, &p, &err), &err);
	assert_true(method->bytes(p) > 0);
	for (unsigned again = 0; again < 2; again++) {
		method->price(p, gpu, &cost);
		assert_true(cost.run_ns >= 0 && isfinite(cost.run_ns) && isfinite(cost.setup_ns) && isfinite(cost.transfer_ns));
		assert_true(cost.rows_out >= 0 && cost.rows_out <= (double)c->request.limit && isfinite(cost.bytes));
		run_checked(p, again ? RQL_RUN_TIMED : 0, &o);
	}
	note_list(p, passing(c, t));
	/* Room for one row and, as the rows stand, one block. */
	p->capacity = 1;
	p->items = c->request.order_count || !p->items ? p->items : 1;
	run_checked(p, 0, &o);
	run_checked(p, 0, &o);
	method->price(p, gpu, &cost);
	assert_true(!p->placed || cost.setup_ns == 0);
	assert_true(placed_columns(p->snapshot).bytes + placed_maps(&c->request) - kept + gpu->request_bytes <= cost.device_bytes);
	method->free(p);
	free(o.rows);
	ran++;
	return true;
}

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 65, 1000, 4096, 4097, 9000, 20000, 40000};
	for (uint64_t i = 0; i < CASES; i++) {
		uint64_t seed = is_long() ? i + 1 : seeds[i];
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 11;
		struct table t;
		table_make(&t, sizes[seed % 9]);
		for (unsigned k = 0; k < 4; k++) {
			struct choice c;
			choice_make(&c, &t);
			compare_choice(&c, &t);
			choice_free(&c);
		}
		table_free(&t);
	}
	assert_true(ran > 2 * CASES && (SLOW || refused > 0));
	assert_true(SLOW || (bounded > 0 && listed_fewer > 0));
}

/* ---- one column ---- */

struct single {
	struct rql_output output;
	struct rql_row_order order;
	struct rql_conjunct conjunct;
	struct rql_request request;
};
/* Rows whose value is from least to greatest; as they stand. */
static void single_make(struct single *s, const struct column *c, int64_t least, int64_t greatest)
{
	*s = (struct single){.output = {.type = rql_type_simple(RQL_TYPE_BIGINT)},
	                     .conjunct = {.test = RQL_TEST_IN_RANGE, .least = least, .greatest = greatest}};
	s->request = (struct rql_request){.snapshot = c->snapshot,
	                                  .conjunct_count = 1,
	                                  .conjuncts = &s->conjunct,
	                                  .wants = RQL_PORT_BATCH,
	                                  .output_count = 1,
	                                  .outputs = &s->output,
	                                  .orders = &s->order,
	                                  .limit = ALL};
}

static struct rql_prepared *single_prepare(const struct single *s)
{
	struct rql_prepared *p = NULL;
	struct rql_error err = {0};
	ok(method->prepare(&s->request, gpu, &p, &err), &err);
	return p;
}

static rql_status single_run(struct rql_prepared *p, struct rql_progress *progress, struct rql_batch **batch,
                             struct rql_port *answer, struct rql_error *err)
{
	struct rql_arena *arena;
	open_arena(&arena);
	rql_status status = method->run(p, gpu, &(struct rql_run){.arena = arena, .progress = progress}, answer, err);
	*batch = status == RQL_OK ? answer->batch : NULL;
	rql_arena_free(arena);
	return status;
}

static int64_t value_at(const struct rql_batch *batch, uint64_t row)
{
	return (int64_t)rql_column_get(&batch->columns[0], row).integer;
}

#define ROWS 300000u
static int64_t *make_values(void)
{
	int64_t *values = need(calloc(ROWS, sizeof(*values)));
	for (uint32_t i = 0; i < ROWS; i++)
		values[i] = i * INT64_C(7919) % 100003;
	return values;
}

/* What nobody expected: rows that the sample has not seen, all in the last blocks, more of them than there is room for. */
static void test_overflow(void **state)
{
	(void)state;
	struct rql_error err = {0};
	int64_t *values = need(calloc(ROWS, sizeof(*values)));
	for (uint32_t i = 0; i < ROWS; i++) /* in every block, or its zone map would say so */
		values[i] = i % 4096 < 2 ? 2 * (int64_t)(i % 2) : i < 150000 ? 0 : 1;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	for (unsigned limited = 0; limited < 3; limited++) {
		struct single s;
		struct rql_batch *batch;
		struct rql_port answer;
		single_make(&s, &c, 1, 1);
		s.request.limit = limited == 0 ? ALL : limited == 1 ? 10 : 40000;
		s.request.offset = limited == 2 ? 100000 : 0;
		struct rql_prepared *p = single_prepare(&s);
		for (unsigned again = 0; again < 3; again++) {
			/* As if next to nothing had been expected. A first run chooses the capacity itself, when it has placed. */
			p->capacity = again == 1 ? 3 : p->capacity;
			ok(single_run(p, NULL, &batch, &answer, &err), &err);
			uint64_t want = limited == 1 ? 10 : 0;
			for (uint32_t i = 0; i < ROWS && limited != 1; i++)
				want += values[i] == 1;
			want = limited == 2 ? (want - 100000 < 40000 ? want - 100000 : 40000) : want;
			assert_int_equal(batch->rows, want);
			for (uint64_t r = 0; r < batch->rows; r++)
				assert_int_equal(value_at(batch, r), 1);
			rql_batch_release(batch);
		}
		assert_true(p->capacity >= (limited == 1 ? 10 : 100000));
		method->free(p);
	}
	column_free(&c);
	free(values);
}

/* More blocks than are sampled, and rows only where no sample was: what is expected is nothing, what is found is all. */
static void test_unsampled(void **state)
{
	(void)state;
	enum { BLOCKS = 700, SAMPLED = 512 }; /* scan_sample.c's SAMPLED_MAPS */
	struct rql_error err = {0};
	const uint32_t rows = BLOCKS * RQL_STORE_BLOCK;
	int64_t *values = need(calloc(rows, sizeof(*values)));
	bool sampled[BLOCKS] = {false};
	uint64_t want = 0;
	for (uint32_t s = 0; s < SAMPLED; s++)
		sampled[(2 * s + 1) * BLOCKS / (2 * SAMPLED)] = true;
	for (uint32_t b = 0; b < BLOCKS; b++)
		if (!sampled[b])
			values[b * RQL_STORE_BLOCK + b] = 1 + (int64_t)want++;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
	assert_int_equal(c.snapshot->blocks, BLOCKS);
	for (unsigned form = 0; form < 3; form++) {
		struct single s;
		struct rql_batch *batch;
		struct rql_port answer;
		single_make(&s, &c, 1, rows);
		s.request.order_count = form == 1;
		s.order.descending = true;
		s.request.limit = form == 2 ? 5 : ALL;
		s.request.offset = form == 2 ? want - 4 : 0;
		struct rql_prepared *p = single_prepare(&s);
		for (unsigned again = 0; again < 2; again++) {
			ok(single_run(p, NULL, &batch, &answer, &err), &err);
			assert_int_equal(batch->rows, form == 2 ? 4 : want);
			for (uint64_t r = 0; r < batch->rows; r++)
				assert_int_equal(value_at(batch, r), form == 0 ? r + 1 : form == 1 ? want - r : want - 3 + r);
			rql_batch_release(batch);
		}
		method->free(p);
	}
	column_free(&c);
	free(values);
}

/* A limit in table order: few blocks are read; where they have too little, more of them. */
static void test_limit(void **state)
{
	(void)state;
	struct rql_error err = {0};
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct single s;
	struct rql_batch *batch;
	struct rql_port answer;
	single_make(&s, &c, 0, 90000);
	s.request.limit = 5;
	s.request.offset = 3;
	struct rql_prepared *p = single_prepare(&s);
	ok(single_run(p, NULL, &batch, &answer, &err), &err);
	assert_int_equal(batch->rows, 5);
	assert_true(answer.runs < c.snapshot->blocks && answer.cells_read < ROWS);
	for (uint32_t i = 0, seen = 0; seen < 8; i++)
		if (values[i] <= 90000 && seen++ >= 3)
			assert_int_equal(value_at(batch, seen - 4), values[i]);
	rql_batch_release(batch);
	method->free(p);
	/* Beyond the end, and nothing. */
	for (unsigned zero = 0; zero < 2; zero++) {
		s.request.limit = zero ? 0 : 5;
		s.request.offset = zero ? 0 : ROWS + 7;
		p = single_prepare(&s);
		ok(single_run(p, NULL, &batch, &answer, &err), &err);
		assert_int_equal(batch->rows, 0);
		assert_int_equal(p->placed, !zero); /* no row needs no device */
		rql_batch_release(batch);
		method->free(p);
	}
	column_free(&c);
	free(values);
}

/* The first rows of an order: the list has hardly more than them, whatever passes. */
static void test_bound(void **state)
{
	(void)state;
	struct rql_error err = {0};
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	for (unsigned descending = 0; descending < 2; descending++)
		for (unsigned filtered = 0; filtered < 2; filtered++) {
			struct single s;
			struct rql_batch *batch;
			struct rql_port answer;
			single_make(&s, &c, 100, 99000);
			s.request.conjunct_count = filtered;
			s.request.order_count = 1;
			s.request.limit = 20;
			s.order.descending = descending;
			struct rql_prepared *p = single_prepare(&s);
			assert_int_equal(p->bound_step, filtered);
			for (unsigned again = 0; again < 2; again++) {
				ok(single_run(p, NULL, &batch, &answer, &err), &err);
				assert_int_equal(batch->rows, 20);
				/* Every value comes three times, but for one or two that come twice. */
				int64_t end = descending ? (filtered ? 99000 : 100002) : filtered ? 100 : 0;
				for (uint32_t r = 0; r < 20; r++) {
					int64_t off = descending ? end - value_at(batch, r) : value_at(batch, r) - end;
					assert_true(off >= r / 3 && off <= r / 2);
				}
				rql_batch_release(batch);
				assert_true(answer.cells_covered < 3000);
			}
			assert_int_equal(p->bound_step, RQL_NONE);
			assert_true(p->bound_rows > 0);
			method->free(p);
		}
	column_free(&c);
	free(values);
}

static struct rql_cost price_of(const struct single *s)
{
	struct rql_prepared *p = single_prepare(s);
	struct rql_cost cost;
	method->price(p, gpu, &cost);
	method->free(p);
	return cost;
}

/* More rows cost more; a limit, and a bound for the first key, less; and what is expected to pass is the condition's
 * matter alone. */
static void test_prices(void **state)
{
	(void)state;
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct single s;
	single_make(&s, &c, 0, 1000);
	struct rql_cost few = price_of(&s);
	single_make(&s, &c, 0, 50000);
	struct rql_cost many = price_of(&s);
	assert_true(few.rows_out < many.rows_out && few.cells < many.cells);
	assert_true(few.run_ns < many.run_ns && few.transfer_ns < many.transfer_ns);
	s.request.limit = 10;
	struct rql_cost limited = price_of(&s);
	assert_true(limited.cells == many.cells && limited.rows_out == 10);
	assert_true(limited.run_ns < many.run_ns && limited.transfer_ns < many.transfer_ns && limited.runs < many.runs);
	s.request.order_count = 1;
	struct rql_cost bounded_cost = price_of(&s);
	assert_true(bounded_cost.cells == many.cells && bounded_cost.rows_out == 10 && bounded_cost.runs == many.runs);
	assert_true(bounded_cost.run_ns < many.run_ns && bounded_cost.transfer_ns < many.transfer_ns);
	s.request.limit = RQL_ROWS_TOP + 1; /* too many for that */
	struct rql_cost sorted = price_of(&s);
	assert_true(sorted.transfer_ns > bounded_cost.transfer_ns);
	column_free(&c);
	free(values);
}

/* ---- several threads ---- */

struct runner {
	struct rql_prepared *p;
	uint64_t rows;
	bool same;
};
static void *run_often(void *state)
{
	struct runner *r = state;
	r->same = true;
	for (unsigned i = 0; i < 12; i++) {
		struct rql_batch *batch;
		struct rql_port answer;
		rql_status status = single_run(r->p, NULL, &batch, &answer, NULL);
		r->same = r->same && status == RQL_OK && batch->rows == r->rows && value_at(batch, 0) == 0;
		rql_batch_release(batch);
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct single s;
	struct runner runners[4];
	pthread_t threads[4];
	single_make(&s, &c, 0, 500);
	struct rql_prepared *p = single_prepare(&s);
	uint64_t want = 0;
	for (uint32_t i = 0; i < ROWS; i++)
		want += values[i] <= 500;
	runners[0] = (struct runner){.p = p, .rows = want};
	(void)run_often(&runners[0]); /* placed, which chooses a capacity */
	assert_true(runners[0].same && want > 5);
	p->capacity = 5; /* all of them find it too small */
	for (unsigned i = 0; i < 4; i++) {
		runners[i] = (struct runner){.p = p, .rows = want};
		assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(runners[i].same);
	}
	method->free(p);
	column_free(&c);
	free(values);
}

/* ---- what goes wrong ---- */

/* Every call to the device fails once, in a first run and in one that finds all in place: no rows, and the next run has
 * them. */
static void test_faults(void **state)
{
	(void)state;
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct single s;
	struct rql_batch *batch;
	struct rql_port answer;
	single_make(&s, &c, 0, 50000);
	for (unsigned form = 0; form < 2 * RQL_FAULT_LOST; form++) {
		const unsigned kind = form / 2, placed = form % 2;
		unsigned struck = 0;
		for (unsigned nth = 1, last = 0; !last; nth++) {
			struct rql_error err = {0};
			struct rql_prepared *p = single_prepare(&s);
			if (placed) { /* then a list in the device's memory, which is downloaded */
				ok(single_run(p, NULL, &batch, &answer, &err), &err);
				rql_batch_release(batch);
				p->capacity = RQL_SCAN_DIRECT_BYTES;
			}
			ok(rql_fault_set(gpu, (enum rql_fault_kind)kind, nth, &err), &err);
			rql_status status = single_run(p, NULL, &batch, &answer, &err);
			bool has = rql_fault_struck(gpu);
			rql_fault_remove(gpu);
			assert_int_equal(status == RQL_OK, !has);
			assert_true(!has || status == RQL_ERROR_LIMIT || status == RQL_ERROR_DEVICE);
			assert_int_equal(batch == NULL, has);
			rql_batch_release(batch);
			rql_error_clear(&err);
			ok(single_run(p, NULL, &batch, &answer, &err), &err);
			assert_int_equal(batch->rows, answer.cells_covered);
			assert_true(batch->rows > ROWS / 3 && batch->rows < ROWS);
			assert_true(!placed || !rql_scan_list_direct(p->capacity));
			rql_batch_release(batch);
			method->free(p);
			struck += has;
			last = !has;
		}
		assert_true(struck > 0);
	}
	column_free(&c);
	free(values);
}

/* The host's memory limit is the host's matter: no mark for the device. */
static void test_limits(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_budget budget = {.limit = 1 << 18};
	struct rql_progress progress = {.cancel = true};
	int64_t *values = make_values();
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct rql_batch *batch;
	struct rql_port answer;
	for (unsigned form = 0; form < 3; form++) { /* as they stand, the first ones, and few behind a long list */
		struct single s;
		single_make(&s, &c, 0, 90000);
		s.request.budget = &budget;
		s.request.order_count = form == 1;
		s.request.limit = form == 0 ? ALL : form == 1 ? 30000 : 10;
		s.request.offset = form == 2 ? 200000 : 0;
		struct rql_prepared *p = single_prepare(&s);
		assert_int_equal(single_run(p, NULL, &batch, &answer, &err), RQL_ERROR_UNSUPPORTED);
		assert_int_equal(err.status, RQL_ERROR_UNSUPPORTED);
		assert_non_null(strstr(rql_error_message(&err), "the rows of a query"));
		rql_error_clear(&err);
		assert_int_equal(budget.used, 0);
		assert_int_equal(single_run(p, &progress, &batch, &answer, &err), RQL_ERROR_INTERRUPTED);
		rql_error_clear(&err);
		method->free(p);
	}
	column_free(&c);
	free(values);
}

/* An expression of a condition that fails on the device, and one of an output that fails on the host: DuckDB then says it. */
static void test_errors(void **state)
{
	(void)state;
	struct rql_error err = {0};
	int64_t *values = make_values();
	values[200000] = INT64_MAX;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_program *programs[2] = {NULL};
	for (unsigned is_condition = 0; is_condition < 2; is_condition++) {
		struct rql_builder *b = need(rql_builder_new(arena));
		struct rql_input_spec input = {.type = bigint, .kind = RQL_LANE_I64, .bounds = {1, 0}};
		rql_value_number x = rql_build_input(b, &input), twice = rql_build_arithmetic(b, "+", x, x, bigint, true);
		rql_value_number result = is_condition ? rql_build_compare(b, RQL_STEP_LE, x, twice) : twice;
		ok(rql_builder_finish(b, &result, 1, &programs[is_condition], &err), &err);
	}
	const struct rql_source source = {.kind = RQL_SOURCE_COLUMN};
	const struct rql_row_program bound[2] = {{programs[0], &source}, {programs[1], &source}};
	for (unsigned failing = 0; failing < 3; failing++) {
		struct single s;
		struct rql_batch *batch;
		struct rql_port answer;
		single_make(&s, &c, 0, failing == 2 ? 200000 : INT64_MAX);
		struct rql_conjunct conjuncts[2] = {s.conjunct, {.test = RQL_TEST_IS_TRUE, .index = 1}};
		s.request.program_count = 2;
		s.request.programs = bound;
		s.request.conjuncts = conjuncts;
		s.request.conjunct_count = failing == 0 ? 1 : 2;
		s.output.source = (struct rql_source){.kind = RQL_SOURCE_PROGRAM, .index = 0};
		struct rql_prepared *p = single_prepare(&s);
		rql_status status = single_run(p, NULL, &batch, &answer, &err);
		assert_int_equal(status, failing == 2 ? RQL_OK : RQL_ERROR_HOST);
		rql_error_clear(&err);
		rql_batch_release(batch);
		method->free(p);
	}
	rql_arena_free(arena);
	column_free(&c);
	free(values);
}

static struct rql_program *truth(struct rql_arena *arena)
{
	struct rql_builder *b = need(rql_builder_new(arena));
	struct rql_value yes = {.type = rql_type_simple(RQL_TYPE_BOOLEAN), .integer = 1};
	rql_value_number result = rql_build_constant(b, &yes);
	struct rql_program *program = NULL;
	struct rql_error err = {0};
	ok(rql_builder_finish(b, &result, 1, &program, &err), &err);
	return program;
}

/* The device needs not what only the host reads: outputs of 128 bits, programs that no device runs. What a condition needs
 * it must have, and the reason says what. */
static void test_refusals(void **state)
{
	(void)state;
	const char *why = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	rql_int128 *wide = need(calloc(10000, sizeof(*wide)));
	for (uint32_t i = 0; i < 10000; i++)
		wide[i] = ((rql_int128)i << 80) + i % 7;
	struct column c = column_of(RQL_TYPE_HUGEINT, wide, 16, 10000);
	struct single s;
	single_make(&s, &c, 0, INT64_MAX);
	s.output.type = rql_type_simple(RQL_TYPE_HUGEINT);
	assert_int_equal(method->offer(&s.request, gpu, &why), RQL_OFFER_NO);
	assert_string_equal(why, "a column's values need more than 64 bits");
	/* As an order's first key it has no bound, and then there is nothing to find. */
	s.request.conjunct_count = 0;
	s.request.order_count = 1;
	s.request.limit = 4;
	s.order.descending = true;
	assert_int_equal(method->offer(&s.request, gpu, &why), RQL_OFFER_NO);
	assert_string_equal(why, "no condition drops a row, so there is nothing to find");
	s.conjunct = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE};
	s.request.conjunct_count = 1;
	s.request.program_count = 1;
	const struct rql_row_program program = {.program = truth(arena)};
	s.request.programs = &program;
	assert_int_equal(method->offer(&s.request, gpu, &why), RQL_OFFER_FULL);
	struct rql_error err = {0};
	struct rql_batch *batch;
	struct rql_port answer;
	struct rql_prepared *p = single_prepare(&s);
	ok(single_run(p, NULL, &batch, &answer, &err), &err);
	for (uint32_t r = 0; r < 4; r++)
		assert_true(rql_column_get(&batch->columns[0], r).integer == wide[9999 - r]);
	rql_batch_release(batch);
	method->free(p);
	rql_arena_free(arena);
	column_free(&c);
	free(wide);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overflow), cmocka_unit_test(test_limit),  cmocka_unit_test(test_bound),
		cmocka_unit_test(test_limits),   cmocka_unit_test(test_errors), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_prices),   cmocka_unit_test(test_unsampled),
		cmocka_unit_test(test_threads),  cmocka_unit_test(test_faults), cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
