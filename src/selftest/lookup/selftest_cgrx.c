/* cgRX and the thesis's forms (primitive/rt/cgrx.h) against loops over all keys: buckets of one key to more than there
 * are, with and without markers, spaces of few and of many lines and planes, runs of probes, prefix sums and scans. */
#include "primitive/rt/cgrx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/lookup/selftest_rx.h"

struct cgrx_check {
	enum rql_key_pattern pattern;
	uint32_t key_bits;
	uint64_t keys, probes;
	struct rql_key_space space; /* no bits: the lattice of all of the keys' bits, scaled */
	uint32_t log2_bucket;
	bool lines, sums, compact;
	uint32_t parts, drop;
};

struct cgrx_world {
	struct rql_rx_world w; /* first */
	const struct cgrx_check *check;
	struct rql_cgrx *cgrx;
	struct rql_cgrx_lookup lookup;
	struct rql_span sorted_points, places;
};

static rql_status make_cgrx(struct cgrx_world *x, struct rql_error *err)
{
	const struct cgrx_check *k = x->check;
	struct rql_cgrx_spec spec = {.key_bits = k->key_bits,
	                             .count = k->keys,
	                             .keys = x->w.keys_on,
	                             .base = x->w.low,
	                             .last = x->w.high,
	                             .space = k->space,
	                             .log2_bucket = k->log2_bucket,
	                             .lines = k->lines,
	                             .compact = k->compact,
	                             .parts = k->parts,
	                             .value_bits = 32,
	                             .value_signed = true};
	spec.drop = k->drop;
	if (!spec.space.bits[0] && k->drop)
		rql_cgrx_choose_space(&spec);
	else if (!spec.space.bits[0])
		spec.space = rql_key_space_lattice(k->key_bits, true);
	if (k->sums)
		spec.values = x->w.values_on;
	return rql_cgrx_build(&spec, NULL, &x->cgrx, err);
}

struct ordered {
	uint64_t key;
	uint32_t place;
};

static int by_key(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	return x->key != y->key ? (x->key < y->key ? -1 : 1) : 0;
}

/* Probes ascending, and whose they are. */
static rql_status sort_probes(struct cgrx_world *x, struct rql_error *err)
{
	const uint64_t n = x->w.probes;
	struct ordered *list;
	uint64_t *keys;
	uint32_t *places;
	RQL_TRY(rql_selftest_alloc(x->w.t, n + 1, sizeof(*list), &list, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, n + 1, 8, &keys, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, n + 1, 4, &places, err));
	for (uint64_t i = 0; i < n; i++)
		list[i] = (struct ordered){x->w.point[i], (uint32_t)i};
	qsort(list, n, sizeof(*list), by_key);
	for (uint64_t i = 0; i < n; i++) {
		keys[i] = list[i].key;
		places[i] = list[i].place;
	}
	RQL_TRY(rql_drawn_buffer(x->w.t, x->w.key_bits, keys, n, &x->sorted_points, err));
	return rql_selftest_buffer(x->w.t, n * 4, places, "places of probes", &x->places.buffer, err);
}

static rql_status make_lookup(struct cgrx_world *x, struct rql_error *err)
{
	struct rql_cgrx_lookup *l = &x->lookup;
	const uint64_t n = x->w.probes;
	*l = (struct rql_cgrx_lookup){.cgrx = x->cgrx, .count = n, .value_bits = 32, .value_signed = true,
	                              .values = x->w.values_on};
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "rows of a cgRX", &l->rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "counts of a cgRX", &l->counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 8, NULL, "sums of a cgRX", &l->sums.buffer, err));
	return rql_selftest_buffer(x->w.t, RQL_RX_STATE_WORDS * 8, NULL, "state of a cgRX", &l->state.buffer, err);
}

static rql_status run(struct cgrx_world *x, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_selftest_record(x->w.t, &c, err));
	RQL_TRY(rql_record_cgrx(c, &x->lookup, err));
	return rql_selftest_execute(x->w.t, err);
}

/* Without markers: a range's answer may be refused that would have needed more lines than are allowed. */
static bool may_be_refused(const struct cgrx_world *x, uint64_t i)
{
	uint64_t low = x->w.point[i], high = x->w.end[i], base = x->w.low;
	if (!x->check->lines || !x->lookup.ends.buffer || low > high || high < base || low > x->w.high)
		return false;
	low = low < base ? 0 : low - base;
	high = high > x->w.high ? x->w.high - base : high - base;
	return rql_key_ray_count(&x->cgrx->spec.space, low, high) > RQL_RX_LINES;
}

