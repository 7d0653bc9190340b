#!/bin/sh
# make_expected.sh DUCKDB [--check]: writes modes/*.expected from DuckDB's own shell, which pip has as duckdb-cli. Run by
# hand for a new version of DuckDB; the results are committed, so that the tests need no such shell.
#
# --check writes nothing and compares instead. DUCKDB may then be missing: exit status 77, which skips the test.
set -u
version=v1.5.6
duckdb=$1
check=${2:-}
folder=$(cd "$(dirname "$0")" && pwd)
found=$("$duckdb" --version 2>/dev/null | cut -d ' ' -f 1)
if [ "$found" != "$version" ]; then
	echo "\"$duckdb\" is no shell of DuckDB $version (it says \"$found\")"
	[ -n "$check" ] && exit 77
	exit 1
fi
duckdb=$(command -v "$duckdb")
case $duckdb in /*) ;; *) duckdb=$PWD/$duckdb ;; esac
bad=0
for script in "$folder"/modes/*.sql; do
	expected=${script%.sql}.expected
	# Its boxes for DESCRIBE are coloured even in a pipe.
	if [ -z "$check" ]; then
		"$folder/run_modes.sh" "$duckdb" "$script" ".highlight off" > "$expected"
	elif ! "$folder/run_modes.sh" "$duckdb" "$script" ".highlight off" | cmp -s - "$expected"; then
		echo "$expected is not what $duckdb prints"
		bad=1
	fi
done
exit $bad
