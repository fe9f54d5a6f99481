"""From a counted program to the entry that a lock file keeps of it: every form as text.

All forms of an entry share one set of names, so that a name means one symbol throughout.
Symbols with other than the usual bounds, and conditions that the program rests on, go to the
``where`` of the entry; conditions that are more than comparisons are left out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from tolcost.algebra import (
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Poly,
    Symbol,
    cond_text,
    display_names,
    length,
    maximum,
    symbols_of_cond,
    the_symbol,
    to_text,
)
from tolcost.algebra.text import quoted
from tolcost.atoms.nodes import Program
from tolcost.check.records import UNKNOWN, Entry, Figure, FigureStatus
from tolcost.cost import Counts, Tensor, depths, shipped, traffic, weigh
from tolcost.cost.depth import Depth
from tolcost.diagnostics import Rejected

_STATUS: Mapping[str, FigureStatus] = {
    "exact": "exact",
    "upper bound": "at-most",
    "depends on data": "data",
}


def entry_of(name: str, program: Program, counts: Counts, metrics: Iterable[str]) -> Entry:
    """What a lock file keeps of a program that was counted."""
    status = _STATUS[counts.status]
    asked = [metric for metric in metrics if metric != "params"]  # a program has no parameters
    figures = {metric: (status, _form(program, counts, metric)) for metric in asked}
    inputs = tuple(Tensor(given.name, given.type) for given in program.inputs)
    return entry_from(name, inputs, tuple(c.condition for c in program.conditions), figures)


def entry_from(
    name: str,
    inputs: Sequence[Tensor],
    conditions: Sequence[Cond],
    figures: Mapping[str, tuple[FigureStatus, Poly | Depth | None]],
) -> Entry:
    """An entry from its parts; a figure is None where it is not known."""
    forms = {metric: (status, _as_poly(form)) for metric, (status, form) in figures.items()}
    polys = [poly for _, poly in forms.values() if poly is not None]
    kept = tuple(dict.fromkeys(c for cond in conditions for c in _simple(cond)))
    names = display_names(_mentioned(inputs, polys, kept))
    texts = {m: _figure(status, poly, names) for m, (status, poly) in forms.items()}
    return Entry(
        name=name,
        inputs="; ".join(_input(tensor, names) for tensor in inputs),
        where="; ".join((*_bounds(names), *sorted({cond_text(c, names) for c in kept}))),
        figures=tuple(sorted(texts.items())),
    )


def _form(program: Program, counts: Counts, metric: str) -> Poly | Depth | None:
    """The closed form of a metric; what is not asked for is not computed."""
    match metric:
        case "eops":
            return counts.eops
        case "flops":
            return weigh(counts, shipped("flops")).numerator
        case "macs":
            return counts.macs
        case "bytes":
            return traffic(program).total
        case _:
            return _depth(program)


def _depth(program: Program) -> Depth | None:
    try:
        return depths(program).chain
    except Rejected:
        return None


def _as_poly(form: Poly | Depth | None) -> Poly | None:
    """One closed form for a depth; a depth with logarithms has none in our grammar."""
    if not isinstance(form, Depth):
        return form
    if form.logs:
        return None
    largest, *others = form.candidates
    for other in others:
        largest = maximum(largest, other)
    return largest


def _figure(status: FigureStatus, form: Poly | None, names: Mapping[Symbol, str]) -> Figure:
    return Figure("unknown", UNKNOWN) if form is None else Figure(status, to_text(form, names))


# ---- inputs, bounds and conditions ------------------------------------------------------------


def _mentioned(inputs: Iterable[Tensor], forms: Iterable[Poly], conditions: Iterable[Cond]) -> set[Symbol]:
    """Every symbol of an entry, and those that bound them."""
    shapes = (extent for tensor in inputs for part in tensor.type for extent in part.shape)
    found = {symbol for poly in chain(shapes, forms) for symbol in poly.free}
    found.update(symbol for cond in conditions for symbol in symbols_of_cond(cond))
    todo = list(found)
    while todo:
        bounds = [bound for bound in (todo[-1].lo, todo.pop().hi) if bound is not None]
        new = {symbol for bound in bounds for symbol in bound.free} - found
        found |= new
        todo.extend(new)
    return found


def _input(tensor: Tensor, names: Mapping[Symbol, str]) -> str:
    """An input as in ``x R[n, 4]``; a list has its components joined by ``&``."""
    parts = (f"{part.space}[{', '.join(to_text(d, names) for d in part.shape)}]" for part in tensor.type)
    return f"{quoted(tensor.name)} {' & '.join(parts)}"


def _bounds(names: Mapping[Symbol, str]) -> list[str]:
    """The symbols that are not ordinary lengths, those without symbolic bounds first."""
    odd = [s for s in names if s is not the_symbol(length(s.name))]
    return [_bound(s, names) for s in sorted(odd, key=lambda s: (_rank(s), names[s]))]


def _rank(symbol: Symbol) -> int:
    """How deep the bounds of a symbol lead to other symbols."""
    below = [s for bound in (symbol.lo, symbol.hi) if bound is not None for s in bound.free]
    return 1 + max(map(_rank, below)) if below else 0


def _bound(symbol: Symbol, names: Mapping[Symbol, str]) -> str:
    low, high = ("" if b is None else to_text(b, names) for b in (symbol.lo, symbol.hi))
    word = "from" if symbol.kind == "data" else "in"
    return f"{quoted(names[symbol])} {word} {low}..{high}"


def _simple(cond: Cond) -> Iterable[Cond]:
    """The comparisons that a condition consists of; none for anything more involved."""
    match cond:
        case And(parts=parts):
            return tuple(c for part in parts for c in _simple(part))
        case Ge() | Eq() | Not():
            return (cond,)
        case _:
            return ()
