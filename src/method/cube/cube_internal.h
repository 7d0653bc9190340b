/* What the files of this folder share and nobody else includes.
 *
 * What a built cube looks like, where cube.h leaves it open:
 * - Cumulative arrays (cumulative, cumulative128, valid_cumulative, count_cumulative) have cells / RQL_CUBE_BLOCK + 1
 * entries, so that every position in [0, cells] has the entry position / RQL_CUBE_BLOCK.
 * - A NULL row (row-level) or a cell of NULLs only decodes to the sum 0: sum.base <= 0 when the measure has NULLs. Its
 * min and max, and its code, decode to anything in range: test `valid` first.
 * - An integer measure that cannot be summed (a DATE, a CODE, or bounds beyond 128 bits) has no cumulative sums; a
 * row-level cube still holds its values in `sum`, for MIN and MAX. rolled_up: `sum` is empty (count 0) unless the sum
 * was asked for, `min` and `max` likewise; real_min and real_max are NULL then.
 * - valid.count is 0 and valid_cumulative NULL when the measure has no NULLs.
 * - No dimension: digit_count 0, directory_digits 0, directory_size 1. No rows: radices and directory_size may be 0.
 * - Arrays that would be empty are NULL. */
#ifndef RQL_METHOD_CUBE_CUBE_INTERNAL_H
#define RQL_METHOD_CUBE_CUBE_INTERNAL_H

#include "method/cube/cube.h"
#include "util/mem.h"

/* ---- what a cube is allocated as ---- */
struct rql_cube_owned {
	struct rql_cube cube; /* first */
	struct rql_mem mem;
	_Atomic uint64_t references;
};
/* An empty cube with one reference. */
rql_status rql_cube_new(struct rql_budget *budget, const char *name, struct rql_cube_owned **out,
                        struct rql_error *err) RQL_MUST_CHECK;
/* Allocates p->data for count values of p->bits bits. */
rql_status rql_packed_alloc(struct rql_mem *mem, struct rql_packed *p, uint64_t count,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Makes bytes true and charges what the arena holds. */
rql_status rql_cube_settle(struct rql_cube_owned *owned, struct rql_error *err) RQL_MUST_CHECK;

/* Types that a dimension or a measure can have. */
bool rql_cube_dimension_type(struct rql_type type);
bool rql_cube_measure_kind(struct rql_type type, enum rql_measure_kind *kind);
bool rql_cube_summable(struct rql_type type);

/* Everything that a query relies on not to leave an allocation: counts, radices, codes and offsets in range. What a
 * side file must pass, whatever its checksums say. */
rql_status rql_cube_check_structure(const struct rql_cube *cube, struct rql_error *err);

/* Makes the checksums of a side file's image true again, so that a fuzzer gets behind them. */
void rql_cube_file_seal(uint8_t *image, uint64_t size);

#endif
