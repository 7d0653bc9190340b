#!/bin/sh
# sdist.sh BUILD ROOT: an sdist has all that its library is built from, and a wheel made of it answers. CMake
# configures its sources and ninja finds every file that a rule names; every header that the compiler read for BUILD is there,
# too. Only the compiling itself is spared: the wheel takes the library from BUILD. With RAYQL_SDIST_BUILD=1 it is compiled.
# 77: there is no Python environment, or the sources are no git repository.
set -eu
cache=${RAYQL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rayql}
python=$cache/python/bin/python
[ -e "$cache/python/requirements.txt" ] || exit 77
git -C "$2" rev-parse --git-dir >/dev/null 2>&1 || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$2/script/wheel" --sdist "$scratch"
tar -xzf "$scratch"/rayql-*.tar.gz -C "$scratch"
cd "$scratch"/rayql-*/
[ -e PKG-INFO ] && [ -e rayql/py.typed ] && [ -e source/LICENSE ]

cmake -S source -B "$scratch/build" -G Ninja -DRAYQL_TESTS=OFF >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
ninja -C "$scratch/build" -n >"$scratch/log" || { tail -n 3 "$scratch/log"; exit 1; }
ninja -C "$1" -t deps >"$scratch/deps"
"$python" - "$2" "$1" "$scratch/deps" <<'CHECK'
import os, sys

root, build, deps = (os.path.realpath(path) for path in sys.argv[1:])
seen, missing, counts = False, set(), 0
for line in open(deps):
    if not line.startswith(" "):
        seen = line.startswith(("src/", "shell/", "bench/"))
    elif seen and line.strip():
        path = os.path.realpath(os.path.join(build, line.strip()))
        if path.startswith(root + os.sep) and not path.startswith(build + os.sep):
            counts += 1
            if not os.path.exists(os.path.join("source", os.path.relpath(path, root))):
                missing.add(path)
if missing or counts < 1000:
    sys.exit(f"{counts} dependencies; not in the sdist: {sorted(missing)}")
CHECK

[ -n "${RAYQL_SDIST_BUILD:-}" ] || export RAYQL_BUILD="$1"
mkdir "$scratch/wheel"
PYTHONPATH=. "$python" -c "import backend; backend.build_wheel('$scratch/wheel')"
"$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$scratch/site" "$scratch"/wheel/*.whl
cd "$scratch"
PYTHONPATH=$scratch/site "$python" -S "$2/examples/python/first.py" x.db | tee out
grep -q '^scan' out
