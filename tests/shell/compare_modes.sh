#!/bin/sh
# compare_modes.sh RAYQL SCRIPT.sql: what rayql prints in every mode is what DuckDB's own shell prints, to the byte:
# SCRIPT.expected holds that. Where RayQL differs on purpose, SCRIPT.differs is the difference, as diff prints it.
set -u
rayql=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
script=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
folder=$(dirname "$0")
name=${script%.sql}
printed=$(mktemp) || exit 99
differs=$(mktemp) || exit 99
trap 'rm -f "$printed" "$differs"' EXIT

"$folder/run_modes.sh" "$rayql" "$script" > "$printed" || exit 99
diff -a "$name.expected" "$printed" > "$differs"
if [ -f "$name.differs" ]; then
	cmp -s "$name.differs" "$differs" && exit 0
	echo "differs from DuckDB's shell in another way than $(basename "$name.differs") says (< DuckDB, > RayQL):"
elif [ -s "$differs" ]; then
	echo "differs from DuckDB's shell (< DuckDB, > RayQL):"
else
	exit 0
fi
head -n 60 "$differs"
exit 1
