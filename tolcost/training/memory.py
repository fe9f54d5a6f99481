"""The memory of a step of training: what is held, which activations are kept for backward, and the peak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from tolcost.algebra import Poly, const, is_nonnegative, total_known, total_of
from tolcost.cost.traffic import bytes_of
from tolcost.elaborate import Tensor
from tolcost.models.facts import as_tensor
from tolcost.training.joint import BackwardNode, ForwardNode, JointGraph
from tolcost.training.passes import Passes
from tolcost.training.timeline import Timeline

FORWARD, AGAIN, BACKWARD = "forward", "computed again", "backward"
"""The parts of a step besides the optimiser."""


class KeptTensor(Struct, frozen=True, eq=False):
    """A tensor that forward keeps for backward: its size, the node that makes it, and those that read it."""

    name: str
    bytes: Poly | None
    maker: ForwardNode
    readers: tuple[ForwardNode, ...]


class Recomputed(Struct, frozen=True, eq=False):
    """Nodes of which only the inputs are kept: they are computed again before their backward."""

    title: str
    places: frozenset[int]


class StepMemory(Struct, frozen=True, eq=False):
    """The memory of a step: tensors kept, and the timeline of its buffers.

    ``again`` are the places of nodes that are computed again in backward.
    """

    kept: tuple[KeptTensor, ...]
    timeline: Timeline
    again: tuple[int, ...]

    @property
    def kept_bytes(self) -> Poly | None:
        """The bytes of all tensors that are kept."""
        return total_known([one.bytes for one in self.kept])


class Following(Struct, eq=False):
    """Follows the buffers of a step of training; ``space`` is that of tensors of float32, if another."""

    joint: JointGraph
    passes: Passes
    space: str
    accumulate: int
    optimizer: str
    regions: Sequence[Recomputed]
    settle: Callable[[Poly], Poly]
    roots: dict[str, str] = field(default_factory=dict)
    makers: dict[str, ForwardNode] = field(default_factory=dict)
    line: Timeline = field(default_factory=Timeline)
    adjoints: dict[str, str] = field(default_factory=dict)
    """The buffer of the adjoint of each tensor."""
    own: set[str] = field(default_factory=set)
    """Adjoints whose buffers are theirs alone."""
    copies: dict[int, dict[str, str]] = field(default_factory=dict)
    """For each region that was computed again, the buffers of its tensors."""
    region_of: dict[int, int] = field(default_factory=dict)
    extra: dict[int, list[str]] = field(default_factory=dict)
    """Tensors that a node keeps for its backward pass besides its outputs."""
    _sizes: dict[str, Poly | None] = field(default_factory=dict)

    def run(self) -> StepMemory:
        """Return what memory holds in a step."""
        joint = self.joint
        self.region_of = {place: n for n, region in enumerate(self.regions) for place in region.places}
        for step in joint.steps:
            self.enter(step)
        for name, (step, size) in joint.extra.items():
            self.makers[name], self.roots[name], self._sizes[name] = (
                step,
                name,
                None if size is None else self.settle(size),
            )
            self.extra.setdefault(step.place, []).append(name)
        kept = self.kept()
        for step in joint.steps:
            makes = {f"f:{name}": self.size(name) for name in self.made_by(step)}
            self.line.add(step.node.name or step.node.title, makes, self.read_by(step), FORWARD, step.place)
        seeds = {f"g:{name}": self.size(name) for name in joint.seeds}
        self.adjoints = {name: f"g:{name}" for name in joint.seeds}
        self.own = set(joint.seeds)
        if joint.order:
            self.line.add("the start of backward", seeds, (), BACKWARD)
        again: list[int] = []
        for passed in joint.order:
            again += self.compute_again(passed)
            self.backward(passed)
        ends = [f"f:{root}" for name in joint.cost.model.graph.outputs if (root := self.roots.get(name))]
        there = self.line.sizes
        self.line.add("the end of backward", {}, [n for n in (*ends, *seeds) if n in there], BACKWARD)
        grads = [self.adjoints[name] for name in joint.trained if name in self.adjoints]
        if self.accumulate > 1:  # a sum of gradients is held throughout, to which these are added at once
            grads = []
        self.line.add("the optimiser", {}, [name for name in grads if name in there], self.optimizer)
        return StepMemory(kept, self.line, tuple(again))

    # ---- tensors of forward ------------------------------------------------------------------

    def enter(self, step: ForwardNode) -> None:
        """Note which tensors of a node have buffers of their own."""
        for title, name in step.outputs.items():
            self.makers[name] = step
            source = self.viewed(step, title, name)
            self.roots[name] = self.roots.get(source, source) if source else name
        if step.lowered is None:
            for name in step.node.outputs:
                self.makers[name] = step
                self.roots.setdefault(name, name)

    def viewed(self, step: ForwardNode, title: str, name: str) -> str | None:
        """Return the tensor that an output is a view of, if it is one."""
        lowered = step.lowered
        if lowered is None or lowered.counts.eops.terms:
            return None
        found = self.passes.view(lowered, title)
        source = None if found is None else step.inputs.get(found)
        if source is None:
            return None
        larger, smaller = self.size(source), self.size(name)
        if larger is None or smaller is None:
            return None
        return source if _is_at_least(larger, smaller) else None

    def size(self, name: str) -> Poly | None:
        """Return the bytes of a tensor in a step."""
        if name not in self._sizes:
            self._sizes[name] = self.sized(name)
        return self._sizes[name]

    def sized(self, name: str) -> Poly | None:
        """Find the bytes of a tensor of the graph."""
        cost = self.joint.cost
        known = cost.known(name)
        if known is None:
            return None
        tensor = as_tensor(known)
        if self.space and isinstance(tensor, Tensor) and tensor.space == "float32":
            found = bytes_of(tensor.shape, self.space)
        else:
            found = cost.names.buffer(name)
        return None if found is None else self.settle(found)

    def is_held(self, name: str) -> bool:
        """Whether a tensor is there throughout: a parameter, a constant, or an input of the model."""
        return name not in self.makers or self.makers[name].node.held is not None

    def made_by(self, step: ForwardNode) -> Iterator[str]:
        """Yield the outputs of a node that take memory."""
        if step.node.held is None:
            yield from (n for n in dict.fromkeys(step.node.outputs) if n and self.roots.get(n, n) == n)
            yield from self.extra.get(step.place, ())

    def read_by(self, step: ForwardNode) -> list[str]:
        """Return the buffers that a node of forward reads."""
        names = (*step.node.inputs, *step.node.free)
        roots = [self.roots.get(name, name) for name in names if name]
        return [f"f:{root}" for root in roots if not self.is_held(root)]

    # ---- what is kept --------------------------------------------------------------------------

    def kept(self) -> tuple[KeptTensor, ...]:
        """Return what forward keeps for backward, in the order in which it is made."""
        readers: dict[str, dict[ForwardNode, None]] = {}
        for passed in reversed(self.joint.order):
            for root in self.kept_for(passed):
                readers.setdefault(root, {})[passed.step] = None
        order = sorted(readers, key=lambda root: self.makers[root].place)
        return tuple([KeptTensor(n, self.size(n), self.makers[n], tuple(readers[n])) for n in order])

    def kept_for(self, passed: BackwardNode) -> Iterator[str]:
        """Yield the tensors that a node of backward needs from forward."""
        region = self.region_of.get(passed.step.place)
        for name in passed.reads:
            root = self.roots.get(name, name)
            if self.is_held(root):
                continue
            if region is None or self.region_of.get(self.makers[root].place) != region:
                yield root
            else:
                yield from self.needed_again(region)[1]

    def needed_again(self, region: int) -> tuple[list[ForwardNode], list[str]]:
        """Return the nodes that a region computes again, in order, and what they read from outside."""
        places = self.regions[region].places
        wanted = {
            self.roots.get(name, name)
            for passed in self.joint.order
            if passed.step.place in places
            for name in passed.reads
        }
        steps: list[ForwardNode] = []
        outside: dict[str, None] = {}
        for place in sorted(places, reverse=True):
            step = self.joint.steps[place]
            if wanted.isdisjoint((*step.node.outputs, *self.extra.get(place, ()))):
                continue
            steps.append(step)
            for name in (*step.node.inputs, *step.node.free):
                root = self.roots.get(name, name)
                if not name or self.is_held(root):
                    continue
                if self.makers[root].place in places:
                    wanted.add(root)
                else:
                    outside[root] = None
        steps.reverse()
        return steps, list(outside)

    def compute_again(self, passed: BackwardNode) -> list[int]:
        """Compute the nodes of a region again, before the first of them that backward meets."""
        region = self.region_of.get(passed.step.place)
        if region is None or region in self.copies:
            return []
        copies: dict[str, str] = {}
        self.copies[region] = copies
        steps, _ = self.needed_again(region)
        for step in steps:
            makes = {}
            for name in self.made_by(step):
                copies[name] = f"r:{name}"
                makes[f"r:{name}"] = self.size(name)
            reads = [f"r:{name[2:]}" if name[2:] in copies else name for name in self.read_by(step)]
            self.line.add(f"{step.node.name or step.node.title} again", makes, reads, AGAIN, step.place)
        return [step.place for step in steps]

    # ---- backward ------------------------------------------------------------------------------

    def backward(self, passed: BackwardNode) -> None:
        """Follow the buffers of a node of backward."""
        step = passed.step
        region = self.region_of.get(step.place)
        copies = {} if region is None else self.copies.get(region, {})
        reads = []
        for name in passed.reads:
            root = self.roots.get(name, name)
            if not self.is_held(root):
                reads.append(copies.get(root, f"f:{root}"))
        reads += [self.adjoints[name] for name in passed.takes if name in self.adjoints]
        makes: dict[str, Poly | None] = {}
        for n, (tensor, source) in enumerate(passed.gives):
            before = self.adjoints.get(tensor)
            found = self.adjoints.get(source) if source is not None else None
            is_own = found is None
            if found is None:
                found = f"g:{tensor}" if before is None else f"t:{tensor}:{step.place}:{n}"
                makes[found] = self.size(tensor)
            if before is None:
                self.adjoints[tensor] = found
                self.own.update((tensor,) if is_own else ())
                continue
            reads += [before, found]
            if tensor in self.own:
                continue
            if not is_own:
                found = f"t:{tensor}:{step.place}:{n}:sum"
                makes[found] = self.size(tensor)
            self.adjoints[tensor] = found
            self.own.add(tensor)
        self.line.add(f"{step.node.name or step.node.title} backward", makes, reads, BACKWARD, step.place)


def _is_at_least(one: Poly, other: Poly) -> bool:
    return one == other or is_nonnegative(one - other)


def held_bytes(tensors: Iterable[Tensor], space: str) -> Poly:
    """Return the bytes of tensors, those of float32 in another space if one is given."""
    sizes = (bytes_of(t.shape, space if space and t.space == "float32" else t.space) for t in tensors)
    return total_of([const(0) if size is None else size for size in sizes])
