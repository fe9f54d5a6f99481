"""Decide whether two circuits are equal, as sums, differences, products and quotients of their inputs.

Both are evaluated at the same random points modulo random primes.  Two polynomials of degree d that differ
modulo a prime p agree at a random point with probability at most d/p (Schwartz and Zippel), and a prime
modulo which they become equal divides a coefficient, which few primes of a given size do.  Quotients are
compared as rational functions.

Numbers of R are exact.  A conversion that may change a number, and a result that a machine type rounds or
wraps, is treated as an unknown function: its value at a point is a random number, the same for the same
argument.  Circuits are therefore equal if they apply such functions to equal arguments; they are reported as
different only with a point at which exact values differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from tolcost.apps.circuits.circuit import (
    CastWire,
    Circuit,
    ConstantWire,
    Gate,
    GateWire,
    InputWire,
    Port,
    Wire,
    taken_wires,
    uncast,
)
from tolcost.diagnostics import quoted, refuse
from tolcost.execute.dtypes import number
from tolcost.spaces import ALL, SPACES, bounds_of, kind_of

T = TypeVar("T")

_BITS = 61
"""Primes have 62 bits: they lie between 2^61 and 2^62."""
_PRIMES = 3 * 2**_BITS // (5 * 43)
"""A lower bound on their number: more than 3x/(5 ln x) between x and 2x (Rosser and Schoenfeld, 1962)."""
_ATTEMPTS = 20
"""Points tried where a circuit divides by 0."""
_MOST = 1 << 200
"""Degrees and coefficients are cut off here: beyond it, points prove nothing."""
_LONGEST = 4_096
"""Bits up to which exact values are computed."""
_SEARCHED = 400_000
"""Gates evaluated exactly, approximately, in search of a point at which circuits differ."""
_KINDS = "BZRC"

_Element: TypeAlias = tuple[str, int, tuple[int, ...]]
"""An element of an input: its name, its component and its coordinates."""


class Identity(Struct, frozen=True):
    """The result of a comparison: the place of a difference, or agreement at all points.

    ``witness`` is a point at which exact values differ, if one was found; ``opaque`` is the number of
    conversions and rounded results compared by their arguments; ``error`` bounds the probability that
    different circuits agree at all points; ``renamed`` are the names of two single outputs if they differ.
    """

    trials: int
    degree: int
    opaque: int
    error: Fraction
    renamed: tuple[str, str] | None = None
    differs: str | None = None
    witness: str | None = None


def same_polynomials(first: Circuit, second: Circuit, trials: int = 8, seed: int | None = None) -> Identity:
    """Compare two circuits at common random points; without a seed the system draws them."""
    if _ports(first.inputs) != _ports(second.inputs):
        refuse("T0686", "the circuits do not have the same inputs")
    matched, renamed = _match_outputs(first, second)
    size, opaque = _size_of((first, second))
    error = size.error(opaque)
    random = Random(seed)
    for trial in range(1, trials + 1):
        place = _difference(first, matched, random)
        if place is not None:
            found = _witness(first, matched, random)
            if found is None and (opaque or not _is_endless(first)):
                message = f"{_named(first, place)} may differ, but no point was found at which it does"
                refuse("T0686", message, hint="conversions and machine types are compared by their arguments")
            place, witness = found or (place, None)
            return Identity(trial, size.degree, opaque, error, renamed, _named(first, place), witness)
    if error >= 1:
        refuse("T0686", "the degrees are too large to be compared by points")
    return Identity(trials, size.degree, opaque, error**trials, renamed)


# === Inputs and outputs.


def _ports(ports: Sequence[Port]) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Return the spaces and shapes of the components of each input or output."""
    found: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for port in ports:
        found.setdefault(port.name, []).append((port.space, port.shape))
    return found


def _match_outputs(first: Circuit, second: Circuit) -> tuple[Circuit, tuple[str, str] | None]:
    """Order the second circuit's outputs like the first's; two single outputs may have different names."""
    one, other = (_ports([port for port, _ in circuit.outputs]) for circuit in (first, second))
    renamed = None
    if len(one) == len(other) == 1 and one.keys() != other.keys():
        renamed = (next(iter(one)), next(iter(other)))
        other = {renamed[0]: other[renamed[1]]}
    if one.keys() != other.keys():
        names = [", ".join(map(quoted, each)) or "nothing" for each in (one, other)]
        refuse("T0686", f"the circuits do not have the same outputs: {names[0]}, and {names[1]}")
    wrong = [name for name in one if one[name] != other[name]]
    if wrong:
        refuse("T0686", f"the circuits do not have outputs of the same shapes and spaces: {quoted(wrong[0])}")
    place = {name: n for n, name in enumerate(one)}
    if renamed is not None:
        place[renamed[1]] = 0
    outputs = tuple(sorted(second.outputs, key=lambda output: place[output[0].name]))
    return Circuit(second.name, second.inputs, second.gates, outputs), renamed


