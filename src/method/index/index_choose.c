/* Which conditions are looked up, and by which index: the one that leaves the fewest rows. */
#include "method/index/index_choose.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it can do ---- */
static bool takes(unsigned forms, const struct rql_index_of *of)
{
	return forms >> of->form & 1;
}

/* An index of this column alone. */
static bool usable(unsigned forms, const struct rql_index_of *of, uint32_t column)
{
	return takes(forms, of) && of->column == column && !of->more_count;
}

/* ... or it is one of its columns, which others may come before. */
static bool has_index(unsigned forms, const struct rql_request *request, uint32_t column)
{
	bool some = false;
	for (uint32_t i = 0; i < request->index_count && column != RQL_NONE; i++)
		for (uint32_t c = 0; c < rql_index_columns(&request->indexes[i]); c++)
			some = some || (takes(forms, &request->indexes[i]) && rql_index_column(&request->indexes[i], c) == column);
	return some;
}

bool rql_index_answers(unsigned forms, const struct rql_request *request, const struct rql_conjunct *c)
{
	if (!c->tuples.parts)
		return has_index(forms, request, rql_index_test_column(request->snapshot, c));
	bool some = false;
	for (uint32_t part = 0; part < c->tuples.parts; part++)
		some = some || has_index(forms, request, c->tuples.columns[part]);
	return some;
}

bool rql_index_is_exact(const struct rql_request *request)
{
	const struct rql_conjunct *c = request->conjuncts;
	const uint32_t column = c->tuples.parts ? RQL_NONE : rql_index_test_column(request->snapshot, c);
	bool exact = request->conjunct_count == 1 && column != RQL_NONE;
	for (uint32_t i = 0; i < request->index_count && exact; i++)
		exact = !request->indexes[i].more_count || request->indexes[i].column != column;
	return exact;
}

/* ---- preparing ---- */
void rql_index_choice_clear(struct rql_index_choice *p)
{
	for (uint32_t t = 0; t < p->test_count; t++)
		rql_index_test_free(&p->tests[t]);
	free(p->tests);
	rql_store_snapshot_release(p->snapshot);
}

uint64_t rql_index_choice_bytes(const struct rql_index_choice *p)
{
	uint64_t sum = p->test_count * sizeof(*p->tests);
	for (uint32_t t = 0; t < p->test_count; t++)
		sum += p->tests[t].count * sizeof(struct rql_index_range) + p->tests[t].tuple_count * sizeof(rql_int128);
	return sum;
}

/* Single values, each a range of its own. */
static bool is_points(const struct rql_index_test *test)
{
	return rql_index_test_values(test) == test->count;
}

/* Points are hashed where they can be, and what chooses by itself comes before what is sorted. */
unsigned rql_index_rank(enum rql_index_form form)
{
	return form == RQL_INDEX_HASH ? 3 : form == RQL_INDEX_AUTO ? 2 : 1;
}

static bool choose_form(unsigned forms, const struct rql_request *request, const struct rql_index_test *test, struct rql_index_of *out)
{
	const bool points = rql_index_test_values(test) <= RQL_INDEX_RANGES_MOST;
	bool found = false;
	for (uint32_t i = 0; i < request->index_count; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		if (!usable(forms, of, test->column) || (of->form == RQL_INDEX_HASH && !points))
			continue;
		if (!found || rql_index_rank(of->form) > rql_index_rank(out->form))
			*out = *of;
		found = true;
	}
	return found;
}

double rql_index_guess(const struct rql_store_column *column, const struct rql_index_test *test, double rows)
{
	rql_int128 least, greatest;
	rql_index_column_bounds(column, &least, &greatest);
	const double all = (double)greatest - (double)least + 1;
	double values = (double)rql_index_test_values(test);
	return all > values ? rows * values / all : rows;
}

/* The tests that are looked up by an index: as many of its first columns as there are. */
struct cover {
	struct rql_index_of of;
	uint32_t count, tests[RQL_INDEX_COLUMNS_MOST];
	uint32_t tuple; /* whose parts some of them are; 0: none's */
};

static bool is_point(const struct rql_index_test *test)
{
	return test->count == 1 && test->ranges[0].least == test->ranges[0].greatest;
}

