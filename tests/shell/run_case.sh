#!/bin/sh
# run_case.sh RAYQL CASE: runs one case file against the program and compares what it printed and its exit status.
#
# A case is a text file of sections; all but `args` may be missing:
#   --- args    the arguments, as sh reads them ($DIR is an empty folder, the working directory)
#   --- setup   sh commands that run before
#   --- in      standard input (empty without it)
#   --- out     standard output, to the byte
#   --- out~    instead: one extended regular expression a line, each of which must match a line of the output
#   --- err     lines of standard error, each of which must be a part of what was printed; without it: nothing printed
#   --- code    exit status (0 without it)
set -u
rayql=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
case=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
DIR=$(mktemp -d) || exit 99
trap 'rm -rf "$DIR"' EXIT
work=$DIR.work
mkdir "$work" || exit 99
trap 'rm -rf "$DIR" "$work"' EXIT

awk -v dir="$work" '/^--- [a-z]+~?$/ { file = dir "/" $2; printf "" > file; next } file { print > file }' "$case"
[ -f "$work/args" ] || { echo "$case: no section 'args'"; exit 99; }
[ -f "$work/in" ] || : > "$work/in"

HOME=$DIR; RAYQL_HISTORY=; LC_ALL=C.UTF-8; TZ=UTC
export HOME RAYQL_HISTORY LC_ALL TZ DIR
cd "$DIR" || exit 99
[ ! -f "$work/setup" ] || . "$work/setup"
eval "set -- $(tr '\n' ' ' < "$work/args")"
"$rayql" "$@" < "$work/in" > "$work/stdout" 2> "$work/stderr"
code=$?

bad=0
if [ -f "$work/out" ]; then
	diff -u "$work/out" "$work/stdout" > "$work/diff" || { echo "standard output differs (- expected, + printed):"; cat "$work/diff"; bad=1; }
fi
if [ -f "$work/out~" ]; then
	while IFS= read -r pattern; do
		grep -Eq -- "$pattern" "$work/stdout" || { echo "no line of the output matches: $pattern"; cat "$work/stdout"; bad=1; }
	done < "$work/out~"
fi
if [ -f "$work/err" ]; then
	while IFS= read -r part; do
		grep -Fq -- "$part" "$work/stderr" || { echo "not in standard error: $part"; cat "$work/stderr"; bad=1; }
	done < "$work/err"
elif [ -s "$work/stderr" ]; then
	echo "unexpected on standard error:"; cat "$work/stderr"; bad=1
fi
want=0
[ ! -f "$work/code" ] || want=$(cat "$work/code")
[ "$code" = "$want" ] || { echo "exit status $code, expected $want"; cat "$work/stderr"; bad=1; }
exit $bad
