"""Which part of one model is which part of another: by name, else by the operators that it applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tolcost.algebra import Poly
from tolcost.result.rows import AMOUNTS, TableRow, costs_nothing, gathered

_ALIKE = Fraction(1, 2)
"""Parts of which less is in common are not the same part."""

Pair = tuple[TableRow | None, TableRow | None]


def paired(old: Sequence[TableRow], new: Sequence[TableRow]) -> tuple[Pair, ...]:
    """Parts that belong together, in the order of the new model; None where one has no counterpart.

    What has a name in both is the same.  Of the rest, each goes to the first of those most like it.
    """
    named = dict(_numbered(old))
    fixed = {id(row): named.pop(key) for key, row in _numbered(new) if key in named}
    left = [row for row in named.values() if not costs_nothing(row, None)]
    found: list[Pair] = []
    for row in new:
        if id(row) in fixed:
            found.append((fixed[id(row)], row))
        elif not costs_nothing(row, None):
            like = max(left, key=lambda other: likeness(other.ops, row.ops), default=None)
            same = like is not None and likeness(like.ops, row.ops) > _ALIKE
            if like is not None and same:
                left.remove(like)
            found.append((like if same else None, row))
    return (*found, *((row, None) for row in left))


def _numbered(rows: Sequence[TableRow]) -> Iterator[tuple[tuple[str, int], TableRow]]:
    """Rows by their titles, several of one title by their order."""
    seen: Counter[str] = Counter()
    for row in rows:
        yield (row.title, seen[row.title]), row
        seen[row.title] += 1


def leaves(rows: Iterable[TableRow], above: str = "") -> Iterator[TableRow]:
    """The innermost rows under the names of those around them, and what stands beside them in these."""
    for row in rows:
        title = f"{above}/{row.title}" if above else row.title
        if not row.children:
            yield replace(row, title=title)
            continue
        yield from leaves(row.children, title)
        inside = gathered("", row.children)
        gap = {key: _less(row.amounts[key], inside.amounts[key]) for key in AMOUNTS}
        beside = TableRow(f"{title} itself", row.nodes - inside.nodes, gap)
        yield from () if costs_nothing(beside, None) else (beside,)


def _less(whole: Poly | None, part: Poly | None) -> Poly | None:
    return None if whole is None or part is None else whole - part


def likeness(a: Mapping[str, int], b: Mapping[str, int]) -> Fraction:
    """How much two bags of operators have in common.

    >>> likeness({"MatMul": 3, "Add": 1}, {"MatMul": 3, "Relu": 1})
    Fraction(3, 5)
    """
    names = a.keys() | b.keys()
    both = sum(min(a.get(name, 0), b.get(name, 0)) for name in names)
    either = sum(max(a.get(name, 0), b.get(name, 0)) for name in names)
    return Fraction(both, either) if either else Fraction(0)


def renamed(pairs: Sequence[Pair]) -> Iterator[str]:
    """What is said of parts that were matched by what they do."""
    for before, after in pairs:
        if before is not None and after is not None and before.title != after.title:
            yield f"{before.title} is now {after.title}, going by its operators"