/* Single values of the first columns, and whatever is asked of the next one. */
static bool cover_several(const struct rql_index_choice *p, const struct rql_index_of *of, struct cover *out)
{
	const bool can = takes(p->forms, of);
	bool points = true;
	*out = (struct cover){.of = *of};
	while (out->count < rql_index_columns(of) && points && can) {
		const uint32_t column = rql_index_column(of, out->count);
		uint32_t found = RQL_NONE;
		for (uint32_t t = 0; t < p->test_count; t++)
			if (p->tests[t].column == column && (found == RQL_NONE || is_point(&p->tests[t])))
				found = t;
		if (found == RQL_NONE)
			break;
		points = is_point(&p->tests[found]);
		out->tests[out->count++] = found;
	}
	const bool all = out->count == rql_index_columns(of);
	return can && out->count && (of->form != RQL_INDEX_HASH ||
	                             (all && rql_index_test_values(&p->tests[out->tests[out->count - 1]]) <= RQL_INDEX_RANGES_MOST));
}

/* What is asked of the column beside the tuple's values: a single value, or at the end one range. */
static uint32_t find_beside(const struct rql_index_choice *p, uint32_t column, bool at_end)
{
	uint32_t found = RQL_NONE;
	for (uint32_t t = 0; t < p->test_count; t++)
		if (p->tests[t].column == column && (is_point(&p->tests[t]) || (at_end && found == RQL_NONE && p->tests[t].count == 1)))
			found = t;
	return found;
}

/* How many tests from the first one on are parts of its tuple. */
static uint32_t parts_of(const struct rql_index_choice *p, uint32_t first)
{
	uint32_t parts = 1;
	while (first + parts < p->test_count && p->tests[first + parts].tuple == p->tests[first].tuple)
		parts++;
	return parts;
}

static uint32_t find_part(const struct rql_index_choice *p, uint32_t first, uint32_t parts, uint32_t column)
{
	uint32_t found = RQL_NONE;
	for (uint32_t t = first; t < first + parts && found == RQL_NONE; t++)
		found = p->tests[t].column == column ? t : found;
	return found;
}

/* The values of all parts of a tuple, whose tests begin with `first`, and single values of the columns before, between and
 * behind them. */
static bool cover_tuple(const struct rql_index_choice *p, const struct rql_index_of *of, uint32_t first, struct cover *out)
{
	const struct rql_index_test *tests = p->tests;
	const uint32_t parts = parts_of(p, first);
	uint32_t covered = 0;
	const bool can = takes(p->forms, of);
	bool points = true;
	*out = (struct cover){.of = *of, .tuple = tests[first].tuple};
	while (out->count < rql_index_columns(of) && points && can) {
		const uint32_t column = rql_index_column(of, out->count), part = find_part(p, first, parts, column);
		const uint32_t found = part != RQL_NONE ? part : find_beside(p, column, covered == parts);
		if (found == RQL_NONE)
			break;
		covered += part != RQL_NONE;
		points = part != RQL_NONE || is_point(&tests[found]);
		out->tests[out->count++] = found;
	}
	return can && covered == parts && (of->form != RQL_INDEX_HASH || (points && out->count == rql_index_columns(of)));
}

/* Counts, where runs are there. */
static rql_status look(struct rql_index_choice *p, const struct cover *cover, const struct rql_index_test *tests,
                       struct rql_device *device, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	const struct rql_index_test *last = &tests[cover->tests[cover->count - 1]];
	const uint32_t look_ups = rql_index_look_ups(tests, cover->tests, cover->count, cover->tuple);
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	p->of = cover->of;
	p->covered = cover->count;
	p->tuple = cover->tuple;
	p->points = ((p->tuple && last->tuple == p->tuple) || is_points(last)) && cover->count == rql_index_columns(&cover->of);
	p->found = p->missing_rows = p->missing = p->look_ups = 0;
	p->prefix = false;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const struct rql_index_of as = rql_index_auto(segment, &cover->of, p->points, device);
		struct rql_index_run *run = NULL;
		const uint32_t *rows;
		if (!rql_index_run_there(segment, &as, device)) {
			double share = 1;
			for (uint32_t c = 0; c < cover->count; c++)
				share *= rql_index_guess(&snapshot->columns[rql_index_column(&cover->of, c)], &tests[cover->tests[c]], 1);
			p->missing++;
			p->missing_rows += (double)segment->rows;
			p->found += share * (double)segment->rows;
			continue;
		}
		RQL_TRY(rql_index_run_get(snapshot, s, &as, device, NULL, &run, err));
		for (uint32_t i = 0; i < look_ups; i++) {
			rql_index_sought(tests, cover->tests, cover->count, cover->tuple, i, ranges);
			p->found += rql_index_run_find(run, segment, ranges, cover->count, &rows);
		}
		p->look_ups += look_ups;
		p->prefix = p->prefix || run->key.prefix;
		rql_placement_release(&run->placement);
	}
	return RQL_OK;
}