/* Rays of a probe, at most. */
static uint64_t most_rays(const struct cgrx_world *x)
{
	return x->check->lines ? (x->lookup.ends.buffer ? RQL_RX_LINES : 1) : 3;
}

static rql_status compare(struct cgrx_world *x, const char *what, struct rql_error *err)
{
	const struct rql_cgrx_lookup *l = &x->lookup;
	uint64_t state[RQL_RX_STATE_WORDS], n = x->w.probes, may = 0;
	RQL_TRY(rql_buffer_download(l->rows.buffer, 0, x->w.got32, n * 4, err));
	RQL_TRY(rql_buffer_download(l->counts.buffer, 0, x->w.got_count, n * 4, err));
	RQL_TRY(rql_buffer_download(l->sums.buffer, 0, x->w.got_sum, n * 8, err));
	RQL_TRY(rql_buffer_download(l->state.buffer, 0, state, sizeof(state), err));
	for (uint64_t i = 0; i < n; i++)
		if (may_be_refused(x, i)) {
			may++;
			x->w.least_row[i] = x->w.got32[i];
			x->w.count[i] = x->w.got_count[i];
			x->w.sum[i] = x->w.got_sum[i];
		}
	if (state[0] > may || (l->run == 1 && state[0] != may))
		return rql_selftest_wrong(err, "%s: %llu probes were refused, %llu may be", what, (unsigned long long)state[0],
		                          (unsigned long long)may);
	if (state[1] > most_rays(x) * n)
		return rql_selftest_wrong(err, "%s: %llu rays for %llu probes", what, (unsigned long long)state[1],
		                          (unsigned long long)n);
	RQL_TRY(rql_selftest_same(x->w.got32, x->w.least_row, n, 4, what, err));
	RQL_TRY(rql_selftest_same(x->w.got_count, x->w.count, n, 4, what, err));
	return rql_selftest_same(x->w.got_sum, x->w.sum, n, 8, what, err);
}

/* Points and ranges, as they come and sorted, each by itself and in runs. */
static rql_status check_ways(struct cgrx_world *x, struct rql_error *err)
{
	struct rql_cgrx_lookup *l = &x->lookup;
	/* Runs are another pipeline: of some structures. */
	const uint32_t ways = x->w.t->thorough || x->check->parts || !rql_selftest_below(x->w.t, 3) ? 8 : 4;
	for (uint32_t way = 0; way < ways; way++) {
		const bool ranges = way & 1, sorted = way & 2;
		l->run = way & 4 ? 7 : 1;
		l->tally = true;
		l->ends = ranges ? x->w.ends_on : (struct rql_span){NULL, 0};
		l->points = sorted ? x->sorted_points : x->w.points_on;
		l->places = sorted ? x->places : (struct rql_span){NULL, 0};
		rql_rx_world_want(&x->w, ranges);
		RQL_TRY(run(x, err));
		char what[120];
		snprintf(what, sizeof(what), "cgRX of %u bits, pattern %d, space %u %u %u, buckets 2^%u, way %u",
		         x->check->key_bits, (int)x->check->pattern, x->cgrx->spec.space.bits[0], x->cgrx->spec.space.bits[1],
		         x->cgrx->spec.space.bits[2], x->check->log2_bucket, way);
		RQL_TRY(compare(x, what, err));
	}
	return RQL_OK;
}

static rql_status check_one(struct rql_selftest *t, const struct cgrx_check *k, struct rql_error *err)
{
	struct cgrx_world x = {.w = {.t = t, .pattern = k->pattern, .key_bits = k->key_bits, .keys = k->keys,
	                             .probes = k->probes}, .check = k};
	RQL_TRY(rql_rx_world_make(&x.w, err));
	RQL_TRY(sort_probes(&x, err));
	RQL_TRY(make_cgrx(&x, err));
	rql_status status = make_lookup(&x, err);
	if (status == RQL_OK)
		status = check_ways(&x, err);
	rql_cgrx_free(x.cgrx);
	rql_selftest_drop(t);
	return status;
}

