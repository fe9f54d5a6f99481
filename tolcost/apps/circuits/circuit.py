"""A program at given lengths as a circuit: a graph of functions from input elements to output elements.

Of the five atoms only lambda computes; members, joins and embeds route values, and in a circuit a route is a
wire.  A value that depends on no input is a constant.  The gates of a circuit are therefore the functions
that count, and its size and depth are the program's EOPs and depth at these lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from tolcost.algebra import evaluate
from tolcost.atoms.lengths import given_lengths
from tolcost.atoms.nodes import Program
from tolcost.atoms.unroll import (
    Atom,
    AtomResult,
    CastOperand,
    Constants,
    InputOperand,
    Operand,
    Unrolled,
    unroll,
)
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, refuse
from tolcost.execute.dtypes import Array, convert, number, object_array
from tolcost.execute.functions import apply_checked
from tolcost.execute.values import Faults


class InputWire(Struct, frozen=True):
    """An element of an input: its coordinates, and its component if the input consists of lists."""

    name: str
    at: tuple[int, ...]
    component: int
    space: str


class ConstantWire(Struct, frozen=True):
    """A number that depends on no input."""

    value: int | float | complex | str
    space: str


class GateWire(Struct, frozen=True):
    """An output of a gate, by the gate's index; a choice between lists or ToLs has several outputs."""

    gate: int
    output: int
    space: str


class CastWire(Struct, frozen=True):
    """A value converted to another space, which is not a computation."""

    wire: Wire
    space: str


Wire: TypeAlias = InputWire | ConstantWire | GateWire | CastWire


class Gate(Struct, frozen=True):
    """An elementary function that counts: the space it computes in, and the spaces of its outputs."""

    function: str
    space: str
    spaces: tuple[str, ...]
    args: tuple[Wire, ...]


class Port(Struct, frozen=True):
    """A component of an input or an output: its name, space and shape."""

    name: str
    space: str
    shape: tuple[int, ...]


