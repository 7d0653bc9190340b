/* cgRX in nodes (primitive/rt/cgrx_nodes.h) against loops over all rows that are there: rounds of rows that come, go and
 * change their keys; in place and anew; what is refused leaves all as it was. */
#include "primitive/rt/cgrx_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/lookup/selftest_rx.h"

/* What a round does with rows: each is deleted with this chance in 16, and each that is not there inserted. */
enum keys_of_round { AS_DRAWN, ALL_ONE, BEYOND_ALL };
struct round {
	uint32_t deletes, inserts;
	enum keys_of_round keys;
};
struct nodes_check {
	enum rql_key_pattern pattern;
	uint32_t key_bits;
	uint64_t rows, begin, probes; /* begin: rows that are there at first */
	uint32_t log2_bucket, log2_node, chain;
	uint64_t spare;
	bool drop;
	bool bits; /* bitmaps are looked up, too: a pipeline more */
};

struct nodes_world {
	struct rql_rx_world w; /* first */
	const struct nodes_check *check;
	struct rql_cgrx_nodes *nodes;
	struct rql_cgrx_nodes_lookup lookup;
	bool *live;
	struct rql_cgrx_update update;
	uint64_t *keys[2]; /* deleted, inserted */
	uint32_t *rows[2];
	struct rql_span keys_on[2], rows_on[2];
	struct rql_buffer *bits;
	uint32_t in_place, anew;
};

/* ---- the world ---- */

static rql_status alloc(struct nodes_world *x, struct rql_error *err)
{
	struct rql_rx_world *w = &x->w;
	const uint64_t n = w->keys + 1;
	RQL_TRY(rql_selftest_alloc(w->t, n, sizeof(*x->live), &x->live, err));
	w->live = x->live;
	for (uint32_t i = 0; i < 2; i++) {
		RQL_TRY(rql_selftest_alloc(w->t, n, 8, &x->keys[i], err));
		RQL_TRY(rql_selftest_alloc(w->t, n, 4, &x->rows[i], err));
		RQL_TRY(rql_selftest_buffer(w->t, n * w->key_bits / 8, NULL, "keys of an update", &x->keys_on[i].buffer, err));
		RQL_TRY(rql_selftest_buffer(w->t, n * 4, NULL, "rows of an update", &x->rows_on[i].buffer, err));
	}
	return rql_selftest_buffer(w->t, (n + 31) / 32 * 4, NULL, "bits of rows", &x->bits, err);
}

static rql_status make(struct nodes_world *x, struct rql_error *err)
{
	const struct nodes_check *k = x->check;
	struct rql_cgrx_nodes_spec spec = {
		.cgrx = {.key_bits = k->key_bits, .count = k->begin, .keys = x->w.keys_on, .base = x->w.low, .last = x->w.high,
	             .log2_bucket = k->log2_bucket},
		.log2_node = k->log2_node, .chain = k->chain, .spare = k->spare, .version = 1};
	if (k->drop)
		rql_cgrx_choose_space(&spec.cgrx);
	else
		spec.cgrx.space = rql_key_space_lattice(k->key_bits, true);
	for (uint64_t row = 0; row < k->begin; row++)
		x->live[row] = true;
	return rql_cgrx_nodes_build(&spec, NULL, &x->nodes, err);
}

static rql_status make_lookup(struct nodes_world *x, struct rql_error *err)
{
	struct rql_cgrx_nodes_lookup *l = &x->lookup;
	const uint64_t n = x->w.probes;
	*l = (struct rql_cgrx_nodes_lookup){.nodes = x->nodes, .count = n, .value_bits = 32, .value_signed = true,
	                                    .values = x->w.values_on, .value_count = x->w.keys, .points = x->w.points_on,
	                                    .tally = true};
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "rows of a cgRX", &l->rows.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 4, NULL, "counts of a cgRX", &l->counts.buffer, err));
	RQL_TRY(rql_selftest_buffer(x->w.t, n * 8, NULL, "sums of a cgRX", &l->sums.buffer, err));
	return rql_selftest_buffer(x->w.t, RQL_RX_STATE_WORDS * 8, NULL, "state of a cgRX", &l->state.buffer, err);
}

/* ---- looking up ---- */

static rql_status run(struct nodes_world *x, const struct rql_cgrx_nodes_lookup *l, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_selftest_record(x->w.t, &c, err));
	RQL_TRY(rql_record_cgrx_nodes(c, l, err));
	return rql_selftest_execute(x->w.t, err);
}

