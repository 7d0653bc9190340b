/* The rt structure in a side file of its own, one per device: a head, the starts, the heights, then the device's own
 * form of the acceleration structure. What does not fit this cube, driver or device is stale; the caller builds anew. */
#include "method/cube/rt/cube_rt.h"

#include <stdlib.h>

#include "method/cube/rt/cube_rt_structure.h"
#include "util/hash.h"

#define MAGIC UINT64_C(0x31307472626c7172) /* "rqlbrt01" */
#define PIECE ((uint64_t)8 << 20)

struct head {
	uint64_t magic;
	uint64_t cube; /* fingerprint */
	uint64_t cells, primitives, part_primitives;
	uint64_t starts_sum, z_sum; /* checksums */
	uint32_t has_starts, depth;
	uint64_t sum; /* of the words before */
};

/* FNV-1a over words. */
static uint64_t add_words(uint64_t sum, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		sum = (sum ^ word) * RQL_HASH_PRIME;
		sum ^= sum >> 29;
	}
	return rql_hash_bytes(sum, at, bytes);
}

/* What the structure depends on: the keys of the cells. Large arrays are sampled: the caller's own identity of the cube
 * tells different contents apart, this only keeps a structure from another cube. */
static uint64_t fingerprint(const struct rql_cube *cube)
{
	uint64_t sum = add_words(RQL_HASH_START, &cube->relation.cells, 8);
	sum = add_words(sum, &cube->directory_digits, 4);
	for (uint32_t d = 0; d < cube->digit_count; d++)
		sum = add_words(sum, &cube->digits[d].radix, 4);
	uint64_t step = cube->directory_size / 4096 + 1;
	for (uint64_t key = 0; key <= cube->directory_size; key += step) {
		uint64_t cell = rql_cube_cell_of(cube, key);
		sum = add_words(sum, &cell, 8);
	}
	for (uint32_t d = cube->directory_digits; d < cube->digit_count; d++) {
		const struct rql_packed *codes = &cube->residual[d - cube->directory_digits];
		uint64_t bytes = codes->data ? codes->count / 64 * 8 * codes->bits : 0, piece = bytes / 64 + 1;
		for (uint64_t at = 0; at + 8 <= bytes; at += piece)
			sum = add_words(sum, codes->data + at, 8);
	}
	return sum;
}

/* ---- writing ---- */

typedef rql_status put_bytes(void *state, const void *data, uint64_t bytes, struct rql_error *err);
typedef rql_status get_bytes(void *state, void *data, uint64_t bytes, struct rql_error *err);

/* Downloads a buffer in pieces: into *sum, or to put. */
static rql_status drain(struct rql_buffer *buffer, uint64_t *sum, put_bytes *put, void *state, struct rql_error *err)
{
	uint8_t *piece = malloc(PIECE);
	rql_status status = piece ? RQL_OK : rql_error_memory(err, PIECE, "writing a structure");
	for (uint64_t at = 0; at < buffer->bytes && status == RQL_OK; at += PIECE) {
		uint64_t bytes = buffer->bytes - at < PIECE ? buffer->bytes - at : PIECE;
		status = rql_buffer_download(buffer, at, piece, bytes, err);
		if (status == RQL_OK && sum)
			*sum = add_words(*sum, piece, bytes);
		if (status == RQL_OK && put)
			status = put(state, piece, bytes, err);
	}
	free(piece);
	return status;
}

static rql_status write_structure(const struct rql_cube *cube, const struct rql_cube_rt *rt, put_bytes *put,
                                  void *state, struct rql_error *err)
{
	struct head head = {.magic = MAGIC,
	                    .cube = fingerprint(cube),
	                    .cells = cube->relation.cells,
	                    .primitives = rt->primitives,
	                    .part_primitives = rt->part_primitives,
	                    .starts_sum = RQL_HASH_START,
	                    .z_sum = RQL_HASH_START,
	                    .has_starts = rt->starts != NULL,
	                    .depth = rt->axes.depth};
	if (rt->starts)
		RQL_TRY(drain(rt->starts, &head.starts_sum, NULL, NULL, err));
	RQL_TRY(drain(rt->z, &head.z_sum, NULL, NULL, err));
	head.sum = add_words(RQL_HASH_START, &head, offsetof(struct head, sum));
	RQL_TRY(put(state, &head, sizeof(head), err));
	if (rt->starts)
		RQL_TRY(drain(rt->starts, NULL, put, state, err));
	RQL_TRY(drain(rt->z, NULL, put, state, err));
	return rql_accel_write(rt->accel, put, state, err);
}

rql_status rql_cube_rt_write(const struct rql_cube *cube, struct rql_device *device, put_bytes *put, void *state,
                             struct rql_error *err)
{
	struct rql_cube_rt *rt;
	if (!rql_cube_is_placed(cube, device, RQL_CUBE_RT, NULL, NULL))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the cube has no ray-tracing structure on %s", device->id);
	RQL_TRY(rql_cube_rt_get(cube, device, NULL, &rt, err));
	rql_status status = rt->accel ? write_structure(cube, rt, put, state, err)
	                              : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an empty cube has no structure");
	rql_placement_release(&rt->placement);
	return status;
}

/* ---- reading ---- */

struct reading {
	get_bytes *get;
	void *state;
};

static rql_status corrupt(struct rql_error *err, const char *what)
{
	return rql_error_set(err, RQL_ERROR_CORRUPT, "the file of a ray-tracing structure is damaged: %s", what);
}

