"""Where a cost is looked at: lengths by name, held to everything that the figures rely on.

This is the one gate for numbers: whatever evaluates a closed form does so at a ``Point``, and a point
where a condition fails has problems, which are told instead of a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Literal

from msgspec import Struct, field

from tolcost.algebra import (
    FALSE,
    AlgebraBudget,
    Cond,
    Eq,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    atom,
    cond_text,
    evaluate,
    evaluate_cond,
    plain_bounds,
    solve,
    substitute_cond,
    symbols_of_cond,
    to_text,
    to_words,
    weaker_bounds,
)
from tolcost.atoms.lengths import line_of, out_of_bounds
from tolcost.atoms.nodes import Condition
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, place, quoted, visible
from tolcost.records import Record
from tolcost.show.document import Valuation

_LONGEST = 300
MOST_FACTS = 12
"""A proof goes by so many conditions of each kind."""


def facts_of(conditions: Iterable[Cond]) -> tuple[Cond, ...]:
    """The conditions that are of use in a proof: not too many, and simple ones; bounds, then equations."""
    simple = dict.fromkeys(c for c in conditions if isinstance(c, Ge | Eq) and len(c.p.free) <= 3)
    kinds = ([c for c in simple if isinstance(c, kind)] for kind in (Ge, Eq))
    return tuple(c for kind in kinds for c in kind[:MOST_FACTS])


def line_in(span: Span, file: str) -> str:
    """The line that a span starts at, with the file where that is another one than ``file``; "": nowhere."""
    if span.source is NOWHERE.source:
        return ""
    number = place(span).line
    return f"line {number}" if span.source.name == file else f"{visible(span.source.name)}:{number}"


class Requirement(Record, frozen=True):
    """A condition that figures rely on, why, and where it comes from: a line, or a node of a model.

    What is ``needed`` holds wherever the figures do; what is ``checked`` is only looked at in a run.
    """

    condition: Cond
    reason: str
    kind: Literal["needed", "checked"] = "needed"
    span: Span = NOWHERE
    node: str = ""
    assumed: bool = False
    """Whether a user said so, and nothing else needs it."""

    @property
    def text(self) -> str:
        """The condition as text."""
        return cond_text(self.condition)

    @property
    def line(self) -> int | None:
        """The line it comes from; None: nowhere."""
        return None if self.span.source is NOWHERE.source else place(self.span).line

    def place(self, file: str) -> str:
        """The node, or the line, with the file where that is another one than ``file``."""
        return visible(self.node) if self.node else line_in(self.span, file)

    def holds(self, values: Valuation) -> bool:
        """Whether it holds, as far as what it mentions is known: for some lengths that are open."""
        try:
            if symbols_of_cond(self.condition) <= values.keys():
                return evaluate_cond(self.condition, values)
            return substitute_cond(self.condition, values) != FALSE
        except (NotInteger, ZeroDivisionError):  # it divides by something that is 0 here
            return False
        except AlgebraBudget:  # only forms of what is open are that large
            return True

    def broken(self) -> Diagnostic:
        """What is told where it does not hold."""
        if self.assumed:
            return Diagnostic("T0344", f"these lengths break an assumption: {self.text[:_LONGEST]}")
        message = f"these lengths break a condition of {self.owner}: {self.reason}"
        return Diagnostic("T0344", message, self.span, hint=f"it needs {self.text[:_LONGEST]}")

    @property
    def owner(self) -> str:
        """What it is a condition of."""
        return f"the node {quoted(self.node)}" if self.node else "the program"


def requirements(needed: Iterable[Condition], checked: Iterable[Condition]) -> tuple[Requirement, ...]:
    """The conditions of a program, each once."""
    found: dict[tuple[str, str, str], Requirement] = {}
    kinds: tuple[tuple[Literal["needed", "checked"], Iterable[Condition]], ...] = (
        ("needed", needed),
        ("checked", checked),
    )
    for kind, conditions in kinds:
        for one in conditions:
            for part in plain_bounds(one.condition):
                made = Requirement(part, one.reason, kind, one.span)
                found.setdefault((kind, made.text, made.reason), made)
    weaker = weaker_bounds(one.condition for one in found.values() if one.kind == "needed")
    return tuple(one for one in found.values() if one.kind != "needed" or one.condition not in weaker)


class Point(Struct, frozen=True):
    """Lengths by name, what each symbol then stands for, which are still open, and what is wrong there."""

    dims: Mapping[str, int]
    values: Valuation
    missing: tuple[Symbol, ...]
    problems: tuple[Diagnostic, ...] = ()
    given: Mapping[str, int] = field(default_factory=dict)
    """The lengths that were said, without those that follow from them."""

    @property
    def complete(self) -> bool:
        """Whether every length has a value; what only data decides may still be open."""
        return not self.missing

    def checked(self) -> Point:
        """This point, where all that figures rely on holds; otherwise ``Rejected``."""
        if self.problems:
            raise Rejected(*self.problems[:8])
        return self


def whole_lengths(dims: Mapping[str, int] | None) -> dict[str, int]:
    """Lengths as integers, of Python or of NumPy; what is none is refused, as Python refuses it.

    >>> whole_lengths({"n": 3})
    {'n': 3}
    """
    found = {}
    for name, value in (dims or {}).items():
        try:
            found[name] = index(value)
        except TypeError:
            message = f"the length {quoted(name)} is an integer, not {visible(repr(value))[:60]}"
            raise TypeError(message) from None
    return found


def said_of_lengths(assume: str | Sequence[str]) -> tuple[str, ...]:
    """Assumptions, of which there may be a single one."""
    found = (assume,) if isinstance(assume, str) else tuple(assume)
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"an assumption is a text such as 'n = 2*k', not {visible(repr(text))[:60]}")
    return found


def locate(
    symbols: Sequence[Symbol],
    needed: Iterable[Requirement],
    dims: Mapping[str, int],
    own: Mapping[str, Symbol] | None = None,
    equal: Mapping[Symbol, Poly] | None = None,
    assumed: Mapping[Symbol, Poly] | None = None,
) -> Point:
    """Put figures in ``symbols`` at lengths given by name.

    ``own`` are lengths that the figures need not mention, by name; ``equal`` lengths that are others, and
    ``assumed`` those that a user said to be.
    Names that mean nothing here are left out: they may belong to another program.
    """
    relied = [one for one in needed if one.kind == "needed"]
    said = assumed or {}
    merged = {**(equal or {}), **said}
    known = {s.name: s for s in symbols} | dict(own or {})
    known = {s.name: s for s in said} | known
    given = {known[name]: value for name, value in dims.items() if name in known}
    equations = {one.condition.p: one for one in relied if isinstance(one.condition, Eq)}
    values, impossible = solve((*(value - atom(s) for s, value in merged.items()), *equations), given)
    follow = [(one.condition, f" ({visible(one.node)})" if one.node else line_of(one.span)) for one in relied]
    problems = [p for s in values for p in out_of_bounds(s, values, () if s in given else follow)]
    problems += [equations[p].broken() for p in impossible if p in equations]
    gaps = {value - atom(s): s for s, value in said.items()}
    broken = "these lengths break a condition of the model"
    others = (p for p in impossible if p not in equations and p not in gaps)
    problems += [Diagnostic("T0344", f"{broken}: {to_text(p)[:200]} is not 0") for p in others]
    problems += _contradictions(equal or {}, given, values)
    problems += [
        _not_assumed(s, said[s], given)
        for p, s in gaps.items()
        if p in impossible or _differs(s, said[s], given, values)
    ]
    told = {problem.message for problem in problems}
    problems += [p for one in relied if not one.holds(values) and (p := one.broken()).message not in told]
    missing = (s for s in symbols if s.kind == "length" and s not in values and s not in merged)
    solved = {s.name: value for s, value in values.items() if own is None or s.kind == "length"}
    shown = {**dims, **solved} if own is not None else solved
    told_here = {name: value for name, value in dims.items() if name in known}
    return Point(shown, values, tuple(missing), tuple(problems), told_here)


def _not_assumed(symbol: Symbol, form: Poly, given: Valuation) -> Diagnostic:
    value = f" = {given[symbol]:,}" if symbol in given else ""
    return Diagnostic(
        "T0344", f"{quoted(symbol.name)}{value} breaks the assumption {symbol.name} = {to_text(form)[:200]}"
    )


def _differs(symbol: Symbol, form: Poly, given: Valuation, values: Valuation) -> bool:
    """Whether a length that is given is not what it should be."""
    return symbol in given and form.free <= values.keys() and evaluate(form, values) != given[symbol]


def _contradictions(
    equal: Mapping[Symbol, Poly], given: Valuation, values: Valuation
) -> Iterator[Diagnostic]:
    for symbol, value in equal.items():
        if _differs(symbol, value, given, values):
            yield Diagnostic(
                "T0344",
                f"the model makes {quoted(symbol.name)} and {quoted(to_words(value))} equal, "
                f"but they are {given[symbol]:,} and {evaluate(value, values):,}",
            )
