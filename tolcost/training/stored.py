"""Backward passes that come with tolcost: ``specs/backward.tsv``, as text.

A line has what is known of a stored scheme in backward: the inputs of its program, which outputs are views of
which inputs, and the backward passes that models ask for.  Another line of each operator has digests of what
they follow from: definitions, written backward passes, and the table of derivatives.  If one differs, nothing
is used, and passes are derived as ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import CheckedTexts, Library, digest_of, folder_of, stored_texts
from tolcost.cost import Counts, Traffic
from tolcost.models.lowered import ComputedCost
from tolcost.models.stored_schemes import NotStored, Reader, Writer, text_of
from tolcost.platform import package_folder
from tolcost.training.backward_pass import BackwardPass

FILE = "backward.tsv"
FORMAT = 1
"""The version of the stored format, and of the rules in Python: a file of another version is not read."""

PassKey = tuple[tuple[str, ...], tuple[str, ...]]
"""The inputs whose gradients are wanted, and the outputs whose adjoints are there."""


class StoredPattern(Struct, frozen=True):
    """What is stored of a pattern: inputs of its program, views among outputs, backward passes as data."""

    inputs: frozenset[str]
    views: Mapping[str, str | None]
    passes: Mapping[PassKey, Any]

    def backward(self, key: PassKey, program: Callable[[], Program]) -> BackwardPass | None:
        """Decode a backward pass; ``program`` derives it.  None if the gradient is 0."""
        data = self.passes[key]
        return None if data is None else read_pass(data, program)

    def has(self, key: PassKey, written: bool) -> bool:
        """Whether a backward pass is stored; ``written`` tells whether it may be a written one."""
        return key in self.passes and (written or not is_written(self.passes[key]))


class StoredPasses(Struct):
    """The stored backward passes of a library; those of a pattern are decoded on first use."""

    library: Library
    texts: CheckedTexts | None = None
    fitting: dict[str, bool] = field(default_factory=dict)
    found: dict[tuple[str, str], StoredPattern | None] = field(default_factory=dict)

    def pattern(self, domain: str, name: str, pattern: str) -> StoredPattern | None:
        """Return what is stored of a pattern of an operator; None if there is nothing that fits."""
        operator = f"{folder_of(domain)}/{name}"
        key = (operator, pattern)
        if key not in self.found:
            self.found[key] = self._read(operator, pattern)
        return self.found[key]

    def _read(self, operator: str, pattern: str) -> StoredPattern | None:
        if self.texts is None:
            self.texts = stored_texts(self.library.roots[-1], FILE, FORMAT)
        if operator not in self.fitting:
            self.fitting[operator] = fits(self.library, self.texts.get(operator))
        text = self.texts.get(f"{operator} {pattern}") if self.fitting[operator] else None
        return None if text is None else read_pattern(text)


def rules_digest() -> str:
    """Return a digest of the derivatives of elementary functions."""
    return digest_of(package_folder().joinpath("derivatives.tol").read_bytes())


def fits(library: Library, about: str | None) -> bool:
    """Whether what is stored of an operator was made from the files of now."""
    try:
        said = json.loads(about or "")
        return said["rules"] == rules_digest() and all(
            library.digest(file) == digest for file, digest in said["from"].items()
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


# ---- text ----------------------------------------------------------------------------------------


def pattern_line(
    inputs: Iterable[str], views: Mapping[str, str | None], passes: Mapping[PassKey, Any]
) -> str:
    """Encode what is stored of a pattern."""
    rows = [[*key, passes[key]] for key in sorted(passes)]
    return text_of([sorted(inputs), dict(sorted(views.items())), rows])


def read_pattern(text: str) -> StoredPattern | None:
    """Decode what is stored of a pattern."""
    inputs, views, rows = json.loads(text)
    passes = {(tuple(wanted), tuple(of)): data for wanted, of, data in rows}
    return StoredPattern(frozenset(inputs), views, passes)


def pass_data(found: BackwardPass) -> list[Any]:
    """Encode a backward pass; raise ``NotStored`` if it has what stored ones cannot contain."""
    counts, traffic, writer = found.cost.counts, found.cost.traffic, Writer()
    if counts.bounded:
        raise NotStored(counts.bounded)

    def by_function(forms: Mapping[tuple[str, str], Poly]) -> list[object]:
        return [[*key, writer.form(form)] for key, form in forms.items()]

    def by_name(forms: Mapping[str, Poly]) -> dict[str, object]:
        return {name: writer.form(form) for name, form in forms.items()}

    told = [
        by_function(counts.histogram), by_function(counts.index), by_name(counts.atoms),
        writer.form(counts.macs), counts.status,
        by_name(traffic.read), by_name(traffic.written), list(traffic.unsized), traffic.open,
        None if traffic.least is None else by_name(traffic.least), writer.forms(traffic.full),
        sorted(found.reads), dict(found.gradients), found.is_written,
        {name: [space, *writer.forms(shape)] for name, (shape, space) in found.extra.items()},
    ]  # fmt: skip
    return [*told, writer.table]


def is_written(data: list[Any] | None) -> bool:
    """Whether an encoded backward pass is a written one."""
    return data is not None and bool(data[13])


def read_pass(data: list[Any], program: Callable[[], Program]) -> BackwardPass:
    """Decode a backward pass; ``program`` derives it."""
    (
        histogram, index, atoms, macs, status, read, written, unsized, is_open, least, full,
        reads, gradients, written_pass, extra, table,
    ) = data  # fmt: skip
    reader = Reader(table)
    form = reader.form

    def by_name(forms: Mapping[str, Any]) -> dict[str, Poly]:
        return {name: form(one) for name, one in forms.items()}

    def by_functions(rows: Iterable[Any]) -> dict[tuple[str, str], Poly]:
        return {(name, space): form(one) for name, space, one in rows}

    lower = None if least is None else by_name(least)
    cost = ComputedCost(
        Counts(by_functions(histogram), by_functions(index), by_name(atoms), form(macs), (), status),
        Traffic(by_name(read), by_name(written), tuple(unsized), is_open, lower, reader.forms(full)),
        (),
    )
    shapes = {name: (reader.forms(shape), space) for name, (space, *shape) in extra.items()}
    return BackwardPass(program, cost, frozenset(reads), gradients, written_pass, shapes)
