"""What equations need not be arrays of their own: definitions move to where they are read.

What costs nothing moves to every reader. What costs something moves only where it is computed no more often
than before: to its one reader, if that reads every number at most once. So the work stays what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias, cast

from msgspec.structs import replace

from tolcost.algebra import Poly, only_symbol
from tolcost.atoms.kit import parts_first
from tolcost.gradient.equations import (
    Equation,
    Expression,
    Nest,
    ReadAt,
    Reduction,
    Scattered,
    is_free,
    reads,
    rebuilt,
    restated,
)
from tolcost.gradient.inversion import is_injective

Moves: TypeAlias = Callable[[ReadAt, Nest], bool]
"""Whether the definition of what is read in a domain moves there."""


ReadsOf: TypeAlias = Callable[[Equation], Iterable[ReadAt]]
"""The reads of an array's definition that count."""


def needed(outputs: Iterable[Equation]) -> list[Equation]:
    """Return the arrays that outputs need, each after those that it reads."""
    return list(parts_first(outputs, lambda array: [read.array for read in reads(array)][::-1]))


def groups(outputs: Iterable[Equation], reads_of: ReadsOf = reads) -> list[list[Equation]]:
    """Return the arrays that outputs need, in an order of evaluation; a loop of them is one group."""
    number: dict[Equation, int] = {}
    low: dict[Equation, int] = {}
    open_: list[Equation] = []
    found: list[list[Equation]] = []
    for top in outputs:
        pending = [(top, iter(list(reads_of(top))))] if top not in number else []
        while pending:
            array, rest = pending[-1]
            if array not in number:
                number[array] = low[array] = len(number)
                open_.append(array)
            entered = next((read.array for read in rest if read.array not in number), None)
            if entered is not None:
                pending.append((entered, iter(list(reads_of(entered)))))
                continue
            waiting = set(open_)
            low[array] = min([low[array], *(low[r.array] for r in reads_of(array) if r.array in waiting)])
            pending.pop()
            if low[array] == number[array]:
                at = open_.index(array)
                found.append(open_[at:])
                del open_[at:]
    return found


def fuse(outputs: Iterable[Equation]) -> list[list[Equation]]:
    """Move definitions to where they are read; return the arrays left, as ``groups`` does."""
    kept = dict.fromkeys(outputs)
    for array in needed(kept):
        _move_into(array, lambda read, domain: _is_free(read, kept))
    uses = Counter(read.array for array in needed(kept) for read in reads(array))
    for array in needed(kept):
        _move_into(array, lambda read, domain: _is_read_once(read, domain, uses, kept))
    return groups(kept)


def _is_free(read: ReadAt, kept: Collection[Equation]) -> bool:
    value = read.array.value
    if value is None or isinstance(value, Scattered) or read.array.is_state:
        return False
    return is_free(value) and _is_plain(read)


def _is_plain(read: ReadAt) -> bool:
    return all(isinstance(index, Poly) for index in read.at)


def _is_read_once(read: ReadAt, domain: Nest, uses: Counter[Equation], kept: Collection[Equation]) -> bool:
    array = read.array
    if array in kept or array.is_state or uses[array] != 1:
        return False
    if array.value is None or isinstance(array.value, Scattered):
        return False
    if not _is_plain(read):
        return False
    return _reads_once(read, domain)


def _reads_once(read: ReadAt, domain: Nest) -> bool:
    """Whether a read in a domain meets every number of the array at most once."""
    at = cast("tuple[Poly, ...]", read.at)
    plain = {only_symbol(index) for index in at}
    return read.is_once or plain.issuperset(domain.coords) or is_injective(domain, at)


def _move_into(array: Equation, moves: Moves) -> None:
    """Replace reads in the definition of an array by the definitions of what is read."""
    value = array.value
    if isinstance(value, Scattered):
        places = array.places
        at = tuple([i if isinstance(i, Poly) else _moved(i, places, moves) for i in value.at])
        array.value = replace(value, at=at, body=_moved(value.body, places, moves))
    elif value is not None:
        array.value = _moved(value, array.domain, moves)


def _moved(expr: Expression, domain: Nest, moves: Moves) -> Expression:
    if isinstance(expr, Reduction):
        inner = domain.over(expr.domain.coords, expr.domain.extents)
        start, body = _moved(expr.start, domain, moves), _moved(expr.body, inner, moves)
        return replace(expr, start=start, body=body)
    if isinstance(expr, ReadAt) and moves(expr, domain):
        values = dict(zip(expr.array.domain.coords, cast("tuple[Poly, ...]", expr.at), strict=True))
        found = restated(cast(Expression, expr.array.value), values)
        return found if _reads_once(expr, domain) else _without_once(found)
    return rebuilt(expr, lambda part: _moved(part, domain, moves), {})


def _without_once(expr: Expression) -> Expression:
    """Return an expression whose reads may meet a number several times."""
    if isinstance(expr, Reduction):
        return replace(expr, start=_without_once(expr.start), body=_without_once(expr.body))
    if isinstance(expr, ReadAt) and expr.is_once:
        expr = replace(expr, is_once=False)
    return rebuilt(expr, _without_once, {})
