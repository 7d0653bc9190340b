/* Arguments of the kernels of look-ups, for C and GLSL. Addresses are uint64_t; 0 is "not given". */
#ifndef RQL_LOOKUP_KERNELS_H
#define RQL_LOOKUP_KERNELS_H

#include "device/kernel_types.h"

/* lookup_directory.comp, lookup_probe.comp: entry(key) = (key - base) >> shift, within [0, last]. */
struct rql_lookup_args {
	uint64_t keys, rows, starts, sums; /* of the map */
	uint64_t lows, highs;              /* probes; highs 0: points */
	uint64_t found;                    /* uint64_t: how many probes; 0: all */
	uint64_t rows_out, counts_out, sums_out;
	uint64_t probes; /* a bound */
	uint64_t base;
	uint32_t count; /* keys of the map */
	uint32_t shift, last, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_args, 112);

/* lookup_values.comp: values in the order of `rows`, as words of 64 bits. */
#define RQL_LOOKUP_WIDE 1u
#define RQL_LOOKUP_SIGNED 2u
struct rql_lookup_values_args {
	uint64_t rows, values, out_items;
	uint32_t count, flags;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_values_args, 32);

#endif
