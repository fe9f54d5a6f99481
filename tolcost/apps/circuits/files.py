"""Circuits as files: JSON to write and read, Graphviz to draw, and ToLang programs of equal cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from msgspec import Struct

from tolcost.apps.circuits.circuit import (
    CastWire,
    Circuit,
    ConstantWire,
    Gate,
    GateWire,
    InputWire,
    Port,
    Wire,
    gate_of,
    taken_wires,
    uncast,
)
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse
from tolcost.elementary import FUNCTIONS
from tolcost.show.document import VERSION, Json, document
from tolcost.spaces import SPACES, kind_of

R = TypeVar("R")

KIND = "circuit"
MOST_GATES = 100_000
_MOST_CASTS = 50

# ---- JSON --------------------------------------------------------------------------------


def circuit_json(circuit: Circuit) -> str:
    """Write a circuit as JSON: ports, gates in order, and the source of each output."""
    return document(
        KIND,
        {
            "name": circuit.name,
            "size": circuit.size,
            "depth": circuit.depth,
            "inputs": [_port_json(port) for port in circuit.inputs],
            "gates": [
                {
                    "function": gate.function,
                    "space": gate.space,
                    "gives": list(gate.spaces),
                    "args": [_wire_json(wire) for wire in gate.args],
                }
                for gate in circuit.gates
            ],
            "outputs": [
                {**_port_json(port), "wires": [_wire_json(wire) for wire in wires]}
                for port, wires in circuit.outputs
            ],
        },
    )


def _port_json(port: Port) -> dict[str, Json]:
    return {"name": port.name, "space": port.space, "shape": list(port.shape)}


def _wire_json(wire: Wire) -> Json:
    match wire:
        case InputWire(name=name, at=at, component=component):
            return {"input": name, "at": list(at), **({"component": component} if component > 1 else {})}
        case ConstantWire(value=complex() as value, space=space):
            return {"constant": [repr(value.real), repr(value.imag)], "space": space}
        case ConstantWire(value=value, space=space):
            return {"constant": str(int(value) if isinstance(value, bool) else value), "space": space}
        case GateWire(gate=gate, output=output):
            return {"gate": gate, **({"output": output} if output else {})}
        case CastWire(wire=inner, space=space):
            return {"convert": _wire_json(inner), "space": space}


def read_circuit(text: str) -> Circuit:
    """Read a circuit from JSON; any other content is a diagnostic."""
    try:
        found = json.loads(text)
        _require(isinstance(found, dict) and found.get("kind") == KIND, "this is no circuit of tolcost")
        _require(found.get("tolcost") == VERSION, "this is a circuit of another version")
        return _at("the circuit", lambda whole: _Reader(whole).circuit(), found)
    except (ValueError, RecursionError) as error:
        raise Rejected(Diagnostic("T0685", f"this is no circuit: {error}"[:200])) from None


def _at(what: str, read: Callable[[dict[str, Any]], R], entry: dict[str, Any]) -> R:
    """Read an entry; a missing key, or a form that the schema does not allow, is a diagnostic."""
    try:
        return read(entry)
    except KeyError as error:
        refuse("T0685", f"{what} has no {quoted(str(error.args[0]))}")
    except (TypeError, AttributeError, IndexError):
        refuse("T0685", f"{what} is not of the form that docs/schemas/circuit.json has")


def _require(holds: object, message: str) -> None:
    if not holds:
        refuse("T0685", message)


def _space(name: object) -> str:
    _require(isinstance(name, str) and name in SPACES and kind_of(name) != "S", "there is no such space")
    return str(name)


def _whole(value: object, low: int) -> int:
    _require(
        isinstance(value, int) and not isinstance(value, bool) and value >= low, "a number is out of range"
    )
    return value  # type: ignore[return-value]


class _Reader:
    """Reads the entries of a file in order: a wire can come only from an entry read before it."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.inputs = tuple(_at("an input", self.port, entry) for entry in found["inputs"])
        self.gates: list[Gate] = []

    def circuit(self) -> Circuit:
        _require(len(self.found["gates"]) <= MOST_GATES, f"there are more than {MOST_GATES:,} gates")
        for number, gate in enumerate(self.found["gates"]):
            try:
                self.gates.append(_at("it", self.gate, gate))
            except Rejected as rejected:
                refuse("T0685", f"gate {number}: {rejected.diagnostics[0].message}")
        outputs = tuple(_at("an output", self.output, entry) for entry in self.found["outputs"])
        return Circuit(str(self.found["name"]), self.inputs, tuple(self.gates), outputs)

    def port(self, entry: dict[str, Any]) -> Port:
        name = entry["name"]
        _require(isinstance(name, str) and name.isidentifier() and name.isascii(), "a name is none in ToLang")
        return Port(name, _space(entry["space"]), tuple(_whole(n, 0) for n in entry["shape"]))

    def gate(self, entry: dict[str, Any]) -> Gate:
        function = entry["function"]
        _require(function in FUNCTIONS, "there is no such function")
        gives = tuple(map(_space, entry["gives"]))
        args = tuple(map(self.wire, entry["args"]))
        _require(_fits(function, len(args), len(gives)), f"`{function}` does not take {len(args)} wires")
        return Gate(function, _space(entry["space"]), gives, args)

    def output(self, entry: dict[str, Any]) -> tuple[Port, tuple[Wire, ...]]:
        port, wires = self.port(entry), tuple(map(self.wire, entry["wires"]))
        _require(len(wires) == math.prod(port.shape), "an output has not a wire for every element")
        return port, wires

    def wire(self, entry: dict[str, Any], casts: int = 0) -> Wire:
        _require(casts <= _MOST_CASTS, "a wire is converted too often")
        if "convert" in entry:
            return CastWire(self.wire(entry["convert"], casts + 1), _space(entry["space"]))
        if "constant" in entry:
            return ConstantWire(_constant(entry["constant"], _space(entry["space"])), entry["space"])
        if "gate" in entry:
            place, output = _whole(entry["gate"], 0), _whole(entry.get("output", 0), 0)
            _require(place < len(self.gates), "a gate uses one that comes after it")
            _require(output < len(self.gates[place].spaces), "a gate does not give so many values")
            return GateWire(place, output, self.gates[place].spaces[output])
        return self.of_input(entry)

    def of_input(self, entry: dict[str, Any]) -> InputWire:
        ports = [port for port in self.inputs if port.name == entry["input"]]
        component = _whole(entry.get("component", 1), 1)
        _require(component <= len(ports), "there is no such input")
        port, at = ports[component - 1], tuple(_whole(k, 1) for k in entry["at"])
        inside = len(at) == len(port.shape) and all(k <= n for k, n in zip(at, port.shape, strict=True))
        _require(inside, "an input has no such element")
        return InputWire(port.name, at, component, port.space)


