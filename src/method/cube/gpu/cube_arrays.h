/* A cube's arrays in a device's memory: directory, residual digits, packed measures, cumulative sums, counts, valid
 * bits, byte for byte as they lie in the cube (little-endian on both sides), each at a multiple of 256 bytes and
 * followed by RQL_PACKED_SLACK readable bytes. The shaders read them with shaders/cube_cells.glsl. */
#ifndef RQL_METHOD_CUBE_CUBE_ARRAYS_H
#define RQL_METHOD_CUBE_CUBE_ARRAYS_H

#include "method/cube/gpu/cube_place.h"

#define RQL_CUBE_ARRAYS "arrays" /* the placement's kind */

struct rql_cube_array {
	const void *host; /* of the cube */
	uint64_t bytes;
	uint64_t address; /* on the device */
	uint32_t buffer;
};

struct rql_cube_arrays {
	struct rql_placement placement; /* first */
	uint32_t array_count;
	struct rql_cube_array *arrays; /* ascending by host */
	uint32_t buffer_count;
	struct rql_buffer **buffers;
};

/* The placement "arrays" of a cube with one more reference (rql_placement_release), uploaded when it is not there. */
rql_status rql_cube_arrays_get(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_arrays **out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Where the array that begins at `host` (cube->directory32, a packed column's data, ...) lies on the device; 0 for NULL
 * and for what the cube does not have. */
uint64_t rql_cube_arrays_address(const struct rql_cube_arrays *arrays, const void *host);
/* What an upload would move, and the device memory it takes. */
uint64_t rql_cube_arrays_bytes(const struct rql_cube *cube);
/* Every buffer as something that a pass reads, into uses[arrays->buffer_count]. */
void rql_cube_arrays_uses(const struct rql_cube_arrays *arrays, struct rql_use *uses);

#endif
