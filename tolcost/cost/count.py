"""From atoms to exact counts: how often each elementary function and each atom is applied.

Counts are kept as guarded terms over coordinates (``terms``) and summed in closed form.  Work
is linear in the program: a block is counted once and its result scaled, never unrolled.
Copying a ToL takes every member and joins them again; what a copy costs depends on shapes alone.
What a count weighs is for ``weights``; how long the longest chain is, for ``span``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from tolcost.algebra import ONE, ZERO, AlgebraBudget, Poly, const, maximum, product_of, relu, total_of
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Schedule, Schedules, schedule, schedules, static_condition
from tolcost.atoms.nodes import ATOMS, Block, Node, Program, Type
from tolcost.cost.macs import accumulated_products
from tolcost.cost.terms import (
    EVERYWHERE,
    Counted,
    CountedKind,
    TakenSums,
    Unsummed,
    accumulate,
    bound_above,
    choose,
    choose_apart,
    collapse,
    filter_lengths,
    mentions_data,
    quantify,
)
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span


def moved(node: Node) -> Unsummed:
    """Count the members, joins and embeds that a node does as a whole."""
    match node:
        case ir.Pack(items=items):
            return _atoms(join=const(len(items) - 1))
        case ir.Reshape(value=value, type=type_):
            # a numeric is no member of anything, and the only entry of a ToL is
            kinds = zip(value.type, type_, strict=True)
            taken = sum(bool(old.shape) - bool(new.shape) for old, new in kinds)
            return plus(_relayed(type_), _atoms(member=const(taken)))
        case ir.Convert(type=type_):
            return _relayed(type_)
        case ir.Put():
            return _put(node)
        case ir.Filter(type=type_):
            return plus(_relayed(type_), _atoms(norm=ONE))
        case _:
            return {}


def _atoms(**counts: Poly) -> Unsummed:
    return {(Counted("atom", name), EVERYWHERE): count for name, count in counts.items() if count != ZERO}


def plus(left: Unsummed, right: Unsummed) -> Unsummed:
    """Add terms to terms."""
    terms = dict(left)
    accumulate(terms, right)
    return terms


def _suffix_products(shape: tuple[Poly, ...]) -> Poly:
    """Sum of the products of the last 1, 2, ... lengths, all but the product of all of them."""
    total, product = ZERO, ONE
    for extent in reversed(shape[1:]):
        product = product * extent
        total = total + product
    return total


def _relay(shape: tuple[Poly, ...], read: bool = True) -> Unsummed:
    """Count taking a ToL apart into members and joining them again under a shape."""
    if not shape:
        return {}
    volume, joins, embeds = _laid(shape)
    return _atoms(member=volume if read else ZERO, join=joins, embed=embeds)


@lru_cache(maxsize=1 << 10)  # the values of a program have few shapes
def _laid(shape: tuple[Poly, ...]) -> tuple[Poly, Poly, Poly]:
    """Count the members of a shape, and the joins and embeds that lay them out."""
    volume = product_of(shape)
    return volume, relu(volume - 1), _suffix_products(shape)


def _relayed(type_: Type) -> Unsummed:
    terms = _listed(type_, const(len(type_))) if any(part.shape for part in type_) else {}
    for part in type_:
        accumulate(terms, _relay(part.shape))
    return terms


def _listed(type_: Type, taken: Poly) -> Unsummed:
    """Count taking a list apart into components, so many in all, and making a list of them again."""
    return _atoms(member=taken, join=const(len(type_) - 1)) if len(type_) > 1 else {}


def assembled(node: ir.Build) -> Unsummed:
    """Count putting the values of a body together: numerics as they are, ToLs by their members."""
    rank = len(node.extents)
    inner = [part.shape[rank:] for part in node.type]
    if not any(inner):
        return _relay(node.extents, read=False)
    terms = _listed(node.type, product_of(node.extents) * sum(map(bool, inner)))
    for shape in inner:
        accumulate(terms, _relay((*node.extents, *shape)))
    return terms


def _put(node: ir.Put) -> Unsummed:
    """Count a replacement: every member is read, those of the new value in place of the old ones."""
    terms = _relayed(node.type)
    accumulate(terms, _atoms(member=const(sum(new_members(node)))))
    return terms


def new_members(node: ir.Put) -> Iterator[int]:
    """How many members more or less each component takes: none for a numeric, one for one of a list."""
    for part in node.type:
        if part.shape:
            yield (len(node.type) > 1) - (len(part.shape) == len(node.at))


CountStatus = Literal["exact", "upper bound", "depends on data"]
CountKey: TypeAlias = tuple[str, str]
"""An elementary function and the space it computes in."""

_APPLYING = (ir.Lambda, ir.Where, ir.Build, ir.Fold, ir.Select)
"""The kinds of nodes that apply functions, themselves or in their blocks."""
_MAC = Counted("mac", "mac")
_LAMBDA, _MEMBER, _JOIN, _EMBED = (Counted("atom", name) for name in ("lambda", "member", "join", "embed"))


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """How often one place in the source applies a function; index functions are not EOPs."""

    function: str
    space: str
    count: Poly
    kind: Literal["data", "index"]
    span: Span = field(default=NOWHERE, repr=False)


def applied(histogram: Mapping[CountKey, Poly], atoms: Mapping[str, Poly], bounded: bool) -> Poly:
    """How many elementary functions are applied to data.

    Of a branch that data decides, every function is bounded by the side that applies it more, and all of
    them together by the side that applies more in all: these are the lambda atoms.
    """
    return atoms["lambda"] if bounded else total_of(histogram.values())


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Everything counted in a program, in closed form."""

    histogram: Mapping[CountKey, Poly]
    index: Mapping[CountKey, Poly]
    atoms: Mapping[str, Poly]
    macs: Poly
    terms: tuple[Term, ...]
    status: CountStatus
    bounded: tuple[Span, ...] = ()
    """Where data decides what is computed, so that only the most of it is counted."""

    @property
    def eops(self) -> Poly:
        """The number of elementary functions applied to data."""
        return applied(self.histogram, self.atoms, self.status == "upper bound")


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCounts:
    """The elementary functions that a program applies to data, in closed form, and nothing else."""

    histogram: Mapping[CountKey, Poly]
    status: CountStatus

    @property
    def eops(self) -> Poly:
        """How many they are."""
        return total_of(self.histogram.values())


