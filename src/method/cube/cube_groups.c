/* Group numbers (RTCUDB section 4.3: group keys are dictionary-encoded in their natural order, so that ORDER BY
 * over a prefix of them costs nothing). Keys that live on one digit are numbered together, by their distinct tuples: a
 * hierarchy's levels cost no more than its finest. Only values that can qualify are numbered, so the groups are as few
 * as possible. */
#include "method/cube/cube_query.h"
#include "util/sort.h"

struct rql_cube_pair *rql_cube_sort_pairs(struct rql_cube_pair *pairs, struct rql_cube_pair *scratch, uint64_t count)
{
	return rql_sort_keyed(pairs, scratch, count, sizeof *pairs, offsetof(struct rql_cube_pair, key));
}

uint64_t rql_cube_group_bound(const struct rql_cube *cube, const struct rql_request *request)
{
	uint64_t bound = 1;
	for (uint32_t d = 0; d < cube->digit_count; d++) {
		uint64_t tuples = 1;
		for (uint32_t g = 0; g < request->group_count; g++)
			if (cube->dimensions[request->groups[g].source.index].digit == d &&
			    __builtin_mul_overflow(tuples, request->groups[g].key_count, &tuples))
				tuples = UINT64_MAX;
		tuples = tuples < cube->digits[d].radix ? tuples : cube->digits[d].radix;
		if (__builtin_mul_overflow(bound, tuples ? tuples : 1, &bound))
			return UINT64_MAX;
	}
	return bound;
}

static uint32_t key_at(const struct rql_cube *cube, const struct rql_group_key *key, uint32_t value)
{
	uint32_t code = cube->dimensions[key->source.index].code_of_digit[value];
	return key->key_of_code ? key->key_of_code[code] : code;
}

/* Replaces the passing entries of `tuple` by their ranks among the distinct ones; the number of these, or UINT64_MAX
 * when out of memory. limit is above every entry. */
static uint64_t rank_tuples(uint64_t *tuple, const uint8_t *pass, uint32_t radix, uint64_t limit,
                            struct rql_arena *scratch)
{
	uint64_t passing = 0, distinct = 0, last = 0;
	bool ascending = true;
	for (uint32_t v = 0; v < radix; v++) {
		if (!pass[v])
			continue;
		ascending &= passing == 0 || tuple[v] >= last;
		last = tuple[v];
		passing++;
	}
	if (ascending) { /* a level of the digit's own hierarchy: the common case */
		for (uint32_t v = 0; v < radix; v++) {
			if (!pass[v])
				continue;
			uint64_t here = tuple[v];
			distinct += distinct == 0 || here != last;
			last = here;
			tuple[v] = distinct - 1;
		}
		return distinct;
	}
	if (limit <= 8 * (uint64_t)radix + 1024) { /* few possible tuples: mark and count */
		uint32_t *rank = RQL_NEW_ARRAY(scratch, uint32_t, limit);
		if (!rank)
			return UINT64_MAX;
		for (uint32_t v = 0; v < radix; v++)
			if (pass[v])
				rank[tuple[v]] = 1;
		for (uint64_t t = 0; t < limit; t++)
			if (rank[t])
				rank[t] = (uint32_t)distinct++;
		for (uint32_t v = 0; v < radix; v++)
			if (pass[v])
				tuple[v] = rank[tuple[v]];
		return distinct;
	}
	struct rql_cube_pair *pairs = RQL_NEW_ARRAY(scratch, struct rql_cube_pair, passing);
	struct rql_cube_pair *other = RQL_NEW_ARRAY(scratch, struct rql_cube_pair, passing);
	if (!pairs || !other)
		return UINT64_MAX;
	uint64_t n = 0;
	for (uint32_t v = 0; v < radix; v++)
		if (pass[v])
			pairs[n++] = (struct rql_cube_pair){.key = tuple[v], .value = v};
	pairs = rql_cube_sort_pairs(pairs, other, n);
	for (uint64_t i = 0; i < n; i++) {
		distinct += i == 0 || pairs[i].key != pairs[i - 1].key;
		tuple[pairs[i].value] = distinct - 1;
	}
	return distinct;
}

