#!/bin/sh
# page.sh RAYQL PAGE...: all SQL of those pages of docs/ runs, page by page in a new database, in the order in which it stands.
# Tables of millions of rows get a hundredth of them.
set -eu
rayql=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for page in "$@"; do
	echo "-- $page"
	awk '/^```sql$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" | sed 's/000000)/0000)/' >"$scratch/page.sql"
	[ -s "$scratch/page.sql" ] || { echo "no SQL in $page"; exit 1; }
	rm -rf "$scratch"/page.db*
	"$rayql" -bail -f "$scratch/page.sql" "$scratch/page.db" >"$scratch/out" 2>&1 || { tail -n 20 "$scratch/out"; exit 1; }
done
