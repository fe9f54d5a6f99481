"""Loops without the carried values that are known at every turn: their bodies compute these from the turn.

What is known before running costs nothing, and may decide lengths.  The values come out of the loop all
the same; they are put back among its outputs when the rest of it is lowered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from onnx import GraphProto, NodeProto, helper

from tolcost.algebra import ZERO, Poly
from tolcost.catalogue.nodes import Node as Call
from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.cost import Traffic
from tolcost.cost.traffic import used_inputs
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast
from tolcost.models.counters import Counter, advance_of
from tolcost.models.known import Known, as_tensor, bytes_known
from tolcost.models.lowering import Given, Lowered


@dataclass(frozen=True, slots=True)
class Lighter:
    """A loop without some of the values it carries; ``whole`` is the loop as it was."""

    call: Call
    given: Given
    taken: Mapping[int, Counter]
    whole: Call

    def restored(self, found: Lowered, turns: Poly | None) -> Lowered:
        """The loop with these values among its outputs again, after so many turns where that is known."""
        rest = iter(zip(found.outputs, found.titles, strict=True))
        places = range(len(self.whole.outputs))
        outputs = [(_last(self.taken[j], turns), "") if j in self.taken else next(rest, None) for j in places]
        there = [output for output in outputs if output is not None]
        return replace(
            found,
            outputs=tuple(known for known, _ in there),
            titles=tuple(title for _, title in there),
            traffic=self._traffic(found),
            inside={place: shape for place, shape in found.inside.items() if place not in self._added()},
        )

    def _added(self) -> set[tuple[str, ...]]:
        """The places of values that the body did not compute before."""
        turn, *_ = (place.name for place in self.whole.graphs["body"].input)
        places = ((self.whole.graphs["body"].input[j + 2].name, counter) for j, counter in self.taken.items())
        nodes = (node for name, counter in places for node in _computed(turn, name, counter))
        return {("body", name) for node in nodes for name in node.output}

    def _traffic(self, found: Lowered) -> Traffic:
        """Traffic with what goes in and comes out again: it is read, if for nothing else, and written."""
        read, written = dict(found.traffic.read), dict(found.traffic.written)
        used = {given.name for given in used_inputs(found.program)}
        asked = {j for j, name in enumerate(self.whole.outputs) if name}
        for j in asked & self.taken.keys():
            start, name = self.taken[j].start, self.whole.graphs["body"].input[j + 2].name
            size = bytes_known(start)
            if not isinstance(start, Tensor) or size is None:
                continue
            written[start.space] = written.get(start.space, ZERO) + size
            if f"around {name}" not in used:
                read[start.space] = read.get(start.space, ZERO) + size
        return replace(found.traffic, read=read, written=written)


def _last(counter: Counter, turns: Poly | None) -> Known:
    """What a carried value is at the end."""
    if turns is None and counter.moves:
        return as_tensor(counter.start)
    return counter.start if turns is None else counter.after(turns)


def lighter(call: Call, given: Given, counters: Mapping[int, Counter]) -> Lighter:
    """A loop that computes carried values from the turn, but for one where there would be nothing else."""
    body = call.graphs["body"]
    taken = dict(counters)
    if len(taken) == len(body.output) - 1:
        taken.popitem()
    left = [j for j in range(max(len(body.output) - 1, len(call.outputs))) if j not in taken]
    carried = [j for j in left if j < len(given.inputs) - 2]
    return Lighter(
        replace(
            call,
            inputs=(*call.inputs[:2], *(call.inputs[j + 2] for j in carried)),
            outputs=tuple(call.outputs[j] for j in left if j < len(call.outputs)),
            graphs={**call.graphs, "body": _body(body, taken)},
        ),
        Given(
            (*given.inputs[:2], *(given.inputs[j + 2] for j in carried)),
            (*given.names[:2], *(given.names[j + 2] for j in carried)),
            {**given.around, **{name: known for j in taken for name, known in _around(body, j, taken[j])}},
        ),
        taken,
        call,
    )


def _body(body: GraphProto, taken: Mapping[int, Counter]) -> GraphProto:
    made = GraphProto(name=body.name)
    made.input.extend(place for j, place in enumerate(body.input, start=-2) if j not in taken)
    made.initializer.extend(body.initializer)
    for j, counter in taken.items():
        made.node.extend(_computed(body.input[0].name, body.input[j + 2].name, counter))
    made.node.extend(body.node)
    made.output.extend(place for j, place in enumerate(body.output, start=-1) if j not in taken)
    return made


def _around(body: GraphProto, j: int, counter: Counter) -> Iterator[tuple[str, Known]]:
    """What the body needs to know of a carried value: all of it, or how it starts and advances."""
    name = body.input[j + 2].name
    if not counter.moves:
        yield name, counter.start
    else:
        yield f"start {name}", counter.start
        yield f"advance {name}", advance_of(counter)


def _computed(turn: str, name: str, counter: Counter) -> Iterator[NodeProto]:
    """Nodes that compute a carried value from the turn."""
    if not counter.moves:
        return
    assert isinstance(counter.start, Cast)
    yield helper.make_node("Mul", [turn, f"advance {name}"], [f"advanced {name}"])
    kind = CODE_OF_SPACE[counter.start.space]
    yield helper.make_node("Cast", [f"advanced {name}"], [f"so far {name}"], to=kind)
    yield helper.make_node("Add", [f"start {name}", f"so far {name}"], [name])
