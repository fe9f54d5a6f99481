"""The derivative of a program: the vector-Jacobian product, as a program of the same kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tolcost.algebra import ONE, Symbol
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import inner_nodes, type_symbols
from tolcost.atoms.nodes import Node, Output, Program
from tolcost.atoms.verify import verify
from tolcost.diagnostics import refuse, visible
from tolcost.gradient.emit import emit, packed
from tolcost.gradient.equations import Equation, ReadAt, Static
from tolcost.gradient.flatten import Flat, family, flatten
from tolcost.gradient.fusion import fuse, needed
from tolcost.gradient.longest import needed_bindings
from tolcost.gradient.reverse import is_real, reverse


class GradientRequest(Struct, frozen=True):
    """Which inputs to differentiate by, and which outputs; empty: all that are real.

    With ``values``, the derivative gives the outputs, too.  With ``given`` it takes them as inputs, where it
    would compute them again.  With ``nonzero`` it leaves out gradients that are 0.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    values: bool = False
    given: bool = False
    nonzero: bool = False


class Derivative(Struct, frozen=True, eq=False):
    """The program of gradients, and its names: of gradients by input, of adjoints and values by output."""

    program: Program
    gradients: Mapping[str, str]
    adjoints: Mapping[str, tuple[str, ...]]
    values: Mapping[str, str]


def derivative(program: Program, wanted: GradientRequest | None = None) -> Program:
    """Return the program of gradients.

    It takes the inputs of the program, and for each output ``y`` the adjoint ``d_y`` from outside.
    Its outputs are ``d_x`` for each input ``x``: the products of the adjoints with the Jacobian.
    """
    return derive(program, wanted).program


def derive(program: Program, wanted: GradientRequest | None = None) -> Derivative:
    """Return the program of gradients with the names in it."""
    asked = wanted or GradientRequest()
    inputs = _inputs(program, asked.inputs)
    outputs = _outputs(program, asked.outputs)
    flat = flatten(program, [output.name for output in outputs])
    taken = {needed.name for needed in program.inputs} | {output.name for output in program.outputs}
    names = {name: _fresh(f"d_{name}", taken) for name in inputs}
    seeds = {
        output.name: [
            _fresh(f"d_{output.name}" + (f"_{k + 1}" if len(output.node.type) > 1 else ""), taken)
            for k in range(len(output.node.type))
        ]
        for output in outputs
    }
    found = reverse(flat, inputs, seeds, names)
    if not found.cotangents:
        told = ", ".join(f"`{visible(output.name)}`" for output in outputs)
        refuse(
            "T0901",
            f"there is nothing to differentiate: {told} does not depend on "
            f"{', '.join(f'`{visible(name)}`' for name in inputs)} in a way that has a derivative",
        )
    values = _give(flat, outputs) if asked.given else {}
    gradients = {
        name: [
            _zeros(source, names[name]) if array is None else array
            for source, array in zip(flat.inputs[name], gradient, strict=True)
            if is_real(source.space)
        ]
        for name, gradient in found.gradients.items()
        if not asked.nonzero or any(array is not None for array in gradient)
    }
    made = [array for gradient in gradients.values() for array in gradient]
    kept = [array for output in outputs for array in flat.outputs[output.name]] if asked.values else []
    granted = tuple([noted.condition for noted in program.conditions])
    lengths = _lengths(flat, [*kept, *made])
    arrays = [*lengths, *kept, *made]
    emitted = emit(fuse(arrays), arrays, granted)
    results = []
    if asked.values:
        for output in outputs:
            nodes = [emitted.nodes[array] for array in flat.outputs[output.name]]
            results.append(Output(output.name, packed(nodes), output.span))
    for name, parts in gradients.items():
        results.append(Output(names[name], packed([emitted.nodes[array] for array in parts])))
    bound = [node for _, node in emitted.bindings]
    forward = needed_bindings(program, [one.measured.of.array.given for one in lengths if one.measured])
    used = (*program.inputs, *found.cotangents, *_read(values, (*bound, *(one.node for one in results))))
    derived = Program(
        f"{program.name}_grad",
        used,
        (*forward, *emitted.bindings),
        tuple(results),
        program.conditions,
        _symbols(program, used),
        (),
    )
    verify(derived)
    return Derivative(
        derived,
        {name: names[name] for name in gradients},
        {name: tuple(called) for name, called in seeds.items()},
        {name: given.name for name, given in values.items()},
    )


