"""Compulsory traffic: the bytes that must come in and go out, however well a machine caches.

What a program reads of its inputs is read once, and every output written once.  Nothing between is counted:
it may stay near the functions that use it.  A tensor of elements narrower than a byte is packed and padded to
a whole byte.

Which elements are read is found from the outputs backwards: what nobody asks for is not read.  Where
coordinates and lengths decide which elements are read, different ones are counted; where data decides, they
are taken to be different, and where data decides which elements are replaced, too.  An input counts as a
whole where the elements read are not told apart: a window over a padded image, say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tolcost.algebra import (
    ONE,
    ZERO,
    AlgebraBudget,
    Cond,
    Poly,
    Sum,
    Symbol,
    generators_in,
    is_nonnegative,
    minimum,
    negate,
    product_of,
    relu,
    substitute,
    symbols_of_cond,
    total,
    total_of,
)
from tolcost.algebra.poly import affine_parts
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import blocks, children, index_nodes, inner_nodes, is_ref, roots, static_condition
from tolcost.atoms.nodes import Block, Input, Node, Program, Var
from tolcost.spaces import SPACES

Shape: TypeAlias = tuple[Poly, ...]
Ranges: TypeAlias = tuple[tuple[Symbol, Poly], ...]
_MOST_VISITS = 20_000
_FEW_TERMS = 8
"""A longer form is no clearer than the whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Bytes in and out, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()
    open: bool = False
    """Whether more might be told of what is read if lengths were numbers."""
    least: Mapping[str, Poly] | None = None
    """What is read whatever indices say, where indices say what is read."""

    @property
    def certain(self) -> Mapping[str, Poly]:
        """Bytes that are read whatever data says: indices may all name the same element."""
        return self.read if self.least is None else self.least

    @property
    def total(self) -> Poly | None:
        """All bytes, in and out; None where something that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program) -> Traffic:
    """Count the bytes that a program reads of its inputs, and those of its outputs."""
    doubts = _Doubts()
    read = _read(program, doubts)
    least = _by_space(_read(program, _Doubts(least=True))) if doubts.chosen else None
    written = [(part.space, product_of(part.shape)) for out in program.outputs for part in out.node.type]
    unsized = sorted({space for space, _ in (*read, *written) if bits_of(space) is None})
    return Traffic(_by_space(read), _by_space(written), tuple(unsized), doubts.met, least)


def _read(program: Program, doubts: _Doubts) -> list[tuple[str, Poly]]:
    elements = elements_read(program, doubts)
    return [moved for given in program.inputs for moved in elements.get(given.name, ())]


def _by_space(moved: Iterable[tuple[str, Poly]]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for space, elements in moved:
        bits = bits_of(space)
        if bits is not None:
            result[space] = result.get(space, ZERO) + packed(elements, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], bits: int) -> Poly:
    """Give the bytes of one tensor of elements of some bits.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), 16), bytes_of((const(3),), 4)
    (2*n, 2)
    """
    return packed(product_of(shape), bits)


def packed(elements: Poly, bits: int) -> Poly:
    """Give the bytes that so many elements of some bits take."""
    return elements * (bits // 8) if bits % 8 == 0 else (elements * bits + 7) // 8


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


# ---- which elements are read ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is evaluated: the coordinates around it, and the conditions under which it is."""

    ranges: Ranges = ()
    guards: tuple[Cond, ...] = field(default=(), hash=False)
    known: frozenset[Cond] = field(default=frozenset(), compare=False, hash=True)
    """The guards again: a set that has its hash, and is quickly asked."""

    def under(self, guard: Cond) -> _Place:
        if guard in self.known:
            return self
        return _Place(self.ranges, (*self.guards, guard), self.known | {guard})

    def inside(self, node: ir.Build | ir.Fold) -> _Place:
        return replace(self, ranges=(*self.ranges, *zip(node.coords, node.extents, strict=True)))


@dataclass(frozen=True, slots=True)
class _Read:
    """Members of an input, which has this shape where they are taken; ``at`` may say nothing: all of them."""

    shape: Shape
    at: tuple[Poly | Node, ...] | None = None
    place: _Place = _Place()
    replaced: Poly | None = None
    """Of all members, so many are replaced before anyone reads them."""