class ProgramCounter:
    """One analysis of one program: its regions, counted inner ones first.

    ``bounded`` are, after counting, the places where a count had to be replaced by an upper bound.
    With ``functions_only``, atoms, coordinates and multiply-accumulates are not counted.  Without
    ``places`` a function is the same wherever it is applied: there is less to add up.
    """

    def __init__(
        self,
        program: Program,
        found: Schedules | None = None,
        functions_only: bool = False,
        summed: Set[Node] = frozenset(),
        places: bool = True,
    ) -> None:
        """Count every block of the program; products that are ``summed`` elsewhere are MACs as well."""
        self.schedules = found or schedules(program)
        self.bounded: dict[Span, None] = {}
        self._functions_only, self._places = functions_only, places
        self._products = set() if functions_only else accumulated_products(program, self.schedules) | summed
        self._sums = TakenSums()
        self._blocks: dict[Block, Unsummed] = {}
        self._done: dict[Node, Unsummed] = {}
        self._filters = filter_lengths(self.schedules)
        for block, plan in self.schedules.blocks:
            self._blocks[block] = self._visit(plan)

    def program(self) -> dict[Counted, Poly]:
        """Give the closed form of everything the program counts."""
        return collapse(self._visit(self.schedules.top), self._sums, lambda item: item)

    def data_terms(self, root: Node | Block) -> Unsummed:
        """Give what one visit of a node or block applies to data, function by function, not yet summed."""
        return {
            key: poly for key, poly in self._terms(root).items() if key[0].kind == "data" and poly != ZERO
        }

    def whole_terms(self, root: Node | Block) -> Unsummed:
        """Give how many functions one visit applies to data: of a choice, as many as its dearer side."""
        return {key: poly for key, poly in self._terms(root).items() if key[0] == _LAMBDA and poly != ZERO}

    def _terms(self, root: Node | Block) -> Unsummed:
        return self._blocks[root] if isinstance(root, Block) else self._visit(schedule((), (root,)))

    def closed(self, terms: Unsummed) -> Poly:
        """Add terms up; coordinates around them stay symbols."""
        return total_of(self._sums.closed(poly, domain) for (_, domain), poly in terms.items())

    def _visit(self, plan: Schedule) -> Unsummed:
        """Count one visit: what each node does itself, times how often the roots reach it."""
        terms: Unsummed = {}
        single: dict[Counted, int] = {}
        for node, _, times, _ in reversed(plan.steps):
            if self._functions_only and type(node) not in _APPLYING:
                continue
            for item in self._items(node):
                single[item] = single.get(item, 0) + times
            whole = self._whole(node)
            if whole:
                accumulate(terms, whole, times)
        accumulate(terms, {(item, EVERYWHERE): const(visits) for item, visits in single.items()})
        return terms

    def _items(self, node: Node) -> tuple[Counted, ...]:
        """Give what a node counts exactly once each: functions applied, single atoms."""
        match node:
            case ir.Lambda() | ir.Where():
                return self._applied(node)
            case ir.Member() | ir.Component():
                return (_MEMBER,)
            case ir.Join():
                return (_JOIN,)
            case ir.Embed():
                return (_EMBED,)
            case _:
                return ()

    def _applied(self, node: ir.Lambda | ir.Where) -> tuple[Counted, ...]:
        if node.charge == "static":
            return ()
        name = node.function if isinstance(node, ir.Lambda) else "where"
        if self._places:
            item = Counted(node.charge, name, node.space, node.span)
        else:
            item = _anywhere(node.charge, name, node.space)
        if self._functions_only:
            return (item,) if node.charge == "data" else ()
        if node.charge == "index":
            return (item,)
        return (item, _LAMBDA, _MAC) if node in self._products else (item, _LAMBDA)

    def _whole(self, node: Node) -> Unsummed:
        """Give what a node counts by its shape or its blocks; worked out once."""
        if not isinstance(node, (ir.Build, ir.Fold, ir.Select)):
            return {} if self._functions_only else moved(node)
        if node not in self._done:
            self._done[node] = self._quantified(node)
        return self._done[node]

    def _quantified(self, node: ir.Build | ir.Fold | ir.Select) -> Unsummed:
        match node:
            case ir.Build():
                return self._built(node)
            case ir.Fold():
                return self._looped(node)
            case ir.Select():
                return self._selected(node)

    def _looped(self, node: ir.Build | ir.Fold) -> Unsummed:
        terms = self._blocks[node.body]
        if node.coords:
            for symbol, most in reversed(self._filters[node.body]):
                terms, changed = bound_above(terms, symbol, most, node.span)
                self.bounded |= {node.span: None} if changed else {}
        return quantify(terms, node.coords, node.extents, self._sums)

    def _built(self, node: ir.Build) -> Unsummed:
        if not node.coords or self._functions_only:
            return self._looped(node)
        return plus(self._looped(node), assembled(node))

    def _selected(self, node: ir.Select) -> Unsummed:
        then, other = self._blocks[node.then], self._blocks[node.other]
        condition = static_condition(node)
        if condition is None:
            return self._undecided(node.span, then, other)
        if mentions_data(then) or mentions_data(other):
            return choose_apart(condition, then, other)
        return choose(condition, then, other)

    def _undecided(self, span: Span, then: Unsummed, other: Unsummed) -> Unsummed:
        """Count a choice that no polynomial decides: what both sides do, or the larger count."""
        if then == other:
            return then
        self.bounded[span] = None
        sides = [collapse(side, self._sums, lambda item: _at(item, span)) for side in (then, other)]
        items = dict.fromkeys((*sides[0], *sides[1]))
        return {
            (item, EVERYWHERE): maximum(sides[0].get(item, ZERO), sides[1].get(item, ZERO)) for item in items
        }


