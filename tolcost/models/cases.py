"""The cases of a scheme: what numbers would decide while an operator is lowered, and symbols leave open.

Lowering asks of lengths whether conditions hold, whether a domain is small enough to be laid out entry by
entry, and whether a choice is the same at all coordinates.  Nodes that answer all of this alike are lowered
alike, but for their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tolcost.algebra import (
    And,
    Cond,
    Or,
    Poly,
    Symbol,
    Truth,
    conj,
    eq,
    negate,
    product_of,
    prove,
    substitute,
    substitute_cond,
    symbols_of_cond,
)
from tolcost.atoms.kit import inner_nodes, roots, static_condition
from tolcost.atoms.nodes import Build, Fold, Input, Node, Ref, Reshape, Select
from tolcost.dataclass import dataclass
from tolcost.elaborate.values import LAY_OUT_LIMIT, UNROLL_LIMIT
from tolcost.models.facts import MOST_STATIC
from tolcost.models.lowered import Lowered, shapes_of

_LIMITS = (MOST_STATIC, UNROLL_LIMIT, LAY_OUT_LIMIT)
"""Up to which sizes static values are handed on, domains taken entry by entry, and values laid out."""

Answers = tuple[object, ...]
"""The answers to the questions that a scheme leaves open."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The questions that a scheme leaves open: which conditions hold, and which sizes are small.

    ``static`` are the sizes of static values, which may be handed on or laid out.
    """

    conditions: tuple[Cond, ...]
    sizes: tuple[Poly, ...]
    static: tuple[Poly, ...] = ()

    @property
    def asked(self) -> tuple[Cond | Poly, ...]:
        """All that is asked, in order."""
        return (*self.conditions, *self.sizes, *self.static)

    def of(self, lengths: Mapping[Symbol, Poly]) -> Answers:
        """The case of some lengths, of which not all are numbers."""
        conditions = (substitute_cond(c, lengths) for c in self.conditions)
        sizes, static = (
            [substitute(size, lengths).constant for size in listed] for listed in (self.sizes, self.static)
        )
        return (*map(prove, conditions), *map(_range, sizes), *map(_static_range, static))

    def told(self, answers: Sequence[int]) -> Answers:
        """The case that values of what is asked at a point belong to."""
        many, rest = len(self.conditions), len(self.conditions) + len(self.sizes)
        return (*answers[:many], *map(_range, answers[many:rest]), *map(_static_range, answers[rest:]))


def numbers(lengths: Mapping[Symbol, Poly]) -> dict[Symbol, int] | None:
    """The point that some lengths are, where all of them are numbers."""
    point = {symbol: value for symbol, form in lengths.items() if (value := form.constant) is not None}
    return point if len(point) == len(lengths) else None


def _range(size: int | None) -> int | None:
    """A size as far as lowering minds it: nothing, one, few or many."""
    return size if size is None or size < 2 else 2 + (size > UNROLL_LIMIT)


def _static_range(size: int | None) -> int | None:
    """The size of a static value: nothing, one, or how many of the limits it exceeds."""
    return size if size is None or size < 2 else 2 + sum(size > limit for limit in _LIMITS)


def cases_of(general: Lowered) -> Cases:
    """The questions that an operator lowered under symbols leaves open."""
    conditions: dict[Cond, None] = dict.fromkeys(general.open)
    sizes: dict[Poly, None] = {}
    static: dict[Poly, None] = {}
    for node in inner_nodes(roots(general.program)):
        conditions.update(dict.fromkeys(_asked(node)))
        sizes.update(dict.fromkeys(_sizes(node)))
        if _writes_out(node):
            static.update(dict.fromkeys(product_of(part.shape) for part in node.type))
    if general.forgets:  # a static value is known by itself where it is small
        static.update(dict.fromkeys(product_of(shape) for shape in shapes_of(general.outputs)))
    if general.counts.index:  # one index may be another where they count as far: then it is computed once
        inputs = (d for given in general.program.inputs for part in given.type for d in part.shape)
        open_ = sorted({d for d in inputs if d.constant is None}, key=lambda d: d.key)
        conditions.update(dict.fromkeys(eq(one - other) for one, other in combinations(open_, 2)))
    told = {c.condition for c in general.conditions}
    kept = (
        c
        for c in conditions
        if c not in told and not isinstance(c, Truth) and _of_lengths(symbols_of_cond(c))
    )
    return Cases(tuple(kept), tuple(filter(_is_open, sizes)), tuple(filter(_is_open, static)))


def _is_open(size: Poly) -> bool:
    return size.constant is None and _of_lengths(size.free)


def _of_lengths(symbols: frozenset[Symbol]) -> bool:
    return all(symbol.kind == "length" for symbol in symbols)


def _writes_out(node: Node) -> bool:
    """Whether a node makes a ToL of static numbers alone: of known lengths that may be a table, and free."""
    return isinstance(node, Build) and not any(
        isinstance(inner, (Input, Ref)) for inner in inner_nodes((node.body.result,))
    )


def _asked(node: Node) -> Iterator[Cond]:
    """Conditions on lengths that a node would not be there for if they were decided."""
    match node:
        case Reshape(type=(part,), value=value) if len(value.type) == 1:
            before = value.type[0].shape
            if len(before) == len(part.shape):
                yield conj(*(eq(a - b) for a, b in zip(before, part.shape, strict=True)))
        case Select():
            condition = static_condition(node)
            if condition is not None:
                yield from _at_worst(condition)
        case _:
            return


def _at_worst(condition: Cond) -> Iterator[Cond]:
    """Whether parts of a condition hold at all coordinates, or at none."""
    from tolcost.elaborate.shapes import worst_case

    for single in _parts(condition):
        yield from (worst for side in (single, negate(single)) if (worst := worst_case(side)) is not None)


def _parts(condition: Cond) -> Iterator[Cond]:
    if isinstance(condition, (And, Or)):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition


def _sizes(node: Node) -> Iterator[Poly]:
    """The sizes of the domains that a node walks, and of the ToLs that it is given."""
    match node:
        case Build(extents=extents) | Fold(extents=extents):
            yield from extents
            yield product_of(extents)
        case Input(type=type_):
            yield from (product_of(part.shape) for part in type_)
        case _:
            return
