/* A bound request in a device's memory (cube_kernels.h has its form): what cube_prepare.c made, with addresses in place
 * of pointers. Shared by the methods that run on a GPU. */
#ifndef RQL_METHOD_CUBE_CUBE_PROGRAM_H
#define RQL_METHOD_CUBE_CUBE_PROGRAM_H

#include "method/cube/cube_query.h"
#include "method/cube/gpu/cube_arrays.h"
#include "method/cube/gpu/cube_kernels.h"

/* What will lie in a buffer, written twice: first without memory, to know its size. */
struct rql_cube_image {
	uint8_t *data;
	uint64_t used;
	uint64_t base; /* the buffer's address */
	const struct rql_prepared *p;
	const struct rql_cube_arrays *arrays;
};
/* Room for `bytes`; its offset. */
static inline uint64_t rql_cube_image_reserve(struct rql_cube_image *image, uint64_t bytes)
{
	uint64_t at = image->used;
	image->used += (bytes + 15) / 16 * 16;
	return at;
}
static inline void rql_cube_image_write(struct rql_cube_image *image, uint64_t at, const void *data, uint64_t bytes)
{
	if (image->data && bytes)
		memcpy(image->data + at, data, bytes);
}

/* What all GPU methods refuse and the CPU's does not: NULL, or a static text. device->units[...] is the caller's. */
const char *rql_cube_gpu_refusal(const struct rql_request *request, const struct rql_device *device);
/* Items of all boxes (struct rql_cube_box_entry). */
uint64_t rql_cube_items(const struct rql_prepared *p);
/* The program's buffer (DEVICE memory), uploaded; shaders get buffer->address. The arrays must outlive it. *head: its
 * first struct. */
rql_status rql_cube_program_new(const struct rql_prepared *p, const struct rql_cube_arrays *arrays,
                                struct rql_buffer **out, struct rql_cube_program *head,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Some slot or test reads every cell of its intervals. */
bool rql_cube_reads_cells(const struct rql_prepared *p);
/* Some slot sums doubles: the shaders' variant with CUBE_REAL=1 is needed. */
bool rql_cube_has_real_sum(const struct rql_prepared *p);

#endif
