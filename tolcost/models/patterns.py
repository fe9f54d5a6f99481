"""Patterns: the facts about a node's inputs, without their lengths and without numbers that decide nothing.

Of a length, a pattern records only whether it is 0 or 1, and its bounds; symbols stand for all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple, NoReturn

from msgspec import Struct, field

from tolcost.algebra import (
    LARGEST_LENGTH,
    And,
    Cond,
    Or,
    Poly,
    Symbol,
    Truth,
    atom,
    eq,
    is_nonnegative,
    length,
    negate,
    product_of,
    prove,
    range_of,
    substitute,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
)
from tolcost.algebra.conditions import asks_coordinates
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import LAY_OUT_LIMIT, UNROLL_LIMIT, Cast, Missing, Vec, frozen, shape_given
from tolcost.models.facts import LEAST, MOST_STATIC, Known, symbols_in
from tolcost.models.lowered import Lowered, shapes_of

# === Undecided numbers: they stand for known numbers whose value must not be inspected.
#
# If an operator is lowered with an undecided number for an input, the result is the same for any number: a
# decision would have to inspect it, which raises ``NumberInspected``.  Nodes that differ only in such
# numbers, such as factors and offsets, therefore share one scheme.  Integers that lengths may be computed
# from become symbols instead.


INDICES = ("int64", "int32")
"""The spaces of integers that lengths may be computed from."""


class NumberInspected(Exception):
    """Lowering inspected an undecided number."""


class UndecidedNumber(Fraction):
    """A real number equal to itself, about which nothing else is known.

    >>> UndecidedNumber() == UndecidedNumber()
    Traceback (most recent call last):
    tolcost.models.patterns.NumberInspected
    >>> UndecidedNumber() < 0.5
    Traceback (most recent call last):
    tolcost.models.patterns.NumberInspected
    """

    __slots__ = ()

    def __new__(cls) -> UndecidedNumber:
        """Make a number without a value."""
        return object.__new__(cls)

    @classmethod
    def from_float(cls, f: float) -> NoReturn:
        """Refuse a comparison with a float, too."""
        raise NumberInspected

    def _ask(self) -> NoReturn:
        raise NumberInspected

    _numerator = _denominator = property(_ask)  # all methods of ``Fraction`` use these

    def __eq__(self, other: object) -> bool:
        """Refuse a comparison with another number, since it depends on the value."""
        return self is other or self._ask()

    __hash__ = object.__hash__


class UndecidedInteger(Poly):
    """A whole number equal to itself, about which nothing else is known.

    >>> UndecidedInteger() + 1
    Traceback (most recent call last):
    tolcost.models.patterns.NumberInspected
    """

    __slots__ = ()

    def __init__(self) -> None:
        """Make a number without a value; facts common to all numbers are known."""
        self._key, self._free, self._height = None, frozenset(), 0

    def _ask(self) -> NoReturn:
        raise NumberInspected

    terms = den = constant = property(_ask)  # all methods of ``Poly`` use these

    def __eq__(self, other: object) -> bool:
        """Refuse a comparison with another number, since it depends on the value."""
        return self is other or self._ask()

    __hash__ = object.__hash__


@cache
def undecided_number(
    place: int, kind: type[UndecidedNumber | UndecidedInteger]
) -> UndecidedNumber | UndecidedInteger:
    """Return the undecided number for an input position of an operator."""
    return kind()


def without_number(known: Known | None, place: int) -> Cast | None:
    """Replace a single known number by an undecided one; None for anything else."""
    if not isinstance(known, Cast):
        return None
    value = known.value
    single = value.items[0] if isinstance(value, Vec) and len(value.items) == 1 else value
    if isinstance(single, Fraction):
        number = undecided_number(place, UndecidedNumber)
    elif isinstance(single, Poly) and single.constant is not None and known.space not in INDICES:
        number = undecided_number(place, UndecidedInteger)
    else:
        return None
    return Cast(Vec(value.shape, (number,), value.loose) if isinstance(value, Vec) else number, known.space)


# === Patterns.


PatternKey = tuple[object, ...]


class Level(NamedTuple):
    """The generality of a pattern: lengths from ``least`` on become symbols, ``values`` adds index entries.

    With ``alike``, the pattern includes which lengths are equal; with ``numbers``, it leaves out single
    numbers that are not lengths.
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
"""The levels to try in order: where a pattern has no scheme, a more specific one may have.

The last two turn only formulas into symbols, and their lower bounds are part of the pattern.
"""


class Pattern(Struct, frozen=True, eq=False):
    """The facts about a node's inputs without their lengths, and the lengths by their symbols.

    ``told`` has the original inputs that undecided numbers replace, by position.
    """

    key: PatternKey
    inputs: tuple[Known | None, ...]
    lengths: Mapping[Symbol, Poly]
    told: Mapping[int, Known] = field(default_factory=dict)


