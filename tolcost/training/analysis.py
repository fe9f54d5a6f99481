"""A step of training of a model: the work of its parts, and what it holds in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import Poly, const, product_of, total_of
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied, Lowered
from tolcost.training.choice import ChosenScopes, MemoryLimit, chosen_scopes
from tolcost.training.joint import JointGraph, joint_of
from tolcost.training.memory import AGAIN, BACKWARD, FORWARD, Following, Recomputed, StepMemory, held_bytes
from tolcost.training.passes import Passes
from tolcost.training.programs import SUM, ShapedProgram, optimizer, rule, shape_for
from tolcost.training.regions import regions_of
from tolcost.training.request import PRECISIONS, TrainingRequest
from tolcost.training.stored import StoredPasses

_NONE = Applied((), ())


class HeldBytes(Struct, frozen=True):
    """What is held from step to step, and the gradients, in bytes; and how many parameters are trained."""

    trained: Poly
    parameters: Poly
    master: Poly
    gradients: Poly
    state: Poly
    frozen: Poly

    def throughout(self, accumulate: int) -> Poly:
        """Return the bytes that are held at every moment of a step, without inputs of the model."""
        always = [self.parameters, self.frozen, self.master, self.state]
        return total_of([*always, self.gradients] if accumulate > 1 else always)


class Training(Struct, frozen=True, eq=False):
    """A step of training: forward, what is computed again, and backward, each a graph with costs of nodes."""

    asked: TrainingRequest
    joint: JointGraph
    again: GraphCost
    update: Mapping[Lowered, int]
    """What the optimiser does, for parameters of each shape."""
    held: HeldBytes
    memory: StepMemory
    regions: tuple[Recomputed, ...]
    chosen: ChosenScopes | None = None
    """How the regions were chosen, if it was asked which are best."""

    @property
    def runs(self) -> tuple[tuple[str, GraphCost], ...]:
        """The parts of a step that are done once for each run of forward and backward."""
        parts = (
            (FORWARD, self.joint.cost),
            (AGAIN, self.again),
            (BACKWARD, self.joint.backward),
        )
        return tuple(part for part in parts if part[1] is not self.again or self.memory.again)


def training_of(
    cost: GraphCost,
    asked: TrainingRequest,
    settle: Callable[[Poly], Poly] | None = None,
    limit: MemoryLimit | None = None,
) -> Training:
    """Analyse a step of training of a model that was walked; ``settle`` rewrites forms in its lengths.

    With a limit, the scopes to compute again are those with which a step fits; the request then names them.
    """
    asked = asked.checked()
    rules = optimizer(asked.optimizer)
    passes = Passes(asked.backward == "written", StoredPasses(cost.session.library))
    joint = joint_of(cost, asked, passes)
    held, space = _held(rules, joint, asked), PRECISIONS[asked.precision]

    def following(regions: Sequence[Recomputed]) -> Following:
        return Following(
            joint, passes, space, asked.accumulate, asked.optimizer, regions, settle or cost.settled
        )

    chosen = None
    if limit is not None:
        chosen = chosen_scopes(joint, following, held.throughout(asked.accumulate), limit)
    regions = regions_of(joint, asked.recompute) if chosen is None else chosen.regions
    if chosen is not None:
        asked = replace(asked, recompute=", ".join(one.title for one in regions) or None, memory=None)
    memory = following(regions).run()
    again = set(memory.again)
    nodes = tuple([one if n in again else _NONE for n, one in enumerate(cost.nodes)])
    return Training(
        asked,
        joint,
        replace(cost, nodes=nodes),
        _update(rules, joint, asked),
        held,
        memory,
        regions,
        chosen,
    )


def _update(
    rules: Mapping[int, ShapedProgram], joint: JointGraph, asked: TrainingRequest
) -> dict[Lowered, int]:
    """Return what the optimiser does to all parameters."""
    found: dict[Lowered, int] = {}
    shapes = _shapes(rules, list(joint.trained.values()))
    for lengths, times in shapes.items():
        found[rules[len(lengths)].at(lengths, asked.optimizer)] = times
    every = total_of([product_of(tensor.shape) for tensor in joint.trained.values()])
    if asked.accumulate > 1 and joint.trained:
        found[rule("backward/sum", 1).at((every,), SUM)] = asked.accumulate - 1
    if asked.precision == "fp16-mixed" and joint.trained:
        found[rule("backward/unscaled", 1).at((every,), "unscaling of gradients")] = 1
    return found


def _shapes(rules: Mapping[int, ShapedProgram], tensors: Sequence[Tensor]) -> dict[tuple[Poly, ...], int]:
    """Return the shapes of parameters, as rules take them; those that go element by element are one."""
    if 2 not in rules:
        every = total_of([product_of(tensor.shape) for tensor in tensors])
        return {(every,): 1} if tensors else {}
    return dict(Counter(shape_for(rules, tensor) for tensor in tensors))


def _held(rules: Mapping[int, ShapedProgram], joint: JointGraph, asked: TrainingRequest) -> HeldBytes:
    space = PRECISIONS[asked.precision]
    trained = list(joint.trained.values())
    every = {**joint.stored.parameters, **joint.stored.others}
    others = [tensor for name, tensor in every.items() if name not in joint.trained]
    state = [
        rules[len(shape)].held(shape, ("p", "g"), own) * times
        for own in dict.fromkeys(tensor.space for tensor in trained)
        for shape, times in _shapes(rules, [one for one in trained if one.space == own]).items()
    ]
    gradients = held_bytes(trained, space)
    return HeldBytes(
        total_of([product_of(tensor.shape) for tensor in trained]),
        held_bytes(trained, space),
        held_bytes(trained, "") if space else const(0),
        gradients,
        total_of(state),
        held_bytes(others, space),
    )
