"""What an operator does along one dimension by itself, for those that go over each of several alike.

A window slides along every dimension, and what of it lies inside is a matter of each dimension alone: how
often a function is applied is then a product over the dimensions.  Its factors are what the same definition
does with a single one of them, everything else of length 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from tolcost.algebra import ONE, ZERO, AlgebraBudget, Poly, length, product_of, substitute
from tolcost.catalogue.cases import Case, Item
from tolcost.catalogue.deriving import attempt, placed
from tolcost.catalogue.graph import Attribute
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Rejected
from tolcost.elaborate.inputs import kind_of_declared
from tolcost.elaborate.values import Cast, Vec
from tolcost.syntax import tree

_TITLE = "prod(#"


def is_of_section(title: str) -> bool:
    """Whether a measure is such a product."""
    return title.startswith(_TITLE)


def has_dimensions(case: Case, spec: Spec) -> bool:
    """Whether there are several dimensions: along a single one, what is done is the count itself."""
    return (_rank(case, spec) or 0) > 1


def section_measures(case: Case, spec: Spec, library: Library) -> dict[str, Poly] | None:
    """For every function, the product over the dimensions of how often it is applied along each.

    None where the operator cannot be taken apart like that.
    """
    rank = _rank(case, spec)
    if not rank or not any(_is_by_dimension(s) for s in spec.attributes):
        return None
    with suppress(Rejected, AlgebraBudget):
        each = [dict(_along(case, spec, library, d, rank)) for d in range(rank)]
        functions = {function for found in each for function in found}
        return {
            f"{_TITLE}{f})": product_of([found.get(f, ZERO) for found in each]) for f in sorted(functions)
        }
    return None


def _is_by_dimension(statement: tree.InputDecl) -> bool:
    """Whether an attribute has an entry for each of some number of dimensions."""
    return (
        kind_of_declared(statement.space) == "Z"
        and len(statement.shape) == 1
        and isinstance(statement.shape[0], tree.Name)
    )


def _rank(case: Case, spec: Spec) -> int | None:
    """How many lengths the `...` of the first tensor stands for; else how many a static vector holds."""
    for statement, _, item in placed(case, spec):
        if isinstance(item, np.ndarray):
            if statement.any_rank:
                return item.ndim - len(statement.shape) + 1
            if statement.kind == "static" and _is_by_dimension(statement):
                return len(item)
    return None


def _along(case: Case, spec: Spec, library: Library, d: int, rank: int) -> Iterator[tuple[str, Poly]]:
    """How often each function is applied along a dimension, in the lengths of the whole."""
    counts = attempt(_section(case, spec, d, rank), spec, library, ()).counts
    found: dict[str, Poly] = {}
    for (function, _), form in counts.histogram.items():
        found[function] = found.get(function, ZERO) + form
    names = {
        f"{base}_{fixed + 1}": f"{base}_{fixed + 1 + d}"
        for statement, base, _ in placed(case, spec)
        if statement.any_rank and (fixed := len(statement.shape) - 1) >= 0
    }
    for function, form in found.items():
        by = {
            s: length(names[s.name], 0 if s.lo is None else s.lo.constant or 0)
            for s in form.free
            if s.name in names
        }
        yield function, substitute(form, by if names else dict.fromkeys(form.free, ONE))


def _section(case: Case, spec: Spec, d: int, rank: int) -> Case:
    """The case with one dimension of those that `...` stands for, and 1 for all lengths that have a name.

    Where there is no `...`, lengths stay open: what is given for each dimension says what they are.
    """
    anywhere = any(statement.any_rank for statement, _, _ in placed(case, spec))
    items: list[Item] = [
        _cut(statement, item, d, rank, anywhere) for statement, _, item in placed(case, spec)
    ]
    defaults = {s.name for s in spec.attributes if s.default is not None and kind_of_declared(s.space) == "Z"}
    attributes = {
        name: _entry(value, d, rank) for name, value in case.node.attributes.items() if name not in defaults
    }
    return replace(case, node=case.node._replace(attributes=attributes), inputs=tuple(items))


def _cut(statement: tree.InputDecl, item: Item, d: int, rank: int, anywhere: bool) -> Item:
    if not isinstance(item, np.ndarray):
        return item
    if statement.kind == "static":
        return item[d::rank] if _is_by_dimension(statement) and len(item) in (rank, 2 * rank) else item
    fixed = len(statement.shape) - 1
    if not statement.any_rank:
        return np.resize(item, [1] * item.ndim) if anywhere else item
    return np.resize(item, [*[1] * fixed, *item.shape[fixed + d : fixed + d + 1]])


def _entry(value: Attribute, d: int, rank: int) -> Attribute:
    """What an attribute says of one dimension, where it says something of each."""
    match value:
        case Cast(value=inner, space=space) if not isinstance(inner, Cast):
            found = _entry(inner, d, rank)
            return Cast(found, space) if isinstance(found, Vec) else value
        case Vec(shape=(count,), items=items) if rank > 1 and count in (rank, 2 * rank):
            return Vec((count // rank,), items[d::rank])
        case _:
            return value
