/* The cube on the rt unit: what cube_rt*.c share.
 *
 * Data to geometry (RTCUDB sections 3.1 and 4.2, turned around so that no hit must be deduplicated). A primitive is
 * not a row but a RUN: the cells with one value of the key's leading digits, cells [start[i], start[i + 1]). Digits are
 * folded by mixed radix into the axes: the trailing ones into z, along which rays run, those before them into y and x.
 * A predicate then is a set of rays, each with an (x, y) of its own and an interval of z: no run is seen by two rays.
 *
 * How many digits take part (the depth) is chosen by the builder: as many as 2^22 values an axis can tell apart, as few
 * primitives as keep the structure below RQL_RT_ROW_BYTES a row, or small beside the device's memory, and no more than
 * leave x and y well filled (rql_rt_is_sparse): every (x, y) that passes costs a ray, whether there is a run or not. A
 * digit that does not fit whole takes part without its low bits (`coarse`). What the geometry does not decide is tested
 * in the cells of the runs it finds, so every key can be served, however wide. */
#ifndef RQL_METHOD_CUBE_CUBE_RT_H
#define RQL_METHOD_CUBE_CUBE_RT_H

#include "geometry/axis.h"
#include "method/cube/cube_query.h"
#include "method/cube/gpu/cube_arrays.h"
#include "method/cube/rt/cube_rt_kernels.h"

#define RQL_CUBE_RT "rt" /* the placement's kind */
#define RQL_RT_ROW_BYTES 55.0
#define RQL_RT_SMALL_SHARE 64u /* a structure below this share of the device's memory may have what it likes */
#define RQL_RT_PART_PRIMITIVES (UINT64_C(1) << 22) /* of a bottom level: the top level is a zone map over them */

/* ---- axes (cube_rt_axes.c) ---- */
struct rql_rt_axis_digit {
	uint32_t axis; /* 0 x, 1 y, 2 z */
	uint32_t stride;
	uint32_t size; /* values on the axis: the radix, less when coarse */
	uint32_t coarse;
};
struct rql_rt_axes {
	uint32_t depth; /* leading digits that are in the geometry */
	struct rql_rt_axis_digit digits[RQL_CUBE_MAX_DIMENSIONS];
	uint32_t size[3];
	uint32_t shift; /* of z: geometry/axis.h */
};
/* Bits that a digit loses on an axis: 0 for up to RQL_AXIS_SIZE values. */
uint32_t rql_rt_coarse(uint32_t radix);
/* Folds the first `depth` digits; false: they do not fit. */
bool rql_rt_fold(const struct rql_cube *cube, uint32_t depth, struct rql_rt_axes *out);
/* x and y have so many more places than runs lie there that rays would mostly find nothing: more than rql_rt_run_rays for
 * each run. No query needs more rays than places (and pieces of intervals). */
bool rql_rt_is_sparse(const struct rql_rt_axes *axes, uint64_t runs);
extern double rql_rt_run_rays; /* 8; tests raise it to reach the ends of all axes with few cells */
/* The depth to build. runs[d]: how many runs the first d digits make (d up to the deepest). */
uint32_t rql_rt_choose_depth(const struct rql_cube *cube, const uint64_t *runs, const struct rql_device *device);
/* Expected number of runs of the first `depth` digits, when nobody has counted them. */
double rql_rt_guess_runs(const struct rql_cube *cube, uint32_t depth);

/* ---- the structure (cube_rt_build.c) ---- */
struct rql_cube_rt {
	struct rql_placement placement; /* first */
	struct rql_cube_arrays *arrays;
	struct rql_rt_axes axes;
	uint64_t primitives;
	uint64_t part_primitives; /* of every part but the last */
	struct rql_accel *accel;
	struct rql_buffer *starts; /* NULL: primitive i is cell i */
	bool wide;                 /* 8-byte starts */
	struct rql_buffer *z;      /* uint32 a primitive */
	struct rql_buffer *digits; /* rql_rt_digit[] */
	double runs_ms, accel_ms;
};
/* The placement with one more reference (rql_placement_release), built when it is not there. */
rql_status rql_cube_rt_get(const struct rql_cube *cube, struct rql_device *device, struct rql_progress *progress,
                           struct rql_cube_rt **out, struct rql_error *err) RQL_MUST_CHECK;
