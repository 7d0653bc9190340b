/* A dictionary as the planner knows it: a code c stands for values[c]; codes ascend in the host's order of the values;
 * NULL, when there is one, is the last code. */
#ifndef RQL_COLUMN_DIMENSION_H
#define RQL_COLUMN_DIMENSION_H

#include "column/batch.h"

struct rql_dimension {
	struct rql_type type;
	struct rql_column values; /* `count` entries; the NULL entry, if any, is the last and is marked invalid */
	uint32_t count;
	bool has_null;
};

#endif
