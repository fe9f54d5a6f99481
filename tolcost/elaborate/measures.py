"""Measures that fall: how many turns a loop takes at most, although data decides when it ends.

A condition such as ``lo < hi`` names a measure: a whole number that is at least 1 before every turn. If one
turn or two leave at most half of it, its logarithm bounds the turns; if each turn leaves less of it, so does
the measure itself. What a turn makes of the numbers that the loop carries is read off its atoms, once for
each way through its choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from tolcost.algebra import (
    LARGEST_LENGTH,
    Cond,
    Poly,
    Symbol,
    ceil_log2,
    const,
    data_symbol,
    floordiv,
    ge,
    maximum,
    minimum,
    substitute,
    the_symbol,
)
from tolcost.algebra.poly import affine_parts
from tolcost.atoms import nodes as ir
from tolcost.atoms.nodes import Node, Var
from tolcost.diagnostics import Rejected
from tolcost.elaborate.environment import Falling
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.shapes import try_prove
from tolcost.spaces import SPACES, kind_of

_MOST_CHOICES = 6
"""The most choices by data in a turn, all ways through which are looked at."""
_WHOLE_BITS = 63
"""A run keeps whole numbers below 2^63, and refuses larger ones."""
_COMPARISONS = {"gt": (0, 1, 0), "ge": (0, 1, 1), "lt": (1, 0, 0), "le": (1, 0, 1)}
"""Which argument is larger, which smaller, and what to add to their difference so that it is at least 1."""
_WHOLE: Mapping[str, Callable[[Poly, Poly], Poly]] = {
    "add": Poly.__add__,
    "sub": Poly.__sub__,
    "mul": Poly.__mul__,
    "max": maximum,
    "min": minimum,
}


FindNode: TypeAlias = Callable[[Var], Node | None]
"""Finds the node that a variable is bound to."""
KnownParts: TypeAlias = Mapping[Var | Node, Sequence[Poly | None]]
"""What is known of the components of a variable, or of a node."""


class Turn(Struct, frozen=True, eq=False):
    """A turn as atoms, over a variable for each component of what the loop carries."""

    named: FindNode
    facts: tuple[Cond, ...]
    holders: Sequence[Var]
    condition: Node
    after: Sequence[Node]
    first: Sequence[Node]
    """What the loop starts with."""


def most_turns(turn: Turn) -> Poly | None:
    """Return a number of turns that a loop never exceeds; None if no measure of it is shown to fall."""
    try:
        symbols = tuple(data_symbol(f"v{j}", None) for j in range(len(turn.holders)))
        found = [_turns_by(turn, symbols, measure) for measure in _measures(turn, symbols)]
    except (Rejected, NeedsUnrolling):
        return None
    bounds = [bound for bound in found if bound is not None and (bound.constant or 0) < LARGEST_LENGTH]
    return min(bounds, key=lambda bound: (len(bound.free) == 0, bound.constant or 0), default=None)


def _turns_by(turn: Turn, symbols: Sequence[Poly], measure: Poly) -> Poly | None:
    """Return the bound that a measure gives."""
    first = _at_first(turn, symbols, measure)
    state = _solved(symbols, measure)
    if first is None or state is None:
        return None
    size, carried = state
    rate = _rate(turn, symbols, measure, size, carried)
    if rate is None:
        return None
    return maximum(first, 0) if rate == 0 else rate * ceil_log2(maximum(first, 0) + 1)


def falling(turn: Turn) -> list[Falling]:
    """Return the measures of a loop that every turn leaves less of, wherever it starts."""
    found: list[Falling] = []
    try:
        symbols = tuple(data_symbol(f"v{j}", None) for j in range(len(turn.holders)))
        for measure in _measures(turn, symbols):
            state = _solved(symbols, measure)
            if state is None:
                continue
            size, carried = state
            ways = list(_ways(turn, carried, ()))
            if ways and _all_leave(symbols, measure, size - 1, ways):
                found.append(Falling(measure, symbols))
    except (Rejected, NeedsUnrolling):
        pass
    return found


def _all_leave(symbols: Sequence[Poly], measure: Poly, most: Poly, ways: Sequence[Way]) -> bool:
    """Whether all ways through a turn leave no more than so much of a measure."""
    left = [(_left(symbols, measure, way), way.facts) for way in ways]
    return all(one is not None and try_prove(ge(most - one), facts) is True for one, facts in left)


def _left(symbols: Sequence[Poly], measure: Poly, way: Way) -> Poly | None:
    """Return what a way through a turn leaves of a measure."""
    values: dict[Symbol, Poly] = {}
    for symbol, value in zip(map(the_symbol, symbols), way.values, strict=True):
        if symbol in measure.free:
            if value is None:
                return None
            values[symbol] = value
    return substitute(measure, values)


def _solved(symbols: Sequence[Poly], measure: Poly) -> tuple[Poly, tuple[Poly, ...]] | None:
    """Return a symbol for the measure, and what is carried in terms of it."""
    size = data_symbol("size", 1, None)
    for symbol in symbols:
        name = the_symbol(symbol)
        rest = substitute(measure, {name: const(0)})
        share = (measure - rest - symbol).constant, (measure - rest + symbol).constant
        if 0 in share:
            value = size - rest if share[0] == 0 else rest - size
            return size, tuple(substitute(one, {name: value}) for one in symbols)
    return None


def _rate(
    turn: Turn, symbols: Sequence[Poly], measure: Poly, size: Poly, carried: Sequence[Poly]
) -> int | None:
    """Return in how many turns a measure is halved; 0 if each turn only leaves less of it."""
    half, less = floordiv(size, const(2)), size - 1
    ways = list(_ways(turn, carried, ()))
    if not ways:
        return None
    if _all_leave(symbols, measure, half, ways):
        return 1
    twice = []
    for way in ways:
        once = _left(symbols, measure, way)
        if once is None:
            return None
        twice += list(_ways(turn, way.values, (*way.facts, ge(once - 1))))
    if twice and _all_leave(symbols, measure, half, twice):
        return 2
    return 0 if _all_leave(symbols, measure, less, ways) else None


def _at_first(turn: Turn, symbols: Sequence[Poly], measure: Poly) -> Poly | None:
    """Return the most that a measure is before the first turn."""
    values: dict[Symbol, Poly] = {}
    for symbol, node, held, after in zip(symbols, turn.first, turn.holders, turn.after, strict=True):
        name = the_symbol(symbol)
        if name not in measure.free:
            continue
        if not _same_space(held.type[0].space, after.type[0].space):
            return None
        rising = (measure - substitute(measure, {name: symbol - 1})).constant
        found = _end_of(turn, node, upper=rising > 0) if rising else None
        if found is None:
            return None
        values[name] = found
    return substitute(measure, values)


def _end_of(turn: Turn, node: Node, upper: bool) -> Poly | None:
    """Return a bound of a whole number: itself if it is known, else what its space holds."""
    reader = NumberReader(turn.named, {}, {}, list(turn.facts))
    found, known = reader.resolved(node), None
    if isinstance(found, ir.Lambda) and found.function == "mod":
        divisor = reader.read(found.args[1])
        if divisor is not None and try_prove(ge(divisor - 1), tuple(reader.facts)) is True:
            known = divisor - 1 if upper else const(0)
    elif isinstance(found, ir.Number):
        known = reader.read(found)
    if known is not None and not any(symbol.kind == "data" for symbol in known.free):
        return known
    if kind_of(found.type[0].space) not in ("B", "Z"):
        return None
    space = SPACES[found.type[0].space]
    within = found.within if isinstance(found, ir.Input) else ()
    ends = [space.hi if upper else space.lo, *((one.hi if upper else one.lo) for one in within)]
    known_ends = [int(end) for end in ends if end is not None]
    if not known_ends:
        return const(2**_WHOLE_BITS - 1 if upper else -(2**_WHOLE_BITS))
    return const(min(known_ends) if upper else max(known_ends))


# === What a turn makes of whole numbers.


class _Undecided(Exception):
    """A choice by data that is not decided on this way."""

    def __init__(self, condition: Node) -> None:
        super().__init__()
        self.condition = condition


class Way(Struct, frozen=True, eq=False):
    """What one way through the choices of a turn makes of what is carried, and what is known on it."""

    values: tuple[Poly | None, ...]
    facts: tuple[Cond, ...]


def _ways(turn: Turn, carried: Sequence[Poly | None], facts: tuple[Cond, ...]) -> Iterator[Way]:
    """Yield all ways through a turn; none if they are too many."""
    given: KnownParts = {var: (value,) for var, value in zip(turn.holders, carried, strict=True)}
    return ways_of(turn.named, given, turn.after, (*turn.facts, *facts))


def ways_of(
    named: FindNode, given: KnownParts, nodes: Sequence[Node], facts: tuple[Cond, ...]
) -> Iterator[Way]:
    """Yield what some nodes are on each way through their choices; none if they are too many."""
    pending: list[dict[Node, bool]] = [{}]
    found: list[Way] = []
    while pending:
        decided = pending.pop()
        if len(decided) > _MOST_CHOICES:
            return
        reader = NumberReader(named, given, decided, list(facts))
        try:
            values = tuple([reader.read(node) for node in nodes])
        except _Undecided as undecided:
            pending += [{**decided, undecided.condition: side} for side in (True, False)]
            continue
        found.append(Way(values, tuple(reader.facts)))
    yield from found


class NumberReader(Struct, frozen=True, eq=False):
    """Reads whole numbers as formulas; what it meets of remainders becomes facts."""

    named: FindNode
    given: KnownParts
    decided: Mapping[Node, bool]
    facts: list[Cond]
    seen: dict[Node, Poly | None] = field(default_factory=dict)
    most: dict[Symbol, Poly] = field(default_factory=dict)
    """The largest value of each remainder that was met."""
    open: set[Symbol] = field(default_factory=set)
    """The numbers of which no more is known than that they are no larger than a formula."""

    def read(self, node: Node) -> Poly | None:
        """Return the formula of a node; None if it has none."""
        node = self.resolved(node)
        if node not in self.seen:
            self.seen[node] = self._read(node)
        return self.seen[node]

    def resolved(self, node: Node) -> Node:
        """Follow names, parts of lists, and conversions that keep whole numbers."""
        while True:
            match node:
                case ir.Ref(var=var) if var not in self.given:
                    named = self.named(var)
                    if named is None:
                        return node
                    node = named
                case ir.Component(value=value, j=j):
                    part = self._part(self.resolved(value), j)
                    if part is None:
                        return node
                    node = part
                case ir.Convert(value=value, bits=False, type=(part,)) if _is_wide(part.space):
                    node = value
                case _:
                    return node

    def _part(self, found: Node, j: int) -> Node | None:
        """Return the node of a component of a list."""
        if isinstance(found, ir.Convert) and not found.bits and _is_wide(found.type[j - 1].space):
            found = self.resolved(found.value)
        is_plain = isinstance(found, ir.Pack) and all(len(item.type) == 1 for item in found.items)
        return found.items[j - 1] if is_plain and isinstance(found, ir.Pack) else None

    def _read(self, node: Node) -> Poly | None:
        match node:
            case ir.Component(value=value, j=j):
                return self._known(self.resolved(value), j)
            case ir.Ref() | ir.Fold():
                return self._known(node, 1)
            case ir.Number(value=Poly() as value):
                return value
            case ir.Where(condition=condition, then=then, other=other):
                condition = self.resolved(condition)
                if condition not in self.decided:
                    raise _Undecided(condition)
                return self.read(then if self.decided[condition] else other)
            case ir.Lambda(function="floor", args=(value,)):
                return self._floor(self.resolved(value))
            case ir.Lambda(function="mod", args=args) if kind_of(node.space) == "Z":
                return self._remainder(*map(self.read, args))
            case ir.Lambda(function=name, args=(one, other)) if name in _WHOLE and _is_wide(node.space):
                first, second = self.read(one), self.read(other)
                if first is not None and second is not None:
                    return _WHOLE[name](first, second)
                return self._at_most(second if first is None else first) if name == "min" else None
            case _:
                return None

    def _at_most(self, most: Poly | None) -> Poly | None:
        """Return a fresh number for the minimum of a formula and of what has none."""
        if most is None:
            return None
        found = data_symbol("least", None, None)
        self.facts.append(ge(most - found))
        self.open.add(the_symbol(found))
        return found

    def _known(self, node: Node, j: int) -> Poly | None:
        known = self.given.get(node.var if isinstance(node, ir.Ref) else node, ())
        return known[j - 1] if j <= len(known) else None

    def _floor(self, node: Node) -> Poly | None:
        match node:
            case ir.Lambda(function="div", args=args):
                first, second = map(self.read, args)
                number = None if second is None else second.constant
                return None if first is None or number is None or number < 1 else floordiv(first, number)
            case _:
                return self.read(node)

    def _remainder(self, one: Poly | None, by: Poly | None) -> Poly | None:
        """Return a fresh number for a remainder, less than the divisor, and than half of a larger number."""
        if by is None or try_prove(ge(by - 1), tuple(self.facts)) is not True:
            return None
        rest = data_symbol("rest", 0, None)
        self.facts.append(ge(by - 1 - rest))
        self.most[the_symbol(rest)] = by - 1
        if one is not None and try_prove(ge(one - by), tuple(self.facts)) is True:
            self.facts.append(ge(floordiv(one - 1, 2) - rest))
        return rest


def _same_space(held: str, after: str) -> bool:
    """Whether what a turn leaves goes on as it is."""
    return held == after or (_is_wide(held) and _is_wide(after))


def _is_wide(space: str) -> bool:
    """Whether whole numbers of a space never wrap."""
    return kind_of(space) == "Z" and not SPACES[space].finite


# === The measures that a condition names.


def _measures(turn: Turn, symbols: Sequence[Poly]) -> Iterator[Poly]:
    """Yield whole numbers that are at least 1 wherever the condition holds."""
    given: KnownParts = {var: (symbol,) for var, symbol in zip(turn.holders, symbols, strict=True)}
    reader = NumberReader(turn.named, given, {}, [])
    pending = [turn.condition]
    while pending:
        node = reader.resolved(pending.pop())
        if not isinstance(node, ir.Lambda):
            continue
        if node.function == "and":
            pending.extend(node.args)
            continue
        if node.function not in _COMPARISONS or kind_of(node.space) not in ("B", "Z"):
            continue
        large, small, more = _COMPARISONS[node.function]
        try:
            one, other = reader.read(node.args[large]), reader.read(node.args[small])
        except _Undecided:
            continue
        if one is None or other is None:
            continue
        measure = _without_remainders(one - other + more, reader.most)
        if measure is not None and measure.constant is None and not reader.open & measure.free:
            yield measure


def _without_remainders(measure: Poly, most: Mapping[Symbol, Poly]) -> Poly | None:
    """Return a larger measure without remainders: each takes the end that makes the measure largest.

    A remainder may be another one at the next turn, so that it cannot stand for the same number in both.
    """
    while found := next((symbol for symbol in measure.free if symbol in most), None):
        parts = affine_parts(measure, found)
        slope = None if parts is None else parts[0].constant
        if parts is None or slope is None:
            return None
        measure = parts[1] if slope < 0 else parts[1] + slope * most[found]
    return measure