@dataclass(slots=True)
class _Walk:
    """One walk over a program, from its outputs to what they need."""

    found: dict[str, list[_Read]] = field(default_factory=dict)
    bound: dict[Var, tuple[Node, _Place]] = field(default_factory=dict)
    seen: set[tuple[Node, _Place]] = field(default_factory=set)
    pending: list[tuple[Node, _Place]] = field(default_factory=list)

    def run(self, program: Program) -> bool:
        """Find all reads; False if that takes too long."""
        self.bound.update({var: (node, _Place()) for var, node in program.bindings})
        self.pending.extend((out.node, _Place()) for out in program.outputs)
        # a length that only data decides is read of the mask, even where no entry is looked at
        self.pending.extend(
            (node.mask, _Place()) for _, node in program.bindings if isinstance(node, ir.Filter)
        )
        while self.pending:
            step = self.pending.pop()
            if step not in self.seen:
                self.seen.add(step)
                self._visit(*step)
            if len(self.seen) > _MOST_VISITS:
                return False
        return True

    def _visit(self, node: Node, place: _Place) -> None:
        match node:
            case Input(name=name, type=parts):
                self._note(name, _Read(parts[0].shape))
            case ir.Ref(var=var) if var in self.bound:
                value, there = self.bound[var]
                self.pending.append((value, place if place.ranges == there.ranges else there))
            case ir.Member(tol=tol, at=at) if (given := self._input(tol)) is not None:
                self._note(given.name, _Read(tol.type[0].shape, at, place))
                self.pending.extend((index, place) for index in index_nodes(at))
            case ir.Select(then=then, other=other) if (condition := static_condition(node)) is not None:
                self._enter(then, place.under(condition))
                self._enter(other, place.under(negate(condition)))
            case _:
                self._plain(node, place)

    def _plain(self, node: Node, place: _Place) -> None:
        start = self._input(node.start) if isinstance(node, ir.Fold) else None
        if isinstance(node, ir.Fold) and start is not None and _only_puts(node):
            self._note(start.name, _Read(start.type[0].shape, replaced=_puts(node)))
        else:
            self.pending.extend((child, place) for child in children(node))
        inner = place.inside(node) if isinstance(node, ir.Build | ir.Fold) else place
        for block in blocks(node):
            self._enter(block, inner)

    def _enter(self, block: Block, place: _Place) -> None:
        self.bound.update({var: (node, place) for var, node in block.bindings})
        self.pending.append((block.result, place))

    def _input(self, node: Node) -> Input | None:
        """The input that a value holds the elements of, perhaps converted or under another shape."""
        while not isinstance(node, Input):
            if isinstance(node, ir.Reshape) or (isinstance(node, ir.Convert) and not node.bits):
                node = node.value
            elif isinstance(node, ir.Ref) and node.var in self.bound:
                node = self.bound[node.var][0]
            else:
                return None
        return node if len(node.type) == 1 else None

    def _note(self, name: str, read: _Read) -> None:
        self.found.setdefault(name, []).append(read)


def _only_puts(fold: ir.Fold) -> bool:
    """Whether a fold does nothing with its accumulator but replace members of it."""
    result = fold.body.result
    if not isinstance(result, ir.Put) or not is_ref(result.tol, fold.accumulator):
        return False
    return sum(is_ref(node, fold.accumulator) for node in inner_nodes(roots(fold.body))) == 1


def _puts(fold: ir.Fold) -> Poly:
    put = fold.body.result
    assert isinstance(put, ir.Put)
    return product_of((*fold.extents, *put.type[0].shape[len(put.at) :]))


# ---- counting --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Doubts:
    """What was met: a question about lengths that could not be decided, elements that data chooses."""

    met: bool = False
    chosen: bool = False
    least: bool = False
    """Whether of chosen elements those count that are read whatever they are, instead of all of them."""

    def proved(self, p: Poly) -> bool:
        """Whether an expression is never negative, as far as can be told."""
        found = is_nonnegative(p)
        self.met |= not found and p.constant is None
        return found


def elements_read(program: Program, doubts: _Doubts | None = None) -> dict[str, tuple[tuple[str, Poly], ...]]:
    """Elements read of each input, by name, with their spaces; an input that is not read is not there."""
    doubts = doubts or _Doubts()
    walk = _Walk()
    complete = walk.run(program)
    used = {node.name for node in inner_nodes(roots(program)) if isinstance(node, Input)}
    found: dict[str, tuple[tuple[str, Poly], ...]] = {}
    for given in program.inputs:
        whole = tuple((part.space, product_of(part.shape)) for part in given.type)
        if complete and len(whole) == 1 and given.name in walk.found:
            found[given.name] = ((whole[0][0], _elements(whole[0][1], walk.found[given.name], doubts)),)
        elif given.name in (walk.found if complete else used):
            found[given.name] = whole
    return found


def _elements(volume: Poly, reads: list[_Read], doubts: _Doubts) -> Poly:
    """How many different elements some reads of one input take."""
    if any(read.at is None and read.replaced is None for read in reads):
        return volume
    try:
        return _different(volume, reads, doubts)
    except AlgebraBudget:
        doubts.met = True
        return volume


