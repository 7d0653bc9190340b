#!/bin/sh
# garuda.sh RAYQL FOLDER: rayql bench garuda on vulkan:0 at small sizes: all answers right, valid JSON. 77: there is no
# such device, or it cannot draw.
rayql=$1 folder=$2
mkdir -p "$folder"
units="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%raster%'"
raster=$("$rayql" -list -noheader -c "$units") || exit 1
[ "$raster" = 1 ] || { echo "there is no device vulkan:0 with unit raster"; exit 77; }
export RAYQL_VULKAN_VALIDATION=1
for figure in 10 11; do
	"$rayql" bench garuda --device vulkan:0 --figure $figure --log2-rows 11 --runs 1 --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
	python3 - "$folder/garuda.json" $figure <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
want = {"10": 7, "11": 2}[sys.argv[2]]
right = [c for c in cases if c.get("right")]
points = [c for c in cases if "layers" in c]
assert len(cases) == 3 * want and len(right) == 2 * want and len(points) == want, cases
PY
done
