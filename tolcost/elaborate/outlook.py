"""A guess of the accumulator's growth and binding times, from the syntax of a fold's step.

Nothing is elaborated for it, and nothing relies on it: callers treat it as a guess, which elaborating the
step must confirm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from tolcost.elaborate.environment import Env, Lazy
from tolcost.elaborate.maps import Step, WrittenStep
from tolcost.elaborate.values import Closure, Value, is_static, single
from tolcost.syntax import tree

_Needs = frozenset[int]
"""The components of an accumulator that an expression depends on, by number; 0 stands for data."""

_NOTHING: _Needs = frozenset()
_DATA: _Needs = frozenset((0,))
_Names = Mapping[str, _Needs]


def guess_growth(step: Step, size: int) -> tuple[tuple[bool, ...], tuple[int, ...]] | None:
    """Guess the effect of a step on an accumulator of ``size`` components.

    Return None if the syntax does not show it.

    For each component: whether it seems to be data after a step, and by how many entries it grows.
    """
    if not isinstance(step, WrittenStep) or not isinstance(step.expr, tree.Arrow):
        return None
    whole = frozenset(range(1, size + 1))
    element = _NOTHING if is_static(step.over) else _DATA
    names = {**dict.fromkeys(step.pattern.names, _NOTHING)}
    names |= zip(step.expr.params, (whole, element, _NOTHING), strict=False)
    reading = _Reading(whole, element, {str(j): j for j in whole})
    made = list(reading.components(step.env, names, step.expr.body, size))
    if len(made) != size:
        return None
    needs = [needs for needs, _ in made]
    data = {j for j, needed in enumerate(needs, start=1) if 0 in needed}
    while more := {j for j, needed in enumerate(needs, start=1) if needed & data} - data:
        data |= more
    return tuple([j in data for j in range(1, size + 1)]), tuple([longer for _, longer in made])


class _Reading(Struct):
    """The results for names and functions so far, by identity, during one reading of a step."""

    whole: _Needs
    element: _Needs
    places: Mapping[str, int]
    """Components by number, in decimal notation."""
    found: dict[int, _Needs] = field(default_factory=dict)

    def components(self, env: Env, names: _Names, expr: tree.Expr, size: int) -> Iterator[tuple[_Needs, int]]:
        """Yield, for each component of an expression, what it depends on and how many entries it gains."""
        match expr:
            case tree.BlockExpr(statements=statements, result=result):
                yield from self.components(env, self._define(env, names, statements), result, size)
            case tree.Call(function=tree.Name(name=name), args=args) if name not in names and isinstance(
                function := env.nearest(name), Closure
            ):
                given = [self.needs(env, names, arg) for arg in args]
                inner = dict(zip(function.params, given, strict=False))
                yield from self.components(function.env, inner, function.body, size)
            case tree.Tuple(items=items):
                for item in items:
                    yield from self.components(env, names, item, 1)
            case tree.Bracket(items=(tree.Splice(value=before), *rows)):
                kept = self.needs(env, names, before)
                apart = [row.items if isinstance(row, tree.Tuple) else (row,) for row in rows]
                for j, column in enumerate(zip(*apart, strict=False), start=1):
                    own = frozenset((j,)) if kept is self.whole else kept
                    yield own | self._union_of_needs(env, names, column), len(rows)
            case _:
                yield self.needs(env, names, expr), 0

    def needs(self, env: Env, names: _Names, expr: tree.Expr) -> _Needs:
        """Return what an expression depends on; once it depends on data, nothing else matters."""
        match expr:
            case tree.Name(name=name):
                return names[name] if name in names else self._needs_of_value(env.nearest(name))
            case tree.Numeral():
                return _NOTHING
            case tree.Infix(first=first, rest=rest):
                return self._union_of_needs(env, names, (first, *[operand for _, operand in rest]))
            case tree.Call(function=function, args=args):
                return self._union_of_needs(env, names, (function, *args))
            case tree.ListSubscript(base=base, item=tree.Numeral(text=text)) if text in self.places:
                needed = self.needs(env, names, base)
                return frozenset((self.places[text],)) if needed is self.whole else needed
            case tree.Subscript(base=base, items=items):
                needed = self.needs(env, names, base)
                at = self._union_of_needs(env, names, items)
                return needed if at <= needed else needed | at
            case tree.Star():
                return self.element
            case tree.ShapeOf() | tree.CapacityOf():
                return _NOTHING
            case tree.Arrow(params=params, body=body):
                return self.needs(env, {**names, **dict.fromkeys(params, _NOTHING)}, body)
            case tree.BlockExpr(statements=statements, result=result):
                return self.needs(env, self._define(env, names, statements), result)
            case _:
                return self._union_of_needs(env, names, tree.children(expr))

    def _union_of_needs(self, env: Env, names: _Names, exprs: Iterable[tree.Expr]) -> _Needs:
        found = _NOTHING
        for expr in exprs:
            needed = self.needs(env, names, expr)
            if 0 in needed:
                return _DATA
            found |= needed
        return found

    def _define(self, env: Env, names: _Names, statements: tuple[tree.Define | tree.Unpack, ...]) -> _Names:
        """Add the names that statements define; each may use the names before it."""
        inner = dict(names)
        for statement in statements:
            match statement:
                case tree.Define(name=name, params=params, value=value):
                    hidden = {**inner, **dict.fromkeys(params, _NOTHING)} if params else inner
                    inner[name] = self.needs(env, hidden, value)
                case tree.Unpack(names=parts, value=value):
                    needed = self.needs(env, inner, value)
                    for j, part in enumerate(parts, start=1):
                        inner[part] = frozenset((j,)) if needed is self.whole else needed
        return inner

    def _needs_of_value(self, value: Lazy | Value | None) -> _Needs:
        """Return what a value defined outside the step depends on."""
        match value:
            case Lazy(value=None, expr=None) | None:
                return _NOTHING
            case Lazy(value=None, expr=expr, env=env) if expr is not None:
                return self._needs_once(env, expr, ())
            case Lazy(value=found) if found is not None:
                return _NOTHING if is_static(single(found)) else _DATA
            case Closure(params=params, body=body, env=env):
                return self._needs_once(env, body, params)
            case _:
                return _NOTHING if is_static(value) else _DATA  # type: ignore[arg-type]

    def _needs_once(self, env: Env, expr: tree.Expr, params: tuple[str, ...]) -> _Needs:
        """Return what an expression defined elsewhere depends on; each is read once."""
        key = id(expr)
        if key not in self.found:
            self.found[key] = _NOTHING  # meanwhile, since it may be defined in terms of itself
            self.found[key] = self.needs(env, dict.fromkeys(params, _NOTHING), expr)
        return self.found[key]
