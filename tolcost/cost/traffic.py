"""Compulsory traffic: the bytes that must be read and written, however well a machine caches.

The parts of the inputs that a program reads are read once, and every output is written once.  Intermediate
values are not counted: they may stay near the functions that use them.  A tensor whose elements are narrower
than a byte is packed and padded to a whole byte.

A traversal from the outputs backwards finds the elements that are read; elements that no output needs are
not.  Where coordinates and lengths determine the elements, distinct ones are counted.  Where data determines
the elements that are read or replaced, they are assumed to be distinct.  Where overlapping reads cannot be
separated, the whole input counts, as an upper bound.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from tolcost.algebra import (
    ZERO,
    Cond,
    Poly,
    conj,
    fewer_clips,
    ge,
    is_nonnegative,
    negate,
    product_of,
    total_of,
)
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    LEAVES,
    Bindings,
    blocks,
    children,
    defined_length,
    index_nodes,
    inner_nodes,
    is_ref,
    roots,
    static_condition,
    with_operands,
)
from tolcost.atoms.nodes import Block, Input, Node, Program, Var
from tolcost.atoms.totals import totals
from tolcost.cost.count import Change, map_values
from tolcost.cost.indices import ReadAnalysis
from tolcost.cost.reads import Read, ReadPlace, different_elements
from tolcost.diagnostics import InternalError
from tolcost.spaces import SPACES

_MOST_VISITS = 20_000
"""Nodes, by place, that a traversal visits; with more, every input that is used counts as a whole."""
_NONE: Mapping[str, str] = MappingProxyType({})


class Traffic(Struct, frozen=True, eq=False):
    """Bytes read and written, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()
    open: bool = False
    """Whether fewer bytes may be read: elements were not separated, but numbers for lengths might help."""
    least: Mapping[str, Poly] | None = None
    """The bytes read whatever the indices are, where data decides the elements; None where it does not."""
    full: tuple[Poly, ...] = ()
    """Where none of these is negative, all ranges have an element; elsewhere fewer bytes may be read."""

    def map_forms(self, change: Change) -> Traffic:
        """Return this traffic with every form changed."""
        least = None if self.least is None else map_values(self.least, change)
        read, written = map_values(self.read, change), map_values(self.written, change)
        return Traffic(read, written, self.unsized, self.open, least, tuple(map(change, self.full)))

    def is_bound(self, facts: tuple[Cond, ...] = ()) -> bool:
        """Whether the closed form may exceed the bytes moved at some lengths that satisfy the facts."""
        return self.open or not all(is_nonnegative(p, facts) for p in self.full)

    @property
    def certain(self) -> Mapping[str, Poly]:
        """Bytes that are read whatever the data: indices may all name the same element."""
        return self.read if self.least is None else self.least

    @property
    def total(self) -> Poly | None:
        """All bytes, read and written; None where a value that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program, facts: tuple[Cond, ...] = (), same: Mapping[str, str] = _NONE) -> Traffic:
    """Count the bytes that a program reads of its inputs and writes to its outputs, where facts hold.

    ``same`` maps an input to another that gets the same value: what both read counts once.
    """
    analysis = ReadAnalysis(facts)
    read = _read(program, analysis, same)
    least = _by_space(_read(program, ReadAnalysis(facts, least=True), same)) if analysis.chosen else None
    parts = [part for out in program.outputs for part in out.node.type]
    written = [(part.space, fewer_clips(product_of(part.shape))) for part in parts]
    unsized = sorted({space for space, _ in (*read, *written) if bits_of(space) is None})
    return Traffic(
        _by_space(read), _by_space(written), tuple(unsized), analysis.inexact, least, tuple(analysis.full)
    )


def undecided(program: Program) -> tuple[Cond, ...] | None:
    """Return the conditions that would each make the elements read more exact; None if others might."""
    analysis = ReadAnalysis()
    _read(program, analysis)
    return None if analysis.vague or analysis.chosen else tuple(map(ge, analysis.undecided))


def _read(
    program: Program, analysis: ReadAnalysis, same: Mapping[str, str] = _NONE
) -> list[tuple[str, Poly]]:
    elements = elements_read(program, analysis, same)
    return [moved for given in program.inputs for moved in elements.get(given.name, ())]


def _by_space(moved: Iterable[tuple[str, Poly]]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for space, elements in moved:
        bits = bits_of(space)
        if bits is not None:
            result[space] = result.get(space, ZERO) + packed(elements, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], space: str) -> Poly | None:
    """Return the bytes of one tensor; None for texts, which have no size.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), "float16"), bytes_of((const(3),), "int4"), bytes_of((), "S")
    (2*n, 2, None)
    """
    bits = bits_of(space)
    return None if bits is None else packed(product_of(shape), bits)


def packed(elements: Poly, bits: int) -> Poly:
    """Return the bytes of a number of packed elements of a given width."""
    return elements * (bits // 8) if bits % 8 == 0 else (elements * bits + 7) // 8


def bits_of(space: str) -> int | None:
    """Return the bits of one element: its own width where finite, else the table's; None for texts."""
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


