/* What is asked of a structure of the paper's form, which structure answers it, at what price; the method. */
#include "method/cube/paper/cube_paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

bool rql_paper_options_parse(const char *layout, struct rql_paper_options *out)
{
	static const char *const names[] = {"", "split-scan", "split-group", "operators"};
	struct rql_paper_options options = {0};
	if (!layout) {
		*out = options;
		return true;
	}
	if (strncmp(layout, "paper", 5) != 0 || (layout[5] && layout[5] != ':'))
		return false;
	const char *at = layout + 5;
	while (*at) {
		at++; /* the colon or comma */
		size_t length = strcspn(at, ",");
		char *end = NULL;
		if (length > 2 && (at[0] == 'x' || at[0] == 'y') && at[1] == '=') {
			unsigned long leg = strtoul(at + 2, &end, 10);
			if (end != at + length || leg < RQL_GRID_MIN_LEG || leg > RQL_GRID_MAX_LEG)
				return false;
			*(at[0] == 'x' ? &options.leg_x : &options.leg_y) = (uint32_t)leg;
		} else {
			unsigned v = 1;
			while (v < 4 && !(strlen(names[v]) == length && strncmp(names[v], at, length) == 0))
				v++;
			if (v == 4)
				return false;
			options.variant = (enum rql_paper_variant)v;
		}
		at += length;
	}
	*out = options;
	return true;
}

/* ---- what a structure is made for ---- */

uint32_t rql_paper_tests(const struct rql_paper_spec *spec, uint32_t tests[RQL_PAPER_TESTS])
{
	uint32_t n = 0;
	if (spec->z_shift)
		tests[n++] = spec->scan[0];
	for (uint32_t i = spec->encoded_count; i < spec->scan_count && n < RQL_PAPER_TESTS; i++)
		tests[n++] = spec->scan[i];
	return n;
}

uint32_t rql_paper_z_size(const struct rql_cube *cube, const struct rql_paper_spec *spec)
{
	uint32_t size = 1;
	for (uint32_t i = 0; i < spec->encoded_count; i++)
		size *= ((cube->relation.dimensions[spec->scan[i]].count - 1) >> spec->z_shift) + 1;
	return size;
}

const struct rql_packed *rql_paper_packed(const struct rql_cube *cube, const struct rql_paper_column *column)
{
	if (column->source == RQL_PAPER_COUNT)
		return &cube->count;
	const struct rql_cube_measure *m = &cube->measures[column->measure];
	switch (column->source) {
	case RQL_PAPER_VALID:
		return &m->valid;
	case RQL_PAPER_VALUE:
		return &m->sum;
	case RQL_PAPER_LEAST:
		return &m->min;
	default:
		return &m->max;
	}
}

/* Names a structure: "scan: 3 5 | 7; group: 1; x: 0.sum". In arena; NULL: out of memory. */
static char *key_of(struct rql_arena *arena, const struct rql_paper_spec *spec)
{
	static const char *const sources[] = {"count", "valid", "value", "least", "greatest"};
	static const char *const variants[] = {"", "; split scan", "; split group", "; operators"};
	char text[1024];
	size_t n = 0;
#define PUT(...) (n += (size_t)snprintf(text + n, n < sizeof(text) ? sizeof(text) - n : 0, __VA_ARGS__))
	PUT("scan:");
	for (uint32_t i = 0; i < spec->scan_count; i++)
		PUT("%s %u", i == spec->encoded_count ? " |" : "", spec->scan[i]);
	PUT("; group:");
	for (uint32_t i = 0; i < spec->group_count; i++)
		PUT(" %u", spec->group[i]);
	PUT("; x:");
	for (uint32_t i = 0; i < spec->column_count; i++)
		PUT(" %u.%s", spec->column[i].measure, sources[spec->column[i].source]);
	PUT("%s", variants[spec->options.variant]);
	if (spec->options.leg_x || spec->options.leg_y)
		PUT("; legs: %u %u", spec->options.leg_x, spec->options.leg_y);
#undef PUT
	return rql_arena_strdup(arena, text); /* 24 attributes of 11 characters, twice, and 5 columns: below 1024 */
}

/* ---- binding ---- */

struct binding {
	const struct rql_cube *cube;
	const struct rql_request *request;
	struct rql_paper_prepared *p;
	const char *why; /* static: it cannot be answered */
};