/* Numbers the tuples of one digit. */
static rql_status number_digit(struct rql_prepared *p, const struct rql_request *request,
                               struct rql_cube_group_digit *gd, const uint8_t *pass, struct rql_arena *scratch,
                               int32_t **gid, struct rql_error *err)
{
	const struct rql_cube *cube = p->cube;
	uint32_t radix = cube->digits[gd->digit].radix;
	uint64_t *tuple = RQL_NEW_ARRAY(scratch, uint64_t, radix); /* zeroed: one tuple so far */
	int32_t *out = RQL_NEW_ARRAY(scratch, int32_t, radix);
	if (!tuple || !out)
		return rql_error_memory(err, (uint64_t)radix * 12, "numbering groups");
	uint64_t distinct = 1;
	for (uint32_t g = 0; g < request->group_count; g++) {
		const struct rql_group_key *key = &request->groups[g];
		if (cube->dimensions[key->source.index].digit != gd->digit)
			continue;
		/* distinct <= radix and key_count are below 2^32: no overflow. */
		for (uint32_t v = 0; v < radix; v++)
			if (pass[v])
				tuple[v] = tuple[v] * key->key_count + key_at(cube, key, v);
		distinct = rank_tuples(tuple, pass, radix, distinct * key->key_count, scratch);
		if (distinct == UINT64_MAX)
			return rql_error_memory(err, (uint64_t)radix * 32, "numbering groups");
	}
	for (uint32_t v = 0; v < radix; v++)
		out[v] = pass[v] ? (int32_t)tuple[v] : -1;
	gd->count = (uint32_t)distinct;
	gd->key_of_gid = RQL_NEW_ARRAY(p->arena, uint32_t *, gd->key_count);
	if (!gd->key_of_gid)
		return rql_error_memory(err, gd->key_count * sizeof(uint32_t *), "numbering groups");
	uint32_t k = 0;
	for (uint32_t g = 0; g < request->group_count; g++) {
		const struct rql_group_key *key = &request->groups[g];
		if (cube->dimensions[key->source.index].digit != gd->digit)
			continue;
		uint32_t *keys = RQL_NEW_ARRAY(p->arena, uint32_t, distinct);
		if (!keys)
			return rql_error_memory(err, distinct * sizeof(*keys), "numbering groups");
		for (uint32_t v = 0; v < radix; v++)
			if (pass[v])
				keys[tuple[v]] = key_at(cube, key, v);
		gd->key_of_gid[k++] = keys;
	}
	*gid = out;
	return RQL_OK;
}

/* Where a key of the request is. */
struct group_key {
	uint32_t group_digit, key;
};

/* Finds the digits of the group keys, in the order of their first key, which makes the first key's digit the most
 * significant. */
static rql_status find_group_digits(struct rql_prepared *p, const struct rql_request *request, struct group_key *keys,
                                    struct rql_error *err)
{
	p->group_digits = RQL_NEW_ARRAY(p->arena, struct rql_cube_group_digit, request->group_count);
	if (!p->group_digits)
		return rql_error_memory(err, request->group_count * sizeof(*p->group_digits), "group keys");
	for (uint32_t g = 0; g < request->group_count; g++) {
		uint32_t digit = p->cube->dimensions[request->groups[g].source.index].digit, i = 0;
		while (i < p->group_digit_count && p->group_digits[i].digit != digit)
			i++;
		if (i == p->group_digit_count)
			p->group_digits[p->group_digit_count++].digit = digit;
		keys[g] = (struct group_key){.group_digit = i, .key = p->group_digits[i].key_count++};
	}
	/* The groups ascend by the digits' keys one after the other: as far as that is the request's order, they are
	 * sorted. */
	uint32_t digit = 0, key = 0;
	for (p->sorted_keys = 0; p->sorted_keys < request->group_count; p->sorted_keys++) {
		const struct group_key *wanted = &keys[p->sorted_keys];
		if (wanted->group_digit != digit || wanted->key != key)
			break;
		if (++key == p->group_digits[digit].key_count) {
			digit++;
			key = 0;
		}
	}
	return RQL_OK;
}

rql_status rql_cube_number_groups(struct rql_prepared *p, const struct rql_request *request, uint8_t *const *any_pass,
                                  struct rql_arena *scratch, int32_t **gid, struct rql_error *err)
{
	struct rql_groups_layout *layout = &p->layout;
	struct group_key *keys = RQL_NEW_ARRAY(scratch, struct group_key, request->group_count);
	layout->keys = RQL_NEW_ARRAY(p->arena, struct rql_groups_key, request->group_count);
	if (!keys || !layout->keys)
		return rql_error_memory(err, request->group_count * sizeof(*keys), "group keys");
	layout->key_count = request->group_count;
	layout->scalar = request->group_count == 0;
	layout->one_copy = true; /* additions take turns anyway (cube_accumulate.c) */
	RQL_TRY(find_group_digits(p, request, keys, err));
	for (uint32_t i = 0; i < p->group_digit_count; i++) {
		struct rql_cube_group_digit *gd = &p->group_digits[i];
		RQL_TRY(number_digit(p, request, gd, any_pass[gd->digit], scratch, &gid[gd->digit], err));
	}
	layout->group_count = 1;
	for (uint32_t i = p->group_digit_count; i-- > 0;) {
		p->group_digits[i].stride = layout->group_count;
		if (__builtin_mul_overflow(layout->group_count, p->group_digits[i].count, &layout->group_count) ||
		    layout->group_count > RQL_GROUPS_MOST)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
			                     "the group keys have more than 2^62 combinations; group by fewer of them");
	}
	for (uint32_t g = 0; g < request->group_count; g++) {
		const struct rql_cube_group_digit *digit = &p->group_digits[keys[g].group_digit];
		layout->keys[g] = (struct rql_groups_key){
			.keys = digit->key_of_gid[keys[g].key], .key_count = digit->count, .stride = digit->stride};
	}
	return RQL_OK;
}
