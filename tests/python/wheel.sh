#!/bin/sh
# wheel.sh BUILD ROOT: builds the wheel from that build folder, installs it where no other package is, and runs the program of
# examples/python/first.py on a database file. 77: script/setup could make no Python environment.
set -eu
cache=${RAYQL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rayql}
python=$cache/python/bin/python
[ -e "$cache/python/requirements.txt" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
RAYQL_BUILD=$1 "$python" "$2/bindings/python/backend.py" "$scratch"
"$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$scratch/site" "$scratch"/*.whl
cd "$scratch"
# -S: without the environment's packages, so with the wheel's own libduckdb
PYTHONPATH=$scratch/site "$python" -S "$2/examples/python/first.py" x.db | tee out
grep -q '^scan' out
for licence in LICENSE LICENSE.duckdb LICENSE.volk; do
	grep -q "Copyright\|Apache License" "$scratch"/site/rayql-*.dist-info/licenses/$licence
done
rm "$scratch/site/rayql/lib/rayql/libduckdb.so"
size=$(du -sk "$scratch/site" | cut -f 1)
[ "$size" -lt 20480 ] || { echo "without libduckdb the package has $size KiB"; exit 1; }
