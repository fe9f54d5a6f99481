"""Loops whose first turn is not like the others: it is taken apart, and the loop goes on from what it gives.

Some exporters start a value that the first turn gives with a placeholder of another rank.
"""

from __future__ import annotations

from dataclasses import replace

from onnx import GraphProto, TensorProto, helper

from tolcost.algebra import TRUE, Poly, const, ge, prove
from tolcost.catalogue.nodes import Node as Call
from tolcost.diagnostics import Rejected
from tolcost.elaborate.values import Cast
from tolcost.models.counters import Apply, truth_in
from tolcost.models.known import Known, shape_of
from tolcost.models.lowering import Given, Lowered
from tolcost.models.slices import graph_of

_LEFT, _BEFORE, _ONE, _GOES = "turns left", "turns before, but one", "a turn", "goes on"


def lower_peeled(call: Call, given: Given, most: Poly, apply: Apply) -> Lowered | Rejected | None:
    """Lower a loop as its first turn and a loop; None where the first turn is like the others, or may not be.

    Loops that stack what their turns give are left as they are.
    """
    body = call.graphs["body"]
    if len(body.output) != len(given.inputs) - 1 or prove(ge(most - 1)) is not True:
        return None
    if given.inputs[1] is not None and truth_in(given.inputs[1]) != TRUE:
        return None
    around = _around(body, given)
    first = graph_of(body, [output.name for output in body.output])
    if not _changes_rank(given, apply(first, around)):
        return None
    known: dict[str, Known] = {**around, _LEFT: Cast(most - 1, "int64"), _GOES: Cast(TRUE, "bool")}
    found = apply(_taken_apart(call, first), known)
    return found if isinstance(found, Rejected) else _told_as(call, found)


def _around(body: GraphProto, given: Given) -> dict[str, Known]:
    """What the body sees at its first turn."""
    start = (Cast(const(0), "int64"), Cast(TRUE, "bool"), *given.inputs[2:])
    places = zip(body.input, start, strict=True)
    return {**given.around, **{place.name: known for place, known in places if known is not None}}


def _changes_rank(given: Given, first: Lowered | Rejected) -> bool:
    if isinstance(first, Rejected):
        return False
    shapes = zip(map(shape_of, given.inputs[2:]), map(shape_of, first.outputs[1:]), strict=True)
    return any(a is not None and b is not None and len(a) != len(b) for a, b in shapes)


def _taken_apart(call: Call, first: GraphProto) -> GraphProto:
    """The first turn, as a branch that is taken, and the loop over the others."""
    names = [f"{_ONE} {n}" for n in range(len(first.output))]
    outputs = _outputs(call)
    turn = helper.make_node("If", [_GOES], names, then_branch=first, else_branch=first)
    loop = helper.make_node(
        "Loop", [_LEFT, *names], outputs, name=call.name, body=_later(call.graphs["body"])
    )
    made = GraphProto(name=call.name)
    made.node.extend((turn, loop))
    for name in outputs[: call.asked]:
        made.output.add(name=name)
    return made


def _outputs(call: Call) -> list[str]:
    return [name or f"unused {n}" for n, name in enumerate(call.outputs)]


def _later(body: GraphProto) -> GraphProto:
    """The body when there was a turn before: it is told one less than there were."""
    made = GraphProto()
    made.CopyFrom(body)
    del made.node[:]
    made.input[0].name = _BEFORE
    made.initializer.append(TensorProto(name=_ONE, data_type=TensorProto.INT64, int64_data=[1]))
    made.node.append(helper.make_node("Add", [_BEFORE, _ONE], [body.input[0].name]))
    made.node.extend(body.node)
    return made


def _told_as(call: Call, found: Lowered) -> Lowered:
    """What was lowered, told of the loop: values of its body are those of the turns after the first."""
    turn = call.graphs["body"].input[0].name
    inside = {
        place[2:]: shape
        for place, shape in found.inside.items()
        if place[:3] == ("then_branch", _outputs(call)[0], "body") and place[2:] != ("body", turn)
    }
    return replace(found, op=call.op, domain=call.domain, inside=inside)
