#!/bin/sh
# run.sh COMMAND...: the command with DuckDB 2.0 as its libduckdb, from where script/setup keeps it. 77: it is not there.
library=${RAYQL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rayql}/duckdb-2.0.0/lib
[ -e "$library/libduckdb.so" ] || {
	echo "no DuckDB 2.0 in $library: script/setup makes it"
	exit 77
}
LD_LIBRARY_PATH=$library exec "$@"
