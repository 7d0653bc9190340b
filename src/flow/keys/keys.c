/* Rows' keys as words: see the header.
 *
 * What it must do for a column of integers: read it twice (the range, the words), and the words once for each column after
 * the first: some 20 bytes and 3 ns a row; a string is hashed and looked up, some 50 ns, unless its dictionary was. */
#include "flow/keys/keys.h"

#include <stdatomic.h>
#include <string.h>
#include "flow/keys/places.h"

bool rql_key_type(struct rql_type type)
{
	return rql_type_bytes(type) && type.id != RQL_TYPE_INTERVAL && type.id != RQL_TYPE_SQLNULL &&
	       type.id != RQL_TYPE_INVALID;
}

static bool is_string(struct rql_type t)
{
	return t.id == RQL_TYPE_VARCHAR || t.id == RQL_TYPE_BLOB;
}

/* ---- one column of all sides ---- */

struct column {
	struct rql_running *r;
	struct rql_keys *keys;
	uint32_t number, side;
	bool nulls_equal, numbered;
	rql_uint128 least, greatest; /* places of the first side's values, if there are any */
	bool any, nulls;             /* on the first side */
	uint64_t span;               /* greatest distance, that of NULL included */
	unsigned bits;
	uint64_t **distances;        /* numbered: [side][rows] */
	/* For ranges: one of each worker. */
	struct range {
		rql_uint128 least, greatest;
		bool any, nulls;
		char room[64];
	} *ranges;
};

static rql_status measure(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct column *c = state;
	const struct rql_key_side *side = &c->keys->sides[0];
	const struct rql_vector *v = &side->vectors[c->number];
	struct range *range = &c->ranges[worker];
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	uint64_t places[RQL_VECTOR_ROWS];
	bool wide = rql_place_is_wide(v->type);
	(void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, first + rows);
		const uint32_t *list = rql_rowset_rows(side->set, at, n, numbers);
		const uint64_t *valid = wide ? rql_wide_places(v, list, n, &room) : rql_narrow_places(v, list, n, &room, places);
		uint64_t least = UINT64_MAX, greatest = 0;
		for (uint32_t i = 0; i < n && !wide && !valid; i++) {
			least = places[i] < least ? places[i] : least;
			greatest = places[i] > greatest ? places[i] : greatest;
		}
		if (!wide && !valid) {
			range->least = range->any && range->least < least ? range->least : least;
			range->greatest = range->any && range->greatest > greatest ? range->greatest : greatest;
			range->any = true;
			continue;
		}
		for (uint32_t i = 0; i < n; i++) {
			rql_uint128 place = wide ? (rql_uint128)room.data[i] : places[i];
			if (!rql_bit_valid(valid, i)) {
				range->nulls = true;
				continue;
			}
			range->least = range->any && range->least < place ? range->least : place;
			range->greatest = range->any && range->greatest > place ? range->greatest : place;
			range->any = true;
		}
	}
	return RQL_OK;
}

static unsigned bits_of(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

/* How far the values reach. False: too far for a word, so that they must be numbered. */
static rql_status find_range(struct column *c, bool *fits)
{
	unsigned threads = rql_running_threads(c->r);
	if (!(c->ranges = RQL_NEW_ARRAY(c->r->arena, struct range, threads)))
		return rql_error_memory(c->r->err, 0, "keys of rows");
	RQL_TRY(rql_morsels_run(c->r, c->keys->sides[0].set->rows, measure, c));
	for (unsigned t = 0; t < threads; t++) {
		const struct range *range = &c->ranges[t];
		c->nulls |= range->nulls;
		if (!range->any)
			continue;
		c->least = c->any && c->least < range->least ? c->least : range->least;
		c->greatest = c->any && c->greatest > range->greatest ? c->greatest : range->greatest;
		c->any = true;
	}
	rql_uint128 span = c->any ? c->greatest - c->least : 0;
	bool null_code = c->nulls_equal && c->nulls && c->any;
	*fits = span < (rql_uint128)UINT64_MAX + !null_code;
	c->span = (uint64_t)span + null_code;
	c->bits = bits_of(c->span);
	return RQL_OK;
}

/* ---- numbering: values that have no room in a word, and strings ---- */

struct entry {
	uint64_t hash;
	union {
		rql_uint128 place;
		struct {
			const char *data;
			uint64_t length;
		};
	};
	uint32_t number; /* from 1 on; 0: empty */
};
struct numbering {
	struct rql_running *r;
	struct entry *entries;
	uint64_t mask, count;
	bool strings;
};

static uint64_t hash_bytes(const char *data, uint64_t length)
{
	uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15), word;
	for (; length >= 8; data += 8, length -= 8) {
		memcpy(&word, data, 8);
		hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
		hash ^= hash >> 29;
	}
	word = 0;
	if (length)
		memcpy(&word, data, length);
	return rql_key_hash(hash ^ word);
}