static const char *check_aggregates(const struct rql_cube *cube, const struct rql_request *request)
{
	const struct rql_relation *relation = &cube->relation;
	const char *why = rql_cube_form_refusal(request);
	if (why)
		return why;
	for (uint32_t a = 0; a < request->agg_count; a++) {
		const struct rql_agg *agg = &request->aggs[a];
		if (agg->kind == RQL_AGG_COUNT_STAR)
			continue;
		if (agg->source.index >= relation->measure_count)
			return "the cube has no such measure";
		const struct rql_measure *measure = &relation->measures[agg->source.index];
		if (agg->kind != RQL_AGG_COUNT && measure->kind != RQL_MEASURE_INTEGER)
			return "the paper's form has integer measures only";
		if (agg->kind == RQL_AGG_SUM && !measure->sum)
			return "the cube has no sum of this measure";
		if (agg->kind == RQL_AGG_MIN && !measure->min)
			return "the cube has no minimum of this measure";
		if (agg->kind == RQL_AGG_MAX && !measure->max)
			return "the cube has no maximum of this measure";
	}
	for (uint32_t g = 0; g < request->group_count; g++)
		if (request->groups[g].source.index >= relation->dimension_count)
			return "the cube has no such dimension";
	return NULL;
}

/* The column of packed values of the cube, added when it is new; RQL_PAPER_NO_COLUMN: too many. */
static uint32_t column_for(struct binding *b, enum rql_paper_source source, uint32_t measure)
{
	struct rql_paper_spec *spec = &b->p->spec;
	for (uint32_t i = 0; i < spec->column_count; i++)
		if (spec->column[i].source == source && (source == RQL_PAPER_COUNT || spec->column[i].measure == measure))
			return i;
	if (spec->column_count == RQL_PAPER_COLUMNS)
		return RQL_PAPER_NO_COLUMN;
	spec->column[spec->column_count] = (struct rql_paper_column){source, measure};
	return spec->column_count++;
}

static enum rql_paper_source source_of(const struct rql_cube *cube, const struct rql_cube_slot *slot)
{
	if (slot->values == &cube->count)
		return RQL_PAPER_COUNT;
	const struct rql_cube_measure *m = &cube->measures[slot->measure];
	if (slot->values == &m->valid)
		return RQL_PAPER_VALID;
	return slot->values == &m->sum ? RQL_PAPER_VALUE : slot->values == &m->min ? RQL_PAPER_LEAST : RQL_PAPER_GREATEST;
}

/* Every slot's column; slot_valid where a cell can be without a value. */
static void bind_columns(struct binding *b)
{
	struct rql_paper_prepared *p = b->p;
	if (p->bound.slot_count > RQL_PAPER_SLOTS) {
		b->why = "the paper's form has at most 8 sums and extremes";
		return;
	}
	for (uint32_t s = 0; s < p->bound.slot_count && !b->why; s++) {
		const struct rql_cube_slot *slot = &p->bound.slots[s];
		bool extreme = slot->state.kind == RQL_STATE_MIN_FIELD || slot->state.kind == RQL_STATE_MAX_FIELD;
		if (slot->values && slot->values->bits > 64)
			b->why = "the paper's form has no measures of more than 64 bits";
		else if (!extreme && slot->state.kind != RQL_STATE_COUNT && slot->state.kind != RQL_STATE_SUM &&
		         slot->state.kind != RQL_STATE_SUM_WIDE)
			b->why = "the paper's form has integer measures only";
		if (b->why)
			return;
		p->slot_column[s] = column_for(b, source_of(b->cube, slot), slot->measure);
		bool tested = extreme && slot->valid && slot->valid->base == 0;
		p->slot_valid[s] = tested ? column_for(b, RQL_PAPER_VALID, slot->measure) : RQL_PAPER_NO_COLUMN;
		if (p->slot_column[s] == RQL_PAPER_NO_COLUMN || (tested && p->slot_valid[s] == RQL_PAPER_NO_COLUMN))
			b->why = "the paper's form has at most 5 measures";
	}
}

struct scanned {
	uint32_t dimension, passing, count;
};

