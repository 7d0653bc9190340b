#!/bin/sh
# run_modes.sh PROGRAM SCRIPT [COMMAND]: prints what a shell (rayql, or DuckDB's duckdb) makes of a script of SQL and dot
# commands in each output mode: a run of its own for each, with `.mode MODE` before the script. A section of the output
# is the mode, the exit status, standard output and standard error.
#
# COMMAND is a dot command to begin with. A script's first line may name the modes it is for: `-- modes: duckbox box`.
set -u
program=$1
script=$2
command=${3:-}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
HOME=$work; RAYQL_HISTORY=; LC_ALL=C.UTF-8; TZ=UTC
export HOME RAYQL_HISTORY LC_ALL TZ

modes=$(sed -n '1s/^-- modes: //p' "$script")
: "${modes:=ascii box column csv duckbox html insert json jsonlines latex line list markdown quote table tabs tcl}"
for mode in $modes; do
	{ [ -z "$command" ] || printf '%s\n' "$command"; printf '.mode %s\n' "$mode"; cat "$script"; } > "$work/in"
	(cd "$work" && "$program" -no-init < in > out 2> err)
	printf '=== mode %s: exit status %d\n' "$mode" $?
	cat "$work/out"
	if [ -s "$work/err" ]; then
		printf '%s\n' '--- standard error'
		cat "$work/err"
	fi
done