static bool same(const struct numbering *n, const struct entry *a, const struct entry *b)
{
	if (a->hash != b->hash)
		return false;
	return n->strings ? a->length == b->length && (!a->length || !memcmp(a->data, b->data, a->length))
	                  : a->place == b->place;
}

static rql_status grow(struct numbering *n)
{
	struct entry *old = n->entries;
	uint64_t size = n->mask + 1, wider = old ? 4 * size : 1024;
	RQL_TRY(RQL_ZEROED_SCRATCH(n->r, n->entries, wider));
	n->mask = wider - 1;
	for (uint64_t i = 0; old && i < size; i++) {
		if (!old[i].number)
			continue;
		uint64_t at = old[i].hash & n->mask;
		while (n->entries[at].number)
			at = (at + 1) & n->mask;
		n->entries[at] = old[i];
	}
	return RQL_OK;
}

/* The number of a value, a new one where `add`; 0: it has none. */
static rql_status number_of(struct numbering *n, const struct entry *value, bool add, uint32_t *out)
{
	if (!n->entries || n->count * 2 > n->mask)
		RQL_TRY(grow(n));
	uint64_t at = value->hash & n->mask;
	while (n->entries[at].number && !same(n, &n->entries[at], value))
		at = (at + 1) & n->mask;
	if (!n->entries[at].number && add) {
		n->entries[at] = *value;
		n->entries[at].number = (uint32_t)++n->count;
	}
	*out = n->entries[at].number;
	return RQL_OK;
}

static struct entry string_entry(const struct rql_string *s)
{
	struct entry e = {.data = rql_string_data(s), .length = s->length};
	e.hash = hash_bytes(e.data, e.length);
	return e;
}

static struct entry place_entry(rql_uint128 place)
{
	struct entry e = {.place = place};
	e.hash = rql_key_hash((uint64_t)place ^ rql_key_hash((uint64_t)(place >> 64) + 1));
	return e;
}

/* Strings of a dictionary are looked up once for each of its codes that occurs. */
static uint32_t greatest_code(const struct rql_vector *v, const struct rql_rowset *set)
{
	uint32_t greatest = 0;
	for (uint64_t i = 0; i < set->rows; i++) {
		uint32_t row = rql_rowset_row(set, i);
		row = v->at ? v->at[row] : row;
		if (row != RQL_NO_ROW && v->codes[row] > greatest)
			greatest = v->codes[row];
	}
	return greatest;
}

#define NOT_SEEN UINT32_MAX

struct string_side {
	const struct rql_vector *v;
	const struct rql_string *strings;
	uint32_t *of_code; /* NULL: the dictionary has more entries than there are rows */
	bool add;
};

static rql_status string_number(struct numbering *n, const struct string_side *s, uint32_t row, uint32_t *out)
{
	const struct rql_vector *v = s->v;
	row = v->at ? v->at[row] : row;
	*out = NOT_SEEN; /* NULL */
	if (row == RQL_NO_ROW && v->outer)
		return RQL_OK;
	uint32_t at = v->kind == RQL_VECTOR_CODES ? v->codes[row] : row;
	if (!rql_column_valid(v->values, at))
		return RQL_OK;
	if (s->of_code && s->of_code[at] != NOT_SEEN) {
		*out = s->of_code[at];
		return RQL_OK;
	}
	struct entry e = string_entry(&s->strings[at]);
	RQL_TRY(number_of(n, &e, s->add, out));
	if (s->of_code)
		s->of_code[at] = *out;
	return RQL_OK;
}

