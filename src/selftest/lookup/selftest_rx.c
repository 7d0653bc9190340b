/* RX (primitive/rt/rx.h) against loops over all keys: every space, primitive, form of rays and kind of answer;
 * duplicates, misses, extremes, empty sides; probes in another order; lists of hits; refit; what is refused. */
#include "primitive/rt/cgrx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/lookup/selftest_rx.h"

struct rx_check {
	enum rql_key_pattern pattern;
	uint32_t key_bits;
	uint64_t keys, probes, greatest;
	struct rql_key_space space; /* no bits: the lattice of all of the keys' bits, scaled */
	enum rql_rx_primitive primitive;
	bool sorted, compact;
	uint32_t parts;
	bool all; /* ways, and not some of them */
};

struct rx_world {
	struct rql_rx_world w; /* first */
	const struct rx_check *check;
	struct rql_rx *rx;
	struct rql_rx_lookup lookup;
};

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static rql_status make_rx(struct rx_world *x, struct rql_error *err)
{
	const struct rx_check *k = x->check;
	struct rql_rx_spec spec = {.key_bits = k->key_bits,
	                           .count = k->keys,
	                           .keys = x->w.keys_on,
	                           .base = x->w.low,
	                           .last = x->w.high,
	                           .space = k->space,
	                           .primitive = k->primitive,
	                           .compact = k->compact,
	                           .sorted = k->sorted,
	                           .parts = k->parts};
	if (!spec.space.bits[0])
		spec.space = rql_key_space_lattice(k->key_bits, true);
	return rql_rx_build(&spec, NULL, &x->rx, err);
}

/* Answers go to poisoned memory. */
static rql_status make_lookup(struct rx_world *x, struct rql_error *err)
{
	struct rql_rx_lookup *l = &x->lookup;
	const uint64_t n = x->w.probes;
	*l = (struct rql_rx_lookup){.rx = x->rx, .count = n, .points = x->w.points_on, .value_bits = 32,
	                            .value_signed = true, .values = x->w.values_on};
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "rows of an RX", &l->rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "counts of an RX", &l->counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 8, NULL, "sums of an RX", &l->sums.buffer, err));
	return rql_selftest_buffer(x->w.t, RQL_RX_STATE_WORDS * 8, NULL, "state of an RX", &l->state.buffer, err);
}

static rql_status run(struct rx_world *x, const struct rql_rx_lookup *l, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_selftest_record(x->w.t, &c, err));
	RQL_TRY(rql_record_rx(c, l, err));
	return rql_selftest_execute(x->w.t, err);
}

/* More lines than a probe may have rays: such probes have no answer, and are counted. */
static bool is_refused(const struct rx_world *x, uint64_t i)
{
	uint64_t low = x->w.point[i], high = x->w.end[i], base = x->w.low;
	if (!x->lookup.ends.buffer || low > high || high < base || low > x->w.high)
		return false;
	low = low < base ? 0 : low - base;
	high = high > x->w.high ? x->w.high - base : high - base;
	return rql_key_ray_count(&x->rx->spec.space, low, high) > RQL_RX_LINES;
}

/* Of FIRST any row of the least key will do: its count is then 1, its sum the row's value. */
static void want_first(struct rx_world *x)
{
	for (uint64_t i = 0; i < x->w.probes; i++) {
		uint32_t got = x->w.got32[i], least = x->w.least_row[i];
		if (least != RQL_RX_WORLD_NO_ROW && got < x->w.keys && x->w.key[got] == x->w.key[least])
			least = got;
		x->w.row[i] = least;
		x->w.count[i] = least != RQL_RX_WORLD_NO_ROW;
		x->w.sum[i] = x->w.count[i] ? (uint64_t)(int64_t)x->w.value[least] : 0;
	}
}