/* The share that passes: the most selective attributes are worth their place in z most. */
static int by_selectivity(const void *left, const void *right)
{
	const struct scanned *a = left, *b = right;
	uint64_t x = (uint64_t)a->passing * b->count, y = (uint64_t)b->passing * a->count;
	return x != y ? (x < y ? -1 : 1) : a->dimension < b->dimension ? -1 : 1;
}

/* Attributes with larger predicate ranges come later (4.2). */
static int by_range(const void *left, const void *right)
{
	const struct scanned *a = left, *b = right;
	return a->passing != b->passing ? (a->passing < b->passing ? -1 : 1) : by_selectivity(left, right);
}

static void bind_scan(struct binding *b)
{
	struct rql_paper_spec *spec = &b->p->spec;
	struct scanned all[RQL_PAPER_ATTRIBUTES];
	uint32_t n = 0, encoded = 0;
	for (uint32_t d = 0; d < b->cube->relation.dimension_count; d++) {
		uint32_t count = b->cube->relation.dimensions[d].count, passing = rql_paper_passing(b->cube, b->request, d);
		if (passing == count)
			continue;
		if (n == RQL_PAPER_ATTRIBUTES) {
			b->why = "the paper's form has at most 24 scan attributes";
			return;
		}
		all[n++] = (struct scanned){d, passing, count};
	}
	if (spec->options.variant != RQL_PAPER_SPLIT_SCAN)
		qsort(all, n, sizeof(*all), by_selectivity);
	uint32_t most = spec->options.variant == RQL_PAPER_SPLIT_SCAN ? 1 : n;
	for (uint64_t size = 1; encoded < n && encoded < most; encoded++) {
		size *= all[encoded].count;
		if (size > RQL_GRID_SIZE)
			break;
	}
	if (n && !encoded) { /* 4.5: what fits of it */
		while (((all[0].count - 1) >> spec->z_shift) + 1 > RQL_GRID_SIZE)
			spec->z_shift++;
		encoded = 1;
	}
	qsort(all, encoded, sizeof(*all), by_range);
	spec->scan_count = n;
	spec->encoded_count = encoded;
	for (uint32_t i = 0; i < n; i++)
		spec->scan[i] = all[i].dimension;
	if (n - encoded + (spec->z_shift > 0) > RQL_PAPER_TESTS)
		b->why = "more than 8 scan attributes do not fit the paper's z";
}

/* Group attributes in the order of the keys, which is the order that the groups are numbered in (4.3, 5). */
static void bind_groups(struct binding *b)
{
	struct rql_paper_spec *spec = &b->p->spec;
	uint64_t tuples = 1;
	for (uint32_t g = 0; g < b->request->group_count && !b->why; g++) {
		uint32_t d = b->request->groups[g].source.index, i = 0;
		while (i < spec->group_count && spec->group[i] != d)
			i++;
		if (i < spec->group_count)
			continue;
		if (spec->group_count == RQL_PAPER_ATTRIBUTES)
			b->why = "the paper's form has at most 24 group attributes";
		else if (__builtin_mul_overflow(tuples, b->cube->relation.dimensions[d].count, &tuples) ||
		         tuples > RQL_GROUPS_MOST)
			b->why = "the group keys have more than 2^62 combinations";
		else
			spec->group[spec->group_count++] = d;
	}
	bool split = spec->options.variant == RQL_PAPER_SPLIT_GROUP;
	if (split && spec->group_count > RQL_PAPER_GROUP_ARRAYS)
		b->why = "at most 8 group attributes can be split";
	uint64_t cells = b->cube->relation.cells, most = split || tuples < cells ? tuples : cells;
	if (!b->why && most > RQL_PAPER_MAX_WORDS / b->p->bound.layout.row_words)
		b->why = "the paper's result arrays would take more than 1 GiB";
}

/* The request without its areas. RQL_OK with why set: it cannot be answered. */
static rql_status bind(struct binding *b, struct rql_error *err)
{
	struct rql_paper_prepared *p = b->p;
	if (!rql_paper_options_parse(b->request->layout, &p->spec.options))
		b->why = "the layout is not one of the paper's";
	if (!b->why)
		b->why = check_aggregates(b->cube, b->request);
	if (b->why)
		return RQL_OK;
	RQL_TRY(rql_cube_bind_aggregates(&p->bound, b->request, err));
	bind_columns(b);
	if (!b->why)
		bind_scan(b);
	if (!b->why)
		bind_groups(b);
	return RQL_OK;
}

