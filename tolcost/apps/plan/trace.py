"""A run of a program, call by call: what each call reads and makes, where a layer follows a layer.

Numbers are needed for the lengths that say which calls there are, such as those of layers; sizes stay forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from msgspec import Struct, field

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond, product_of
from tolcost.apps.plan.activations import WIDTHS
from tolcost.apps.plan.calls import CalledProgram, ProgramCall
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Schedule, blocks, inner_nodes, roots, schedules, static_condition
from tolcost.atoms.nodes import Block, Node, Part, Var
from tolcost.diagnostics import refuse

_MOST_CALLS = 1 << 17
"""Calls of one run: hundreds of layers, with hundreds of calls in each."""


class CallResult(Struct, frozen=True, eq=False):
    """A result of a call."""

    bytes: Poly
    real: bool


CallResults = frozenset[CallResult]
_Parts = tuple[CallResults, ...]
"""What a value consists of; a call with several results has several parts."""
_NONE: _Parts = (frozenset(),)


class Happening(Struct, frozen=True, eq=False):
    """A call as it happens: where in the loops around it, what its operands consist of, and its results."""

    call: ProgramCall
    place: tuple[int, ...]
    """The number of the outermost loop around it, and the coordinates of all of them."""
    given: tuple[CallResults, ...]
    made: tuple[CallResult, ...]


class Happenings(Struct, frozen=True, eq=False):
    """The calls of a run in their order, and what its result consists of."""

    calls: tuple[Happening, ...]
    result: CallResults


def happenings(called: CalledProgram, point: Mapping[Symbol, int]) -> Happenings:
    """Return the calls of a run."""
    found = schedules(called.program)
    run = _Run({call.node: call for call in called.calls}, dict(found.blocks))
    result = run.follow(found.top, {}, dict(point), ())
    return Happenings(tuple(run.found), _all(result))


class _Run(Struct, eq=False):
    """The calls so far."""

    calls: Mapping[Node, ProgramCall]
    plans: Mapping[Block, Schedule]
    found: list[Happening] = field(default_factory=list)
    busy: dict[Node, bool] = field(default_factory=dict)
    loops: list[Node] = field(default_factory=list)

    def follow(
        self, plan: Schedule, env: Mapping[Var, _Parts], at: Mapping[Symbol, int], place: tuple[int, ...]
    ) -> _Parts:
        """Follow a block, and return what its result consists of."""
        known, held = dict(env), list[_Parts]()
        for node, operands, _, binds in plan.steps:
            under = [held[n] for n in operands]
            if node in self.calls:
                value = self.called(self.calls[node], under, place)
            elif isinstance(node, ir.Ref):
                value = known.get(node.var, _NONE)
            elif isinstance(node, ir.Component) and len(under[0]) > 1:
                value = (under[0][node.j - 1],)
            elif self.is_busy(node):
                value = self.inside(node, under, known, at, place)
            else:
                value = (_all(*under, _named(node, known)),)
            held.append(value)
            known |= dict.fromkeys(binds, value)
        return held[plan.roots[-1]]

    def called(self, call: ProgramCall, under: list[_Parts], place: tuple[int, ...]) -> _Parts:
        """Note a call."""
        made = tuple(_result(part) for part in call.node.type)
        self.found.append(Happening(call, place, tuple(_all(one) for one in under), made))
        if len(self.found) > _MOST_CALLS:
            refuse("T0923", f"a run has more than {_MOST_CALLS:,} calls")
        return tuple(frozenset({one}) for one in made)

    def is_busy(self, node: Node) -> bool:
        """Whether there are calls inside a node."""
        if node not in self.busy:
            inner = (one for block in blocks(node) for one in inner_nodes(roots(block)))
            self.busy[node] = any(one in self.calls for one in inner)
        return self.busy[node]

    def inside(
        self,
        node: Node,
        under: list[_Parts],
        env: Mapping[Var, _Parts],
        at: Mapping[Symbol, int],
        place: tuple[int, ...],
    ) -> _Parts:
        """Follow the blocks inside a node, at every coordinate."""
        if isinstance(node, ir.Select):
            condition = static_condition(node)
            assert condition is not None, "calls are not chosen by data"
            block = node.then if evaluate_cond(condition, at) else node.other
            return self.follow(self.plans[block], env, at, place)
        assert isinstance(node, ir.Build | ir.Fold)
        if not place:
            self.loops.append(node)
            place = (len(self.loops),)
        found: list[_Parts] = []
        value = under[0] if isinstance(node, ir.Fold) else _NONE
        for here in product(*(range(1, evaluate(extent, at) + 1) for extent in node.extents)):
            inner = {**env, node.accumulator: value} if isinstance(node, ir.Fold) else env
            point = {**at, **dict(zip(node.coords, here, strict=True))}
            value = self.follow(self.plans[node.body], inner, point, (*place, *here))
            found.append(value)
        return value if isinstance(node, ir.Fold) else (_all(*found),)


def _result(part: Part) -> CallResult:
    return CallResult(product_of(part.shape) * WIDTHS.get(part.space, 2), part.space == "R")


def _all(*values: _Parts) -> CallResults:
    return frozenset[CallResult]().union(*(part for value in values for part in value))


def _named(node: Node, env: Mapping[Var, _Parts]) -> _Parts:
    """Return what the variables inside a node consist of."""
    inner = (one for block in blocks(node) for one in inner_nodes(roots(block)))
    return (_all(*(env.get(one.var, _NONE) for one in inner if isinstance(one, ir.Ref))),)
