"""What polynomials are made of: symbols, floors, clips, logarithms, powers, and sums without a closed form.

Every generator stands for an integer.  Equal generators are one object (they are interned,
weakly, so nothing outlives its use), which makes hashing and equality a pointer comparison.
Each kind has a function that gives the one object, and nothing else should call the classes.
These functions only build; rewriting to normal form is done by ``floors``, ``piecewise`` and ``sums``.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import ref

from tolcost.dataclass import dataclass, field

if TYPE_CHECKING:
    from tolcost.algebra.poly import Poly

MAX_TERMS = 20_000
MAX_PRODUCTS = 400_000
MAX_DEGREE = 400
MAX_BITS = 200_000
MAX_HEIGHT = 30
MAX_PARTS = 400
WHOLE = -1
"""Where powers with an exponent of their own stand in a product: before all else."""
MAX_EXPONENT = 4096
"""No power with a larger exponent is worked out."""

SymbolKind: TypeAlias = Literal["length", "coord", "data"]
Role: TypeAlias = Literal["length", "coord", "data", "kept", "turns"]
"""What a symbol stands for: a length, a coordinate, or what only data decides, that is how many elements
a filter keeps, how many turns a loop takes, or anything else."""
Interval: TypeAlias = tuple[int | None, int | None]
OrderKey: TypeAlias = tuple[object, ...]


class AlgebraBudget(Exception):
    """An expression grew beyond what is worth computing; callers turn this into a diagnostic."""


class NotInteger(ArithmeticError):
    """An expression that should be an integer is not one at the given point."""


class UnboundSymbol(KeyError):
    """A symbol has no value at the given point."""

    def __str__(self) -> str:
        """Say which symbol, without the quotes a ``KeyError`` would add."""
        return f"no value for {self.args[0]}"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Symbol:
    """A named integer with inclusive bounds, which may be symbolic; ``None`` is no bound.

    Two symbols of one name and serial but different bounds are different symbols: a proof
    about one would be wrong for the other.  ``depth`` is how many symbols bound each other in
    turn, this one not counted.  ``base`` is the part of a name that stays when the symbol is called
    after something else: ``z1`` of ``mask_z1``.  ``kind`` is whether it is a length, a coordinate, or decided
    by data.

    All kinds of generators have a place in an order that does not depend on when things were made
    (``key``), their free symbols, the polynomials they are made of (``parts``), and how deep they nest
    (``height``); their range and their values at a few points are found when they are needed.
    """

    name: str
    serial: int
    role: Role
    kind: SymbolKind
    base: str
    lo: Poly | None
    hi: Poly | None
    depth: int
    key: OrderKey
    free: frozenset[Symbol] = frozenset()
    height: int = 0
    interval: Interval | None = None
    samples: tuple[int | None, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (symbol_of, (self.name, self.serial, self.role, self.lo, self.hi, self.base))

    def __repr__(self) -> str:
        """Name, and serial where there may be several of the name."""
        return self.name if self.serial == 0 else f"{self.name}#{self.serial}"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """Nothing: its bounds speak about it, it is not made of them."""
        return ()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Composite:
    """What is made of polynomials has besides these what a symbol has too."""

    key: OrderKey
    free: frozenset[Symbol]
    height: int
    interval: Interval | None = field(default=None, kw_only=True)
    samples: tuple[int | None, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Floor(_Composite):
    """The floor of ``p / q``, where q >= 1."""

    p: Poly
    q: Poly

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (floor_of, (self.p, self.q))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"floor(({self.p!r})/({self.q!r}))"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """What is divided, and by what."""
        return self.p, self.q


@dataclass(frozen=True, slots=True, eq=False)
class Relu(_Composite):
    """The larger of ``p`` and 0: the only clip there is."""

    p: Poly

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (relu_of, (self.p,))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"relu({self.p!r})"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """What is clipped."""
        return (self.p,)


@dataclass(frozen=True, slots=True, eq=False)
class Log2(_Composite):
    """The least integer e >= 0 with ``2**e >= p``: a logarithm rounded up, 0 where there is none."""

    p: Poly

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (log2_of, (self.p,))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"log2({self.p!r})"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """What it is the logarithm of."""
        return (self.p,)


@dataclass(frozen=True, slots=True, eq=False)
class Exponential(_Composite):
    """A prime to the power of ``p``, which is at least 0 wherever the power stands.

    An exponent that is one generator makes a power that is multiplied like any other: ``2**(2*p)`` is the
    square of ``2**p``.  Any other exponent (``p - s``, ``p*q``) is ``whole``: such a power takes in all
    others of its base that it is multiplied by, so that ``2**(p - s)*2**s`` is ``2**p``.
    """

    base: int
    p: Poly
    whole: bool

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (power_of, (self.base, self.p, self.whole))

    def __repr__(self) -> str:
        """Show as one writes it."""
        return f"{self.base}**({self.p!r})"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """The exponent."""
        return (self.p,)


@dataclass(frozen=True, slots=True, eq=False)
class Sum(_Composite):
    """A sum of ``body`` for ``symbol`` from ``lo`` to ``hi``, 0 when the range is empty.

    The binder is canonical (see ``faulhaber``), so sums that differ only in its name are equal.
    """

    body: Poly
    symbol: Symbol
    lo: Poly
    hi: Poly

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it is made of, so that the copy is interned again."""
        return (sum_of, (self.body, self.symbol, self.lo, self.hi))

    def __repr__(self) -> str:
        """Show as a call."""
        return f"Sum({self.body!r}, ({self.symbol!r}, {self.lo!r}, {self.hi!r}))"

    @property
    def parts(self) -> tuple[Poly, ...]:
        """What is summed, and the ends."""
        return self.body, self.lo, self.hi


