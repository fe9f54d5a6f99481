"""Integer-valued polynomials: a dictionary of integer coefficients over one denominator.

A monomial is the sorted tuple of its generators, each repeated as often as its power. Values are integers at
every admissible point even where coefficients are not (``n*(n + 1)/2``). This layer proves nothing and knows
no rule about floors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from math import gcd, lcm
from operator import attrgetter
from threading import Lock
from typing import Any, Literal, NoReturn, Self, TypeAlias
from weakref import ref

from msgspec import Struct
from msgspec.structs import force_setattr

from tolcost.diagnostics import NOWHERE, Span

# === Limits: how large an expression may grow, and how much proofs and sums may look at.
#
# Effort counts goals, subproblems, rewritten forms and pairs of bounds, each with its terms. It does not
# count time, so that every machine gives the same answer. Limits nest: an inner limit takes its effort from
# the limits around it. When a limit runs out, the caller that set it reports the question as open.

MAX_TERMS = 20_000
MAX_PRODUCTS = 400_000
MAX_DEGREE = 400
MAX_BITS = 200_000
MAX_HEIGHT = 30
MAX_PARTS = 400
"""Limits on one expression: beyond any of them an operation raises ``AlgebraBudget``.

They bound the time and memory of a single operation: a product of ``MAX_PRODUCTS`` terms takes about a
second. ``MAX_BITS`` limits the size of numbers, and ``MAX_PARTS`` the leaves of a condition.
"""
MAX_EXPONENT = 4096
"""The largest exponent for which a power of a number is computed."""


class AlgebraBudget(Exception):
    """An expression grew beyond what is worth computing; callers turn this into a diagnostic.

    ``span`` is the innermost definition that was being computed, if it is known.
    """

    span: Span = NOWHERE


class OutOfEffort(AlgebraBudget):
    """A limit has run out; answers that were cut short must not be cached."""


class _Limits(threading.local):
    left: int | None = None


_LIMITS = _Limits()


@contextmanager
def limit_effort(most: int) -> Iterator[None]:
    """Limit the effort inside to ``most``, or to the rest of the surrounding limit if that is less.

    >>> with limit_effort(10):
    ...     spend(8)
    ...     with limit_effort(5):
    ...         spend(3)
    Traceback (most recent call last):
    tolcost.algebra.poly.OutOfEffort: a search looked at more than it may
    """
    around = _LIMITS.left
    granted = _LIMITS.left = most if around is None else min(most, around)
    try:
        yield
    finally:
        _LIMITS.left = None if around is None else around - (granted - _LIMITS.left)


def spend(amount: int) -> None:
    """Take effort from the surrounding limit, if there is one."""
    if _LIMITS.left is not None:
        _LIMITS.left -= amount
        if _LIMITS.left < 0:
            raise OutOfEffort("a search looked at more than it may")


# === Generators: symbols, floors, clips, logarithms, powers, and sums without a closed form.
#
# Every generator stands for an integer. Equal generators are one object (they are interned, weakly, so that
# none outlives its use), which makes hashing and equality a pointer comparison. ``make`` returns the interned
# object; nothing else should call the classes. It only builds; ``floors``, ``piecewise`` and ``sums`` rewrite
# to normal form.


WHOLE = -1
"""First entry of the order key of ``whole`` powers: they come before every other factor of a product."""
SymbolKind: TypeAlias = Literal["length", "coord", "data"]
Role: TypeAlias = Literal[
    "length", "coord", "data", "kept", "turns", "range", "total", "some", "squares", "most", "entry"
]
"""What a symbol stands for.

