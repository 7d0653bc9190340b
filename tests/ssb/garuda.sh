#!/bin/sh
# garuda.sh RAYQL FOLDER: rayql bench garuda on vulkan:0 at small sizes: all answers right, valid JSON. 77: there is no
# such device, or it cannot draw.
set -e
rayql=$1 folder=$2
mkdir -p "$folder"
units="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%raster%'"
raster=$("$rayql" -list -noheader -c "$units") || exit 1
[ "$raster" = 1 ] || { echo "there is no device vulkan:0 with unit raster"; exit 77; }
export RAYQL_VULKAN_VALIDATION="${RAYQL_VULKAN_VALIDATION:-1}"
for figures in 7 8..14 9..8 8, 8.10 x ""; do
	if "$rayql" bench garuda --device vulkan:0 --figure "$figures" >"$folder/out" 2>&1 ||
		! grep -q 'expected figures from 8 to 13' "$folder/out"; then
		cat "$folder/out"; echo "--figure '$figures' was not refused"; exit 1
	fi
done
for figures in 10..11 13; do
	case $figures in 13) cases="3 keys" ;; *) cases="" ;; esac
	"$rayql" bench garuda --device vulkan:0 --figure $figures --cases "$cases" --log2-rows 11 --runs 1 --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
	python3 - "$folder/garuda.json" "$folder/out" $figures <<'PY'
import json, sys
result, out = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
figures = [f["figure"] for f in result["figures"]]
assert figures == {"10..11": [10, 11], "13": [13]}[sys.argv[3]], figures
assert {c["figure"] for c in result["cases"]} == set(figures), result["cases"]
for f in result["figures"]:
    number = f["figure"]
    title = out.index(f"figure {number}, section {f['title']}\n")
    assert len(f["paper_found"]) > 20 and f["paper_found"] in out[title:].split("\n")[1], f
    # Answers, and how many points were drawn for them. Figure 11 has two orders of two joins, and each once a snake join.
    want, told = {10: (30, 20), 11: (10, 6), 13: (6, 2)}[number]
    cases = [c for c in result["cases"] if c["figure"] == number]
    right = [c for c in cases if c.get("right")]
    points = [c for c in cases if "layers" in c or "rounds" in c]
    assert len(cases) == want + told and len(right) == want and len(points) == told, cases
# A snake join of JO5 builds half of the partitions on the other side, and so draws fewer points than either order.
snake = {c["case"] + c["way"][-5:]: c for c in result["cases"] if c["case"].startswith("JO5") and "way" in c}
if snake:
    r, s, turned = snake["JO5, built on Rtions"], snake["JO5, built on Stions"], snake["JO5, built on R join"]
    assert turned["partitions"] == 8 and turned["swapped"] == 4 and r["swapped"] == s["swapped"] == 0, snake
    assert turned["probe"] < r["probe"] and turned["probe"] < s["probe"], snake
assert bool(snake) == (11 in figures), figures
# A skewed table joined with itself: the pairs of its keys, and more rows of a key than layers.
rows = 2048
counts = [0] * rows
for place in range(rows):
    counts[place * place // rows] += 1
itself = [c for c in result["cases"] if "Zipf 0.5 on both sides" in c["case"] and "pairs" in c]
less = [c for c in result["cases"] if "Zipf 0.25 on both sides" in c["case"] and "pairs" in c]
assert len(itself) == 2 * figures.count(10), itself
assert all(c["pairs"] == sum(n * n for n in counts) and c["flattened"] for c in itself), itself
assert len(less) == len(itself) and all(rows < c["pairs"] < itself[0]["pairs"] for c in less), less
PY
done
# What follows submits what unit.host_join and unit.host_group_by have under the validation layer.
export RAYQL_VULKAN_VALIDATION=0
for more in "" "--staged --device-limit 800KB --host-limit 300KB --temp $folder"; do
	"$rayql" bench garuda --device vulkan:0 --host --log2-rows 16 --runs 1 $more --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	grep -q 'host to host.*right' "$folder/out" || { cat "$folder/out"; exit 1; }
	python3 - "$folder/garuda.json" "$more" <<'PY'
import json, sys
case = json.load(open(sys.argv[1]))["cases"][0]
limited = sys.argv[2] != ""
assert (case["spilled_bytes"] > 0) == limited and (case["partitions"] > 1) == limited, case
assert not limited or (case["device_peak_bytes"] <= 800000 and case["host_peak_bytes"] <= 300000), case
PY
done
# group-bys from the host's memory: a table and all rows at once; partitions and a file; both units
for more in "--cases SGO" "--staged --device-limit 3MB --host-limit 700KB --temp $folder --cases MGO"; do
	"$rayql" bench garuda --device vulkan:0 --host --groups --log2-rows 16 --runs 1 $more --json "$folder/garuda.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed"; exit 1; }
	python3 - "$folder/garuda.json" "$more" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
limited = "--staged" in sys.argv[2]
assert len(cases) == (2 if limited else 4) and all(c["right"] and c["cpu_ms"] > 0 for c in cases), cases
ways = {c["way"] for c in cases}
assert ways == ({"partitions"} if limited else {"a table", "all rows at once"}), ways
assert not limited or all(c["spilled_bytes"] > 0 and c["device_peak_bytes"] <= 3e6 for c in cases), cases
PY
done