class _Walk(Struct):
    """One traversal of a program, from its outputs to the values they need."""

    found: dict[str, list[Read]] = field(default_factory=dict)
    bound: dict[Var, tuple[Node, ReadPlace]] = field(default_factory=dict)
    named: dict[Var, Node] = field(default_factory=dict)
    """The nodes of ``bound``, without their places."""
    computed: dict[Var, bool] = field(default_factory=dict)
    seen: set[tuple[Node, ReadPlace]] = field(default_factory=set)
    pending: list[tuple[Node, ReadPlace]] = field(default_factory=list)
    measures: bool = False
    """Whether data decides a length."""

    def run(self, program: Program) -> bool:
        """Find all reads; False if the traversal exceeds its limit."""
        self._bind(program.bindings, ReadPlace())
        self.pending.extend((out.node, ReadPlace()) for out in program.outputs)
        while self.pending:
            step = self.pending.pop()
            if step not in self.seen:
                self.seen.add(step)
                self._visit(*step)
            if len(self.seen) > _MOST_VISITS:
                return False
        return True

    def _visit(self, node: Node, place: ReadPlace) -> None:
        rule = _RULES.get(type(node))
        if rule is None or not rule(self, node, place):
            self._plain(node, place)

    def _visit_input(self, node: Input, place: ReadPlace) -> bool:
        if not _is_never(place):
            self._note(node.name, Read(node.type[0].shape, place=place))
        return True

    def _visit_name(self, node: ir.Ref, place: ReadPlace) -> bool:
        if node.var not in self.bound:
            return False
        value, there = self.bound[node.var]
        self.pending.append((value, place if place.ranges == there.ranges else there))
        if self._computes(node.var):  # whether or not a place that uses it is reached
            self._begin(value, there)
        return True

    def _visit_member(self, node: ir.Member, place: ReadPlace) -> bool:
        given = self._input(node.tol)
        if given is None:
            return self._visit_part(node, place)
        indices = index_nodes(node.at)
        if not _is_never(place):
            computed = bool(indices) and not self._is_chosen(indices)
            self._note(given.name, Read(node.tol.type[0].shape, node.at, place, by_lengths=computed))
        self.pending.extend((index, place) for index in indices)
        return True

    def _visit_part(self, node: ir.Member | ir.Component, place: ReadPlace) -> bool:
        """Visit a part of a fold, and, where the fold takes no turn, the same part of its start."""
        begun = self._find_fold(node, place)
        if begun is None:
            return False
        fold, there, of_start = begun
        turns = conj(*(ge(extent - 1) for extent in fold.extents))
        self.pending.append((fold, there.under(turns)))
        self._begin(fold, there)
        # a turn reads the whole start, which includes the part, unless it changes its type or only replaces
        # members
        is_part = fold.type == fold.start.type and not _only_puts(fold)
        self.pending.append((of_start, place if is_part else place.under(negate(turns))))
        self.pending.extend((index, place) for index in children(node)[1:])
        return True

    def _visit_choice(self, node: ir.Select, place: ReadPlace) -> bool:
        condition = static_condition(node)
        if condition is None:
            return False
        self._enter(node.then, place.under(condition))
        self._enter(node.other, place.under(negate(condition)))
        return True

    def _find_fold(self, node: Node, place: ReadPlace) -> tuple[ir.Fold, ReadPlace, Node] | None:
        """Find the fold that a node takes a part of, the fold's place, and the same part of the fold's start.

        If the fold takes no turn, that part is the value.  The result is None if no item of the start is
        given, as by an input: a computed start is computed as a whole.
        """
        around: list[Node] = []
        while not isinstance(node, ir.Fold):
            if isinstance(node, ir.Ref) and node.var in self.bound:
                node, there = self.bound[node.var]
                place = place if place.ranges == there.ranges else there
            elif isinstance(node, ir.Member | ir.Component | ir.Reshape | ir.Convert):
                around.append(node)
                node = children(node)[0]
            else:
                return None
        found = node.start
        if not any(map(self._is_given, _items(found))):
            return None
        for outer in reversed(around):
            if isinstance(outer, ir.Component) and isinstance(found, ir.Pack):
                found = _component(found, outer.j)
            else:
                found = with_operands(outer, (found, *children(outer)[1:]))
        return node, place, found

    def _is_given(self, node: Node) -> bool:
        """Whether a value is an input, or the result of a fold over one that may take no turn."""
        while not isinstance(node, Input):
            if isinstance(node, ir.Reshape | ir.Convert):
                node = node.value
            elif isinstance(node, ir.Ref) and node.var in self.bound:
                node = self.bound[node.var][0]
            elif isinstance(node, ir.Fold):
                node = node.start
            else:
                return False
        return True

    def _begin(self, node: Node, place: ReadPlace) -> None:
        """Visit computed values, whoever uses them; given items of a fold's start count only when used."""
        if not isinstance(node, ir.Fold):
            self.pending.append((node, place))
            return
        self.pending.extend((item, place) for item in _items(node.start) if not self._is_given(item))
        self._enter(node.body, place.inside(node))

    def _computes(self, var: Var) -> bool:
        """Whether the value of a name is computed or laid out, rather than only taken from another value."""
        if var not in self.computed:
            inside = inner_nodes((self.named[var],))
            self.computed[var] = any(type(node) not in _TAKEN for node in inside)
        return self.computed[var]

    def _is_chosen(self, indices: tuple[Node, ...]) -> bool:
        """Whether indices may depend on data: on an input, or on a loop-carried value."""
        return any(
            isinstance(node, Input) or (isinstance(node, ir.Ref) and node.var not in self.named)
            for node in inner_nodes(indices, self.named)
        )

    def _plain(self, node: Node, place: ReadPlace) -> None:
        start = self._input(node.start) if isinstance(node, ir.Fold) else None
        if isinstance(node, ir.Fold) and start is not None and _only_puts(node) and not place.ranges:
            shape = start.type[0].shape
            replaced = Read(shape, _put(node).at, place.inside(node))
            self._note(start.name, Read(shape, place=place, replaced=replaced))
        else:
            self.pending.extend((child, place) for child in children(node))
        inner = place.inside(node) if isinstance(node, ir.Build | ir.Fold) else place
        for block in blocks(node):
            self._enter(block, inner)

    def _enter(self, block: Block, place: ReadPlace) -> None:
        self._bind(block.bindings, place)
        self.pending.append((block.result, place))

    def _bind(self, bindings: Bindings, place: ReadPlace) -> None:
        """Bind values to their names; all parts of a joint work are computed, whichever are used."""
        self.bound.update({var: (node, place) for var, node in bindings})
        self.named.update(bindings)
        self.pending.extend((node, place) for var, node in bindings if var.work is not None)
        # a length that data decides is found even if nothing else of its node is used
        measuring = [node for _, node in bindings if defined_length(node)]
        self.pending.extend((_measured(node), place) for node in measuring)
        self.measures |= bool(measuring)

    def _input(self, node: Node) -> Input | None:
        """Return the input whose elements a value has, perhaps converted or under another shape."""
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


