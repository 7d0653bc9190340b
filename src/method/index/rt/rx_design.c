/* What WITH (...) of an index of rays says, as places in space and as rays. */
#include "method/index/rt/rx_design.h"

#include <stdio.h>
#include "method/contents.h"
#include "method/index/index_key.h"
#include "method/runs.h"

/* Rays of ranges run along x, so that it is made no longer than y (key.h). Few spaces, since each is a pipeline that a
 * driver compiles. */
struct rql_key_space rql_rx_lattice(uint64_t greatest)
{
	static const uint32_t sizes[] = {RQL_AXIS_BITS, 32, 2 * RQL_AXIS_BITS, 64};
	uint32_t i = 0;
	while (sizes[i] < 64 && greatest >> sizes[i])
		i++;
	return rql_key_space_lattice(sizes[i], true);
}

struct rql_key_space rql_rx_cut(const uint32_t bits[3])
{
	struct rql_key_space space = {.bits = {bits[0], bits[1], bits[2]}};
	rql_key_space_scale(&space);
	return space;
}

bool rql_rx_space(const struct rql_ray_design *design, uint64_t bound, uint64_t greatest, struct rql_key_space *out)
{
	struct rql_key_space space = rql_rx_lattice(greatest);
	*out = space;
	if (design->bits[0])
		space = rql_rx_cut(design->bits);
	else if (design->keys == RQL_RAY_KEYS_NAIVE)
		space = rql_key_space_lattice(RQL_AXIS_BITS, true);
	else if (design->keys == RQL_RAY_KEYS_EXTENDED)
		space = rql_key_space_extended(RQL_RX_LEAST_STRIDE);
	else
		return true;
	const bool boxes = design->primitive != RQL_RAY_TRIANGLE && space.stride;
	if (!rql_key_fits(&space, bound) || (boxes && bound >= RQL_RX_BOX_FLOATS >> space.stride))
		return false;
	*out = space;
	return true;
}

enum rql_rx_primitive rql_rx_primitive_of(const struct rql_ray_design *design)
{
	return design->primitive == RQL_RAY_SPHERE ? RQL_RX_SPHERES
	       : design->primitive == RQL_RAY_AABB ? RQL_RX_BOXES
	                                           : RQL_RX_TRIANGLES;
}

enum rql_key_form rql_rx_form_of(const struct rql_ray_design *design, const struct rql_key_space *space, bool points)
{
	if (points && design->rays == RQL_RAY_PERPENDICULAR)
		return RQL_KEY_PERPENDICULAR;
	const enum rql_key_form form = design->rays == RQL_RAY_ZERO ? RQL_KEY_ZERO : RQL_KEY_OFFSET;
	return rql_key_form_fits(space, form) ? form : RQL_KEY_ZERO;
}

uint32_t rql_rx_log2_bucket(const struct rql_ray_design *design)
{
	uint32_t log2 = 0;
	while (design->bucket >> (log2 + 1))
		log2++;
	return design->bucket ? log2 : RQL_RX_LOG2_BUCKET;
}

bool rql_index_rays_fit(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of, uint32_t *bits)
{
	bool fits = true;
	for (uint32_t s = 0; s < snapshot->segment_count && of->form == RQL_INDEX_RX; s++) {
		const uint64_t greatest = rql_index_key_bound(&snapshot->segments[s], of);
		struct rql_key_space space;
		uint32_t wanted = 1;
		if (rql_rx_space(&of->rays, greatest, greatest, &space))
			continue;
		while (wanted < 64 && greatest >> wanted)
			wanted++;
		*bits = fits || wanted > *bits ? wanted : *bits;
		fits = false;
	}
	return fits;
}

/* How rays are cast is not told apart: it is the look-ups' alone. */
struct rql_place rql_index_rays_place(const struct rql_index_of *of, const struct rql_place *run, char key[RQL_RUN_KEY])
{
	const struct rql_ray_design *d = &of->rays;
	const unsigned cut = d->bits[0] << 10 | d->bits[1] << 5 | d->bits[2];
	const unsigned made = cut << 5 | (unsigned)d->keys << 3 | (unsigned)d->primitive << 1 | d->loose;
	struct rql_place at = *run;
	at.kind = of->form == RQL_INDEX_CGRX ? "cgrx" : "rx";
	snprintf(key, RQL_RUN_KEY, "%s/%x/%x", run->key ? run->key : "", made, d->bucket);
	at.key = key;
	return at;
}