static rql_status compare(struct nodes_world *x, bool ranges, bool rows_alone, const char *what, struct rql_error *err)
{
	struct rql_cgrx_nodes_lookup l = x->lookup;
	const uint64_t n = x->w.probes;
	if (ranges)
		l.ends = x->w.ends_on;
	if (rows_alone)
		l.counts.buffer = l.sums.buffer = NULL;
	rql_rx_world_want(&x->w, ranges);
	RQL_TRY(run(x, &l, err));
	RQL_TRY(rql_buffer_download(x->lookup.rows.buffer, 0, x->w.got32, n * 4, err));
	RQL_TRY(rql_selftest_same(x->w.got32, x->w.least_row, n, 4, what, err));
	if (rows_alone)
		return RQL_OK;
	RQL_TRY(rql_buffer_download(l.counts.buffer, 0, x->w.got_count, n * 4, err));
	RQL_TRY(rql_buffer_download(l.sums.buffer, 0, x->w.got_sum, n * 8, err));
	RQL_TRY(rql_selftest_same(x->w.got_count, x->w.count, n, 4, what, err));
	return rql_selftest_same(x->w.got_sum, x->w.sum, n, 8, what, err);
}

/* The rows that any of the ranges has. */
static rql_status compare_bits(struct nodes_world *x, const char *what, struct rql_error *err)
{
	const uint64_t words = (x->w.keys + 1 + 31) / 32;
	const struct rql_cgrx_nodes_lookup l = {.nodes = x->nodes, .count = x->w.probes, .points = x->w.points_on,
	                                        .ends = x->w.ends_on, .bits = {x->bits, 0}, .state = x->lookup.state};
	uint32_t *want, *got;
	RQL_TRY(rql_selftest_alloc(x->w.t, words, 4, &want, err));
	RQL_TRY(rql_selftest_alloc(x->w.t, words, 4, &got, err));
	RQL_TRY(rql_buffer_upload(x->bits, 0, want, words * 4, err));
	RQL_TRY(run(x, &l, err));
	RQL_TRY(rql_buffer_download(x->bits, 0, got, words * 4, err));
	for (uint64_t i = 0; i < x->w.probes; i++)
		for (uint64_t row = 0; row < x->w.keys; row++)
			if (x->live[row] && x->w.key[row] >= x->w.point[i] && x->w.key[row] <= x->w.end[i])
				want[row / 32] |= UINT32_C(1) << row % 32;
	return rql_selftest_same(got, want, words, 4, what, err);
}

static rql_status compare_all(struct nodes_world *x, const char *after, struct rql_error *err)
{
	char what[160];
	uint64_t rows = 0;
	for (uint64_t row = 0; row < x->w.keys; row++)
		rows += x->live[row];
	snprintf(what, sizeof(what), "cgRX in nodes of %u bits, pattern %d, buckets 2^%u, nodes 2^%u, %s",
	         x->check->key_bits, (int)x->check->pattern, x->check->log2_bucket, x->check->log2_node, after);
	if (rows != x->nodes->count)
		return rql_selftest_wrong(err, "%s: %llu rows instead of %llu", what, (unsigned long long)x->nodes->count,
		                          (unsigned long long)rows);
	RQL_TRY(rql_rx_world_probe(&x->w, err));
	RQL_TRY(compare(x, false, false, what, err));
	RQL_TRY(compare(x, false, true, what, err));
	RQL_TRY(compare(x, true, false, what, err));
	return x->check->bits ? compare_bits(x, what, err) : RQL_OK;
}

/* ---- updating ---- */

static rql_status put_keys(struct nodes_world *x, uint32_t part, uint64_t count, struct rql_error *err)
{
	uint32_t *narrow;
	RQL_TRY(rql_buffer_upload(x->rows_on[part].buffer, 0, x->rows[part], count * 4, err));
	if (x->w.key_bits == 64)
		return rql_buffer_upload(x->keys_on[part].buffer, 0, x->keys[part], count * 8, err);
	RQL_TRY(rql_selftest_alloc(x->w.t, count + 1, 4, &narrow, err));
	for (uint64_t i = 0; i < count; i++)
		narrow[i] = (uint32_t)x->keys[part][i];
	return rql_buffer_upload(x->keys_on[part].buffer, 0, narrow, count * 4, err);
}

