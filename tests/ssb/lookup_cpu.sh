#!/bin/sh
# lookup_cpu.sh RAYQL FOLDER: look-ups on the CPU in rayql bench device, rx and thesis at small sizes: all answers are
# right, as many of them as there are forms without rays, and the others said to be left out.
rayql=$1 folder=$2
mkdir -p "$folder"
# How many answers there must be of a benchmark with these options.
check() {
	count=$1
	shift
	"$rayql" bench "$@" --device cpu --runs 1 --json "$folder/lookup_cpu.json" >"$folder/out" 2>&1 ||
		{ cat "$folder/out"; echo "failed: $*"; exit 1; }
	python3 - "$folder/lookup_cpu.json" "$count" "$*" <<'PY' || exit 1
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
wrong = [(c["case"], c["variant"]) for c in cases if not c["right"]]
assert len(cases) == int(sys.argv[2]) and not wrong, (sys.argv[3], len(cases), wrong)
assert all(c["bytes_a_key"] > 0 and c["ms"] > 0 for c in cases)
PY
}
check 60 device --only lookup --log2-scale -12
check 36 rx --figure 14 --log2-scale -15
check 24 rx --figure 12 --log2-scale -15 --cases sorted
check 12 thesis --figure 16 --log2-scale -10 --cases 2^19
check 10 thesis --figure 20 --log2-scale -10
grep -q "cgRX, buckets of 32 *left out: rays need a GPU" "$folder/out" || { echo "rays are not left out"; exit 1; }
if "$rayql" bench device --device cpu --only join >"$folder/out" 2>&1; then echo "joins on a CPU"; exit 1; fi
grep -q "look-ups alone" "$folder/out" || { cat "$folder/out"; exit 1; }
