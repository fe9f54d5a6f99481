"""What the first term of a sum costs: programs whose sums all start alike, to be counted either way.

A reduce may start at the neutral element, so that n terms take n applications, or at its first term, so that
they take n - 1.  Here a lowered program is rewritten so that every reduce of an associative function starts
in one of these ways, whatever its definition says; its values stay the same, and its cost is derived as
usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from msgspec.structs import replace

from tolcost.algebra import Poly, Symbol, atom
from tolcost.algebra.conditions import conj, eq
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    bound_nodes,
    children,
    is_ref,
    program_nodes,
    resolve_name,
    schedules,
    with_operands,
)
from tolcost.atoms.nodes import Block, Fold, Lambda, Node, Number, Program, Var
from tolcost.cost.span import tree_element
from tolcost.elementary import FUNCTIONS
from tolcost.execute.reductions import GATHERED, identity

Start: TypeAlias = Literal["neutral element", "first term"]
STARTS: tuple[Start, ...] = ("neutral element", "first term")


def restarted(program: Program, start: Start) -> Program:
    """Return a program of the same values whose reduces all start at their first term, or at none."""
    return _Rewriting(program, start).program(program)


class _Rewriting:
    """One rewriting of a program; a shared node stays shared, so that it counts as often as before."""

    def __init__(self, program: Program, start: Start) -> None:
        self._start = start
        self._bound: dict[Var, Node] = dict(bound_nodes(program, schedules(program)))
        self._done: dict[Node, Node] = {}
        self._first: dict[Node, tuple[Node, tuple[Symbol, ...]]] = {}
        self._accumulators: set[Var] = set()
        self._heads = set(self._unrolled(program))

    def program(self, program: Program) -> Program:
        bindings = tuple((var, self._node(node)) for var, node in program.bindings)
        outputs = tuple(replace(out, node=self._node(out.node)) for out in program.outputs)
        return replace(program, bindings=bindings, outputs=outputs)

    def _block(self, block: Block) -> Block:
        return Block(tuple((var, self._node(node)) for var, node in block.bindings), self._node(block.result))

    def _node(self, node: Node) -> Node:
        if node not in self._done:
            self._done[node] = self._rewritten(node)
        return self._done[node]

    def _rewritten(self, node: Node) -> Node:
        match node:
            case Fold():
                return self._fold(node)
            case ir.Build():
                return with_operands(node, (), body=self._block(node.body))
            case ir.Select():
                operands = [self._node(child) for child in children(node)]
                return with_operands(
                    node, operands, then=self._block(node.then), other=self._block(node.other)
                )
            case Lambda() if node in self._first:
                return self._step(node)
            case Lambda() if node in self._heads:
                return self._first_of_list(node)
            case _:
                return with_operands(node, [self._node(child) for child in children(node)])

    # ---- loops ---------------------------------------------------------------------------

    def _fold(self, node: Fold) -> Node:
        """Rewrite a loop; where a loop goes on from an outer one, both are one sum."""
        self._accumulators.add(node.accumulator)
        inner, coords = node, node.coords
        while (further := self._continued(inner)) is not None:
            inner, coords = further, (*coords, *further.coords)
        element = tree_element(inner, self._bound)
        goes_on = isinstance(node.start, ir.Ref) and node.start.var in self._accumulators
        start = self._node(node.start)
        if element is not None and not goes_on:
            step = cast(Lambda, resolve_name(inner.body.result, self._bound))
            if self._is_neutral(node.start, step):
                if self._start == "first term":
                    self._first[step] = element, coords
            elif self._start == "neutral element":
                start = _after_neutral(step, start)
        return with_operands(node, (start,), body=self._block(node.body))

    def _continued(self, node: Fold) -> Fold | None:
        """Return the loop that is the whole step of a loop, and starts at its accumulator."""
        step = resolve_name(node.body.result, self._bound)
        if isinstance(step, Fold) and is_ref(step.start, node.accumulator) and node.ends is None:
            return step
        return None

    def _step(self, node: Lambda) -> Node:
        """At the first coordinates the element itself, elsewhere the step."""
        element, coords = self._first[node]
        first = conj(*(eq(atom(coord) - 1) for coord in coords))
        again = with_operands(node, [self._node(child) for child in children(node)])
        return ir.Select(first, Block((), self._node(element)), Block((), again), node.type, node.span)

    # ---- lists, whose loops are unrolled --------------------------------------------------

    def _unrolled(self, program: Program) -> Iterator[Node]:
        """Yield the first step of each reduce over a list: a function of the same place takes its result."""
        for node in program_nodes(program):
            before = self._repeated(node)
            if before is not None and self._repeated(before) is None:
                yield before

    def _repeated(self, node: Node) -> Lambda | None:
        """Return the application of the same associative function, at the same place, that a node goes on."""
        if not isinstance(node, Lambda) or not FUNCTIONS[node.function].associative:
            return None
        before = self._through(node.args[0])
        same = (
            isinstance(before, Lambda)
            and node.charge == before.charge == "data"
            and (node.function, node.span) == (before.function, before.span)
        )
        return before if same and isinstance(before, Lambda) else None

    def _first_of_list(self, node: Lambda) -> Node:
        start, element = map(self._node, node.args)
        if self._is_neutral(node.args[0], node):
            return element if self._start == "first term" else with_operands(node, (start, element))
        start = _after_neutral(node, start) if self._start == "neutral element" else start
        return with_operands(node, (start, element))

    def _through(self, node: Node) -> Node | Poly:
        """Follow names and changes of space, and from a member of a ToL to what it is computed by."""
        found = self._plain(node)
        if isinstance(found, ir.Member):
            tol = self._plain(found.tol)
            if isinstance(tol, ir.Build) and len(found.at) == len(tol.coords):
                return self._plain(tol.body.result)
        return found

    def _plain(self, node: Node) -> Node | Poly:
        found = resolve_name(node, self._bound)
        while isinstance(found, ir.Convert):
            found = resolve_name(found.value, self._bound)
        return found

    def _is_neutral(self, start: Node, step: Lambda) -> bool:
        """Whether a start is the neutral element of a function, and so no term."""
        found = self._through(start)
        if not isinstance(found, Number):
            return False
        value = found.value.constant if isinstance(found.value, Poly) else found.value
        return value is not None and bool(value == _neutral(step))


def _after_neutral(step: Lambda, start: Node) -> Node:
    """Apply the function of a step once more, to its neutral element and the start."""
    number = Number(_neutral(step), start.type)
    return with_operands(step, (number, start))


def _neutral(step: Lambda) -> float | bool:
    found = identity(step.function, step.space).item() if step.function in GATHERED else None
    if found is None:
        raise LookupError(f"{step.function} has no neutral element")
    return cast(float, found)
