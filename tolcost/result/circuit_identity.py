"""Whether two arithmetic circuits are the same polynomials, by evaluating both at random points of a field.

Two different polynomials of degree d agree at a random point of a field of p elements with probability d/p
at most (Schwartz and Zippel).  With p = 2^61 - 1 and a few points that is nothing to speak of; a difference
is certain.  Quotients are allowed, and compared as rational functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from random import Random

from tolcost.dataclass import dataclass
from tolcost.diagnostics import refuse
from tolcost.execute.circuit import Circuit, ConstantWire, GateWire, InputWire, Wire, uncast
from tolcost.spaces import kind_of

PRIME = 2**61 - 1
_ATTEMPTS = 20

_Field = Mapping[InputWire, int]


@dataclass(frozen=True, slots=True)
class Identity:
    """What random points told: where two circuits differ, or that they agree at all; the degree at most."""

    trials: int
    degree: int
    differs: str | None

    @property
    def error(self) -> Fraction:
        """How likely at most it is that different circuits agreed at all points."""
        return min(Fraction(self.degree, PRIME), Fraction(1)) ** self.trials


class _Zero(ArithmeticError):
    """A division by 0 in the field: another point has to be taken."""


def same_polynomials(first: Circuit, second: Circuit, trials: int = 8, seed: int = 0) -> Identity:
    """Evaluate two circuits at random points, the same for both."""
    shapes = [[(port.name, port.shape) for port in circuit.inputs] for circuit in (first, second)]
    if shapes[0] != shapes[1]:
        refuse("T0686", "the circuits do not have the same inputs")
    given, found = ([port.shape for port, _ in circuit.outputs] for circuit in (first, second))
    if given != found:
        refuse("T0686", "the circuits do not have outputs of the same shapes")
    (top, bottom), (over, under) = _degrees(first), _degrees(second)
    bound = max(top + under, over + bottom)
    random = Random(seed)
    for trial in range(1, trials + 1):
        place = _difference(first, second, random)
        if place is not None:
            return Identity(trial, bound, place)
    return Identity(trials, bound, None)


def _difference(first: Circuit, second: Circuit, random: Random) -> str | None:
    for _ in range(_ATTEMPTS):
        point = {wire: random.randrange(PRIME) for wire in _elements(first)}
        try:
            left, right = evaluated(first, point), evaluated(second, point)
        except _Zero:
            continue
        names = [f"{port.name}, element {k + 1}" for port, wires in first.outputs for k in range(len(wires))]
        pairs = zip(names, left, right, strict=True)
        return next((name for name, a, b in pairs if a != b), None)
    refuse("T0686", "the circuits divide by 0 everywhere")


def _elements(circuit: Circuit) -> list[InputWire]:
    wires = (wire for gate in circuit.gates for wire in gate.args)
    ends = (wire for _, outputs in circuit.outputs for wire in outputs)
    plain = (uncast(wire) for wire in (*wires, *ends))
    used = {(wire.name, wire.component, wire.at) for wire in plain if isinstance(wire, InputWire)}
    return [InputWire(name, at, component, "") for name, component, at in sorted(used)]


def evaluated(circuit: Circuit, point: _Field) -> list[int]:
    """All elements of the outputs at a point of the field; elements that it does not name are 0."""
    values: list[int] = []

    def at(wire: Wire) -> int:
        match uncast(wire):
            case GateWire(gate=gate):
                return values[gate]
            case ConstantWire() as constant:
                return _in_field(constant)
            case InputWire(name=name, at=place, component=component):
                return point.get(InputWire(name, place, component, ""), 0)

    for gate in circuit.gates:
        values.append(_rule(gate.function, gate.space)[0](*map(at, gate.args)) % PRIME)
    return [at(wire) for _, wires in circuit.outputs for wire in wires]


def _in_field(constant: ConstantWire) -> int:
    value = constant.value
    if not isinstance(value, (int, float)) or not isfinite(value):
        refuse("T0686", f"the constant {str(value)[:40]} is no number of a field")
    exact = Fraction(value)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


def _inverse(value: int) -> int:
    if value % PRIME == 0:
        raise _Zero
    return pow(value, -1, PRIME)


_Degrees = tuple[int, int]
"""The degrees of a numerator and of a denominator."""


def _sum_of(a: _Degrees, b: _Degrees) -> _Degrees:
    return max(a[0] + b[1], b[0] + a[1]), a[1] + b[1]


def _product_of(a: _Degrees, b: _Degrees) -> _Degrees:
    return a[0] + b[0], a[1] + b[1]


_RULES: Mapping[str, tuple[Callable[..., int], Callable[..., _Degrees]]] = {
    "add": (lambda a, b: a + b, _sum_of),
    "sub": (lambda a, b: a - b, _sum_of),
    "mul": (lambda a, b: a * b, _product_of),
    "neg": (lambda a: -a, lambda a: a),
    "sqr": (lambda a: a * a, lambda a: _product_of(a, a)),
    "div": (lambda a, b: a * _inverse(b), lambda a, b: _product_of(a, b[::-1])),
    "recip": (_inverse, lambda a: a[::-1]),
}
"""What each arithmetic gate computes in the field, and the degrees of its result."""


def _rule(function: str, space: str) -> tuple[Callable[..., int], Callable[..., _Degrees]]:
    if function not in _RULES or kind_of(space) == "B":
        refuse("T0686", f"`{function}` is no arithmetic gate: identity is about sums, products and quotients")
    return _RULES[function]


def _degrees(circuit: Circuit) -> _Degrees:
    """The greatest degrees of a numerator and of a denominator among the outputs."""
    found: list[_Degrees] = []

    def at(wire: Wire) -> _Degrees:
        plain = uncast(wire)
        if isinstance(plain, GateWire):
            return found[plain.gate]
        return (1, 0) if isinstance(plain, InputWire) else (0, 0)

    for gate in circuit.gates:
        found.append(_rule(gate.function, gate.space)[1](*map(at, gate.args)))
    ends = [at(wire) for _, wires in circuit.outputs for wire in wires]
    return max((top for top, _ in ends), default=0), max((bottom for _, bottom in ends), default=0)
