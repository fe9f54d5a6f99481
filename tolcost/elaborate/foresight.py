"""What a step of a fold is sure to make of its accumulator, read off the way it is written.

To elaborate a step is to guess which components of the accumulator are static and how long they are, and to
begin again where the guess was wrong.  Most steps tell at a glance: ``a + x[i]`` is data where ``x`` is, and
``[*a, x[i]]`` is longer by one.  What is said here to be data is so whatever the accumulator is; about the
rest nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.dataclass import dataclass
from tolcost.diagnostics import Rejected
from tolcost.elaborate.context import Env, Lazy, force
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.maps import Step, WrittenStep
from tolcost.elaborate.values import Closure, Data, Items, Pieces, Unknown, Value
from tolcost.elementary import FUNCTIONS
from tolcost.syntax import tree

_LAZY_OPERATORS = {"and", "or"}
"""Of these the second operand may not matter."""

_DATA = Unknown()
"""A component that is data, of which nothing else is known."""

_STRICT = FUNCTIONS.keys() - {"where", "rand"}
"""Functions that are data if one of their arguments is."""


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """A name for an expression of the step, or for one component of what it is."""

    place: _Place
    expr: tree.Expr
    component: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where an expression stands: the names that the step gives a meaning, and all others."""

    env: Env
    names: Mapping[str, _Written | Lazy | Value | None]
    around: _Place | None = None

    def named(self, name: str) -> _Written | Lazy | Value | None:
        """What a name stands for; None where nothing is said about it."""
        if name in self.names:
            return self.names[name]
        return self.env.nearest(name) if self.around is None else self.around.named(name)


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """Which components of an accumulator are data, and how much longer the first length of each gets."""

    data: tuple[bool, ...]
    longer: tuple[int, ...]


def foreseen(step: Step, start: Items) -> Foreseen | None:
    """What a step makes of an accumulator that starts so; None where how it is written does not tell."""
    written = step.written()
    if written is None or not isinstance(written.expr, tree.Arrow):
        return None
    try:
        return _read(written, written.expr, start)
    except (Rejected, NeedsUnrolling):  # who elaborates the step will say it
        return None


def _read(step: WrittenStep, arrow: tree.Arrow, start: Items) -> Foreseen | None:
    """The same; what one component hands on to another makes that data as well."""
    unsaid = dict.fromkeys((*step.pattern.names, step.pattern.rest or "", *arrow.params))
    accumulator = start[0] if len(start) == 1 else Pieces(start)
    place, result = _inside(_Place(step.env, {**unsaid, arrow.params[0]: accumulator}), arrow.body)
    written = _components(result, len(start))
    if written is None:
        return None
    pairs = list(zip(start, written, strict=True))
    late = tuple([_DATA if not _is_late(v) and _any_data(place, w) else v for v, w in pairs])
    if late != start and not all(map(_is_late, late)):
        return _read(step, arrow, late)
    return Foreseen(tuple(map(_is_late, late)), tuple([_more(place, w, (v, accumulator)) for v, w in pairs]))


def _any_data(place: _Place, entries: tuple[tree.Expr, ...]) -> bool:
    return any(_is_data(place, expr) for expr in entries)


def _components(result: tree.Expr, size: int) -> list[tuple[tree.Expr, ...]] | None:
    """What each component of a step's result is written as: the entries of a bracket, or one expression."""
    match result:
        case tree.Tuple(items=items) if len(items) == size:
            return [item.items if isinstance(item, tree.Bracket) else (item,) for item in items]
        case tree.Bracket(items=items) if size == 1:
            return [items]
        case tree.Bracket(items=items):
            rows = [_row(item, size) for item in items]
            return None if None in rows else [*zip(*(row for row in rows if row is not None), strict=True)]
        case _:
            return [(result,)] if size == 1 else None


def _row(item: tree.Expr, size: int) -> tuple[tree.Expr, ...] | None:
    """An entry of a bracket of lists, component by component."""
    if isinstance(item, tree.Splice):
        return (item,) * size
    return item.items if isinstance(item, tree.Tuple) and len(item.items) == size else None


