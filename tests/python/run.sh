#!/bin/sh
# run.sh LIBRARY ROOT MODULE: the Python tests of that module over that librayql, in the environment that script/setup keeps.
# 77: there is none.
cache=${RAYQL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rayql}
python=$cache/python/bin/python
[ -e "$cache/python/requirements.txt" ] || {
	echo "no Python environment in $cache/python: script/setup makes it"
	exit 77
}
cd "$2/tests/python" || exit 1
RAYQL_LIBRARY=$1 PYTHONPATH=$2/bindings/python PYTHONDONTWRITEBYTECODE=1 exec "$python" -W error::ResourceWarning -m unittest "$3"
