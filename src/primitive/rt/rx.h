/* RTIndeX (RX; papers/003): an index whose keys are primitives of a scene. A look-up casts rays, and what they hit are
 * the rows that have the key. Every form of the paper's section 3 that is exact is here: key modes and cuts of the key's
 * bits (geometry/key.h), primitives, rays, compaction, refit.
 *
 * Exact. A key that the space does not hold is refused when the structure is built, and so is an extended mode whose
 * steps are too small for a device's rounding. Keys are unsigned; rql_key_of_i64 and its like (primitive.h) make them
 * of others and keep their order. Duplicates are several primitives in one place, and all are hit.
 *
 * A range casts one ray for each line of the scene that it crosses. More than RQL_RX_LINES of them are refused: such
 * probes are counted in `refused` and have no answer. Whoever calls must look there, and take another form
 * (cgrx.h has no such limit).
 *
 * Floor of a batch: its probes read once and its answers written once, a traversal for each ray, a value a hit. */
#ifndef RQL_PRIMITIVE_RX_H
#define RQL_PRIMITIVE_RX_H

#include "device/trace.h"
#include "geometry/key.h"
#include "primitive/primitive.h"

#define RQL_RX_KEYS UINT64_C(0x7fffffff) /* at most, of a structure */
#define RQL_RX_LINES 4096u
#define RQL_RX_LEAST_STRIDE 6u /* of extended mode (key.h, "Range") */
#define RQL_RX_BOX_FLOATS UINT64_C(0x3f800000) /* float32 numbers from 0.5 to 2^126 */
#define RQL_RX_NO_ROW UINT32_MAX

enum rql_rx_primitive {
	RQL_RX_TRIANGLES,
	RQL_RX_BOXES,  /* an intersection shader compares the key's place with the ray's */
	RQL_RX_SPHERES /* boxes around spheres of a quarter unit, and the sphere's equation: Vulkan has no spheres */
};

struct rql_rx_spec {
	uint32_t key_bits; /* 32 or 64 */
	uint64_t count;
	struct rql_span keys; /* key i is row i. Boxes and spheres that are not sorted read them in look-ups: they stay */
	uint64_t base, last;  /* least key, and greatest; bounds at least. last - base fits the space */
	struct rql_key_space space;
	enum rql_rx_primitive primitive;
	enum rql_accel_aim aim;
	bool compact;
	bool refit;
	struct rql_span rows; /* uint32_t: rows of the keys, which stay; left out: numbers. Not with sorted or refit */
	bool sorted;    /* primitives in the keys' order, beside 4 bytes of row a key. Mesa keeps the order it gets */
	uint32_t parts; /* bottom levels, at least (the thesis's partitioning; papers/002, 4.2); 0: as few as may be */
};

/* Read-only. */
struct rql_rx {
	struct rql_rx_spec spec; /* its keys: of the primitives, in their order */
	struct rql_device *device;
	struct rql_accel *accel;
	struct rql_span rows, own_keys; /* of sorted primitives */
	uint32_t part_log2;   /* log2 of a part's primitives */
	uint64_t bytes;       /* resident, of its own: levels, and of sorted ones rows and the keys of boxes */
	double build_ms;      /* device time of the levels, and of the sort */
};
/* Waits. RQL_ERROR_UNSUPPORTED: the space does not hold the keys. */
rql_status rql_rx_build(const struct rql_rx_spec *spec, struct rql_progress *progress, struct rql_rx **out,
                        struct rql_error *err) RQL_MUST_CHECK;
/* Row i has the key keys[i] from now on (section 3.6); for structures that are made with refit, and not sorted. All
 * parts move. After an error the structure may hold some of the keys: free it. */
rql_status rql_rx_refit(struct rql_rx *rx, const struct rql_span *keys, struct rql_error *err) RQL_MUST_CHECK;
void rql_rx_free(struct rql_rx *rx); /* NULL: nothing */

enum rql_rx_hits {
	RQL_RX_ALL,  /* an any-hit shader sees every hit */
	RQL_RX_FIRST /* the closest hit ends the ray: of points any row of the key, of ranges any row of the least key */
};
/* What is left out is not made. */
struct rql_rx_lookup {
	const struct rql_rx *rx;
	enum rql_key_form form; /* PERPENDICULAR: points only; with ends, one below its begin is none */
	enum rql_rx_hits hits;
	uint64_t count;
	struct rql_span points; /* keys, or where ranges begin */
	struct rql_span ends;   /* last keys of ranges; left out: points. Below its begin: an empty range */
	struct rql_span places; /* uint32_t: probe i is the places[i]-th of the batch. Its end is there, and its answer goes
	                         * there: so probes may be sorted first */
	struct rql_span rows;   /* uint32_t: ALL: the least row that was hit; FIRST: the row; none: RQL_RX_NO_ROW */
	struct rql_span counts; /* uint32_t: hits. FIRST: 0 or 1 */
	struct rql_span sums;   /* uint64_t: the values of the rows that were hit, modulo 2^64 */
	uint32_t value_bits;    /* 32 or 64; with sums only */
	bool value_signed;      /* 32 bits are extended by their sign */
	struct rql_span values; /* by row */
	/* ALL, instead of rows, counts and sums: every hit as a pair. offsets are the prefix sums of the counts that the
	 * same look-up gave before (RQL_PREFIX_U32_U64); within a probe, rows are in no order. */
	struct rql_span offsets;               /* uint64_t a probe */
	struct rql_span list_rows, list_probes; /* uint32_t each; probes may be left out */
	uint64_t capacity;
	/* ALL, instead of all that: the bit of each row that is hit is set; others stay. From a multiple of 4 bytes on. */
	struct rql_span bits;
	struct rql_span state; /* uint64_t[RQL_RX_STATE_WORDS]: [0] refused; with `tally` [RQL_RX_STATE_RAYS] and [.._HITS] */
	bool tally;            /* slow: an atomic addition or two a probe */
};
#define RQL_RX_STATE_WORDS 5u
#define RQL_RX_STATE_RAYS 1u
#define RQL_RX_STATE_HITS 2u
/* Clears the state first. */
rql_status rql_record_rx(struct rql_commands *c, const struct rql_rx_lookup *lookup,
                         struct rql_error *err) RQL_MUST_CHECK;

#endif
