"""What is known of the values of a graph, with a number for each distinct fact.

Equal facts have equal numbers, so that "the same operator on the same inputs" is a comparison of small
integers.  The numbers are valid as long as the table, across models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import NamedTuple, TypeAlias

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
    substitute,
    the_symbol,
    total_known,
)
from tolcost.cost.count import Change
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import quoted, refuse
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, Missing, Quotient, Seq, Value, Vec, distinct, frozen, shape_given

Known: TypeAlias = Value
"""The shape and space of a tensor, several of them, or the value itself."""

NOTHING = 0
"""The number of an omitted input."""

UNKNOWN = -1
"""The number of a value about which nothing is known."""

MOST_STATIC = 1024
"""Elements up to which a static value is passed on as a value; larger ones are known by shape only."""


LEAST = 2
"""The smallest length that the most general pattern of a node turns into a symbol.

Lengths 0 and 1 stay numbers, because empty tensors and broadcasting take other branches.
"""


class Plain(NamedTuple):
    """A tensor of known lengths, or an omitted input, split into its kind and its lengths from ``LEAST``."""

    kind: tuple[object, ...]
    lengths: tuple[int, ...]


_LEFT_OUT = Plain((), ())


class FactTable(Struct):
    """All distinct facts so far, by number."""

    numbers: dict[object, int] = field(default_factory=dict)
    facts: list[Known | None] = field(default_factory=lambda: [None])
    symbols: list[frozenset[Symbol]] = field(default_factory=lambda: [frozenset()])
    plain: list[Plain | None] = field(default_factory=lambda: [_LEFT_OUT])
    """The facts that are tensors of known lengths, or omitted inputs."""
    _buffers: dict[int, Poly | None] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def number(self, known: Known) -> int:
        """Return the number of a fact."""
        key = frozen(known)
        found = self.numbers.get(key)
        return self._added(key, known, plain_known(known)) if found is None else found

    def tensor(self, lengths: tuple[int, ...], space: str) -> int:
        """Return the number of a tensor with known lengths; constant forms give the same number."""
        key = ("tensor", lengths, space)
        found = self.numbers.get(key)
        if found is None:
            found = self._added(key, Tensor(tuple(map(const, lengths)), space), plain_of(lengths, space))
        return found

    def _added(self, key: object, known: Known, plain: Plain | None) -> int:
        symbols = _NO_SYMBOLS if plain is not None else symbols_in(known)
        with self._lock:  # sessions in several threads share a table
            found = self.numbers.get(key)
            if found is None:
                self.facts.append(known)
                self.symbols.append(symbols)
                self.plain.append(plain)
                found = self.numbers[key] = len(self.facts) - 1
        return found

    def buffer(self, number: int) -> Poly | None:
        """Return the bytes of the tensor with a number while a model runs; None if they are unknown."""
        if number not in self._buffers:
            self._buffers[number] = self._bytes(number)
        return self._buffers[number]

    def _bytes(self, number: int) -> Poly | None:
        known = None if number == UNKNOWN else self.facts[number]
        return None if known is None else bytes_known(as_tensor(known))


_NO_SYMBOLS: frozenset[Symbol] = frozenset()


def plain_known(known: Known | None) -> Plain | None:
    """Return a tensor of known lengths, or an omitted input, in its plain form; None for anything else."""
    if not isinstance(known, Tensor):
        return _LEFT_OUT if known is None else None
    lengths = [n for d in known.shape if (n := d.constant) is not None]
    return plain_of(tuple(lengths), known.space) if len(lengths) == len(known.shape) else None


def plain_of(lengths: tuple[int, ...], space: str) -> Plain | None:
    """Split a tensor of known lengths as the most general pattern does; None if a length is not valid.

    >>> plain_of((1, 3, 224), "float32")
    Plain(kind=('float32', 1, 2, 2), lengths=(3, 224))
    """
    if lengths and not (min(lengths) >= 0 and max(lengths) <= LARGEST_LENGTH):
        return None
    kind = (space, *[n if n < LEAST else LEAST for n in lengths])
    return Plain(kind, tuple([n for n in lengths if n >= LEAST]))


def symbols_in(value: Known | None) -> frozenset[Symbol]:
    """Return the symbols that a fact mentions."""
    return frozenset().union(*(form.free for form in forms_in(value)))


def replaced(value: Known, by: Mapping[Symbol, Poly]) -> Known:
    """Substitute lengths in a fact."""
    return changed(value, lambda form: substitute(form, by))


def changed(value: Known, change: Change) -> Known:
    """Apply a change to every form in a fact."""
    match value:
        case Tensor(shape=shape, space=space):
            return Tensor(tuple(map(change, shape)), space)
        case Seq(items=items):
            return Seq(tuple(changed(item, change) for item in items))
        case Cast(value=inner, space=space):
            return Cast(changed(inner, change), space)
        case Vec(shape=shape, items=items, loose=loose):
            entries = {place: changed(item, change) for place, item in distinct(items).items()}
            return Vec(shape, tuple([entries[id(item)] for item in items]), loose)
        case Quotient(over=over, under=under):
            return Quotient(change(over), change(under))
        case Poly():
            return change(value)
        case _ if isinstance(value, Cond):
            return map_cond(value, change)
        case _:
            return value


def forms_in(value: Known | None) -> list[Poly]:
    """Return the forms in a fact, in the order in which ``changed`` visits them."""
    found: list[Poly] = []

    def keep(form: Poly) -> Poly:
        found.append(form)
        return form

    if value is not None:
        changed(value, keep)
    return found


_NO_VALUES = (Tensor, Seq, Missing, type(None))


def is_value(known: Known | None) -> bool:
    """Whether the value itself is known."""
    return not isinstance(known, _NO_VALUES)


def as_tensor(known: Known) -> Known:
    """Reduce a known value to its shape and space."""
    match known:
        case Cast(space=space):
            return Tensor(shape_given(known) or (), space)
        case Seq(items=items):
            return Seq(tuple(map(as_tensor, items)))
        case _:
            return known


def bytes_known(known: Known | None) -> Poly | None:
    """Return the bytes of a value while the model runs; None for text, which has no size.

    A value known at compile time takes no bytes.
    """
    match known:
        case Tensor(shape=shape, space=space):
            return bytes_of(shape, space)
        case Seq(items=items):
            return total_known(map(bytes_known, items))
        case _:
            return const(0)


def shape_of(known: Known | None) -> tuple[Poly, ...] | None:
    """Return the shape of a tensor or a known value; None for anything else."""
    return None if known is None or isinstance(known, Seq) else shape_given(known)


def space_of(known: Known | None) -> str | None:
    """Return the space of a tensor; None for anything else."""
    return known.space if isinstance(known, Tensor | Cast) else None


# === Facts about the names of a graph, node by node: lengths become equal, or their ranges shrink.
#
# When two lengths become equal, fact numbers are redirected, not names: the work is proportional to the
# facts that mention the eliminated length.  Where a node requires a length to be larger, a new version of
# that length with a smaller range replaces it from there on, in each value when it is looked up.


class ValueTable(Struct):
    """The fact numbers of names; ``unknown`` has the names about which nothing is known.

    ``equal`` maps eliminated lengths to forms; ``larger`` maps older versions of lengths to the newest.
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

    def copy(self) -> ValueTable:
        """Return an independent copy."""
        mentions = {symbol: set(numbers) for symbol, numbers in self._mentions.items()}
        versions = {name: list(symbols) for name, symbols in self._versions.items()}
        return ValueTable(
            self.table, dict(self.numbers), set(self.unknown), dict(self.equal), dict(self.larger),
            dict(self.moved), versions, mentions, set(self._met),
        )  # fmt: skip

    def define(self, name: str, number: int) -> None:
        """Record the fact about a name; each name only once."""
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
        """Return the current number of the fact about a name."""
        return self.now(self.numbers.get(name, UNKNOWN))

    def known(self, name: str) -> Known | None:
        """Return the current fact about a name."""
        number = self.numbers.get(name, UNKNOWN)
        if self.moved or self.larger:
            number = self.now(number)
        return None if number == UNKNOWN else self.table.facts[number]

    def buffer(self, name: str) -> Poly | None:
        """Return the bytes of a name while the model runs; None if they are unknown."""
        number = self.numbers.get(name, UNKNOWN)
        return self.table.buffer(self.now(number) if self.moved or self.larger else number)

    def now(self, number: int) -> int:
        """Follow the redirections of a number."""
        asked = number
        while number in self.moved:
            number = self.moved[number]
        if self.larger and number > NOTHING and not self.table.symbols[number].isdisjoint(self.larger):
            number = self._move(number, self.larger)
        if number != asked:
            self.moved[asked] = number
        return number

    def adopt(self, learned: Mapping[Symbol, Poly]) -> None:
        """Make lengths equal that a node equates, from here on and everywhere, or narrow their ranges."""
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
        """Replace a length, in all its versions, by a form, wherever an equation or a fact mentions it."""
        versions = self._versions.pop(symbol.name, [symbol]) if _is_named(symbol) else [symbol]
        every = dict.fromkeys((symbol, *versions), value)
        self.equal = {s: substitute(p, every) for s, p in self.equal.items()} | every
        for one in every:
            self.larger.pop(one, None)
            for number in self._mentions.pop(one, ()):
                if number not in self.moved:
                    self._move(number, every)
        if len(versions) > 1:  # facts about one length hold for the other
            self.adopt(enlarged([ge(value - max(map(_least, versions)))]))

    def _enlarge(self, symbol: Symbol, value: Poly) -> None:
        """Replace a length, and its versions so far, by the version with the smallest range."""
        versions = self._versions.setdefault(symbol.name, [])
        versions.extend(one for one in (symbol, the_symbol(value)) if one not in versions)
        newest = max(versions, key=_least)
        self.larger.update((one, atom(newest)) for one in versions if one is not newest)

    def _move(self, number: int, by: Mapping[Symbol, Poly]) -> int:
        """Return the number of a fact with lengths replaced, and redirect to it."""
        fact = self.table.facts[number]
        assert fact is not None
        to = self.table.number(replaced(fact, by))
        if to != number:
            self.moved[number] = to
            self._index(to)
        return to

    def learned(self) -> dict[Symbol, Poly]:
        """Return everything that ``adopt`` recorded."""
        return self.equal | self.larger

    def newest(self) -> dict[Symbol, Poly]:
        """Return the full-range version of each length, with the version that all conditions leave."""
        oldest = (min(versions, key=_least) for versions in self._versions.values())
        return {symbol: self.larger[symbol] for symbol in oldest}

    def reopened(self) -> ValueTable:
        """Restore the full ranges of lengths: conditions state what nodes require of them."""
        if not self._versions:
            return self
        back = {
            one: atom(symbol)
            for symbol in self.newest()
            for one in self._versions[symbol.name]
            if one is not symbol
        }
        equal = {symbol: substitute(form, back) for symbol, form in self.equal.items()}
        opened = ValueTable(self.table, unknown=set(self.unknown), equal=equal | back)
        for name in self.numbers:
            known = self.known(name)
            opened.define(name, NOTHING if known is None else self.table.number(replaced(known, back)))
        return opened


