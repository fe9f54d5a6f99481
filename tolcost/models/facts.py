"""What is known of the values of a graph, and a number for each thing that can be known.

Equal knowledge has equal numbers, so that "the same operator on the same inputs" is a comparison of
small integers.  The numbers last as long as the table, across models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import NamedTuple

from msgspec import Struct, field

from tolcost.algebra import (
    LARGEST_LENGTH,
    And,
    Cond,
    Eq,
    Ge,
    Poly,
    Symbol,
    atom,
    const,
    ge,
    length,
    map_cond,
    only_symbol,
    polys_of,
    substitute,
    the_symbol,
    total_known,
)
from tolcost.cost.count import Change
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import quoted, refuse
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


class FactTable(Struct):
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
            return bytes_of(shape, space)
        case Inputs(items=items):
            return total_known(map(bytes_known, items))
        case _:
            return const(0)


def shape_of(known: Known | None) -> tuple[Poly, ...] | None:
    """The shape of a tensor, known by its value or not; None for anything else."""
    return None if known is None or isinstance(known, Inputs) else shape_given(known)


def space_of(known: Known | None) -> str | None:
    """The space of a tensor; None where it is not one."""
    return known.space if isinstance(known, Tensor | Cast) else None


# === What is known of the names of a graph, node after node: lengths become one, or turn out to be larger.
#
# When two lengths become one, numbers are redirected, not names: work is in what mentions the length that
# goes away.  A length that a node needs to be larger is from there on another version of itself, with a
# smaller range; values are put in terms of it when they are looked up.


class Names(Struct):
    """The numbers of what is known of names; ``unknown`` are names of which nothing is.

    ``equal`` are lengths that are others; ``larger`` older versions of lengths, with the newest of each.
    """

    table: FactTable
    numbers: dict[str, int] = field(default_factory=lambda: {"": NOTHING})
    unknown: set[str] = field(default_factory=set)
    equal: dict[Symbol, Poly] = field(default_factory=dict)
    larger: dict[Symbol, Poly] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    _versions: dict[str, list[Symbol]] = field(default_factory=dict)
    _mentions: dict[Symbol, set[int]] = field(default_factory=dict)
    _met: set[int] = field(default_factory=set)

    def copy(self) -> Names:
        """The same names; what is said of one of the two does not touch the other."""
        mentions = {symbol: set(numbers) for symbol, numbers in self._mentions.items()}
        versions = {name: list(symbols) for name, symbols in self._versions.items()}
        return Names(
            self.table, dict(self.numbers), set(self.unknown), dict(self.equal), dict(self.larger),
            dict(self.moved), versions, mentions, set(self._met),
        )  # fmt: skip

    def meet(self, name: str, number: int) -> None:
        """Say what is known of a name; each name only once."""
        if not name:
            return
        if name in self.numbers or name in self.unknown:
            refuse("T0675", f"{quoted(name)} is given by two nodes, inputs or initializers")
        if number == UNKNOWN:
            self.unknown.add(name)
            return
        self.numbers[name] = number
        self._index(number)

    def _index(self, number: int) -> None:
        if number not in self._met:
            self._met.add(number)
            for symbol in self.table.symbols[number]:
                self._mentions.setdefault(symbol, set()).add(number)

    def number_of(self, name: str) -> int:
        """The number of what is known of a name by now."""
        return self.now(self.numbers.get(name, UNKNOWN))

    def known(self, name: str) -> Known | None:
        """What is known of a name by now."""
        number = self.numbers.get(name, UNKNOWN)
        if self.moved or self.larger:
            number = self.now(number)
        return None if number == UNKNOWN else self.table.things[number]

    def buffer(self, name: str) -> Poly | None:
        """The bytes of a name while the model runs; None where they are not known."""
        number = self.numbers.get(name, UNKNOWN)
        return self.table.buffer(self.now(number) if self.moved or self.larger else number)

    def now(self, number: int) -> int:
        """The number that a number has become."""
        asked = number
        while number in self.moved:
            number = self.moved[number]
        if self.larger and number > NOTHING and not self.table.symbols[number].isdisjoint(self.larger):
            number = self._move(number, self.larger)
        if number != asked:
            self.moved[asked] = number
        return number

    def adopt(self, learned: Mapping[Symbol, Poly]) -> None:
        """Two lengths that a node makes equal are one from then on, everywhere; so are larger ones."""
        for old, other in learned.items():
            now = substitute(substitute(other, self.equal), self.larger)
            if old in self.equal:
                continue
            if is_version(old, now):
                self._enlarge(old, now)
                continue
            symbol, value = _length_last(old, now)
            if symbol not in value.free and symbol not in self.equal:
                self._merge(symbol, value)

    def _merge(self, symbol: Symbol, value: Poly) -> None:
        versions = self._versions.pop(symbol.name, [symbol]) if _is_named(symbol) else [symbol]
        every = dict.fromkeys((symbol, *versions), value)
        self.equal = {s: substitute(p, every) for s, p in self.equal.items()} | every
        for one in every:
            self.larger.pop(one, None)
            for number in self._mentions.pop(one, ()):
                if number not in self.moved:
                    self._move(number, every)
        if len(versions) > 1:  # what is known of the one is known of the other
            self.adopt(enlarged([ge(value - max(map(_least, versions)))]))

    def _enlarge(self, symbol: Symbol, value: Poly) -> None:
        versions = self._versions.setdefault(symbol.name, [])
        versions.extend(one for one in (symbol, the_symbol(value)) if one not in versions)
        newest = max(versions, key=_least)
        self.larger.update((one, atom(newest)) for one in versions if one is not newest)

    def _move(self, number: int, by: Mapping[Symbol, Poly]) -> int:
        thing = self.table.things[number]
        assert thing is not None
        to = self.table.number(replaced(thing, by))
        if to != number:
            self.moved[number] = to
            self._index(to)
        return to

    def learned(self) -> dict[Symbol, Poly]:
        """All that was adopted."""
        return self.equal | self.larger

    def newest(self) -> dict[Symbol, Poly]:
        """Lengths in all of their range, and the version of each that all conditions on it leave."""
        oldest = (min(versions, key=_least) for versions in self._versions.values())
        return {symbol: self.larger[symbol] for symbol in oldest}

    def reopened(self) -> Names:
        """The same names, with lengths in all of their range: conditions say what nodes need of them."""
        if not self._versions:
            return self
        back = {
            one: atom(symbol)
            for symbol in self.newest()
            for one in self._versions[symbol.name]
            if one is not symbol
        }
        equal = {symbol: substitute(form, back) for symbol, form in self.equal.items()}
        opened = Names(self.table, unknown=set(self.unknown), equal=equal | back)
        for name in self.numbers:
            known = self.known(name)
            opened.meet(name, NOTHING if known is None else self.table.number(replaced(known, back)))
        return opened


def is_version(symbol: Symbol, value: Poly) -> bool:
    """Whether a length is put in place of itself, with another range."""
    other = only_symbol(value)
    if other is None or other is symbol:
        return False
    return _is_named(symbol) and _is_named(other) and other.name == symbol.name


def _is_named(symbol: Symbol) -> bool:
    """Whether a symbol is a length, told by its name: what data decides may be called alike."""
    return symbol.kind == "length" and symbol.serial == 0


def enlarged(conditions: Iterable[Cond]) -> dict[Symbol, Poly]:
    """Lengths that conditions bound from below, each as itself with the range that is left."""
    found: dict[Symbol, int] = {}
    for form in _at_least_zero(conditions):
        symbol = next(iter(form.free)) if len(form.free) == 1 else None
        if symbol is None or not _is_named(symbol):
            continue
        least = (atom(symbol) - form).constant  # `ge` divides by slopes
        most = symbol.hi.constant if symbol.hi is not None else None
        if least is not None and _least(symbol) < least and (most is None or least <= most):
            found[symbol] = max(found.get(symbol, least), least)
    return {s: length(s.name, least, s.hi) for s, least in found.items()}


def pinned(conditions: Iterable[Cond]) -> dict[Symbol, Poly]:
    """Lengths that conditions leave one value."""
    found: dict[Symbol, Poly] = {}
    for condition in conditions:
        if isinstance(condition, Eq) and len(condition.p.free) == 1:
            (symbol,) = condition.p.free
            values = (atom(symbol) - condition.p, atom(symbol) + condition.p)
            value = next((v for v in values if v.constant is not None), None)
            if value is not None and symbol.kind == "length":
                found[symbol] = value
    return found


def _at_least_zero(conditions: Iterable[Cond]) -> Iterator[Poly]:
    for condition in conditions:
        match condition:
            case Ge(p=form):
                yield form
            case And(parts=parts):
                yield from _at_least_zero(parts)
            case _:
                continue


def _least(symbol: Symbol) -> int:
    """The lower end of a length's range; a length is never below 0."""
    return 0 if symbol.lo is None else symbol.lo.constant or 0


def _length_last(symbol: Symbol, value: Poly) -> tuple[Symbol, Poly]:
    """Of a length and something that data decides, the length stays."""
    only = only_symbol(value)
    if symbol.kind == "length" and only is not None and only.kind == "data":
        return only, atom(symbol)
    return symbol, value
