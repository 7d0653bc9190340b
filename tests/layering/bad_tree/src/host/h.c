#include "duckdb.h"
#include "column/column_internal.h"
#include "column/c.h"