/* Keeps the cover where it leaves fewer rows than the best one so far. */
static rql_status try_cover(struct rql_index_choice *p, struct cover *cover, struct rql_index_choice *best,
                            struct cover *best_cover, struct rql_device *device, struct rql_error *err)
{
	struct rql_index_choice tried = {.snapshot = p->snapshot, .forms = p->forms};
	struct rql_index_test *last = &p->tests[cover->tests[cover->count - 1]];
	if (cover->of.form == RQL_INDEX_HASH)
		RQL_TRY(rql_index_test_spread(last, rql_index_test_values(last), err));
	RQL_TRY(look(&tried, cover, p->tests, device, err));
	if (best_cover->count && tried.found >= best->found)
		return RQL_OK;
	*best = tried;
	*best_cover = *cover;
	return RQL_OK;
}

/* The tests of the cover, in its order, become the first ones. */
static void take_cover(struct rql_index_choice *p, const struct cover *cover, const struct rql_index_choice *found)
{
	const struct rql_index_choice before = *p;
	struct rql_index_test moved[RQL_INDEX_COLUMNS_MOST];
	uint32_t kept = p->test_count;
	for (uint32_t c = 0; c < cover->count; c++)
		moved[c] = p->tests[cover->tests[c]];
	for (uint32_t t = p->test_count; t-- > 0;) { /* the others, from behind, keep their order */
		bool looked_up = false;
		for (uint32_t c = 0; c < cover->count; c++)
			looked_up = looked_up || cover->tests[c] == t;
		if (!looked_up)
			p->tests[--kept] = p->tests[t];
	}
	*p = *found;
	p->snapshot = before.snapshot;
	p->test_count = before.test_count;
	p->tests = before.tests;
	for (uint32_t c = 0; c < cover->count; c++)
		p->tests[c] = moved[c];
}

/* Of all indexes that can look some tests up: the one that leaves the fewest rows. */
static rql_status choose_test(struct rql_index_choice *p, const struct rql_request *request, struct rql_device *device,
                              struct rql_error *err)
{
	struct rql_index_choice best = {0};
	struct cover best_cover = {0}, cover;
	for (uint32_t t = 0; t < p->test_count; t++) {
		cover = (struct cover){.count = 1, .tests = {t}};
		if (choose_form(p->forms, request, &p->tests[t], &cover.of))
			RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	}
	for (uint32_t t = 0; t < p->test_count; t++) {
		const bool begins = p->tests[t].tuple && (!t || p->tests[t - 1].tuple != p->tests[t].tuple);
		for (uint32_t i = 0; i < request->index_count && begins; i++)
			if (cover_tuple(p, &request->indexes[i], t, &cover))
				RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	}
	for (uint32_t i = 0; i < request->index_count; i++)
		if (request->indexes[i].more_count && cover_several(p, &request->indexes[i], &cover))
			RQL_TRY(try_cover(p, &cover, &best, &best_cover, device, err));
	if (!best_cover.count)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "an index that is hashed looks no ranges up, and one of several columns needs the first");
	take_cover(p, &best_cover, &best);
	return RQL_OK;
}

static rql_status make_tests(struct rql_index_choice *p, const struct rql_conjunct *c, uint32_t number, struct rql_error *err)
{
	if (!c->tuples.parts)
		return rql_index_test_make(p->snapshot, c, &p->tests[p->test_count++], err);
	for (uint32_t part = 0; part < c->tuples.parts; part++)
		RQL_TRY(rql_index_test_make_part(p->snapshot, &c->tuples, part, number, &p->tests[p->test_count++], err));
	return RQL_OK;
}

rql_status rql_index_choose(unsigned forms, const struct rql_request *request, struct rql_device *cpu,
                            struct rql_index_choice *out, struct rql_error *err)
{
	out->forms = forms;
	out->snapshot = rql_store_snapshot_retain(request->snapshot);
	out->tests = calloc(RQL_INDEX_COLUMNS_MOST * (size_t)request->conjunct_count, sizeof(*out->tests)); /* of tuples */
	if (!out->tests)
		return rql_error_memory(err, 0, "look-ups");
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		RQL_TRY(make_tests(out, &request->conjuncts[c], c + 1, err));
	return choose_test(out, request, cpu, err);
}
