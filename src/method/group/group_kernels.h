/* What the kernel of groups as columns reads, declared once for C (group_fields.c fills it) and GLSL (shaders/). All
 * addresses are of device memory. */
#ifndef RQL_GROUP_KERNELS_H
#define RQL_GROUP_KERNELS_H

#include "device/kernel_types.h"

#define RQL_GROUP_THREADS 256u

#define RQL_GROUP_FIELD_KEY 0u          /* the key's field as it is */
#define RQL_GROUP_FIELD_PART 1u         /* a part of the number that the key is */
#define RQL_GROUP_FIELD_COUNT 2u        /* `present` */
#define RQL_GROUP_FIELD_SUM 3u          /* of fields: as a sum of values */
#define RQL_GROUP_FIELD_VALUE 4u        /* a field of the column */
#define RQL_GROUP_FIELD_REAL 5u         /* a double */
#define RQL_GROUP_FIELD_REAL_EXTREME 6u /* a key of one */
#define RQL_GROUP_FIELD_AVERAGE 7u      /* SUM by `present` and `power` */
#define RQL_GROUP_FIELD_REAL_AVERAGE 8u /* REAL by `present` */
#define RQL_GROUP_FIELD_UPPER 9u        /* a half of SUM (column/form.h), or of two sums of halves */
#define RQL_GROUP_FIELD_LOWER 10u
#define RQL_GROUP_FIELD_WIDE 0x100u     /* flag: of sums of 128 bits */
#define RQL_GROUP_FIELD_NARROW 0x200u   /* flag: of averages by doubles */
#define RQL_GROUP_FIELD_OF_TWO 0x400u   /* flag: of sums: `from` is the upper half's sum, `fields` the other's */
#define RQL_GROUP_FIELD_LOW_WIDE 0x800u /* flag: ... of 128 bits */

/* One column of the form that groups are given in. */
struct rql_group_field_args {
	uint64_t found;   /* uint64_t[2]: groups, also more than `room`; not 0: they are useless */
	uint64_t given;   /* uint64_t: groups that whoever reads the columns may count on */
	uint64_t from;    /* a key or a state of each group */
	uint64_t present; /* uint64_t of each: rows whose value is not NULL */
	uint64_t to;
	uint64_t room;
	uint64_t before, before_high; /* the value that a field of 0 would stand for, of 128 bits */
	uint64_t less;                /* a field is the value less this */
	uint64_t stride, count;       /* PART: number / stride % count */
	uint64_t null_code;           /* ... which is NULL; UINT64_MAX: none is */
	uint64_t fields;              /* PART: uint32_t[count], the fields; 0: code + 1. OF_TWO: the lower half's sum */
	uint64_t power;               /* AVERAGE, but OF_TWO: 1 then. OF_TWO: that sum's `before`, signed */
	uint32_t kind, bits;          /* bits: of a key that is read (low half), of the fields (high half) */
};
RQL_KERNEL_STRUCT_SIZE(rql_group_field_args, 120);

#endif
