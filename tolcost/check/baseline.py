"""What a check compares with: the entries of a lock file, or the programs of a git revision.

A revision is read under its own settings, so that one which changed does not hide what they were.
Programs that have another name now are found by what they are: equal figures, or the only ones whose
inputs fit.  Where that is not clear nothing is guessed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.check.config import Config, config_of, narrowed
from tolcost.check.lockfile import LOCK_NAME, Lock, Origins, program_text
from tolcost.check.records import LockEntry, file_of
from tolcost.check.targets import (
    SUFFIXES,
    Analysed,
    Computing,
    Contribution,
    Costed,
    Target,
    covers,
    programs,
)
from tolcost.diagnostics import Diagnostic, Rejected, quoted

Contributions: TypeAlias = Sequence[Contribution]


class GateTask(Struct, frozen=True):
    """What is to be checked, and how programs are analysed."""

    config: Config
    computing: Computing
    asked: tuple[Path, ...] = ()
    strict: bool = False
    fresh: bool = False
    """Whether every program is analysed, sealed or not."""


class Baseline(Struct, frozen=True):
    """What a check compares with: old entries by their old names.

    ``broken`` says why there is no entry of a program that was there; ``settled`` are programs that
    cannot differ; ``left_out`` is what settings of now do not ask for, and ``doubt`` why that is not
    known.  The parts of an old program are found when they are asked for, to name the line that grew; so are
    the texts that a file may have had, as digests.
    """

    label: str
    entries: Mapping[str, LockEntry]
    parts: Callable[[str, Target], Contributions | None]
    broken: Mapping[str, str] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    doubt: str = ""
    is_revision: bool = False
    texts: Callable[[str], frozenset[str]] = lambda _: frozenset()


class History(Struct, frozen=True):
    """Looks up old versions of programs in git."""

    gate: GateTask
    lock: Lock

    def parts(self, name: str, target: Target) -> Contributions | None:
        """The parts of the version that cost what is locked; None where no such version is found."""
        file = file_of(name)
        for text in self._versions(file):
            found = self._cost(text, replace(target, file=file))
            if found is not None and found.entry.figures == self.lock.entries[name].figures:
                return found.parts
        return None

    def texts(self, file: str) -> frozenset[str]:
        """Digests of what a file may have been when its figures were locked."""
        return frozenset(program_text(text, file) for text in self._versions(file))

    def _versions(self, file: str) -> Iterator[bytes]:
        root = self.gate.config.root
        for commit in dict.fromkeys(("HEAD", last_change(root, LOCK_NAME))):
            text = None if commit is None else file_at(root, commit, file)
            if text is not None:
                yield text

    def _cost(self, text: bytes, target: Target) -> Costed | None:
        config = self.gate.config
        libraries = tuple(map(str, config.libraries))
        with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
            file = Path(folder) / target.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
            try:
                return self.gate.computing.costing(
                    replace(config, root=Path(folder), first_specs=libraries, specs=()), target
                )
            except Rejected:  # without it, no line is named
                return None


def at_revision(gate: GateTask, revision: str, former: Former, asked: Sequence[Target]) -> Baseline:
    """The programs of a revision, under the settings of then, analysed by this very tolcost.

    What only the settings of now ask for is compared as well, if it was there.
    """
    config = gate.config
    before, left_out, doubt = _settings_then(gate, revision, former)
    today = replace(before, paths=config.paths, exclude=config.exclude, cases=config.cases)
    then = {target.name: target for target in (*programs(today), *programs(before))}
    was, now = Origins(before), Origins(config)
    sources = {t.name: now.source(t) for t in asked if t.name in then}
    settled = frozenset(n for n, source in sources.items() if source and source == was.source(then[n]))
    needed = [t for t in then.values() if t.name not in settled and covers(gate.asked, config, t.name)]
    found = gate.computing.entries(before, needed)
    marked = {target.name: marked_entry(found[target.name], target, was) for target in needed}
    lost = {t.name: why for t in asked if (why := _lost(former, t, was, now))}

    def parts(name: str, target: Target) -> Contributions | None:
        return gate.computing.costing(before, then[name]).parts if name in then else None

    def texts(file: str) -> frozenset[str]:
        path = former.root / file
        return frozenset((program_text(path.read_bytes(), file),) if path.is_file() else ())

    return Baseline(
        label=f"git {revision}",
        entries={
            **{name: LockEntry(name) for name in settled},
            **{name: entry for name, entry in entries_of(marked).items() if name not in lost},
        },
        parts=parts,
        broken={
            **{n: f"it could not be read: {o.problems[0].message}" for n, o in found.items() if o.problems},
            **{name: why for name, why in lost.items() if name not in settled},
        },
        settled=settled,
        left_out=left_out,
        doubt=doubt,
        is_revision=True,
        texts=texts,
    )


def _lost(former: Former, target: Target, was: Origins, now: Origins) -> str | None:
    """Why what a program was cannot be told though it can be read: something that it used is not here."""
    if was.libraries is None and now.libraries is not None:
        return "a library of then cannot be read"
    folders = (*was.config.first_specs, *was.config.specs)
    return former.lacks(target.file, [Path(folder).as_posix() for folder in folders])


def _settings_then(gate: GateTask, revision: str, former: Former) -> tuple[Config, tuple[str, ...], str]:
    """The settings of a revision, what those of now leave out, and why nothing is known of that if so."""
    config = gate.config
    try:
        own, doubt = config_of(former.root), ""
    except Rejected as rejected:
        own = config
        doubt = f"the settings of {revision} cannot be read: {rejected.diagnostics[0].message}"
    before = replace(own, root=former.root, metrics=config.metrics, first_specs=config.first_specs)
    return before, tuple(narrowed(own, config)), doubt


def entries_of(outcomes: Mapping[str, Analysed]) -> dict[str, LockEntry]:
    """The entries of the programs that could be read."""
    return {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}


# ---- which is which -------------------------------------------------------------------------------


class Pairs(Struct, frozen=True):
    """Old names of programs that have another one now, and what is gone beside those that are new."""

    renamed: Mapping[str, str]
    gone: tuple[str, ...]
    unclear: tuple[str, ...]
    """Programs that are gone, and nothing says which of the new ones they became, if any."""
    others: tuple[str, ...] = ()
    """Programs that are gone, and that one with another name may have been instead."""
    sure: Callable[[str], bool] = lambda _: False
    """Whether a program with another name has the text of the one that it is taken for."""


def paired(base: Baseline, asked: Sequence[Target], present: Mapping[str, LockEntry], root: Path) -> Pairs:
    """Find out which programs have another name: equal ones, then those that are the only ones alike.

    A program whose file is still there did not become another file: it is not checked any more.  Figures
    and names are no proof of what became of what: only the same text is.
    """
    names = {target.name for target in asked}
    come = {n: e for n, e in present.items() if n not in base.entries and n not in base.broken}
    files = {file_of(name) for name in come}
    lost = {n: e for n, e in base.entries.items() if n not in names}
    gone = {n: e for n, e in lost.items() if file_of(n) in files or not (root / file_of(n)).is_file()}
    found: dict[str, str] = {}
    for key, is_enough in _LIKENESS:
        news, olds = _grouped(come, key), _grouped(gone, key)
        for alike in news.keys() & olds.keys():
            if is_enough or len(news[alike]) == len(olds[alike]) == 1:
                found.update(zip(news[alike], olds[alike], strict=False))
        come = {name: entry for name, entry in come.items() if name not in found}
        gone = {name: entry for name, entry in gone.items() if name not in found.values()}
    left = tuple(sorted({*lost, *base.broken} - {*found.values()} - names))
    broken = {n for n in base.broken if n not in names and not (root / file_of(n)).is_file()}
    file = {target.name: target.file for target in asked}

    def sure(name: str) -> bool:
        text = program_text((root / file[name]).read_bytes(), file[name])
        return text in base.texts(file_of(found[name]))

    return Pairs(found, left, left if come else (), tuple(sorted({*gone, *broken})), sure)


def _grouped(entries: Mapping[str, LockEntry], key: Callable[[LockEntry], object]) -> dict[object, list[str]]:
    groups: dict[object, list[str]] = {}
    for name in sorted(entries):
        groups.setdefault(key(entries[name]), []).append(name)
    return groups


def _figures(entry: LockEntry) -> object:
    return replace(entry.plain(""), rules=None)


def _ranks(entry: LockEntry) -> object:
    return tuple(tuple(len(part.shape) for part in one.parts) for one in entry.domain.inputs)


def _file_name(entry: LockEntry) -> str:
    return entry.name.rpartition("/")[2]


_LIKENESS: tuple[tuple[Callable[[LockEntry], object], bool], ...] = (
    (lambda entry: (_figures(entry), _file_name(entry)), True),
    (_figures, True),
    (lambda entry: (_ranks(entry), _file_name(entry)), False),
    (_ranks, False),
)
"""By what programs with other names are taken for the same; and whether any of several will do."""


def marked_entry(outcome: Analysed, target: Target, origins: Origins) -> Analysed:
    """An outcome with the digest of its source, where that matters."""
    return outcome if outcome.entry is None else Analysed(origins.marked(target, outcome.entry))


# === A project as it was at a git revision, in a folder of its own, for this very tolcost to read.
#
# Only what can matter is put there: programs, models, settings, and links, which lead where they led
# then.  A file that git calls the same now is a link to the one in the working tree, so that a large
# model is not copied, and one that git keeps elsewhere (LFS) is read from where it is.  What is in a
# submodule is asked of its own repository.  Nothing here writes to any of them.


_SECONDS = 120
_CHUNK = 1 << 20
_LINK, _SUBMODULE = "120000", "160000"
_NEEDED = (*SUFFIXES, ".toml")
_ODD = re.compile(r'\n|^"')
"""In names that git cannot be asked for in a list."""


class Former(Struct, frozen=True):
    """Where the project is as it was, and the submodules whose content of then is not here."""

    root: Path
    absent: tuple[str, ...] = ()

    def lacks(self, file: str, libraries: Sequence[str]) -> str | None:
        """The submodule that a file or a library belongs to, if its content of then is not here."""
        for folder in self.absent:
            own = any(library in (folder, os.path.dirname(folder) or ".") for library in libraries)
            if own or any(path.startswith(f"{folder}/") for path in (file, *libraries)):
                return f"the submodule {quoted(folder)} of then is not here"
        return None


class _Blob(Struct, frozen=True):
    """A file of a revision: its repository and path there, its mode, and the name of its content."""

    repository: Path
    path: str
    mode: str
    content: str


@contextmanager
def checked_out(root: Path, revision: str) -> Iterator[Former]:
    """The project at a revision, in a temporary folder."""
    top, prefix = _top(root)
    commit = _resolved(root, revision)
    absent: list[str] = []
    files = dict(_listed(top, commit, "", absent))
    with tempfile.TemporaryDirectory(prefix="tolcost-") as name:
        folder = Path(os.path.realpath(name))
        (folder / ".git").mkdir()  # this is where the repository begins
        _place(files, folder)
        (folder / prefix).mkdir(parents=True, exist_ok=True)
        below = (path.removeprefix(prefix) for path in absent if path.startswith(prefix))
        yield Former(folder / prefix, tuple(below))


def _top(root: Path) -> tuple[Path, str]:
    """The folder of the repository, and the path of the project from there."""
    try:
        said = os.fsdecode(_git(root, "rev-parse", "--show-toplevel", "--show-prefix"))
    except Rejected as rejected:
        raise _failed("this is not in a git repository") from rejected
    top, _, prefix = said.removesuffix("\n").partition("\n")
    return Path(top), prefix


def _resolved(root: Path, revision: str) -> str:
    """The commit that a revision names."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise _failed(f"{quoted(revision)} is not a revision")
    try:
        name = f"{revision}^{{commit}}"
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
    except Rejected:
        hint = "in a shallow clone, fetch it first: git fetch --depth=1 origin BRANCH"
        raise _failed(f"there is no revision {quoted(revision)} here", hint) from None


