#!/bin/sh
# garuda.sh RAYQL FOLDER: rayql bench garuda on vulkan:0 at small sizes: all answers right, valid JSON. 77: there is no
# such device, or it cannot draw.
rayql=$1 folder=$2
mkdir -p "$folder"
units="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%raster%'"
raster=$("$rayql" -list -noheader -c "$units") || exit 1
[ "$raster" = 1 ] || { echo "there is no device vulkan:0 with unit raster"; exit 77; }
export RAYQL_VULKAN_VALIDATION="${RAYQL_VULKAN_VALIDATION:-1}"
for figure in 10 11 13; do
	case $figure in 13) cases="3 keys" ;; *) cases="" ;; esac
	"$rayql" bench garuda --device vulkan:0 --figure $figure --cases "$cases" --log2-rows 11 --runs 1 --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
	python3 - "$folder/garuda.json" $figure <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
ways, want = {"10": (3, 7), "11": (3, 2), "13": (3, 2)}[sys.argv[2]]
right = [c for c in cases if c.get("right")]
points = [c for c in cases if "layers" in c or "rounds" in c]
told = want if sys.argv[2] == "13" else 2 * want # how many points were drawn
assert len(cases) == ways * want + told and len(right) == ways * want and len(points) == told, cases
PY
done
for more in "" "--staged --device-limit 800KB --host-limit 300KB --temp $folder"; do
	"$rayql" bench garuda --device vulkan:0 --host --log2-rows 16 --runs 1 $more --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
	grep -q 'host to host.*right' "$folder/out" || { cat "$folder/out"; exit 1; }
	python3 - "$folder/garuda.json" "$more" <<'PY'
import json, sys
case = json.load(open(sys.argv[1]))["cases"][0]
limited = sys.argv[2] != ""
assert (case["spilled_bytes"] > 0) == limited and (case["partitions"] > 1) == limited, case
assert not limited or (case["device_peak_bytes"] <= 800000 and case["host_peak_bytes"] <= 300000), case
PY
done
