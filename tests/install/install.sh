#!/bin/sh
# install.sh CMAKE CC CXX BUILD CONSUMER MANUAL: installs BUILD under a folder that is then moved, builds the program in
# CONSUMER against it through find_package(RayQL) and through pkg-config, and runs both and the shell from there; the C
# program in MANUAL and the examples of its repository likewise.
set -eu
cmake=$1 cc=$2 cxx=$3 build=$4 consumer=$5 manual=$6
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log"
mv "$scratch/first" "$prefix"

echo "-- find_package(RayQL)"
"$cmake" -S "$consumer" -B "$scratch/consumer" -G Ninja "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_PREFIX_PATH=$prefix" \
	>"$scratch/configure.log" 2>&1 || { cat "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch/consumer" >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log"; exit 1; }
"$scratch/consumer/consumer"

echo "-- pkg-config"
pc=$(find "$prefix" -name rayql.pc)
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs rayql) # the file follows its prefix by itself
library=$(dirname "$(dirname "$pc")")
# shellcheck disable=SC2086 # a list of flags
"$cc" -std=c17 "$consumer/consumer.c" -o "$scratch/by_pkg_config" $flags "-Wl,-rpath,$library"
"$scratch/by_pkg_config"

echo "-- the program in the manual"
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$manual" >"$scratch/manual.c"
# shellcheck disable=SC2086
"$cc" -std=c17 -Wall -Wextra -Werror "$scratch/manual.c" -o "$scratch/manual" $flags "-Wl,-rpath,$library"
(
	cd "$scratch"
	"$prefix/bin/rayql" shop.db -c "CREATE TABLE sales AS SELECT 'region ' || i % 2 AS region,
		i::DECIMAL(9,2) AS amount FROM range(5) r(i); CREATE MATERIALIZED VIEW v AS SELECT region, sum(amount)
		FROM sales GROUP BY region"
	[ "$(./manual)" = "$(printf 'region 0: 6.00\nregion 1: 4.00')" ]
	rm shop.db
	if ./manual 2>manual.err; then exit 1; fi
	grep -q "sales does not exist" manual.err
)

echo "-- the examples"
examples=$(dirname "$(dirname "$manual")")/examples
# shellcheck disable=SC2086
"$cc" -std=c17 -Wall -Wextra -Werror "$examples/c/arrow.c" -o "$scratch/arrow" $flags "-Wl,-rpath,$library"
[ "$("$scratch/arrow")" = "$(printf 'answered by: scan\n10 groups')" ]
# shellcheck disable=SC2086
"$cc" -std=c17 -Wall -Wextra -Werror "$examples/c/append.c" -o "$scratch/append" $flags "-Wl,-rpath,$library"
[ "$("$scratch/append")" = "$(printf '0 1 2\n0.5 1.5 2.5')" ]
# shellcheck disable=SC2086
"$cxx" -std=c++17 -Wall -Wextra -Werror "$examples/cpp/rows.cpp" -o "$scratch/rows" $flags "-Wl,-rpath,$library"
[ "$("$scratch/rows")" = "$(printf '8 16\n9 18')" ]

echo "-- the shell"
if [ -x "$prefix/bin/rayql" ]; then
	[ "$("$prefix/bin/rayql" -csv -c "SELECT 40 + 2 AS answer")" = "$(printf 'answer\n42')" ]
fi

echo "-- what is in it"
for licence in LICENSE LICENSE.volk; do
	grep -q "Copyright\|Apache License" "$prefix/share/doc/rayql/$licence"
done
for file in "$library/librayql.so" "$library/rayql/libduckdb.so" "$prefix/bin/rayql"; do
	if [ -e "$file" ] && readelf -S "$file" | grep -E '\.(symtab|debug_info) '; then
		echo "$file is not stripped"
		exit 1
	fi
done

grep -q "entrypoint = \"AdbcRayqlInit\"" "$prefix/etc/adbc/drivers/rayql.toml"

echo "-- where things come from"
ldd "$scratch/by_pkg_config" | awk '/librayql/ { print $1, $3 }'
if ldd "$scratch/by_pkg_config" "$library/librayql.so" | grep -E "not found|=> $build/"; then
	echo "the installed library needs something outside of its prefix"
	exit 1
fi
# A libduckdb that was installed along is the one that is loaded, when a database is opened.
if [ -e "$library/rayql/libduckdb.so" ]; then
	LD_DEBUG=libs "$scratch/by_pkg_config" 2>&1 | grep -q "calling init: $library/rayql/libduckdb.so"
	[ -e "$prefix/share/doc/rayql/LICENSE.duckdb" ]
fi
