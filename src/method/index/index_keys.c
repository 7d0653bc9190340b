/* Keys of rows that lie on a GPU, as keys of an index. */
#include "method/index/index_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/index/index_choose.h"
#include "method/index/index_kernels.h"

/* ---- what it can do ---- */
static const char *refuse_field(const struct rql_store_column *to, const struct rql_store_column *from)
{
	if (to->kind != from->kind)
		return "the keys lie otherwise than the column's values";
	if (to->kind == RQL_STORE_INTEGER)
		return from->least <= to->least && from->greatest >= to->greatest ? NULL
		                                                                  : "the keys do not count from below the column's";
	return to->kind == RQL_STORE_REAL || from->dimension->values.data == to->dimension->values.data
	           ? NULL
	           : "the keys are codes of another dictionary";
}

const char *rql_index_keys_refusal(const struct rql_request *request)
{
	const struct rql_keys_in *keys = request->keys;
	const struct rql_store_column *from = &keys->from.form->columns[keys->key];
	const char *why = rql_form_bits(from) ? NULL : "the keys have no field";
	for (uint32_t i = 0; i < keys->count && !why; i++) {
		const struct rql_store_column *to = &request->snapshot->columns[keys->parts[i].column];
		if (rql_index_is_lowered(to->kind, to->type) || to->wide)
			why = "the keys are too wide";
		else if (!keys->parts[i].span)
			why = refuse_field(to, from);
		else if (to->kind == RQL_STORE_REAL || (to->kind == RQL_STORE_CODED) != (keys->parts[i].key_of_code != NULL))
			why = "the keys lie otherwise than the column's values";
	}
	return why;
}

/* The first columns of the index that the keys say a value of. */
static bool cover(const struct rql_keys_in *in, const struct rql_index_of *of, struct rql_index_keys *out)
{
	*out = (struct rql_index_keys){.in = *in, .of = *of};
	for (uint32_t c = 0; c < rql_index_columns(of); c++) {
		uint32_t found = RQL_NONE;
		for (uint32_t i = 0; i < in->count; i++)
			found = in->parts[i].column == rql_index_column(of, c) ? i : found;
		if (found == RQL_NONE)
			break;
		out->part[out->covered++] = found;
	}
	/* A hash has no ranges, and RX would cast many rays for one. */
	const bool ranges = of->form != RQL_INDEX_HASH && of->form != RQL_INDEX_RX;
	return out->covered && (ranges || rql_index_keys_are_points(out));
}

static bool is_better(const struct rql_index_keys *a, const struct rql_index_keys *b)
{
	const bool points = rql_index_keys_are_points(a);
	if (a->covered != b->covered || points != rql_index_keys_are_points(b))
		return a->covered > b->covered || (a->covered == b->covered && points);
	return rql_index_rank(a->of.form) > rql_index_rank(b->of.form);
}

/* Of a key's columns that are not looked up any value is as likely as another. */
static double guess(const struct rql_request *request, const struct rql_index_keys *keys)
{
	double found = request->expected;
	for (uint32_t i = 0; i < keys->in.count; i++) {
		bool looked_up = !keys->in.parts[i].span;
		for (uint32_t c = 0; c < keys->covered; c++)
			looked_up |= keys->part[c] == i;
		found *= looked_up ? 1 : (double)keys->in.parts[i].span;
	}
	return fmin(found, (double)request->snapshot->rows);
}

bool rql_index_keys_choose(const struct rql_request *request, unsigned forms, struct rql_index_keys *out)
{
	struct rql_index_keys tried;
	bool found = false;
	for (uint32_t i = 0; i < request->index_count; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		if (!(forms >> of->form & 1) || !cover(request->keys, of, &tried) || (found && !is_better(&tried, out)))
			continue;
		*out = tried;
		found = true;
	}
	if (found)
		out->found = guess(request, out);
	return found;
}

/* ---- codes ---- */
static uint32_t codes_of(const struct rql_store_snapshot *snapshot, const struct rql_keys_part *part)
{
	const struct rql_store_column *column = &snapshot->columns[part->column];
	return column->kind == RQL_STORE_CODED ? column->dimension->count : 0;
}

static bool changes_codes(const struct rql_keys_part *part, uint32_t codes)
{
	bool same = true;
	for (uint32_t code = 0; code < codes && part->key_of_code; code++)
		same &= part->key_of_code[code] == code;
	return !same;
}

