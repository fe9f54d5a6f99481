"""Patterns: what is known of the inputs of a node but for their lengths, and for numbers that decide nothing.

Of lengths a pattern knows whether they are 0 or 1, and their bounds; symbols stand for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tolcost.algebra import (
    LARGEST_LENGTH,
    Poly,
    Symbol,
    atom,
    is_nonnegative,
    length,
    range_of,
    the_symbol,
)
from tolcost.dataclass import dataclass, field
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, Missing, Vec, frozen, shape_given
from tolcost.models.facts import LEAST, Known, symbols_in
from tolcost.models.unread import INDICES, without_number

PatternKey = tuple[object, ...]


class Level(NamedTuple):
    """How much a pattern leaves open: lengths from a number on, and whether entries of vectors as well.

    ``alike``: which lengths are equal is part of it; ``numbers``: single numbers that are no lengths are not.
    """

    least: int
    values: bool
    alike: bool = False
    numbers: bool = False


LEVELS = (
    Level(LEAST, True, numbers=True),
    Level(LEAST, True),
    Level(LEAST, False),
    Level(8, False, numbers=True),
    Level(8, False),
    Level(LEAST, False, True),
    Level(LARGEST_LENGTH + 1, False),
    Level(LARGEST_LENGTH + 1, True),
)
"""What is tried: where a pattern has no scheme, one that says more may have.

The last two leave formulas open alone, and say how small these may be.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What is known of the inputs of a node but for their lengths; and what these are, by their symbols.

    ``told`` are the inputs with those numbers that may not be asked for, by their places.
    """

    key: PatternKey
    inputs: tuple[Known | None, ...]
    lengths: Mapping[Symbol, Poly]
    told: Mapping[int, Known] = field(default_factory=dict)


def pattern_of(given: Sequence[Known | None], level: Level) -> Pattern | None:
    """The pattern of some inputs; None where more is open than lengths, and integers that may be lengths.

    Numbers below the least of the level are part of it; others are symbols of at least that.
    """
    keys: list[object] = []
    inputs: list[Known | None] = []
    lengths: dict[Symbol, Poly] = {}
    told: dict[int, Known] = {}
    for place, known in enumerate(given):
        number = without_number(known, place) if level.numbers else None
        if number is not None and known is not None:
            keys.append(("any", number.space, shape_given(number)))
            inputs.append(number)
            told[place] = known
            continue
        match known:
            case None | Missing():
                keys.append(None)
                inputs.append(None)
            case Tensor(shape=shape, space=space):
                general = _all_general(shape, lengths, level)
                if general is None or any(d.constant is not None and d.constant < 0 for d in general):
                    return None
                keys.append((space, general))
                inputs.append(Tensor(general, space))
            case Cast(value=Vec(shape=shape, items=items) as value, space=space) if level.values:
                entries = _all_general(items, lengths, level) if _is_index(known) else None
                if entries is None:
                    return None
                inputs.append(Cast(Vec(shape, entries, value.loose), space))
                keys.append((space, shape, entries))
            case Cast(value=Poly() as value, space=space) if level.values and value.constant is None:
                form = _general(value, lengths, level) if _is_index(known) else None
                if form is None:
                    return None
                inputs.append(Cast(form, space))
                keys.append((space, (), form))
            case Cast() if not symbols_in(known):
                keys.append(frozen(known))
                inputs.append(known)
            case _:
                return None
    return Pattern(tuple(keys), tuple(inputs), lengths, told)


def patterns_of(given: Sequence[Known | None]) -> Iterator[Pattern]:
    """The patterns of some inputs, the most general one first."""
    before: set[PatternKey] = set()
    for level in LEVELS:
        pattern = pattern_of(given, level)
        if pattern is None or pattern.key in before or (level.least > LARGEST_LENGTH and not pattern.lengths):
            continue
        before.add(pattern.key)
        yield pattern


def _all_general(
    known: Iterable[object], lengths: dict[Symbol, Poly], level: Level
) -> tuple[Poly, ...] | None:
    general = [_general(one, lengths, level) if isinstance(one, Poly) else None for one in known]
    found = tuple(form for form in general if form is not None)
    return found if len(found) == len(general) else None


def _general(known: Poly, lengths: dict[Symbol, Poly], level: Level) -> Poly | None:
    """A length as far as a pattern knows it; None where data decides it."""
    value, small = known.constant, level.least
    if value is not None and value < small:
        return known
    same = next((symbol for symbol, form in lengths.items() if form == known), None) if level.alike else None
    if same is not None:
        return atom(same)
    if value is None and not _is_length(known):
        return None
    least, most = (value, value) if value is not None else _bounds(known)
    low = None if least is None else min(least, small)
    form, symbol = _length(len(lengths), low, most is not None and most <= LARGEST_LENGTH)
    lengths[symbol] = known
    return form


def _bounds(known: Poly) -> tuple[int | None, int | None]:
    """Between which numbers a formula is; None below where it may be less than 0, as ends of slices are."""
    least, most = range_of(known)
    if least is not None and least >= 0:
        return least, most
    return next((low for low in (1, 0) if is_nonnegative(known - low)), None), most


def _is_length(known: Poly) -> bool:
    """Whether a formula is a length that data has no part in."""
    return all(symbol.kind != "data" for symbol in known.free)


def _is_index(known: Cast) -> bool:
    """Whether something known is of integers, which lengths may be computed from."""
    return known.space in INDICES


@lru_cache(maxsize=1 << 10)
def _length(place: int, low: int | None, bounded: bool) -> tuple[Poly, Symbol]:
    """The symbol for a length, with the bounds that are known of it."""
    form = length(f"#{place}", low, LARGEST_LENGTH if bounded else None)
    return form, the_symbol(form)
