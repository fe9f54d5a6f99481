"""Pairs of circuits that differ in one gate, input, conversion or constant are told apart, in both orders.

``python -m tools.circuit_pairs 1000 --start 1`` draws small arithmetic circuits and changes one thing in
each.  That a pair differs is found out here, by exact values at points of its own; a pair with no such point
is left out.  Beside each pair there is one that differs only in how it is written, which has to be the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.apps.circuits.circuit import (
    CastWire,
    Circuit,
    ConstantWire,
    Gate,
    GateWire,
    InputWire,
    Port,
    Wire,
)
from tolcost.apps.circuits.files import circuit_json, read_circuit
from tolcost.apps.circuits.identity import same_polynomials
from tolcost.diagnostics import Rejected

INPUTS = (Port("x", "R", (3,)), Port("z", "Z", (2,)), Port("n", "N", ()), Port("h", "float16", (2,)))
_CONSTANTS = (0, 1, 2, 3, -1, 7, 2**61 - 1, 2**61, 2**62 + 1, 0.5, 0.25, 0.1, 1e-12, -2.5)
_PRIME = 2**61 - 1
_POINTS = 60
_CHANGES = ("gate", "input", "conversion", "constant")
_TYPES: Mapping[str, Callable[[float], object]] = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
}

# === Circuits.


class _Drawing(Struct):
    draw: Random
    gates: list[Gate] = field(default_factory=list)

    def wire(self) -> Wire:
        """A gate, mostly one of the last, an element of an input, or a constant."""
        way = self.draw.random()
        if self.gates and way < 0.55:
            k = max(0, len(self.gates) - 1 - self.draw.randrange(3))
            return GateWire(k, 0, self.gates[k].spaces[0])
        if way < 0.85:
            return draw_element(self.draw)
        value = self.draw.choice(_CONSTANTS)
        return ConstantWire(
            float(value) if self.draw.random() < 0.3 else value, "R" if value != int(value) else "Z"
        )

    def gate(self) -> None:
        function = self.draw.choice(("add", "add", "sub", "mul", "mul", "neg", "sqr", "div", "recip"))
        args = [self.wire() for _ in range(1 if function in ("neg", "sqr", "recip") else 2)]
        if self.draw.random() < 0.15:
            args[0] = converted(self.draw, args[0])
        spaces = {wire.space for wire in args}
        space = "Z" if spaces <= {"Z", "N", "B"} and function not in ("div", "recip") else "R"
        if self.draw.random() < 0.1:
            space = self.draw.choice(("float32", "float16"))
        self.gates.append(Gate(function, space, (space,), tuple(args)))


def draw_element(draw: Random) -> InputWire:
    """An element of an input."""
    port = draw.choice(INPUTS)
    return InputWire(port.name, tuple(draw.randint(1, size) for size in port.shape), 1, port.space)


def converted(draw: Random, wire: Wire) -> Wire:
    """A wire in another space, once or twice."""
    for _ in range(draw.choice((1, 1, 2))):
        wire = CastWire(wire, draw.choice(("B", "Z", "float16", "float32", "R", "int8")))
    return wire


def draw_circuit(draw: Random) -> Circuit:
    """A circuit of a few gates; its outputs are the last two of them."""
    drawing = _Drawing(draw)
    for _ in range(draw.randint(2, 9)):
        drawing.gate()
    gates = tuple(drawing.gates)
    wires: tuple[Wire, ...] = tuple(
        GateWire(k, 0, gates[k].spaces[0]) for k in (len(gates) - 2, len(gates) - 1)
    )
    outputs = tuple((Port(name, wire.space, ()), (wire,)) for name, wire in zip("vw", wires, strict=True))
    return Circuit("drawn", INPUTS, gates, outputs)


# === Changes.


def change(circuit: Circuit, what: str, draw: Random) -> Circuit | None:
    """The circuit with one gate, input, conversion or constant changed; None if there is none to change."""
    places = [(k, n) for k, gate in enumerate(circuit.gates) for n in range(len(gate.args))]
    draw.shuffle(places)
    for k, n in places:
        gate = circuit.gates[k]
        changed = _changed_function(gate, draw) if what == "gate" and draw.random() < 0.5 else None
        wire = changed or _changed_wire(gate.args[n], what, draw, circuit.gates[:k])
        if wire is None:
            continue
        new = (
            wire
            if isinstance(wire, Gate)
            else replace(gate, args=(*gate.args[:n], wire, *gate.args[n + 1 :]))
        )
        return replace(circuit, gates=(*circuit.gates[:k], new, *circuit.gates[k + 1 :]))
    return None


def _changed_function(gate: Gate, draw: Random) -> Gate:
    others = ("add", "sub", "mul") if len(gate.args) == 2 else ("neg", "sqr")
    return replace(gate, function=draw.choice([name for name in others if name != gate.function]))


def _changed_wire(wire: Wire, what: str, draw: Random, gates: Sequence[Gate]) -> Wire | None:
    match what, wire:
        case "conversion", CastWire(wire=inner) if draw.random() < 0.4:
            return inner
        case "conversion", _:
            return converted(draw, wire)
        case "input", InputWire():
            return draw.choice([other for other in _all_elements() if other != wire])
        case "constant", ConstantWire(value=int() | float() as value, space=space):
            shift = draw.choice((1, -1, _PRIME, -_PRIME, 2, *((0.5, 1e-9) if space == "R" else ())))
            return ConstantWire(_PRIME if value == 0 else value + shift, space)
        case "gate", GateWire(gate=gate) if gate > 0:
            other = draw.randrange(gate)
            return GateWire(other, 0, gates[other].spaces[0])
        case _:
            return None


def _all_elements() -> list[InputWire]:
    return [
        InputWire(port.name, tuple(k + 1 for k in at), 1, port.space)
        for port in INPUTS
        for at in np.ndindex(port.shape)
    ]


def rewrite(circuit: Circuit, draw: Random) -> Circuit:
    """The same circuit written in another way: terms turned round, squares and differences spelled out."""
    gates: list[Gate] = []
    at: list[int] = []
    for gate in circuit.gates:
        args = tuple(_moved(wire, at) for wire in gate.args)
        plain = replace(gate, args=args)
        new = _spelled(plain, gates, draw) if gate.space in _EXACT else plain
        gates.append(new)
        at.append(len(gates) - 1)
    outputs = tuple((port, tuple(_moved(wire, at) for wire in wires)) for port, wires in circuit.outputs)
    return Circuit(circuit.name, circuit.inputs, tuple(gates), outputs)


_EXACT = ("R", "Z")


def _spelled(gate: Gate, gates: list[Gate], draw: Random) -> Gate:
    """The same gate written in another way, perhaps with one before it."""
    args = gate.args
    match gate.function:
        case "add" | "mul":
            return replace(gate, args=args[::-1])
        case "sqr" if draw.random() < 0.7:
            return replace(gate, function="mul", args=args * 2)
        case "sub":
            gates.append(Gate("neg", gate.space, (gate.space,), (args[1],)))
            return replace(gate, function="add", args=(args[0], GateWire(len(gates) - 1, 0, gate.space)))
        case "neg":
            return replace(gate, function="mul", args=(ConstantWire(-1, "Z"), *args))
        case _:
            return gate


def _moved(wire: Wire, at: Sequence[int]) -> Wire:
    match wire:
        case GateWire(gate=gate, output=output, space=space):
            return GateWire(at[gate], output, space)
        case CastWire(wire=inner, space=space):
            return CastWire(_moved(inner, at), space)
        case _:
            return wire


# === Exact values.


class _Unknown(ArithmeticError):
    """A point at which a value is not known exactly."""


Point = Mapping[tuple[str, tuple[int, ...]], Fraction]


def values(circuit: Circuit, point: Point) -> list[Fraction]:
    """The exact values of the outputs."""
    found: list[Fraction] = []

    def at(wire: Wire) -> Fraction:
        match wire:
            case GateWire(gate=gate):
                return found[gate]
            case ConstantWire(value=value):
                return Fraction(value)  # type: ignore[arg-type]
            case InputWire(name=name, at=place):
                return point[name, place]
            case CastWire(wire=inner, space=space):
                return held(at(inner), space)

    for gate in circuit.gates:
        args = [held(at(wire), gate.space) for wire in gate.args]
        found.append(held(_applied(gate.function, args), gate.space))
    return [at(wire) for _, wires in circuit.outputs for wire in wires]


def _applied(function: str, args: Sequence[Fraction]) -> Fraction:
    match function, args:
        case "add", (a, b):
            return a + b
        case "sub", (a, b):
            return a - b
        case "mul", (a, b):
            return a * b
        case "div", (a, b):
            return a / b
        case "neg", (a,):
            return -a
        case "sqr", (a,):
            return a * a
        case _, (a,):
            return 1 / a
        case _:
            raise ValueError(function)


def held(value: Fraction, space: str) -> Fraction:
    """A number as a space holds it."""
    match space:
        case "R":
            return value
        case "Z":
            return Fraction(round(value))
        case "B":
            return Fraction(value != 0)
        case "int8":
            return Fraction((round(value) + 128) % 256 - 128)
        case _:
            return _rounded(value, space)


def _rounded(value: Fraction, space: str) -> Fraction:
    plain = float(value)
    if Fraction(plain) != value:
        raise _Unknown
    with np.errstate(all="ignore"):
        found = float(_TYPES[space](plain))  # type: ignore[arg-type]
    if not np.isfinite(found):
        raise _Unknown
    return Fraction(found)


def draw_point(draw: Random) -> Point:
    """A number for each element of an input, of few digits or of many."""
    point = {}
    for wire in _all_elements():
        digits = draw.choice((0, 2, 9)) if wire.space == "float16" else draw.choice((1, 4, 20, 40))
        value = Fraction(draw.randint(-3 << digits, 3 << digits), 1 << digits)
        if wire.space in ("Z", "N"):
            value = Fraction(draw.randint(-6, 6))
        elif wire.space == "float16":
            value = Fraction(float(np.float16(float(value))))
        point[wire.name, wire.at] = abs(value) if wire.space == "N" else value
    return point


def differ(first: Circuit, second: Circuit, draw: Random) -> bool:
    """Whether a point is found at which two circuits give different values."""
    for _ in range(_POINTS):
        point = draw_point(draw)
        try:
            if values(first, point) != values(second, point):
                return True
        except (_Unknown, ZeroDivisionError, OverflowError):
            continue
    return False


# === The campaign.


class Outcome(Struct):
    """How many pairs were told apart, by what was changed, and those that were not."""

    pairs: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def hold(seed: int, outcome: Outcome) -> bool:
    """Draw a pair that differs, and one that does not; False where a change changes nothing."""
    draw = Random(seed)
    first = draw_circuit(draw)
    what = _CHANGES[seed % len(_CHANGES)]
    second = change(first, what, draw)
    if second is None or not differ(first, second, draw):
        return False
    outcome.pairs += 1
    for order, pair in (("", (first, second)), (" in the other order", (second, first))):
        outcome.ends[f"{what}: {(end := verdict(*pair, seed))}{order}"] += 1
        if end == "the same":
            outcome.failures.append(f"{seed}: {what}: different, but the same{order}")
    end = verdict(first, rewrite(first, draw), seed)
    outcome.ends[f"rewritten: {end}"] += 1
    if end == "not the same":
        outcome.failures.append(f"{seed}: rewritten, but not the same")
    return True


def verdict(first: Circuit, second: Circuit, seed: int) -> str:
    """What is said of two circuits, read back from their files."""
    try:
        found = same_polynomials(
            read_circuit(circuit_json(first)), read_circuit(circuit_json(second)), seed=seed
        )
    except Rejected as refused:
        return f"refused ({refused.diagnostics[0].message.partition(':')[0]})"
    return "the same" if found.differs is None else "not the same"


def campaign(count: int, start: int) -> Outcome:
    """Compare so many pairs that differ."""
    outcome, seed = Outcome(), start
    while outcome.pairs < count:
        hold(seed, outcome)
        seed += 1
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare as many pairs as there are to be, and print what was said of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    given = parser.parse_args(arguments)
    begun = time.monotonic()
    outcome = campaign(given.count, given.start)
    for text in outcome.failures:
        print(text)
    print(f"{outcome.pairs} pairs from {given.start} on, {time.monotonic() - begun:.0f} s")
    for end, times in sorted(outcome.ends.items()):
        print(f"{times:7} {end}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