def _more(place: _Place, entries: tuple[tree.Expr, ...], accumulators: Items) -> int:
    """How many entries a bracket has besides those of the accumulator."""
    spliced = [item.value for item in entries if isinstance(item, tree.Splice)]
    own = len(spliced) == 1 and any(_value(place, spliced[0]) is one for one in accumulators)
    return len(entries) - 1 if own else 0


# ---- reading -----------------------------------------------------------------------------------


def _inside(place: _Place, expr: tree.Expr) -> tuple[_Place, tree.Expr]:
    """The expression that a block, or the application of a function of the program, comes down to."""
    while True:
        match expr:
            case tree.BlockExpr(statements=statements, result=result):
                place, expr = _Place(place.env, names := {}, place), result
                for statement in statements:
                    names.update(_defined(place, statement))
            case tree.Call(function=tree.Name(name=name), args=args, named=()):
                function = _function(place, name)
                if function is None or len(function[1].params) != len(args):
                    return place, expr
                at, arrow = function
                given = {param: _Written(place, arg) for param, arg in zip(arrow.params, args, strict=True)}
                place, expr = _Place(at.env, given, at), arrow.body
            case _:
                return place, expr


def _defined(place: _Place, statement: tree.Define | tree.Unpack) -> dict[str, _Written]:
    match statement:
        case tree.Define(name=name, params=None, value=value):
            return {name: _Written(place, value)}
        case tree.Define(name=name, params=params, value=value):
            return {name: _Written(place, tree.Arrow(params or (), value))}
        case tree.Unpack(names=names, value=value):
            return {name: _Written(place, value, j) for j, name in enumerate(names, start=1)}


def _function(place: _Place, name: str) -> tuple[_Place, tree.Arrow] | None:
    """A function of the program, and where it stands."""
    match place.named(name):
        case Closure(env=env, params=params, body=body):
            return _Place(env, {}), tree.Arrow(params, body)
        case _Written(place=there, expr=tree.Arrow() as arrow):
            return there, arrow
        case _:
            return None


def _is_data(place: _Place, expr: tree.Expr) -> bool:
    """Whether an expression is sure to be data."""
    place, expr = _inside(place, expr)
    match expr:
        case tree.Name(name=name):
            found = place.named(name)
            if isinstance(found, _Written) and not found.component:
                return _is_data(found.place, found.expr)
            return _is_late(_value(place, expr))
        case tree.Subscript() | tree.ListSubscript():
            return _is_late(_value(place, expr))
        case tree.Infix(first=first, rest=rest):
            strict = _LAZY_OPERATORS.isdisjoint(op for op, _ in rest)
            return strict and any(_is_data(place, operand) for operand in (first, *(e for _, e in rest)))
        case tree.Unary(value=value):
            return _is_data(place, value)
        case tree.Call(function=tree.Name(name=name), args=args) if place.named(name) is None:
            return (
                name in _STRICT and tree.Star not in map(type, args) and any(_is_data(place, a) for a in args)
            )
        case _:
            return False


def _value(place: _Place, expr: tree.Expr) -> Value | None:
    """The value that an expression names, or a component of it; of an element, what it is an element of."""
    match expr:
        case tree.Name(name=name):
            found = place.named(name)
            if isinstance(found, Lazy):
                return _forced(found)
            if not isinstance(found, _Written):
                return found
            return _component(_value(found.place, found.expr), found.component)
        case tree.Subscript(base=base):
            return _value(place, base)
        case tree.ListSubscript(base=base, item=tree.Numeral(text=text)) if text.isdigit():
            return _component(_value(place, base), int(text))
        case _:
            return None


def _forced(lazy: Lazy) -> Value | None:
    """What is named outside of the step; of a part of something, the value of that."""
    if isinstance(lazy.expr, (tree.Subscript, tree.ListSubscript)):
        return _value(_Place(lazy.env, {}), lazy.expr)
    return None if lazy.busy else force(lazy)


def _component(value: Value | None, j: int) -> Value | None:
    if j and isinstance(value, Pieces):
        return value.items[j - 1] if j <= len(value.items) else None
    return value if not j or isinstance(value, (Data, Unknown)) else None


def _is_late(value: Value | None) -> bool:
    """Whether all of a value is data."""
    return (
        all(map(_is_late, value.items)) if isinstance(value, Pieces) else isinstance(value, (Data, Unknown))
    )
