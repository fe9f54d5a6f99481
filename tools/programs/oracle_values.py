"""The values of the oracle: Python numbers that remember whether they came from data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count, product
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tools.programs.oracle_spaces import BITS, Unknown, family, is_whole, settled, smallest, wider, widest

Relies = frozenset[int]
"""The accumulators that have to be whole for a number to be."""

Source = tuple[str, int]
"""An input, and which of its elements, in their order."""


class Num(Struct, frozen=True):
    """A numeric; ``data`` if an element of an input took part in it.

    ``told`` is its space: of data always, of a static number if it is a machine type.  A real that is sure
    to be whole says what that relies ``on``; None says that it is not.  ``deep`` is how many functions of
    data were applied one after the other, and ``source`` the element of an input that it is, if any.
    """

    value: Any
    data: bool = False
    told: str | None = None
    on: Relies | None = None
    deep: int = 0
    source: Source | None = None

    @property
    def space(self) -> str:
        return self.told or smallest(self.value)

    @property
    def whole(self) -> Relies | None:
        return frozenset() if family(self.space) in "BZ" else self.on


def literal(value: Any) -> Num:
    """A number as it is written."""
    return Num(value, on=frozenset() if is_whole(value) else None)


def placed(number: Num, space: str) -> Num:
    """The number in a space."""
    if number.space == space:
        return number
    told = space if number.data or space in BITS else None
    return replace(number, value=settled(number.value, space), told=told, on=number.whole)


def all_whole(wholes: Iterable[Relies | None]) -> Relies | None:
    """What numbers rely on together to be whole; None if one of them is not."""
    found: Relies = frozenset()
    for on in wholes:
        if on is None:
            return None
        found |= on
    return found


class Arr(Struct, frozen=True):
    """A ToL: elements row-major, each a Num or a Lst."""

    shape: tuple[int, ...]
    items: tuple[Value, ...]


class Lst(Struct, frozen=True):
    """A list; its components may be ToLs."""

    items: tuple[Value, ...]


class Fun(Struct, frozen=True, eq=False):
    """A function of values."""

    arity: int
    call: Callable[..., Value]


Value = Num | Arr | Lst | Fun


SERIAL = count(1)


class Frame(Struct, eq=False):
    """What some piece of work counted itself, and the named values whose work it needed."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    read: set[Source] = field(default_factory=set)
    needed: list[Frame] = field(default_factory=list)
    serial: int = field(default_factory=SERIAL.__next__)

    def reached(self, older: int = 0) -> list[Frame]:
        """This frame and all it needed, directly or not; nothing behind frames older than asked."""
        seen: dict[int, Frame] = {}
        waiting = [self]
        while waiting:
            frame = waiting.pop()
            if id(frame) not in seen:
                seen[id(frame)] = frame
                waiting += frame.needed if frame.serial >= older else ()
        return list(seen.values())

    def total(self) -> Counter[tuple[str, str]]:
        """Everything counted on the way here, each named value once: functions and their spaces."""
        found = Counter[tuple[str, str]]()
        for frame in self.reached():
            found += frame.counts
        return found

    def looked_at(self) -> set[Source]:
        """Every element of an input that something was computed of on the way here."""
        return {source for frame in self.reached() for source in frame.read}


class Later(Struct, eq=False):
    """A named value, computed once when needed; ``frame`` is what computing it counted."""

    compute: Callable[[], Value]
    frame: Frame = field(default_factory=Frame)
    value: Value | None = None


class Env(Struct):
    """Names, and what ``*`` means."""

    names: dict[str, Later | Value]
    parent: Env | None = None
    star: tuple[Later, tuple[int, ...]] | None = None

    def find(self, name: str) -> Later | Value | None:
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None


def whole(value: Value) -> int:
    while isinstance(value, Arr) and len(value.items) == 1:
        value = value.items[0]
    assert isinstance(value, Num)
    return int(value.value)


def shape_of(value: Value) -> tuple[int, ...]:
    if isinstance(value, Lst):
        return shape_of(value.items[0])
    return value.shape if isinstance(value, Arr) else ()


def grid(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*(range(1, d + 1) for d in shape)))


def vector(numbers: tuple[int, ...]) -> Value:
    """Coordinates under one name; one coordinate is a number."""
    if len(numbers) == 1:
        return Num(numbers[0])
    return Arr((len(numbers),), tuple(map(Num, numbers)))