static rql_status compare(struct rx_world *x, const char *what, struct rql_error *err)
{
	const struct rql_rx_lookup *l = &x->lookup;
	uint64_t refused = 0, state[RQL_RX_STATE_WORDS], n = x->w.probes;
	RQL_TRY(rql_buffer_download(l->rows.buffer, 0, x->w.got32, n * 4, err));
	RQL_TRY(rql_buffer_download(l->counts.buffer, 0, x->w.got_count, n * 4, err));
	RQL_TRY(rql_buffer_download(l->sums.buffer, 0, x->w.got_sum, n * 8, err));
	RQL_TRY(rql_buffer_download(l->state.buffer, 0, state, sizeof(state), err));
	if (l->hits == RQL_RX_FIRST)
		want_first(x);
	for (uint64_t i = 0; i < n; i++)
		if (is_refused(x, i)) {
			refused++;
			x->w.row[i] = x->w.got32[i];
			x->w.count[i] = x->w.got_count[i];
			x->w.sum[i] = x->w.got_sum[i];
		}
	if (state[0] != refused)
		return rql_selftest_wrong(err, "%s: %llu probes were refused instead of %llu", what,
		                          (unsigned long long)state[0], (unsigned long long)refused);
	RQL_TRY(rql_selftest_same(x->w.got32, x->w.row, n, 4, what, err));
	RQL_TRY(rql_selftest_same(x->w.got_count, x->w.count, n, 4, what, err));
	return rql_selftest_same(x->w.got_sum, x->w.sum, n, 8, what, err);
}

/* Each way is a pipeline, which takes a driver 0.1 s: RX's own and some that are drawn, unless all are asked for. */
static rql_status check_forms(struct rx_world *x, struct rql_error *err)
{
	struct rql_rx_lookup *l = &x->lookup;
	for (uint32_t how = 0; how < 12; how++) {
		l->form = how % 3;
		l->hits = how / 3 % 2 ? RQL_RX_FIRST : RQL_RX_ALL;
		l->ends = how >= 6 ? x->w.ends_on : (struct rql_span){NULL, 0};
		if (!rql_key_form_fits(&x->rx->spec.space, l->form) || (how >= 6 && l->form == RQL_KEY_PERPENDICULAR))
			continue;
		const bool always = how == 2 || how == 6 + (x->rx->spec.space.stride != 0); /* what RX takes by itself */
		if (!x->w.t->thorough && !x->check->all && !always && rql_selftest_below(x->w.t, 8))
			continue;
		rql_rx_world_want(&x->w, how >= 6);
		RQL_TRY(run(x, l, err));
		char what[120];
		snprintf(what, sizeof(what), "RX of %u bits, space %u %u %u %u, primitive %d, way %u", x->check->key_bits,
		         x->rx->spec.space.bits[0], x->rx->spec.space.bits[1], x->rx->spec.space.bits[2],
		         x->rx->spec.space.stride, (int)x->check->primitive, how);
		RQL_TRY(compare(x, what, err));
	}
	return RQL_OK;
}

static rql_status with_rx(struct rql_selftest *t, const struct rx_check *k,
                          rql_status (*body)(struct rx_world *x, struct rql_error *err), struct rql_error *err)
{
	struct rx_world x = {.w = {.t = t, .pattern = k->pattern, .key_bits = k->key_bits, .keys = k->keys,
	                           .probes = k->probes, .greatest = k->greatest}, .check = k};
	RQL_TRY(rql_rx_world_make(&x.w, err));
	RQL_TRY(make_rx(&x, err));
	rql_status status = make_lookup(&x, err);
	if (status == RQL_OK)
		status = body(&x, err);
	rql_rx_free(x.rx);
	rql_selftest_drop(t);
	return status;
}