def _named(circuit: Circuit, place: int) -> str:
    """Name an element of an output."""
    names = [f"{port.name}, element {k + 1}" for port, wires in circuit.outputs for k in range(len(wires))]
    return names[place]


def _elements(*circuits: Circuit) -> dict[_Element, str]:
    """Return the elements of inputs that any of the circuits reads, and their spaces."""
    plain = (uncast(wire) for circuit in circuits for wire in taken_wires(circuit))
    used = {_element(wire): wire.space for wire in plain if isinstance(wire, InputWire)}
    return dict(sorted(used.items()))


def _element(wire: InputWire) -> _Element:
    return wire.name, wire.component, wire.at


def _is_endless(circuit: Circuit) -> bool:
    """Whether all inputs are in infinite spaces, in which different polynomials differ somewhere."""
    return all(kind_of(port.space) != "B" and not SPACES[port.space].finite for port in circuit.inputs)


# === Circuits over any numbers.


def _keeps(source: str, target: str) -> bool:
    """Whether a conversion preserves every number."""
    if source == target:
        return True
    if "S" in (kind_of(source), kind_of(target)):
        return False
    holds_all = not SPACES[target].finite and bounds_of(target) is ALL and kind_of(target) != "B"
    return holds_all and _KINDS.index(kind_of(source)) <= _KINDS.index(kind_of(target))


class _Numbers(Struct, Generic[T], frozen=True):
    """The domain in which a circuit is evaluated: elements, constants, conversions, and functions."""

    element: Callable[[InputWire], T]
    constant: Callable[[Fraction], T]
    converted: Callable[[T, str], T]
    """Converts a number to a space that may not hold it."""
    rules: Mapping[str, Callable[..., T]]


def _evaluate(circuit: Circuit, numbers: _Numbers[T]) -> list[T]:
    """Evaluate all elements of the outputs."""
    values: list[T] = []

    def at(wire: Wire, space: str) -> T:
        """Evaluate a wire in a space; conversions may be nested, though not deeply."""
        match wire:
            case GateWire(gate=gate):
                value = values[gate]
            case ConstantWire():
                value = numbers.constant(_exact(wire))
            case InputWire():
                value = numbers.element(wire)
            case CastWire(wire=inner):
                value = at(inner, wire.space)
        return value if _keeps(wire.space, space) else numbers.converted(value, space)

    for gate in circuit.gates:
        _require_arithmetic(gate)
        value = numbers.rules[gate.function](*(at(wire, gate.space) for wire in gate.args))
        if SPACES[gate.space].finite:
            value = numbers.converted(value, gate.space)
        given = gate.spaces[0]
        values.append(value if _keeps(gate.space, given) else numbers.converted(value, given))
    return [at(wire, port.space) for port, wires in circuit.outputs for wire in wires]


_ARITHMETIC = frozenset({"add", "sub", "mul", "neg", "sqr", "div", "recip"})
_QUOTIENTS = frozenset({"div", "recip"})


def _require_arithmetic(gate: Gate) -> None:
    kinds = "RC" if gate.function in _QUOTIENTS else "ZRC"
    if gate.function not in _ARITHMETIC or kind_of(gate.space) not in kinds:
        message = f"`{gate.function}` is no arithmetic gate: identity is about sums, products and quotients"
        refuse("T0686", message)


def _exact(constant: ConstantWire) -> Fraction:
    """Return the number of a constant, as its space holds it."""
    value = constant.value
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        refuse("T0686", f"the constant {str(value)[:40]} is no number of a field")
    space = constant.space
    if _keeps("Z" if isinstance(value, int) else "R", space):
        return Fraction(value)
    return Fraction(number(value, space).item())


# === Modulo a prime.


class _ByZero(ArithmeticError):
    """A division by 0: another point is needed."""


def _difference(first: Circuit, second: Circuit, random: Random) -> int | None:
    """Return the index of an output element at which the circuits differ at a random point, if any."""
    for _ in range(_ATTEMPTS):
        field_ = _Field(_random_prime(random), random)
        try:
            left, right = (_evaluate(circuit, field_.numbers()) for circuit in (first, second))
        except _ByZero:
            continue
        return _first_difference(left, right)
    refuse("T0686", "the circuits divide by 0 everywhere")


