"""What git knows: the files of a revision, and which of them have another name now.

Nothing here writes to the repository.  A copy of the index serves to have new files seen by
git's search for renames.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tolcost.diagnostics import Diagnostic, Rejected, quoted

_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Differences:
    """Files of a revision that are not the same now; ``renamed`` gives the old name by the new one."""

    changed: frozenset[str]
    renamed: dict[str, str]


def resolve(root: Path, revision: str) -> str:
    """The commit that a revision names."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise _failed(f"{quoted(revision)} is not a revision")
    try:
        _git(root, "rev-parse", "--git-dir")
    except Rejected as rejected:
        raise _failed("this is not in a git repository") from rejected
    try:
        name = f"{revision}^{{commit}}"
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
    except Rejected:
        hint = "in a shallow clone, fetch it first: git fetch --depth=1 origin BRANCH"
        raise _failed(f"there is no revision {quoted(revision)} here", hint) from None


def differences(root: Path, commit: str) -> Differences:
    """What is not the same in the working tree, new files included."""
    with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
        index = Path(folder) / "index"
        real = root / os.fsdecode(_git(root, "rev-parse", "--git-path", "index")).strip("\n")
        if real.exists():
            shutil.copyfile(real, index)
        _git(root, "add", "--intent-to-add", "--", ".", index=index)
        raw = _git(
            root, "diff", "--name-status", "--find-renames", "--no-ext-diff", "--relative", "-z", commit,
            index=index,
        )  # fmt: skip
    return _read_differences(os.fsdecode(raw).split("\0"))


def _read_differences(fields: Sequence[str]) -> Differences:
    changed: set[str] = set()
    renamed: dict[str, str] = {}
    todo = iter(fields)
    for status in todo:
        if status.startswith(("R", "C")):
            old, new = next(todo), next(todo)
            changed |= {old, new} if status.startswith("R") else {new}
            if status.startswith("R"):
                renamed[new] = old
        elif status:
            changed.add(next(todo))
    return Differences(frozenset(changed), renamed)


def files_at(root: Path, commit: str) -> dict[str, str]:
    """The files of a revision below a folder, by path from there, with the names of their contents."""
    raw = _git(root, "ls-tree", "-r", "-z", commit)
    found: dict[str, str] = {}
    for line in os.fsdecode(raw).split("\0"):
        head, _, path = line.partition("\t")
        mode, _, rest = head.partition(" ")
        if mode in ("100644", "100755"):  # links and submodules hold no program
            found[path] = rest.split(" ")[1]
    return found


def check_out(root: Path, blobs: Iterable[tuple[str, str]], folder: Path) -> None:
    """Write files of a revision, given by path and content name, below a folder."""
    asked = sorted(blobs)
    if not asked:
        return
    raw = _git(root, "cat-file", "--batch", given="".join(f"{blob}\n" for _, blob in asked).encode())
    at = 0
    for path, _ in asked:
        end = raw.index(b"\n", at)
        size = int(raw[at:end].split(b" ")[2])
        at = end + 1 + size + 1
        if ".." in Path(path).parts or Path(path).is_absolute():
            continue  # no honest tree has such a name
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw[end + 1 : at - 1])


def file_at(root: Path, commit: str, path: str) -> bytes | None:
    """One file of a revision; None where it has none of that name."""
    try:
        return _git(root, "cat-file", "blob", f"{commit}:./{path}")
    except Rejected:
        return None


def last_change(root: Path, path: str) -> str | None:
    """The newest commit that changed a file; None where there is none, or no repository."""
    try:
        return _git(root, "log", "-1", "--format=%H", "--", path).decode().strip() or None
    except Rejected:
        return None


def _git(root: Path, *arguments: str, index: Path | None = None, given: bytes | None = None) -> bytes:
    """Run git, in no language but its own, and without taking locks."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    command = ["git", "-C", str(root), "-c", "core.quotePath=false", *arguments]
    try:
        done = subprocess.run(command, env=environment, input=given, capture_output=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise _failed("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise _failed(f"git {arguments[0]} took longer than {_SECONDS} s") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
        raise _failed(f"git {arguments[0]} failed: {reason}")
    return done.stdout


def _failed(message: str, hint: str | None = None) -> Rejected:
    return Rejected(Diagnostic("T0720", message, hint=hint))
