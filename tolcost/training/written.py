"""Backward passes that are written beside a definition, in ``specs/backward``, as frameworks run them.

Such a program takes inputs and outputs of forward by their names, ``d_y`` for the adjoint of an output ``y``,
and attributes, and gives ``d_x`` for each input ``x`` that has a gradient.  What it takes of forward and is
no output of the node, forward keeps for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import AlgebraBudget, Poly
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import inner_nodes
from tolcost.atoms.nodes import Program
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import Argument, Tensor, elaborate
from tolcost.elaborate.values import Missing
from tolcost.models.lowered import Lowered
from tolcost.pipeline import Parsed, read_program
from tolcost.platform import specs_root
from tolcost.syntax.tree import Define, InputDecl

FOLDER = "backward"
_MARK = "d_"


class WrittenPass(Struct, frozen=True, eq=False):
    """A written backward pass for an operator; ``extra`` are tensors that forward keeps for it."""

    program: Program
    gradients: Mapping[str, str]
    adjoints: Mapping[str, tuple[str, ...]]
    extra: Mapping[str, tuple[tuple[Poly, ...], str]]


class DefinedNode(Struct, frozen=True, eq=False):
    """A node with the definition of its operator, and where this was found."""

    library: Library
    node: GraphNode
    spec: Spec

    @property
    def backward(self) -> Parsed | None:
        """The written backward pass of the newest meaning of the operator."""
        newest = self.library.versions(self.node.domain, self.node.op)[-1:]
        return written_file(self.node.domain, self.node.op) if newest == (self.spec,) else None


@cache
def written_file(domain: str, name: str) -> Parsed | None:
    """Return the written backward pass of an operator, if there is one."""
    shown = written_name(domain, name)
    file = specs_root().joinpath(*shown.split("/"))
    if not name[:1].isupper() or not file.is_file():
        return None
    return read_program(Source(shown, file.read_text("utf-8")))


def written_name(domain: str, name: str) -> str:
    """Return where the written backward pass of an operator is, if there is one."""
    return "/".join(filter(None, (FOLDER, domain, f"{name}.tol")))


def has_gradients(parsed: Parsed) -> frozenset[str]:
    """Return the inputs of an operator that have a gradient, as its written backward pass says."""
    defined = (s for s in parsed.program.statements if isinstance(s, Define) and s.output)
    return frozenset(s.name.removeprefix(_MARK) for s in defined)


def written_pass(
    parsed: Parsed,
    definition: DefinedNode,
    lowered: Lowered,
    wanted: tuple[str, ...],
    of: tuple[str, ...],
) -> WrittenPass | None:
    """Lower a written backward pass for an operator; None where it does not fit."""
    try:
        return lower_written(parsed, definition, lowered.program, wanted, of)
    except (Rejected, AlgebraBudget, RecursionError):  # the derivative is there for these
        return None


def lower_written(
    parsed: Parsed,
    definition: DefinedNode,
    forward: Program,
    wanted: tuple[str, ...],
    of: tuple[str, ...],
) -> WrittenPass | None:
    """Lower a written backward pass beside an operator's program; None if it takes what is not there."""
    inputs = {given.name: _tensor(given) for given in forward.inputs}
    outputs = {output.name: _tensor(output.node) for output in forward.outputs}
    attributes = attribute_values(definition.node)
    declared = [s for s in parsed.program.statements if isinstance(s, InputDecl)]
    tensors = [s for s in declared if s.kind != "attr"]
    plain = [s.name for s in tensors if not s.name.startswith(_MARK)]
    extra: dict[str, Tensor] = {}
    if any(name not in inputs and name not in outputs for name in plain):
        every = _all_outputs(definition, inputs)
        extra = {name: every[name] for name in plain if name in every and name not in outputs}
    known = {**inputs, **outputs, **extra}
    arguments: dict[str, Argument] = {s.name: attributes[s.name] for s in declared if s.name in attributes}
    for statement in tensors:
        name = statement.name
        if name.startswith(_MARK):
            found = outputs.get(name[len(_MARK) :]) if name[len(_MARK) :] in of else None
        else:
            found = known.get(name)
        if found is not None:
            arguments[name] = found
        elif statement.optional:
            arguments[name] = Missing(name)
        else:
            return None
    adjoints = {name: (f"{_MARK}{name}",) for name in of}
    if any(f"{_MARK}{name}" not in arguments for name in of):
        return None
    made = elaborate(
        parsed.program,
        arguments,
        name=f"{definition.spec.name}_backward",
        library=parsed.library,
        operators=definition.library.operators(),
    ).program
    gradients = {name: f"{_MARK}{name}" for name in wanted}
    if not set(gradients.values()) <= {output.name for output in made.outputs}:
        return None
    program = _only(made, frozenset(gradients.values()))
    shapes = {name: (tensor.shape, tensor.space) for name, tensor in extra.items()}
    return WrittenPass(program, gradients, adjoints, shapes)


def _tensor(node: ir.Node) -> Tensor:
    part = node.type[0]
    return Tensor(part.shape, part.space)


def _all_outputs(definition: DefinedNode, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the types of all outputs that an operator can give."""
    spec = definition.spec
    arguments: dict[str, Argument] = {s.name: inputs.get(s.name, Missing(s.name)) for s in spec.inputs}
    names = {s.name for s in spec.attributes}
    arguments |= {name: value for name, value in attribute_values(definition.node).items() if name in names}
    found = elaborate(
        spec.program,
        arguments,
        name=spec.name,
        library=spec.library,
        operators=definition.library.operators(),
        outputs=len(spec.outputs),
    )
    return {output.name: _tensor(output.node) for output in found.program.outputs}


def _only(program: Program, names: frozenset[str]) -> Program:
    """Return a program with some of its outputs, and the bindings that these need."""
    outputs = tuple([output for output in program.outputs if output.name in names])
    bound = dict(program.bindings)
    read = {node.var for node in inner_nodes([o.node for o in outputs], bound) if isinstance(node, ir.Ref)}
    kept = tuple([pair for pair in program.bindings if pair[0] in read])
    return replace(program, outputs=outputs, bindings=kept)
