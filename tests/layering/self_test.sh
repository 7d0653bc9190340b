#!/bin/sh
# The checker over a tree that breaks each rule: it must fail, and name exactly the faults of bad_tree.expected.
here=$(cd "$(dirname "$0")" && pwd)
if found=$(sh "$here/check.sh" "$here/bad_tree"); then
	echo "check.sh passed a bad tree"
	exit 1
fi
printf '%s\n' "$found" | diff "$here/bad_tree.expected" - && echo "found all $(wc -l <"$here/bad_tree.expected") faults"