_RULES: Mapping[type, Callable[[_Walk, Any, ReadPlace], bool]] = {
    Input: _Walk._visit_input,
    ir.Ref: _Walk._visit_name,
    ir.Member: _Walk._visit_member,
    ir.Component: _Walk._visit_part,
    ir.Select: _Walk._visit_choice,
}
"""What a node reads, where it is not all of its operands: False if it is, after all."""


def _is_never(place: ReadPlace) -> bool:
    """Whether nothing is evaluated at a place, because a range is empty; names from outside may be."""
    return any(extent == ZERO for _, extent in place.ranges)


_TAKEN = {*LEAVES, ir.Member, ir.Component, ir.Reshape, ir.Convert, ir.Pack, ir.Select}
"""Node kinds that compute nothing and lay nothing out."""


def _items(node: Node) -> tuple[Node, ...]:
    """Return the items of a list; any other value is its only item."""
    return node.items if isinstance(node, ir.Pack) else (node,)


def _component(pack: ir.Pack, j: int) -> Node:
    """Return a component of a packed list, from the item that contains it."""
    for item in pack.items:
        if j <= len(item.type):
            return item if len(item.type) == 1 else ir.Component(item, j, (item.type[j - 1],))
        j -= len(item.type)
    raise InternalError("a list has no such component")


