"""The parameters of a model, the bytes it reads and writes, and the peak memory of its activations.

``parameters`` decides which tensors hold parameters.

The peak is that of running nodes in the order of the file: every value that depends on the inputs has its own
buffer, from the node that computes it to the last node that uses it.  A runtime that reuses buffers in place
or reorders nodes may need less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, product
from math import lcm

from msgspec import Struct

from tolcost.algebra import (
    AlgebraBudget,
    Monomial,
    NotInteger,
    Poly,
    Symbol,
    is_nonnegative,
    prepared,
    product_of,
    substitute,
    total_known,
    total_of,
)
from tolcost.algebra.poly import UNIT, Terms, poly
from tolcost.algebra.restricted import without_factors
from tolcost.cost.span import Depth
from tolcost.cost.traffic import bytes_of
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.parameters import Parameters


class Holdings(Struct, frozen=True):
    """Parameters, their bytes, and bytes of inputs and outputs; None where a value has no size."""

    parameters: Poly
    parameter_bytes: Poly | None
    input_bytes: Poly | None
    output_bytes: Poly | None

    @property
    def bytes(self) -> Poly | None:
        """The bytes that a run must at least move: parameters, inputs and outputs."""
        return total_known((self.parameter_bytes, self.input_bytes, self.output_bytes))


def holdings(cost: GraphCost, held: Parameters, settle: Callable[[Poly], Poly]) -> Holdings:
    """Add up the parameters, inputs and outputs of a model, in simplified forms."""
    tensors = tuple(Counter(held.tensors).items())
    counts = total_of(product_of(t.shape) * times for t, times in tensors)
    each = ((bytes_of(t.shape, t.space), times) for t, times in tensors)
    held_bytes = (None if size is None else size * times for size, times in each)
    given, made = (given.name for given in cost.model.graph.inputs), cost.model.graph.outputs
    sizes = map(total_known, (held_bytes, map(cost.names.buffer, given), map(cost.names.buffer, made)))
    return Holdings(settle(counts), *(None if size is None else settle(size) for size in sizes))


def parameters_by_node(cost: GraphCost, held: Parameters) -> tuple[tuple[Poly, ...], Poly]:
    """Return the parameters that each node is the first to use as data, and those that the model outputs."""
    own = [_elements(held.by_node.get(n, ())) for n in range(len(cost.model.graph.nodes))]
    return tuple(own), _elements(held.given)


def _elements(tensors: Sequence[Tensor]) -> Poly:
    return total_of(product_of(tensor.shape) for tensor in tensors)


# ---- the peak ----------------------------------------------------------------------------


def constant_names(cost: GraphCost) -> set[str]:
    """Return the values that do not depend on the inputs of the model."""
    found = {"", *cost.model.graph.weights}
    for step in cost.model.graph.nodes:
        if found.issuperset(step.inputs) and found.issuperset(step.free):
            found.update(step.outputs)
    return found


_MOST_KEPT = 12
"""Forms shown for a peak; if more are needed, the result is marked as inexact."""
_MOST_SHAPES = 4_000
"""Distinct sums of live tensors that are compared; with more, the peak counts as unknown."""
_SAMPLES = (1, 7, 64, 1_000, 100_000)
"""Lengths from tiny to large, so that different forms are the largest."""


class Peak(Struct, frozen=True):
    """The maximum of forms; ``exact`` is False where the peak may exceed it."""

    bytes: Depth
    node: str
    exact: bool


def peak_memory(cost: GraphCost) -> Peak | None:
    """Return the peak of activation memory in terms of the lengths; None where sizes are too diverse."""
    sizes = _sizes(cost)
    whole = lcm(*(size.den for size in sizes.values()))
    moments = _moments(cost, {n: scaled_terms(p, whole) for n, p in sizes.items()})
    if not moments or len(moments) > _MOST_SHAPES:
        return None
    live = {poly({**dict(shape), UNIT: most}, whole): at for shape, (most, at) in moments.items()}
    forms = {cost.within(form): at for form, at in live.items()}
    kept, exact = dominating(tuple(forms))
    sized = all(cost.names.buffer(name) is not None for name in _live(cost))  # texts have no size
    complete = sized and all(not applied.uncosted for applied in cost.nodes)
    step = cost.model.graph.nodes[forms[kept[0]]] if cost.model.graph.nodes else None
    shown = Depth(tuple(substitute(form, cost.equal) for form in kept), exact)
    return Peak(shown, "" if step is None else step.name or step.op, exact and complete)


def _live(cost: GraphCost) -> Iterator[str]:
    """Yield the inputs of the model, and the values that depend on them."""
    constant = constant_names(cost)
    yield from (given.name for given in cost.model.graph.inputs)
    yield from (n for step in cost.model.graph.nodes for n in step.outputs if n not in constant)


def _sizes(cost: GraphCost) -> dict[str, Poly]:
    found: dict[str, Poly] = {}
    for name in _live(cost):
        size = cost.names.buffer(name)  # a value known at compile time has a size in a run, too
        if size is not None and size.terms:
            found[name] = cost.settled(size) if cost.larger else size
    return found


def scaled_terms(form: Poly, whole: int) -> Terms:
    """Return the terms of a form times a number that all of its divisors divide."""
    factor = whole // form.den
    return {mono: coef * factor for mono, coef in form.terms.items()} if factor != 1 else form.terms


def _last_uses(cost: GraphCost) -> dict[str, int]:
    steps = cost.model.graph.nodes
    last: dict[str, int] = {}
    for n, step in enumerate(steps):
        last.update(dict.fromkeys(step.inputs, n))
        if step.free:
            last.update(dict.fromkeys(step.free, n))
    last.update(dict.fromkeys(cost.model.graph.outputs, len(steps)))
    return last


class Lifetime(Struct, frozen=True):
    """A value that takes memory: its bytes, and the first and last node during which it is live.

    Inputs are live from the start (node 0), and outputs of the model to the end.
    """

    name: str
    bytes: Poly
    first: int
    last: int
    given: bool
    """Whether it is an input of the model; otherwise the first node makes it."""


def lifetimes(cost: GraphCost) -> Iterator[Lifetime]:
    """Yield every value that depends on the inputs, with its lifetime."""
    sizes, last, steps = _sizes(cost), _last_uses(cost), cost.model.graph.nodes
    for given in cost.model.graph.inputs:
        if given.name in sizes:
            yield Lifetime(given.name, sizes[given.name], 0, last.get(given.name, len(steps)), True)
    for n, step in enumerate(steps):
        for name in step.outputs:
            if name in sizes:
                yield Lifetime(name, sizes[name], n, last.get(name, n), False)


Moments = dict[frozenset[tuple[Monomial, int]], tuple[int, int]]
"""The live bytes of a moment, without their constant term, with the largest such constant and its node."""


def _moments(cost: GraphCost, sizes: Mapping[str, Terms]) -> Moments:
    last = _last_uses(cost)
    live: Terms = {}
    moments: Moments = {}
    for given in cost.model.graph.inputs:
        change_live(live, sizes.get(given.name), 1)
    before = dict(live)
    for n, step in enumerate(cost.model.graph.nodes):
        grown = False
        for name in step.outputs:
            grown |= change_live(live, sizes.get(name), 1)
        if grown:
            note_moment(moments, live, n)
        ending = {name for name in (*step.inputs, *step.free) if last.get(name) == n}
        ending |= {name for name in step.outputs if name not in last}
        for name in ending:
            change_live(live, sizes.get(name), -1)
    note_moment(moments, before, 0)  # nodes may have no outputs
    return moments


def change_live(live: Terms, size: Terms | None, sign: int) -> bool:
    """Add the size of a value to what is live, or take it off; the result is whether it has a size."""
    if size is None:
        return False
    for mono, coef in size.items():
        live[mono] = live.get(mono, 0) + sign * coef
    return True


def note_moment(moments: Moments, live: Terms, place: int) -> None:
    """Note what is live at a moment."""
    shape = frozenset(item for item in live.items() if item[1] and item[0])
    constant = live.get(UNIT, 0)
    if shape not in moments or moments[shape][0] < constant:
        moments[shape] = (constant, place)


# ---- which forms matter ------------------------------------------------------------------


def dominating(forms: tuple[Poly, ...]) -> tuple[tuple[Poly, ...], bool]:
    """Return forms that include the maximum at every point, the usual one first, and whether that is proved.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> dominating((n, n * m + n, m))
    ((m*n + n,), True)
    """
    if len(forms) == 1:
        return forms, True
    samples = _Samples(forms)
    kept = list(dict.fromkeys(samples.largest()))[:_MOST_KEPT] or [forms[0]]
    exact = True
    for form in forms:
        if any(_covers(other, form, samples) for other in kept):
            continue
        if len(kept) == _MOST_KEPT:
            exact = False
            break
        kept.append(form)
    return tuple(_without_covered(kept, samples)), exact


def _without_covered(kept: list[Poly], samples: _Samples) -> Iterator[Poly]:
    for n, form in enumerate(kept):
        if not any(
            k != n and _covers(other, form, samples) and not (_covers(form, other, samples) and k > n)
            for k, other in enumerate(kept)
        ):
            yield form


def _covers(larger: Poly, smaller: Poly, samples: _Samples) -> bool:
    """Whether a form is proved to be nowhere less than another, which samples may refute first."""
    if samples.somewhere_less(larger, smaller):
        return False
    gap = larger - smaller
    if all(coef >= 0 for coef in gap.terms.values()) and gap.height == 0:
        return True
    try:
        return is_nonnegative(without_factors(gap))  # common factors, such as a number of sentences
    except AlgebraBudget:
        return False


class _Samples:
    """The values of forms at points: plain arithmetic, which makes most proofs unnecessary."""

    def __init__(self, forms: Sequence[Poly]) -> None:
        self._forms = forms
        points = list(_points(frozenset().union(*(form.free for form in forms))))
        monomials = {mono: prepared(Poly({mono: 1})) for form in forms for mono in form.terms}
        parts = {mono: [_value(part, point) for point in points] for mono, part in monomials.items()}
        columns = [_column(form, parts, len(points)) for form in forms]
        self._rows = list(zip(*columns, strict=True))
        admitted = list(map(_is_admitted, points))
        self._columns = dict(zip(forms, (list(compress(c, admitted)) for c in columns), strict=True))

    def largest(self) -> Iterator[Poly]:
        """Yield the largest form at each point."""
        for row in self._rows:
            found = [(value, n) for n, value in enumerate(row) if value is not None]
            if found:
                yield self._forms[max(found)[1]]

    def somewhere_less(self, one: Poly, other: Poly) -> bool:
        """Whether a form is less than another at some point."""
        pairs = zip(self._columns[one], self._columns[other], strict=True)
        return any(a is not None and b is not None and a < b for a, b in pairs)


def _value(form: Callable[[Mapping[Symbol, int]], int], point: Mapping[Symbol, int]) -> int | None:
    try:
        return form(point)
    except (KeyError, NotInteger, AlgebraBudget):
        return None


def _column(form: Poly, parts: Mapping[Monomial, Sequence[int | None]], points: int) -> list[int | None]:
    """Return the values of a form at all points, from those of its monomials, which other forms share."""
    totals: list[int | None] = [0] * points
    for mono, coef in form.terms.items():
        pairs = zip(totals, parts[mono], strict=True)
        totals = [None if sum_ is None or part is None else sum_ + coef * part for sum_, part in pairs]
    return [None if sum_ is None or sum_ % form.den else sum_ // form.den for sum_ in totals]


def _is_admitted(point: Mapping[Symbol, int]) -> bool:
    """Whether a point lies within the bounds of its symbols, and these are constant, as proofs assume."""
    return all(
        (symbol.lo is None or ((low := symbol.lo.constant) is not None and low <= value))
        and (symbol.hi is None or ((high := symbol.hi.constant) is not None and value <= high))
        for symbol, value in point.items()
    )


def _points(symbols: frozenset[Symbol]) -> Iterator[dict[Symbol, int]]:
    ordered = sorted(symbols, key=lambda s: s.key)
    yield dict.fromkeys(ordered, 64)
    if len(ordered) <= 3:
        for values in product(_SAMPLES, repeat=len(ordered)):
            yield dict(zip(ordered, values, strict=True))
    else:
        yield from (dict.fromkeys(ordered, value) for value in _SAMPLES)