def _lengths(flat: Flat, outputs: Iterable[Equation]) -> list[Equation]:
    """Return the arrays that define the lengths of what outputs need, each after those that it needs."""
    found: list[Equation] = []
    for array in reversed(flat.lengths):
        assert array.measured is not None
        there = needed([*outputs, *found])
        if array in there or any(array.measured.length in one.lengths for one in there):
            found.append(array)
    return found[::-1]


def _give(flat: Flat, outputs: Iterable[Output]) -> dict[str, ir.Input]:
    """Let all that reads the arrays of outputs read inputs of the same values."""
    given: dict[str, ir.Input] = {}
    for output in outputs:
        arrays = [_computed(array) for array in flat.outputs[output.name]]
        if any(array.loop is not None or array.value is None or _by_data(array) for array in arrays):
            continue
        node = given[output.name] = ir.Input(output.name, output.node.type)
        for k, (array, part) in enumerate(zip(arrays, node.type, strict=True)):
            array.value, array.given, array.space = None, node, part.space
            array.component = k + 1 if len(arrays) > 1 else None
    return given


def _by_data(array: Equation) -> bool:
    """Whether data decides a length of an array."""
    return any(symbol.kind == "data" for extent in array.domain.extents for symbol in extent.free)


def _computed(array: Equation) -> Equation:
    """Return the array that an output is a copy of."""
    while isinstance(array.value, ReadAt) and array.value.at == array.domain.at:
        if array.value.array.domain.extents != array.domain.extents:
            break
        array = array.value.array
    return array


def _read(values: Mapping[str, ir.Input], nodes: Iterable[Node]) -> tuple[ir.Input, ...]:
    """Return the outputs that a derivative reads."""
    there = {node for node in inner_nodes(nodes) if isinstance(node, ir.Input)} if values else set()
    return tuple([node for node in values.values() if node in there])


def _symbols(program: Program, inputs: Iterable[ir.Input]) -> tuple[Symbol, ...]:
    found = dict.fromkeys(program.symbols)
    for given in inputs:
        found.update(dict.fromkeys(sorted(type_symbols(given.type), key=lambda s: s.key)))
    return tuple([symbol for symbol in found if symbol.kind != "coord"])


def _zeros(array: Equation, name: str) -> Equation:
    """Return the gradient of what no output depends on."""
    space = family(array.space)
    return Equation(name, space, array.domain.fresh()[0], Static(ONE * 0, space))


def _inputs(program: Program, asked: tuple[str, ...]) -> tuple[str, ...]:
    by_name = {needed.name: needed for needed in program.inputs}
    for name in asked:
        if name not in by_name:
            refuse("T0902", f"the program has no input `{visible(name)}`", hint=_known("inputs", by_name))
        if not any(is_real(part.space) for part in by_name[name].type):
            space = by_name[name].type[0].space
            message = f"the input `{name}` is in {space}, and only real numbers have derivatives"
            refuse("T0901", message, hint=_known("inputs", _real(by_name.values())))
    real = _real(program.inputs)
    if not real:
        refuse("T0901", "there is nothing to differentiate: the program has no input of real numbers")
    return asked or real


def _real(inputs: Iterable[ir.Input]) -> tuple[str, ...]:
    return tuple([one.name for one in inputs if any(is_real(part.space) for part in one.type)])


def _outputs(program: Program, asked: tuple[str, ...]) -> tuple[Output, ...]:
    by_name = {output.name: output for output in program.outputs}
    for name in asked:
        if name not in by_name:
            refuse("T0902", f"the program has no output `{visible(name)}`", hint=_known("outputs", by_name))
        if not any(is_real(part.space) for part in by_name[name].node.type):
            space = by_name[name].node.type[0].space
            message = f"the output `{name}` is in {space}, and only real numbers have derivatives"
            refuse("T0901", message, by_name[name].span)
    real = [out for out in program.outputs if any(is_real(part.space) for part in out.node.type)]
    if not real:
        message = "there is nothing to differentiate: the program has no output of real numbers"
        refuse("T0901", message, program.outputs[0].span)
    return tuple([by_name[name] for name in asked]) if asked else tuple(real)


def _known(what: str, names: Iterable[str]) -> str:
    listed = [f"`{visible(name)}`" for name in names]
    return f"its real {what} are {', '.join(listed)}" if listed else f"it has no real {what}"


def _fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    made, number = name, 2
    while made in taken:
        made, number = f"{name}_{number}", number + 1
    taken.add(made)
    return made