static rql_status prepared_new(const struct rql_cube *cube, struct rql_paper_prepared **out, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_paper_prepared *p = arena ? RQL_NEW(arena, struct rql_paper_prepared) : NULL;
	if (!p) {
		rql_arena_free(arena);
		return rql_error_memory(err, sizeof(*p), "binding a query to a cube");
	}
	p->bound.arena = arena;
	p->bound.cube = cube;
	*out = p;
	return RQL_OK;
}

/* Rays of an area of a structure that is not there: the number of groups is not known before it is built. */
static uint64_t guess_rays(const struct rql_cube *cube, const struct rql_paper_spec *spec)
{
	struct rql_paper_field field[RQL_PAPER_COLUMNS];
	struct rql_grid_axis x, y;
	uint32_t x_size;
	rql_paper_place_fields(cube, spec, field, &x_size);
	double groups = 1;
	for (uint32_t i = 0; i < spec->group_count; i++)
		groups *= cube->relation.dimensions[spec->group[i]].count;
	groups = fmin(fmin(groups, (double)cube->relation.cells), RQL_GRID_SIZE);
	rql_grid_choose(x_size, (uint32_t)groups, rql_paper_ray_budget(cube->relation.cells), spec->options.leg_x,
	                spec->options.leg_y, &x, &y);
	return (uint64_t)x.rays * y.rays;
}

#define MAX_RAYS ((double)RQL_PAPER_MAX_RAYS)
#define TOO_MANY_RAYS "the paper's grids for its query areas would be more than 10^10 rays"

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	struct binding b = {.cube = (const struct rql_cube *)request->relation, .request = request};
	if (!device->units[RQL_UNIT_RT])
		b.why = "the device has no rt unit";
	else if (prepared_new(b.cube, &b.p, NULL) != RQL_OK)
		b.why = "there is no memory to look at the request";
	if (!b.why) {
		struct rql_paper_areas areas;
		rql_status status = bind(&b, NULL);
		if (status == RQL_OK && !b.why)
			status = rql_paper_make_areas(b.cube, &b.p->spec, request, b.p->bound.arena, &areas, NULL);
		if (status == RQL_OK && !b.why && (double)areas.count * (double)guess_rays(b.cube, &b.p->spec) > MAX_RAYS)
			b.why = TOO_MANY_RAYS;
		if (status != RQL_OK && !b.why)
			b.why = status == RQL_ERROR_UNSUPPORTED ? "the predicates make more than 2^20 query areas"
			                                        : "there is no memory to look at the request";
	}
	if (b.p)
		rql_arena_free(b.p->bound.arena);
	if (b.why && reason)
		*reason = b.why;
	return b.why ? RQL_OFFER_NO : RQL_OFFER_FULL;
}

/* ---- choosing a structure ---- */

struct choice {
	const struct rql_cube *cube;
	const struct rql_paper_spec *wanted;
	struct rql_paper_spec spec;
	uint64_t bytes, rays; /* of the chosen one; rays of an area */
	bool found;
};

static bool covers(const struct rql_cube *cube, const struct rql_paper_spec *have, const struct rql_paper_spec *want)
{
	if (memcmp(&have->options, &want->options, sizeof(have->options)) != 0)
		return false;
	for (uint32_t i = 0; i < want->scan_count; i++)
		if (!rql_paper_has(cube, have->scan, have->scan_count, want->scan[i]))
			return false;
	for (uint32_t i = 0; i < want->group_count; i++)
		if (!rql_paper_has(cube, have->group, have->group_count, want->group[i]))
			return false;
	for (uint32_t i = 0; i < want->column_count; i++) {
		uint32_t j = 0;
		while (j < have->column_count &&
		       (have->column[j].source != want->column[i].source ||
		        (want->column[i].source != RQL_PAPER_COUNT && have->column[j].measure != want->column[i].measure)))
			j++;
		if (j == have->column_count)
			return false;
	}
	return true;
}

static void consider(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct choice *c = state;
	const struct rql_paper_structure *s = (const struct rql_paper_structure *)placement;
	if (strcmp(at->kind, RQL_PAPER) != 0 || !covers(c->cube, &s->spec, c->wanted) || (c->found && placement->bytes >= c->bytes))
		return;
	c->found = true;
	c->spec = s->spec;
	c->bytes = placement->bytes;
	c->rays = (uint64_t)s->axis[0].rays * s->axis[1].rays;
}