#define BITS22 ((UINT64_C(1) << 22) - 1)
static const struct rx_check lattice_checks[] = {
	{RQL_KEYS_SPARSE, 32, 300, 80, BITS22, {.bits = {22, 0, 0}}, RQL_RX_TRIANGLES, false, true, 0, false}, /* naive */
	{RQL_KEYS_SPARSE, 32, 300, 80, 0, {.bits = {0}}, RQL_RX_TRIANGLES, true, true, 3, true},
	{RQL_KEYS_SPARSE, 64, 300, 80, 0, {.bits = {22, 22, 20}}, RQL_RX_TRIANGLES, true, false, 0, false},
	{RQL_KEYS_DENSE, 64, 400, 80, 0, {.bits = {3, 5, 4}}, RQL_RX_TRIANGLES, true, false, 2, false},
	{RQL_KEYS_DUPLICATES, 32, 300, 60, 0, {.bits = {11, 11, 10}}, RQL_RX_TRIANGLES, false, false, 0, false},
	{RQL_KEYS_ENDS, 64, 120, 60, 0, {.bits = {20, 22, 22}}, RQL_RX_TRIANGLES, true, true, 0, false},
	{RQL_KEYS_EQUAL, 32, 300, 60, 0, {.bits = {0}}, RQL_RX_TRIANGLES, false, true, 0, false},
	{RQL_KEYS_SPARSE, 64, 1, 60, 0, {.bits = {0}}, RQL_RX_TRIANGLES, true, false, 0, false},
	{RQL_KEYS_SPARSE, 32, 0, 60, 0, {.bits = {0}}, RQL_RX_TRIANGLES, true, false, 0, false},
	{RQL_KEYS_DENSE, 32, 100, 0, 0, {.bits = {0}}, RQL_RX_TRIANGLES, true, false, 0, false},
};
static const struct rx_check box_checks[] = {
	{RQL_KEYS_SPARSE, 32, 300, 80, BITS22, {.bits = {22, 0, 0}}, RQL_RX_BOXES, true, true, 0, false},
	{RQL_KEYS_DENSE, 64, 400, 80, 0, {.bits = {3, 5, 4}}, RQL_RX_BOXES, true, false, 2, false},
	{RQL_KEYS_DUPLICATES, 32, 300, 60, 0, {.bits = {0}}, RQL_RX_BOXES, false, false, 0, false},
	{RQL_KEYS_ENDS, 64, 120, 60, 0, {.bits = {22, 22, 20}}, RQL_RX_BOXES, true, true, 0, false},
	{RQL_KEYS_SPARSE, 32, 300, 80, 0x3f7fff, {.bits = {22}, .stride = 8}, RQL_RX_BOXES, true, false, 0, false},
	{RQL_KEYS_DENSE, 32, 400, 80, 0, {.bits = {3, 5, 4}}, RQL_RX_SPHERES, true, false, 0, false},
	{RQL_KEYS_SPARSE, 64, 300, 80, 0, {.bits = {0}}, RQL_RX_SPHERES, false, true, 0, false},
	{RQL_KEYS_DUPLICATES, 64, 300, 60, 0, {.bits = {0}}, RQL_RX_SPHERES, true, false, 2, false},
};
static const struct rx_check extended_checks[] = {
	{RQL_KEYS_SPARSE, 32, 300, 80, BITS22, {.bits = {22}, .stride = 8}, RQL_RX_TRIANGLES, true, false, 0, false},
	{RQL_KEYS_DENSE, 64, 400, 80, 0, {.bits = {24}, .stride = 6}, RQL_RX_TRIANGLES, true, true, 2, false},
	{RQL_KEYS_DUPLICATES, 32, 300, 60, 0, {.bits = {22}, .stride = 8}, RQL_RX_TRIANGLES, true, false, 0, false},
};

static rql_status check_each(struct rql_selftest *t, const struct rx_check *checks, uint32_t count,
                             struct rql_error *err)
{
	for (uint32_t i = 0; i < count; i++)
		RQL_TRY(with_rx(t, &checks[i], check_forms, err));
	return RQL_OK;
}

