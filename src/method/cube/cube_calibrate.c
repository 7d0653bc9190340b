/* The cost constants of the cube on this CPU: small queries over a made-up cube that is larger than the second-level
 * cache, each dominated by one constant (cube_cost.c has the formulas that they go into). */
#include <stdlib.h>

#include "method/cube/cube_query.h"

#define KEYS_A 256u
#define KEYS_B 256u
#define CODES 1000u       /* of the residual digit: 10 bits */
#define CELLS_PER_KEY 48u /* 3.1 million cells: 9 MB of values and 4 MB of codes */
#define VALUE_BITS 24u

struct rig {
	struct rql_cube cube;
	struct rql_arena *arena;
	struct rql_device device; /* a copy with one thread */
	uint8_t *values, *codes;
	uint64_t *odd_a, *odd_b, *odd_codes; /* sets of every other code */
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static uint64_t *odd_set(struct rql_arena *arena, uint32_t codes)
{
	uint64_t *set = RQL_NEW_ARRAY(arena, uint64_t, (codes + 63) / 64);
	if (set)
		memset(set, 0xaa, (codes + 63) / 64 * sizeof(*set));
	return set;
}

/* Cells in key order: keys of uneven lengths, codes ascending within each. */
static bool fill_cells(struct rig *rig)
{
	struct rql_cube *cube = &rig->cube;
	uint64_t keys = KEYS_A * KEYS_B, cells = 0;
	cube->directory32 = RQL_NEW_ARRAY(rig->arena, uint32_t, keys + 1);
	if (!cube->directory32)
		return false;
	for (uint64_t key = 0; key <= keys; key++) {
		cube->directory32[key] = (uint32_t)cells;
		cells += key < keys ? CELLS_PER_KEY / 2 + mix(key) % CELLS_PER_KEY : 0;
	}
	cube->directory_size = keys;
	cube->relation.cells = cube->relation.rows = cells;
	struct rql_cube_measure *measure = RQL_NEW(rig->arena, struct rql_cube_measure);
	cube->residual = RQL_NEW(rig->arena, struct rql_packed);
	if (!measure || !cube->residual)
		return false;
	cube->measures = measure;
	measure->sum = (struct rql_packed){.count = cells, .bits = VALUE_BITS};
	*cube->residual = (struct rql_packed){.count = cells, .bits = 10};
	measure->sum.data = rig->values = malloc(rql_packed_bytes(cells, VALUE_BITS));
	cube->residual->data = rig->codes = malloc(rql_packed_bytes(cells, 10));
	measure->cumulative = RQL_NEW_ARRAY(rig->arena, uint64_t, cells / RQL_CUBE_BLOCK + 1);
	if (!rig->values || !rig->codes || !measure->cumulative)
		return false;
	struct rql_packer values = rql_packer_at(&measure->sum, 0), codes = rql_packer_at(cube->residual, 0);
	uint64_t sum = 0, cell = 0;
	for (uint64_t key = 0; key < keys; key++) {
		uint64_t first = cube->directory32[key], count = cube->directory32[key + 1] - first;
		for (; cell < first + count; cell++) {
			uint64_t value = mix(cell) & rql_bit_mask(VALUE_BITS);
			if (cell % RQL_CUBE_BLOCK == 0)
				measure->cumulative[cell / RQL_CUBE_BLOCK] = sum;
			sum += value;
			rql_packer_put(&values, value);
			rql_packer_put(&codes, (cell - first) * CODES / count);
		}
	}
	if (cells % RQL_CUBE_BLOCK == 0)
		measure->cumulative[cells / RQL_CUBE_BLOCK] = sum;
	rql_packer_flush(&values);
	rql_packer_flush(&codes);
	return true;
}

static bool rig_make(struct rig *rig, const struct rql_device *device)
{
	static const uint32_t radix[3] = {KEYS_A, KEYS_B, CODES};
	struct rql_cube *cube = &rig->cube;
	rig->arena = rql_arena_new();
	if (!rig->arena || rql_pool_new(1, &rig->device.pool, NULL) != RQL_OK)
		return false;
	rig->device.units[RQL_UNIT_CPU] = true;
	rig->device.simd = device->simd;
	struct rql_measure *measure = RQL_NEW(rig->arena, struct rql_measure);
	cube->digit_count = cube->relation.dimension_count = 3;
	cube->directory_digits = 2;
	cube->digits = RQL_NEW_ARRAY(rig->arena, struct rql_cube_digit, 3);
	cube->dimensions = RQL_NEW_ARRAY(rig->arena, struct rql_cube_dimension, 3);
	rig->odd_a = odd_set(rig->arena, KEYS_A);
	rig->odd_b = odd_set(rig->arena, KEYS_B);
	rig->odd_codes = odd_set(rig->arena, CODES);
	if (!measure || !cube->digits || !cube->dimensions || !rig->odd_a || !rig->odd_b || !rig->odd_codes)
		return false;
	*measure = (struct rql_measure){.kind = RQL_MEASURE_INTEGER, .sum = true, .min = true};
	cube->relation.measure_count = 1;
	cube->relation.measures = measure;
	for (uint32_t d = 0; d < 3; d++) {
		uint32_t *codes = RQL_NEW_ARRAY(rig->arena, uint32_t, radix[d]);
		if (!codes)
			return false;
		for (uint32_t v = 0; v < radix[d]; v++)
			codes[v] = v;
		cube->digits[d] = (struct rql_cube_digit){.radix = radix[d], .dimension = d, .code_of_digit = codes};
		cube->dimensions[d] = (struct rql_cube_dimension){.digit = d, .code_of_digit = codes};
	}
	return fill_cells(rig);
}

static void rig_free(struct rig *rig)
{
	free(rig->values);
	free(rig->codes);
	rql_pool_free(rig->device.pool);
	rql_arena_free(rig->arena);
}

struct timing {
	double ns, intervals, cells, groups;
};

/* Least processor time of `rounds` runs on one thread; false: out of memory. */
static bool time_request(struct rig *rig, const struct rql_request *request, unsigned rounds, struct timing *out)
{
	const struct rql_method *method = &rql_method_cube_cpu;
	struct rql_prepared *prepared;
	rig->device.profile = (struct rql_profile){.read_gbps = 1, .handover_ns = 1, .run_ns = 1}; /* never searches */
	if (method->prepare(request, &rig->device, &prepared, NULL) != RQL_OK)
		return false;
	bool done = true;
	uint64_t best = UINT64_MAX;
	for (unsigned r = 0; r < rounds && done; r++) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_port answer;
		uint64_t start = rql_thread_ns();
		done = arena && method->run(prepared, &rig->device, &(struct rql_run){.arena = arena}, &answer, NULL) == RQL_OK;
		uint64_t took = rql_thread_ns() - start;
		if (done)
			*out = (struct timing){.intervals = (double)answer.runs, .groups = (double)answer.group_count};
		best = took < best ? took : best;
		rql_arena_free(arena);
	}
	method->free(prepared);
	out->ns = (double)best;
	out->cells = (double)rig->cube.relation.cells;
	return done;
}

