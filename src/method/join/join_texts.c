/* Texts as keys of a drawn join: see the header.
 *
 * Floor: of an entry of a dictionary its bytes read once and 8 bytes written. Of a row for each key its field read, of a text 8
 * bytes anywhere, and the hash read and written. Rows that meet compare their fields, or their texts' bytes, which lie
 * anywhere. */
#include "method/join/join_texts.h"

#include <stdlib.h>
#include <string.h>

#include "column/map/dimension.h"
#include "method/stage.h"

#define TEXT_WORD 4u /* bytes that are read at once, also behind the last ones */
#define SIDES 2u     /* build, probe */

/* A dictionary of a side. Hashes: entry 0 is NULL's, as a field is (column/form.h); one more is the dictionary's NULL. */
struct text_side {
	struct rql_buffer *starts, *bytes, *hashes;
	uint64_t count; /* texts */
};
/* One of the keys: a comparison of the join. */
struct text_key {
	uint32_t comparison;
	struct text_side side[SIDES]; /* empty: it is no text */
};
struct rql_join_texts {
	struct rql_buffer *keys[SIDES]; /* the hashes of rows */
	uint32_t key_count;
	struct text_key key[RQL_RASTER_COMPARISONS];
};

static const struct rql_columns_source *source_of(const struct rql_pair *pair, uint32_t side)
{
	return side ? &pair->probe : &pair->build;
}

static const struct rql_dimension *dictionary_of(const struct rql_columns_source *from, uint32_t column)
{
	return from->form->columns[column].dimension;
}
static uint64_t texts_of(const struct rql_dimension *d)
{
	return d->count - d->has_null;
}
static uint64_t hashes_bytes(uint64_t texts)
{
	return (texts + 2) * 8;
}

/* A dictionary's texts, one behind the other. */
static rql_status upload_texts(const struct rql_dimension *d, const struct text_side *side, uint64_t total,
                               struct rql_error *err)
{
	const struct rql_string *strings = d->values.data;
	const uint64_t starts_bytes = (side->count + 1) * sizeof(uint32_t);
	uint32_t *starts = malloc(starts_bytes);
	char *bytes = malloc(total + TEXT_WORD);
	rql_status status = starts && bytes ? RQL_OK : rql_error_memory(err, starts_bytes + total, "texts of a join");
	uint64_t at = 0;
	for (uint64_t i = 0; i < side->count && status == RQL_OK; i++) {
		starts[i] = (uint32_t)at;
		if (at + strings[i].length > total)
			status = rql_error_set(err, RQL_ERROR_INTERNAL, "a join's texts have more bytes than its plan says");
		else if (strings[i].length)
			memcpy(bytes + at, rql_string_data(&strings[i]), strings[i].length);
		at += strings[i].length;
	}
	if (status == RQL_OK) {
		starts[side->count] = (uint32_t)at;
		status = rql_buffer_upload(side->starts, 0, starts, starts_bytes, err);
	}
	if (status == RQL_OK && at)
		status = rql_buffer_upload(side->bytes, 0, bytes, at, err);
	free(starts);
	free(bytes);
	return status;
}

static rql_status open_side(struct rql_device *device, const struct rql_dimension *d, uint64_t total,
                            struct text_side *side, struct rql_raster_compared *of, struct rql_error *err)
{
	const char *what = "texts of a join";
	side->count = texts_of(d);
	RQL_TRY(rql_stage_buffer_new(device, (side->count + 1) * 4, RQL_MEMORY_DEVICE, what, &side->starts, err));
	RQL_TRY(rql_stage_buffer_new(device, total + TEXT_WORD, RQL_MEMORY_DEVICE, what, &side->bytes, err));
	RQL_TRY(rql_stage_buffer_new(device, hashes_bytes(side->count), RQL_MEMORY_DEVICE, what, &side->hashes, err));
	of->starts = (struct rql_span){side->starts, 0};
	of->bytes = (struct rql_span){side->bytes, 0};
	of->texts = side->count;
	return upload_texts(d, side, total, err);
}

/* columns, bytes: of the build side and of the probe side. */
static rql_status open_texts(struct rql_device *device, const struct rql_pair *pair, const uint32_t columns[SIDES],
                             const uint64_t bytes[SIDES], struct text_key *key, struct rql_raster_comparison *comparison,
                             struct rql_error *err)
{
	comparison->text = true;
	for (uint32_t s = 0; s < SIDES; s++)
		RQL_TRY(open_side(device, dictionary_of(source_of(pair, s), columns[s]), bytes[s], &key->side[s],
		                  s ? &comparison->probe : &comparison->build, err));
	return RQL_OK;
}

static struct text_key *add_key(struct rql_join_texts *t, uint32_t comparison)
{
	t->key[t->key_count].comparison = comparison;
	return &t->key[t->key_count++];
}

