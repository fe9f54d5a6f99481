"""The rules that a source has: listed from a copy of it, beside those that are judged or told why not.

    python -m tools.referee.rules tileops path/to/TileOPs

`reports/data/rules.toml` says where a source lists its rules, and by which pattern they are found.
"""

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[2] / "reports" / "data" / "rules.toml").read_text("utf-8")
)


def known(source: str) -> set[str]:
    """The rules of a source that are judged, under their own name or another, and those that are not."""
    said = RULES[source]
    return {*said["judged"], *said.get("named", {}), *said.get("without", {})}


def listed(source: str, copy: Path) -> set[str]:
    """The rules that a copy of a source has: a repository, at the commit that is recorded, or a folder."""
    said = RULES[source]
    pattern = re.compile(said["pattern"], re.MULTILINE)
    return {name for text in _texts(said, copy) for name in pattern.findall(text)}


def _texts(said: dict[str, Any], copy: Path) -> list[str]:
    if "commit" not in said:
        return [(copy / file).read_text("utf-8") for file in said["files"]]
    git = ["git", "-C", str(copy)]
    tree = _said([*git, "ls-tree", "-r", "--name-only", said["commit"]]).splitlines()
    files = [file for file in tree if any(fnmatch(file, wanted) for wanted in said["files"])]
    return [_said([*git, "show", f"{said['commit']}:{file}"]) for file in files]


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(source: str, copy: str) -> int:
    """Tell what differs; 0 where nothing does."""
    found, told = listed(source, Path(copy)), known(source)
    print(
        f"{source}: {len(found)} rules; without a word: {sorted(found - told)}; gone: {sorted(told - found)}"
    )
    return int(found != told)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
