"""Builds the wheel and the sdist of `rayql` (PEP 517), with nothing but Python's own library and CMake.

The wheel holds librayql, libduckdb for those who have no `duckdb` package, and their licences; it fits any Python 3. Its
platform tag is the C library's version that the binaries need. RAYQL_BUILD names a build folder to install from; without it
one is configured, built and removed here, with the words of CMAKE_ARGS given to CMake. The sdist holds this folder and, below
`source`, what the library is built from.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("rayql", "adbc_driver_rayql")


def _root() -> Path:
    """RayQL's sources: two folders up, or beside this file in an sdist."""
    for folder in (HERE.parent.parent, HERE / "source"):
        if (folder / "CMakePresets.json").exists():
            return folder
    sys.exit("rayql: its C sources are not here; build from the repository or from an sdist")


def _field(name: str) -> str:
    return re.search(rf'^{name} = "([^"]*)"', (HERE / "pyproject.toml").read_text(), re.M)[1]


def _run(*command: str | Path) -> str:
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def _metadata() -> str:
    text = (HERE / "pyproject.toml").read_text()
    extras = re.findall(r'^(\w+) = \["([^"]*)"\]$', text.split("[project.optional-dependencies]")[1], re.M)
    lines = ["Metadata-Version: 2.1", f"Name: {_field('name')}", f"Version: {_field('version')}"]
    lines += [f"Summary: {_field('description')}", "License: Apache-2.0", f"Requires-Python: {_field('requires-python')}"]
    for extra, requirement in extras:
        lines += [f"Provides-Extra: {extra}", f'Requires-Dist: {requirement}; extra == "{extra}"']
    return "\n".join(lines) + "\nDescription-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text()


# ---- the library ----
def _build(folder: Path) -> Path:
    given = os.environ.get("RAYQL_BUILD")
    if given:
        return Path(given)
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DRAYQL_TESTS=OFF", *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    _run("cmake", "-S", _root(), "-B", folder, "-G", "Ninja", *options)
    _run("cmake", "--build", folder)
    return folder


def _needed(library: Path) -> list[Path]:
    """What the library needs besides the C library and its kind."""
    usual = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)\.so|ld-linux|linux-vdso")
    lines = (line.split() for line in _run("ldd", library).splitlines())
    return [Path(line[2]) for line in lines if len(line) > 2 and line[1] == "=>" and not usual.search(line[0])]


def _licence_of(library: Path) -> Path | None:
    """The text that came with a Debian package's library."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{library.resolve().name}"], capture_output=True, text=True).stdout
    text = Path("/usr/share/doc") / found.split(":")[0] / "copyright"
    return text if found and text.exists() else None


def _install(target: Path, scratch: Path) -> list[Path]:
    """Fills target (rayql/lib) with the libraries and gives the licences, which lie in scratch."""
    prefix = scratch / "prefix"
    _run("cmake", "--install", _build(scratch / "build"), "--prefix", prefix)
    library = next(prefix.glob("lib*/librayql.so")).resolve()
    beside = target / "rayql"  # where librayql looks for what it needs
    beside.mkdir(parents=True)
    shutil.copy(library, target / "librayql.so")
    host = library.parent / "rayql" / "libduckdb.so"
    if host.exists():
        shutil.copy(host, beside)
    licences = sorted((prefix / "share" / "doc" / "rayql").glob("LICENSE*"))
    for path in _needed(target / "librayql.so"):
        shutil.copy(path.resolve(), beside / path.name)
        licence = _licence_of(path)
        if licence:
            copy = prefix / f"LICENSE.{path.name.split('.')[0]}"
            shutil.copy(licence, copy)
            licences.append(copy)
    return licences


def _platform(folder: Path) -> str:
    versions = set()
    for library in folder.rglob("*.so*"):
        versions |= {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", _run("objdump", "-T", library))}
    return "manylinux_{}_{}_{}".format(*max(versions), os.uname().machine)


# ---- the two files ----
def _entry(archive: zipfile.ZipFile, record: list[str], name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(data)}")


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    name, version = _field("name"), _field("version")
    info = f"{name}-{version}.dist-info"
    record: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        lib = Path(scratch) / "lib"
        licences = _install(lib, Path(scratch))
        tag = f"py3-none-{_platform(lib)}"
        path = Path(wheel_directory) / f"{name}-{version}-{tag}.whl"
        with zipfile.ZipFile(path, "w", compresslevel=9) as archive:
            for package in PACKAGES:
                for file in sorted((HERE / package).rglob("*")):
                    if file.suffix in (".py", ".typed"):
                        _entry(archive, record, file.relative_to(HERE).as_posix(), file.read_bytes())
            for file in sorted(lib.rglob("*.so*")):
                _entry(archive, record, f"rayql/lib/{file.relative_to(lib).as_posix()}", file.read_bytes())
            for file in licences:
                _entry(archive, record, f"{info}/licenses/{file.name}", file.read_bytes())
            _entry(archive, record, f"{info}/METADATA", _metadata().encode())
            wheel = f"Wheel-Version: 1.0\nGenerator: rayql\nRoot-Is-Purelib: false\nTag: {tag}\n"
            _entry(archive, record, f"{info}/WHEEL", wheel.encode())
            archive.writestr(f"{info}/RECORD", "\n".join(record + [f"{info}/RECORD,,"]) + "\n")
    return path.name


def _member(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, 1767225600  # as in the wheel: 2026-01-01
    archive.addfile(info, io.BytesIO(data))


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    name = f"{_field('name')}-{_field('version')}"
    root = _root()
    path = Path(sdist_directory) / f"{name}.tar.gz"
    left_out = (":!bench/results", ":!tests", ":!.ci", ":!script")
    files = _run("git", "-C", root, "ls-files", "--", ".", *left_out).splitlines()
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(files):
            inside = file.removeprefix("bindings/python/") if file.startswith("bindings/python/") else f"source/{file}"
            _member(archive, f"{name}/{inside}", (root / file).read_bytes(), (root / file).stat().st_mode & 0o755)
        _member(archive, f"{name}/PKG-INFO", _metadata().encode(), 0o644)
    return path.name


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--sdist"]
    target = Path(words[0] if words else ".")
    target.mkdir(parents=True, exist_ok=True)
    print(target / (build_sdist if "--sdist" in sys.argv else build_wheel)(str(target)))
