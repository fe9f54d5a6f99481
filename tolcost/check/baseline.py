"""Baselines of a check: the entries of a lock file, or the programs of a git revision.

A revision is read under its own settings, so that a changed setting does not hide a program that the old
settings covered.  Renamed programs are recognised by equal figures, or because exactly one old and one new
program have inputs of the same ranks.  An ambiguous match is reported, and never guessed.
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
    """The scope of a check, its options, and the function that analyses programs."""

    config: Config
    computing: Computing
    asked: tuple[Path, ...] = ()
    strict: bool = False
    fresh: bool = False
    """Whether to analyse every program, even if its seal is valid."""


class Baseline(Struct, frozen=True):
    """The old entries of a check, by their old names.

    ``broken`` gives the reason why an old program has no entry.  ``settled`` names programs whose sources are
    unchanged, so that their figures cannot differ.  ``left_out`` lists checks that the current settings no
    longer make, and ``doubt`` the reason why that list is unknown.  ``parts`` finds the contributions of
    an old program, from which a report names the line that grew; ``texts`` gives the digests of the possible
    old texts of a file.  Both are functions because they analyse programs or run git, which most checks
    do not need.
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
    """Look up old versions of programs in git."""

    gate: GateTask
    lock: Lock

    def parts(self, name: str, target: Target) -> Contributions | None:
        """Return the parts of the version whose figures are the locked ones, or None if there is none."""
        file = file_of(name)
        for text in self._versions(file):
            found = self._cost(text, replace(target, file=file))
            if found is not None and found.entry.figures == self.lock.entries[name].figures:
                return found.parts
        return None

    def texts(self, file: str) -> frozenset[str]:
        """Return digests of the texts that a file may have had when its figures were locked."""
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
    """Analyse the programs of a revision, under its own settings, with the current version of tolcost.

    Programs that only the current settings name are compared as well, if the revision has them.
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

    def texts(file: str) -> frozenset[str]:  # at most one: a revision has one text of a file
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
    """Return why an old program cannot be costed although its file is readable: a dependency is missing."""
    if was.libraries is None and now.libraries is not None:
        return "a library of then cannot be read"
    folders = (*was.config.first_specs, *was.config.specs)
    return former.lacks(target.file, [Path(folder).as_posix() for folder in folders])


def _settings_then(gate: GateTask, revision: str, former: Former) -> tuple[Config, tuple[str, ...], str]:
    """Return the settings of a revision, and the checks that the current settings dropped.

    The third value is the reason why the dropped checks are unknown; it is empty where the old settings can
    be read.
    """
    config = gate.config
    try:
        own, doubt = config_of(former.root), ""
    except Rejected as rejected:
        own = config
        doubt = f"the settings of {revision} cannot be read: {rejected.diagnostics[0].message}"
    before = replace(
        own,
        root=former.root,
        metrics=config.metrics,
        first_specs=config.first_specs,
        working=config.root,
    )
    return before, tuple(narrowed(own, config)), doubt


def entries_of(outcomes: Mapping[str, Analysed]) -> dict[str, LockEntry]:
    """Return the entries of the programs that could be analysed."""
    return {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}


# ---- renamed programs -----------------------------------------------------------------------------


class Pairs(Struct, frozen=True):
    """Renamed programs (new name to old name), and the old programs that are no longer checked."""

    renamed: Mapping[str, str]
    gone: tuple[str, ...]
    unclear: tuple[str, ...]
    """The programs in ``gone`` if new programs remain unmatched: any of these may be a successor."""
    others: tuple[str, ...] = ()
    """Unmatched old programs of which a program that is taken for renamed may be the successor instead."""
    sure: Callable[[str], bool] = lambda _: False
    """Tell whether a renamed program still has the text of the old program that it is matched with."""


def paired(base: Baseline, asked: Sequence[Target], present: Mapping[str, LockEntry], root: Path) -> Pairs:
    """Match new programs with missing ones: by equal figures first, then by unique agreement of ranks.

    A program whose file still exists was not renamed: it is just no longer checked, unless a new case of its
    file may be its successor.  Equal figures or names do not prove a rename; only an equal text does.
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
        path = root / file[name]
        if not path.is_file():
            return False
        text = program_text(path.read_bytes(), file[name])
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
"""Criteria for a rename, the strongest first; each with whether any of several candidates may be taken.

Candidates of equal figures are interchangeable in a comparison; candidates of equal ranks are not.
"""


def marked_entry(outcome: Analysed, target: Target, origins: Origins) -> Analysed:
    """Add the digest of its source to an outcome, where a figure is not exact."""
    return outcome if outcome.entry is None else Analysed(origins.marked(target, outcome.entry))


# === A project at a git revision, checked out into a temporary folder and read by the current tolcost.
#
# Only relevant files are checked out: programs, models, settings, and links, with their old targets.  If the
# settings declare models by code, that code may use any file, so everything is checked out.
# A file whose content git finds unchanged becomes a link to the working tree, so that a large model is
# not copied, and a file that git stores elsewhere (LFS) is read from the working tree.  The files of a
# submodule come from the submodule's own repository.  Nothing here writes to any repository.