def element(value: Value, at: tuple[int, ...]) -> Value:
    """The element at a coordinate, or the slice at a partial one."""
    if not at:
        return value
    if isinstance(value, Lst):
        return Lst(tuple(element(item, at) for item in value.items))
    assert isinstance(value, Arr)
    assert len(at) <= len(value.shape)
    assert all(1 <= a <= d for a, d in zip(at, value.shape, strict=False)), "index out of range"
    rest = value.shape[len(at) :]
    size, place = prod(rest), 0
    for a, d in zip(at, value.shape, strict=False):
        place = place * d + a - 1
    items = value.items[place * size : (place + 1) * size]
    return Arr(rest, items) if rest else items[0]


def stacked(shape: tuple[int, ...], members: list[Value]) -> Value:
    """Members under the coordinates they belong to."""
    if not shape:
        return members[0]
    if members and isinstance(members[0], Arr):
        inner = members[0].shape
        if any(isinstance(m, Arr) and 0 in m.shape for m in members):
            raise Unknown("the shape of the elements of an empty ToL")
        assert all(isinstance(m, Arr) and m.shape == inner for m in members), "members of different shapes"
        return even(Arr((*shape, *inner), tuple(e for m in members if isinstance(m, Arr) for e in m.items)))
    return even(Arr(shape, tuple(members)))


def capacity(value: Value) -> int:
    """How many components each element has."""
    if isinstance(value, Arr):
        return capacity(value.items[0]) if value.items else 1
    return len(value.items) if isinstance(value, Lst) else 1


def component(value: Value, j: int) -> Value:
    if isinstance(value, Lst):
        return value.items[j - 1]
    if isinstance(value, Arr) and value.items and isinstance(value.items[0], Lst):
        return stacked(value.shape, [component(item, j) for item in value.items])
    if isinstance(value, Arr) and not value.items:
        raise Unknown("the components of an empty ToL")
    assert j == 1
    return value


def joined(left: Value, right: Value, d: int) -> Value:
    """Two ToLs one after the other along a dimension."""
    assert isinstance(left, Arr)
    assert isinstance(right, Arr)
    a, b = left.shape, right.shape
    if len(a) != len(b) and 0 in (*a, *b):
        raise Unknown("the shape of the elements of an empty ToL")
    if 0 in (*a, *b) and (len(a) < d or (*a[: d - 1], *a[d:]) != (*b[: d - 1], *b[d:])):
        raise Unknown("the shape of the elements of an empty ToL")
    assert (*a[: d - 1], *a[d:]) == (*b[: d - 1], *b[d:]), f"cannot join {a} and {b}"
    shape = (*a[: d - 1], a[d - 1] + b[d - 1], *a[d:])
    items = (
        element(left, at)
        if at[d - 1] <= a[d - 1]
        else element(right, (*at[: d - 1], at[d - 1] - a[d - 1], *at[d:]))
        for at in grid(shape)
    )
    return even(Arr(shape, tuple(items)))


def even(value: Arr) -> Arr:
    """One element of data makes a ToL data, and all have one space; components of lists are told apart."""
    if value.items and isinstance(value.items[0], Lst):
        columns = [even(Arr(value.shape, column)).items for column in _columns(value)]
        return Arr(value.shape, tuple(Lst(row) for row in zip(*columns, strict=True)))
    numbers = [item for item in value.items if isinstance(item, Num)]
    if len(numbers) < len(value.items):
        return Arr(value.shape, tuple(map(tainted, value.items))) if any(map(is_data, numbers)) else value
    return Arr(value.shape, _evened(numbers))


def _evened(numbers: list[Num]) -> tuple[Num, ...]:
    data, space = any(number.data for number in numbers), widest(number.space for number in numbers)
    on = all_whole(number.whole for number in numbers)
    told = space if data or space in BITS else None
    return tuple(
        replace(number, value=settled(number.value, space), data=data, told=told, on=on) for number in numbers
    )


def _columns(value: Arr) -> list[tuple[Value, ...]]:
    rows = [item.items for item in value.items if isinstance(item, Lst)]
    return [tuple(column) for column in zip(*rows, strict=True)]


def tainted(value: Value) -> Value:
    """The value, all of it data."""
    match value:
        case Num():
            return replace(value, data=True, told=value.space, on=value.whole)
        case Arr(shape=shape, items=items):
            return Arr(shape, tuple(map(tainted, items)))
        case Lst(items=items):
            return Lst(tuple(map(tainted, items)))
    return value


def given(value: Any, space: str | None = None, name: str = "") -> Value:
    """An input: arrays as ToLs of data, in the space that is declared."""
    if isinstance(value, tuple):
        parts = [given(v) for v in value]
        shape = shape_of(parts[0])
        rows = [Lst(tuple(element(p, at) for p in parts)) for at in grid(shape)]
        return Arr(shape, tuple(rows)) if shape else rows[0]
    array = np.asarray(value)
    items = tuple(
        Num(settled(v, told := space or smallest(v)), True, told, source=(name, place) if name else None)
        for place, v in enumerate(array.ravel().tolist())
    )
    return Arr(array.shape, items) if array.shape else items[0]


def arrays_of(value: Value) -> list[np.ndarray]:
    """One array of numbers for each component."""
    match value:
        case Lst(items=items):
            return [array for item in items for array in arrays_of(item)]
        case Arr(items=(Lst(items=first), *_)):
            return [array for j in range(1, len(first) + 1) for array in arrays_of(component(value, j))]
        case Arr(shape=shape, items=items):
            numbers = [number(item.value) for item in items if isinstance(item, Num)]
            return [np.array(numbers, None if numbers else float).reshape(shape)]
        case Num():
            return [np.array(number(value.value))]
    raise AssertionError("a function is not a result")


def number(value: Any) -> float | complex:
    return value if isinstance(value, complex) else float(value)


# ---- what a fold carries ---------------------------------------------------------------------


def spaces_of(value: Value) -> tuple[str, ...]:
    """The space of each component."""
    match value:
        case Lst(items=items):
            return tuple(space for item in items for space in spaces_of(item))
        case Arr(items=items) if items:
            rows = map(spaces_of, items)
            return tuple(widest(column) for column in zip(*rows, strict=True))
        case Num():
            return (value.space,)
    return ()


def in_spaces(value: Value, spaces: tuple[str, ...]) -> Value:
    """The value with its components in these spaces."""
    match value:
        case Lst(items=items) if len(items) == len(spaces):
            return Lst(tuple(in_spaces(item, (space,)) for item, space in zip(items, spaces, strict=True)))
        case Arr(shape=shape, items=items):
            return Arr(shape, tuple(in_spaces(item, spaces) for item in items))
        case Num() if len(spaces) == 1:
            return placed(value, spaces[0])
    return value


def joined_spaces(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    if len(one) != len(other):
        return one or other
    return tuple(map(wider, one, other))


def relying(value: Value, on: Relies | None) -> Value:
    """The value, its reals whole on this condition."""
    match value:
        case Num():
            return replace(value, on=on)
        case Arr(shape=shape, items=items):
            return Arr(shape, tuple(relying(item, on) for item in items))
        case Lst(items=items):
            return Lst(tuple(relying(item, on) for item in items))
    return value


def relies(value: Value) -> Relies | None:
    """What a value relies on to be whole."""
    match value:
        case Num():
            return value.whole
        case Arr(items=items) | Lst(items=items):
            return all_whole(map(relies, items))
    return None


def is_data(value: Value) -> bool:
    match value:
        case Num(data=data):
            return data
        case Arr(items=items) | Lst(items=items):
            return any(map(is_data, items))
    return False


def as_late_as(value: Value, other: Value) -> Value:
    """The value, data wherever the other is; components of lists one by one."""
    if isinstance(value, Lst) and isinstance(other, Lst) and len(value.items) == len(other.items):
        return Lst(tuple(map(as_late_as, value.items, other.items)))
    return tainted(value) if is_data(other) else value


def lateness(value: Value) -> tuple[bool, ...]:
    """Which components are data."""
    return tuple(map(is_data, value.items)) if isinstance(value, Lst) else (is_data(value),)


def deeper(value: Value, depth: int) -> Value:
    """The value, every number of it new, and so deep."""
    match value:
        case Num():
            return replace(value, deep=depth, source=None)
        case Arr(shape=shape, items=items):
            return Arr(shape, tuple(deeper(item, depth) for item in items))
        case Lst(items=items):
            return Lst(tuple(deeper(item, depth) for item in items))
    return value


def numbers_in(value: Value) -> Iterator[Num]:
    """Every number of a value."""
    match value:
        case Num():
            yield value
        case Arr(items=items) | Lst(items=items):
            for item in items:
                yield from numbers_in(item)
        case _:
            pass
