"""A row of the paper judged: what is printed, what follows from it, and what is right.

The verdict says whether the printed program can be read, whether it computes the operator (by
running it), and whether the printed count is what the rules give for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tolcost.algebra import Poly, compare, const, length, to_text
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis, Ratio
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.report.audit.instances import analyse_instance, analyse_source
from tolcost.report.audit.printed import IllFormed, Lengths, Meaning, Reading, read
from tolcost.report.audit.readings import Names, Row
from tolcost.report.audit.trials import Cases, Outcome, attempt

Verdict: TypeAlias = Literal["same", "differs", "computes something else", "ill-formed"]
VERDICTS: tuple[Verdict, ...] = ("same", "differs", "computes something else", "ill-formed")


@dataclass(frozen=True, slots=True)
class Held:
    """A derived count beside the printed one: whether they are equal, and by what they differ."""

    equal: bool
    derived: Poly
    printed: Poly

    @property
    def by(self) -> str:
        """The difference, derived less printed, and the quotient where the print is not 0."""
        if self.equal:
            return ""
        gap = self.derived - self.printed
        return to_text(gap)

    @property
    def ratio(self) -> Ratio | None:
        """Derived over printed."""
        return None if self.printed == 0 else Ratio(self.derived, self.printed)


@dataclass(frozen=True, slots=True)
class Program:
    """What became of the printed program: analysed, or refused with diagnostics, or not ToLang at all."""

    analysis: Analysis | None
    lenient: bool = False
    problems: tuple[Diagnostic, ...] = ()
    readable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Everything found out about a row."""

    row: Row
    program: Program
    right: Analysis
    verified: Analysis
    reading: Reading
    own: Held | None
    corrected: Held
    by_definition: Held | None
    outcomes: tuple[Outcome, ...]

    @property
    def verdict(self) -> Verdict:
        """One word for the row."""
        if self.program.analysis is None:
            return "ill-formed"
        if not any(outcome.status == "same" for outcome in self.outcomes):
            return "computes something else"
        return "same" if self.own is not None and self.own.equal else "differs"

    @property
    def in_part(self) -> bool:
        """Whether the printed program is right for some inputs of its operator and wrong for others."""
        return len({outcome.status == "same" for outcome in self.outcomes}) > 1


def judge(row: Row, cases: Cases, library: Library) -> Judged:
    """Find out everything about a row."""
    program = derive_printed(row.printed, library)
    right = analyse_source(row.right, library)
    verified = analyse_instance(row.verified, library)
    reading = read(row.eops, meaning_of(right, row.names))
    own = None
    if program.analysis is not None:
        own = hold(program.analysis.eops, read(row.eops, meaning_of(program.analysis, row.names)).form)
    source = row.printed if not program.lenient or row.printed is None else lenient(row.printed)
    runs = row.trials if program.analysis is not None and source is not None else ()
    outcomes = tuple(attempt(source, row.operator, trial, cases, library) for trial in runs if source)
    return Judged(
        row=row,
        program=program,
        right=right,
        verified=verified,
        reading=reading,
        own=own,
        corrected=hold(right.eops, reading.form),
        by_definition=_held_to_definition(row, verified),
        outcomes=outcomes,
    )


def hold(derived: Poly, printed: Poly) -> Held:
    """Compare a derived count with a printed one, for all lengths."""
    return Held(compare(derived, printed).verdict == "equal", derived, printed)


def _held_to_definition(row: Row, verified: Analysis) -> Held | None:
    try:
        meaning = _meaning_for_definition(row, verified)
        return hold(verified.eops, read(row.eops, meaning).form)
    except IllFormed:
        return None


# ---- reading the printed program ---------------------------------------------------------


def derive_printed(source: Source | None, library: Library) -> Program:
    """Analyse a printed program to the letter, or else with ``:=`` where ``=`` fills a declared ToL."""
    if source is None:
        return Program(None, readable=False)
    try:
        return Program(analyse_source(source, library))
    except Rejected as rejected:
        problems = rejected.diagnostics
    relaxed = lenient(source)
    if relaxed.text == source.text:
        return Program(None, problems=problems)
    try:
        return Program(analyse_source(relaxed, library), lenient=True, problems=problems)
    except Rejected as rejected:
        seen = {d.message for d in problems}
        more = tuple(d for d in rejected.diagnostics if d.message not in seen)
        return Program(None, problems=(*problems, *more))


def lenient(source: Source) -> Source:
    """A program in which ``tol x = ...`` may be filled by ``x = ...``, as the tables write it."""
    declared = re.findall(r"^tol (\w+) = ", source.text, re.M)
    text = source.text
    for name in declared:
        text = re.sub(rf"^{name} = ", f"{name} := ", text, flags=re.M)
    return Source(source.name, text)


# ---- what the names in a formula mean ----------------------------------------------------


def meaning_of(analysis: Analysis, names: Names) -> Meaning:
    """The inputs and symbols of a program under the names of the paper's signature."""
    shapes: dict[str, Lengths] = {t.name: t.type[0].shape for t in analysis.inputs}
    outputs = [t.type[0].shape for t in analysis.outputs]
    shapes.setdefault("t", shapes.get("in", outputs[0] if outputs else ()))
    return _named(shapes, analysis, names)


def _meaning_for_definition(row: Row, verified: Analysis) -> Meaning:
    """The same for the definition in specs/onnx, whose leading lengths of 1 the paper leaves out."""
    shapes: dict[str, Lengths] = {t.name: _trimmed(t.type[0].shape) for t in verified.inputs}
    ordered = list(shapes.values())
    if ordered:
        shapes.setdefault("t", ordered[0])
    if len(ordered) > 1:
        shapes.setdefault("k", ordered[1])
    meaning = _named(shapes, verified, row.verified_names)
    return Meaning(meaning.shapes, {**meaning.numbers, **{name: const(n) for name, n in row.at.items()}})


def _trimmed(shape: Lengths) -> Lengths:
    first = next((n for n, extent in enumerate(shape) if extent != 1), len(shape))
    return shape[first:]


def _named(shapes: dict[str, Lengths], analysis: Analysis, names: Names) -> Meaning:
    numbers = {symbol.name: length(symbol.name) for symbol in analysis.symbols}
    by_symbol = {s.name: s for s in analysis.symbols}
    for name, target in names.items():
        if isinstance(target, str):
            shapes[name] = shapes[target]
        else:
            shapes[name] = tuple(
                const(e) if isinstance(e, int) else numbers.get(e, length(e)) for e in target
            )
    numbers |= {name: Poly({(symbol,): 1}) for name, symbol in by_symbol.items()}
    return Meaning(shapes, numbers)