A length, a coordinate, or an integer that only data decides: the number of elements a filter keeps ("kept"),
the trip count of a loop ("turns"), the length of a range ("range"), what one of these amounts to over all
steps of a loop (its sum, how often it is not 0, the sum of its squares, the largest), a number in a tensor
("entry"), or any other ("data").
"""
Interval: TypeAlias = tuple[int | None, int | None]
OrderKey: TypeAlias = tuple[object, ...]


class NotInteger(ArithmeticError):
    """An expression that should be an integer is not one at the given point."""


class UnboundSymbol(KeyError):
    """A symbol has no value at the given point."""

    def __str__(self) -> str:
        """Name the symbol, without the quotes that a ``KeyError`` would add."""
        return f"no value for {self.args[0]}"


class Symbol(Struct, frozen=True, eq=False, weakref=True):
    """A named integer with inclusive bounds, which may be symbolic; ``None`` is no bound.

    Two symbols of one name and serial but different bounds are different symbols: a proof about one would be
    wrong for the other. ``depth`` is the length of the longest chain of symbols that bound each other, this
    one not counted. ``base`` is the part of the name that stays when the symbol gets another one as
    a prefix: ``z1`` in ``mask_z1``. ``kind`` says whether the symbol is a length, a coordinate, or decided by
    data.

    All kinds of generators have a place in an order that does not depend on when they were made (``key``),
    free symbols, the polynomials they are made of (``parts``), and a nesting depth (``height``). Their range
    and their values at sample points are computed on demand and kept with them.
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
    parts: tuple[Poly, ...] = ()
    """Nothing: bounds restrict a symbol, they are not parts of it."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields, so that the copy is interned again."""
        return (symbol_of, (self.name, self.serial, self.role, self.lo, self.hi, self.base))

    def __copy__(self) -> Self:
        """Return the object itself: generators are interned."""
        return self

    def __repr__(self) -> str:
        """Show the name, and the serial if several symbols may share the name."""
        return self.name if self.serial == 0 else f"{self.name}#{self.serial}"


class _Computed(Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """Results that proofs cache on a generator (`quick_checks`)."""

    interval: Interval | None = None
    samples: tuple[int | None, ...] = ()


class Composite(_Computed, frozen=True):
    """A generator made of polynomials, its ``parts``; the fields are those that every generator has.

    A new kind is a class like those below, and a row in each table of rules (see ``walk``).
    """

    key: OrderKey
    free: frozenset[Symbol]
    height: int
    parts: tuple[Poly, ...]

    @classmethod
    def make(cls, *fields: Any) -> Self:
        """Return the one generator of this kind with these fields."""
        identity = (cls, *fields)
        found = _interned.find(identity)
        if found is None:
            parts = tuple([one for one in fields if isinstance(one, Poly)])
            free = cls.free_in(*fields)
            found = _interned.keep(identity, cls(cls.key_of(*fields), free, _height(parts), parts, *fields))
        return found  # type: ignore[return-value]

    @classmethod
    def key_of(cls, *fields: Any) -> OrderKey:
        """Return the place in the order of generators."""
        return (4, cls.__name__, *[one.key if isinstance(one, Poly) else one for one in fields])

    @classmethod
    def free_in(cls, *fields: Any) -> frozenset[Symbol]:
        """Return the free symbols."""
        return _NO_SYMBOLS.union(*[one.free for one in fields if isinstance(one, Poly)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields, so that the copy is interned again."""
        return (type(self).make, tuple(getattr(self, name) for name in type(self).__annotations__))

    def __copy__(self) -> Self:
        """Return the object itself: generators are interned."""
        return self

    def __repr__(self) -> str:
        """Show the generator as a polynomial."""
        return str(atom(self))


class Floor(Composite, frozen=True):
    """The floor of ``p / q``, where q >= 1."""

    p: Poly
    q: Poly

    @classmethod
    def key_of(cls, p: Poly, q: Poly) -> OrderKey:
        """Floors by one divisor stand together."""
        return (1, q.key, p.key)


class Relu(Composite, frozen=True):
    """The larger of ``p`` and 0: the only clip there is."""

    p: Poly

    @classmethod
    def key_of(cls, p: Poly) -> OrderKey:
        """Clips come after floors."""
        return (2, p.key)


class Log2(Composite, frozen=True):
    """The least integer e >= 0 with ``2**e >= p``: the logarithm rounded up, and 0 if p is not positive."""

    p: Poly

    @classmethod
    def key_of(cls, p: Poly) -> OrderKey:
        """Logarithms stand among symbols, by the word they begin with."""
        return (0, "ceiling log2", 0, "", p.key)


class Exponential(Composite, frozen=True):
    """A prime to the power of ``p``, which is non-negative wherever the power occurs.

    A power whose exponent is one generator multiplies like any other factor: ``2**(2*p)`` is the square of
    ``2**p``. Any other exponent (``p - s``, ``p*q``) makes a ``whole`` power, which absorbs the other powers
    of its base in a product, so that ``2**(p - s)*2**s`` is ``2**p``. ``powers`` decides which are whole.
    """

    base: int
    p: Poly
    whole: bool

    @classmethod
    def key_of(cls, base: int, p: Poly, whole: bool) -> OrderKey:
        """Whole powers come first, so that looking at the first factor tells whether there is one."""
        return (WHOLE, base, p.key) if whole else (0, "", base, "", p.key)


class Sum(Composite, frozen=True):
    """The sum of ``body`` for ``symbol`` from ``lo`` to ``hi``; 0 if the range is empty.

    The binder is canonical (see ``rebuild.opaque_sum``), so sums that differ only in its name are equal.
    """

    body: Poly
    symbol: Symbol
    lo: Poly
    hi: Poly

    @classmethod
    def key_of(cls, body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> OrderKey:
        """Sums come last; the name of the binder does not matter."""
        return (3, body.key, lo.key, hi.key)

    @classmethod
    def free_in(cls, body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> frozenset[Symbol]:
        """The binder is not free."""
        return (body.free - {symbol}) | lo.free | hi.free


Generator: TypeAlias = Symbol | Composite


class _Interned:
    """The generators in use, by their fields.

    A ``WeakValueDictionary`` would do, but a lookup in it takes longer than making a new symbol.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], ref[Generator]] = {}
        self._room = 1 << 12
        self._lock = Lock()

    def find(self, identity: tuple[object, ...]) -> Generator | None:
        """Return the generator with these fields if it is in use."""
        known = self._known.get(identity)
        return None if known is None else known()

    def keep(self, identity: tuple[object, ...], made: Generator) -> Generator:
        """Return the generator just made, or an equal one that another thread has interned meanwhile."""
        with self._lock:
            kept = ref(made)
            found = self._known.setdefault(identity, kept)()
            if found is None:  # the previous object with these fields is no longer in use
                self._known[identity], found = kept, made
            if len(self._known) > self._room:
                self._drop_unused()
            return found

    def _drop_unused(self) -> None:
        """Drop the entries of generators that are no longer in use."""
        for identity in [identity for identity, known in self._known.items() if known() is None]:
            del self._known[identity]
        self._room = max(1 << 12, 2 * len(self._known))


_interned = _Interned()
_NO_SYMBOLS: frozenset[Symbol] = frozenset()


def symbol_of(
    name: str, serial: int, role: Role, lo: Poly | None = None, hi: Poly | None = None, base: str = ""
) -> Symbol:
    """Return the one symbol with these fields."""
    identity = (Symbol, name, serial, role, lo, hi, base)
    found = _interned.find(identity)
    if found is None:
        bounding = (_NO_SYMBOLS if lo is None else lo.free) | (_NO_SYMBOLS if hi is None else hi.free)
        depth = 1 + max([symbol.depth for symbol in bounding]) if bounding else 0
        key = (0, name, serial, role, () if lo is None else lo.key, () if hi is None else hi.key)
        kind: SymbolKind = role if role in ("length", "coord") else "data"
        made = Symbol(name, serial, role, kind, base, lo, hi, depth, key)
        force_setattr(made, "free", frozenset((made,)))
        found = _interned.keep(identity, made)
    assert isinstance(found, Symbol)
    return found


def _height(parts: tuple[Poly, ...]) -> int:
    height = 1 + max([part.height for part in parts])
    if height > MAX_HEIGHT:
        raise AlgebraBudget(f"an expression nests floors, clips or sums more than {MAX_HEIGHT} deep")
    return height


def remember_interval(generator: Generator, interval: Interval) -> None:
    """Cache the numeric range of a generator."""
    force_setattr(generator, "interval", interval)


def remember_samples(generator: Generator, samples: tuple[int | None, ...]) -> None:
    """Cache the values of a generator at sample points."""
    force_setattr(generator, "samples", samples)


def behind(symbol: Symbol) -> list[Symbol]:
    """Return the symbols that bound this one, directly or through others, the outermost first."""
    return sorted(reach((symbol,)) - {symbol}, key=lambda s: s.depth)


def reach(symbols: Iterable[Symbol]) -> set[Symbol]:
    """Return the given symbols and all symbols that bound them, directly or through others."""
    found = set(symbols)
    waiting = list(found)
    while waiting:
        last = waiting.pop()
        for bound in (last.lo, last.hi):
            if bound is not None:
                waiting.extend(bound.free - found)
                found |= bound.free
    return found


# === Polynomials.


Monomial: TypeAlias = tuple[Generator, ...]
Terms: TypeAlias = dict[Monomial, int]

LARGEST_LENGTH = 2**31 - 2
UNIT: Monomial = ()
_order = attrgetter("key")
_serials = count(2, 2)
"""Serials of fresh symbols are even; odd serials belong to ``numbered_coordinate``."""


class Poly:
    """An immutable polynomial: ``terms`` over the positive integer ``den``, in lowest terms.

    >>> n = length("n")
    >>> (n + 1) * (n - 1) == n**2 - 1
    True
    """

    __slots__ = ("_free", "_hash", "_height", "_key", "constant", "den", "terms")
    terms: Terms
    den: int
    constant: int | None
    """The value if it is a single integer, else ``None``.

    It is stored because it is read more often than anything else.
    """
    _hash: int | None
    _key: OrderKey | None
    _free: frozenset[Symbol] | None
    _height: int

    def __init__(self, terms: Terms, den: int = 1) -> None:
        """Take over a dictionary without zeros, in lowest terms; use ``poly`` for any other."""
        self.terms = terms
        self.den = den
        self.constant = None if len(terms) > 1 or den > 1 else terms.get(UNIT) if terms else 0
        self._hash = None
        self._key = None
        self._free = None
        self._height = -1

    @property
    def free(self) -> frozenset[Symbol]:
        """The symbols that occur free, at any depth."""
        found = self._free
        if found is None:
            found = self._free = _NO_SYMBOLS.union(*[g.free for mono in self.terms for g in mono])
        return found

    @property
    def height(self) -> int:
        """The nesting depth of floors, clips, powers and sums."""
        found = self._height
        if found < 0:
            found = 0
            for mono in self.terms:
                for generator in mono:
                    if generator.height > found:
                        found = generator.height
            self._height = found
        return found

    @property
    def key(self) -> OrderKey:
        """A place in a total order that does not depend on when objects were made."""
        if self._key is None:
            rows = [(len(mono), tuple([g.key for g in mono]), coef) for mono, coef in self.terms.items()]
            rows.sort()
            self._key = (self.den, tuple(rows))
        return self._key

    def __hash__(self) -> int:
        """Compute the hash once; a constant hashes like its integer."""
        found = self._hash
        if found is None:
            value = self.constant
            found = hash(frozenset(self.terms.items())) ^ self.den if value is None else hash(value)
            self._hash = found
        return found

    def __eq__(self, other: object) -> bool:
        """Compare dictionaries; equal functions may still compare unequal (see ``compare``)."""
        if isinstance(other, Poly):
            return self is other or (self.den == other.den and self.terms == other.terms)
        return self.constant == other if isinstance(other, int) else NotImplemented

    def __bool__(self) -> bool:
        """Refuse: use ``==`` or ``prove`` to ask whether a polynomial is zero."""
        raise TypeError("a polynomial has no truth value")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the terms, so that generators are interned again."""
        return (Poly, (self.terms, self.den))

    def __add__(self, other: Poly | int) -> Poly:
        """Sum."""
        return add(self, other) if isinstance(other, Poly) else shift(self, other)

    def __radd__(self, other: int) -> Poly:
        """Sum."""
        return shift(self, other)

    def __sub__(self, other: Poly | int) -> Poly:
        """Difference."""
        return subtract(self, other) if isinstance(other, Poly) else shift(self, -other)

    def __rsub__(self, other: int) -> Poly:
        """Difference."""
        return shift(-self, other)

    def __neg__(self) -> Poly:
        """Negation."""
        return Poly({mono: -coef for mono, coef in self.terms.items()}, self.den)

    def __mul__(self, other: Poly | int) -> Poly:
        """Product."""
        return multiply(self, other) if isinstance(other, Poly) else scale(self, other)

    def __rmul__(self, other: int) -> Poly:
        """Product."""
        return scale(self, other)

    def __pow__(self, exponent: int) -> Poly:
        """Power with a non-negative integer exponent."""
        return power(self, exponent)

    def __floordiv__(self, other: Poly | int) -> Poly:
        """Floor of the quotient; the divisor is assumed to be at least 1."""
        return _above.floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Poly:
        """Floor of the quotient; the divisor is assumed to be at least 1."""
        return const(other) // self

    def __mod__(self, other: Poly | int) -> Poly:
        """Remainder of ``//``."""
        return self - _above.floordiv(self, other) * other

    def __rmod__(self, other: int) -> Poly:
        """Remainder of ``//``."""
        return const(other) % self

    def __str__(self) -> str:
        """The text form."""
        return _above.text(self)

    def __repr__(self) -> str:
        """The text form."""
        return str(self)


class _Above(Struct):
    """Operations of polynomials that higher layers define when they are loaded."""

    floordiv: Callable[[Poly, Poly | int], Poly]
    text: Callable[[Poly], str]
    multiply_powers: Callable[[Poly, Poly], Poly]


def _not_loaded(*_: object) -> NoReturn:
    raise RuntimeError("import tolcost.algebra, which loads all of its layers")


_above = _Above(_not_loaded, _not_loaded, _not_loaded)


def define_floordiv(floordiv: Callable[[Poly, Poly | int], Poly]) -> None:
    """Define ``//`` and ``%``."""
    _above.floordiv = floordiv


def define_products(multiply_powers: Callable[[Poly, Poly], Poly]) -> None:
    """Define the product of monomials with whole powers."""
    _above.multiply_powers = multiply_powers


def define_text(text: Callable[[Poly], str]) -> None:
    """Define ``str``."""
    _above.text = text


@lru_cache(maxsize=1 << 10, typed=True)
def const(value: int) -> Poly:
    """Return the constant polynomial, with its cached properties filled in."""
    found = Poly({UNIT: value} if value else {})
    found._hash, found._free, found._height = hash(value), _NO_SYMBOLS, 0
    return found


ZERO = const(0)
ONE = const(1)


def as_poly(value: int | Poly) -> Poly:
    """Return a polynomial itself, or the constant polynomial of an integer."""
    return value if isinstance(value, Poly) else const(value)


def atom(generator: Generator) -> Poly:
    """Return the polynomial that consists of one generator, with its cached properties filled in."""
    found = Poly({(generator,): 1})
    found._free, found._height = generator.free, generator.height
    return found


def poly(terms: Terms, den: int = 1) -> Poly:
    """Build a polynomial from any terms and positive denominator: drop zeros and reduce to lowest terms."""
    if 0 in terms.values():
        terms = {mono: coef for mono, coef in terms.items() if coef}
    if len(terms) > MAX_TERMS:
        raise AlgebraBudget(f"an expression has more than {MAX_TERMS} terms")
    if den == 1:
        return Poly(terms)
    if not terms:
        return ZERO
    common = gcd(den, *terms.values())
    if common == 1:
        return Poly(terms, den)
    return Poly({mono: coef // common for mono, coef in terms.items()}, den // common)


def add(a: Poly, b: Poly) -> Poly:
    """Return the sum of two polynomials."""
    if a.den != b.den:
        return total_of((a, b))
    if len(a.terms) < len(b.terms):
        a, b = b, a
    terms = dict(a.terms)
    get = terms.get
    for mono, coef in b.terms.items():
        terms[mono] = get(mono, 0) + coef
    return poly(terms, a.den)


def subtract(a: Poly, b: Poly) -> Poly:
    """Return the difference of two polynomials."""
    if a.den != b.den:
        return total_of((a, -b))
    terms = dict(a.terms)
    get = terms.get
    for mono, coef in b.terms.items():
        terms[mono] = get(mono, 0) - coef
    return poly(terms, a.den)


def shift(a: Poly, by: int) -> Poly:
    """Return the sum of a polynomial and an integer; lowest terms stay lowest."""
    if not by:
        return a
    terms = dict(a.terms)
    constant = terms.pop(UNIT, 0) + by * a.den
    if constant:
        terms[UNIT] = constant
    return Poly(terms, a.den)


def total_of(parts: Iterable[Poly]) -> Poly:
    """Return the sum of many polynomials, in one pass."""
    listed = list(parts)
    if len(listed) == 1:
        return listed[0]
    den = lcm(*[part.den for part in listed])
    terms: Terms = {}
    get = terms.get
    for part in listed:
        factor = den // part.den
        for mono, coef in part.terms.items():
            terms[mono] = get(mono, 0) + coef * factor
    return poly(terms, den)


def total_known(polys: Iterable[Poly | None]) -> Poly | None:
    """Return the sum of polynomials; ``None`` if one of them is unknown."""
    listed = list(polys)
    known = [p for p in listed if p is not None]
    return total_of(known) if len(known) == len(listed) else None


def scale(a: Poly, factor: int, den: int = 1) -> Poly:
    """Multiply by the rational ``factor / den``."""
    if not factor:
        return ZERO
    if factor == den:
        return a
    if den == 1 and a.den == 1:
        return Poly({mono: coef * factor for mono, coef in a.terms.items()})
    return poly({mono: coef * factor for mono, coef in a.terms.items()}, a.den * den)


def monomial_product(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not a or not b:
        return a or b
    if len(a) + len(b) > MAX_DEGREE:
        raise AlgebraBudget(f"an expression has a degree above {MAX_DEGREE}")
    if a[-1].key <= b[0].key:  # usually the generators of one all come before those of the other
        return a + b
    return b + a if b[-1].key < a[0].key else tuple(sorted(a + b, key=_order))


def multiply(a: Poly, b: Poly) -> Poly:
    """Return the product of two polynomials."""
    if len(a.terms) < len(b.terms):
        a, b = b, a
    if len(b.terms) == 1 and UNIT in b.terms:
        return scale(a, b.terms[UNIT], b.den)
    if len(a.terms) == 1 and UNIT in a.terms:
        return scale(b, a.terms[UNIT], a.den)
    if len(a.terms) * len(b.terms) > MAX_PRODUCTS:
        raise AlgebraBudget("a product of expressions is too large")
    terms: Terms = {}
    get = terms.get
    for left, x in b.terms.items():
        for right, y in a.terms.items():
            mono = monomial_product(left, right)
            if mono and mono[0].key[0] == WHOLE:
                return _above.multiply_powers(a, b)
            terms[mono] = get(mono, 0) + x * y
    return poly(terms, a.den * b.den)


def product_of(factors: Iterable[Poly]) -> Poly:
    """Return the product of many polynomials."""
    number, rest = 1, []
    for factor in factors:
        value = factor.constant
        if value is None:
            rest.append(factor)
        else:
            number *= value
    if not rest:
        return const(number)
    result = scale(rest[0], number)
    for factor in rest[1:]:
        result = multiply(result, factor)
    return result


def power(base: Poly, exponent: int) -> Poly:
    """Raise a polynomial to a non-negative integer exponent."""
    if exponent < 0:
        raise ValueError("a negative exponent is not an integer polynomial")
    bits = max((coef.bit_length() for coef in base.terms.values()), default=0)
    if exponent * bits > MAX_BITS or exponent > MAX_BITS:
        raise AlgebraBudget("a power is too large")
    if exponent > MAX_DEGREE and base.constant is None:
        raise AlgebraBudget(f"an expression has a degree above {MAX_DEGREE}")
    result = ONE
    while exponent:
        if exponent & 1:
            result = multiply(result, base)
        exponent >>= 1
        if exponent:
            base = multiply(base, base)
    return result


def length(name: str, lo: int | Poly | None = 1, hi: int | Poly | None = LARGEST_LENGTH) -> Poly:
    """Return the length of this name: the same name and bounds give the same symbol.

    >>> length("n") - length("n")
    0
    """
    return atom(symbol_of(name, 0, "length", _bound(lo), _bound(hi)))


def coordinate(name: str, hi: int | Poly, lo: int | Poly = 1) -> Poly:
    """Return a fresh coordinate that runs from ``lo`` to ``hi``, different from every other symbol."""
    return atom(symbol_of(name, next(_serials), "coord", as_poly(lo), as_poly(hi)))


def numbered_coordinate(name: str, number: int, hi: int | Poly) -> Poly:
    """Return the coordinate of this number that runs from 1 to ``hi``; each call returns the same symbol.

    >>> numbered_coordinate("i", 1, 5) == numbered_coordinate("i", 1, 5) != coordinate("i", 5)
    True
    """
    return atom(symbol_of(name, 2 * number + 1, "coord", ONE, as_poly(hi)))


def data_symbol(
    name: str,
    lo: int | Poly | None = 0,
    hi: int | Poly | None = None,
    role: Role = "data",
    base: str = "",
) -> Poly:
    """Return a fresh integer that only data decides, with the known bounds."""
    return atom(symbol_of(name, next(_serials), role, _bound(lo), _bound(hi), base))


def _bound(value: int | Poly | None) -> Poly | None:
    return const(value) if isinstance(value, int) else value


def the_symbol(p: Poly) -> Symbol:
    """Return the symbol that a polynomial consists of; raise ``ValueError`` if it is anything else."""
    found = only_symbol(p)
    if found is None:
        raise ValueError(f"not a symbol: {p}")
    return found


def only_symbol(p: Poly) -> Symbol | None:
    """Return the symbol that a polynomial consists of, or None if it is anything else."""
    if len(p.terms) == 1 and p.den == 1:
        ((mono, coef),) = p.terms.items()
        if coef == 1 and len(mono) == 1 and isinstance(mono[0], Symbol):
            return mono[0]
    return None


def powers_of(p: Poly, generator: Generator) -> dict[int, Poly]:
    """Return the coefficients of a polynomial by the power of one generator, at the outer level only."""
    rows: dict[int, Terms] = {}
    for mono, coef in p.terms.items():
        times = mono.count(generator)
        rest = tuple([g for g in mono if g is not generator]) if times else mono
        rows.setdefault(times, {})[rest] = coef
    return {times: poly(terms, p.den) for times, terms in rows.items()}


def affine_parts(p: Poly, x: Symbol) -> tuple[Poly, Poly] | None:
    """Return ``a, r`` with ``p == a*x + r`` and both free of x, or ``None``."""
    parts = powers_of(p, x)
    if set(parts) - {0, 1} or any(x in part.free for part in parts.values()):
        return None
    return parts.get(1, ZERO), parts.get(0, ZERO)