_SECONDS = 120
"""The time limit of a call of git, which may hang in a filter or on a network file system."""
_CHUNK = 1 << 20
"""Bytes per read, so that a large model is never held in memory."""
_LARGE = 1 << 20
"""Bytes from which a file that code may read is linked instead of copied; code itself is smaller."""
_LINK, _SUBMODULE = "120000", "160000"
_NEEDED = (*SUFFIXES, ".toml")
_ODD = re.compile(r'\n|^"')
"""Matches names that ``git hash-object --stdin-paths`` misreads: it splits at line breaks, and unquotes."""


class Former(Struct, frozen=True):
    """The folder of a checked-out revision, and the submodules whose old content is not available."""

    root: Path
    absent: tuple[str, ...] = ()

    def lacks(self, file: str, libraries: Sequence[str]) -> str | None:
        """Return a message that names the missing submodule that a file or a library belongs to, or None."""
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
    """Check a project out at a revision, into a temporary folder."""
    top, prefix = _top(root)
    commit = _resolved(root, revision)
    absent: list[str] = []
    files = dict(_listed(top, commit, "", absent))
    with tempfile.TemporaryDirectory(prefix="tolcost-") as name:
        folder = Path(os.path.realpath(name))
        (folder / ".git").mkdir()  # marks the top of the repository, as `repository_of` finds it
        rest = _place(files, folder)
        (folder / prefix).mkdir(parents=True, exist_ok=True)
        if _declares_models(folder / prefix):
            _write(rest, folder, _LARGE)
        below = (path.removeprefix(prefix) for path in absent if path.startswith(prefix))
        yield Former(folder / prefix, tuple(below))


def _top(root: Path) -> tuple[Path, str]:
    """Return the folder of the repository, and the path of the project relative to it."""
    try:
        said = os.fsdecode(_git(root, "rev-parse", "--show-toplevel", "--show-prefix"))
    except Rejected as rejected:
        raise _failed("this is not in a git repository") from rejected
    top, _, prefix = said.removesuffix("\n").partition("\n")
    return Path(top), prefix


def _resolved(root: Path, revision: str) -> str:
    """Return the commit that a revision names."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise _failed(f"{quoted(revision)} is not a revision")
    try:
        name = f"{revision}^{{commit}}"
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
    except Rejected:
        hint = "in a shallow clone, fetch it first: git fetch --depth=1 origin BRANCH"
        raise _failed(f"there is no revision {quoted(revision)} here", hint) from None


def _listed(repository: Path, commit: str, prefix: str, absent: list[str]) -> Iterator[tuple[str, _Blob]]:
    """List the files of a revision by their paths from the top, including those of submodules."""
    for line in os.fsdecode(_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit)).split("\0"):
        head, _, path = line.partition("\t")
        if not path or ".." in Path(path).parts or Path(path).is_absolute():
            continue  # it would be written outside of the folder; only a forged tree has such a name
        mode, _, content = head.split(" ")
        if mode == _SUBMODULE:
            try:
                yield from _listed(repository / path, content, f"{prefix}{path}/", absent)
            except Rejected:
                absent.append(f"{prefix}{path}")
        else:
            yield f"{prefix}{path}", _Blob(repository, path, mode, content)


def _declares_models(root: Path) -> bool:
    with suppress(Rejected):  # whoever reads the settings next reports the mistake
        return bool(config_of(root).modules)
    return False


def _place(files: Mapping[str, _Blob], folder: Path) -> dict[str, _Blob]:
    """Write the relevant files of a revision below a folder, with targets of links; return the rest."""
    ends = set(_place_links({path: blob for path, blob in files.items() if blob.mode == _LINK}, folder))
    needed = {
        path: blob
        for path, blob in files.items()
        if blob.mode != _LINK and (path in ends or path.lower().endswith(_NEEDED))
    }
    _write(needed, folder)
    return {path: blob for path, blob in files.items() if blob.mode != _LINK and path not in needed}


def _write(needed: Mapping[str, _Blob], folder: Path, least: int = 0) -> None:
    """Write files of a revision; an unchanged one of at least this size becomes a link."""
    same = {path for path in _unchanged(needed) if _size(needed[path]) >= least}
    for path, blob in needed.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path in same:
            (folder / path).symlink_to(blob.repository / blob.path)
    for path, size, stream in _read({path: blob for path, blob in needed.items() if path not in same}):
        with (folder / path).open("wb") as file:
            while size and (data := stream.read(min(size, _CHUNK))):
                size -= file.write(data)


def _size(blob: _Blob) -> int:
    return (blob.repository / blob.path).stat().st_size


def _place_links(links: Mapping[str, _Blob], folder: Path) -> Iterator[str]:
    """Create the links that stay inside the repository below a folder, and return their targets."""
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
    """Return the files whose content in the working tree has the hash that the revision records."""
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
    """Give each file's path, its size and a stream; read that many bytes before asking for the next file."""
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
    """Open the output of ``git cat-file --batch``: each content follows a line that ends in its size."""
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
    """Return the content of a file at a commit, or None if the commit has no such file."""
    with suppress(Rejected):
        return _git(root, "cat-file", "blob", f"{commit}:./{path}")
    return None


def last_change(root: Path, path: str) -> str | None:
    """Return the newest commit that changed a file, or None without such a commit or a repository."""
    with suppress(Rejected):
        return _git(root, "log", "-1", "--format=%H", "--", path).decode().strip() or None
    return None


def _command(root: Path) -> list[str]:
    return ["git", "-C", str(root), "-c", "core.quotePath=false"]


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _git(root: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run git with untranslated messages, and without optional locks."""
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