def _fits(function: str, args: int, outputs: int) -> bool:
    """Whether a gate may take a number of wires: a choice takes a condition and both alternatives."""
    if FUNCTIONS[function].rule == "where":
        return outputs >= 1 and args == 2 * outputs + 1
    low, high = FUNCTIONS[function].arity
    return outputs == 1 and low <= args <= high


def _constant(entry: object, space: str) -> int | float | complex:
    if isinstance(entry, list):
        return complex(float(entry[0]), float(entry[1]))
    text = str(entry)
    return int(text) if kind_of(space) in ("B", "Z") and "." not in text else float(text)


# ---- Graphviz ----------------------------------------------------------------------------


def circuit_dot(circuit: Circuit) -> str:
    """Draw a circuit for Graphviz: inputs and constants that are used, gates, and outputs."""
    lines = ["digraph circuit {", "  rankdir=BT;", "  node [shape=circle];"]
    seen: dict[str, str] = {}
    for place, gate in enumerate(circuit.gates):
        lines.append(f'  g{place} [label="{gate.function}"];')
        for wire in gate.args:
            lines += _edge(wire, f"g{place}", seen)
    for port, wires in circuit.outputs:
        for k, wire in enumerate(wires):
            end = f"out_{port.name}_{k + 1}"
            label = _element(port.name, _place(k, port.shape))
            lines += [f'  {end} [shape=plaintext, label="{label}"];', *_edge(wire, end, seen)]
    return "\n".join([*lines, "}", ""])