def _only_puts(fold: ir.Fold) -> bool:
    """Whether a fold only replaces members of its accumulator."""
    result = fold.body.result
    if not isinstance(result, ir.Put) or not is_ref(result.tol, fold.accumulator):
        return False
    others = (*(node for _, node in fold.body.bindings), *children(result)[1:])
    return not any(is_ref(node, fold.accumulator) for node in inner_nodes(others))


def _put(fold: ir.Fold) -> ir.Put:
    put = fold.body.result
    assert isinstance(put, ir.Put)
    return put


def _measured(node: Node) -> Node:
    """Return the value that a node reads to find the length that it defines."""
    return node.mask if isinstance(node, ir.Filter) else node.value if isinstance(node, ir.Length) else node


def elements_read(
    program: Program, analysis: ReadAnalysis | None = None, same: Mapping[str, str] = _NONE
) -> dict[str, tuple[tuple[str, Poly], ...]]:
    """Return the elements read of each input, by name, with their spaces; unread inputs are missing.

    ``same`` maps an input to another that gets the same value; its reads count for that one.
    """
    analysis = analysis or ReadAnalysis()
    walk = _Walk()
    complete = walk.run(program)
    analysis.totals = totals(program) if walk.measures else {}
    analysis.granted = (*analysis.facts, *(noted.condition for noted in program.conditions))
    for name in walk.found.keys() & same.keys():
        walk.found.setdefault(same[name], []).extend(walk.found.pop(name))
    named = (node.name for node in inner_nodes(roots(program)) if isinstance(node, Input))
    used = {same.get(name, name) for name in named}
    found: dict[str, tuple[tuple[str, Poly], ...]] = {}
    for given in program.inputs:
        whole = tuple((part.space, product_of(part.shape)) for part in given.type)
        if complete and given.name in walk.found:
            reads = walk.found[given.name]
            found[given.name] = tuple((space, different_elements(v, reads, analysis)) for space, v in whole)
        elif not complete and given.name in used:
            found[given.name] = whole
    return found
