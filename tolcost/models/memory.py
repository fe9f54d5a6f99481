"""How much memory activations take at once, when nodes run in the order of the file.

Every value that depends on the inputs has a buffer of its own from the node that gives it until the
last that uses it.  What is known while compiling has none, and what the model holds is parameters.
A runtime that reuses buffers in place or reorders nodes may need less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tolcost.algebra import AlgebraBudget, Monomial, NotInteger, Poly, Symbol, evaluate, is_nonnegative
from tolcost.algebra.poly import UNIT, Terms, poly
from tolcost.cost.depth import Depth
from tolcost.models.analysis import GraphCost
from tolcost.models.parameters import constant_names
from tolcost.models.totals import common_denominator

_MOST_KEPT = 12
_MOST_SHAPES = 4_000
_SAMPLES = (1, 7, 64, 1_000, 100_000)


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest of some forms; ``exact`` is False where it may be more."""

    bytes: Depth
    node: str
    exact: bool


def peak_memory(cost: GraphCost) -> Peak | None:
    """The peak of activation memory as a form in the lengths; None where sizes are too diverse."""
    sizes = _sizes(cost)
    whole = common_denominator(sizes.values())
    moments = _moments(cost, {n: _scaled(p, whole) for n, p in sizes.items()})
    if not moments or len(moments) > _MOST_SHAPES:
        return None
    forms = {poly({**dict(shape), UNIT: most}, whole): at for shape, (most, at) in moments.items()}
    kept, exact = dominating(tuple(forms))
    complete = all(not applied.uncosted for applied in cost.nodes)
    step = cost.model.graph.steps[forms[kept[0]]] if cost.model.graph.steps else None
    return Peak(Depth(kept, exact), "" if step is None else step.name or step.op, exact and complete)


def _sizes(cost: GraphCost) -> dict[str, Poly]:
    constant = constant_names(cost)
    names = (n for step in cost.model.graph.steps for n in step.outputs if n not in constant)
    found: dict[str, Poly] = {}
    cache: dict[int, Poly | None] = {}
    for name in (*(given.name for given in cost.model.graph.inputs), *names):
        number = cost.names.number_of(name)
        if number not in cache:
            cache[number] = cost.bytes(name)
        size = cache[number]
        if size is not None and size.terms:
            found[name] = size
    return found


def _scaled(form: Poly, whole: int) -> Terms:
    factor = whole // form.den
    return {mono: coef * factor for mono, coef in form.terms.items()} if factor != 1 else form.terms


def _last_uses(cost: GraphCost) -> dict[str, int]:
    steps = cost.model.graph.steps
    last: dict[str, int] = {}
    for n, step in enumerate(steps):
        last.update(dict.fromkeys(step.inputs, n))
        if step.free:
            last.update(dict.fromkeys(step.free, n))
    last.update(dict.fromkeys(cost.model.graph.outputs, len(steps)))
    return last


Moments = dict[frozenset[tuple[Monomial, int]], tuple[int, int]]
"""What is live at some moment but for its constant part, with the largest such part and its node."""


def _moments(cost: GraphCost, sizes: Mapping[str, Terms]) -> Moments:
    last = _last_uses(cost)
    live: Terms = {}
    moments: Moments = {}
    for given in cost.model.graph.inputs:
        _change(live, sizes.get(given.name), 1)
    for n, step in enumerate(cost.model.graph.steps):
        grown = False
        for name in step.outputs:
            grown |= _change(live, sizes.get(name), 1)
        if grown:
            _note(moments, live, n)
        ending = {name for name in (*step.inputs, *step.free) if last.get(name) == n}
        ending |= {name for name in step.outputs if name not in last}
        for name in ending:
            _change(live, sizes.get(name), -1)
    if not moments:
        _note(moments, live, 0)
    return moments


def _change(live: Terms, size: Terms | None, sign: int) -> bool:
    if size is None:
        return False
    for mono, coef in size.items():
        live[mono] = live.get(mono, 0) + sign * coef
    return True


def _note(moments: Moments, live: Terms, place: int) -> None:
    shape = frozenset(item for item in live.items() if item[1] and item[0])
    constant = live.get(UNIT, 0)
    if shape not in moments or moments[shape][0] < constant:
        moments[shape] = (constant, place)


# ---- which forms matter ------------------------------------------------------------------


def dominating(forms: tuple[Poly, ...]) -> tuple[tuple[Poly, ...], bool]:
    """Forms of which one is the largest everywhere, and whether that is proved; the usual one first.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> dominating((n, n * m + n, m))
    ((m*n + n,), True)
    """
    if len(forms) == 1:
        return forms, True
    kept = list(dict.fromkeys(_largest_somewhere(forms)))[:_MOST_KEPT] or [forms[0]]
    exact = True
    for form in forms:
        if not any(_covers(other, form) for other in kept):
            if len(kept) < _MOST_KEPT:
                kept.append(form)
            else:
                exact = False
    return tuple(_without_covered(kept)), exact


def _without_covered(kept: list[Poly]) -> Iterator[Poly]:
    for n, form in enumerate(kept):
        if not any(
            k != n and _covers(other, form) and not (_covers(form, other) and k > n)
            for k, other in enumerate(kept)
        ):
            yield form


def _covers(larger: Poly, smaller: Poly) -> bool:
    gap = larger - smaller
    if all(coef >= 0 for coef in gap.terms.values()) and gap.height == 0:
        return True
    try:
        return is_nonnegative(gap)
    except AlgebraBudget:
        return False


def _largest_somewhere(forms: Iterable[Poly]) -> Iterator[Poly]:
    listed = list(forms)
    for point in _points(frozenset().union(*(form.free for form in listed))):
        found = [(value, n) for n, form in enumerate(listed) if (value := _value(form, point)) is not None]
        if found:
            yield listed[max(found)[1]]


def _value(form: Poly, point: Mapping[Symbol, int]) -> int | None:
    try:
        return evaluate(form, point)
    except (KeyError, NotInteger, AlgebraBudget):
        return None


def _points(symbols: frozenset[Symbol]) -> Iterator[dict[Symbol, int]]:
    ordered = sorted(symbols, key=lambda s: s.key)
    yield dict.fromkeys(ordered, 64)
    if len(ordered) <= 3:
        for values in product(_SAMPLES, repeat=len(ordered)):
            yield dict(zip(ordered, values, strict=True))
    else:
        yield from (dict.fromkeys(ordered, value) for value in _SAMPLES)