static rql_status put_update(struct nodes_world *x, struct rql_error *err)
{
	struct rql_cgrx_update *u = &x->update;
	if (u->deletes)
		RQL_TRY(put_keys(x, 0, u->deletes, err));
	if (u->inserts)
		RQL_TRY(put_keys(x, 1, u->inserts, err));
	u->before = x->nodes->version;
	u->after = u->before + 3;
	u->delete_keys = x->keys_on[0];
	u->delete_rows = x->rows_on[0];
	u->insert_keys = x->keys_on[1];
	u->insert_rows = x->rows_on[1];
	return RQL_OK;
}

static uint64_t new_key(struct nodes_world *x, const struct round *round)
{
	const struct rql_drawn_keys drawn = {.pattern = x->w.pattern, .bits = x->w.key_bits, .greatest = x->w.greatest,
	                                     .count = x->w.keys, .keys = x->w.key};
	const uint64_t last = x->w.key_bits == 64 ? UINT64_MAX : UINT32_MAX;
	return round->keys == ALL_ONE ? x->w.key[0] : round->keys == BEYOND_ALL ? last - rql_selftest_below(x->w.t, 90)
	                                                                      : rql_drawn_key(x->w.t, &drawn);
}

/* Rows go, and come in another order; some are deleted and inserted at once, with another key or the same. */
static void draw_round(struct nodes_world *x, const struct round *round)
{
	struct rql_cgrx_update *u = &x->update;
	*u = (struct rql_cgrx_update){.rebuild = false};
	for (uint64_t row = 0; row < x->w.keys; row++)
		if (x->live[row] && rql_selftest_below(x->w.t, 16) < round->deletes) {
			x->keys[0][u->deletes] = x->w.key[row];
			x->rows[0][u->deletes++] = (uint32_t)row;
			x->live[row] = false;
		}
	for (uint64_t row = x->w.keys; row-- > 0;)
		if (!x->live[row] && rql_selftest_below(x->w.t, 16) < round->inserts) {
			if (rql_selftest_below(x->w.t, 4))
				x->w.key[row] = new_key(x, round);
			x->keys[1][u->inserts] = x->w.key[row];
			x->rows[1][u->inserts++] = (uint32_t)row;
			x->live[row] = true;
		}
}

static rql_status run_round(struct nodes_world *x, const struct round *round, uint32_t number, struct rql_error *err)
{
	struct rql_cgrx_updated updated;
	char what[40];
	draw_round(x, round);
	RQL_TRY(put_update(x, err));
	RQL_TRY(rql_cgrx_nodes_update(x->nodes, &x->update, NULL, &updated, err));
	x->in_place += !updated.rebuilt;
	x->anew += updated.rebuilt;
	if (x->nodes->version != x->update.after)
		return rql_selftest_wrong(err, "the structure has not the version of its table");
	snprintf(what, sizeof(what), "after round %u", number);
	return compare_all(x, what, err);
}

static rql_status must_refuse(struct nodes_world *x, const char *what, struct rql_error *err)
{
	struct rql_cgrx_updated updated;
	const uint64_t version = x->nodes->version;
	if (rql_cgrx_nodes_update(x->nodes, &x->update, NULL, &updated, NULL) != RQL_ERROR_UNSUPPORTED)
		return rql_selftest_wrong(err, "an update was taken with %s", what);
	if (x->nodes->version != version)
		return rql_selftest_wrong(err, "an update with %s has changed the version", what);
	return compare_all(x, what, err);
}

/* Batches that are wrong in one place, among entries that are right. */
static rql_status check_refused(struct nodes_world *x, struct rql_error *err)
{
	struct rql_cgrx_update *u = &x->update;
	uint32_t there = 0, missing = 0;
	for (uint32_t row = 0; row < x->w.keys; row++)
		*(x->live[row] ? &there : &missing) = row;
	if (!x->nodes->count || x->nodes->count == x->w.keys)
		return RQL_OK;
	*u = (struct rql_cgrx_update){.deletes = 1, .inserts = 2};
	x->keys[0][0] = x->keys[1][0] = x->keys[1][1] = x->w.key[there];
	x->rows[0][0] = x->rows[1][0] = missing; /* no such row of the key */
	x->rows[1][1] = missing + (uint32_t)x->w.keys;
	RQL_TRY(put_update(x, err));
	RQL_TRY(must_refuse(x, "a row that is not there", err));
	x->rows[0][0] = x->rows[1][0] = there; /* goes, comes and comes again */
	x->rows[1][1] = there;
	RQL_TRY(put_update(x, err));
	RQL_TRY(must_refuse(x, "a row that comes twice", err));
	u->deletes = 0;
	u->inserts = 1;
	RQL_TRY(put_update(x, err));
	RQL_TRY(must_refuse(x, "a row that is there", err));
	x->rows[1][0] = missing;
	RQL_TRY(put_update(x, err));
	u->before++;
	return must_refuse(x, "another version", err);
}

