#!/bin/sh
# garuda_tpch.sh RAYQL FOLDER SOURCE DATA: rayql bench garuda --suite tpch on vulkan:0 at scale 0.01: all answers are DuckDB's, the
# JSON has its time and rows, and bad input is refused. 77: there is no such device, it cannot draw, or there are no data
# (TPC-H's generator comes from PyPI).
set -e
rayql=$1 folder=$2 source=$3 data=$4
mkdir -p "$folder"
units="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%raster%'"
raster=$("$rayql" -list -noheader -c "$units") || exit 1
[ "$raster" = 1 ] || { echo "there is no device vulkan:0 with unit raster"; exit 77; }
status=0
"$source/script/tpch-data" 0.01 "$data" || status=$?
[ "$status" = 0 ] || exit "$status"

# refuse STATUS TEXT OPTIONS...
refuse() {
	status=$1 text=$2 got=0
	shift 2
	"$rayql" bench garuda --device vulkan:0 "$@" >"$folder/out" 2>&1 || got=$?
	[ "$got" = "$status" ] && grep -q -e "$text" "$folder/out" && return
	cat "$folder/out"; echo "exit code $got for $status: $*"; exit 1
}
refuse 2 'expected tpch' --suite tpcds
refuse 2 'take --suite tpch' --sf 1
refuse 2 'take --suite tpch' --data "$data"
refuse 2 'expected a number from' --suite tpch --sf 0
refuse 2 'without it 40 is the most' --suite tpch --sf 41
refuse 1 'script/tpch-data 0.01' --suite tpch --sf 0.01 --data "$folder/nothing"
refuse 1 'no case has "JO9"' --suite tpch --sf 0.01 --data "$data" --cases JO9

# Each line: options, and what the JSON must have. The queries of the suite submit what bench.garuda does.
while IFS='|' read -r options cases answers rows; do
	"$rayql" bench garuda --device vulkan:0 --suite tpch --sf 0.01 --data "$data" --runs 1 --log2-rows 10 --cases "$cases" $options \
		--json "$folder/garuda.json" >"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	python3 - "$folder/garuda.json" "$answers" $rows <<'PY'
import json, sys
result, answers, rows = json.load(open(sys.argv[1])), int(sys.argv[2]), [int(r) for r in sys.argv[3:]]
cases = result["cases"]
assert result["suite"] == "tpch" and result["scale"] == 0.01, result
assert sum(c.get("right", False) for c in cases) == answers and all(c.get("right", True) for c in cases), cases
duckdb = [c for c in cases if c.get("variant") == "DuckDB"]
assert [c["rows"] for c in duckdb] == rows and all(c["ms"] > 0 and c["threads"] > 0 for c in duckdb), duckdb
for c in cases: # what was drawn gave as many rows
    drawn = c.get("pairs", c.get("groups", c.get("result_rows", rows[0])))
    assert drawn in rows, c
PY
done <<'LINES'
--figure 8,11|JO1|8|15000 15000
--figure 8|JO3|3|240700
--figure 12|SGO|9|2401 15000 2000
--figure 13|MGO2|6|15000 15000
--host|JO3|1|240700
--host --groups|GO2|4|15000 15000
LINES
