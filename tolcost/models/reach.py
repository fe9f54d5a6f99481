"""How far whole numbers reach that a graph computes from lengths alone, and conditions on what they index.

Positions 0 to n - 1 are data to the nodes behind them, since there may be many.  Their least and largest are
forms all the same, read from the atoms of the nodes that make them: a table of 16 learned positions that they
index needs n <= 16.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    atom,
    const,
    coordinate,
    ge,
    substitute,
    the_symbol,
    to_words,
)
from tolcost.atoms.kit import program_nodes
from tolcost.atoms.nodes import (
    Block,
    Build,
    Convert,
    Input,
    Lambda,
    Member,
    Node,
    Number,
    Program,
    Ref,
    Reshape,
    Select,
    Var,
)
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.elaborate import Tensor
from tolcost.models.facts import Known, is_value
from tolcost.models.lowered import Applied, Lowered
from tolcost.models.patterns import INDICES, NumberInspected


class Entries(NamedTuple):
    """A tensor of whole numbers as a form in its coordinates."""

    coords: tuple[Symbol, ...]
    form: Poly


class Reach(NamedTuple):
    """The least and the largest of some whole numbers; both are attained."""

    least: Poly
    largest: Poly


class Needed(NamedTuple):
    """A condition on the lengths that indices are computed from, why, and the node that needs it."""

    condition: Cond
    reason: str
    node: GraphNode


def index_conditions(
    steps: Iterable[tuple[GraphNode, Applied]],
    known: Callable[[str], Known | None],
    spec_of: Callable[[GraphNode], Spec | None],
) -> Iterator[Needed]:
    """Yield the conditions under which indices that lengths decide are inside of what they index."""
    reached: dict[str, Entries] = {}
    for step, lowered, makes in _asked_for(list(_candidates(steps, known)), known):
        spec = spec_of(step)
        if spec is None:
            continue
        names = dict(zip(input_names(spec, len(step.inputs)), step.inputs, strict=False))
        given = {title: reached[name] for title, name in names.items() if name in reached}
        reading = _Reading(lowered.program, given)
        try:
            if given:
                yield from _needed(reading, lowered, step)
            found = dict(_outputs(reading, lowered)) if makes else {}
        except (NumberInspected, AlgebraBudget):
            continue
        reached |= {
            name: found[title]
            for name, title in zip(step.outputs, lowered.titles, strict=False)
            if title in found
        }


_Candidate: TypeAlias = tuple[GraphNode, Lowered, bool]
"""A node that may have to do with whole numbers that reach somewhere, and whether it makes some."""


def _candidates(
    steps: Iterable[tuple[GraphNode, Applied]], known: Callable[[str], Known | None]
) -> Iterator[_Candidate]:
    perhaps: set[str] = set()
    for step, applied in steps:
        makes = _makes_indices(step, known, perhaps)
        if (makes or not perhaps.isdisjoint(step.inputs)) and len(applied.parts) == 1 and not step.graphs:
            yield step, applied.parts[0][0], makes
            perhaps.update(step.outputs if makes else ())


def _asked_for(candidates: Sequence[_Candidate], known: Callable[[str], Known | None]) -> list[_Candidate]:
    """Return the nodes that bring indices inside of a table of so many entries, and those that make these.

    No other program is needed: making those that common models have would take a third of their time.
    """
    asked: list[_Candidate] = []
    wanted: set[str] = set()
    for step, lowered, makes in reversed(candidates):
        indexes = any(function == "mod" for function, _ in lowered.counts.index)
        brings = indexes and any(_is_table(known(name)) for name in step.inputs if name)
        if brings or (makes and not wanted.isdisjoint(step.outputs)):
            wanted.update(step.inputs)
            asked.append((step, lowered, makes))
    return asked[::-1]


def _is_table(one: Known | None) -> bool:
    """Whether this is a tensor whose lengths are all numbers, as those of parameters are."""
    return isinstance(one, Tensor) and all(d.constant is not None for d in one.shape)


def _makes_indices(step: GraphNode, known: Callable[[str], Known | None], reached: Container[str]) -> bool:
    """Whether a node makes whole numbers, too many to be known one by one, from what is known or reaches."""
    made = (known(name) for name in step.outputs if name)
    whole = any(isinstance(one, Tensor) and one.space in INDICES for one in made)
    return whole and all(not name or name in reached or is_value(known(name)) for name in step.inputs)


def _outputs(reading: _Reading, lowered: Lowered) -> Iterator[tuple[str, Entries]]:
    for output in reading.program.outputs:
        found = reading.entries(output.node)
        if found is not None:
            yield output.name, Entries(found.coords, lowered.put(found.form))


def _needed(reading: _Reading, lowered: Lowered, step: GraphNode) -> Iterator[Needed]:
    """Yield the conditions of the indices that a definition brings inside of what they index, by ``%``."""
    nodes = program_nodes(reading.program)
    if any(isinstance(node, Select) for node in nodes):  # what stands there may not be reached
        return
    for node in nodes:
        if isinstance(node, Lambda) and node.function == "mod" and node.charge == "index":
            index, entries = map(reading.reach, node.args)
            if index is not None and entries is not None:
                many = lowered.put(entries.least)
                said = f"indices go up to {to_words(lowered.put(index.largest))}, of {to_words(many)} entries"
                yield Needed(ge(many - 1 - lowered.put(index.largest)), said, step)
                yield Needed(ge(lowered.put(index.least) + many), said, step)


class _Reading:
    """The nodes of a program as forms in coordinates, given those of its inputs."""

    def __init__(self, program: Program, inputs: Mapping[str, Entries]) -> None:
        self.program, self.inputs = program, inputs
        self.bound: dict[Var, Node] = dict(program.bindings)
        for node in program_nodes(program):
            if isinstance(node, Build):
                self.bound |= dict(node.body.bindings)

    def reach(self, node: Node) -> Reach | None:
        """Return the reach of a number over all coordinates around it; None where it is not known."""
        form = self.number(node)
        return None if form is None else _reach(form)

    def number(self, node: Node) -> Poly | None:
        """Return a number as a form in the coordinates around it; None where it is not known."""
        match node:
            case Number(value=Poly() as form):
                return form
            case Ref(var=var) if var in self.bound:
                return self.number(self.bound[var])
            case Convert(value=inner):
                return self.number(inner)
            case Member(tol=inner, at=at):
                found, places = self.entries(inner), [one for one in at if isinstance(one, Poly)]
                if found is None or len(places) < len(at):
                    return None
                return substitute(found.form, dict(zip(found.coords, places, strict=True)))
            case Lambda(function="add" | "sub" as function, args=(left, right)):
                a, b = self.number(left), self.number(right)
                return None if a is None or b is None else a + b if function == "add" else a - b
            case _:
                return None

    def entries(self, node: Node) -> Entries | None:
        """Return a tensor as a form in its coordinates; None where it is not known."""
        match node:
            case Input(name=name):
                return self.inputs.get(name)
            case Ref(var=var) if var in self.bound:
                return self.entries(self.bound[var])
            case Convert(value=inner):
                return self.entries(inner)
            case Reshape(value=inner):
                return self._reshaped(inner, node.type[0].shape)
            case Build(coords=coords, body=Block(result=result)):
                form = self.number(result)
                return None if form is None else Entries(coords, form)
            case _:
                return None

    def _reshaped(self, node: Node, shape: tuple[Poly, ...]) -> Entries | None:
        """Return a tensor that gets or loses dimensions of length 1."""
        found, before = self.entries(node), node.type[0].shape
        if found is None or [d for d in before if d != 1] != [d for d in shape if d != 1]:
            return None
        coords = [coordinate("i", d) for d in shape]
        long = iter([one for one, d in zip(coords, shape, strict=True) if d != 1])
        places = [const(1) if d == 1 else next(long) for d in before]
        form = substitute(found.form, dict(zip(found.coords, places, strict=True)))
        return Entries(tuple(map(the_symbol, coords)), form)


def _reach(form: Poly) -> Reach | None:
    """Return the reach of a form over its coordinates, each of which it must be linear in."""
    least = largest = form
    for one in form.free:
        if one.kind == "coord":
            step = substitute(form, {one: atom(one) + 1}) - form
            if one.lo is None or one.hi is None or step.constant is None:
                return None
            low, high = (one.lo, one.hi) if step.constant > 0 else (one.hi, one.lo)
            least, largest = substitute(least, {one: low}), substitute(largest, {one: high})
    return Reach(least, largest)
