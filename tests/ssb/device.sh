#!/bin/sh
# device.sh RAYQL FOLDER: rayql bench device on vulkan:0 at small sizes: all answers right, valid JSON. 77: no such device.
rayql=$1 folder=$2
mkdir -p "$folder"
device=$("$rayql" -list -noheader -c "SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0'") || exit 1
[ "$device" = 1 ] || { echo "there is no device vulkan:0"; exit 77; }
export RAYQL_VULKAN_VALIDATION=0 # unit.relation and selftest.vulkan have these kernels under the validation layer
# How many cases there are of what runs. Of look-ups those by forms that only benchmarks have, skewed keys among them.
check() {
	"$rayql" bench device --device vulkan:0 --runs 1 --json "$folder/device.json" "$@" >"$folder/out" 2>&1 ||
		{ cat "$folder/out"; echo "failed: $*"; exit 1; }
	python3 - "$folder/device.json" "$count" <<'PY' || exit 1
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
wrong = [c["case"] for c in cases if not c["right"]]
assert len(cases) == int(sys.argv[2]) and not wrong, (len(cases), wrong)
PY
}
count=41 check --log2-scale -10 --only partition,join,group
count=2 check --log2-scale -12 --only sort --cases "4 columns"
count=84 check --log2-scale -12 --only lookup --forms "binary search,interpolation,k-ary"