/* The columns' places in another structure's spec. */
static void rebind_columns(struct rql_paper_prepared *p, const struct rql_paper_spec *spec)
{
	uint32_t place[RQL_PAPER_COLUMNS + 1] = {0};
	for (uint32_t i = 0; i < p->spec.column_count; i++)
		while (spec->column[place[i]].source != p->spec.column[i].source ||
		       (p->spec.column[i].source != RQL_PAPER_COUNT &&
		        spec->column[place[i]].measure != p->spec.column[i].measure))
			place[i]++;
	for (uint32_t s = 0; s < p->bound.slot_count; s++) {
		p->slot_column[s] = place[p->slot_column[s]];
		if (p->slot_valid[s] != RQL_PAPER_NO_COLUMN)
			p->slot_valid[s] = place[p->slot_valid[s]];
	}
	p->spec = *spec;
}

/* The smallest structure that is there and covers the request, unless its other attributes tear the request's areas into
 * more pieces than its own would have; else its own (3.1). */
static rql_status choose(struct rql_paper_prepared *p, const struct rql_request *request,
                         const struct rql_device *device, struct rql_error *err)
{
	const struct rql_cube *cube = p->bound.cube;
	RQL_TRY(rql_paper_make_areas(cube, &p->spec, request, p->bound.arena, &p->areas, err));
	uint64_t rays = guess_rays(cube, &p->spec);
	struct choice choice = {.cube = cube, .wanted = &p->spec};
	rql_placements_each(cube, device, consider, &choice);
	if (choice.found) {
		struct rql_paper_areas areas;
		rql_status status = rql_paper_make_areas(cube, &choice.spec, request, p->bound.arena, &areas, NULL);
		if (status != RQL_OK && status != RQL_ERROR_UNSUPPORTED)
			return rql_error_memory(err, 0, "the query areas of a cube");
		if (status == RQL_OK && areas.count <= p->areas.count + p->areas.count / 4 &&
		    (double)areas.count * (double)choice.rays <= MAX_RAYS) {
			rebind_columns(p, &choice.spec);
			p->areas = areas;
			rays = choice.rays;
		}
	}
	p->key = key_of(p->bound.arena, &p->spec);
	p->rays = (double)p->areas.count * (double)rays;
	if (p->rays > MAX_RAYS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, TOO_MANY_RAYS);
	return p->key ? RQL_OK : rql_error_memory(err, 0, "binding a query to a cube");
}

/* ---- estimates ---- */

static double share_of(const struct rql_cube *cube, const struct rql_request *request, uint32_t dimension)
{
	uint32_t count = cube->relation.dimensions[dimension].count;
	return count ? (double)rql_paper_passing(cube, request, dimension) / count : 1;
}

/* Rows that pass the predicates on `attributes` and what they determine, were all independent; of those that determine
 * each other the strictest counts. */
static double estimate(const struct rql_cube *cube, const struct rql_request *request, const uint32_t *attributes,
                       uint32_t count)
{
	double share = 0;
	for (uint32_t b = 0; b < request->box_count; b++) {
		double product = 1;
		struct rql_request alone = {.box_count = 1, .boxes = &request->boxes[b]};
		for (uint32_t digit = 0; digit < cube->digit_count; digit++) {
			double least = 1;
			for (uint32_t d = 0; d < cube->relation.dimension_count; d++)
				if (cube->dimensions[d].digit == digit && rql_paper_has(cube, attributes, count, d))
					least = fmin(least, share_of(cube, &alone, d));
			product *= least;
		}
		share += product;
	}
	return fmin(share, 1) * (double)cube->relation.cells;
}

