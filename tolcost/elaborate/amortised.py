"""Amortised turns: how many a loop inside of another takes in all, by a measure that lasts from step to step.

If every turn leaves less of a measure, a visit of the loop takes no more turns than the measure falls by, as
far as it is above 0. So all turns together are at most what the measure is at first, and what the steps
around the loop add to it: from a stack no more is taken than was put onto it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from tolcost.algebra import Poly, Symbol, atom, const, data_symbol, maximum, substitute, the_symbol
from tolcost.atoms.kit import bound_nodes, schedules
from tolcost.atoms.nodes import Fold, Node, Pack, Program, Var
from tolcost.elaborate.environment import Falling
from tolcost.elaborate.measures import NumberReader, ways_of


def amortised(
    program: Program, measures: Mapping[Symbol, Sequence[Falling]]
) -> tuple[tuple[Symbol, Poly], ...]:
    """Return the most turns in all of the loops that stand in a fold of a program."""
    plans = schedules(program)
    bound, blocks = bound_nodes(program, plans), dict(plans.blocks)
    found: dict[Symbol, Poly] = {}
    for outer, _, often, _ in plans.top.steps:
        if not isinstance(outer, Fold) or len(outer.coords) != 1 or often > 1:
            continue
        inside = [(node, times) for node, _, times, _ in blocks[outer.body].steps if isinstance(node, Fold)]
        for inner, times in inside:
            if inner.ends is not None and times == 1 and measures.get(inner.ends):
                loops = _Loops(bound, outer, inner, [node for node, _ in inside])
                told = map(loops.in_all, measures[inner.ends])
                bounds = [most for most in told if most is not None]
                if bounds:
                    found[inner.ends] = min(bounds, key=lambda form: len(form.terms))
    return tuple(found.items())


class _Loops:
    """A loop that data ends, and the fold around it."""

    def __init__(self, bound: Mapping[Var, Node], outer: Fold, inner: Fold, beside: Sequence[Fold]) -> None:
        """Read the folds beside that take the same turns, too: numbers known at every turn are there."""
        self._bound, self._outer, self._inner = bound, outer, inner
        self._before = [data_symbol(f"a{j}", None) for j in range(len(outer.type))]
        self._after = [data_symbol(f"e{j}", None) for j in range(len(inner.type))]
        self._given: dict[Var | Node, Sequence[Poly | None]] = {
            outer.accumulator: self._before,
            inner: self._after,
            inner.accumulator: self._after,
        }
        for other in beside:
            if other.extents == inner.extents and other is not inner:
                self._given[other] = self._carried_by(other)

    def in_all(self, falling: Falling) -> Poly | None:
        """Return the most turns in all steps, by a measure of the loop."""
        components = [self._after[0], *falling.symbols]  # the first is the condition
        if len(components) != len(self._after):
            return None
        (coordinate,), (steps,) = self._outer.coords, self._outer.extents
        starts = list(self._put(falling.measure, components, self._inner.start))
        if len(starts) != 1 or starts[0] is None:
            return None
        first, later = (substitute(starts[0], {coordinate: at}) for at in (const(1), atom(coordinate) + 1))
        ended = substitute(falling.measure, dict(zip(map(the_symbol, components), self._after, strict=True)))
        firsts = list(self._put(first, self._before, self._outer.start))
        after = list(self._put(later, self._before, self._outer.body.result))
        forms = [one for one in firsts if one is not None]
        added = [one - ended for one in after if one is not None]
        whole = len(firsts) == len(forms) > 0 and len(after) == len(added) > 0
        if not whole or any(map(self._is_open, (*forms, *added))):
            return None
        most, more = (reduce(maximum, ends, const(0)) for ends in (forms, added))
        return most + maximum(steps - 1, 0) * more

    def _carried_by(self, other: Fold) -> list[Poly | None]:
        """Return what components of a fold that takes the same turns are in the end, as those of the loop."""
        inner, many, mine = self._inner, len(self._after), len(other.type)
        starts, steps = self._entries(inner.start, many), self._entries(inner.body.result, many)
        alike = [
            next((j for j, start in enumerate(starts) if self._resolved(start) is self._resolved(own)), None)
            for own in self._entries(other.start, mine)
        ]
        given = {**self._given, other.accumulator: [None if j is None else self._after[j] for j in alike]}
        found: list[Poly | None] = []
        for j, step in zip(alike, self._entries(other.body.result, mine), strict=False):
            both = [] if j is None or not steps else [step, steps[j]]
            ways = [way.values for way in ways_of(self._bound.get, given, both, ())]
            same = j is not None and len(ways) == 1 and len(set(ways[0])) == 1 and None not in ways[0]
            found.append(self._after[j] if same and j is not None else None)
        return found

    def _resolved(self, node: Node) -> Node:
        return NumberReader(self._bound.get, self._given, {}, []).resolved(node)

    def _is_open(self, form: Poly) -> bool:
        return any(symbol.kind == "data" or symbol in self._outer.coords for symbol in form.free)

    def _put(self, form: Poly, symbols: Sequence[Poly], node: Node) -> Iterator[Poly | None]:
        """Yield a form in the components of a list, by each way through its choices; None if not read."""
        names = list(map(the_symbol, symbols))
        entries = self._entries(node, len(names))
        needed = [k for k, name in enumerate(names) if name in form.free]
        for way in ways_of(self._bound.get, self._given, [entries[k] for k in needed] if entries else [], ()):
            values = {
                names[k]: value for k, value in zip(needed, way.values, strict=False) if value is not None
            }
            yield substitute(form, values) if len(values) == len(needed) else None

    def _entries(self, node: Node, many: int) -> Sequence[Node]:
        """Return the nodes of the components of a list; none if they are not apart."""
        found = self._resolved(node)
        if many == 1:
            return [found]
        apart = isinstance(found, Pack) and all(len(item.type) == 1 for item in found.items)
        return found.items if apart and isinstance(found, Pack) and len(found.items) == many else []