/* ---- cases ---- */

/* Few at a time, then many, at one place, beyond all of them, none left, and from nothing on. */
static const struct round rounds[] = {
	{1, 1, AS_DRAWN},   {1, 2, AS_DRAWN}, {4, 1, AS_DRAWN}, {1, 8, AS_DRAWN},  {3, 5, ALL_ONE},
	{2, 6, BEYOND_ALL}, {2, 2, AS_DRAWN}, {16, 0, AS_DRAWN}, {0, 3, AS_DRAWN}, {3, 1, AS_DRAWN},
};
#define ROUNDS (sizeof(rounds) / sizeof(*rounds))

static rql_status check_rounds(struct nodes_world *x, struct rql_error *err)
{
	RQL_TRY(compare_all(x, "as built", err));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		RQL_TRY(run_round(x, &rounds[i], i, err));
		if (i == 1)
			RQL_TRY(check_refused(x, err));
	}
	x->update = (struct rql_cgrx_update){.rebuild = true};
	RQL_TRY(put_update(x, err));
	struct rql_cgrx_updated updated;
	RQL_TRY(rql_cgrx_nodes_update(x->nodes, &x->update, NULL, &updated, err));
	return updated.rebuilt ? compare_all(x, "anew", err) : rql_selftest_wrong(err, "it was not built anew");
}

static rql_status check_one(struct rql_selftest *t, const struct nodes_check *k, uint32_t *in_place, uint32_t *anew,
                            struct rql_error *err)
{
	struct nodes_world x = {.w = {.t = t, .pattern = k->pattern, .key_bits = k->key_bits, .keys = k->rows,
	                              .probes = k->probes}, .check = k};
	RQL_TRY(rql_rx_world_make(&x.w, err));
	RQL_TRY(alloc(&x, err));
	RQL_TRY(make(&x, err));
	rql_status status = make_lookup(&x, err);
	if (status == RQL_OK)
		status = check_rounds(&x, err);
	rql_cgrx_nodes_free(x.nodes);
	rql_selftest_drop(t);
	*in_place += x.in_place;
	*anew += x.anew;
	return status;
}

/* Each space, width of keys and size of nodes is some pipelines. */
static const struct nodes_check checks[] = {
	{RQL_KEYS_SPARSE, 32, 700, 400, 100, 2, 3, 4, 0, false, true},
	{RQL_KEYS_DUPLICATES, 32, 600, 300, 100, 2, 3, 4, 1000, false, false},
	{RQL_KEYS_EQUAL, 32, 300, 100, 40, 2, 3, 4, 1000, false, false},
	{RQL_KEYS_DENSE, 32, 200, 0, 60, 2, 3, 4, 0, false, false}, /* from nothing on */
	{RQL_KEYS_ENDS, 64, 300, 200, 80, 3, 3, 16, 200, true, false},
	{RQL_KEYS_SPARSE, 64, 700, 400, 100, 3, 3, 16, 200, true, false},
};

/* Several workgroups, and tiles of a sort. */
static const struct nodes_check large_checks[] = {
	{RQL_KEYS_SPARSE, 32, 60000, 40000, 300, 4, 5, 8, 4000, false, true},
	{RQL_KEYS_DUPLICATES, 64, 60000, 40000, 300, 4, 5, 8, 4000, true, false},
};

static rql_status test_nodes(struct rql_selftest *t, struct rql_error *err)
{
	uint32_t in_place = 0, anew = 0;
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		RQL_TRY(check_one(t, &checks[i], &in_place, &anew, err));
	for (uint32_t i = 0; i < sizeof(large_checks) / sizeof(*large_checks) && t->thorough; i++)
		RQL_TRY(check_one(t, &large_checks[i], &in_place, &anew, err));
	if (!in_place || !anew)
		return rql_selftest_wrong(err, "%u updates in place and %u anew: some of both are meant", in_place, anew);
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_cgrx_nodes[] = {
	{"cgrx.nodes", RQL_SELFTEST_UNIT(RQL_UNIT_RT), test_nodes},
	{0},
};
