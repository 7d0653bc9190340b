/* Putting a cube's arrays into a device's memory.
 *
 * Floor: the bytes of the cube over the link (SSB SF 20 row-level: about 1.6 GB, 30 ms at 55 GB/s); nothing is
 * transformed on the way, so that the transfer is all there is. */
#include "method/cube/gpu/cube_arrays.h"

#include <stdlib.h>

#include "method/cube/cube_pack.h"

#define ALIGNMENT 256u
/* Arrays share buffers of up to this size, or of a 32nd of the device's memory: few enough to be named in every pass,
 * small enough for every driver. A larger array has a buffer of its own. */
#define BUFFER_BYTES ((uint64_t)1 << 30)
#define MOST_BUFFERS 32u
/* Arrays below this size are put up together, in pieces of up to GATHERED_BYTES: an upload is a submission, some 10 us,
 * and a small cube has dozens of arrays. */
#define SMALL_BYTES ((uint64_t)1 << 20)
#define GATHERED_BYTES ((uint64_t)4 << 20)

/* Calls take(state, host, bytes) for every array that the cube has. */
typedef void take_array(void *state, const void *host, uint64_t bytes);

static void each_packed(const struct rql_packed *packed, take_array *take, void *state)
{
	if (packed->data)
		take(state, packed->data, rql_packed_bytes(packed->count, packed->bits));
}

static void each_of_measure(const struct rql_cube_measure *m, uint64_t cells, take_array *take, void *state)
{
	uint64_t blocks = cells / RQL_CUBE_BLOCK + 1;
	each_packed(&m->sum, take, state);
	each_packed(&m->valid, take, state);
	each_packed(&m->min, take, state);
	each_packed(&m->max, take, state);
	const double *reals[3] = {m->real, m->real_min, m->real_max};
	for (unsigned i = 0; i < 3; i++)
		if (reals[i] && cells)
			take(state, reals[i], cells * sizeof(double));
	if (m->cumulative)
		take(state, m->cumulative, blocks * sizeof(*m->cumulative));
	if (m->cumulative128)
		take(state, m->cumulative128, blocks * sizeof(*m->cumulative128));
	if (m->valid_cumulative)
		take(state, m->valid_cumulative, blocks * sizeof(*m->valid_cumulative));
}

static void each_array(const struct rql_cube *cube, take_array *take, void *state)
{
	uint64_t cells = cube->relation.cells;
	if (cube->directory32)
		take(state, cube->directory32, (cube->directory_size + 1) * sizeof(*cube->directory32));
	if (cube->directory64)
		take(state, cube->directory64, (cube->directory_size + 1) * sizeof(*cube->directory64));
	for (uint32_t d = cube->directory_digits; d < cube->digit_count; d++)
		each_packed(&cube->residual[d - cube->directory_digits], take, state);
	each_packed(&cube->count, take, state);
	if (cube->count_cumulative)
		take(state, cube->count_cumulative, (cells / RQL_CUBE_BLOCK + 1) * sizeof(*cube->count_cumulative));
	for (uint32_t m = 0; m < cube->relation.measure_count; m++)
		each_of_measure(&cube->measures[m], cells, take, state);
}

static uint64_t room_of(uint64_t bytes)
{
	return (bytes + RQL_PACKED_SLACK + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void add_room(void *state, const void *host, uint64_t bytes)
{
	(void)host;
	*(uint64_t *)state += room_of(bytes);
}

uint64_t rql_cube_arrays_bytes(const struct rql_cube *cube)
{
	uint64_t bytes = 0;
	each_array(cube, add_room, &bytes);
	return bytes;
}

static void count_array(void *state, const void *host, uint64_t bytes)
{
	(void)host;
	(void)bytes;
	++*(uint32_t *)state;
}

static void list_array(void *state, const void *host, uint64_t bytes)
{
	struct rql_cube_arrays *a = state;
	a->arrays[a->array_count++] = (struct rql_cube_array){.host = host, .bytes = bytes};
}

static int by_host(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct rql_cube_array *)a)->host,
			  y = (uintptr_t)((const struct rql_cube_array *)b)->host;
	return (x > y) - (x < y);
}

/* Small arrays first, so that they lie together; the caller sorts by_host when all are placed. */
static int small_first(const void *a, const void *b)
{
	bool x = ((const struct rql_cube_array *)a)->bytes < SMALL_BYTES,
		 y = ((const struct rql_cube_array *)b)->bytes < SMALL_BYTES;
	return x != y ? y - x : by_host(a, b);
}

static void destroy(struct rql_placement *placement)
{
	struct rql_cube_arrays *a = (struct rql_cube_arrays *)placement;
	for (uint32_t b = 0; b < a->buffer_count; b++)
		rql_buffer_free(a->buffers[b]);
	free(a->buffers);
	free(a->arrays);
	free(a);
}

/* Distributes the arrays over buffers: array.buffer, and in array.address its offset there. */
static uint32_t share_out(struct rql_cube_arrays *a, const struct rql_device *device, uint64_t *buffer_bytes)
{
	uint64_t used = 0, most = device->memory_bytes / MOST_BUFFERS;
	uint32_t buffers = 0;
	most = most > BUFFER_BYTES ? most : BUFFER_BYTES;
	for (uint32_t i = 0; i < a->array_count; i++) {
		uint64_t room = room_of(a->arrays[i].bytes);
		if (!buffers || used + room > most) {
			used = 0;
			buffers++;
		}
		a->arrays[i].buffer = buffers - 1;
		a->arrays[i].address = used;
		used += room;
		buffer_bytes[buffers - 1] = used;
	}
	return buffers;
}