class Circuit(Struct, frozen=True, dict=True):
    """Gates in topological order, and outputs with a wire for every element."""

    name: str
    inputs: tuple[Port, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[tuple[Port, tuple[Wire, ...]], ...]

    @property
    def size(self) -> int:
        """The number of gates."""
        return len(self.gates)

    @cached_property
    def depth(self) -> int:
        """The largest number of gates in a chain; gates that no output needs are included."""
        depths: list[int] = []
        for gate in self.gates:
            depths.append(1 + max((depths[k] for k in map(gate_of, gate.args) if k is not None), default=0))
        return max(depths, default=0)


def uncast(wire: Wire) -> InputWire | ConstantWire | GateWire:
    """Return the wire under any number of conversions."""
    while isinstance(wire, CastWire):
        wire = wire.wire
    return wire


def gate_of(wire: Wire) -> int | None:
    """Return the index of the gate that a wire comes from, if any."""
    found = uncast(wire)
    return found.gate if isinstance(found, GateWire) else None


def taken_wires(circuit: Circuit) -> Iterator[Wire]:
    """Yield the wires that gates and outputs consume."""
    yield from (wire for gate in circuit.gates for wire in gate.args)
    yield from (wire for _, outputs in circuit.outputs for wire in outputs)


def circuit_of(program: Program, dims: Mapping[str, int]) -> Circuit:
    """Write out a program as a circuit, with every length given by name."""
    unrolled = unroll(program, dims)
    inputs = tuple(_ports(program, dims))
    builder = _Builder(inputs)
    for atom in unrolled.atoms:
        builder.results.append(builder.value(atom))
    return Circuit(program.name, inputs, tuple(builder.gates), tuple(_outputs(builder, unrolled)))


def _ports(program: Program, dims: Mapping[str, int]) -> Iterator[Port]:
    known = given_lengths(program, dims)
    for given in program.inputs:
        for part in given.type:
            yield Port(given.name, part.space, tuple(evaluate(length, known) for length in part.shape))


def _outputs(builder: _Builder, unrolled: Unrolled) -> Iterator[tuple[Port, tuple[Wire, ...]]]:
    for name, operand, shapes in unrolled.outputs:
        for part, shape in zip(builder.fetch(operand), shapes, strict=True):
            wires = tuple(part.wires.reshape(-1).tolist())
            yield Port(name, part.space, shape), wires


class _Part(Struct, frozen=True):
    """A component of a value: an array of wires, and their space."""

    wires: Array
    space: str


def _wires(wires: Sequence[Wire], shape: tuple[int, ...]) -> Array:
    return object_array(wires).reshape(shape)


class _Builder:
    """The gates so far, and the result of every atom."""

    def __init__(self, inputs: Sequence[Port]) -> None:
        self.inputs = inputs
        self.gates: list[Gate] = []
        self.results: list[tuple[_Part, ...]] = []

    # ---- operands --------------------------------------------------------------------------

    def fetch(self, operand: Operand) -> tuple[_Part, ...]:
        match operand:
            case AtomResult(place=place):
                return self.results[place]
            case InputOperand(name=name):
                ports = [port for port in self.inputs if port.name == name]
                return tuple(_of_port(port, k) for k, port in enumerate(ports, start=1))
            case CastOperand(bits=True):
                raise _refused("bits that are read as another type are no wire of a circuit")
            case CastOperand(value=value, spaces=spaces):
                parts = self.fetch(value)
                return tuple(_cast(part, space) for part, space in zip(parts, spaces, strict=True))
            case Constants(values=values, shape=shape, space=space):
                wires = [_constant(number(value, space), space) for value in values]
                return (_Part(_wires(wires, shape), space),)

    # ---- atoms -----------------------------------------------------------------------------

    def value(self, atom: Atom) -> tuple[_Part, ...]:
        args = [self.fetch(arg) for arg in atom.args]
        match atom.operation:
            case "lambda":
                return self.applied(atom, args)
            case "norm":
                return (_Part(_wires([ConstantWire(n, "N") for n in args[0][0].wires.shape], (-1,)), "N"),)
            case "member" if atom.component:
                return (args[0][atom.component - 1],)
            case "member":
                at = [i if isinstance(i, int) else self.place(i) for i in atom.index]
                return tuple(_element(part, at) for part in args[0])
            case "join" if atom.d:
                pairs = zip(args[0], args[1], atom.spaces, strict=True)
                return tuple(_joined(left, right, atom.d, space) for left, right, space in pairs)
            case "join":
                return (*args[0], *args[1])
            case "embed":
                return tuple(_Part(part.wires.reshape(atom.shape), part.space) for part in args[0])

    def place(self, operand: Operand) -> int:
        wire = self.fetch(operand)[0].wires.reshape(-1)[0]
        if not isinstance(wire, ConstantWire):
            raise _refused("a member at a place that data decides is no wire of a circuit")
        return int(number(wire.value, "Z"))

    def applied(self, atom: Atom, args: list[tuple[_Part, ...]]) -> tuple[_Part, ...]:
        """Return the wires of a function: outputs of a gate if it counts, else constants."""
        if atom.charge != "data":
            return _folded(atom, args)
        inputs = tuple(wire for parts in args for part in parts for wire in part.wires.reshape(-1).tolist())
        gate = len(self.gates)
        shapes = [part.wires.shape for part in args[1]] if atom.function == "where" else [()]
        self.gates.append(Gate(atom.function, atom.space, _spread(atom.spaces, shapes), inputs))
        made, first = [], 0
        for shape, space in zip(shapes, atom.spaces, strict=True):
            count = int(np.prod(shape, dtype=np.int64))
            outputs = [GateWire(gate, first + k, space) for k in range(count)]
            made.append(_Part(_wires(outputs, shape), space))
            first += count
        return tuple(made)


def _spread(spaces: tuple[str, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    """Return the space of every output of a gate."""
    pairs = zip(spaces, shapes, strict=True)
    return tuple(space for space, shape in pairs for _ in range(int(np.prod(shape, dtype=np.int64))))


def _of_port(port: Port, component: int) -> _Part:
    wires: list[Wire] = [
        InputWire(port.name, tuple(k + 1 for k in at), component, port.space) for at in np.ndindex(port.shape)
    ]
    return _Part(_wires(wires, port.shape), port.space)


def _constant(value: Array, space: str) -> Wire:
    plain = value.item()
    return ConstantWire(plain if isinstance(plain, (bool, int, float, complex, str)) else float(plain), space)


def _cast(part: _Part, space: str) -> _Part:
    if part.space == space:
        return part
    wires = [_cast_wire(wire, space) for wire in part.wires.reshape(-1).tolist()]
    return _Part(_wires(wires, part.wires.shape), space)


def _cast_wire(wire: Wire, space: str) -> Wire:
    if isinstance(wire, ConstantWire):
        return _constant(convert(number(wire.value, wire.space), space), space)
    return CastWire(wire, space)


def _element(part: _Part, at: list[int]) -> _Part:
    wires = part.wires if part.wires.shape else part.wires.reshape((1,) * len(at))
    for k, size in zip(at, wires.shape, strict=True):
        if not 1 <= k <= size:
            refuse("T0346", f"a member is read out of range: index {k} is outside 1..{size}")
    return _Part(_wires([wires[tuple(k - 1 for k in at)]], ()), part.space)


def _joined(left: _Part, right: _Part, d: int, space: str) -> _Part:
    """Join two parts; a numeric stands for a vector of one entry."""
    both = [_cast(part, space).wires for part in (left, right)]
    return _Part(np.concatenate([wires if wires.ndim else wires.reshape(1) for wires in both], d - 1), space)


def _folded(atom: Atom, args: list[tuple[_Part, ...]]) -> tuple[_Part, ...]:
    """Evaluate a function that does not count, on constants; a result that depends on data is refused."""
    if atom.function == "where":
        chosen = args[1] if _number(args[0][0]) != 0 else args[2]
        return tuple(_cast(part, space) for part, space in zip(chosen, atom.spaces, strict=True))
    with np.errstate(all="ignore"):
        found, wrong = apply_checked(
            atom.function, atom.space, atom.spaces[0], [_number(parts[0]) for parts in args]
        )
    if wrong is not None:
        faults = Faults()
        fault = faults.of_numbers(wrong, NOWHERE, f"`{atom.function}` gives", atom.spaces[0])
        raise Rejected(faults.diagnostic(int(fault)))
    return (_Part(_wires([_constant(found, atom.spaces[0])], ()), atom.spaces[0]),)


def _number(part: _Part) -> Any:
    wire = part.wires.reshape(-1)[0]
    if not isinstance(wire, ConstantWire):
        raise _refused("a place that is computed from data is no wire of a circuit")
    return number(wire.value, wire.space)


def _refused(message: str) -> Rejected:
    return Rejected(Diagnostic("T0510", message))
