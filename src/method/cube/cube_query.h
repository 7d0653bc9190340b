/* A request bound to a cube (cube_prepare.c, cube_groups.c), its price (cube_cost.c) and its run (cube_cpu.c,
 * cube_accumulate.c). Included by those files only.
 *
 * Every digit gives a part of the group number, gid * stride; -1 filters the cell out. On the directory digits that is
 * worked out once per interval of keys, on the residual digits per cell, or, on the first residual digit (by which the
 * cells of one key are sorted), by searching its segments' ends. */
#ifndef RQL_METHOD_CUBE_CUBE_QUERY_H
#define RQL_METHOD_CUBE_CUBE_QUERY_H

#include "group/groups.h"
#include "method/cube/cube_simd.h"
#include "util/mem.h"

#define RQL_CUBE_BATCH 128u                      /* intervals handled at once */
#define RQL_CUBE_STRIP 256u                      /* cells handled at once when each is tested */
/* One search for a segment's end: a guess by interpolation and a few steps from it. */
#define RQL_CUBE_SEARCH_NS 15.0

/* ---- groups ---- */
/* The group keys that live on one digit. Its gids number the distinct tuples of them, ascending. */
struct rql_cube_group_digit {
	uint32_t digit;
	uint32_t count;  /* of gids */
	uint64_t stride; /* in the group number */
	uint32_t key_count;
	uint32_t **key_of_gid; /* [key_count][count]: key code */
};

/* ---- what an accumulator row holds ---- */
/* COUNT: packed counts with cumulative sums, of rows or non-NULL values. Extremes of integers are FIELDs up to 64 bits. */
struct rql_cube_slot {
	struct rql_state state;
	uint32_t measure;
	const struct rql_packed *values;
	const uint64_t *cumulative;       /* COUNT, SUM */
	const rql_uint128 *cumulative128; /* SUM_WIDE */
	const double *real;
	const struct rql_packed *valid; /* MIN, MAX: NULL when every cell has a value */
};

/* ---- boxes ---- */
/* A passing value of an enumerated digit, or a run of them: what it adds to the key and to the group number. */
struct rql_cube_step {
	uint64_t key, group;
};
struct rql_cube_level {
	uint32_t count;
	struct rql_cube_step *steps;
};
struct rql_cube_segment {
	uint64_t begin, end; /* what they add to the key; of a searched residual digit: its values */
	uint64_t group;
};
struct rql_cube_test {
	const struct rql_packed *codes;
	const int32_t *gid; /* [radix]; -1: filtered out */
	uint64_t stride;
};
struct rql_cube_bound_box {
	uint32_t level_count; /* digits before the last active directory digit */
	struct rql_cube_level *levels;
	uint64_t combination_count; /* of the levels' steps */
	uint32_t segment_count;     /* of the last active directory digit; 1 when there is none */
	struct rql_cube_segment *segments;
	/* The first residual digit, when its segments' ends are searched; 0: not searched. */
	uint32_t search_count;
	struct rql_cube_segment *searches;
	const struct rql_packed *search_codes;
	uint32_t search_radix;
	uint32_t test_count; /* digits tested in every cell */
	struct rql_cube_test *tests;
	bool tests_group;     /* some test has more than one gid */
	uint64_t first_unit;  /* units are (combination, segment, part), numbered through all boxes */
	double pass_fraction; /* of the cells in the intervals */
};

struct rql_prepared {
	const struct rql_cube *cube;
	const struct rql_cube_kernels *kernels;
	struct rql_arena *arena;
	uint32_t group_digit_count;
	struct rql_cube_group_digit *group_digits; /* most significant first */
	struct rql_groups_layout layout; /* of a state a slot */
	uint32_t sorted_keys;            /* leading group keys by which the groups' numbers ascend */
	uint32_t slot_count;
	struct rql_cube_slot *slots;
	uint32_t box_count;
	struct rql_cube_bound_box *boxes;
	uint32_t parts; /* every interval is cut into so many runs of cells */
	uint64_t unit_count;
	uint64_t byte_bits; /* bits of one cell that the slots and tests read */
	/* estimates (cube_cost.c) */
	double cells;      /* in the intervals */
	double qualifying; /* of them, after the residual digits */
	double runs;       /* intervals and searched runs */
	double groups;     /* that will exist */
	double bytes;      /* read */
	double work_ns;    /* of one thread */
	struct rql_cube_unit *unit; /* on a GPU (cube_unit.h); NULL on the CPU */
};

/* Numbers the groups: fills group_digits, the layout's keys and group_count, sorted_keys, and gid[digit][value] (in scratch;
 * NULL for digits without group keys), -1 where any_pass[digit][value] is 0. */
rql_status rql_cube_number_groups(struct rql_prepared *p, const struct rql_request *request, uint8_t *const *any_pass,
                                  struct rql_arena *scratch, int32_t **gid, struct rql_error *err);
/* Sorts by key (stably, by bytes from the least significant). The result is in one of the two arrays, which is
 * returned. */
struct rql_cube_pair {
	uint64_t key, value;
};
struct rql_cube_pair *rql_cube_sort_pairs(struct rql_cube_pair *pairs, struct rql_cube_pair *scratch, uint64_t count);
/* How many groups the request can have at most, before filters; saturates at UINT64_MAX. */
uint64_t rql_cube_group_bound(const struct rql_cube *cube, const struct rql_request *request);
/* Fills slots and the layout's rows and values. */
rql_status rql_cube_bind_aggregates(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err);
/* Fills the estimates, parts, unit_count and whether groups are hashed. */
void rql_cube_estimate(struct rql_prepared *p, const struct rql_device *device);

/* Whether the work is worth more than one thread. */
bool rql_cube_is_shared(const struct rql_prepared *p, const struct rql_device *device);
/* The keys [*begin, *end) of interval (combination, segment) of a box, and its part of the group number. */
void rql_cube_interval(const struct rql_cube_bound_box *box, uint64_t interval, uint64_t *begin, uint64_t *end,
                       uint64_t *group);

/* cell_begin of key h: first cell whose key is at least h; h in [0, directory_size]. */
static inline uint64_t rql_cube_cell_of(const struct rql_cube *cube, uint64_t key)
{
	return cube->directory32 ? cube->directory32[key] : cube->directory64 ? cube->directory64[key] : 0;
}

/* ---- accumulating: one per worker ---- */
struct rql_cube_groups {
	const struct rql_prepared *prepared;
	struct rql_groups table;
	uint64_t cells_read, cells_covered, bytes_read, runs;
};

/* Intervals of cells that qualify whole: rows[i] is where interval i goes. */
void rql_cube_add_spans(struct rql_cube_groups *g, const struct rql_cube_span *spans, uint64_t *const *rows,
                        size_t count);
/* A run of cells whose residual codes decide. false: out of memory. */
bool rql_cube_add_tested(struct rql_cube_groups *g, const struct rql_cube_bound_box *box, struct rql_cube_span span,
                         uint64_t group);

/* The answer of groups, in arena; what the run read is left to the caller. */
rql_status rql_cube_answer(const struct rql_prepared *p, const struct rql_groups *g, struct rql_arena *arena,
                           struct rql_port *out, struct rql_error *err);

/* What the cube does not answer on any device (measures, dimensions, sizes): NULL or a static text. cube_cpu.c */
const char *rql_cube_refusal(const struct rql_request *request);
/* The same of its form alone, which no cube has. */
const char *rql_cube_form_refusal(const struct rql_request *request);
/* The method's entries. */
rql_status rql_cube_prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                            struct rql_error *err);
void rql_cube_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif
