"""The cases of a scheme: what numbers would decide while an operator is lowered, and symbols leave open.

Lowering asks of lengths whether conditions hold, whether a domain is small enough to be laid out entry by
entry, and whether a choice is the same at all coordinates.  Nodes that answer all of this alike are lowered
alike, but for their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from tolcost.elaborate.maps import UNROLL_LIMIT
from tolcost.elaborate.shapes import worst_case
from tolcost.models.lowering import Lowered

Case = tuple[object, ...]
"""The answers to the questions that a scheme leaves open."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The questions that a scheme leaves open: which conditions hold, and which sizes are small."""

    conditions: tuple[Cond, ...]
    sizes: tuple[Poly, ...]

    def of(self, lengths: Mapping[Symbol, Poly]) -> Case:
        """The case of some lengths, of which not all are numbers."""
        conditions = (substitute_cond(c, lengths) for c in self.conditions)
        sizes = (substitute(size, lengths).constant for size in self.sizes)
        return (*map(prove, conditions), *map(_range, sizes))

    def told(self, answers: Sequence[int]) -> Case:
        """The case that values of the conditions and sizes at a point belong to."""
        many = len(self.conditions)
        return (*answers[:many], *map(_range, answers[many:]))


def numbers(lengths: Mapping[Symbol, Poly]) -> dict[Symbol, int] | None:
    """The point that some lengths are, where all of them are numbers."""
    point = {symbol: value for symbol, form in lengths.items() if (value := form.constant) is not None}
    return point if len(point) == len(lengths) else None


def _range(size: int | None) -> int | None:
    """A size as far as lowering minds it: nothing, one, few or many."""
    return size if size is None or size < 2 else 2 if size <= UNROLL_LIMIT else 3


def cases_of(general: Lowered) -> Cases | None:
    """The questions that an operator lowered under symbols leaves open; None where there are others."""
    conditions: dict[Cond, None] = dict.fromkeys(general.open)
    sizes: dict[Poly, None] = {}
    for node in inner_nodes(roots(general.program)):
        if _writes_out(node):
            return None
        conditions.update(dict.fromkeys(_asked(node)))
        sizes.update(dict.fromkeys(_sizes(node)))
    told = {c.condition for c in general.conditions}
    kept = (
        c
        for c in conditions
        if c not in told and not isinstance(c, Truth) and _of_lengths(symbols_of_cond(c))
    )
    return Cases(tuple(kept), tuple(s for s in sizes if s.constant is None and _of_lengths(s.free)))


def _of_lengths(symbols: frozenset[Symbol]) -> bool:
    return all(symbol.kind == "length" for symbol in symbols)


def _writes_out(node: Node) -> bool:
    """Whether a node makes a ToL of static numbers alone: of known lengths that is a table, and free."""
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
