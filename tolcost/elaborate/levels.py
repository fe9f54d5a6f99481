"""What a recursion that goes by levels is like: its end, its applications of itself, and what it returns.

Elaborated at a few levels with numbers, a function shows how it goes on. That it does so at every level is
proved where the loops over the levels are made (``level_loops``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from tolcost.algebra import Log2, Poly, Symbol, atom, const, eq, exact_div, powers, replace, substitute
from tolcost.atoms.kit import defined_length, inner_nodes
from tolcost.atoms.nodes import Lambda, Node, Part, Ref, Type, Var, Where
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.environment import Activation, Env, Lazy, bind_data, force, results
from tolcost.elaborate.layout import emit
from tolcost.elaborate.shapes import facts_here, shape_of, try_prove
from tolcost.elaborate.values import Closure, NodeValue, Value, entry, is_function, is_static, single

_HIGHEST_END = 4
"""The highest level at which a recursion may end."""
_LEVELS_TRIED = 3
"""The levels above the end that are elaborated to find out the shape of the result at any level."""


class NotByLevels(Exception):
    """A recursion that does not go by levels: its lengths have to be given as numbers."""


def sizes_of(env: Env, args: Sequence[Value], span: Span) -> Iterator[Poly]:
    """Yield the numbers among some arguments, and the lengths of the others."""
    for arg in args:
        if isinstance(arg, Poly):
            yield arg
        elif not is_function(arg):
            yield from shape_of(env, arg, span)


Taken = Callable[[Env, list[Value], Span], Value]


class Recursion(Struct, eq=False):
    """An application of a function, and the length that says how deep it goes: its level."""

    function: Closure
    args: tuple[Value, ...]
    span: Span
    level: Symbol | Log2
    """A symbol, or how often a length of any size is halved, as of one filled up to a power of 2."""
    end: int = 0
    """The highest level at which the function does not apply itself."""
    calls: int = 0
    """How often it does at any level above."""
    result: Type = ()
    """What it returns, by the level."""
    needs_data: bool = False
    """Whether its result needs arguments that are data, besides what it makes of them for the others."""
    data: list[int] = field(default_factory=list)
    """The places of the arguments that are data."""
    names: dict[str, Lazy | Value] = field(default_factory=dict)
    """What the text of the loops mentions."""
    parts: list[Poly] | None = None
    """The levels that the function was applied to, where these may be any; None where it is the one below."""

    def at(self, form: Poly, level: Poly) -> Poly:
        """Return a form at another level."""
        if isinstance(self.level, Symbol):
            return substitute(form, {self.level: level})
        return replace(form, self.level, level)

    def shape(self, env: Env, k: int, level: Poly) -> tuple[Poly, ...]:
        """Return the shape of an argument at a level."""
        return tuple([self.at(d, level) for d in shape_of(env, self.args[k], self.span)])

    def type_at(self, level: Poly) -> Type:
        """Return the type of the result at a level."""
        return tuple([Part(tuple([self.at(d, level) for d in p.shape]), p.space) for p in self.result])

    def body(self, here: Env, level: Poly, data: Sequence[Value], taken: Taken) -> Value:
        """Evaluate the function at a level; ``taken`` gives the results of its applications of itself."""
        values = list(self.args)
        for k, arg in enumerate(self.args):
            if isinstance(arg, Poly):
                values[k] = self.at(arg, level)
        for k, value in zip(self.data, data, strict=True):
            values[k] = value

        def instead(there: Env, args: tuple[Lazy | Value, ...], span: Span) -> Value:
            if there.scope.bindings is not here.scope.bindings:
                raise NotByLevels  # in a loop or in a branch
            found = [bind_data(there, entry(force(arg, span))) for arg in args]
            below = level - 1
            if self.parts is not None:
                below = self._level_of(there, found, span)
                self.parts.append(below)
            return taken(there, self._split(there, found, below, span), span)

        names: dict[str, Lazy | Value] = dict(zip(self.function.params, values, strict=True))
        inner = self.function.env.child(names, scope=here.scope)
        inner.calls = Activation(self.function, tuple(values), self.span, None, 0, instead=instead)
        return single(results(inner, self.function.body))

    def _level_of(self, env: Env, found: Sequence[Value], span: Span) -> Poly:
        """Return the level of an application: what stands where the first one has its level by itself."""
        told = zip(sizes_of(env, self.args, span), sizes_of(env, found, span), strict=True)
        levels = [now for first, now in told if first == atom(self.level)]
        if not levels:
            raise NotByLevels
        return levels[0]

    def _split(self, env: Env, found: Sequence[Value], level: Poly, span: Span) -> list[Value]:
        """Return the arguments that are data; all of them have to be as the level below says."""
        for k, (arg, now) in enumerate(zip(self.args, found, strict=True)):
            if k in self.data:
                if not isinstance(now, Poly) and is_static(now):
                    raise NotByLevels
                expected, is_so = self.shape(env, k, level), shape_of(env, now, span)
                if len(expected) != len(is_so):
                    raise NotByLevels
                for d, e in zip(expected, is_so, strict=True):
                    require_equal(env, d, e)
            elif isinstance(arg, Poly) and isinstance(now, Poly):
                require_equal(env, self.at(arg, level), now)
            elif arg is not now and (isinstance(arg, Poly) or arg != now):
                raise NotByLevels
        return [found[k] for k in self.data]


def require_equal(env: Env, one: Poly, other: Poly) -> None:
    """Give up unless two formulas are equal here."""
    if one != other and try_prove(eq(one - other), facts_here(env)) is not True:
        raise NotByLevels


# === What a recursion is like: where it ends, how often it applies itself, and the shape of its result.


class _Looked(Struct, frozen=True, eq=False):
    """What the function does at one level: its result, and how often it applies itself.

    Further whether its result needs an argument that is data, and whether splitting the arguments is work.
    """

    result: Type
    calls: int
    needs_data: bool
    works_before: bool


def _look(env: Env, recursion: Recursion, level: Poly, below: Type | None) -> _Looked:
    """Elaborate the function at a level; ``below`` is the type of its result one level below."""
    inner = env.building(env.scope.inner())
    holders = [holder(env, recursion, k, level) for k in recursion.data]
    parts: list[Node] = []
    inside: list[Var] = []

    def taken(there: Env, args: list[Value], span: Span) -> Value:
        if below is None:
            raise NotByLevels
        parts.extend(emit(there, arg, span) for arg in args)
        inside.append(Var("", below))
        return NodeValue(Ref(inside[-1], below))

    with env.context.notes.attempt(inner.scope):
        value = recursion.body(inner, level, [NodeValue(Ref(var, var.type)) for var in holders], taken)
        node = emit(inner, value, recursion.span)
    bound = dict(inner.scope.bindings)
    loops = [
        one for one in bound.values() if defined_length(one) is not None
    ]  # the result may be their turns
    needs = mentions([node, *loops], bound, holders)
    if mentions(parts, bound, inside):
        raise NotByLevels  # it is applied to what it made of something else
    works = any(isinstance(n, (Lambda, Where)) and n.charge == "data" for n in inner_nodes(parts, bound))
    return _Looked(node.type, len(inside), needs, works)


def mentions(tops: list[Node], bound: dict[Var, Node], wanted: list[Var]) -> bool:
    """Whether nodes need a variable, perhaps by way of others."""
    return any(isinstance(node, Ref) and node.var in wanted for node in inner_nodes(tops, bound))


def holder(env: Env, recursion: Recursion, k: int, level: Poly) -> Var:
    """Make a variable that stands for an argument at a level."""
    space = emit(env, recursion.args[k], recursion.span).type[0].space
    return Var("", (Part(recursion.shape(env, k, level), space),))


def _find_end(env: Env, recursion: Recursion) -> _Looked:
    """Find the highest level at which the function does not apply itself."""
    last: _Looked | None = None
    for level in range(_HIGHEST_END + 1):
        try:
            found = _look(env, recursion, const(level), None)
        except (NotByLevels, Rejected):
            if last is not None:
                break
            continue
        last, recursion.end = found, level
    if last is None:
        raise NotByLevels
    return last


def study(env: Env, recursion: Recursion) -> None:
    """Find out how a recursion goes, the same at some levels above its end."""
    last = _find_end(env, recursion)
    seen = [last.result]
    found: list[_Looked] = []
    for n in range(1, _LEVELS_TRIED + 1):
        found.append(_look(env, recursion, const(recursion.end + n), seen[-1]))
        seen.append(found[-1].result)
    calls = {one.calls for one in found}
    if len(calls) > 1 or 0 in calls:
        raise NotByLevels
    if any(one.needs_data and one.works_before for one in found):
        raise NotByLevels  # the arguments would have to be computed again
    recursion.calls, recursion.needs_data = found[0].calls, any(one.needs_data for one in found)
    fit(env, recursion, seen)


def fit(env: Env, recursion: Recursion, seen: Sequence[Type]) -> None:
    """Find the type of the result at any level, of those at the end and at some levels above it."""
    if len({tuple([len(part.shape) for part in one]) for one in seen}) > 1:
        raise NotByLevels
    recursion.result = tuple(
        Part(tuple(_fit(env, recursion, column) for column in _columns(seen, j)), part.space)
        for j, part in enumerate(seen[-1])
    )


def _columns(seen: Sequence[Type], j: int) -> list[list[Poly]]:
    return [list(lengths) for lengths in zip(*(one[j].shape for one in seen), strict=True)]


def _fit(env: Env, recursion: Recursion, lengths: list[Poly]) -> Poly:
    """Find the length at any level, of those at a few: a constant, or a multiple of one that is known."""
    first, second, *_ = lengths
    if all(one == first for one in lengths):
        return first
    known = list(sizes_of(env, recursion.args, recursion.span))
    levels = [const(recursion.end + n) for n in range(len(lengths))]
    for form in (*known, atom(recursion.level), powers(recursion.calls, atom(recursion.level))):
        values = [recursion.at(form, level) for level in levels]
        factor = exact_div(second - first, values[1] - values[0]) if values[1] != values[0] else None
        if factor is not None and all(
            length == first + factor * (value - values[0])
            for length, value in zip(lengths, values, strict=True)
        ):
            return first + factor * (form - values[0])
    raise NotByLevels