/* The structure's serialised form, to be kept beside the cube's file, one per device. write: RQL_ERROR_UNSUPPORTED when
 * the cube has none on that device. read makes the placement from it; RQL_ERROR_STALE (another cube, driver or device)
 * and RQL_ERROR_CORRUPT: the caller ignores the file, and the structure is built when it is needed. */
rql_status rql_cube_rt_write(const struct rql_cube *cube, struct rql_device *device,
                             rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                             void *state, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_cube_rt_read(const struct rql_cube *cube, struct rql_device *device,
                            rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                            void *state, struct rql_error *err) RQL_MUST_CHECK;

/* ---- requests (cube_rt_views.c, cube_rt_plan.c) ---- */

/* What a box asks of one digit. */
struct rql_rt_view {
	int32_t *gid;    /* [radix], -1: filtered out; NULL: all pass, and no group key is there */
	uint64_t stride; /* of gid in the group number */
	uint64_t passing;
};
/* The views of all digits of a bound box, in arena. */
rql_status rql_rt_views(const struct rql_prepared *p, const struct rql_cube_bound_box *box, struct rql_arena *arena,
                        struct rql_rt_view **out, struct rql_error *err) RQL_MUST_CHECK;

/* A box over a structure's axes: the views as the coordinates have them. */
struct rql_rt_box_axes {
	const struct rql_rt_axes *axes;
	const struct rql_rt_view *views; /* of the cube's digits */
	struct rql_rt_view *places;      /* [depth]: of what is on the axes. A coarse digit only filters there */
	uint32_t first_z;                /* the first digit on z; depth: none */
};
/* The digit is not decided by the geometry: it is tested in cells. */
bool rql_rt_tests_cells(const struct rql_rt_box_axes *box, uint32_t digit);
/* Calls put(state, low, high, group) for the intervals of values of a place that pass; high is the last one. by_pass: of
 * any gid, group 0. Returns how many. put may be NULL. */
uint64_t rql_rt_each_segment(const struct rql_rt_box_axes *box, uint32_t digit, bool by_pass,
                             void (*put)(void *state, uint32_t low, uint32_t high, uint64_t group), void *state);

/* How rays find a box's runs. */
enum rql_rt_mode {
	RQL_RT_PAIR, /* two opaque rays from both ends find the first and the last run of an interval: all between qualify
	                (notes/vulkan.md 0.4), and none of them is called for */
	RQL_RT_HITS, /* one ray per interval; every run on it is an any-hit call, which tests the digits behind `split` */
};
struct rql_rt_box_plan {
	uint32_t split;    /* the digit of z whose segments are the intervals; RQL_RT_NO_SPLIT: all of z is one interval */
	bool by_pass;      /* HITS: segments are runs of passing values, and gids are looked up in every hit */
	uint32_t cuts;     /* pieces of an interval, so that no ray has much more to do than others */
	uint64_t rays;     /* cuts included */
	bool groups_apart; /* HITS: a ray's hits can be of different groups */
	double reached;    /* runs on the rays */
	double found;      /* of them, those that the tests leave */
	double cells;      /* read: in the found runs */
	double work_ns;
};
#define RQL_RT_NO_SPLIT UINT32_MAX
#define RQL_RT_MAX_RAYS UINT64_C(10000000000) /* of a launch: seconds even on the fastest devices */
struct rql_rt_plan {
	enum rql_rt_mode mode; /* of all boxes: one launch */
	uint64_t rays;         /* of the launch; PAIR traces up to twice as many */
	double reached, found, cells, work_ns, second_rays;
	uint64_t cell_bits;           /* of a tested cell: codes and values */
	struct rql_rt_box_axes *axes; /* [box_count] */
	struct rql_rt_box_plan *boxes;
};
/* The cheapest plan over a structure with these axes, which must outlive it. views: [box_count]. RQL_ERROR_UNSUPPORTED:
 * more than RQL_RT_MAX_RAYS whichever way. */
rql_status rql_rt_plan_rays(const struct rql_prepared *p, struct rql_rt_view *const *views,
                            const struct rql_rt_axes *axes, double primitives, const struct rql_device *device,
                            struct rql_arena *arena, struct rql_rt_plan *out, struct rql_error *err) RQL_MUST_CHECK;

/* The launch table and all that it points to (cube_rt_tables.c), in DEVICE memory. program: rql_cube_program_new's. */
rql_status rql_rt_tables_new(const struct rql_prepared *p, const struct rql_rt_plan *plan, const struct rql_cube_rt *rt,
                             const struct rql_buffer *program, struct rql_buffer **out,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif
