"""What is in memory at once while a program runs: the result of each call, until its last use.

Views take nothing, nor does a join with a cache, which has room for what comes; layers run one by one.
The logits are not among these results.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.algebra import Poly, const, product_of, total_of
from tolcost.apps.plan.calls import MARK, CalledProgram, Scopes, entered
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Schedule, blocks, inner_nodes, roots, schedules
from tolcost.atoms.nodes import Block, Node, Type, Var
from tolcost.diagnostics import Span

WIDTHS = {"R": 2, "Z": 8, "B": 1}
"""Bytes of an element of a result, by its space."""


class CallMoment(Struct, frozen=True, eq=False):
    """A call, the bytes that are there while it runs, and what is around it."""

    bytes: Poly
    scopes: Scopes
    span: Span


class _Buffer(Struct, frozen=True, eq=False):
    bytes: Poly


_Buffers = frozenset[_Buffer]
_NONE: _Buffers = frozenset()


class _Run(Struct, frozen=True, eq=False):
    """A call, or something with calls inside: the buffers that it uses, and the one that it leaves."""

    used: _Buffers
    made: _Buffers
    inside: tuple[CallMoment, ...]
    at_once: bool
    """Whether what it leaves is there while it runs, besides what is inside."""


def moments(called: CalledProgram) -> tuple[CallMoment, ...]:
    """Return every moment of a program."""
    program = called.program
    found, bound = schedules(program), dict(program.bindings)
    ends = [out.node for out in program.outputs]
    free = frozenset(bound.get(end.var, end) if isinstance(end, ir.Ref) else end for end in ends)
    return _visited(dict(found.blocks), found.top, {}, (), _NONE, free)


def _visited(
    plans: Mapping[Block, Schedule],
    plan: Schedule,
    env: Mapping[Var, _Buffers],
    scopes: Scopes,
    begun: _Buffers,
    free: frozenset[Node],
) -> tuple[CallMoment, ...]:
    """Return the moments of a block; ``begun`` is there from its start on, and ``free`` takes no memory."""
    known, held = dict(env), list[_Buffers]()
    runs: list[_Run] = []
    for node, operands, _, binds in plan.steps:
        under = _NONE.union(*(held[n] for n in operands), _named(node, known))
        own = under
        if isinstance(node, ir.Lambda) and node.function.startswith(MARK):
            own = _NONE if node in free else frozenset({_Buffer(_size(node.type))})
            runs.append(_Run(under, own, (CallMoment(const(0), scopes, node.span),), True))
        elif any(_has_calls(block) for block in blocks(node)):
            own = frozenset({_Buffer(_size(node.type))})
            inside = _inside(plans, node, known, scopes)
            runs.append(_Run(_named(node, known), own, inside, False))
        held.append(own)
        known |= dict.fromkeys(binds, own)
    local = begun.union(*(run.made for run in runs))
    return _told(runs, begun, local & _NONE.union(*(held[n] for n in plan.roots[-1:])))


def _inside(
    plans: Mapping[Block, Schedule], node: Node, env: Mapping[Var, _Buffers], scopes: Scopes
) -> tuple[CallMoment, ...]:
    found: list[CallMoment] = []
    for around, block in entered(node):
        inner, begun = dict(env), _NONE
        if isinstance(node, ir.Fold):
            begun = frozenset({_Buffer(_size(node.type))})
            inner[node.accumulator] = begun
        found += _visited(plans, plans[block], inner, (*scopes, *around), begun, frozenset())
    return tuple(found)


def _told(runs: list[_Run], begun: _Buffers, results: _Buffers) -> tuple[CallMoment, ...]:
    """Return the moments of runs in their order: the buffers that are there, and what is inside."""
    last = dict.fromkeys(results, len(runs))
    for n in reversed(range(len(runs))):
        for one in runs[n].used:
            last.setdefault(one, n)
    found: list[CallMoment] = []
    live = begun
    for n, run in enumerate(runs):
        live = frozenset(one for one in live if last.get(one, -1) >= n)
        there = total_of(one.bytes for one in (live | run.made if run.at_once else live))
        found += [CallMoment(one.bytes + there, one.scopes, one.span) for one in run.inside]
        live |= run.made
    return tuple(found)


def _named(node: Node, env: Mapping[Var, _Buffers]) -> _Buffers:
    """Return the buffers of the variables in a node and inside it."""
    if isinstance(node, ir.Ref):
        return env.get(node.var, _NONE)
    inner = [root for block in blocks(node) for root in roots(block)]
    found = (env.get(one.var, _NONE) for one in inner_nodes(inner) if isinstance(one, ir.Ref))
    return _NONE.union(*found)


def _has_calls(block: Block) -> bool:
    found = inner_nodes(roots(block))
    return any(isinstance(node, ir.Lambda) and node.function.startswith(MARK) for node in found)


def _size(kind: Type) -> Poly:
    return total_of(product_of(part.shape) * WIDTHS.get(part.space, 2) for part in kind)