def _first_difference(left: Sequence[T], right: Sequence[T]) -> int | None:
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=True)) if a != b), None)


class _Field(Struct, frozen=True):
    """The integers modulo a prime, with random values for elements of inputs, and for unknown functions."""

    prime: int
    random: Random
    point: dict[object, int] = field(default_factory=dict)

    def numbers(self) -> _Numbers[int]:
        p = self.prime
        rules: dict[str, Callable[..., int]] = {
            "add": lambda a, b: (a + b) % p,
            "sub": lambda a, b: (a - b) % p,
            "mul": lambda a, b: a * b % p,
            "neg": lambda a: -a % p,
            "sqr": lambda a: a * a % p,
            "div": lambda a, b: a * self.inverse(b) % p,
            "recip": self.inverse,
        }
        return _Numbers(
            lambda wire: self.drawn(_element(wire)),
            lambda value: value.numerator * pow(value.denominator, -1, p) % p,
            lambda value, space: self.drawn((space, value)),
            rules,
        )

    def drawn(self, key: object) -> int:
        """Return a random number, the same for equal keys."""
        if key not in self.point:
            self.point[key] = self.random.randrange(self.prime)
        return self.point[key]

    def inverse(self, value: int) -> int:
        if value == 0:
            raise _ByZero
        return pow(value, -1, self.prime)


def _random_prime(random: Random) -> int:
    while True:
        found = random.randrange(2**_BITS + 1, 2 ** (_BITS + 1), 2)
        if is_prime(found):
            return found


def is_prime(n: int) -> bool:
    """Whether an odd number below 2^81 is prime; the first 13 primes as bases make the test exact there.

    >>> [n for n in range(3, 30, 2) if is_prime(n)], is_prime(2**61 - 1), is_prime(2**61 + 1)
    ([3, 5, 7, 11, 13, 17, 19, 23, 29], True, False)
    """
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if n in bases:
        return True
    power = ((n - 1) & (1 - n)).bit_length() - 1
    return all(n % base and _passes(n, base, power) for base in bases)


def _passes(n: int, base: int, power: int) -> bool:
    """Whether a number passes the Miller–Rabin test for a base; n - 1 is odd times 2^power."""
    value = pow(base, (n - 1) >> power, n)
    if value in (1, n - 1):
        return True
    for _ in range(power - 1):
        value = value * value % n
        if value == n - 1:
            return True
    return False


# === The probability that different circuits agree.


