"""What is known of the values of a graph, and a number for each thing that can be known.

Equal knowledge has equal numbers, so that "the same operator on the same inputs" is a comparison of
small integers.  The numbers last as long as the table, across models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import NamedTuple

from tolcost.algebra import (
    LARGEST_LENGTH,
    Cond,
    Poly,
    Symbol,
    const,
    map_cond,
    polys_of,
    substitute,
)
from tolcost.cost.record import Change
from tolcost.cost.traffic import bits_of, bytes_of
from tolcost.dataclass import dataclass, field
from tolcost.elaborate import Inputs, Tensor
from tolcost.elaborate.values import Cast, Missing, Quotient, Seq, Value, Vec, distinct, frozen, shape_given

Known = Tensor | Inputs | Value
"""A shape and a space, several of them, or the value itself."""

NOTHING = 0
"""The number of an input that is left out."""

UNKNOWN = -1
"""The number of a value of which nothing is known."""

MOST_STATIC = 1024
"""A value with more elements is not handed on as a value."""


LEAST = 2
"""The least length that the most general pattern of a node leaves open."""


class Plain(NamedTuple):
    """A tensor of known lengths, or nothing: all but its lengths from the least on, and these."""

    kind: tuple[object, ...]
    lengths: tuple[int, ...]


_LEFT_OUT = Plain((), ())


@dataclass(slots=True)
class FactTable:
    """Everything known so far, each thing once, by number."""

    numbers: dict[object, int] = field(default_factory=dict)
    things: list[Known | None] = field(default_factory=lambda: [None])
    symbols: list[frozenset[Symbol]] = field(default_factory=lambda: [frozenset()])
    plain: list[Plain | None] = field(default_factory=lambda: [_LEFT_OUT])
    """Those that are tensors of known lengths, and what is left out."""
    _buffers: dict[int, Poly | None] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def number(self, known: Known) -> int:
        """The number of something known."""
        key = frozen(known)
        found = self.numbers.get(key)
        return self._added(key, known, plain_known(known)) if found is None else found

    def tensor(self, lengths: tuple[int, ...], space: str) -> int:
        """The number of a tensor of known lengths: a form that is a number is equal to it."""
        key = ("tensor", lengths, space)
        found = self.numbers.get(key)
        if found is None:
            found = self._added(key, Tensor(tuple(map(const, lengths)), space), plain_of(lengths, space))
        return found

    def _added(self, key: object, known: Known, plain: Plain | None) -> int:
        symbols = _NO_SYMBOLS if plain is not None else symbols_in(known)
        with self._lock:  # sessions of several threads share a table
            found = self.numbers.get(key)
            if found is None:
                self.things.append(known)
                self.symbols.append(symbols)
                self.plain.append(plain)
                found = self.numbers[key] = len(self.things) - 1
        return found

    def buffer(self, number: int) -> Poly | None:
        """The bytes of what has a number, as a tensor that is there while a model runs; None: not known."""
        if number not in self._buffers:
            self._buffers[number] = self._bytes(number)
        return self._buffers[number]

    def _bytes(self, number: int) -> Poly | None:
        known = None if number == UNKNOWN else self.things[number]
        return None if known is None else bytes_known(as_tensor(known))


_NO_SYMBOLS: frozenset[Symbol] = frozenset()


def plain_known(known: Known | None) -> Plain | None:
    """Something known that is a tensor of known lengths, or left out; None elsewhere."""
    if not isinstance(known, Tensor):
        return _LEFT_OUT if known is None else None
    lengths = [n for d in known.shape if (n := d.constant) is not None]
    return plain_of(tuple(lengths), known.space) if len(lengths) == len(known.shape) else None


def plain_of(lengths: tuple[int, ...], space: str) -> Plain | None:
    """A tensor of known lengths as the most general pattern divides it; None where one is no length.

    >>> plain_of((1, 3, 224), "float32")
    Plain(kind=('float32', 1, 2, 2), lengths=(3, 224))
    """
    if lengths and not (min(lengths) >= 0 and max(lengths) <= LARGEST_LENGTH):
        return None
    kind = (space, *[n if n < LEAST else LEAST for n in lengths])
    return Plain(kind, tuple([n for n in lengths if n >= LEAST]))


def symbols_in(value: object) -> frozenset[Symbol]:
    """The symbols that something known mentions."""
    return frozenset().union(*(form.free for form in forms_in(value)))


def replaced(value: Known, by: Mapping[Symbol, Poly]) -> Known:
    """Something known, with lengths put in place of others."""
    return changed(value, lambda form: substitute(form, by))


def changed(value: Known, change: Change) -> Known:
    """Something known, with every form in it changed."""
    match value:
        case Tensor(shape=shape, space=space):
            return Tensor(tuple(map(change, shape)), space)
        case Inputs(items=items):
            return Inputs(tuple(changed(item, change) for item in items))
        case Seq(items=items):
            return Seq(tuple(_value(item, change) for item in items))
        case _:
            return _value(value, change)


def _value(value: Value, change: Change) -> Value:
    match value:
        case Cast(value=inner, space=space):
            return Cast(_value(inner, change), space)
        case Vec(shape=shape, items=items, loose=loose):
            entries = {place: _value(item, change) for place, item in distinct(items).items()}
            return Vec(shape, tuple([entries[id(item)] for item in items]), loose)
        case Quotient(over=over, under=under):
            return Quotient(change(over), change(under))
        case Poly():
            return change(value)
        case _ if isinstance(value, Cond):
            return map_cond(value, change)
        case _:
            return value


def forms_in(value: object) -> Iterator[Poly]:
    """The forms in something known, as ``changed`` comes by them."""
    match value:
        case Tensor(shape=shape):
            yield from shape
        case Inputs(items=items) | Seq(items=items) | Vec(items=items):
            for item in distinct(items).values():
                yield from forms_in(item)
        case Cast(value=inner):
            yield from forms_in(inner)
        case Quotient(over=over, under=under):
            yield from (over, under)
        case Poly():
            yield value
        case _ if isinstance(value, Cond):
            yield from polys_of(value)
        case _:
            return


_NO_VALUES = (Tensor, Inputs, Missing, type(None))


def is_value(known: Known | None) -> bool:
    """Whether the value itself is known."""
    return not isinstance(known, _NO_VALUES)


def as_tensor(known: Known) -> Known:
    """What is left of something known when its value is forgotten."""
    match known:
        case Cast(space=space):
            return Tensor(shape_given(known) or (), space)
        case Inputs(items=items):
            return Inputs(tuple(map(as_tensor, items)))
        case _:
            return known


def bytes_known(known: Known | None) -> Poly | None:
    """The bytes that a value takes while the model runs; None for text, which has no size.

    What is known while compiling takes none.
    """
    match known:
        case Tensor(shape=shape, space=space):
            bits = bits_of(space)
            return None if bits is None else bytes_of(shape, bits)
        case Inputs(items=items):
            sizes = [bytes_known(item) for item in items]
            return None if None in sizes else sum((s for s in sizes if s is not None), const(0))
        case _:
            return const(0)


def shape_of(known: Known | None) -> tuple[Poly, ...] | None:
    """The shape of a tensor, known by its value or not; None for anything else."""
    return None if known is None or isinstance(known, Inputs) else shape_given(known)


def space_of(known: Known | None) -> str | None:
    """The space of a tensor; None where it is not one."""
    return known.space if isinstance(known, Tensor | Cast) else None
