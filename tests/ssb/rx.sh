#!/bin/sh
# rx.sh RAYQL FOLDER: rayql bench rx and thesis on vulkan:0 at tiny sizes: all answers right, valid JSON. 77: there is no
# such device, or it traces no rays.
rayql=$1 folder=$2
mkdir -p "$folder"
units="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%rt%'"
rt=$("$rayql" -list -noheader -c "$units") || exit 1
[ "$rt" = 1 ] || { echo "there is no device vulkan:0 with unit rt"; exit 77; }
export RAYQL_VULKAN_VALIDATION="${RAYQL_VULKAN_VALIDATION:-1}"
for run in "rx 4 -17 256 5" "rx 12 -17 both 8" "thesis 25 -12 16 8" "thesis 11 -12 1024 1" "thesis 16 -14 2^15 22"; do
	set -- $run
	"$rayql" bench "$1" --device vulkan:0 --figure "$2" --log2-scale="$3" --cases "$4" --runs 1 --json "$folder/rx.json" \
		>"$folder/out" 2>&1 || { cat "$folder/out"; echo "failed: $run"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
	python3 - "$folder/rx.json" "$2" "$5" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
figure, want = sys.argv[2], int(sys.argv[3])
right = [c for c in cases if c.get("right")]
structures = [c for c in cases if c.get("what") == "structure"]
assert len(right) == want and len(structures) == want and len(cases) == 2 * want, (len(cases), len(right))
assert all(c["bytes_a_key"] > 0 for c in structures)
assert all(c["rays"] > 0 for c in structures if "predicted_rtx4090_ms" in c)
assert figure != "11" or 0 < structures[0]["find_representatives_ms"] < structures[0]["build_ms"], structures
PY
	[ $? = 0 ] || exit 1
done