class _Size(Struct, frozen=True):
    """Bounds of a quotient of polynomials with whole coefficients: degrees, and bits of their 1-norms."""

    top: int = 0
    bottom: int = 0
    top_bits: int = 0
    bottom_bits: int = 0

    @property
    def degree(self) -> int:
        """The degree of a difference of two such quotients, without its denominator."""
        return min(self.top + self.bottom, _MOST)

    def error(self, opaque: int) -> Fraction:
        """Bound the probability that different values, or arguments of such functions, agree at a point."""
        bits = self.top_bits + self.bottom_bits + 1
        one = Fraction(self.degree, 2**_BITS) + Fraction(bits, _BITS * _PRIMES)
        return min(one * _ATTEMPTS * (1 + opaque * (opaque - 1) // 2), Fraction(1))


def _plus(a: _Size, b: _Size) -> _Size:
    return _capped(
        max(a.top + b.bottom, b.top + a.bottom),
        a.bottom + b.bottom,
        max(a.top_bits + b.bottom_bits, b.top_bits + a.bottom_bits) + 1,
        a.bottom_bits + b.bottom_bits,
    )


def _times(a: _Size, b: _Size) -> _Size:
    return _capped(a.top + b.top, a.bottom + b.bottom, a.top_bits + b.top_bits, a.bottom_bits + b.bottom_bits)


def _capped(*numbers: int) -> _Size:
    return _Size(*(min(value, _MOST) for value in numbers))


def _turned(a: _Size) -> _Size:
    return _Size(a.bottom, a.top, a.bottom_bits, a.top_bits)


_SIZES: Mapping[str, Callable[..., _Size]] = {
    "add": _plus,
    "sub": _plus,
    "mul": _times,
    "neg": lambda a: a,
    "sqr": lambda a: _times(a, a),
    "div": lambda a, b: _times(a, _turned(b)),
    "recip": _turned,
}


def _size_of(circuits: Sequence[Circuit]) -> tuple[_Size, int]:
    """Return a bound of all outputs and of all arguments of unknown functions, and the number of these."""
    met: list[_Size] = []
    opaque = 0

    def converted(value: _Size, space: str) -> _Size:
        nonlocal opaque
        opaque += 1
        met.append(value)
        return _Size(top=1)

    def constant(value: Fraction) -> _Size:
        return _Size(0, 0, value.numerator.bit_length(), value.denominator.bit_length())

    numbers = _Numbers(lambda wire: _Size(top=1), constant, converted, _SIZES)
    for circuit in circuits:
        met += _evaluate(circuit, numbers)
    ends = [[getattr(size, part) for size in met] for part in _Size.__struct_fields__]
    return _Size(*(max(end, default=0) for end in ends)), opaque


# === Points at which exact values differ.


class _GivenUp(ArithmeticError):
    """A point without known exact values: they are too long, or a conversion has none."""


def _witness(first: Circuit, second: Circuit, random: Random) -> tuple[int, str] | None:
    """Return the index of an output element and a point at which its exact values differ, if one is found."""
    elements = _elements(first, second)
    for _ in range(max(4, min(1_000, _SEARCHED // (first.size + second.size + 1)))):
        point = {element: _drawn(space, random) for element, space in elements.items()}
        try:
            left, right = (_evaluate(circuit, _exact_numbers(point)) for circuit in (first, second))
        except (_GivenUp, ZeroDivisionError):
            continue
        place = _first_difference(left, right)
        if place is not None:
            return place, _point_text(point)
    return None


def _exact_numbers(point: Mapping[_Element, Fraction]) -> _Numbers[Fraction]:
    def kept(value: Fraction) -> Fraction:
        if value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST:
            raise _GivenUp
        return value

    rules: dict[str, Callable[..., Fraction]] = {
        "add": lambda a, b: kept(a + b),
        "sub": lambda a, b: kept(a - b),
        "mul": lambda a, b: kept(a * b),
        "neg": lambda a: -a,
        "sqr": lambda a: kept(a * a),
        "div": lambda a, b: kept(a / b),
        "recip": lambda a: 1 / a,
    }
    return _Numbers(lambda wire: point[_element(wire)], lambda value: value, _in_space, rules)


def _in_space(value: Fraction, space: str) -> Fraction:
    """Convert a number to a space: rounded, or wrapped."""
    found = SPACES[space]
    match found.kind:
        case "B":
            return Fraction(value != 0)
        case "Z" if found.finite:
            low = int(found.lo or 0)
            return Fraction((round(value) - low) % 2 ** (found.bits or 0) + low)
        case "Z":
            value = Fraction(round(value))
        case _ if found.finite:
            return _rounded(value, space)
        case _:
            pass
    if value not in bounds_of(space):
        raise _GivenUp
    return value


def _rounded(value: Fraction, space: str) -> Fraction:
    """Round a number to a floating-point type through 64 bits, unless double rounding may change it."""
    if abs(value) > (SPACES[space].hi or _LARGE):
        raise _GivenUp
    near = float(value)
    around = [near] if Fraction(near) == value else [near, *(math.nextafter(near, end) for end in _ENDS)]
    rounded = {complex(number(one, space).item()).real for one in around}
    if space == "float64":
        return Fraction(near)
    if len(rounded) > 1 or not all(map(math.isfinite, rounded)):
        raise _GivenUp
    return Fraction(rounded.pop())


_ENDS = (-math.inf, math.inf)
_LARGE = 2**127


def _drawn(space: str, random: Random) -> Fraction:
    """Draw a number of a space: mostly a small one, and a real one with few digits or many."""
    found = SPACES[space]
    far = random.choice((1, 9, 9, 1_000, 1 << 40))
    match found.kind:
        case "B":
            return Fraction(random.randrange(2))
        case "Z":
            low = -far if found.lo is None else max(found.lo, -far)
            high = far if found.hi is None else min(found.hi, far)
            value = Fraction(random.randint(int(low), int(high)))
        case _:
            digits = random.choice((0, 1, 3, 12, 30, 60))
            value = Fraction(random.randint(-9 << digits, 9 << digits), random.choice((1, 1, 64)) << digits)
    try:
        if found.finite:
            value = _in_space(value, space)
    except _GivenUp:
        return Fraction(1)
    return next(one for one in (value, -value, Fraction(1), Fraction(-1)) if one in bounds_of(space))


def _point_text(point: Mapping[_Element, Fraction]) -> str:
    """Format a few elements of a point, with their values."""
    shown = [
        f"{name}{[*at] if at else ''}{f'[{component}]' + chr(39) if component > 1 else ''} = {value}"
        for (name, component, at), value in list(point.items())[:4]
    ]
    return ", ".join(shown) + (", …" if len(point) > len(shown) else "")