rql_status rql_index_keys_take(struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot,
                               struct rql_error *err)
{
	const struct rql_store_column *from = &keys->in.from.form->columns[keys->in.key];
	for (uint32_t i = 0; i < keys->in.count; i++) {
		struct rql_keys_part *part = &keys->in.parts[i];
		const uint32_t codes = codes_of(snapshot, part);
		if (changes_codes(part, codes)) {
			if (!(keys->codes[i] = malloc(codes * sizeof(uint32_t))))
				return rql_error_memory(err, codes * sizeof(uint32_t), "the codes of a join");
			memcpy(keys->codes[i], part->key_of_code, codes * sizeof(uint32_t));
		}
		part->key_of_code = NULL;
		if (!part->span && from->kind == RQL_STORE_INTEGER)
			part->least = (int64_t)from->least; /* modulo 2^64 */
	}
	return RQL_OK;
}

void rql_index_keys_clear(struct rql_index_keys *keys)
{
	for (uint32_t i = 0; i < RQL_INDEX_COLUMNS_MOST; i++) {
		free(keys->codes[i]);
		keys->codes[i] = NULL;
	}
}

/* ---- a segment ---- */
/* Key codes that need a table of their digits; 0: they are the digits. */
static uint64_t places_of(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment,
                          uint32_t part)
{
	const struct rql_keys_part *of = &keys->in.parts[part];
	const bool moved = keys->codes[part] || snapshot->segments[segment].columns[of->column].translate;
	const uint64_t codes = codes_of(snapshot, of);
	return !moved || !codes ? 0 : of->span ? of->span : codes;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

uint64_t rql_index_keys_bytes(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment)
{
	uint64_t bytes = round_up(rql_index_columns(&keys->of) * sizeof(struct rql_index_digit_args));
	for (uint32_t c = 0; c < keys->covered; c++)
		bytes += round_up(places_of(keys, snapshot, segment, keys->part[c]) * sizeof(uint32_t));
	return bytes;
}

/* For each key code the segment's own code plus 1. */
static void write_places(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment,
                         uint32_t part, uint64_t count, uint32_t *out)
{
	const struct rql_keys_part *of = &keys->in.parts[part];
	const struct rql_store_view *view = &snapshot->segments[segment].columns[of->column];
	const uint32_t stored = view->translate ? view->stored_codes : codes_of(snapshot, of);
	for (uint32_t code = 0; code < stored; code++) {
		const uint32_t present = view->translate ? view->translate[code] : code;
		const uint32_t number = keys->codes[part] ? keys->codes[part][present] : present;
		if (number < count)
			out[number] = code + 1;
	}
}

static struct rql_index_digit_args digit_of(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot,
                                            uint32_t part, const struct rql_index_digit *digit)
{
	const struct rql_keys_part *of = &keys->in.parts[part];
	const enum rql_store_kind kind = snapshot->columns[of->column].kind;
	const rql_int128 least = kind == RQL_STORE_INTEGER ? of->least : 0;
	return (struct rql_index_digit_args){.span = of->span,
	                                     .stride = of->stride,
	                                     .add = (uint64_t)(least - digit->least),
	                                     .last = digit->last,
	                                     .shift = digit->shift,
	                                     .kind = kind == RQL_STORE_REAL ? RQL_INDEX_DIGIT_REAL : RQL_INDEX_DIGIT_CODE};
}

void rql_index_keys_write(const struct rql_index_keys *keys, const struct rql_store_snapshot *snapshot, uint32_t segment,
                          const struct rql_index_key *key, uint64_t address, void *out)
{
	struct rql_index_digit_args *digits = out;
	uint64_t at = round_up(key->count * sizeof(*digits));
	for (uint32_t c = 0; c < key->count; c++) {
		digits[c] = (struct rql_index_digit_args){.last = key->digits[c].last, .kind = RQL_INDEX_DIGIT_ANY};
		if (c >= keys->covered)
			continue;
		digits[c] = digit_of(keys, snapshot, keys->part[c], &key->digits[c]);
		const uint64_t places = places_of(keys, snapshot, segment, keys->part[c]);
		if (!places)
			continue;
		write_places(keys, snapshot, segment, keys->part[c], places, (uint32_t *)(void *)((uint8_t *)out + at));
		digits[c].places = address + at;
		at += round_up(places * sizeof(uint32_t));
	}
}
