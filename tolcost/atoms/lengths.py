"""The values of a program's lengths, and the facts that only data decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tolcost.algebra import (
    Cond,
    Eq,
    NotInteger,
    Poly,
    Symbol,
    cond_text,
    equations_in,
    evaluate,
    evaluate_cond,
    only_symbol,
    solve,
    symbols_of_cond,
)
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import index_nodes, inner_nodes, roots
from tolcost.atoms.nodes import Condition, Node, Program
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, place, quoted, refuse


def given_lengths(program: Program, dims: Mapping[str, int]) -> dict[Symbol, int]:
    """Return the given lengths and those that follow from them; reject values that break a condition."""
    given = named(program, dims)
    known = solve(equations_in(each.condition for each in program.conditions), given)[0]
    told = [(each.condition, line_of(each.span)) for each in program.conditions]
    problems = [p for symbol in known for p in out_of_bounds(symbol, known, () if symbol in given else told)]
    if problems:
        raise Rejected(*problems)
    check_conditions(program.conditions, known, "these lengths break")
    return known


def named(program: Program, dims: Mapping[str, int]) -> dict[Symbol, int]:
    """Return the lengths given by name; an unknown name is a mistake that would otherwise be ignored."""
    known = {symbol.name: symbol for symbol in lengths_of(program)}
    unknown = sorted(dims.keys() - known.keys())
    if unknown:
        there = f"there are {', '.join(map(quoted, known))}" if known else "there are none"
        hint = f"{there}; an attribute that has a value is given another by --attr"
        refuse("T0412", f"there is no length {quoted(unknown[0])}", hint=hint)
    return {known[name]: value for name, value in dims.items()}


def lengths_of(program: Program) -> tuple[Symbol, ...]:
    """Return every length that a program, its inputs or its conditions mention."""
    shapes = (part.shape for needed in program.inputs for part in needed.type)
    conditions = (s for c in program.conditions for s in symbols_of_cond(c.condition))
    return (*program.symbols, *conditions, *(s for shape in shapes for d in shape for s in d.free))


def out_of_bounds(
    symbol: Symbol, bindings: Mapping[Symbol, int], told: Iterable[tuple[Cond, str]]
) -> Iterator[Diagnostic]:
    """Report a length outside its range, and the equation that it follows from."""
    value, low, high = bindings[symbol], _bound(symbol.lo, bindings), _bound(symbol.hi, bindings)
    if (low is not None and value < low) or (high is not None and value > high):
        ends = f"{'' if low is None else f'{low:,}'}..{'' if high is None else f'{high:,}'}"
        found = (f"{cond_text(c)}{where}" for c, where in told if isinstance(c, Eq) and symbol in c.p.free)
        reason = next(found, None)
        declared = "; a length that may be 0 is declared so: `attr n: N`" if value == 0 else ""
        hint = None if reason is None else f"it follows from {reason}{declared}"
        message = f"{quoted(symbol.name)} = {value:,} is outside its range {ends}"
        yield Diagnostic("T0343", message, hint=hint)


def line_of(span: Span) -> str:
    """Return " (line N)" for a span that has a source, to follow a message."""
    return "" if span.source is NOWHERE.source else f" (line {place(span).line})"


def _bound(bound: Poly | None, bindings: Mapping[Symbol, int]) -> int | None:
    return evaluate(bound, bindings) if bound is not None and bound.free <= bindings.keys() else None


def check_conditions(
    conditions: Iterable[Condition], bindings: Mapping[Symbol, int], told: str = "this run breaks"
) -> None:
    """Reject the program if a condition that can be decided does not hold."""
    broken = tuple(
        Diagnostic("T0344", f"{told} a condition of the program: {condition.reason}", condition.span)
        for condition in conditions
        if symbols_of_cond(condition.condition) <= bindings.keys() and not _holds(condition, bindings)
    )
    if broken:
        raise Rejected(*broken)


def _holds(condition: Condition, bindings: Mapping[Symbol, int]) -> bool:
    try:
        return evaluate_cond(condition.condition, bindings)
    except NotInteger:  # a divisor is 0: another condition of the program excludes that
        return False


def norms_of(program: Program) -> dict[Symbol, tuple[str, int]]:
    """Map each length to the input that has it, and to its dimension there."""
    found: dict[Symbol, tuple[str, int]] = {}
    for needed in program.inputs:
        for axis, form in enumerate(needed.type[0].shape, start=1):
            symbol = only_symbol(form)
            if symbol is not None:
                found.setdefault(symbol, (needed.name, axis))
    return found


def decided_by_data(program: Program) -> tuple[str, ...]:
    """Name the aspects of the atoms that data decides: lengths, choices, and places where members are put."""
    found: set[str] = set()
    for node in inner_nodes(roots(program)):
        match node:
            case ir.Filter() | ir.Length() | ir.Fold(ends=Symbol()):
                found.add("length")
            case ir.Select(condition=condition) if isinstance(condition, Node):
                found.add("choice")
            case ir.Put(at=at) if index_nodes(at):
                found.add("place")
    return tuple(sorted(found))