Generator: TypeAlias = Symbol | Floor | Relu | Log2 | Exponential | Sum


class _Interned:
    """The generators that are in use, by what they are made of.

    A ``WeakValueDictionary`` would do, and takes longer for a new symbol than making it does.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], ref[Generator]] = {}
        self._room = 1 << 12
        self._lock = Lock()

    def find(self, identity: tuple[object, ...]) -> Generator | None:
        """Give the generator of an identity, if it is in use."""
        known = self._known.get(identity)
        return None if known is None else known()

    def keep(self, identity: tuple[object, ...], made: Generator) -> Generator:
        """Give the generator just made, or the one that another thread has made meanwhile."""
        with self._lock:
            kept = ref(made)
            found = self._known.setdefault(identity, kept)()
            if found is None:  # nobody uses the one of before any more
                self._known[identity], found = kept, made
            if len(self._known) > self._room:
                self._sweep()
            return found

    def _sweep(self) -> None:
        """Forget what nobody uses any more, once in a while."""
        for identity in [identity for identity, known in self._known.items() if known() is None]:
            del self._known[identity]
        self._room = max(1 << 12, 2 * len(self._known))


_interned = _Interned()
_set = object.__setattr__
_NONE: frozenset[Symbol] = frozenset()


def symbol_of(
    name: str, serial: int, role: Role, lo: Poly | None = None, hi: Poly | None = None, base: str = ""
) -> Symbol:
    """Give the one symbol with these fields."""
    identity = (Symbol, name, serial, role, lo, hi, base)
    found = _interned.find(identity)
    if found is None:
        bounding = (_NONE if lo is None else lo.free) | (_NONE if hi is None else hi.free)
        depth = 1 + max([symbol.depth for symbol in bounding]) if bounding else 0
        key = (0, name, serial, role, () if lo is None else lo.key, () if hi is None else hi.key)
        kind: SymbolKind = role if role in ("length", "coord") else "data"
        made = Symbol(name, serial, role, kind, base, lo, hi, depth, key)
        _set(made, "free", frozenset((made,)))
        found = _interned.keep(identity, made)
    assert isinstance(found, Symbol)
    return found


def floor_of(p: Poly, q: Poly) -> Floor:
    """Give the one floor of these arguments."""
    identity = (Floor, p, q)
    found = _interned.find(identity)
    if found is None:
        made = Floor((1, q.key, p.key), p.free | q.free, _height((p, q)), p, q)
        found = _interned.keep(identity, made)
    assert isinstance(found, Floor)
    return found


def relu_of(p: Poly) -> Relu:
    """Give the one clip of this argument."""
    identity = (Relu, p)
    found = _interned.find(identity)
    if found is None:
        found = _interned.keep(identity, Relu((2, p.key), p.free, _height((p,)), p))
    assert isinstance(found, Relu)
    return found


def log2_of(p: Poly) -> Log2:
    """Give the one logarithm of this argument; it is sorted among symbols, by the word it begins with."""
    identity = (Log2, p)
    found = _interned.find(identity)
    if found is None:
        key = (0, "ceiling log2", 0, "", p.key)
        found = _interned.keep(identity, Log2(key, p.free, _height((p,)), p))
    assert isinstance(found, Log2)
    return found


def power_of(base: int, p: Poly, whole: bool) -> Exponential:
    """Give the one power of this base and exponent; ``powers`` says which are to be ``whole``.

    Those that are come first in a product, so that it is seen at once whether there is one.
    """
    identity = (Exponential, base, p)
    found = _interned.find(identity)
    if found is None:
        key = (WHOLE, base, p.key) if whole else (0, "", base, "", p.key)
        found = _interned.keep(identity, Exponential(key, p.free, _height((p,)), base, p, whole))
    assert isinstance(found, Exponential)
    return found


def sum_of(body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> Sum:
    """Give the one sum of these arguments."""
    identity = (Sum, body, symbol, lo, hi)
    found = _interned.find(identity)
    if found is None:
        free = (body.free - {symbol}) | lo.free | hi.free
        key = (3, body.key, lo.key, hi.key)
        made = Sum(key, free, _height((body, lo, hi)), body, symbol, lo, hi)
        found = _interned.keep(identity, made)
    assert isinstance(found, Sum)
    return found


def _height(parts: tuple[Poly, ...]) -> int:
    height = 1 + max([part.height for part in parts])
    if height > MAX_HEIGHT:
        raise AlgebraBudget(f"an expression nests floors, clips or sums more than {MAX_HEIGHT} deep")
    return height


def remember_interval(generator: Generator, interval: Interval) -> None:
    """Keep a computed range with the generator it belongs to."""
    _set(generator, "interval", interval)


def remember_samples(generator: Generator, samples: tuple[int | None, ...]) -> None:
    """Keep computed values at sample points with the generator they belong to."""
    _set(generator, "samples", samples)


def behind(symbol: Symbol) -> list[Symbol]:
    """Give the symbols that bound this one, directly or through others, the least bounded first."""
    return sorted(reach((symbol,)) - {symbol}, key=lambda s: s.depth)


def reach(symbols: Iterable[Symbol]) -> set[Symbol]:
    """Give some symbols and those that bound them, directly or through others."""
    found = set(symbols)
    waiting = list(found)
    while waiting:
        last = waiting.pop()
        for bound in (last.lo, last.hi):
            if bound is not None:
                waiting.extend(bound.free - found)
                found |= bound.free
    return found