/* Arrays [from, *end) at once: one, or as many small neighbours of one buffer as `gathered` takes. */
static rql_status upload_some(struct rql_cube_arrays *a, uint32_t from, uint32_t *end, uint8_t *gathered,
                              struct rql_error *err)
{
	const struct rql_cube_array *first = &a->arrays[from];
	struct rql_buffer *buffer = a->buffers[first->buffer];
	uint64_t used = 0;
	*end = from + 1;
	if (first->bytes >= SMALL_BYTES)
		return rql_buffer_upload(buffer, first->address, first->host, first->bytes, err);
	for (uint32_t i = from; i < a->array_count; i++) {
		const struct rql_cube_array *array = &a->arrays[i];
		uint64_t at = array->address - first->address, room = room_of(array->bytes);
		if (array->bytes >= SMALL_BYTES || array->buffer != first->buffer || at + room > GATHERED_BYTES)
			break;
		memcpy(gathered + at, array->host, array->bytes);
		memset(gathered + at + array->bytes, 0, room - array->bytes);
		used = at + room;
		*end = i + 1;
	}
	return rql_buffer_upload(buffer, first->address, gathered, used, err);
}

static rql_status upload_arrays(struct rql_cube_arrays *a, struct rql_error *err)
{
	uint64_t small = 0;
	for (uint32_t i = 0; i < a->array_count; i++)
		small += a->arrays[i].bytes < SMALL_BYTES ? room_of(a->arrays[i].bytes) : 0;
	small = small < GATHERED_BYTES ? small : GATHERED_BYTES;
	uint8_t *gathered = malloc(small + 1);
	if (!gathered)
		return rql_error_memory(err, small, "a cube's upload");
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < a->array_count && status == RQL_OK;)
		status = upload_some(a, i, &i, gathered, err);
	free(gathered);
	return status;
}

static rql_status upload(struct rql_cube_arrays *a, struct rql_device *device, struct rql_error *err)
{
	uint64_t *bytes = calloc(a->array_count + 1u, sizeof(*bytes));
	if (!bytes)
		return rql_error_memory(err, a->array_count * sizeof(*bytes), "a cube's buffers");
	uint32_t buffers = share_out(a, device, bytes);
	rql_status status = RQL_OK;
	for (; a->buffer_count < buffers && status == RQL_OK; a->buffer_count += status == RQL_OK) {
		uint64_t size = bytes[a->buffer_count];
		status = rql_buffer_new(device, size, RQL_MEMORY_DEVICE, "cells of a cube", &a->buffers[a->buffer_count], err);
		a->placement.bytes += status == RQL_OK ? size : 0;
	}
	free(bytes);
	if (status == RQL_OK)
		status = upload_arrays(a, err);
	for (uint32_t i = 0; i < a->array_count && status == RQL_OK; i++)
		a->arrays[i].address += a->buffers[a->arrays[i].buffer]->address;
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct rql_cube *cube = at->owner;
	(void)state;
	uint32_t count = 0;
	each_array(cube, count_array, &count);
	struct rql_cube_arrays *a = calloc(1, sizeof(*a));
	if (!a)
		return rql_error_memory(err, sizeof(*a), "a cube's placement");
	a->placement = (struct rql_placement){.device = device, .destroy = destroy};
	a->arrays = calloc(count + 1u, sizeof(*a->arrays));
	a->buffers = calloc(count + 1u, sizeof(struct rql_buffer *));
	rql_status status = RQL_OK;
	if (!a->arrays || !a->buffers) {
		status = rql_error_memory(err, count * sizeof(*a->arrays), "a cube's placement");
	} else {
		each_array(cube, list_array, a);
		if (count)
			qsort(a->arrays, count, sizeof(*a->arrays), small_first);
		status = upload(a, device, err);
		if (count)
			qsort(a->arrays, count, sizeof(*a->arrays), by_host);
	}
	if (status != RQL_OK) {
		destroy(&a->placement);
		return status;
	}
	*out = &a->placement;
	return RQL_OK;
}

rql_status rql_cube_arrays_get(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_arrays **out,
                               struct rql_error *err)
{
	struct rql_placement *placement = NULL;
	RQL_TRY(rql_cube_get(cube, device, RQL_CUBE_ARRAYS, NULL, make, NULL, &placement, err));
	*out = (struct rql_cube_arrays *)placement;
	return RQL_OK;
}

uint64_t rql_cube_arrays_address(const struct rql_cube_arrays *arrays, const void *host)
{
	uint32_t low = 0, high = arrays->array_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if ((uintptr_t)arrays->arrays[middle].host < (uintptr_t)host)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = host && low < arrays->array_count && arrays->arrays[low].host == host;
	return found ? arrays->arrays[low].address : 0;
}

void rql_cube_arrays_uses(const struct rql_cube_arrays *arrays, struct rql_use *uses)
{
	for (uint32_t b = 0; b < arrays->buffer_count; b++)
		uses[b] = (struct rql_use){.buffer = arrays->buffers[b], .access = RQL_READ};
}
