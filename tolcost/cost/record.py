"""The record of one analysis: everything known about the cost of a program, for reports.

Closed forms are expressions of the algebra; the writers of reports turn them into text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import ZERO, Poly, Symbol, evaluate, symbols_of_cond, to_text
from tolcost.atoms.kit import Schedules, schedules
from tolcost.atoms.nodes import Condition, Program, Type
from tolcost.certainty import Certainty
from tolcost.cost.count import Change, Counts, count
from tolcost.cost.kernel import Obstacle, obstacle
from tolcost.cost.span import ZERO_DEPTH, Depth, Depths, depths
from tolcost.cost.traffic import Traffic, traffic
from tolcost.cost.weights import Weights, load_weights, weigh
from tolcost.diagnostics import Rejected


class NamedType(Struct, frozen=True):
    """An input or output: its name, and the space and shape of each component."""

    name: str
    type: Type

    @property
    def text(self) -> str:
        """Space and shape, as in ``R [n, k]``; components of a list are separated by commas."""
        return ", ".join(f"{part.space} [{', '.join(map(to_text, part.shape))}]" for part in self.type)

    def map_forms(self, change: Change) -> NamedType:
        """Return this input or output with every length changed."""
        parts = (replace(part, shape=tuple(map(change, part.shape))) for part in self.type)
        return NamedType(self.name, tuple(parts))


class FormRatio(Struct, frozen=True):
    """A quotient of two closed forms, not simplified."""

    numerator: Poly
    denominator: Poly | Depth

    def __str__(self) -> str:
        """Write both forms in parentheses, with a slash between them."""
        below = self.denominator if isinstance(self.denominator, Depth) else to_text(self.denominator)
        return f"({to_text(self.numerator)})/({below})"

    def at(self, values: Mapping[Symbol, int]) -> Fraction | None:
        """Evaluate exactly at a point; None where the denominator is 0."""
        below = self.denominator
        divisor = below.at(values) if isinstance(below, Depth) else evaluate(below, values)
        return Fraction(evaluate(self.numerator, values), divisor) if divisor else None


class Analysis(Struct, frozen=True, eq=False):
    """The cost of a program.

    ``span`` is None where it was not asked for or is too large to compute; ``bytes`` is None where a value
    that moves has no size.
    """

    name: str
    file: str
    inputs: tuple[NamedType, ...]
    outputs: tuple[NamedType, ...]
    counts: Counts
    flops: Poly
    traffic: Traffic
    span: Depths | None
    conditions: tuple[Condition, ...]
    unproved: tuple[Condition, ...]
    symbols: tuple[Symbol, ...]
    idle: tuple[Symbol, ...] = ()
    """Lengths and attributes of the program that no figure of the analysis depends on."""
    program: Program | None = None
    """The program itself, at the lengths that it was lowered for."""
    least: Poly | None = None
    """The fewest EOPs, where they lie between two forms."""

    def map_forms(self, change: Change) -> Analysis:
        """Return this analysis with every form changed, at places in the source too, but for conditions."""
        counts = self.counts.map_forms(change, places=True)
        return replace(
            self,
            inputs=tuple(one.map_forms(change) for one in self.inputs),
            outputs=tuple(one.map_forms(change) for one in self.outputs),
            counts=counts,
            flops=change(self.flops),
            traffic=self.traffic.map_forms(change),
            span=None if self.span is None else self.span.map_forms(change).at_most(counts.eops),
            least=None if self.least is None else change(self.least),
        )

    @property
    def obstacle(self) -> Obstacle | None:
        """Why the program is not one kernel."""
        return None if self.program is None else obstacle(self.program)

    @property
    def eops(self) -> Poly:
        """The number of elementary functions applied to data."""
        return self.counts.eops

    @property
    def status(self) -> Certainty:
        """Whether counts are exact, an upper bound, or in terms of data-dependent lengths."""
        return self.counts.status

    @property
    def bytes(self) -> Poly | None:
        """Compulsory bytes, read and written."""
        return self.traffic.total

    @property
    def parallelism(self) -> FormRatio | None:
        """EOPs divided by the depth with reduces as chains; None where that depth is 0 at all lengths."""
        return None if self.span is None else _for_each_step(self.eops, self.span.chain)

    @property
    def parallelism_tree(self) -> FormRatio | None:
        """EOPs divided by the depth with associative reduces as trees."""
        return None if self.span is None else _for_each_step(self.eops, self.span.tree)

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs divided by compulsory bytes; None where no bytes ever move, or their number is unknown."""
        return None if self.bytes is None or self.bytes == ZERO else FormRatio(self.flops, self.bytes)


def _for_each_step(eops: Poly, depth: Depth) -> FormRatio | None:
    return None if depth.candidates == ZERO_DEPTH.candidates else FormRatio(eops, depth)


def analyze_program(program: Program, file: str = "", depth: bool = True, moved: bool = True) -> Analysis:
    """Analyze the cost of a program; its depth only if ``depth`` is set, its traffic only if ``moved`` is."""
    found = schedules(program)
    counts = count(program, found)
    carried = traffic(program) if moved else Traffic({}, {})
    deep = _depths(program, found, counts.eops) if depth else None
    symbols = _symbols(program, counts, carried, deep)
    return Analysis(
        name=program.name,
        file=file,
        inputs=tuple(NamedType(given.name, given.type) for given in program.inputs),
        outputs=tuple(NamedType(out.name, out.node.type) for out in program.outputs),
        counts=counts,
        flops=weigh(counts, shipped("flops")).numerator,
        traffic=carried,
        span=deep,
        conditions=program.conditions,
        unproved=program.unproved,
        symbols=symbols,
        idle=tuple(symbol for symbol in program.symbols if symbol not in symbols),
        program=program,
    )


def _symbols(program: Program, counts: Counts, moved: Traffic, deep: Depths | None) -> tuple[Symbol, ...]:
    """Return the symbols that an analysis mentions, those of inputs first; coordinates are left out."""
    shapes = (
        part.shape
        for value in (*program.inputs, *(out.node for out in program.outputs))
        for part in value.type
    )
    lengths = (extent for shape in shapes for extent in shape)
    found = _free((*lengths, *counts.atoms.values(), counts.eops))
    for condition in (*program.conditions, *program.unproved):
        found |= dict.fromkeys(sorted(symbols_of_cond(condition.condition), key=lambda s: s.key))
    functions = (*counts.histogram.values(), *counts.index.values(), counts.macs)
    carried = (*moved.read.values(), *moved.written.values(), *(moved.least or {}).values())
    chains = () if deep is None else (*deep.chain.candidates, *deep.tree.candidates)
    found |= _free((*functions, *carried, *chains))
    return tuple(symbol for symbol in found if symbol.kind != "coord")


def _free(forms: Iterable[Poly]) -> dict[Symbol, None]:
    """Return the free symbols of forms, in a stable order."""
    return dict.fromkeys(s for form in forms for s in sorted(form.free, key=lambda s: s.key))


@cache
def shipped(name: str) -> Weights:
    """Return a cost model that comes with tolcost, read once."""
    return load_weights(name)


def _depths(program: Program, found: Schedules, eops: Poly) -> Depths | None:
    """Compute depths; None if they are too large, so that the counts can still be reported."""
    try:
        return depths(program, found, eops)
    except Rejected:
        return None
