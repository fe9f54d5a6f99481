"""Where an analysis is looked at: lengths by name, checked against what the program needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tolcost.algebra import (
    Eq,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    cond_text,
    evaluate,
    evaluate_cond,
    solve,
    symbols_of_cond,
)
from tolcost.atoms.nodes import Condition
from tolcost.cost.record import Analysis
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.result.forms import Values


@dataclass(frozen=True, slots=True)
class Point:
    """Lengths by name, what each symbol then stands for, and whether that is every length."""

    dims: Mapping[str, int]
    values: Mapping[Symbol, int]
    missing: tuple[Symbol, ...]

    @property
    def complete(self) -> bool:
        """Whether every length has a value; what only data decides may still be open."""
        return not self.missing


def locate(analysis: Analysis, dims: Mapping[str, int]) -> Point:
    """Put an analysis at lengths given by name; checks bounds and conditions.

    Names that the analysis does not mention are left out: they may belong to another program.
    """
    given = {s: dims[s.name] for s in analysis.symbols if s.name in dims}
    equations = {c.condition.p: c for c in analysis.conditions if isinstance(c.condition, Eq)}
    values, impossible = solve(tuple(equations), given)
    unsolved = [_breaks(equations[equation]) for equation in impossible]
    problems = [*_out_of_bounds(values), *(unsolved or _broken(analysis, values))]
    if problems:
        raise Rejected(*problems)
    missing = tuple(s for s in analysis.symbols if s.kind == "length" and s not in values)
    shown = {symbol.name: value for symbol, value in values.items()}
    return Point(shown, values, missing)


def _out_of_bounds(values: Values) -> Iterable[Diagnostic]:
    for symbol, value in values.items():
        low, high = _bound(symbol.lo, values), _bound(symbol.hi, values)
        if (low is not None and value < low) or (high is not None and value > high):
            ends = f"{'' if low is None else f'{low:,}'}..{'' if high is None else f'{high:,}'}"
            yield Diagnostic("T0343", f"{quoted(symbol.name)} = {value:,} is outside its range {ends}")


def _bound(bound: Poly | None, values: Values) -> int | None:
    try:
        return None if bound is None else evaluate(bound, values)
    except UnboundSymbol:
        return None


def _broken(analysis: Analysis, values: Values) -> Iterable[Diagnostic]:
    for condition in analysis.conditions:
        if symbols_of_cond(condition.condition) <= values.keys() and not _holds(condition, values):
            yield _breaks(condition)


def _breaks(condition: Condition) -> Diagnostic:
    message = f"these lengths break a condition of the program: {condition.reason}"
    return Diagnostic("T0344", message, condition.span, hint=f"it needs {cond_text(condition.condition)}")


def _holds(condition: Condition, values: Values) -> bool:
    try:
        return evaluate_cond(condition.condition, values)
    except NotInteger:  # it divides by something that is 0 here
        return False