def _edge(converted: Wire, to: str, seen: dict[str, str]) -> list[str]:
    wire = uncast(converted)
    if isinstance(wire, GateWire):
        return [f"  g{wire.gate} -> {to};"]
    label = literal(wire) if isinstance(wire, ConstantWire) else _element(wire.name, wire.at, wire.component)
    known = label in seen
    name = seen.setdefault(label, f"in{len(seen)}")
    drawn = [] if known else [f'  {name} [shape=plaintext, label="{label}"];']
    return [*drawn, f"  {name} -> {to};"]


def _place(k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the coordinates of the k-th element in row-major order."""
    at: list[int] = []
    for length in reversed(shape):
        at.append(k % length + 1)
        k //= length
    return tuple(reversed(at))


# ---- ToLang ------------------------------------------------------------------------------


def _element(name: str, at: Sequence[int], component: int = 1, capacity: int = 1) -> str:
    taken = f"{name}[{', '.join(map(str, at))}]" if at else name
    return f"{taken}[{component}]'" if max(component, capacity) > 1 else taken


class _Names(Struct, frozen=True):
    """The names of gates, the capacity of each input, and the names of constants that are data."""

    prefix: str
    capacities: dict[str, int]
    late: dict[ConstantWire, str]

    def text(self, wire: Wire, gates: Sequence[Gate], late: bool = False) -> str:
        """Write a wire as an expression; ``late`` where a constant must be data."""
        match wire:
            case InputWire(name=name, at=at, component=component):
                return _element(name, at, component, self.capacities[name])
            case ConstantWire():
                return self.late[wire] if late else literal(wire)
            case GateWire(gate=gate, output=output):
                several = len(gates[gate].spaces) > 1
                return f"{self.prefix}{gate + 1}" + (f"[{output + 1}]" if several else "")
            case CastWire(wire=inner, space=space):
                return f"convert({self.text(inner, gates, late)}, {space})"


def literal(wire: ConstantWire) -> str:
    """Write a constant in ToLang, in its space.

    >>> literal(ConstantWire(-2, "Z")), literal(ConstantWire(0.5, "float32"))
    ('(-2)', 'convert(0.5, float32)')
    """
    value, space = wire.value, wire.space
    if isinstance(value, complex):
        unit = "sqrt(convert(-1, C))"
        return f"convert({_plain(value.real)} + {_plain(value.imag)} * {unit}, {space})"
    if kind_of(space) == "B":
        return "true" if value else "false"
    plain = _plain(value)
    needed = SPACES[space].finite or (kind_of(space) == "R" and isinstance(value, int))
    return f"convert({plain}, {space})" if needed else plain


def _plain(value: int | float | complex | str) -> str:
    text = str(value).replace("inf", "Inf").replace("nan", "NaN")
    return f"({text})" if text.startswith("-") else text


def circuit_program(circuit: Circuit) -> str:
    """Write a circuit as a program with a line for every gate, of equal results and equal cost."""
    names = _names(circuit)
    lines = [f"# The circuit of {circuit.name}: {circuit.size} gates, {circuit.depth} deep."]
    lines += [*_declarations(circuit.inputs), *_late(circuit, names)]
    for place, gate in enumerate(circuit.gates, start=1):
        lines.append(f"{names.prefix}{place} = {_application(gate, circuit.gates, names)}")
    for name, ports in groupby(circuit.outputs, key=lambda output: output[0].name):
        parts = [_laid_out(port, wires, circuit.gates, names) for port, wires in ports]
        result = ", ".join(parts)
        lines.append(f"{name} := {result if len(parts) == 1 else f'({result})'}")
    lines += _unused(circuit, names)
    return "\n".join([*lines, ""])


def _names(circuit: Circuit) -> _Names:
    used = {port.name for port in (*circuit.inputs, *(port for port, _ in circuit.outputs))}
    prefix = "g"
    while any(name.startswith(prefix) for name in used):
        prefix += "g"
    capacities: dict[str, int] = {}
    for port in circuit.inputs:
        capacities[port.name] = capacities.get(port.name, 0) + 1
    late: dict[ConstantWire, str] = {}
    for gate in filter(_only_constants, circuit.gates):
        for wire in map(uncast, gate.args):
            assert isinstance(wire, ConstantWire)
            late.setdefault(wire, f"{prefix}_data_{len(late) + 1}[2]")
    return _Names(prefix, capacities, late)


def _only_constants(gate: Gate) -> bool:
    return all(isinstance(uncast(wire), ConstantWire) for wire in gate.args)


def _late(circuit: Circuit, names: _Names) -> Iterator[str]:
    """Yield definitions of constants that count as data, such as an accumulator's start.

    Each is put beside an element of an input, which makes it data.
    """
    if not names.late:
        return
    port = next((port for port in circuit.inputs if math.prod(port.shape)), None)
    if port is None:
        refuse("T0685", "gates of constants alone count only beside an input")
    data = _element(port.name, [1] * len(port.shape), 1, names.capacities[port.name])
    for wire, name in names.late.items():
        known = f"reshape(convert({data}, {wire.space}), [1])"
        yield f"{name.removesuffix('[2]')} = [*{known}, {literal(wire)}]"


def _unused(circuit: Circuit, names: _Names) -> Iterator[str]:
    """Yield a further output with the gates that no output needs, since unused values are not computed."""
    used = set(map(gate_of, taken_wires(circuit)))
    left = [GateWire(k, 0, gate.spaces[0]) for k, gate in enumerate(circuit.gates) if k not in used]
    for space, group in groupby(sorted(left, key=lambda wire: wire.space), key=lambda wire: wire.space):
        entries = ", ".join(names.text(wire, circuit.gates) for wire in group)
        yield f"{names.prefix}_unused_{space.replace('*', '_')} := [{entries}]"


def _declarations(inputs: Sequence[Port]) -> Iterator[str]:
    for name, grouped in groupby(inputs, key=lambda port: port.name):
        ports = list(grouped)
        space = ports[0].space
        if len(ports) > 1:
            space = f"list_{name}"
            yield f"list {space}: {', '.join(port.space for port in ports)}"
        shape = ", ".join(map(str, ports[0].shape))
        yield f"tol {name}: {space}" + (f" [{shape}]" if shape else "")


def _application(gate: Gate, gates: Sequence[Gate], names: _Names) -> str:
    late = _only_constants(gate)
    args = [names.text(wire, gates, late) for wire in gate.args]
    width = len(gate.spaces)
    if width > 1:
        either = (", ".join(args[1 : width + 1]), ", ".join(args[width + 1 :]))
        return f"where({args[0]}, [{either[0]}], [{either[1]}])"
    return f"{gate.function}({', '.join(args)})"


def _laid_out(port: Port, wires: Sequence[Wire], gates: Sequence[Gate], names: _Names) -> str:
    """Write the elements of an output in nested brackets."""
    if not wires:
        return f"convert(tol[{', '.join(map(str, port.shape))}], {port.space})"
    entries = [names.text(wire, gates) for wire in wires]
    for length in reversed(port.shape):
        entries = [f"[{', '.join(entries[k : k + length])}]" for k in range(0, len(entries), length)]
    return f"convert({entries[0]}, {port.space})"