def pattern_of(given: Sequence[Known | None], level: Level) -> Pattern | None:
    """Return the pattern of inputs; None where more than lengths and index entries is open.

    Numbers below the least of the level are part of the pattern; others become symbols of at least that.
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
    """Yield the patterns of inputs, the most general one first."""
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
    """Generalise a length to what a pattern records of it; None where data decides it."""
    value, small = known.constant, level.least
    if value is not None and value < small:
        return known
    same = next((symbol for symbol, form in lengths.items() if form == known), None) if level.alike else None
    if same is not None:
        return atom(same)
    if value is None and any(symbol.kind == "data" for symbol in known.free):
        return None
    least, most = (value, value) if value is not None else _bounds(known)
    low = None if least is None else min(least, small)
    form, symbol = _length(len(lengths), low, most is not None and most <= LARGEST_LENGTH)
    lengths[symbol] = known
    return form


def _bounds(known: Poly) -> tuple[int | None, int | None]:
    """Return the range of a formula; the lower end is None if it may be negative, as ends of slices are."""
    least, most = range_of(known)
    if least is not None and least >= 0:
        return least, most
    return next((low for low in (1, 0) if is_nonnegative(known - low)), None), most


def _is_index(known: Cast) -> bool:
    """Whether a value consists of integers that lengths may be computed from."""
    return known.space in INDICES


@lru_cache(maxsize=1 << 10)
def _length(place: int, low: int | None, bounded: bool) -> tuple[Poly, Symbol]:
    """Return the symbol for a length with its known bounds."""
    form = length(f"#{place}", low, LARGEST_LENGTH if bounded else None)
    return form, the_symbol(form)


# === The cases of a scheme: decisions that numbers would make during lowering, and symbols leave open.
#
# Lowering inspects lengths to decide whether conditions hold, whether a domain is small enough to be laid
# out entry by entry, and whether a choice is the same at all coordinates.  It records what it asks and
# lengths leave open.  Nodes with the same answers are lowered identically, except for their lengths.


_LIMITS = (MOST_STATIC, UNROLL_LIMIT, LAY_OUT_LIMIT)
"""Size limits of static values that are passed on, of unrolled domains, and of values laid out."""

Answers = tuple[object, ...]
"""The answers to the questions that a scheme leaves open."""


class Cases(Struct, frozen=True, eq=False):
    """The questions that a scheme leaves open: which conditions hold, and which sizes are small.

    ``static`` has the sizes of static values, which may be passed on or laid out.
    """

    conditions: tuple[Cond, ...]
    sizes: tuple[Poly, ...]
    static: tuple[Poly, ...] = ()

    @property
    def asked(self) -> tuple[Cond | Poly, ...]:
        """All questions, in order."""
        return (*self.conditions, *self.sizes, *self.static)

    def of(self, lengths: Mapping[Symbol, Poly]) -> Answers:
        """Return the case of lengths that are not all numbers."""
        conditions = (substitute_cond(c, lengths) for c in self.conditions)
        sizes, static = (
            [substitute(size, lengths).constant for size in listed] for listed in (self.sizes, self.static)
        )
        return (*map(prove, conditions), *map(_range, sizes), *map(_static_range, static))

    def told(self, answers: Sequence[int]) -> Answers:
        """Return the case from the values of ``asked`` at a point."""
        many, rest = len(self.conditions), len(self.conditions) + len(self.sizes)
        return (*answers[:many], *map(_range, answers[many:rest]), *map(_static_range, answers[rest:]))


def numbers(lengths: Mapping[Symbol, Poly]) -> dict[Symbol, int] | None:
    """Return lengths as a point, if all of them are numbers."""
    point = {symbol: value for symbol, form in lengths.items() if (value := form.constant) is not None}
    return point if len(point) == len(lengths) else None


def _range(size: int | None) -> int | None:
    """Classify a size as far as lowering depends on it: 0, 1, small or large."""
    return size if size is None or size < 2 else 2 + (size > UNROLL_LIMIT)


def _static_range(size: int | None) -> int | None:
    """Classify the size of a static value: 0, 1, or the number of limits it exceeds."""
    return size if size is None or size < 2 else 2 + sum(size > limit for limit in _LIMITS)


def cases_of(general: Lowered) -> Cases:
    """Return the questions that an operator lowered under symbols leaves open, as lowering recorded them."""
    conditions: dict[Cond, None] = {}
    sizes: dict[Poly, None] = {}
    static: dict[Poly, None] = {}
    for asked in general.open:
        if isinstance(asked, tuple):
            sizes.update(dict.fromkeys((*asked, product_of(asked))))
        else:
            conditions.update(dict.fromkeys(_over_lengths(asked)))
    if general.forgets:  # a static value is passed on as a value if it is small
        static.update(dict.fromkeys(product_of(shape) for shape in shapes_of(general.outputs)))
    if general.counts.index:  # two index functions on equal lengths are computed and counted once
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


def _over_lengths(asked: Cond) -> Iterator[Cond]:
    """Yield what a condition asks of lengths: whether its parts hold at all coordinates, or at none."""
    if not asks_coordinates(asked):
        yield asked
        return
    from tolcost.elaborate.shapes import worst_case

    for single in _parts(asked):
        yield from (worst for side in (single, negate(single)) if (worst := worst_case(side)) is not None)


def _parts(condition: Cond) -> Iterator[Cond]:
    if isinstance(condition, (And, Or)):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition
