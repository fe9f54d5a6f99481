"""The record of one analysis: everything known about a program's cost, ready to be reported.

Closed forms are expressions of the algebra; writers turn them into text.

Its traffic is the bytes that must come in and go out, however well a machine caches: every input that the
program uses is read once and every output written once.  Nothing between is counted: it may stay near the
functions that use it.  A tensor of elements narrower than a byte is packed and padded to a whole byte.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType

from tolcost.algebra import (
    ZERO,
    Poly,
    Symbol,
    evaluate,
    product_of,
    symbols_of_cond,
    to_text,
    total_of,
)
from tolcost.atoms.kit import Schedules, inner_nodes, roots, schedules
from tolcost.atoms.nodes import Condition, Input, Part, Program, Type
from tolcost.cost.count import CountKey, Counts, CountStatus, Term, count
from tolcost.cost.span import Depth, Depths, depths
from tolcost.cost.weights import Weighed, Weights, load_weights, weigh
from tolcost.diagnostics import Rejected
from tolcost.spaces import SPACES


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Bytes in and out, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()

    @property
    def total(self) -> Poly | None:
        """All bytes, in and out; None where something that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program) -> Traffic:
    """Count the bytes of the inputs that a program uses and of its outputs."""
    used = used_inputs(program)
    read = [part for given in used for part in given.type]
    written = [part for out in program.outputs for part in out.node.type]
    unsized = sorted({part.space for part in (*read, *written) if bits_of(part.space) is None})
    return Traffic(_by_space(read), _by_space(written), tuple(unsized))


def used_inputs(program: Program) -> tuple[Input, ...]:
    """Give the inputs that a program reads, in the order it declares them."""
    read = {node.name for node in inner_nodes(roots(program)) if isinstance(node, Input)}
    return tuple(given for given in program.inputs if given.name in read)


def _by_space(parts: Iterable[Part]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for part in parts:
        bits = bits_of(part.space)
        if bits is not None:
            result[part.space] = result.get(part.space, ZERO) + bytes_of(part.shape, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], bits: int) -> Poly:
    """Give the bytes of one tensor of elements of some bits.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), 16), bytes_of((const(3),), 4)
    (2*n, 2)
    """
    volume = product_of(shape)
    return volume * (bits // 8) if bits % 8 == 0 else (volume * bits + 7) // 8


def bits_of(space: str) -> int | None:
    """Give the bits of one element: its own where finite, else by the table of widths; None for texts."""
    known = SPACES[space]
    if known.bits is not None:
        return known.bits
    width = _widths().get(known.kind)
    return None if width is None else 8 * width


@cache
def _widths() -> Mapping[str, int]:
    text = Path(__file__).with_name("widths.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text)["bytes"])


# ---- the record ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedType:
    """An input or output: its name, and the space and shape of each component."""

    name: str
    type: Type

    @property
    def text(self) -> str:
        """Space and shape, as in ``R [n, k]``; components of a list are separated by commas."""
        return ", ".join(f"{part.space} [{', '.join(map(to_text, part.shape))}]" for part in self.type)


@dataclass(frozen=True, slots=True)
class FormRatio:
    """A quotient of closed forms, not simplified."""

    numerator: Poly
    denominator: Poly | Depth

    def __str__(self) -> str:
        """Both in parentheses, with a stroke between."""
        below = self.denominator if isinstance(self.denominator, Depth) else to_text(self.denominator)
        return f"({to_text(self.numerator)})/({below})"

    def at(self, values: Mapping[Symbol, int]) -> Fraction | None:
        """Evaluate exactly at a point; None where the denominator is 0."""
        below = self.denominator
        divisor = below.at(values) if isinstance(below, Depth) else evaluate(below, values)
        return Fraction(evaluate(self.numerator, values), divisor) if divisor else None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What a program costs.  ``span`` and ``bytes`` are None where they could not be told."""

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

    @property
    def eops(self) -> Poly:
        """Elementary functions applied to data."""
        return self.counts.eops

    @property
    def histogram(self) -> Mapping[CountKey, Poly]:
        """Counts by function and space."""
        return self.counts.histogram

    @property
    def index(self) -> Mapping[CountKey, Poly]:
        """Functions that compute coordinates, by function and space; not EOPs."""
        return self.counts.index

    @property
    def atoms(self) -> Mapping[str, Poly]:
        """Counts of the five atoms."""
        return self.counts.atoms

    @property
    def macs(self) -> Poly:
        """Multiplications whose product a fold adds up."""
        return self.counts.macs

    @property
    def status(self) -> CountStatus:
        """Whether counts are exact, an upper bound, or in terms of what data decides."""
        return self.counts.status

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every term with its place in the source."""
        return self.counts.terms

    @property
    def bytes(self) -> Poly | None:
        """Compulsory bytes in and out."""
        return self.traffic.total

    @property
    def parallelism(self) -> FormRatio | None:
        """EOPs over the depth with reduces as chains."""
        return None if self.span is None else FormRatio(self.eops, self.span.chain)

    @property
    def parallelism_tree(self) -> FormRatio | None:
        """EOPs over the depth with associative reduces as trees."""
        return None if self.span is None else FormRatio(self.eops, self.span.tree)

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over compulsory bytes."""
        return None if self.bytes is None else FormRatio(self.flops, self.bytes)


def analyze_program(program: Program, file: str = "") -> Analysis:
    """Bring together everything that is known about the cost of a program."""
    found = schedules(program)
    counts = count(program, found)
    return Analysis(
        name=program.name,
        file=file,
        inputs=tuple(NamedType(given.name, given.type) for given in program.inputs),
        outputs=tuple(NamedType(out.name, out.node.type) for out in program.outputs),
        counts=counts,
        flops=weigh(counts, shipped("flops")).numerator,
        traffic=traffic(program),
        span=_depths(program, found),
        conditions=program.conditions,
        unproved=program.unproved,
        symbols=_symbols(program, counts),
    )


def _symbols(program: Program, counts: Counts) -> tuple[Symbol, ...]:
    """Give the lengths, and what data decides, that an analysis mentions: those of inputs first."""
    shapes = (
        part.shape
        for value in (*program.inputs, *(out.node for out in program.outputs))
        for part in value.type
    )
    polys = (*(extent for shape in shapes for extent in shape), *counts.atoms.values(), counts.eops)
    found = dict.fromkeys(s for p in polys for s in sorted(p.free, key=lambda s: s.key))
    for condition in (*program.conditions, *program.unproved):
        found |= dict.fromkeys(sorted(symbols_of_cond(condition.condition), key=lambda s: s.key))
    return tuple(symbol for symbol in found if symbol.kind != "coord")


@cache
def shipped(name: str) -> Weights:
    """Give a cost model that comes with tolcost."""
    return load_weights(name)


def _depths(program: Program, found: Schedules) -> Depths | None:
    """Depth beside the counts: not knowing it is no reason to withhold them."""
    try:
        return depths(program, found)
    except Rejected:
        return None


def weighed(analysis: Analysis, weights: Weights) -> Weighed:
    """Weigh an analysis with a cost model."""
    return weigh(analysis.counts, weights)
