/* cgRX, the coarse index (papers/002, section 3.2, tells it), and the thesis's own forms of RX, which are its case of
 * one key a bucket. Keys are sorted and cut into buckets of 2^log2_bucket; the last key of each bucket is a triangle, its
 * representative. A ray along x from a key finds the bucket that the key, or the next greater one, is in. A search in
 * the bucket does the rest, so that points, ranges, counts and sums are as of rql_lookup (primitive/lookup/lookup.h).
 *
 * Empty lines are jumped over by markers: every line that has representatives has a triangle at x = -1, every plane
 * one at x = y = -1, in parts of their own mask. A marker knows the first bucket of its line or plane, so that a probe
 * casts one ray of lines and one of planes at most, where cgRX, whose markers know nothing, goes back to the line and casts
 * two more. Along its own line a probe's first ray reaches four buckets of their mean width, and the next ones 32 times
 * as far as the one before: nearly always one is enough. As in cgRX a line's last representative is followed by an extra
 * one at the line's end where keys follow it there, and a plane likewise.
 *
 * `drop`: the scene has keys without so many of their low bits. Then it takes few bits for keys of 64, which lie in few
 * lines, and one ray a probe nearly always. Where several representatives become one place, a search goes on from the
 * first of their buckets: it is as long as the logarithm of their keys.
 *
 * Buckets of one key: representatives are the distinct keys (the thesis's compressed duplicates, 4.2), a closest hit is
 * the first key of a range, and the sorted keys are read on from there (4.1). `lines`: without markers, as the thesis
 * has it. Then a range tries line after line, RQL_RX_LINES at most (rx.h says what is refused).
 *
 * A run of probes shares rays: an invocation answers `run` probes one after another, and casts no ray for one whose
 * bucket is that of the probe before or one of the next two. It pays for probes that are sorted, and is right for all.
 *
 * Bytes a key: key_bits / 8 + 4, 8 for sums, and a triangle and 4 bytes a representative or marker. */
#ifndef RQL_PRIMITIVE_CGRX_H
#define RQL_PRIMITIVE_CGRX_H

#include "primitive/rt/rx.h"

#define RQL_CGRX_LOG2_BUCKET 16u /* at most */
#define RQL_CGRX_RUN 256u        /* at most */

struct rql_cgrx_spec {
	uint32_t key_bits; /* 32 or 64 */
	uint64_t count;    /* at most RQL_RX_KEYS */
	struct rql_span keys; /* in any order; row i is the i-th. Not needed afterwards */
	struct rql_span rows; /* uint32_t: rows of the keys, which must ascend; left out: any order, rows are numbers */
	uint64_t base, last;  /* as of rql_rx_spec */
	struct rql_key_space space; /* the lattice */
	uint32_t drop;              /* 0 .. 63: (last - base) >> drop fits the space. Not with lines */
	uint32_t log2_bucket;
	bool lines; /* no markers; buckets of one key only */
	enum rql_accel_aim aim;
	bool compact;
	uint32_t parts;
	/* Values whose prefix sums are kept; may be left out. */
	uint32_t value_bits; /* 32 or 64 */
	bool value_signed;
	struct rql_span values;
};

/* Read-only. */
struct rql_cgrx {
	struct rql_cgrx_spec spec;
	struct rql_device *device;
	struct rql_accel *accel;
	struct rql_span keys, rows, sums, buckets_of;
	uint64_t representatives, markers; /* triangles; extra ones are among the representatives */
	uint32_t part_log2;
	uint64_t bytes;  /* resident, all of it */
	double build_ms; /* device time */
	double find_ms;  /* of it: to find representatives and markers among sorted keys (the thesis's compression) */
};
/* Sets space and drop by the other fields: 8 bits more than representatives have, in lines as long as may be. */
void rql_cgrx_choose_space(struct rql_cgrx_spec *spec);
/* Waits. RQL_ERROR_UNSUPPORTED: the space does not hold the keys. */
rql_status rql_cgrx_build(const struct rql_cgrx_spec *spec, struct rql_progress *progress, struct rql_cgrx **out,
                          struct rql_error *err) RQL_MUST_CHECK;
void rql_cgrx_free(struct rql_cgrx *cgrx); /* NULL: nothing */

/* What is left out is not made. */
struct rql_cgrx_lookup {
	const struct rql_cgrx *cgrx;
	uint32_t run; /* probes that share rays; 0: 1 */
	uint64_t count;
	struct rql_span points, ends, places; /* as of rql_rx_lookup */
	struct rql_span rows;   /* uint32_t: the least row of the least key that there is, or RQL_RX_NO_ROW */
	struct rql_span counts; /* uint32_t: rows */
	struct rql_span sums;   /* uint64_t: modulo 2^64, of the structure's values; where it has none, of these: */
	uint32_t value_bits;
	bool value_signed;
	struct rql_span values; /* by row; added one by one (the thesis's linear scan) */
	struct rql_span bits;   /* instead of rows, counts and sums, as of rql_rx_lookup */
	struct rql_span state;  /* as of rql_rx_lookup */
	bool tally;
};
rql_status rql_record_cgrx(struct rql_commands *c, const struct rql_cgrx_lookup *lookup,
                           struct rql_error *err) RQL_MUST_CHECK;

/* Inverse mapping (papers/002, section 4.3), for fewer probes than keys: the structure is of the PROBES' keys, with
 * buckets of one, and every different key of the table casts a ray. Points only. Row i of `rows`, `counts` and `sums` is
 * probe i's answer, as of rql_cgrx_lookup. One invocation writes all answers of a key. */
struct rql_cgrx_inverse {
	const struct rql_cgrx *probes;
	uint64_t count;            /* keys of the table */
	struct rql_span keys;      /* ascending, of the structure's width */
	struct rql_span key_rows;  /* uint32_t: their rows; of equal keys ascending */
	struct rql_span rows, counts, sums;
	uint32_t value_bits;
	bool value_signed;
	struct rql_span values;    /* by row of the table; with sums */
	uint64_t value_count;
	struct rql_span state;
	bool tally;
};
rql_status rql_record_cgrx_inverse(struct rql_commands *c, const struct rql_cgrx_inverse *inverse,
                                   struct rql_error *err) RQL_MUST_CHECK;

#endif