rql_status rql_join_texts_open(struct rql_device *device, const struct rql_pair *pair, struct rql_raster_join *join,
                               struct rql_join_texts **out, struct rql_error *err)
{
	struct rql_join_texts *t = calloc(1, sizeof(*t));
	if (!t)
		return rql_error_memory(err, sizeof(*t), "texts of a join");
	*out = t;
	const uint32_t first = join->comparison_count++, columns[] = {pair->build_key, pair->probe_key};
	const uint64_t bytes[] = {pair->build_bytes, pair->probe_bytes};
	struct rql_raster_side *sides[] = {&join->build, &join->probe};
	join->comparisons[first] = (struct rql_raster_comparison){
		.test = RQL_JOIN_EQ, .bits = 32, .build = {.fields = join->build.keys}, .probe = {.fields = join->probe.keys}};
	RQL_TRY(open_texts(device, pair, columns, bytes, add_key(t, first), &join->comparisons[first], err));
	for (uint32_t i = 0; i < pair->condition_count; i++) { /* the first comparisons are these */
		const struct rql_pair_condition *c = &pair->conditions[i];
		struct text_key *key = c->of_key ? add_key(t, i) : NULL;
		if (key && c->text)
			RQL_TRY(open_texts(device, pair, (const uint32_t[]){c->build, c->probe},
			                   (const uint64_t[]){c->build_bytes, c->probe_bytes}, key, &join->comparisons[i], err));
	}
	join->key_bits = 64;
	join->has_null_key = true;
	join->null_key = 0;
	for (uint32_t s = 0; s < SIDES; s++) {
		RQL_TRY(rql_stage_buffer_new(device, (sides[s]->count + 1) * 8, RQL_MEMORY_DEVICE, "keys of a join", &t->keys[s],
		                             err));
		sides[s]->keys = (struct rql_span){t->keys[s], 0};
	}
	return RQL_OK;
}

void rql_join_texts_close(struct rql_join_texts *t)
{
	for (uint32_t k = 0; t && k < t->key_count * SIDES; k++) {
		const struct text_side *side = &t->key[k / SIDES].side[k % SIDES];
		rql_stage_buffer_free(side->starts);
		rql_stage_buffer_free(side->bytes);
		rql_stage_buffer_free(side->hashes);
	}
	for (uint32_t s = 0; t && s < SIDES; s++)
		rql_stage_buffer_free(t->keys[s]);
	free(t);
}

static rql_status record_hashes(struct rql_commands *c, const struct text_side *side, struct rql_error *err)
{
	const struct rql_raster_hash hash = {.count = side->count,
	                                     .starts = {side->starts, 0},
	                                     .bytes = {side->bytes, 0},
	                                     .mask = UINT64_MAX,
	                                     .keys = {side->hashes, 8}};
	if (!side->hashes)
		return RQL_OK;
	rql_record_fill(c, side->hashes, 0, hashes_bytes(side->count), 0);
	return side->count ? rql_record_raster_hash(c, &hash, err) : RQL_OK;
}

/* The first key's hash, and then the others into it. */
static rql_status record_key(struct rql_commands *c, const struct text_side *side, uint32_t bits,
                             const struct rql_raster_compared *compared, const struct rql_raster_side *of, bool first,
                             struct rql_error *err)
{
	const struct rql_raster_gather hashes = {.bits = 64,
	                                         .rows = compared->fields,
	                                         .from = {side->hashes, 0},
	                                         .to = of->keys,
	                                         .found = of->found,
	                                         .capacity = of->count};
	const struct rql_raster_combine combine = {.bits = bits,
	                                           .keys = of->keys,
	                                           .fields = compared->fields,
	                                           .hashes = {side->hashes, 0},
	                                           .found = of->found,
	                                           .capacity = of->count};
	return first ? rql_record_raster_gather(c, &hashes, err) : rql_record_raster_combine(c, &combine, err);
}

rql_status rql_join_texts_record(struct rql_commands *c, const struct rql_join_texts *t,
                                 const struct rql_raster_join *join, struct rql_error *err)
{
	for (uint32_t k = 0; k < t->key_count; k++) {
		const struct rql_raster_comparison *comparison = &join->comparisons[t->key[k].comparison];
		for (uint32_t s = 0; s < SIDES; s++) {
			const struct rql_raster_side *of = s ? &join->probe : &join->build;
			RQL_TRY(record_hashes(c, &t->key[k].side[s], err));
			const struct rql_raster_compared *compared = s ? &comparison->probe : &comparison->build;
			if (of->count)
				RQL_TRY(record_key(c, &t->key[k].side[s], comparison->bits, compared, of, !k, err));
		}
	}
	return RQL_OK;
}

static uint64_t dictionary_bytes(const struct rql_columns_source *from, uint32_t column, uint64_t total)
{
	const uint64_t texts = texts_of(dictionary_of(from, column));
	return total + (texts + 1) * 4 + hashes_bytes(texts);
}

uint64_t rql_join_texts_bytes(const struct rql_pair *pair)
{
	uint64_t bytes = dictionary_bytes(&pair->build, pair->build_key, pair->build_bytes) +
	                 dictionary_bytes(&pair->probe, pair->probe_key, pair->probe_bytes) +
	                 (uint64_t)(pair->build.rows + pair->probe.rows) * 8;
	for (uint32_t i = 0; i < pair->condition_count; i++) {
		const struct rql_pair_condition *c = &pair->conditions[i];
		if (c->text)
			bytes += dictionary_bytes(&pair->build, c->build, c->build_bytes) +
			         dictionary_bytes(&pair->probe, c->probe, c->probe_bytes);
	}
	return bytes;
}

uint64_t rql_join_texts_moved(const struct rql_join_texts *t)
{
	uint64_t bytes = 0;
	for (uint32_t k = 0; k < t->key_count * SIDES; k++) {
		const struct text_side *side = &t->key[k / SIDES].side[k % SIDES];
		bytes += side->hashes ? side->bytes->bytes + side->starts->bytes + side->hashes->bytes : 0;
		bytes += t->keys[k % SIDES]->bytes;
	}
	return bytes;
}
