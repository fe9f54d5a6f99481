"""The backward pass of an operator: what it computes, reads, and only passes on.

It is derived from the definition of the operator, once for each scheme and for what is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import AlgebraBudget, Poly, Symbol, const, product_of, substituting
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import inner_nodes
from tolcost.atoms.nodes import Node, Program
from tolcost.cost import count, traffic
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.models.lowered import ComputedCost, Lowered
from tolcost.models.schemes import GeneralProgram
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.programs import SUM, rule
from tolcost.training.stored import PassKey, StoredPasses, StoredPattern
from tolcost.training.written import DefinedNode, WrittenPass, has_gradients, written_pass


class Passes(Struct):
    """The backward passes found so far, by the program of the operator and what is asked."""

    is_written: bool = False
    """Whether written backward passes are taken, where there are any."""
    stored: StoredPasses | None = None
    """The passes that come with tolcost; None if all are to be derived."""
    found: dict[tuple[object, ...], BackwardPass | Diagnostic | None] = field(default_factory=dict)
    views: dict[tuple[object, ...], str | None] = field(default_factory=dict)
    placed: dict[tuple[object, ...], Lowered] = field(default_factory=dict)
    held: list[object] = field(default_factory=list)
    """What keys go by the identity of, so that it stays."""

    def derived(
        self, lowered: Lowered, wanted: tuple[str, ...], of: tuple[str, ...]
    ) -> BackwardPass | Diagnostic | None:
        """Return the derivative of an operator; a diagnostic if there is none, None if it is 0."""
        key = (id(lowered.lowered), wanted, of)
        if key not in self.found:
            self.held.append(lowered.lowered)
            self.found[key] = derived_pass(lowered, lowered.op, wanted, of)
        return self.found[key]

    def backward(
        self, definition: DefinedNode, lowered: Lowered, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> BackwardPass | Diagnostic | None:
        """Return the backward pass of an operator: a written one that fits, else its derivative.

        A written one also says which inputs have gradients: the statistics of a normalisation have none.
        """
        pattern, asked = self.pattern_of(lowered), (inputs, outputs)
        if pattern is not None and pattern.has(asked, self.is_written):
            return self._stored(pattern, asked, definition, lowered)
        parsed = definition.backward
        if parsed is None:
            return self.derived(lowered, inputs, outputs)
        there = has_gradients(parsed)
        wanted = tuple([name for name in inputs if name in there])
        if not wanted:
            return None
        if self.is_written:
            key = ("written", id(lowered.lowered), wanted, outputs)
            if key not in self.found:
                self.held.append(lowered.lowered)
                made = written_pass(parsed, definition, lowered, wanted, outputs)
                self.found[key] = None if made is None else pass_written(made)
            found = self.found[key]
            if found is not None:
                return found
        return self.derived(lowered, wanted, outputs)

    def _stored(
        self, pattern: StoredPattern, key: PassKey, definition: DefinedNode, lowered: Lowered
    ) -> BackwardPass | Diagnostic | None:
        """Return a stored backward pass; its program is derived on demand."""
        place = ("stored", id(lowered.lowered), *key)
        if place not in self.found:
            self.held.append(lowered.lowered)

            def program() -> Program:
                found = Passes(self.is_written).backward(definition, lowered, *key)
                assert isinstance(found, BackwardPass)
                return found.program

            self.found[place] = pattern.backward(key, program)
        return self.found[place]

    def pattern_of(self, lowered: Lowered) -> StoredPattern | None:
        """Return what is stored of an operator in backward, if it is an instance of a stored scheme."""
        general = lowered.lowered
        if self.stored is None or not isinstance(general, GeneralProgram):
            return None
        return self.stored.pattern(general.domain, general.name, general.pattern)

    def inputs(self, lowered: Lowered) -> frozenset[str]:
        """Return the inputs of an operator's program."""
        pattern = self.pattern_of(lowered)
        return pattern.inputs if pattern else frozenset(given.name for given in lowered.program.inputs)

    def addition(self, elements: Poly, space: str) -> Lowered:
        """Return the addition of one more gradient to a sum."""
        key = ("sum", elements)
        if key not in self.placed:
            self.placed[key] = rule("backward/sum", 1).at((elements,), SUM)
        return self.placed[key]

    def placed_at(self, lowered: Lowered, found: BackwardPass, title: str) -> Lowered:
        """Return a backward pass as an operator at the lengths of the operator that it belongs to."""
        key = (id(lowered), id(found))
        if key not in self.placed:
            self.held.append(lowered)
            put = substituting(lengths_of(lowered)) if lowered.is_instance else _same
            counts, moved = found.cost.counts.map_forms(put), found.cost.traffic.map_forms(put)
            self.placed[key] = replace(
                lowered,
                op=title,
                made=ComputedCost(counts, moved, ()),
                lowered=found.lowered,
                titles=(),
                choices=(),
                chain=(),
                level=None,
                mac_flow=None,
                conditions=(),
                unproved=(),
            )
        return self.placed[key]

    def view(self, lowered: Lowered, title: str) -> str | None:
        """Return the input of which an output is a part or a rearrangement; None if it is computed."""
        pattern = self.pattern_of(lowered)
        if pattern is not None and title in pattern.views:
            return pattern.views[title]
        key = (id(lowered.lowered), title)
        if key not in self.views:
            self.held.append(lowered.lowered)
            self.views[key] = view_of(lowered, title)
        return self.views[key]


