"""What comes with tolcost of what operators are lowered to: ``specs/schemes``, a file for each operator.

A file is a line about itself and a line for each pattern: the pattern, a tab, and what the operator is
lowered to.  The first line has a digest of every file of ``specs/`` that they were made from; where one of
them does not fit, nothing is stored.  Every line ends with a digest of itself: no more is looked at than a
node asks for, which is little of a large file.  What it says is for ``models.stored_schemes`` to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDER = "schemes"
FORMAT = 8
"""Of what is written here: files of another one are made again, not read."""

_MOST_BYTES = 1 << 24


class Formal(NamedTuple):
    """An input as an operator declares it; ``late``: its definition asks whether it is known at all."""

    name: str
    kind: str
    variadic: bool
    late: bool


class Head(NamedTuple):
    """What must be known of a definition before it is read: its inputs, and whether it chooses graphs."""

    takes: tuple[Formal, ...]
    branches: bool


class StoredTexts:
    """Texts by name, in the order of the names; nothing is copied of a file that may be large."""

    def __init__(self, raw: bytes, first: int = 0) -> None:
        """Lines, each after a line's end; those from a place on, which is such an end."""
        self._raw, self._first = raw, first

    def __bool__(self) -> bool:
        """Whether there are any."""
        return len(self._raw) > self._first + 1

    def get(self, name: str) -> str | None:
        r"""The text of a name; None where there is none.

        >>> lines = StoredTexts(b"\na\t1\nb\t2\nc\t3\n")
        >>> [lines.get(name) for name in "abcd"]
        ['1', '2', '3', None]
        """
        raw, sought = self._raw, name.encode()
        low, high = self._first + 1, len(raw)
        while low < high:  # both are where a line begins
            start = raw.rfind(b"\n", low - 1, (low + high) // 2) + 1
            end = raw.index(b"\t", start)
            found = raw[start:end]
            if found == sought:
                return raw[end + 1 : raw.index(b"\n", end)].decode()
            if found < sought:
                low = raw.index(b"\n", end) + 1
            else:
                high = start
        return None


class SealedTexts(StoredTexts):
    """Texts that each end with a digest of their line: one that does not fit is none."""

    def get(self, name: str) -> str | None:
        """The text of a name."""
        try:
            text, _, seal = (super().get(name) or "").rpartition("\t")
        except ValueError:  # the file is damaged
            return None
        return text if seal == _seal(name, text) else None


def _seal(name: str, text: str) -> str:
    return digest_of(f"{name}\t{text}".encode())


class Stored(NamedTuple):
    """What is stored of an operator: heads of its definitions by version, and texts of schemes by pattern."""

    heads: Mapping[int, Head]
    schemes: SealedTexts


NOTHING_STORED = Stored({}, SealedTexts(b""))


def stored_at(root: Traversable, folder: str, name: str, digests: dict[str, str | None]) -> Stored:
    """What is stored of an operator, if it was made from the definitions that are there now."""
    try:
        raw = root.joinpath(FOLDER, folder, f"{name}.tsv").read_bytes()
        end = raw.index(b"\n")
        first, _, seal = raw[:end].decode().rpartition("\t")
        about = json.loads(first)
        if len(raw) > _MOST_BYTES or about["format"] != FORMAT or seal != _seal("", first):
            return NOTHING_STORED
        if any(_digest(root, file, digests) != digest for file, digest in about["from"].items()):
            return NOTHING_STORED
        heads = {
            int(since): Head(tuple(Formal(*formal) for formal in takes), branches)
            for since, (takes, branches) in about["heads"].items()
        }
        return Stored(heads, SealedTexts(raw, end))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return NOTHING_STORED  # it is made again from the definition


def digest_of(raw: bytes) -> str:
    """A digest of bytes."""
    return blake2b(raw, digest_size=16).hexdigest()


def _digest(root: Traversable, file: str, known: dict[str, str | None]) -> str | None:
    if file not in known:
        try:
            known[file] = digest_of(root.joinpath(*file.split("/")).read_bytes())
        except OSError:
            known[file] = None
    return known[file]
