"""What polynomials are made of: symbols, floors, clips and sums without a closed form.

Every generator stands for an integer.  Equal generators are one object (they are interned,
weakly, so nothing outlives its use), which makes hashing and equality a pointer comparison.
The constructors here only build; rewriting to normal form is done by ``floors``, ``clips``
and ``sums``, and nothing else should call ``Floor``, ``Relu`` or ``Sum`` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, TypeVar
from weakref import ref

from tolcost.algebra.errors import MAX_HEIGHT, AlgebraBudget

if TYPE_CHECKING:
    from tolcost.algebra.poly import Poly

Kind: TypeAlias = Literal["length", "coord", "data"]
Interval: TypeAlias = tuple[int | None, int | None]
OrderKey: TypeAlias = tuple[object, ...]


class _Generator:
    """What the four kinds share: a place in the order, free symbols, nesting height, a range."""

    __slots__ = ("__weakref__", "free", "height", "interval", "key", "samples")
    key: OrderKey
    free: frozenset[Symbol]
    height: int
    interval: Interval | None
    samples: tuple[int | None, ...]

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: generators are shared by every expression that mentions them."""
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __copy__(self) -> _Generator:
        """Give the object itself: it cannot change."""
        return self

    def __deepcopy__(self, memo: object) -> _Generator:
        """Give the object itself: it cannot change."""
        return self


_G = TypeVar("_G", bound=_Generator)
_set = object.__setattr__
_NONE: frozenset[Symbol] = frozenset()


class _Interned:
    """The generators that are in use, by what they are made of.

    A ``WeakValueDictionary`` would do, and takes longer for a new symbol than making it does.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], ref[_Generator]] = {}
        self._room = 1 << 12
        self._lock = Lock()

    def __call__(self, identity: tuple[object, ...], build: Callable[[], _G]) -> _G:
        """Give the one generator of an identity, made if there is none."""
        known = self._known.get(identity)
        found = None if known is None else known()
        if found is None:
            made = build()
            with self._lock:
                known = self._known.get(identity)  # another thread may have been faster
                found = None if known is None else known()
                if found is None:
                    self._known[identity], found = ref(made), made
                    if len(self._known) > self._room:
                        self._sweep()
        return found  # type: ignore[return-value]  # the class is part of the identity

    def _sweep(self) -> None:
        """Forget what nobody uses any more, once in a while."""
        for identity in [identity for identity, known in self._known.items() if known() is None]:
            del self._known[identity]
        self._room = max(1 << 12, 2 * len(self._known))


_intern = _Interned()


def remember_interval(generator: Generator, interval: Interval) -> None:
    """Keep a computed range with the generator it belongs to."""
    _set(generator, "interval", interval)


def remember_samples(generator: Generator, samples: tuple[int | None, ...]) -> None:
    """Keep computed values at sample points with the generator they belong to."""
    _set(generator, "samples", samples)


def _fill(generator: _Generator, key: OrderKey, free: frozenset[Symbol], height: int) -> None:
    if height > MAX_HEIGHT:
        raise AlgebraBudget(f"an expression nests floors, clips or sums more than {MAX_HEIGHT} deep")
    _set(generator, "key", key)
    _set(generator, "free", free)
    _set(generator, "height", height)
    _set(generator, "interval", None)
    _set(generator, "samples", ())


class Symbol(_Generator):
    """A named integer with inclusive bounds, which may be symbolic; ``None`` is no bound.

    Two symbols of one name and serial but different bounds are different symbols: a proof
    about one would be wrong for the other.
    """

    __slots__ = ("depth", "hi", "kind", "lo", "name", "serial")
    name: str
    serial: int
    kind: Kind
    lo: Poly | None
    hi: Poly | None
    depth: int
    """How many symbols bound each other in turn, this one not counted."""

    def __new__(
        cls, name: str, serial: int, kind: Kind, lo: Poly | None = None, hi: Poly | None = None
    ) -> Symbol:
        """Give the one symbol with these fields."""

        def build() -> Symbol:
            made = object.__new__(cls)
            _set(made, "name", name)
            _set(made, "serial", serial)
            _set(made, "kind", kind)
            _set(made, "lo", lo)
            _set(made, "hi", hi)
            bounding = (_NONE if lo is None else lo.free) | (_NONE if hi is None else hi.free)
            _set(made, "depth", 1 + max([symbol.depth for symbol in bounding]) if bounding else 0)
            key = (0, name, serial, kind, () if lo is None else lo.key, () if hi is None else hi.key)
            _fill(made, key, frozenset((made,)), 0)
            return made

        return _intern((cls, name, serial, kind, lo, hi), build)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by fields, so that the copy is interned again."""
        return (Symbol, (self.name, self.serial, self.kind, self.lo, self.hi))

    def __repr__(self) -> str:
        """Name, and serial where there may be several of the name."""
        return self.name if self.serial == 0 else f"{self.name}#{self.serial}"


