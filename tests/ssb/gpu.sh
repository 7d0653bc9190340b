#!/bin/sh
# gpu.sh RAYQL FOLDER SOURCE: the benchmarks of GPUs on vulkan:0, whatever that is: all answers right (cubes', the rivals'),
# valid JSON, and tables from it. 77: there is no such device.
rayql=$1 folder=$2 source=$3
mkdir -p "$folder"
device=$("$rayql" -list -noheader -c "SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0'") || exit 1
[ "$device" = 1 ] || { echo "there is no device vulkan:0"; exit 77; }
export RAYQL_VULKAN_VALIDATION="${RAYQL_VULKAN_VALIDATION:-1}"

run() {
	"$rayql" bench "$@" --device vulkan:0 --runs 1 --threads 2 --db "$folder" >"$folder/out" 2>&1 ||
		{ cat "$folder/out"; echo "failed: $*"; exit 1; }
	if grep 'Vulkan validation:' "$folder/out"; then exit 1; fi
}

run ssb-flat --sf 0.005 --units compute --rollup off --json "$folder/flat.json"
run rtcudb --figure all --sf 0.002 --queries q2.1 --json "$folder/rtcudb.json"
RAYQL=$rayql "$source/script/bench-table" "$folder/flat.json" "$folder/rtcudb.json" >"$folder/tables" || exit 1
for text in '13 of 13' '1 of 1' 'Figure 11 ' 'Figure 13 ' 'Figure 14 ' 'Figure 15 ' 'Figure 16 '; do
	grep -q "$text" "$folder/tables" || { cat "$folder/tables"; echo "the tables lack: $text"; exit 1; }
done