def _listed(repository: Path, commit: str, prefix: str, absent: list[str]) -> Iterator[tuple[str, _Blob]]:
    """The files of a revision by their paths from the top; submodules are gone through."""
    for line in os.fsdecode(_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit)).split("\0"):
        head, _, path = line.partition("\t")
        if not path or ".." in Path(path).parts or Path(path).is_absolute():
            continue  # no honest tree has such a name
        mode, _, content = head.split(" ")
        if mode == _SUBMODULE:
            try:
                yield from _listed(repository / path, content, f"{prefix}{path}/", absent)
            except Rejected:
                absent.append(f"{prefix}{path}")
        else:
            yield f"{prefix}{path}", _Blob(repository, path, mode, content)


def _place(files: Mapping[str, _Blob], folder: Path) -> None:
    """Put files of a revision below a folder: those that can matter, and what links lead to."""
    ends = set(_place_links({path: blob for path, blob in files.items() if blob.mode == _LINK}, folder))
    needed = {
        path: blob
        for path, blob in files.items()
        if blob.mode != _LINK and (path in ends or path.lower().endswith(_NEEDED))
    }
    same = _unchanged(needed)
    for path, blob in needed.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path in same:
            (folder / path).symlink_to(blob.repository / blob.path)
    for path, size, stream in _read({path: blob for path, blob in needed.items() if path not in same}):
        with (folder / path).open("wb") as file:
            while size and (data := stream.read(min(size, _CHUNK))):
                size -= file.write(data)