def is_version(symbol: Symbol, value: Poly) -> bool:
    """Whether a length is replaced by another version of itself."""
    other = only_symbol(value)
    if other is None or other is symbol:
        return False
    return _is_named(symbol) and _is_named(other) and other.name == symbol.name


def _is_named(symbol: Symbol) -> bool:
    """Whether a symbol is a named length; a data-dependent length may have the same name."""
    return symbol.kind == "length" and symbol.serial == 0


def enlarged(conditions: Iterable[Cond]) -> dict[Symbol, Poly]:
    """Return the lengths that conditions bound from below, each with its version of the remaining range."""
    found: dict[Symbol, int] = {}
    for form in _at_least_zero(conditions):
        symbol = next(iter(form.free)) if len(form.free) == 1 else None
        if symbol is None or not _is_named(symbol):
            continue
        least = (atom(symbol) - form).constant  # `ge` has divided the form by its slope
        most = symbol.hi.constant if symbol.hi is not None else None
        if least is not None and _least(symbol) < least and (most is None or least <= most):
            found[symbol] = max(found.get(symbol, least), least)
    return {s: length(s.name, least, s.hi) for s, least in found.items()}


def pinned(conditions: Iterable[Cond]) -> dict[Symbol, Poly]:
    """Return the lengths for which conditions leave a single value."""
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
    """Return the lower end of a length's range, at least 0."""
    return 0 if symbol.lo is None else symbol.lo.constant or 0


def _length_last(symbol: Symbol, value: Poly) -> tuple[Symbol, Poly]:
    """Order an equation so that a length stays and a data-dependent symbol is eliminated."""
    only = only_symbol(value)
    if symbol.kind == "length" and only is not None and only.kind == "data":
        return only, atom(symbol)
    return symbol, value
