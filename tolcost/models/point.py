"""A model at given lengths: what every symbol stands for there, and what that contradicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tolcost.algebra import (
    AlgebraBudget,
    Eq,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    atom,
    cond_text,
    evaluate,
    evaluate_cond,
    solve,
    symbols_of_cond,
    to_text,
)
from tolcost.diagnostics import Diagnostic, quoted
from tolcost.models.analysis import GraphCost, Relied


@dataclass(frozen=True, slots=True)
class Place:
    """Lengths by name, what each symbol then stands for, which are still open, and what is wrong."""

    dims: Mapping[str, int]
    values: Mapping[Symbol, int]
    missing: tuple[Symbol, ...]
    problems: tuple[Diagnostic, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every length has a value; what only data decides may still be open."""
        return not self.missing

    def at(self, form: Poly) -> int | None:
        """A form as a number; None where something in it is open."""
        try:
            return evaluate(form, self.values)
        except (UnboundSymbol, NotInteger, AlgebraBudget):
            return None


def locate_model(
    cost: GraphCost, relied: Iterable[Relied], dims: Mapping[str, int], free: Iterable[Symbol]
) -> Place:
    """Put a model at lengths given by name; ``free`` are the lengths that its forms mention."""
    listed = tuple(relied)
    own = {s.name: s for form in cost.dimensions.values() for s in form.free}
    lengths = {s.name: s for s in free if s.kind == "length"}
    given = {found: value for name, value in dims.items() if (found := own.get(name, lengths.get(name)))}
    equations = [value - atom(symbol) for symbol, value in cost.equal.items()]
    equations += [r.condition.p for r in listed if isinstance(r.condition, Eq)]
    values, impossible = solve(equations, given)
    problems = [_unequal(equation) for equation in impossible]
    problems += _contradictions(cost, given, values)
    problems += [_broken(r) for r in listed if not holds(r, values)]
    missing = tuple(sorted((s for s in lengths.values() if s not in values), key=lambda s: s.key))
    solved = {symbol.name: value for symbol, value in values.items() if symbol.kind == "length"}
    shown = {**dims, **solved}
    return Place(shown, values, missing, tuple(problems))


def _contradictions(
    cost: GraphCost, given: Mapping[Symbol, int], values: Mapping[Symbol, int]
) -> Iterable[Diagnostic]:
    for symbol, value in cost.equal.items():
        if symbol in given and value.free <= values.keys() and evaluate(value, values) != given[symbol]:
            yield Diagnostic(
                "T0344",
                f"the model makes {quoted(symbol.name)} and {quoted(to_text(value))} equal, "
                f"but they are {given[symbol]:,} and {evaluate(value, values):,}",
            )


def _unequal(equation: Poly) -> Diagnostic:
    return Diagnostic(
        "T0344", f"these lengths break a condition of the model: {to_text(equation)[:200]} is not 0"
    )


def holds(relied: Relied, values: Mapping[Symbol, int]) -> bool:
    """Whether a condition holds, as far as what it mentions is known."""
    if not symbols_of_cond(relied.condition) <= values.keys():
        return True
    try:
        return evaluate_cond(relied.condition, values)
    except NotInteger:  # it divides by something that is 0 here
        return False


def _broken(relied: Relied) -> Diagnostic:
    message = f"these lengths break a condition of the node {quoted(relied.node)}: {relied.reason}"
    return Diagnostic("T0344", message, hint=f"it needs {cond_text(relied.condition)[:300]}")
