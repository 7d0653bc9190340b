/* What methods are put together from, on the CPU and on a GPU: prefix sum, compaction, reduction, radix sort, group-by. */
#ifndef RQL_PRIMITIVE_PRIMITIVE_H
#define RQL_PRIMITIVE_PRIMITIVE_H

#include "device/work.h"

#endif