/* Few spaces and sizes: each is some pipelines. */
static const struct cgrx_check bucket_checks[] = {
	{RQL_KEYS_SPARSE, 32, 700, 200, {.bits = {0}}, 3, false, true, true, 0, 0},
	{RQL_KEYS_DUPLICATES, 32, 600, 150, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_EQUAL, 32, 100, 50, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_ENDS, 32, 150, 80, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_DENSE, 32, 5, 60, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_SPARSE, 32, 0, 40, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_DENSE, 32, 50, 0, {.bits = {0}}, 3, false, true, false, 0, 0},
	{RQL_KEYS_SPARSE, 64, 900, 200, {.bits = {22, 22, 20}}, 5, false, false, true, 2, 0}, /* every key in a line of its own */
	{RQL_KEYS_ENDS, 64, 150, 80, {.bits = {22, 22, 20}}, 5, false, false, false, 0, 0},
	{RQL_KEYS_DENSE, 64, 3000, 300, {.bits = {2, 4, 6}}, 2, false, true, false, 0, 0}, /* many planes, of few lines */
	{RQL_KEYS_DUPLICATES, 64, 500, 150, {.bits = {2, 6, 9}}, 2, false, true, false, 3, 0},
	{RQL_KEYS_SPARSE, 64, 900, 200, {.bits = {0}}, 3, false, true, false, 0, 1}, /* drops as many bits as are chosen */
	{RQL_KEYS_ENDS, 64, 150, 80, {.bits = {0}}, 3, false, true, false, 0, 1},
	{RQL_KEYS_DENSE, 64, 3000, 300, {.bits = {2, 4, 2}}, 2, false, true, false, 0, 4}, /* 8 keys in a place */
};
static const struct cgrx_check thesis_checks[] = {
	{RQL_KEYS_DENSE, 32, 900, 200, {.bits = {0}}, 0, true, false, true, 4, 0},
	{RQL_KEYS_DUPLICATES, 32, 600, 150, {.bits = {0}}, 0, true, false, false, 0, 0},
	{RQL_KEYS_EQUAL, 32, 100, 50, {.bits = {0}}, 0, true, false, false, 0, 0},
	{RQL_KEYS_SPARSE, 64, 400, 100, {.bits = {22, 22, 20}}, 0, true, true, false, 0, 0},
	{RQL_KEYS_DENSE, 64, 900, 200, {.bits = {3, 5, 4}}, 0, true, true, false, 0, 0},
	{RQL_KEYS_SPARSE, 64, 400, 100, {.bits = {22, 22, 20}}, 0, false, true, false, 0, 0},
};

static rql_status test_buckets(struct rql_selftest *t, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof(bucket_checks) / sizeof(*bucket_checks); i++)
		RQL_TRY(check_one(t, &bucket_checks[i], err));
	return RQL_OK;
}

static rql_status test_thesis(struct rql_selftest *t, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof(thesis_checks) / sizeof(*thesis_checks); i++)
		RQL_TRY(check_one(t, &thesis_checks[i], err));
	return RQL_OK;
}

/* ---- inverse mapping: the structure has the probes ---- */

