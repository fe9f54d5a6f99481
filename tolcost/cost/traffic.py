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
from functools import cache
from pathlib import Path
from types import MappingProxyType

from tolcost.algebra import ZERO, Cond, Poly, ge, negate, product_of, total_of
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import blocks, children, index_nodes, inner_nodes, is_ref, roots, static_condition
from tolcost.atoms.nodes import Block, Input, Node, Program, Var
from tolcost.cost.overlap import Doubts, Read, ReadPlace, different_elements
from tolcost.dataclass import dataclass, field
from tolcost.spaces import SPACES

_MOST_VISITS = 20_000


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


def traffic(program: Program, facts: tuple[Cond, ...] = ()) -> Traffic:
    """Count the bytes that a program reads of its inputs, and those of its outputs, where facts hold."""
    doubts = Doubts(facts)
    read = _read(program, doubts)
    least = _by_space(_read(program, Doubts(facts, least=True))) if doubts.chosen else None
    written = [(part.space, product_of(part.shape)) for out in program.outputs for part in out.node.type]
    unsized = sorted({space for space, _ in (*read, *written) if bits_of(space) is None})
    return Traffic(_by_space(read), _by_space(written), tuple(unsized), doubts.met, least)


def undecided(program: Program) -> tuple[Cond, ...] | None:
    """The conditions that would tell more of what is read if one of them held; None where others might."""
    doubts = Doubts()
    _read(program, doubts)
    return None if doubts.vague or doubts.chosen else tuple(map(ge, doubts.asked))


def _read(program: Program, doubts: Doubts) -> list[tuple[str, Poly]]:
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


@dataclass(slots=True)
class _Walk:
    """One walk over a program, from its outputs to what they need."""

    found: dict[str, list[Read]] = field(default_factory=dict)
    bound: dict[Var, tuple[Node, ReadPlace]] = field(default_factory=dict)
    seen: set[tuple[Node, ReadPlace]] = field(default_factory=set)
    pending: list[tuple[Node, ReadPlace]] = field(default_factory=list)

    def run(self, program: Program) -> bool:
        """Find all reads; False if that takes too long."""
        self.bound.update({var: (node, ReadPlace()) for var, node in program.bindings})
        self.pending.extend((out.node, ReadPlace()) for out in program.outputs)
        # a length that only data decides is read of the mask, even where no entry is looked at
        self.pending.extend(
            (node.mask, ReadPlace()) for _, node in program.bindings if isinstance(node, ir.Filter)
        )
        while self.pending:
            step = self.pending.pop()
            if step not in self.seen:
                self.seen.add(step)
                self._visit(*step)
            if len(self.seen) > _MOST_VISITS:
                return False
        return True

    def _visit(self, node: Node, place: ReadPlace) -> None:
        match node:
            case Input(name=name, type=parts):
                if not _is_never(place):
                    self._note(name, Read(parts[0].shape))
            case ir.Ref(var=var) if var in self.bound:
                value, there = self.bound[var]
                self.pending.append((value, place if place.ranges == there.ranges else there))
            case ir.Member(tol=tol, at=at) if (given := self._input(tol)) is not None:
                if not _is_never(place):
                    self._note(given.name, Read(tol.type[0].shape, at, place))
                self.pending.extend((index, place) for index in index_nodes(at))
            case ir.Select(then=then, other=other) if (condition := static_condition(node)) is not None:
                self._enter(then, place.under(condition))
                self._enter(other, place.under(negate(condition)))
            case _:
                self._plain(node, place)

    def _plain(self, node: Node, place: ReadPlace) -> None:
        start = self._input(node.start) if isinstance(node, ir.Fold) else None
        if isinstance(node, ir.Fold) and start is not None and _only_puts(node) and not place.ranges:
            shape = start.type[0].shape
            self._note(start.name, Read(shape, replaced=Read(shape, _put(node).at, place.inside(node))))
        else:
            self.pending.extend((child, place) for child in children(node))
        inner = place.inside(node) if isinstance(node, ir.Build | ir.Fold) else place
        for block in blocks(node):
            self._enter(block, inner)

    def _enter(self, block: Block, place: ReadPlace) -> None:
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

    def _note(self, name: str, read: Read) -> None:
        self.found.setdefault(name, []).append(read)


def _is_never(place: ReadPlace) -> bool:
    """Whether nothing is evaluated at a place, and so nothing read; what is named outside of it may be."""
    return any(extent == ZERO for _, extent in place.ranges)


def _only_puts(fold: ir.Fold) -> bool:
    """Whether a fold does nothing with its accumulator but replace members of it."""
    result = fold.body.result
    if not isinstance(result, ir.Put) or not is_ref(result.tol, fold.accumulator):
        return False
    others = (*(node for _, node in fold.body.bindings), *children(result)[1:])
    return not any(is_ref(node, fold.accumulator) for node in inner_nodes(others))


def _put(fold: ir.Fold) -> ir.Put:
    put = fold.body.result
    assert isinstance(put, ir.Put)
    return put


def elements_read(program: Program, doubts: Doubts | None = None) -> dict[str, tuple[tuple[str, Poly], ...]]:
    """Elements read of each input, by name, with their spaces; an input that is not read is not there."""
    doubts = doubts or Doubts()
    walk = _Walk()
    complete = walk.run(program)
    used = {node.name for node in inner_nodes(roots(program)) if isinstance(node, Input)}
    found: dict[str, tuple[tuple[str, Poly], ...]] = {}
    for given in program.inputs:
        whole = tuple((part.space, product_of(part.shape)) for part in given.type)
        if complete and len(whole) == 1 and given.name in walk.found:
            found[given.name] = (
                (whole[0][0], different_elements(whole[0][1], walk.found[given.name], doubts)),
            )
        elif given.name in (walk.found if complete else used):
            found[given.name] = whole
    return found
