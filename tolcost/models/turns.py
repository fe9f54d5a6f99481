"""Loops: by the turns they take where these are known, and else in a symbol for them.

Values that are known at every turn tell how long a condition on them holds.  A loop without a limit, or with
one that is no limit, runs while its condition holds.  Where that is data, no number bounds the turns; the
cost is a formula in ``NAME_turns`` then, and exact in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from tolcost.algebra import LARGEST_LENGTH, TRUE, Poly, const, data_symbol
from tolcost.catalogue.graphs import free_names
from tolcost.catalogue.nodes import Node as Call
from tolcost.cost import Traffic
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.elaborate.context import RankMismatch
from tolcost.elaborate.values import Cast, Value
from tolcost.models.carried import lighter
from tolcost.models.counters import Apply, turning
from tolcost.models.endings import ending_of
from tolcost.models.known import Known, bytes_known, is_value, number_in, space_of
from tolcost.models.lowering import Given, Lowered
from tolcost.models.peeling import lower_peeled

TURNS = "_turns"
"""How the names of such symbols end."""

_SMALLER = 1 << 30
_OF_SHAPES = ("Shape", "Size", "SequenceLength")
_GOES_ON = "goes on, always"
_CONDITION = "condition, turn by turn"

Lower = Callable[[Call, Given], "Lowered | Rejected"]


def title_turns(name: str) -> str:
    """The name of the symbol for the turns of a loop.

    >>> title_turns("/decoder/Loop_1")
    'decoder_Loop_1_turns'
    """
    return re.sub(r"\W+", "_", name).strip("_")[-40:] + TURNS


def lower_loop(call: Call, given: Given, lower: Lower, apply: Apply) -> Lowered | Rejected:
    """Lower a loop: by the turns it takes where they are known, else by its limit, else by its turns."""
    body = call.graphs.get("body")
    if body is None or not _well_formed(body, call, given):
        return _by_limit(call, given, lower)
    found = turning(body, given, apply)
    ending = ending_of(found, given)
    light = lighter(call, given, found.counters)
    if ending is None:
        lowered = _by_limit(light.call, light.given, lower)
    else:
        changed = going_on(light.call) if ending.certain else light.call
        lowered = _lower_turns(changed, light.given, ending.most, lower, apply)
    if isinstance(lowered, Rejected):
        return lowered
    return light.restored(lowered, None if ending is None else ending.turns)


def _lower_turns(call: Call, given: Given, most: Poly, lower: Lower, apply: Apply) -> Lowered | Rejected:
    """Lower a loop of so many turns; if ranks do not fit, they may but for the first turn."""
    found = lower(call, _limited(given, most))
    if not isinstance(found, RankMismatch):
        return found
    return lower_peeled(call, given, most, apply) or found


def _well_formed(body: GraphProto, call: Call, given: Given) -> bool:
    """Whether as much is given as the body is given, and as much comes out as the body gives."""
    carried = len(given.inputs) - 2
    return 0 <= carried == len(body.input) - 2 < len(body.output) > len(call.outputs)


def _by_limit(call: Call, given: Given, lower: Lower) -> Lowered | Rejected:
    """Lower a loop: by its limit where it has one, else by what its condition says, else by its turns."""
    limit = given.inputs[0] if given.inputs else None
    number = number_in(limit)
    if number is not None and number < LARGEST_LENGTH - 1:
        return lower(call, given)
    if len(given.inputs) < 2 or not _may_be_known(call, given):
        return _counted(call, given, lower)
    found = lower(call, given)
    if isinstance(found, Rejected) or isinstance(limit, Tensor):
        return found if not _bounded(found) else _counted(call, given, lower)
    if not _bounded(found) and _alike(found, lower(call, _limited(given, const(_SMALLER)))):
        return found  # the condition ends the loop, and is known
    return _counted(call, given, lower)


def _may_be_known(call: Call, given: Given) -> bool:
    """Whether the condition that a loop gives may be known before running: no data goes into it."""
    body = call.graphs.get("body")
    if body is None or not body.output:
        return True
    values = (None, None, *given.inputs[2:])
    known = {
        place.name
        for place, value in zip(body.input, values, strict=False)
        if value is None or is_value(value)
    }
    known |= {tensor.name for tensor in body.initializer} | {""}
    known |= {name for name, value in given.around.items() if is_value(value)}
    for node in body.node:
        if node.op_type in _OF_SHAPES or known.issuperset((*node.input, *_inner_names(node))):
            known.update(node.output)
    return body.output[0].name in known


def _inner_names(node: NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from free_names(attribute.g)


def _bounded(found: Lowered | Rejected) -> bool:
    return isinstance(found, Lowered) and found.counts.status == "upper bound"


def _alike(one: Lowered | Rejected, other: Lowered | Rejected) -> bool:
    if isinstance(one, Rejected) or isinstance(other, Rejected):
        return False
    return one.counts.atoms == other.counts.atoms and one.counts.histogram == other.counts.histogram


def _limited(given: Given, limit: Poly, go: Known | None = None) -> Given:
    return replace(given, inputs=(Cast(limit, "int64"), go or given.inputs[1], *given.inputs[2:]))


def _counted(call: Call, given: Given, lower: Lower) -> Lowered | Rejected:
    """The loop for so many turns; that it computes its condition in each of them still counts."""
    changed = by_turns(call)
    if changed is None:
        return lower(call, given)
    found = lower(changed, _limited(given, _turns(call), Cast(TRUE, "bool")))
    if isinstance(found, Rejected):
        return found
    status = "depends on data" if found.counts.status == "exact" else found.counts.status
    return replace(
        found,
        counts=replace(found.counts, status=status),
        traffic=_without(found.traffic, found.outputs[-1]),
        outputs=found.outputs[:-1],
        titles=found.titles[:-1],
    )


def by_turns(call: Call) -> Call | None:
    """The loop with a condition that always holds; its own is one more output, after all the others."""
    body = call.graphs.get("body")
    if body is None or not body.output:
        return None
    places = len(body.output) - 1
    outputs = (*call.outputs, *[""] * (places - len(call.outputs)), _CONDITION)
    return replace(call, outputs=outputs, graphs={**call.graphs, "body": _going_on(body)})


def going_on(call: Call) -> Call:
    """The loop with a condition that always holds, in place of one that is known and so costs nothing."""
    made = _going_on(call.graphs["body"])
    del made.output[-1]
    return replace(call, graphs={**call.graphs, "body": made})


def inner_loop(call: Call, inputs: list[Value | None]) -> tuple[Call, list[Value | None]]:
    """A loop in a graph: without a limit, what it costs is a formula in its turns."""
    limit = inputs[0] if inputs else None
    changed = by_turns(call) if len(inputs) > 1 else None
    number = number_in(limit)
    if changed is None or (limit is not None and (number is None or number < LARGEST_LENGTH - 1)):
        return call, inputs
    return changed, [Cast(_turns(call), "int64"), Cast(TRUE, "bool"), *inputs[2:]]


def _turns(call: Call) -> Poly:
    name = call.name or next((output for output in call.outputs if output), "Loop")
    return data_symbol(title_turns(name), 0, LARGEST_LENGTH)


def _without(traffic: Traffic, known: Known) -> Traffic:
    """Traffic without what an output takes that nobody asked for."""
    space, size = space_of(known) or "", bytes_known(known)
    if size is None or space not in traffic.written:
        return traffic
    return replace(traffic, written={**traffic.written, space: traffic.written[space] - size})


def _going_on(body: GraphProto) -> GraphProto:
    """The body with a condition that always holds, and its own given beside what it stacks."""
    made = GraphProto()
    made.CopyFrom(body)
    condition = made.output[0].name
    made.output[0].name = _GOES_ON
    made.initializer.append(TensorProto(name=_GOES_ON, data_type=TensorProto.BOOL, int32_data=[1]))
    made.output.add(name=condition)
    return made
