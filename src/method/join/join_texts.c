/* Texts as keys of a drawn join: see the header.
 *
 * Floor: of an entry of a dictionary its bytes read once and 8 bytes written, of a row 4 bytes read, 8 read anywhere and 8
 * written. Rows that meet compare their texts' bytes, which lie anywhere. */
#include "method/join/join_texts.h"

#include <stdlib.h>
#include <string.h>

#include "column/map/dimension.h"
#include "method/stage.h"

#define TEXT_WORD 4u /* bytes that are read at once, also behind the last ones */

/* One side, 0: build. Hashes: entry 0 is NULL's, as a field is (column/form.h); one more is the dictionary's NULL. */
struct text_side {
	struct rql_buffer *starts, *bytes, *hashes, *keys;
	struct rql_span codes;
	uint64_t count; /* texts */
};
struct rql_join_texts {
	struct text_side side[2];
};

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

static rql_status open_side(struct rql_device *device, const struct rql_columns_source *from, uint32_t key,
                            uint64_t total, struct text_side *side, struct rql_raster_side *of, struct rql_error *err)
{
	const struct rql_dimension *d = from->form->columns[key].dimension;
	const char *what = "texts of a join";
	side->count = texts_of(d);
	side->codes = of->keys;
	RQL_TRY(rql_stage_buffer_new(device, (side->count + 1) * 4, RQL_MEMORY_DEVICE, what, &side->starts, err));
	RQL_TRY(rql_stage_buffer_new(device, total + TEXT_WORD, RQL_MEMORY_DEVICE, what, &side->bytes, err));
	RQL_TRY(rql_stage_buffer_new(device, hashes_bytes(side->count), RQL_MEMORY_DEVICE, what, &side->hashes, err));
	RQL_TRY(rql_stage_buffer_new(device, (of->count + 1) * 8, RQL_MEMORY_DEVICE, what, &side->keys, err));
	of->codes = of->keys;
	of->keys = (struct rql_span){side->keys, 0};
	of->starts = (struct rql_span){side->starts, 0};
	of->bytes = (struct rql_span){side->bytes, 0};
	of->texts = side->count;
	return upload_texts(d, side, total, err);
}

rql_status rql_join_texts_open(struct rql_device *device, const struct rql_pair *pair, struct rql_raster_join *join,
                               struct rql_join_texts **out, struct rql_error *err)
{
	struct rql_join_texts *t = calloc(1, sizeof(*t));
	if (!t)
		return rql_error_memory(err, sizeof(*t), "texts of a join");
	*out = t;
	join->key_bits = 64;
	join->has_null_key = true;
	join->null_key = 0;
	RQL_TRY(open_side(device, &pair->build, pair->build_key, pair->build_bytes, &t->side[0], &join->build, err));
	return open_side(device, &pair->probe, pair->probe_key, pair->probe_bytes, &t->side[1], &join->probe, err);
}

void rql_join_texts_close(struct rql_join_texts *t)
{
	for (unsigned s = 0; t && s < 2; s++) {
		rql_stage_buffer_free(t->side[s].starts);
		rql_stage_buffer_free(t->side[s].bytes);
		rql_stage_buffer_free(t->side[s].hashes);
		rql_stage_buffer_free(t->side[s].keys);
	}
	free(t);
}

static rql_status record_side(struct rql_commands *c, const struct text_side *side, const struct rql_raster_side *of,
                              struct rql_error *err)
{
	const struct rql_raster_hash hash = {.count = side->count,
	                                     .starts = of->starts,
	                                     .bytes = of->bytes,
	                                     .mask = UINT64_MAX,
	                                     .keys = {side->hashes, 8}};
	const struct rql_raster_gather keys = {.bits = 64,
	                                       .rows = side->codes,
	                                       .from = {side->hashes, 0},
	                                       .to = of->keys,
	                                       .found = of->found,
	                                       .capacity = of->count};
	rql_record_fill(c, side->hashes, 0, hashes_bytes(side->count), 0);
	RQL_TRY(side->count ? rql_record_raster_hash(c, &hash, err) : RQL_OK);
	return of->count ? rql_record_raster_gather(c, &keys, err) : RQL_OK;
}

rql_status rql_join_texts_record(struct rql_commands *c, const struct rql_join_texts *t,
                                 const struct rql_raster_join *join, struct rql_error *err)
{
	RQL_TRY(record_side(c, &t->side[0], &join->build, err));
	return record_side(c, &t->side[1], &join->probe, err);
}

static uint64_t dictionary_bytes(const struct rql_columns_source *from, uint32_t key, uint64_t total)
{
	const uint64_t texts = texts_of(from->form->columns[key].dimension);
	return total + (texts + 1) * 4 + hashes_bytes(texts) + (uint64_t)from->rows * 8;
}

uint64_t rql_join_texts_bytes(const struct rql_pair *pair)
{
	return dictionary_bytes(&pair->build, pair->build_key, pair->build_bytes) +
	       dictionary_bytes(&pair->probe, pair->probe_key, pair->probe_bytes);
}

uint64_t rql_join_texts_moved(const struct rql_join_texts *t)
{
	uint64_t bytes = 0;
	for (unsigned s = 0; s < 2; s++)
		bytes += t->side[s].bytes->bytes + t->side[s].starts->bytes + t->side[s].hashes->bytes + t->side[s].keys->bytes;
	return bytes;
}