static rql_status copy_groups(struct rql_paper_prepared *p, const struct rql_request *request, struct rql_error *err)
{
	struct rql_arena *arena = p->bound.arena;
	p->bound.layout.scalar = request->group_count == 0;
	p->bound.layout.key_count = request->group_count;
	p->groups = RQL_NEW_ARRAY(arena, struct rql_group_key, request->group_count);
	bool memory = p->groups != NULL;
	p->bound.groups = 1;
	for (uint32_t g = 0; g < request->group_count && memory; g++) {
		const struct rql_group_key *key = &request->groups[g];
		uint32_t count = p->bound.cube->relation.dimensions[key->source.index].count;
		p->groups[g] = *key;
		p->bound.groups *= key->key_count;
		if (!key->key_of_code)
			continue;
		uint32_t *copy = RQL_NEW_ARRAY(arena, uint32_t, count);
		memory = copy != NULL;
		if (memory)
			memcpy(copy, key->key_of_code, count * sizeof(*copy));
		p->groups[g].key_of_code = copy;
	}
	p->bound.groups = fmin(p->bound.groups, p->qualifying + p->bound.layout.scalar);
	return memory ? RQL_OK : rql_error_memory(err, 0, "binding a query to a cube");
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct binding b = {.cube = (const struct rql_cube *)request->relation, .request = request};
	RQL_TRY(prepared_new(b.cube, &b.p, err));
	rql_status status = bind(&b, err);
	if (status == RQL_OK && b.why)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s", b.why);
	if (status == RQL_OK)
		status = choose(b.p, request, device, err);
	if (status == RQL_OK) {
		const struct rql_paper_spec *spec = &b.p->spec;
		b.p->qualifying = estimate(b.cube, request, spec->scan, spec->scan_count);
		/* What is in the areas, whatever the tests say; a triangle covers two cells of the grid. */
		b.p->hits = 2 * estimate(b.cube, request, spec->scan, spec->encoded_count);
		status = copy_groups(b.p, request, err);
	}
	if (status == RQL_OK)
		*out = &b.p->bound;
	else
		rql_arena_free(b.p->bound.arena);
	return status;
}

/* ---- price ---- */

uint64_t rql_paper_ray_budget(uint64_t rows)
{
	uint64_t rays = rows / 16;
	return rays < 64 ? 64 : rays > UINT64_C(1) << 20 ? UINT64_C(1) << 20 : rays;
}

static void price(const struct rql_prepared *prepared, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_paper_prepared *p = (const struct rql_paper_prepared *)prepared;
	const struct rql_profile *profile = &device->profile;
	double cells = (double)p->bound.cube->relation.cells, words = p->bound.layout.row_words;
	double jobs = p->spec.options.variant == RQL_PAPER_OPERATORS ? 2 : 1;
	*out = (struct rql_cost){
		.run_ns =
			profile->submit_ns + (2 + jobs) * profile->pass_ns + p->rays * profile->ray_ns + p->hits * profile->hit_ns,
		.transfer_ns = p->bound.groups * words * 8 / fmax(profile->download_gbps, 1e-3),
		.rows_out = p->bound.groups,
		.cells = p->qualifying,
		.runs = (double)p->areas.count,
		.rays = p->rays,
		.hits = p->hits,
		.bytes = cells / 8 + p->hits * 16 + p->qualifying * 8 * words,
		.device_bytes = (uint64_t)(cells * (profile->primitive_bytes * jobs + 12)),
	};
	if (jobs > 1) { /* all rows are met by the second */
		out->run_ns += (p->rays / fmax((double)p->areas.count, 1)) * profile->ray_ns + 2 * cells * profile->hit_ns;
		out->hits += 2 * cells;
	}
	if (!rql_cube_is_placed(p->bound.cube, device, RQL_PAPER, p->key, NULL))
		out->setup_ns = cells * (profile->primitive_ns * jobs + 12 / fmax(profile->upload_gbps, 1e-3) + 4);
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (prepared)
		rql_arena_free(prepared->arena);
}

static uint64_t prepared_bytes(const struct rql_prepared *prepared)
{
	return rql_arena_bytes(prepared->arena);
}

static bool layout_ok(const char *layout)
{
	struct rql_paper_options options;
	return rql_paper_options_parse(layout, &options);
}

static const char *const layouts[] = {"paper", "paper:split-scan", "paper:split-group", "paper:operators", NULL};

const struct rql_method rql_method_cube_paper = {
	.name = "rtcudb",
	.description = "one triangle a row, a grid of rays for every query area, a flag bit and atomics in any-hit",
	.paper = "RTCUDB (RayDB, PVLDB 19(1)), sections 3 to 5, as published",
	.unit = RQL_UNIT_RT,
	.reads = RQL_READS_RELATION,
	.gives = 1u << RQL_PORT_GROUPS,
	.layouts = layouts,
	.layout_ok = layout_ok,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.run = rql_paper_run,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