def behind(symbol: Symbol) -> list[Symbol]:
    """Give the symbols that bound this one, directly or through others, the least bounded first."""
    found: set[Symbol] = set()
    todo = [symbol]
    while todo:
        last = todo.pop()
        for bound in (last.lo, last.hi):
            if bound is not None:
                todo.extend(bound.free - found)
                found |= bound.free
    return sorted(found, key=lambda s: s.depth)


class Floor(_Generator):
    """The floor of ``p / q``, where q >= 1."""

    __slots__ = ("p", "q")
    p: Poly
    q: Poly

    def __new__(cls, p: Poly, q: Poly) -> Floor:
        """Give the one floor of these arguments."""

        def build() -> Floor:
            made = object.__new__(cls)
            _set(made, "p", p)
            _set(made, "q", q)
            _fill(made, (1, q.key, p.key), p.free | q.free, 1 + max(p.height, q.height))
            return made

        return _intern((cls, p, q), build)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by fields, so that the copy is interned again."""
        return (Floor, (self.p, self.q))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"floor(({self.p!r})/({self.q!r}))"


class Relu(_Generator):
    """The larger of ``p`` and 0: the only clip there is."""

    __slots__ = ("p",)
    p: Poly

    def __new__(cls, p: Poly) -> Relu:
        """Give the one clip of this argument."""

        def build() -> Relu:
            made = object.__new__(cls)
            _set(made, "p", p)
            _fill(made, (2, p.key), p.free, 1 + p.height)
            return made

        return _intern((cls, p), build)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by fields, so that the copy is interned again."""
        return (Relu, (self.p,))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"relu({self.p!r})"


class Sum(_Generator):
    """A sum of ``body`` for ``symbol`` from ``lo`` to ``hi``, 0 when the range is empty.

    The binder is canonical (see ``binders``), so sums that differ only in its name are equal.
    """

    __slots__ = ("body", "hi", "lo", "symbol")
    body: Poly
    symbol: Symbol
    lo: Poly
    hi: Poly

    def __new__(cls, body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> Sum:
        """Give the one sum of these arguments."""

        def build() -> Sum:
            made = object.__new__(cls)
            for slot, value in (("body", body), ("symbol", symbol), ("lo", lo), ("hi", hi)):
                _set(made, slot, value)
            free = (body.free - {symbol}) | lo.free | hi.free
            height = 1 + max(body.height, lo.height, hi.height)
            _fill(made, (3, body.key, lo.key, hi.key), free, height)
            return made

        return _intern((cls, body, symbol, lo, hi), build)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by fields, so that the copy is interned again."""
        return (Sum, (self.body, self.symbol, self.lo, self.hi))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"Sum({self.body!r}, ({self.symbol!r}, {self.lo!r}, {self.hi!r}))"


Generator: TypeAlias = Symbol | Floor | Relu | Sum


def unknown_generator(generator: NoReturn) -> NoReturn:
    """Stop: a fifth kind of generator does not exist."""
    raise AssertionError(f"not a generator: {generator!r}")