def _place_links(links: Mapping[str, _Blob], folder: Path) -> Iterator[str]:
    """Put links below a folder, but for those that lead out of the repository; give where they lead."""
    for path, size, stream in _read(links):
        text = os.fsdecode(stream.read(size))
        leads = os.path.normpath(os.path.join(os.path.dirname(path), text))
        if not os.path.isabs(text) and leads.split("/")[0] != "..":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(text)
            yield leads


def _by_repository(blobs: Mapping[str, _Blob]) -> Iterator[tuple[Path, dict[str, _Blob]]]:
    for repository in dict.fromkeys(blob.repository for blob in blobs.values()):
        yield repository, {path: blob for path, blob in blobs.items() if blob.repository == repository}


def _unchanged(blobs: Mapping[str, _Blob]) -> set[str]:
    """The files whose content in the working tree is, to git, that of the revision."""
    there = {
        path: blob
        for path, blob in blobs.items()
        if not _ODD.search(blob.path) and (blob.repository / blob.path).is_file()
    }
    same: set[str] = set()
    for repository, group in _by_repository(there):
        asked = "".join(f"{blob.path}\n" for blob in group.values())
        found = _git(repository, "hash-object", "--stdin-paths", given=os.fsencode(asked)).decode().split()
        same |= {
            p for (p, blob), content in zip(group.items(), found, strict=True) if blob.content == content
        }
    return same


