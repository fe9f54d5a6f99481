"""What a step of a fold is sure to make of its accumulator, read off the way it is written.

To elaborate a step is to guess which components of the accumulator are static, in which spaces they are and
how long, and to begin again where the guess was wrong.  The first guess is that what starts as a number stays
one.  Most steps tell at a glance that it does not: ``a + x[i]`` is data where ``x`` is, and ``[*a, x[i]]`` is
longer by one.  What is said here to be data is so whatever the accumulator is.  It is said of ``float64``
only: what is computed from that ends up in it, whatever space was taken for it before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tolcost.atoms.nodes import Ref, Var, numeric_type
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Rejected
from tolcost.elaborate.context import Env, Lazy, force
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.maps import Step, WrittenStep
from tolcost.elaborate.values import Closure, Data, Items, Pieces, Value, is_static
from tolcost.elementary import FUNCTIONS, INFIX
from tolcost.syntax import tree

_ARITHMETIC = {name for name, f in FUNCTIONS.items() if f.rule in ("arithmetic", "real") and name != "rand"}
"""Functions that compute in the space of reals of their data."""


WIDEST = "float64"
"""The space of reals that holds all others."""

_REAL = Data(Ref(Var("", numeric_type(WIDEST)), numeric_type(WIDEST)))
"""A component that gets to be in it."""


@dataclass(slots=True, eq=False)
class _Written:
    """A name for an expression of the step, or for one component of what it is."""

    place: _Place
    expr: tree.Expr
    component: int = 0
    real: bool | None = None
    """Whether it is sure to be one, once that was asked: names may be used many times over."""

    def is_real(self) -> bool:
        """Whether the expression is sure to be data in the widest space of reals."""
        if self.real is None:
            self.real = _is_real(self.place, self.expr)
        return self.real


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
    """What components of an accumulator get to be."""

    reals: tuple[bool, ...]
    """Whether each is data, in the widest space of reals."""
    longer: tuple[int, ...]
    """How much longer the first length of each gets in a step."""


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
    """The same; what is sure of one component may make another one sure."""
    unsaid = dict.fromkeys((*step.pattern.names, step.pattern.rest or "", *arrow.params))
    accumulator = Pieces(start) if len(start) > 1 else start[0]
    place, result = _inside(_Place(step.env, {**unsaid, arrow.params[0]: accumulator}), arrow.body)
    written = _components(result, len(start))
    if written is None:
        return None
    pairs = list(zip(start, written, strict=True))
    late = tuple([_REAL if is_static(v) and _any_real(place, entries) else v for v, entries in pairs])
    if late != start and any(map(is_static, late)):
        return _read(step, arrow, late)
    longer = [_more(place, entries, accumulator, j) for j, entries in enumerate(written, start=1)]
    return Foreseen(tuple(map(_is_widest, late)), tuple(longer))


def _any_real(place: _Place, exprs: Iterable[tree.Expr]) -> bool:
    return any(_is_real(place, expr) for expr in exprs)


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


def _more(place: _Place, entries: tuple[tree.Expr, ...], accumulator: Value, j: int) -> int:
    """How many entries a bracket has besides those of the accumulator, or of its own component."""
    spliced = [item.value for item in entries if isinstance(item, tree.Splice)]
    if len(spliced) != 1:
        return 0
    own = _value(place, spliced[0]) is accumulator or _origin(place, spliced[0], accumulator) == j
    return len(entries) - 1 if own else 0


def _origin(place: _Place, expr: tree.Expr, accumulator: Value) -> int:
    """The component of the accumulator that an expression is, or 0."""
    match expr:
        case tree.ListSubscript(base=base, item=tree.Numeral(text=text)) if text.isdigit():
            return int(text) if isinstance(accumulator, Pieces) and _value(place, base) is accumulator else 0
        case tree.Name(name=name):
            found = place.named(name)
            if not isinstance(found, _Written):
                return 0
            if not found.component:
                return _origin(found.place, found.expr, accumulator)
            return found.component if _value(found.place, found.expr) is accumulator else 0
        case _:
            return 0


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


def _is_real(place: _Place, expr: tree.Expr) -> bool:
    """Whether an expression is sure to be data in the widest space of reals."""
    place, expr = _inside(place, expr)
    match expr:
        case tree.Name(name=name):
            found = place.named(name)
            if isinstance(found, _Written) and not found.component:
                return found.is_real()
            return _is_widest(_value(place, expr))
        case tree.Subscript() | tree.ListSubscript():
            return _is_widest(_value(place, expr))
        case tree.Infix(first=first, rest=rest):
            operands = (first, *(operand for _, operand in rest))
            return {INFIX[op] for op, _ in rest} <= _ARITHMETIC and _any_real(place, operands)
        case tree.Unary(op="-" | "+", value=value):
            return _is_real(place, value)
        case tree.Call(function=tree.Name(name=name), args=args) if place.named(name) is None:
            return name in _ARITHMETIC and tree.Star not in map(type, args) and _any_real(place, args)
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
    if not j:
        return value
    return value.items[j - 1] if isinstance(value, Pieces) and 1 <= j <= len(value.items) else None


def _is_widest(value: Value | None) -> bool:
    return isinstance(value, Data) and all(part.space == WIDEST for part in value.node.type)