/* distances[i]: the value's number, 0 where the first side has no such value, NOT_SEEN where it is NULL. */
static rql_status number_strings(struct column *c, uint32_t side, struct numbering *n, uint64_t *distances)
{
	const struct rql_rowset *set = c->keys->sides[side].set;
	struct string_side s = {.v = &c->keys->sides[side].vectors[c->number], .add = side == 0};
	s.strings = s.v->values->data;
	if (s.v->kind == RQL_VECTOR_CODES && set->rows) {
		uint64_t entries = (uint64_t)greatest_code(s.v, set) + 1;
		if (entries <= set->rows) {
			RQL_TRY(RQL_SCRATCH(c->r, s.of_code, entries));
			memset(s.of_code, 0xff, entries * sizeof *s.of_code);
		}
	}
	for (uint64_t i = 0; i < set->rows; i++) {
		uint32_t number;
		RQL_TRY(string_number(n, &s, rql_rowset_row(set, i), &number));
		distances[i] = number == NOT_SEEN ? UINT64_MAX : number;
	}
	return RQL_OK;
}

static rql_status number_places(struct column *c, uint32_t side, struct numbering *n, uint64_t *distances)
{
	const struct rql_key_side *s = &c->keys->sides[side];
	const struct rql_vector *v = &s->vectors[c->number];
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	uint64_t places[RQL_VECTOR_ROWS];
	bool wide = rql_place_is_wide(v->type);
	for (uint64_t at = 0; at < s->set->rows; at += RQL_VECTOR_ROWS) {
		uint32_t count = rql_vector_part(at, s->set->rows);
		const uint32_t *list = rql_rowset_rows(s->set, at, count, numbers);
		const uint64_t *valid =
			wide ? rql_wide_places(v, list, count, &room) : rql_narrow_places(v, list, count, &room, places);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t number = NOT_SEEN;
			struct entry e = place_entry(wide ? (rql_uint128)room.data[i] : places[i]);
			if (rql_bit_valid(valid, i))
				RQL_TRY(number_of(n, &e, side == 0, &number));
			distances[at + i] = number == NOT_SEEN ? UINT64_MAX : number;
		}
	}
	return RQL_OK;
}

static rql_status number_column(struct column *c)
{
	struct numbering n = {.r = c->r, .strings = is_string(c->keys->sides[0].vectors[c->number].type)};
	if (!(c->distances = RQL_NEW_ARRAY(c->r->arena, uint64_t *, c->keys->side_count)))
		return rql_error_memory(c->r->err, 0, "keys of rows");
	for (uint32_t s = 0; s < c->keys->side_count; s++) {
		RQL_TRY(RQL_SCRATCH(c->r, c->distances[s], c->keys->sides[s].set->rows));
		RQL_TRY(n.strings ? number_strings(c, s, &n, c->distances[s]) : number_places(c, s, &n, c->distances[s]));
	}
	c->numbered = true;
	c->span = n.count; /* 0 is for NULL */
	c->bits = bits_of(c->span);
	return RQL_OK;
}

/* ---- words ---- */

struct appending {
	struct column *c;
	struct rql_key_side *side;
	unsigned shift;
	bool first; /* there are no words yet */
};

/* Bytes of 0 and 1 as bits, eight at a time, without a branch for each. */
static void add_bits(uint64_t *bits, const bool *bytes, uint32_t n)
{
	uint32_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t eight;
		memcpy(&eight, bytes + i, 8);
		bits[i / 64] |= (eight * UINT64_C(0x0102040810204080) >> 56) << i % 64;
	}
	for (; i < n; i++)
		rql_bit_or(bits, i, bytes[i]);
}