#define EACH(checks) check_each(t, checks, sizeof(checks) / sizeof(*(checks)), err)
static rql_status test_lattice(struct rql_selftest *t, struct rql_error *err)
{
	return EACH(lattice_checks);
}

static rql_status test_boxes(struct rql_selftest *t, struct rql_error *err)
{
	return EACH(box_checks);
}

static rql_status test_extended(struct rql_selftest *t, struct rql_error *err)
{
	return EACH(extended_checks);
}

/* ---- lists ---- */

/* The pairs that were put out, each of which must be one, and there only once. */
static rql_status check_pairs(struct rx_world *x, const uint32_t *rows, const uint32_t *probes, uint64_t count,
                              struct rql_error *err)
{
	uint8_t *seen;
	RQL_TRY(rql_selftest_alloc(x->w.t, x->w.keys * x->w.probes + 1, 1, &seen, err));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t row = rows[i], probe = probes[i];
		if (row >= x->w.keys || probe >= x->w.probes || x->w.key[row] < x->w.point[probe] ||
		    x->w.key[row] > x->w.end[probe] || seen[row * x->w.probes + probe]++)
			return rql_selftest_wrong(err, "pair %llu of a list is row %llu, probe %llu", (unsigned long long)i,
			                          (unsigned long long)row, (unsigned long long)probe);
	}
	return RQL_OK;
}

/* Counts, their prefix sums on the CPU, the list; the capacity is a few too small the second time. */
static rql_status check_list(struct rx_world *x, struct rql_error *err)
{
	struct rql_rx_lookup *l = &x->lookup, list;
	uint64_t total = 0, *offsets = x->w.got_sum;
	uint32_t *rows, *probes;
	l->ends = x->w.ends_on;
	l->sums.buffer = NULL;
	RQL_TRY(run(x, l, err));
	RQL_TRY(rql_buffer_download(l->counts.buffer, 0, x->w.got_count, x->w.probes * 4, err));
	for (uint64_t i = 0; i < x->w.probes; total += x->w.got_count[i++])
		offsets[i] = total;
	list = *l;
	list.rows.buffer = list.counts.buffer = NULL;
	RQL_TRY(rql_selftest_buffer(x->w.t, x->w.probes * 8, offsets, "places of pairs", &list.offsets.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, total * 4, NULL, "rows of pairs", &list.list_rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, total * 4, NULL, "probes of pairs", &list.list_probes.buffer, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, total, 4, &rows, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, total, 4, &probes, err));
	for (uint64_t less = 0; less < 8; less += 7) {
		list.capacity = total > less ? total - less : 0;
		RQL_TRY(run(x, &list, err));
		RQL_TRY(rql_buffer_download(list.list_rows.buffer, 0, rows, list.capacity * 4, err));
		RQL_TRY(rql_buffer_download(list.list_probes.buffer, 0, probes, list.capacity * 4, err));
		RQL_TRY(check_pairs(x, rows, probes, list.capacity, err));
	}
	return RQL_OK;
}

static rql_status test_list(struct rql_selftest *t, struct rql_error *err)
{
	static const struct rx_check checks[] = {
		{RQL_KEYS_DUPLICATES, 32, 400, 100, 0, {.bits = {0}}, RQL_RX_TRIANGLES, true, false, 0, false},
		{RQL_KEYS_DENSE, 64, 400, 100, 0, {.bits = {4, 4, 4}}, RQL_RX_BOXES, false, false, 0, false},
	};
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		RQL_TRY(with_rx(t, &checks[i], check_list, err));
	return RQL_OK;
}

/* ---- bits ---- */