static rql_status make_inverse(struct rql_rx_world *w, struct rql_cgrx_inverse *v, struct rql_error *err)
{
	struct ordered *list;
	uint64_t *keys;
	uint32_t *rows;
	RQL_TRY(rql_selftest_alloc(w->t, w->keys + 1, sizeof(*list), &list, err));
	RQL_TRY(rql_selftest_alloc(w->t, w->keys + 1, 8, &keys, err));
	RQL_TRY(rql_selftest_alloc(w->t, w->keys + 1, 4, &rows, err));
	for (uint64_t i = 0; i < w->keys; i++)
		list[i] = (struct ordered){w->key[i], (uint32_t)i};
	qsort(list, w->keys, sizeof(*list), by_key);
	for (uint64_t i = 0; i < w->keys; i++) {
		keys[i] = list[i].key;
		rows[i] = list[i].place;
	}
	*v = (struct rql_cgrx_inverse){.count = w->keys, .value_bits = 32, .value_signed = true, .values = w->values_on,
	                               .value_count = w->keys};
	RQL_TRY(rql_drawn_buffer(w->t, w->key_bits, keys, w->keys, &v->keys, err));
	RQL_TRY(rql_selftest_buffer(w->t, w->keys * 4, rows, "rows of keys", &v->key_rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(w->t, w->probes * 4, NULL, "rows found", &v->rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(w->t, w->probes * 4, NULL, "counts", &v->counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(w->t, w->probes * 8, NULL, "sums", &v->sums.buffer, err));
	return rql_selftest_buffer(w->t, RQL_RX_STATE_WORDS * 8, NULL, "a state", &v->state.buffer, err);
}

static rql_status check_inverse(struct rql_selftest *t, enum rql_key_pattern pattern, uint32_t key_bits, uint64_t keys,
                                uint64_t probes, struct rql_error *err)
{
	struct rql_rx_world w = {.t = t, .pattern = pattern, .key_bits = key_bits, .keys = keys, .probes = probes};
	struct rql_cgrx_inverse v;
	struct rql_cgrx *cgrx;
	struct rql_commands *c;
	RQL_TRY(rql_rx_world_make(&w, err));
	RQL_TRY(make_inverse(&w, &v, err));
	const struct rql_cgrx_spec spec = {.key_bits = key_bits, .count = probes, .keys = w.points_on, .lines = true,
	                                   .last = key_bits == 64 ? UINT64_MAX : UINT32_MAX,
	                                   .space = rql_key_space_lattice(key_bits, true)};
	RQL_TRY(rql_cgrx_build(&spec, NULL, &cgrx, err));
	v.probes = cgrx;
	rql_status status = rql_selftest_record(t, &c, err);
	if (status == RQL_OK)
		status = rql_record_cgrx_inverse(c, &v, err);
	if (status == RQL_OK)
		status = rql_selftest_execute(t, err);
	rql_cgrx_free(cgrx);
	RQL_TRY(status);
	rql_rx_world_want(&w, false);
	RQL_TRY(rql_buffer_download(v.rows.buffer, 0, w.got32, probes * 4, err));
	RQL_TRY(rql_buffer_download(v.counts.buffer, 0, w.got_count, probes * 4, err));
	RQL_TRY(rql_buffer_download(v.sums.buffer, 0, w.got_sum, probes * 8, err));
	RQL_TRY(rql_selftest_same(w.got_count, w.count, probes, 4, "counts of an inverse mapping", err));
	RQL_TRY(rql_selftest_same(w.got_sum, w.sum, probes, 8, "sums of an inverse mapping", err));
	for (uint64_t i = 0; i < probes; i++) /* which of equal keys' rows comes first, the sort has decided */
		if (w.got32[i] < keys && w.count[i] && w.key[w.got32[i]] == w.point[i])
			w.row[i] = w.got32[i];
	RQL_TRY(rql_selftest_same(w.got32, w.row, probes, 4, "rows of an inverse mapping", err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status test_inverse(struct rql_selftest *t, struct rql_error *err)
{
	RQL_TRY(check_inverse(t, RQL_KEYS_DENSE, 32, 900, 200, err));
	RQL_TRY(check_inverse(t, RQL_KEYS_DUPLICATES, 32, 900, 200, err));
	RQL_TRY(check_inverse(t, RQL_KEYS_EQUAL, 32, 300, 50, err));
	RQL_TRY(check_inverse(t, RQL_KEYS_SPARSE, 64, 900, 200, err));
	RQL_TRY(check_inverse(t, RQL_KEYS_ENDS, 64, 300, 60, err));
	return check_inverse(t, RQL_KEYS_SPARSE, 32, 0, 20, err);
}

static rql_status test_refused(struct rql_selftest *t, struct rql_error *err)
{
	struct rql_rx_world w = {.t = t, .pattern = RQL_KEYS_ENDS, .key_bits = 32, .keys = 50, .probes = 10};
	struct rql_cgrx *cgrx;
	RQL_TRY(rql_rx_world_make(&w, err));
	struct rql_cgrx_spec spec = {.key_bits = 32, .count = 50, .keys = w.keys_on, .base = w.low, .last = w.high,
	                             .space = {.bits = {22, 9, 0}}, .log2_bucket = 2};
	if (rql_cgrx_build(&spec, NULL, &cgrx, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "keys were taken that the scene does not hold");
	spec.space = rql_key_space_lattice(32, true);
	spec.last = w.high - 1;
	if (rql_cgrx_build(&spec, NULL, &cgrx, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "keys were taken that lie beyond their bounds");
	rql_selftest_drop(t);
	return RQL_OK;
}

#define RT RQL_SELFTEST_UNIT(RQL_UNIT_RT)
const struct rql_selftest_case rql_selftest_cgrx[] = {
	{"cgrx.buckets", RT, test_buckets},
	{"cgrx.thesis", RT, test_thesis},
	{"cgrx.inverse", RT, test_inverse},
	{"cgrx.refused", RT, test_refused},
	{0},
};
