#!/bin/sh
# check.sh ROOT: checks the include rules of tests/layering/rules.txt over ROOT/src, ROOT/shell and ROOT/bench, that
# every folder has a README.md of at most a page (80 lines), that no script names a download host, and that no shader asks
# for what a compiler gets wrong. One line a fault, sorted; exit status 1 when there is any.
set -u
root=$1
here=$(cd "$(dirname "$0")" && pwd)
rules=$here/rules.txt
cd "$root" || exit 2

sources() {
	find src shell bench -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' \) 2>/dev/null | LC_ALL=C sort
}

check_includes() {
	sources | tr '\n' '\0' | xargs -0 -r awk -v rules="$rules" -f "$here/includes.awk" "$rules"
}

check_readmes() {
	# Folders that hold sources or a build file; a subfolder of device or util is a part of its parent.
	for folder in src/* src/method/* shell bench tests; do
		[ -d "$folder" ] && [ -n "$(find "$folder" -maxdepth 1 -type f | head -n 1)" ] || continue
		if [ ! -f "$folder/README.md" ]; then
			echo "$folder: no README.md"
		elif [ "$(wc -l <"$folder/README.md")" -gt 80 ]; then
			echo "$folder/README.md: more than 80 lines"
		fi
	done
}

# Mirrors differ from machine to machine: npm and apt know theirs, scripts name packages only. The namespace of a picture is a
# name, which nobody loads.
check_hosts() {
	find script .ci cmake CMakeLists.txt -type f 2>/dev/null | LC_ALL=C sort | tr '\n' '\0' |
		xargs -0 -r grep -nHE '[a-z]+://|[A-Za-z0-9-]+\.(org|com|net|io|dev)([^A-Za-z0-9_]|$)' |
		grep -v 'xmlns="http://www.w3.org/2000/svg"' |
		sed -E 's/^([^:]*:[0-9]+):.*/\1: names a host/'
}

# No test here can see it: kernel.glsl says what an NVIDIA compiler makes of it.
check_shaders() {
	find src -type f \( -name '*.comp' -o -name '*.glsl' -o -name '*.frag' -o -name '*.vert' \) | LC_ALL=C sort | tr '\n' '\0' |
		xargs -0 -r grep -nH 'subgroupExclusiveAdd(' |
		sed -E 's/^([^:]*:[0-9]+):.*/\1: use RQL_SUBGROUP_BEFORE (device\/kernel.glsl)/'
}

faults=$({ check_includes; check_readmes; check_hosts; check_shaders; } | LC_ALL=C sort -t : -k 1,1 -k 2,2n -k 3)
[ -z "$faults" ] && exit 0
printf '%s\n' "$faults"
exit 1
