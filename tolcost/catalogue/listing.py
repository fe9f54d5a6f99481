"""The catalogue as a list: every operator of the installed onnx, and what there is about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from onnx import defs

from tolcost.catalogue.conformance import Result
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.syntax import tree

Standing = Literal["defined", "outside", "missing"]


@dataclass(frozen=True, slots=True)
class Conformance:
    """What ONNX's node tests say of an operator; ``forms`` are EOPs, by the name of a case."""

    cases: int
    passed: int
    forms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One operator.  ``about`` is what its definition opens with, or why it has none."""

    name: str
    standing: Standing
    since: tuple[int, ...] = ()
    signature: str = ""
    about: str = ""
    spec: Spec | None = None
    tested: Conformance | None = None


def live_operators() -> tuple[str, ...]:
    """Every operator of ai.onnx that is not deprecated, sorted."""
    schemas = defs.get_all_schemas()
    return tuple(sorted({s.name for s in schemas if s.domain == "" and not s.deprecated}))


def entries(library: Library, names: Sequence[str] = (), results: Iterable[Result] = ()) -> tuple[Entry, ...]:
    """Give the operators asked for, or all of them; those of a user's folders included."""
    known = sorted({*live_operators(), *library.names("")})
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Rejected(*(Diagnostic("T0663", f"there is no operator {quoted(name)}") for name in unknown))
    tested = _tested(results)
    return tuple(_entry(library, name, tested.get(name)) for name in names or known)


def _entry(library: Library, name: str, tested: Conformance | None) -> Entry:
    versions = library.versions("", name)
    if not versions:
        reason = library.outside("").get(name)
        return Entry(name, "missing" if reason is None else "outside", about=reason or "", tested=tested)
    spec = versions[-1]
    since = tuple(version.since for version in versions)
    return Entry(name, "defined", since, signature(spec), opening(spec), spec, tested)


def signature(spec: Spec) -> str:
    """Give inputs and outputs, as in ``Gemm(A [m, k], B [k, n], C?) -> Y``."""
    inputs = ", ".join(map(_declared, spec.inputs))
    outputs = ", ".join(s.name + "..." * s.variadic for s in spec.outputs)
    return f"{spec.name}({inputs}) -> {outputs}"


def _declared(statement: tree.Input) -> str:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    shape = ", ".join(e.span.source.text[e.span.start : e.span.end] for e in statement.shape)
    return f"{statement.name}{mark} [{shape}]" if statement.shape else f"{statement.name}{mark}"


def opening(spec: Spec) -> str:
    """Give the comment that a definition opens with, as one text."""
    lines = spec.source.text.splitlines()
    first = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.lstrip("# ").rstrip() for line in lines[:first])


def _tested(results: Iterable[Result]) -> dict[str, Conformance]:
    by_name: dict[str, list[Result]] = {}
    for result in results:
        by_name.setdefault(result.op, []).append(result)
    return {name: _summary(found) for name, found in by_name.items()}


def _summary(results: Sequence[Result]) -> Conformance:
    passed = [result for result in results if result.status == "pass"]
    forms = tuple((result.name, result.form) for result in passed if result.form is not None)
    return Conformance(len(results), len(passed), forms)