def _same(form: Poly) -> Poly:
    return form


def lengths_of(lowered: Lowered) -> dict[Symbol, Poly]:
    """Return the lengths of an operator as forms, by those of its program."""
    return {**lowered.lengths, **{symbol: const(value) for symbol, value in lowered.point.items()}}


def derived_pass(
    operator: Lowered | Program, name: str, wanted: tuple[str, ...], of: tuple[str, ...]
) -> BackwardPass | Diagnostic | None:
    """Return the derivative of an operator; a diagnostic if there is none, None if it is 0.

    Where it could read outputs alone instead of inputs, it does.
    """
    try:
        program = operator if isinstance(operator, Program) else operator.program
        first = _attempt(program, wanted, of, given=True)
        kept = first.reads
        outputs = {output.name for output in program.outputs}
        if not kept.isdisjoint(outputs) and not kept <= outputs:
            return _attempt(program, wanted, of, given=False)
    except Rejected as rejected:
        told = rejected.diagnostics[0]
        return None if told.code == "T0901" else told
    except AlgebraBudget as budget:
        return Diagnostic("T0504", f"the derivative of {name} takes more algebra than allowed: {budget}")
    except RecursionError:
        return Diagnostic("T0505", f"the derivative of {name} nests too deeply")
    return first


def _attempt(program: Program, wanted: tuple[str, ...], of: tuple[str, ...], given: bool) -> BackwardPass:
    from tolcost.gradient import GradientRequest, derive  # common models need no derivation

    made = derive(program, GradientRequest(wanted, of, given=given, nonzero=True))
    return pass_of(made.program, made.gradients, made.adjoints)


def pass_written(made: WrittenPass) -> BackwardPass:
    """Return a written backward pass with its cost."""
    return replace(pass_of(made.program, made.gradients, made.adjoints, written=True), extra=made.extra)


def pass_of(
    program: Program,
    gradients: Mapping[str, str],
    adjoints: Mapping[str, Iterable[str]],
    written: bool = False,
) -> BackwardPass:
    """Return a program of gradients as a backward pass; names are those of its outputs and inputs."""
    of = {name: output for output, names in adjoints.items() for name in names}
    bound = dict(program.bindings)
    results = {output.name: output.node for output in program.outputs}
    read = {
        node.name
        for node in inner_nodes(results.values(), bound)
        if isinstance(node, ir.Input) and node.name not in of
    }
    passed = {}
    for name, gradient in gradients.items():
        source = _moved(results[gradient], bound)
        is_all = (
            source is not None and source.name in of and _elements(source) == _elements(results[gradient])
        )
        passed[name] = of[source.name] if source is not None and is_all else None
    cost = ComputedCost(count(program), traffic(program), ())
    return BackwardPass(program, cost, frozenset(read), passed, written)


_MOVES = (
    ir.Ref, ir.Input, ir.Build, ir.Member, ir.Reshape, ir.Component, ir.Pack, ir.Convert, ir.Number,
    ir.Select,
)  # fmt: skip
"""Kinds of nodes that compute nothing."""


def _moved(node: Node, bound: Mapping[ir.Var, Node]) -> ir.Input | None:
    """Return the only input from which all numbers of a node come, as they are; None if there is none."""
    found: set[ir.Input] = set()
    for inner in inner_nodes((node,), bound):
        if isinstance(inner, ir.Input):
            found.add(inner)
        elif isinstance(inner, ir.Lambda) and inner.charge != "data":
            continue
        elif not isinstance(inner, _MOVES):
            return None
    if len(found) != 1:
        return None
    (only,) = found
    return only if only.type and node.type[0].space == only.type[0].space else None


def _elements(node: Node) -> Poly:
    return product_of(node.type[0].shape) if len(node.type) == 1 else product_of(())


def view_of(lowered: Lowered, title: str) -> str | None:
    """Return the input of which an output of a program is a part or a rearrangement."""
    try:
        program = lowered.program
    except Rejected:
        return None
    node = next((output.node for output in program.outputs if output.name == title), None)
    found = None if node is None else _moved(node, dict(program.bindings))
    return None if found is None else found.name
