#!/bin/sh
# headers.sh CC CXX ROOT: each public header compiles alone, as C17 and as C++17; each internal one as C17. CFLAGS names
# the include folders of third parties.
cc=$1 cxx=$2 root=$3
failed=0

# alone LANGUAGE-STANDARD HEADER COMPILER...: twice in one file, so that a missing include guard is found as well.
alone() {
	standard=$1 header=$2
	shift 2
	printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" |
		"$@" "-std=$standard" -Wall -Wextra -Wpedantic -Werror -fsyntax-only - || {
		echo "$header does not compile alone as $standard"
		failed=1
	}
}

count=0
for header in "$root"/include/rayql/*.h; do
	alone c17 "rayql/${header##*/}" "$cc" -x c "-I$root/include"
	alone c++17 "rayql/${header##*/}" "$cxx" -x c++ "-I$root/include"
	count=$((count + 1))
done
[ -f "$root/include/rayql/rayql.h" ] || { echo "no public header in $root/include/rayql"; exit 1; }
for header in $(cd "$root/src" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort); do
	# shellcheck disable=SC2086 # CFLAGS is a list
	alone c17 "$header" "$cc" -x c -D_GNU_SOURCE "-I$root/src" "-I$root/include" $CFLAGS
	count=$((count + 1))
done
echo "$count headers"
exit $failed
