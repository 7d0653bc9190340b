#!/bin/sh
# One suite of `rayql bench scan` on one unit (auto: cpu with rayql_auto_columns). Exit status 77: no device, or no data (TPC-H's generator comes from PyPI).
# Usage: scan.sh RAYQL FOLDER SOURCE SUITE SIZE UNIT LEAST
set -eu
rayql=$1 folder=$2 source=$3 suite=$4 size=$5 unit=$6 least=$7
mkdir -p "$folder"

if [ "$unit" = auto ]; then
	set -- --units cpu --auto-columns
else
	set -- --units "$unit"
fi
# Of the units of joins, cpu has indexes to look rows up by, and the others have none.
case $suite/$unit in tpch/cpu | join/cpu) set -- "$@" --lookups auto ;; esac
set -- "$@" --suite "$suite" "$size" --runs 1 --force --quiet --least "$least" --db "$folder/$suite-$unit"
if [ "$suite" != "${suite#tpch}" ]; then
	# One folder for both units: made once, whole or not at all.
	status=0
	"$source/script/tpch-data" "${size#--sf=}" "$folder/tpch-data" || status=$?
	[ "$status" = 0 ] || exit "$status"
	set -- "$@" --data "$folder/tpch-data"
fi
if [ "$unit" = compute ]; then
	count="SELECT count(*) FROM rayql_devices() WHERE device = 'vulkan:0' AND units LIKE '%compute%'"
	device=$("$rayql" -init /dev/null -list -noheader :memory: -c "$count") || exit 1
	[ "$device" = 1 ] || { echo "there is no device vulkan:0 with the unit compute"; exit 77; }
	set -- "$@" --device vulkan:0
	# All suites submit the same kinds of work: the validation layer watches those with joins, and unit.scan_compute.
	case $suite in ssb | join) export RAYQL_VULKAN_VALIDATION="${RAYQL_VULKAN_VALIDATION:-1}" ;; esac
fi
exec "$rayql" bench scan "$@"
