/* Sorted places of a side: see the header. */
#include "method/join/places.h"

#include "method/stage.h"

#include "shaders/method/join/nearest_places.comp.h"

#define NARROW_MOST (UINT64_C(1) << 32)
#define ALIGNED 256u

static const struct rql_kernel places_kernel = {.name = "join.nearest_places",
                                                .spirv = rql_spv_nearest_places_comp,
                                                .spirv_bytes = sizeof(rql_spv_nearest_places_comp),
                                                .args_bytes = sizeof(struct rql_nearest_places_args)};

rql_uint128 rql_places_of(const struct rql_store_column *c)
{
	if (!rql_form_bits(c))
		return 0;
	return c->kind == RQL_STORE_REAL    ? RQL_PLACES_OF_REALS
	       : c->kind == RQL_STORE_CODED ? (rql_uint128)c->dimension->count
	                                    : (rql_uint128)(c->greatest - c->least) + 1;
}

bool rql_places_alike(const struct rql_store_column *a, const struct rql_store_column *b)
{
	return a->kind == b->kind && rql_form_bits(a) && rql_form_bits(a) == rql_form_bits(b) &&
	       (a->kind == RQL_STORE_REAL || (a->kind == RQL_STORE_INTEGER && a->least == b->least) ||
	        (a->kind == RQL_STORE_CODED && a->dimension->values.data == b->dimension->values.data));
}

/* Rows without a place lie above all others, as close to each other as these are, so that a sort by ranges finds no range
 * crowded. */
struct rql_places_layout rql_places_lay_out(uint64_t places, double expected, uint64_t room)
{
	const uint64_t valid = expected < 1 ? 1 : expected < (double)room ? (uint64_t)expected : room;
	struct rql_places_layout l = {.bits = 32, .none = places, .none_count = room - valid + room / 16 + 1};
	const uint64_t even = places / valid + 1;
	if (places < NARROW_MOST && (NARROW_MOST - 1 - places) / l.none_count) {
		const uint64_t most = (NARROW_MOST - 1 - places) / l.none_count;
		l.none_step = even < most ? even : most;
	} else {
		const uint64_t most = (UINT64_MAX - places) / l.none_count;
		l.bits = 64;
		l.none_step = even < most ? even : most;
	}
	l.high = places + l.none_count * l.none_step - 1;
	return l;
}

struct rql_span rql_places_take(uint64_t *bytes, uint64_t more)
{
	const struct rql_span span = {NULL, *bytes};
	*bytes += (more + ALIGNED - 1) / ALIGNED * ALIGNED;
	return span;
}

rql_status rql_places_open_map(const struct rql_places_layout *layout, uint64_t room, struct rql_device *device,
                               const char *what, struct rql_lookup_build *build, struct rql_buffer **buffer,
                               struct rql_error *err)
{
	struct rql_lookup_map *map = &build->map;
	struct rql_span *spans[] = {&build->keys, &map->keys, &map->starts, &map->rows};
	uint64_t bytes = 0;
	const bool paired = layout->bits == 32;
	*map = (struct rql_lookup_map){
		.form = RQL_LOOKUP_SORTED, .key_bits = layout->bits, .count = room, .high = layout->high};
	map->shift = rql_lookup_choose_shift(room, map->low, map->high);
	build->keys = rql_places_take(&bytes, room * layout->bits / 8);
	map->keys = rql_places_take(&bytes, room * 8);
	map->starts = rql_places_take(&bytes, rql_lookup_starts(map) * sizeof(uint32_t));
	if (!paired)
		map->rows = rql_places_take(&bytes, room * sizeof(uint32_t));
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, what, buffer, err));
	for (uint32_t i = 0; i < 4u - paired; i++)
		spans[i]->buffer = *buffer;
	return RQL_OK;
}

rql_status rql_places_record(struct rql_commands *c, struct rql_device *device, const struct rql_nearest_places_args *args,
                             const struct rql_use *uses, uint32_t use_count, struct rql_error *err)
{
	const uint32_t threads = RQL_NEAREST_THREADS;
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, &places_kernel, &threads, 1, &pipeline, err));
	rql_record_dispatch(c, places_kernel.name, pipeline, args, (args->room + threads - 1) / threads, uses, use_count);
	return RQL_OK;
}