def _read(blobs: Mapping[str, _Blob]) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Contents of a revision, each with its size, to be read from a stream before the next is asked for."""
    for repository, group in _by_repository(blobs):
        with _contents(repository, (blob.content for blob in group.values())) as stream:
            for path in group:
                head = stream.readline().split(b" ")
                if len(head) != 3:
                    hint = "in a shallow or partial clone, fetch it first"
                    raise _failed(f"git does not have what {quoted(path)} was at that revision", hint)
                yield path, int(head[2]), stream
                stream.read(1)


@contextmanager
def _contents(repository: Path, asked: Iterable[str]) -> Iterator[IO[bytes]]:
    """A stream of contents, each after a line that says its size."""
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{content}\n" for content in asked).encode())
        names.seek(0)
        command = [*_command(repository), "cat-file", "--batch"]
        process = subprocess.Popen(
            command, env=_environment(), stdin=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout is not None
            yield process.stdout
        finally:
            process.kill()
            process.communicate()


def file_at(root: Path, commit: str, path: str) -> bytes | None:
    """One file of a revision; None where it has none of that name."""
    with suppress(Rejected):
        return _git(root, "cat-file", "blob", f"{commit}:./{path}")
    return None


def last_change(root: Path, path: str) -> str | None:
    """The newest commit that changed a file; None where there is none, or no repository."""
    with suppress(Rejected):
        return _git(root, "log", "-1", "--format=%H", "--", path).decode().strip() or None
    return None


def _command(root: Path) -> list[str]:
    return ["git", "-C", str(root), "-c", "core.quotePath=false"]


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _git(root: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run git, in no language but its own, and without taking locks."""
    command = [*_command(root), *arguments]
    try:
        done = subprocess.run(command, env=_environment(), input=given, capture_output=True, timeout=_SECONDS)
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