/* What becomes of `n` rows' distances; `first` is a multiple of 64. */
static void append(const struct appending *a, uint64_t first, uint32_t n, const uint64_t *distances, const bool *out)
{
	uint64_t *words = a->side->words + first;
	unsigned shift = a->shift;
	if (a->first || shift == 64)
		memcpy(words, distances, n * sizeof *words);
	else
		for (uint32_t i = 0; i < n; i++)
			words[i] = words[i] << shift | distances[i];
	if (a->side->none)
		add_bits(a->side->none + first / 64, out, n);
}

static rql_status append_numbered(const struct appending *a, uint64_t first, uint64_t rows)
{
	const struct column *c = a->c;
	const uint64_t *numbers = c->distances[a->side - c->keys->sides];
	uint64_t distances[RQL_VECTOR_ROWS];
	bool out[RQL_VECTOR_ROWS];
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, first + rows);
		for (uint32_t i = 0; i < n; i++) {
			bool null = numbers[at + i] == UINT64_MAX;
			distances[i] = null ? 0 : numbers[at + i];
			out[i] = null ? !c->nulls_equal : !numbers[at + i];
		}
		append(a, at, n, distances, out);
	}
	return RQL_OK;
}

static rql_status append_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct appending *a = state;
	const struct column *c = a->c;
	const struct rql_vector *v = &a->side->vectors[c->number];
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	uint64_t places[RQL_VECTOR_ROWS];
	bool out[RQL_VECTOR_ROWS], wide = rql_place_is_wide(v->type), null_code = c->nulls_equal && c->nulls;
	uint64_t last = c->any ? (uint64_t)(c->greatest - c->least) : 0;
	(void)worker, (void)err;
	if (c->numbered)
		return append_numbered(a, first, rows);
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(at, first + rows);
		const uint32_t *list = rql_rowset_rows(a->side->set, at, n, numbers);
		const uint64_t *valid = wide ? rql_wide_places(v, list, n, &room) : rql_narrow_places(v, list, n, &room, places);
		for (uint32_t i = 0; i < n && wide; i++) {
			rql_uint128 distance = (rql_uint128)room.data[i] - c->least;
			places[i] = (uint64_t)distance;
			out[i] = !c->any || distance > last;
		}
		uint64_t least = (uint64_t)c->least;
		for (uint32_t i = 0; i < n && !wide; i++) {
			places[i] -= least;
			out[i] = !c->any || places[i] > last;
		}
		for (uint32_t i = 0; i < n && valid; i++)
			if (!rql_bit_valid(valid, i)) {
				places[i] = c->span;
				out[i] = !null_code;
			}
		for (uint32_t i = 0; i < n; i++)
			places[i] = out[i] ? 0 : places[i];
		append(a, at, n, places, out);
	}
	return RQL_OK;
}

/* ---- words that would be too long ---- */

/* Numbers in place of the words so far, so that there is room for another column. */
static rql_status shorten(struct rql_running *r, struct rql_keys *keys)
{
	struct numbering n = {.r = r};
	for (uint32_t s = 0; s < keys->side_count; s++) {
		struct rql_key_side *side = &keys->sides[s];
		for (uint64_t i = 0; i < side->set->rows; i++) {
			struct entry e = place_entry(side->words[i]);
			uint32_t number;
			if (rql_key_is_none(side, i)) {
				side->words[i] = 0;
				continue;
			}
			RQL_TRY(number_of(&n, &e, s == 0, &number));
			side->words[i] = number;
			if (!number)
				rql_bit_set(side->none, i);
		}
	}
	keys->bits = bits_of(n.count);
	return RQL_OK;
}

/* May rows of this side be none? Of the first one only with NULLs that equal nothing. */
static rql_status make_room(struct rql_running *r, struct rql_keys *keys, uint32_t s)
{
	struct rql_key_side *side = &keys->sides[s];
	bool none = s > 0;
	for (uint32_t k = 0; k < keys->columns; k++)
		none |= !keys->nulls_equal[k] && rql_vector_nullable(&side->vectors[k]);
	RQL_TRY(keys->columns ? RQL_SCRATCH(r, side->words, side->set->rows)
	                      : RQL_ZEROED_SCRATCH(r, side->words, side->set->rows));
	if (none)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, side->none, (side->set->rows + 63) / 64));
	return RQL_OK;
}