def _different(volume: Poly, reads: list[_Read], doubts: _Doubts) -> Poly:
    if doubts.least and any(read.at is not None and index_nodes(read.at) for read in reads):
        return _surely(reads, doubts)
    known: dict[object, Poly] = {}
    by_data: list[Poly] = []
    for read in _distinct(reads):
        if read.replaced is not None:
            by_data.append(relu(volume - read.replaced))
        elif read.at is not None and index_nodes(read.at):
            doubts.chosen = True
            visits = _visits(read.place.ranges, read.place.guards, doubts)
            by_data.append(volume if visits is None else visits)
        else:
            key, count = _image(read, doubts) or (None, volume)
            if count == volume:
                return volume
            known[key] = count
    every = total_of((*known.values(), *by_data))
    doubts.met |= len(known) > 1 and every.constant is None  # numbers might show two of them to be one
    if len(known) == 1 and not by_data:
        return every
    if by_data and len(every.terms) <= _FEW_TERMS:
        return minimum(volume, every)
    return every if doubts.proved(volume - every) else volume


def _surely(reads: list[_Read], doubts: _Doubts) -> Poly:
    """How many elements are read at least, where data chooses some: those of one read that tells them apart.

    Where an index is data, the others still do: of a gathered row every column is read once.
    """
    images = (_image(read, doubts) for read in _distinct(reads) if read.at is not None)
    return next((count for found in images if found is not None for _, count in [found]), ZERO)


def _distinct(reads: list[_Read]) -> list[_Read]:
    """Reads without those that another takes under fewer conditions."""
    kept: list[_Read] = []
    alike: dict[object, list[_Place]] = {}
    for read in sorted(dict.fromkeys(reads), key=lambda read: len(read.place.guards)):
        places = alike.setdefault((read.shape, read.at, _used(read)), [])
        if read.at is None or not any(place.known <= read.place.known for place in places):
            places.append(read.place)
            kept.append(read)
    return kept


def _used(read: _Read) -> Ranges:
    """The coordinates that indices mention, with their ranges."""
    mentioned = {s for index in read.at or () if isinstance(index, Poly) for s in index.free}
    return tuple((symbol, extent) for symbol, extent in read.place.ranges if symbol in mentioned)


def _visits(ranges: Ranges, guards: tuple[Cond, ...], doubts: _Doubts) -> Poly | None:
    """How many points some coordinates run over where conditions hold; None where that is involved."""
    names = {symbol for symbol, _ in ranges}
    mentioned = {s for guard in guards for s in symbols_of_cond(guard)} | {
        s for _, e in ranges for s in e.free
    }
    if any(symbol.kind == "coord" and symbol not in names for symbol in mentioned):
        return None
    found = total(ONE, [(symbol, ONE, extent) for symbol, extent in ranges], guards)
    involved = found.height > 1 or any(isinstance(generator, Sum) for generator in generators_in(found))
    doubts.met |= involved
    return None if involved else found


def _image(read: _Read, doubts: _Doubts) -> tuple[object, Poly] | None:
    """What elements a read takes, by coordinates alone: something to tell them apart by, and how many."""
    assert read.at is not None
    at = tuple(index for index in read.at if isinstance(index, Poly))
    ranges = _used(read)
    axes = [tuple((s, e) for s, e in ranges if s in index.free) for index in at]
    if sum(map(len, axes)) != len(ranges):
        return None  # a coordinate in two places: a diagonal, say
    plain = not read.place.guards and not any(s.kind == "coord" for _, e in ranges for s in e.free)
    if plain:
        box = [_axis(index, own, doubts) for index, own in zip(at, axes, strict=True)]
        known = [side for side in box if side is not None]
        return (tuple(known), product_of(count for _, count in known)) if len(known) == len(box) else None
    if any(
        len(own) > 1 or (own and _step(index, own[0][0]) is None) for index, own in zip(at, axes, strict=True)
    ):
        return None
    count = _visits(ranges, read.place.guards, doubts)
    return None if count is None else ((at, read.place), count)


def _step(index: Poly, symbol: Symbol) -> int | None:
    """By how much an index grows with a coordinate, where that is the same everywhere and not 0."""
    parts = affine_parts(index, symbol)
    return None if parts is None else parts[0].constant or None


def _axis(index: Poly, given: Ranges, doubts: _Doubts) -> tuple[Poly, Poly] | None:
    """The first of the values that an index takes, and how many there are, where they are evenly spaced."""
    own = tuple((symbol, extent) for symbol, extent in given if extent != ONE)
    steps = {symbol: step for symbol, _ in own if (step := _step(index, symbol)) is not None}
    if len(steps) < len(own):
        return None
    ends = {symbol: extent if steps.get(symbol, 1) < 0 else ONE for symbol, extent in given}
    first = substitute(index, ends)
    if len(own) <= 1:
        return first, own[0][1] if own else ONE
    sizes = sorted(((abs(steps[symbol]), extent) for symbol, extent in own), key=lambda size: size[0])
    reach, unit = ONE, sizes[0][0]
    for size, extent in sizes:
        gap, rest = divmod(size, unit)
        if rest or not doubts.proved(reach - gap) or not doubts.proved(extent - 1):
            return None
        reach = reach + gap * (extent - 1)
    return first, reach