/* The starts as 64-bit numbers' checks: ascending, from 0 to the number of cells; any other would read beyond arrays. */
static bool check_starts(const uint8_t *data, uint64_t bytes, bool wide, uint64_t *last, bool first)
{
	uint64_t size = wide ? 8 : 4;
	for (uint64_t at = 0; at < bytes; at += size) {
		uint64_t now = 0;
		memcpy(&now, data + at, size); /* little-endian, as the device is */
		if (first ? now != 0 : now <= *last)
			return false;
		first = false;
		*last = now;
	}
	return true;
}

/* Fills a buffer in pieces. cells: of the starts; 0: heights, below `limit`. */
static rql_status refill(const struct reading *r, struct rql_buffer *buffer, uint64_t sum, uint64_t cells, bool wide,
                         struct rql_error *err)
{
	uint8_t *piece = malloc(PIECE);
	rql_status status = piece ? RQL_OK : rql_error_memory(err, PIECE, "reading a structure");
	uint64_t now = RQL_HASH_START, last = 0;
	for (uint64_t at = 0; at < buffer->bytes && status == RQL_OK; at += PIECE) {
		uint64_t bytes = buffer->bytes - at < PIECE ? buffer->bytes - at : PIECE;
		status = r->get(r->state, piece, bytes, err);
		if (status != RQL_OK)
			break;
		now = add_words(now, piece, bytes);
		if (cells && !check_starts(piece, bytes, wide, &last, at == 0))
			status = corrupt(err, "its runs are not in order");
		else
			status = rql_buffer_upload(buffer, at, piece, bytes, err);
	}
	free(piece);
	if (status == RQL_OK && (now != sum || (cells && last != cells)))
		return corrupt(err, "a checksum is wrong");
	return status;
}

static rql_status check_head(const struct rql_cube *cube, const struct head *head, struct rql_cube_rt *rt,
                             struct rql_error *err)
{
	if (head->magic != MAGIC || head->sum != add_words(RQL_HASH_START, head, offsetof(struct head, sum)))
		return corrupt(err, "its head is wrong");
	if (head->cube != fingerprint(cube) || head->cells != cube->relation.cells ||
	    head->part_primitives != rt->part_primitives)
		return rql_error_set(err, RQL_ERROR_STALE, "the file of a ray-tracing structure is of another cube");
	bool all = head->primitives == head->cells;
	if (!head->primitives || head->primitives > head->cells || all == (head->has_starts != 0) ||
	    head->depth > cube->digit_count || !rql_rt_fold(cube, head->depth, &rt->axes))
		return corrupt(err, "its counts are wrong");
	if (head->depth > 1 && rql_rt_is_sparse(&rt->axes, head->primitives)) /* of an older version */
		return rql_error_set(err, RQL_ERROR_STALE, "the file of a ray-tracing structure has a geometry too sparse");
	return RQL_OK;
}

static rql_status read_structure(const struct rql_cube *cube, const struct reading *r, struct rql_cube_rt *rt,
                                 struct rql_error *err)
{
	struct head head;
	struct rql_device *device = rt->placement.device;
	RQL_TRY(r->get(r->state, &head, sizeof(head), err));
	rql_cube_rt_parts(rt, device);
	RQL_TRY(check_head(cube, &head, rt, err));
	rt->primitives = head.primitives;
	rt->wide = head.cells > UINT32_MAX;
	if (head.has_starts) {
		RQL_TRY(rql_buffer_new(device, (head.primitives + 1) * (rt->wide ? 8 : 4), RQL_MEMORY_DEVICE, "runs of a cube",
		                       &rt->starts, err));
		RQL_TRY(refill(r, rt->starts, head.starts_sum, head.cells, rt->wide, err));
	}
	RQL_TRY(rql_buffer_new(device, head.primitives * sizeof(uint32_t), RQL_MEMORY_DEVICE, "heights of a cube's runs",
	                       &rt->z, err));
	RQL_TRY(refill(r, rt->z, head.z_sum, 0, false, err));
	RQL_TRY(rql_accel_read(device, r->get, r->state, &rt->accel, err));
	uint64_t parts = (rt->primitives + rt->part_primitives - 1) / rt->part_primitives;
	if (rt->accel->primitives != rt->primitives || rt->accel->part_count != parts)
		return corrupt(err, "its acceleration structure is another one");
	return RQL_OK;
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct rql_cube *cube = at->owner;
	struct rql_cube_rt *rt;
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_cube_rt_new(cube, device, &rt, err));
	rql_status status = read_structure(cube, state, rt, err);
	if (status != RQL_OK) {
		rql_cube_rt_free(&rt->placement);
		return status;
	}
	rt->placement.build_ms = (double)(rql_now_ns() - start) / 1e6;
	rql_cube_rt_settle(rt);
	*out = &rt->placement;
	return RQL_OK;
}

rql_status rql_cube_rt_read(const struct rql_cube *cube, struct rql_device *device, get_bytes *get, void *state,
                            struct rql_error *err)
{
	struct reading r = {.get = get, .state = state};
	struct rql_placement *placement = NULL;
	if (rql_cube_is_placed(cube, device, RQL_CUBE_RT, NULL, NULL))
		return RQL_OK;
	rql_status status = rql_cube_get(cube, device, RQL_CUBE_RT, NULL, make, &r, &placement, err);
	if (status == RQL_OK)
		rql_placement_release(placement);
	else if (status == RQL_ERROR_STALE || status == RQL_ERROR_CORRUPT || status == RQL_ERROR_IO)
		rql_placements_forgive(cube, device); /* a bad file does not keep the structure from being built */
	return status;
}
