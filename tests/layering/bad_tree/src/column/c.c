#include "c.h"
#include "column/gone.h"
#  include	<duckdb.h>
// #include "exec/e.h" in a comment is none
#include "column/column_internal.h"
