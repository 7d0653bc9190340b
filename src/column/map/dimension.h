/* A dictionary as the planner knows it: a code c stands for values[c]; codes ascend in the host's order of the values;
 * NULL, when there is one, is the last code. */
#ifndef RQL_COLUMN_DIMENSION_H
#define RQL_COLUMN_DIMENSION_H

#include <stdatomic.h>
#include "column/batch.h"

/* For copies of a dictionary's values elsewhere, which must go when they do. Who makes some puts a function here, one to
 * a process. It is called with the watch's address on the thread that frees the values. */
struct rql_watch {
	void (*_Atomic gone)(const void *watch);
};
struct rql_dimension {
	struct rql_type type;
	struct rql_column values; /* `count` entries; the NULL entry, if any, is the last and is marked invalid */
	uint32_t count;
	bool has_null;
	struct rql_watch *watch; /* tells dictionaries apart while they live; NULL: nobody is told when the values go */
};

#endif
