#!/bin/sh
# symbols.sh LIBRARY ROOT: the library exports what the public headers declare RAYQL_API, nothing less and nothing more.
library=$1 root=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort >"$scratch/exported" || exit 1
# A declaration may run over lines; its name is the last word before the first parenthesis.
cat "$root"/include/rayql/*.h | tr '\n' ' ' | grep -oE 'RAYQL_API [^();#]*\(' |
	sed -E 's/.*[ *]([A-Za-z_0-9]+)[ ]*\($/\1/' | grep -v ^__attribute__ | LC_ALL=C sort -u >"$scratch/declared"

failed=0
if grep -v -e '^rayql_' -e '^AdbcRayqlInit$' "$scratch/exported"; then
	echo "exported, but not of the form rayql_*, nor the entry point of the ADBC driver"
	failed=1
fi
if LC_ALL=C comm -23 "$scratch/exported" "$scratch/declared" | grep .; then
	echo "exported, but in no public header"
	failed=1
fi
if LC_ALL=C comm -13 "$scratch/exported" "$scratch/declared" | grep .; then
	echo "in a public header, but not exported"
	failed=1
fi
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = librayql.so.0 ] || { echo "SONAME is $soname, expected librayql.so.0"; failed=1; }
echo "$(wc -l <"$scratch/exported") symbols"
exit $failed
