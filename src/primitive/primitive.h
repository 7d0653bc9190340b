/* What methods are put together from, on a GPU: prefix sum, compaction, radix sort, selection.
 *
 * Each has one description struct. A GPU version is recorded into rql_commands and needs no host round trip: fill the
 * struct, ask rql_X_temp_bytes for the temporary memory, give a buffer of that size as `temp`, and call rql_record_X.
 * Size and recording come from the same plan, so they cannot differ. Sizes are fixed when recording. Selection has a CPU version, too
 * (rql_cpu_nth).
 *
 * Counts are 64-bit throughout. No subgroup size and no forward progress between workgroups is assumed. Nothing is
 * written outside of what a struct says, and inputs are left as they are unless input and output are the same memory.
 *
 * Errors: INTERNAL when a span lies outside of its buffer or a parameter is out of range, and what
 * rql_pipeline_get returns. After an error of rql_record_X some passes may have been recorded: drop the recording. */
#ifndef RQL_PRIMITIVE_PRIMITIVE_H
#define RQL_PRIMITIVE_PRIMITIVE_H

#include <string.h>

#include "column/value/value.h"
#include "device/work.h"

/* Memory from `offset` bytes into a buffer on: offset is a multiple of the items' width. buffer NULL: not given. */
struct rql_span {
	struct rql_buffer *buffer;
	uint64_t offset;
};

/* ---- order-preserving keys: a < b as values if and only if key(a) < key(b) as unsigned integers ---- */
#define RQL_KEY_NAN UINT64_C(0xfff8000000000000) /* every NaN; above +infinity, as the host orders it */

static inline uint64_t rql_key_of_i64(int64_t value)
{
	return (uint64_t)value ^ UINT64_C(1) << 63;
}
static inline int64_t rql_i64_of_key(uint64_t key)
{
	return (int64_t)(key ^ UINT64_C(1) << 63);
}
/* -0.0 comes before 0.0. */
static inline uint64_t rql_key_of_f64(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	if ((bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff0000000000000))
		return RQL_KEY_NAN;
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
static inline double rql_f64_of_key(uint64_t key)
{
	return rql_real_at(key);
}

/* ---- prefix sum ---- */
/* Modular in the width of the output. */
enum rql_prefix_kind { RQL_PREFIX_U32_U32, RQL_PREFIX_U32_U64, RQL_PREFIX_U64_U64 };
struct rql_prefix_sum {
	enum rql_prefix_kind kind;
	bool inclusive; /* out[i] = in[0] + .. + in[i]; else without in[i] */
	uint64_t count;
	struct rql_span in, out; /* out may be in when the widths are equal */
	struct rql_span total;   /* one uint64_t: the sum of all, modular as the output is. May be left out. */
	struct rql_span temp;
};
uint64_t rql_prefix_temp_bytes(const struct rql_prefix_sum *scan);
rql_status rql_record_prefix_sum(struct rql_commands *c, const struct rql_prefix_sum *scan, struct rql_error *err) RQL_MUST_CHECK;

/* ---- compaction ---- */
enum rql_compact_kind {
	RQL_COMPACT_BITS, /* a bitmap, bit i at bit i % 64 of word i / 64; read in whole 64-bit words */
	RQL_COMPACT_FLAGS /* uint32_t each; anything but 0 is set */
};
struct rql_compact {
	enum rql_compact_kind kind;
	uint32_t index_bits; /* 32 or 64; 32 needs count <= 2^32 */
	uint64_t count;
	struct rql_span in;
	struct rql_span out;   /* ascending indices of what is set: room for as many as there can be */
	struct rql_span found; /* one uint64_t: how many */
	struct rql_span temp;
};
uint64_t rql_compact_temp_bytes(const struct rql_compact *compact);
rql_status rql_record_compact(struct rql_commands *c, const struct rql_compact *compact,
                              struct rql_error *err) RQL_MUST_CHECK;

/* From a uint64_t on the device to the counts of rql_record_dispatch_indirect: as many workgroups as it takes to give
 * `items_per_group` items to each (the last ones may be too many: shaders test rql_group()). `groups`: uint32_t[3]. */
rql_status rql_record_indirect(struct rql_commands *c, struct rql_span items, uint32_t items_per_group,
                               struct rql_span groups, struct rql_error *err) RQL_MUST_CHECK;

/* ---- radix sort: stable, ascending, by bits [low_bit, high_bit) of unsigned keys ---- */
struct rql_sort {
	uint32_t key_bits;   /* 32 or 64 */
	uint32_t value_bits; /* 0: keys alone; 32 or 64 */
	uint32_t low_bit, high_bit;
	uint64_t count;
	/* The input may be the output (that costs a copy when the number of digits is odd). values_in left out with
	 * value_bits: 0, 1, 2, ..., so that values_out becomes the permutation. */
	struct rql_span keys_in, values_in, keys_out, values_out;
	/* values_out left out, keys and values of 32 bits: keys_out gets pairs of 8 bytes, a key and its value. Not in place. */
	struct rql_span temp;
	/* uint32_t[3] of an indirect dispatch on the device: rql_sort_groups workgroups, or none: nothing is sorted then, and
	 * `temp` alone is written. Not in place. May be left out. */
	struct rql_span groups;
};
/* Depends on the device, which is that of keys_in's buffer. */
uint64_t rql_sort_temp_bytes(const struct rql_sort *sort);
uint64_t rql_sort_groups(const struct rql_sort *sort);
rql_status rql_record_sort(struct rql_commands *c, const struct rql_sort *sort, struct rql_error *err) RQL_MUST_CHECK;

/* ---- the n-th greatest key ---- */
/* Unsigned keys; equal ones count as often as they come. In rounds of digits from the top, each of which reads the keys. */
#define RQL_NTH_KEYS UINT64_C(0xffffffff) /* at most */
struct rql_nth {
	uint64_t n; /* from 1 on */
	uint64_t count;
	struct rql_span found; /* uint64_t: how many of the keys there are, up to count; left out: all */
	struct rql_span keys;  /* uint64_t each */
	struct rql_span out;   /* uint64_t; 0 where there are fewer than n */
	struct rql_span temp;
};
uint64_t rql_nth_temp_bytes(const struct rql_nth *nth);
rql_status rql_record_nth(struct rql_commands *c, const struct rql_nth *nth, struct rql_error *err) RQL_MUST_CHECK;
/* On the caller's thread; what lies in keys afterwards is of no use. */
uint64_t rql_cpu_nth(uint64_t *keys, uint64_t count, uint64_t n);

#endif