/* Keys ascend and their rows are given: 3 i + 1 of row i. Bits that were set stay. */
static rql_status check_bits(struct rql_selftest *t, bool coarse, struct rql_error *err)
{
	struct rql_rx_world w = {.t = t, .pattern = RQL_KEYS_DUPLICATES, .key_bits = 32, .keys = 300, .probes = 20};
	const uint64_t words = (3 * w.keys + 1 + 31) / 32;
	struct rql_span rows = {NULL, 0}, bits = {NULL, 0}, state = {NULL, 0};
	struct rql_rx *rx = NULL;
	struct rql_cgrx *cgrx = NULL;
	struct rql_commands *c;
	uint32_t *row, *want, *got;
	RQL_TRY(rql_rx_world_make(&w, err));
	qsort(w.key, w.keys, sizeof(*w.key), ascending);
	RQL_TRY(rql_drawn_buffer(t, w.key_bits, w.key, w.keys, &w.keys_on, err));
	RQL_TRY(rql_selftest_alloc(t, w.keys, 4, &row, err));
	RQL_TRY(rql_selftest_alloc(t, words, 4, &want, err));
	RQL_TRY(rql_selftest_alloc(t, words, 4, &got, err));
	for (uint32_t i = 0; i < w.keys; i++)
		row[i] = 3 * i + 1;
	want[0] = got[0] = 1;
	RQL_TRY(rql_selftest_buffer(t, w.keys * 4, row, "rows of keys", &rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, words * 4, got, "bits of rows", &bits.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, RQL_RX_STATE_WORDS * 8, NULL, "a state", &state.buffer, err));
	for (uint64_t p = 4; p < w.probes; p++)
		for (uint32_t i = 0; i < w.keys; i++)
			if (w.key[i] >= w.point[p] && w.key[i] <= w.end[p])
				want[row[i] / 32] |= 1u << row[i] % 32;
	const struct rql_span points = {w.points_on.buffer, 16}, ends = {w.ends_on.buffer, 16};
	const struct rql_key_space space = rql_key_space_lattice(32, true);
	const struct rql_rx_spec fine = {.key_bits = 32, .count = w.keys, .keys = w.keys_on, .rows = rows, .base = w.low,
	                                 .last = w.high, .space = space};
	const struct rql_cgrx_spec rough = {.key_bits = 32, .count = w.keys, .keys = w.keys_on, .rows = rows, .base = w.low,
	                                    .last = w.high, .space = space, .log2_bucket = 3};
	RQL_TRY(coarse ? rql_cgrx_build(&rough, NULL, &cgrx, err) : rql_rx_build(&fine, NULL, &rx, err));
	const struct rql_rx_lookup by_rx = {.rx = rx, .form = RQL_KEY_OFFSET, .count = w.probes - 4, .points = points,
	                                    .ends = ends, .bits = bits, .state = state};
	const struct rql_cgrx_lookup by_cgrx = {.cgrx = cgrx, .count = w.probes - 4, .points = points, .ends = ends,
	                                        .bits = bits, .state = state};
	rql_status status = rql_selftest_record(t, &c, err);
	if (status == RQL_OK)
		status = coarse ? rql_record_cgrx(c, &by_cgrx, err) : rql_record_rx(c, &by_rx, err);
	if (status == RQL_OK)
		status = rql_selftest_execute(t, err);
	rql_rx_free(rx);
	rql_cgrx_free(cgrx);
	if (status == RQL_OK)
		status = rql_buffer_download(bits.buffer, 0, got, words * 4, err);
	return status == RQL_OK ? rql_selftest_same(got, want, words, 4, "bits of rows", err) : status;
}

static rql_status test_bits(struct rql_selftest *t, struct rql_error *err)
{
	RQL_TRY(check_bits(t, false, err));
	rql_selftest_drop(t);
	return check_bits(t, true, err);
}

/* ---- probes in another order, refit, what is refused ---- */

/* Probe i stands at the end minus i, and is the i-th of the batch. */
static rql_status check_places(struct rx_world *x, struct rql_error *err)
{
	const uint64_t n = x->w.probes;
	uint64_t *reversed;
	uint32_t *places;
	RQL_TRY(rql_selftest_alloc(x->w.t, n, 8, &reversed, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, n, 4, &places, err));
	for (uint64_t i = 0; i < n; i++) {
		places[i] = (uint32_t)(n - 1 - i);
		reversed[i] = x->w.point[n - 1 - i];
	}
	RQL_TRY(rql_drawn_buffer(x->w.t, x->w.key_bits, reversed, n, &x->lookup.points, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, places, "places of probes", &x->lookup.places.buffer, err));
	return check_forms(x, err);
}

