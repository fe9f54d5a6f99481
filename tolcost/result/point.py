"""Points: lengths by name, checked against every condition that the figures rely on.

This is the only gate for numbers: closed forms are evaluated at a ``Point`` alone.  A point that violates a
condition has problems, which are reported instead of figures.
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
"""Conditions in messages are cut to this many characters."""
MOST_FACTS = 12
"""A proof uses at most this many conditions of each kind."""


def facts_of(conditions: Iterable[Cond]) -> tuple[Cond, ...]:
    """Return conditions of use in a proof: a limited number of simple ones, bounds first, then equations."""
    simple = dict.fromkeys(c for c in conditions if isinstance(c, Ge | Eq) and len(c.p.free) <= 3)
    kinds = ([c for c in simple if isinstance(c, kind)] for kind in (Ge, Eq))
    return tuple(c for kind in kinds for c in kind[:MOST_FACTS])


def line_in(span: Span, file: str) -> str:
    """Return the line at which a span starts, with its file unless that is ``file``; "" for no place."""
    if span.source is NOWHERE.source:
        return ""
    number = place(span).line
    return f"line {number}" if span.source.name == file else f"{visible(span.source.name)}:{number}"


class Requirement(Record, frozen=True):
    """A condition that figures rely on, with its reason and its origin: a line, or a node of a model.

    A ``needed`` condition holds wherever the figures do; a ``checked`` one is only checked in a run.
    """

    condition: Cond
    reason: str
    kind: Literal["needed", "checked"] = "needed"
    span: Span = NOWHERE
    node: str = ""
    assumed: bool = False
    """Whether a user assumed the condition, and nothing else needs it."""

    @property
    def text(self) -> str:
        """The condition as text."""
        return cond_text(self.condition)

    @property
    def line(self) -> int | None:
        """The line that the condition comes from; None if there is none."""
        return None if self.span.source is NOWHERE.source else place(self.span).line

    def place(self, file: str) -> str:
        """Return the node, or the line with its file unless that is ``file``."""
        return visible(self.node) if self.node else line_in(self.span, file)

    def holds(self, values: Valuation) -> bool:
        """Whether the condition holds; with open lengths, whether it may hold for some of them."""
        try:
            if symbols_of_cond(self.condition) <= values.keys():
                return evaluate_cond(self.condition, values)
            return substitute_cond(self.condition, values) != FALSE
        except (NotInteger, ZeroDivisionError):  # a divisor is 0 here
            return False
        except AlgebraBudget:  # only forms in open lengths are that large
            return True

    def broken(self) -> Diagnostic:
        """Return the error to report where the condition does not hold."""
        if self.assumed:
            return Diagnostic("T0344", f"these lengths break an assumption: {self.text[:_LONGEST]}")
        message = f"these lengths break a condition of {self.owner}: {self.reason}"
        return Diagnostic("T0344", message, self.span, hint=f"it needs {self.text[:_LONGEST]}")

    @property
    def owner(self) -> str:
        """The node or program that has the condition."""
        return f"the node {quoted(self.node)}" if self.node else "the program"


def requirements(needed: Iterable[Condition], checked: Iterable[Condition]) -> tuple[Requirement, ...]:
    """Return the conditions of a program, each once, without bounds that follow from others."""
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
    """Lengths by name, the value of each symbol, the symbols that are still open, and the problems there."""

    dims: Mapping[str, int]
    values: Valuation
    missing: tuple[Symbol, ...]
    problems: tuple[Diagnostic, ...] = ()
    given: Mapping[str, int] = field(default_factory=dict)
    """The lengths that were given, without those that follow from them."""

    @property
    def complete(self) -> bool:
        """Whether every length has a value; data-dependent lengths may still be open."""
        return not self.missing

    def checked(self) -> Point:
        """Return this point if there are no problems; otherwise raise ``Rejected``."""
        if self.problems:
            raise Rejected(*self.problems[:8])
        return self


def whole_lengths(dims: Mapping[str, int] | None) -> dict[str, int]:
    """Return lengths as integers, of Python or of NumPy; other values raise ``TypeError``, as in Python.

    >>> whole_lengths({"n": 3})
    {'n': 3}
    """
    found = {}
    for name, value in (dims or {}).items():
        try:
            found[name] = index(value)
        except TypeError:
            message = f"the length {quoted(name)} is an integer, not {visible(repr(value))[:60]}"
            other: object = value
            if isinstance(other, str) and other.isidentifier():
                message += f"; `cost.assume('{name} = {other}')` puts a formula in its place"
            raise TypeError(message) from None
    return found


def said_of_lengths(assume: str | Sequence[str]) -> tuple[str, ...]:
    """Return assumptions as a tuple; a single text is a single assumption."""
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
    """Locate figures in ``symbols`` at lengths given by name.

    ``own`` are lengths by name that the figures need not mention; ``equal`` maps lengths to the forms that
    they equal, and ``assumed`` to the forms that a user assumed.
    Unknown names are ignored: they may belong to another program.
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
    """Whether a given length differs from the value of its form."""
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
