/* Totals of groups that are drawn: by atomics of fragments, or by limbs that blend units add. Which is cheaper on a device,
 * and what either takes. */
#include <math.h>

#include "device/draw.h"
#include "method/drawing.h"
#include "method/group/group.h"
#include "primitive/raster/group_by.h"

#define HASH_POINTS 1.15 /* a row: its group, and once more where it lost */
#define POINT_BYTES 64.0 /* what a point reads and writes beside its row: sectors of images, lists and groups, anywhere */
#define PASSES 40.0      /* of a partition */
#define PASS_PASSES 3.0  /* of limbs of so many rows: a clear for each image, a draw, a fold */
#define IMAGE_TIMES 3.0  /* that a pass of limbs moves a group's pixels */
#define FEW_SPARE 8.0    /* the largest group may have so many times the rows of an average one */

/* Images of limbs: three of them and one row in four floats; of 64 bits four more; the last one. Parts of extremes have two. */
void rql_group_limbs_add(struct rql_group_limbs *limbs, enum rql_group_by_kind kind, uint32_t bits, bool sum, bool extremes)
{
	const bool is_long = bits == 64;
	limbs->atomics += (sum ? 1 : 0) + (extremes ? 2 : 0);
	if (sum) {
		limbs->points += 1;
		limbs->targets += is_long ? 3 : 2;
		limbs->sum_bytes = fmax(limbs->sum_bytes, is_long ? 36 : 20);
		limbs->sums++;
		limbs->real_sums |= kind == RQL_GROUP_BY_REAL_FIELDS;
	}
	if (extremes) {
		limbs->points += bits / 16;
		limbs->targets += bits / 16;
		limbs->extreme_bytes = fmax(limbs->extreme_bytes, bits / 2);
	}
}

const char *rql_group_limbs_refusal(const struct rql_group_limbs *limbs, const struct rql_device *device,
                                    enum rql_totals wish)
{
	return wish != RQL_TOTALS_LIMBS           ? NULL
	       : limbs->real_sums                 ? "a sum of reals has no exact limbs, and rayql_totals says limbs"
	       : !rql_device_blends_floats(device) ? "the device blends no images of floats, and rayql_totals says limbs"
	                                           : NULL;
}

static double point_ns(const struct rql_profile *profile)
{
	return rql_drawing_point_ns(profile, POINT_BYTES);
}

/* All rows count, then each column's parts; sums once for as many rows as add up exactly. */
static double limbs_ns(const struct rql_profile *profile, const struct rql_group_size *size)
{
	const struct rql_group_limbs *limbs = &size->limbs;
	const double passes = size->way.few ? 1 : ceil(size->rows / RQL_RASTER_EXACT_ROWS);
	const double pixels = size->groups * fmax(limbs->sum_bytes, 16) * IMAGE_TIMES / profile->read_gbps;
	return size->rows * ((1 + limbs->points) * point_ns(profile) + (1 + limbs->targets) * profile->blend_ns) +
	       (1 + limbs->sums * fmax(passes, 1)) * (PASS_PASSES * profile->pass_ns + pixels) +
	       size->groups * limbs->extreme_bytes * IMAGE_TIMES / profile->read_gbps;
}

static double totals_ns(const struct rql_profile *profile, const struct rql_group_size *size)
{
	return size->way.limbs ? limbs_ns(profile, size)
	                       : size->rows * (point_ns(profile) + (1 + size->limbs.atomics) * profile->atomic_ns);
}

double rql_group_raster_ns(const struct rql_profile *profile, const struct rql_group_size *size)
{
	return PASSES * profile->pass_ns + size->rows * HASH_POINTS * point_ns(profile) + totals_ns(profile, size) +
	       size->rows * size->row_bytes / profile->read_gbps;
}

void rql_group_choose_totals(const struct rql_profile *profile, enum rql_totals wish, bool again, struct rql_group_size *size)
{
	struct rql_group_size atomics = *size;
	const bool few = again && size->rows * FEW_SPARE < size->groups * RQL_RASTER_EXACT_ROWS;
	atomics.way = (struct rql_group_way){.limbs = false};
	size->way = (struct rql_group_way){.limbs = true, .few = few};
	const bool cheaper = totals_ns(profile, size) < totals_ns(profile, &atomics) && rql_device_blends_floats(size->device);
	if (size->limbs.real_sums || wish == RQL_TOTALS_ATOMICS || (wish == RQL_TOTALS_AUTO && !cheaper))
		*size = atomics;
}

const char *rql_group_totals_text(const struct rql_group_way *way)
{
	return !way->limbs ? "totals by atomics of fragments"
	       : way->few  ? "totals by limbs that blend units add, in one pass"
	                   : "totals by limbs that blend units add, in a pass for each 65536 rows";
}