static rql_status test_places(struct rql_selftest *t, struct rql_error *err)
{
	static const struct rx_check check = {RQL_KEYS_DENSE, 32, 250, 80, 0, {.bits = {5, 5, 4}}, RQL_RX_TRIANGLES,
	                                      true, false, 0, false};
	return with_rx(t, &check, check_places, err);
}

/* Keys move by one or change places, and rows keep their numbers. */
static rql_status test_refit(struct rql_selftest *t, struct rql_error *err)
{
	static const struct rx_check check = {RQL_KEYS_DENSE, 32, 250, 80, 0, {.bits = {5, 5, 4}}, RQL_RX_BOXES,
	                                      false, false, 2, false};
	struct rx_world x = {.w = {.t = t, .pattern = check.pattern, .key_bits = 32, .keys = check.keys,
	                           .probes = check.probes}, .check = &check};
	struct rql_span moved;
	RQL_TRY(rql_rx_world_make(&x.w, err));
	const struct rql_rx_spec spec = {.key_bits = 32, .count = check.keys, .keys = x.w.keys_on, .base = x.w.low,
	                                 .last = x.w.high, .space = check.space, .refit = true, .parts = 2};
	for (uint64_t i = 0; i + 1 < check.keys; i += 2) {
		uint64_t key = x.w.key[i];
		x.w.key[i] = x.w.key[i + 1];
		x.w.key[i + 1] = key;
	}
	RQL_TRY(rql_drawn_buffer(x.w.t, x.w.key_bits, x.w.key, check.keys, &moved, err));
	RQL_TRY(rql_rx_build(&spec, NULL, &x.rx, err));
	rql_status status = rql_rx_refit(x.rx, &moved, err);
	if (status == RQL_OK)
		status = make_lookup(&x, err);
	if (status == RQL_OK)
		status = check_forms(&x, err);
	rql_rx_free(x.rx);
	rql_selftest_drop(t);
	return status;
}

static rql_status test_refused(struct rql_selftest *t, struct rql_error *err)
{
	struct rql_rx_world w = {.t = t, .pattern = RQL_KEYS_ENDS, .key_bits = 32, .keys = 50, .probes = 10};
	struct rql_rx *rx;
	RQL_TRY(rql_rx_world_make(&w, err));
	struct rql_rx_spec spec = {.key_bits = 32, .count = 50, .keys = w.keys_on, .base = w.low, .last = w.high,
	                           .space = {.bits = {22, 9, 0}}};
	if (rql_rx_build(&spec, NULL, &rx, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "keys were taken that the scene does not hold");
	spec.space = rql_key_space_extended(1);
	spec.last = spec.base;
	if (rql_rx_build(&spec, NULL, &rx, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "keys were taken that a device rounds together");
	spec.space = rql_key_space_lattice(32, false);
	spec.last = w.high - 1;
	if (rql_rx_build(&spec, NULL, &rx, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "keys were taken that lie beyond their bounds");
	rql_selftest_drop(t);
	return RQL_OK;
}

#define RT RQL_SELFTEST_UNIT(RQL_UNIT_RT)
const struct rql_selftest_case rql_selftest_rx[] = {
	{"rx.lattice", RT, test_lattice}, {"rx.boxes", RT, test_boxes}, {"rx.extended", RT, test_extended},
	{"rx.list", RT, test_list},       {"rx.bits", RT, test_bits},
	{"rx.places", RT, test_places},   {"rx.refit", RT, test_refit},
	{"rx.refused", RT, test_refused}, {0},
};