static rql_status add_column(struct rql_running *r, struct rql_keys *keys, uint32_t k)
{
	struct column c = {.r = r, .keys = keys, .number = k, .nulls_equal = keys->nulls_equal[k]};
	bool fits = false;
	if (!is_string(keys->sides[0].vectors[k].type))
		RQL_TRY(find_range(&c, &fits));
	if (!fits || c.bits + (keys->bits > 32 ? 32 : keys->bits) > 64)
		RQL_TRY(number_column(&c));
	if (c.bits + keys->bits > 64)
		RQL_TRY(shorten(r, keys));
	if (c.bits + keys->bits > 64 && !c.numbered) {
		c = (struct column){.r = r, .keys = keys, .number = k, .nulls_equal = keys->nulls_equal[k]};
		RQL_TRY(number_column(&c));
	}
	for (uint32_t s = 0; s < keys->side_count; s++) {
		struct appending a = {&c, &keys->sides[s], c.bits, k == 0};
		RQL_TRY(rql_morsels_run(r, keys->sides[s].set->rows, append_morsel, &a));
	}
	keys->bits += c.bits;
	return RQL_OK;
}

rql_status rql_keys_make(struct rql_running *r, struct rql_keys *keys)
{
	keys->bits = 0;
	for (uint32_t s = 0; s < keys->side_count; s++)
		RQL_TRY(make_room(r, keys, s));
	for (uint32_t k = 0; k < keys->columns; k++)
		RQL_TRY(add_column(r, keys, k));
	return RQL_OK;
}

/* ---- strings by hash ---- */

bool rql_keys_can_hash(const struct rql_keys *keys)
{
	return keys->columns == 1 && keys->side_count == 2 && !keys->nulls_equal[0] && is_string(keys->sides[0].vectors[0].type);
}

/* NULL: the row's value is. */
static const struct rql_string *string_at(const struct rql_vector *v, uint32_t row)
{
	row = v->at ? v->at[row] : row;
	if (row == RQL_NO_ROW && v->outer)
		return NULL;
	const uint32_t at = v->kind == RQL_VECTOR_CODES ? v->codes[row] : row;
	return rql_column_valid(v->values, at) ? (const struct rql_string *)v->values->data + at : NULL;
}

static rql_status hash_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct rql_key_side *side = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		const struct rql_string *s = string_at(&side->vectors[0], rql_rowset_row(side->set, i));
		side->words[i] = s ? string_entry(s).hash : 0;
		if (!s)
			rql_bit_set(side->none, i);
	}
	return RQL_OK;
}

rql_status rql_keys_hash(struct rql_running *r, struct rql_keys *keys)
{
	keys->bits = 64;
	for (uint32_t s = 0; s < keys->side_count; s++) {
		struct rql_key_side *side = &keys->sides[s];
		RQL_TRY(RQL_SCRATCH(r, side->words, side->set->rows));
		if (rql_vector_nullable(&side->vectors[0]))
			RQL_TRY(RQL_ZEROED_SCRATCH(r, side->none, (side->set->rows + 63) / 64));
		RQL_TRY(rql_morsels_run(r, side->set->rows, hash_morsel, side));
	}
	return RQL_OK;
}

bool rql_keys_same(const struct rql_keys *keys, uint32_t first, uint32_t second)
{
	const struct rql_string *a = string_at(&keys->sides[0].vectors[0], rql_rowset_row(keys->sides[0].set, first));
	const struct rql_string *b = string_at(&keys->sides[1].vectors[0], rql_rowset_row(keys->sides[1].set, second));
	return a && b && a->length == b->length &&
	       (!a->length || !memcmp(rql_string_data(a), rql_string_data(b), a->length));
}