@lru_cache(maxsize=1 << 10)  # there are few, and they are asked for at every node
def _anywhere(kind: CountedKind, name: str, space: str) -> Counted:
    """A function wherever it is applied."""
    return Counted(kind, name, space)


def _at(item: Counted, span: Span) -> Counted:
    return Counted(item.kind, item.name, item.space, span if item.kind in ("data", "index") else NOWHERE)


def count(program: Program, found: Schedules | None = None) -> Counts:
    """Count a program exactly, in closed form.

    A count that is too large to compute stops with a diagnostic.
    """
    closed, bounded = _closed(program, found, functions_only=False)
    return _counts(closed, bounded)


def count_macs(program: Program, summed: Set[Node]) -> Poly:
    """Count the multiplications that are added up, by the program or after it."""
    return ProgramCounter(program, summed=summed).program().get(_MAC, ZERO)


def count_functions(program: Program, found: Schedules | None = None) -> FunctionCounts:
    """Count the functions applied to data only: quicker, where nothing else is asked for."""
    closed, bounded = _closed(program, found, functions_only=True)
    kept = {item: poly for item, poly in closed.items() if poly != ZERO}
    return FunctionCounts(_by_key(_terms(kept), "data"), _status(kept, bool(bounded)))


def _closed(
    program: Program, found: Schedules | None, functions_only: bool
) -> tuple[dict[Counted, Poly], tuple[Span, ...]]:
    try:
        counter = ProgramCounter(program, found, functions_only, places=not functions_only)
        return counter.program(), tuple(counter.bounded)
    except AlgebraBudget as error:
        raise Rejected(
            Diagnostic("T0601", f"the cost of {program.name} is too large to compute: {error}")
        ) from error


def _counts(closed: dict[Counted, Poly], bounded: tuple[Span, ...]) -> Counts:
    found = {item: poly for item, poly in closed.items() if poly != ZERO}
    terms = _terms(found)
    atoms = {name: found.get(Counted("atom", name), ZERO) for name in ATOMS}
    return Counts(
        histogram=_by_key(terms, "data"),
        index=_by_key(terms, "index"),
        atoms=MappingProxyType(atoms),
        macs=found.get(_MAC, ZERO),
        terms=terms,
        status=_status(found, bool(bounded)),
        bounded=bounded,
    )


def _terms(found: dict[Counted, Poly]) -> tuple[Term, ...]:
    return tuple(
        Term(item.name, item.space, poly, item.kind, item.span)
        for item, poly in found.items()
        if item.kind in ("data", "index")
    )


def _by_key(terms: tuple[Term, ...], kind: str) -> Mapping[CountKey, Poly]:
    result: dict[CountKey, Poly] = {}
    for term in terms:
        if term.kind == kind:
            key = (term.function, term.space)
            result[key] = result[key] + term.count if key in result else term.count
    return MappingProxyType({key: result[key] for key in sorted(result)})


def _status(found: dict[Counted, Poly], bounded: bool) -> CountStatus:
    if bounded:
        return "upper bound"
    data = any(symbol.kind == "data" for poly in found.values() for symbol in poly.free)
    return "depends on data" if data else "exact"
