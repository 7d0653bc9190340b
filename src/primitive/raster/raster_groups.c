/* A group-by of relation.h by drawing: its rows into hash images, its columns by either way of totals, and the keys of the
 * rows that stand for the groups. */
#include "primitive/primitive_internal.h"
#include "primitive/raster/group_by.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation/relation_internal.h"

/* Offsets in temp, before the drawing's own. */
struct plan {
	uint64_t heads, counts, rest, inexact, nested;
};

static struct plan plan_of(const struct rql_group_by *by)
{
	struct plan plan;
	uint64_t at = 0;
	plan.heads = rql_temp_take(&at, by->capacity * 4);
	plan.counts = rql_temp_take(&at, by->counts.buffer ? 0 : by->capacity * 8);
	plan.rest = rql_temp_take(&at, by->count * 4);
	plan.inexact = rql_temp_take(&at, 8);
	plan.nested = at;
	return plan;
}

static void add_key(struct rql_raster_group_by *drawing, const struct rql_span *keys, uint32_t bits, bool hashed)
{
	for (uint32_t w = 0; w < bits / 32; w++, drawing->key_words++) {
		drawing->keys[drawing->key_words] = rql_span_at(keys, 4 * w);
		drawing->pair_words |= (bits == 64 ? 1u : 0) << drawing->key_words;
	}
	drawing->hashed = hashed ? drawing->key_words : drawing->hashed;
}

void rql_raster_groups_lay(struct rql_raster_groups *groups, const struct rql_group_by *by, enum rql_raster_totals totals,
                           const struct rql_raster_more_keys *more)
{
	groups->by = *by;
	groups->more = more ? *more : (struct rql_raster_more_keys){.count = 0};
	groups->drawing = (struct rql_raster_group_by){.count = by->count,
	                                               .found = by->found,
	                                               .totals = totals,
	                                               .column_count = by->column_count,
	                                               .capacity = by->capacity,
	                                               .groups = by->result};
	add_key(&groups->drawing, &by->keys, by->key_bits, true);
	for (uint32_t k = 0; k < groups->more.count; k++)
		add_key(&groups->drawing, &more->key[k].keys, more->key[k].bits, k < more->hashed);
	for (uint32_t c = 0; c < by->column_count; c++)
		groups->drawing.columns[c] = by->columns[c];
	rql_raster_group_by_size(&groups->drawing, by->guess);
}

uint64_t rql_raster_groups_temp_bytes(const struct rql_raster_groups *groups)
{
	return plan_of(&groups->by).nested + rql_raster_group_by_temp_bytes(&groups->drawing);
}

rql_status rql_record_raster_groups(struct rql_commands *c, struct rql_raster_groups *groups, struct rql_error *err)
{
	const struct rql_group_by *by = &groups->by;
	struct rql_raster_group_by *drawing = &groups->drawing;
	const struct plan plan = plan_of(by);
	RQL_TRY(rql_span_check(&by->keys_out, by->capacity, by->key_bits / 8, "keys of groups", err));
	RQL_TRY(rql_span_check(&by->result, 2, 8, "number of groups", err));
	drawing->heads = rql_span_at(&by->temp, plan.heads);
	drawing->counts = by->counts.buffer ? by->counts : rql_span_at(&by->temp, plan.counts);
	drawing->rest = rql_span_at(&by->temp, plan.rest);
	if (!drawing->inexact.buffer) /* nobody asks: passes are as many as are exact */
		drawing->inexact = rql_span_at(&by->temp, plan.inexact);
	drawing->temp = rql_span_at(&by->temp, plan.nested);
	RQL_TRY(rql_record_raster_group_by(c, drawing, err));
	rql_record_copy(c, drawing->points.buffer, drawing->points.offset + offsetof(struct rql_raster_group_points, rest),
	                by->result.buffer, by->result.offset + 8, 8);
	struct rql_raster_gather keys = {.bits = by->key_bits,
	                                 .rows = drawing->heads,
	                                 .from = by->keys,
	                                 .to = by->keys_out,
	                                 .found = by->result,
	                                 .capacity = by->capacity};
	for (uint32_t k = 0; k < groups->more.count; k++) {
		const struct rql_raster_more_key *more = &groups->more.key[k];
		RQL_TRY(rql_record_raster_gather(c, &keys, err));
		keys.bits = more->bits;
		keys.from = more->keys;
		keys.to = more->keys_out;
		RQL_TRY(rql_span_check(&keys.to, by->capacity, keys.bits / 8, "keys of groups", err));
	}
	return rql_record_raster_gather(c, &keys, err);
}