/* Never 0 and never absurd: a price must stay comparable. */
static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

rql_status rql_cube_calibrate(struct rql_device *device, bool thorough, struct rql_error *err)
{
	struct rig rig = {0};
	unsigned rounds = thorough ? 40 : 5;
	struct rql_group_key by_code = {.source = {.index = 2}, .key_count = CODES};
	struct rql_group_key by_key[2] = {{.source = {.index = 0}, .key_count = KEYS_A},
	                                  {.source = {.index = 1}, .key_count = KEYS_B}};
	struct rql_agg sum = {.kind = RQL_AGG_SUM}, least = {.kind = RQL_AGG_MIN};
	struct rql_box everything = {NULL};
	const struct rql_relation *relation = &rig.cube.relation;
	bool done = rig_make(&rig, device);
	if (done) {
		const uint64_t *odd_keys[3] = {rig.odd_a, rig.odd_b, NULL}, *odd_codes[3] = {NULL, NULL, rig.odd_codes};
		struct rql_box keys = {odd_keys}, codes = {odd_codes};
		struct rql_request intervals = {
			.relation = relation, .box_count = 1, .boxes = &keys, .agg_count = 1, .aggs = &sum};
		struct rql_request scan = {
			.relation = relation, .box_count = 1, .boxes = &everything, .agg_count = 1, .aggs = &least};
		struct rql_request tested = {.relation = relation,
		                             .box_count = 1,
		                             .boxes = &codes,
		                             .agg_count = 1,
		                             .aggs = &sum,
		                             .group_count = 1,
		                             .groups = &by_code};
		struct rql_request grouped = {.relation = relation,
		                              .box_count = 1,
		                              .boxes = &everything,
		                              .agg_count = 1,
		                              .aggs = &sum,
		                              .group_count = 2,
		                              .groups = by_key};
		struct timing t[4];
		done = time_request(&rig, &intervals, rounds, &t[0]) && time_request(&rig, &scan, rounds, &t[1]) &&
		       time_request(&rig, &tested, rounds, &t[2]) && time_request(&rig, &grouped, rounds, &t[3]);
		if (done) {
			struct rql_profile *profile = &device->profile;
			profile->run_ns = clamp(t[0].ns / t[0].intervals, 1, 10000);
			profile->cell_ns = clamp(t[1].ns / t[1].cells, 0.01, 100);
			profile->tested_cell_ns = clamp(t[2].ns / t[2].cells, 0.05, 1000);
			profile->group_ns = clamp((t[3].ns - t[3].intervals * profile->run_ns) / t[3].groups, 1, 10000);
		}
	}
	rig_free(&rig);
	return done ? RQL_OK : rql_error_memory(err, 16 << 20, "calibrating the cube");
}
