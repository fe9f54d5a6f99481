"""A scheme: an operator lowered once for a pattern, and its instantiation for a node.

Decisions that numbers would make and symbols leave open divide a pattern into cases.  The first node of each
case is also lowered alone and compared with its instance; the other nodes of the case rely on that
comparison. Where lengths are formulas, the set of proved conditions is part of the case; the others remain
conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    NotInteger,
    Poly,
    Symbol,
    atom,
    const,
    coordinate,
    evaluate_each,
    exact_div,
    is_nonnegative,
    prove,
    reach,
    substitute,
    substitute_cond,
    substituting,
    symbols_of_cond,
)
from tolcost.algebra.evaluate import prepared_all
from tolcost.atoms.nodes import Condition, Program
from tolcost.cost import Counts, Traffic, depths, traffic
from tolcost.cost.traffic import undecided
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, Seq, Vec, frozen
from tolcost.models.facts import Known, changed, forms_in, symbols_in
from tolcost.models.lowered import ComputedCost, Lowered, LoweredCost, MacFlowNames
from tolcost.models.patterns import Answers, Cases, cases_of, numbers

# === Layout: the positions of a scheme's forms in its result, so that values can take their places.


class Layout(Struct, frozen=True, eq=False):
    """The forms of a scheme, and the positions among them of the shapes of its outputs."""

    general: Lowered
    forms: tuple[Poly, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    """The positions of the shapes of outputs that are tensors."""

    def gives(self, asked: int) -> bool:
        """Whether there are at least ``asked`` outputs, and all are tensors."""
        return len(self.shapes) >= asked and None not in self.shapes

    def at(self, values: Sequence[Poly], full: tuple[Poly, ...] = ()) -> ComputedCost:
        """Return the result of the scheme for these values of its forms; ``full`` is for its traffic."""
        general, put = self.general, dict(zip(self.forms, values, strict=False)).__getitem__
        counts = general.counts.map_forms(put)
        traffic = replace(replace(general.traffic, full=()).map_forms(put), full=full)
        outputs = [
            self._output(known, shape, values)
            for known, shape in zip(general.outputs, self.shapes, strict=True)
        ]
        return ComputedCost(counts, traffic, tuple(outputs))

    def _output(self, known: Known, shape: tuple[int, ...] | None, values: Sequence[Poly]) -> Known:
        if shape is not None and isinstance(known, Tensor):
            return Tensor(tuple([values[place] for place in shape]), known.space)
        return changed(known, dict(zip(self.forms, values, strict=False)).__getitem__)


class Instance:
    """A scheme with numbers for its forms; the result is built on demand."""

    __slots__ = ("_cost", "layout", "values")
    _cost: ComputedCost | None

    def __init__(self, layout: Layout, values: Sequence[int]) -> None:
        """Store the numbers."""
        self.layout = layout
        self.values = values
        self._cost = None

    def _compute(self) -> ComputedCost:
        if self._cost is None:
            self._cost = self.layout.at(list(map(const, self.values)))
        return self._cost

    @property
    def counts(self) -> Counts:
        """The counts of the operator."""
        return self._compute().counts

    @property
    def traffic(self) -> Traffic:
        """The bytes that the operator moves."""
        return self._compute().traffic

    @property
    def outputs(self) -> tuple[Known, ...]:
        """The facts about its outputs."""
        return self._compute().outputs

    @property
    def shapes(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """Yield the lengths and spaces of outputs that are tensors."""
        values = self.values
        for known, shape in zip(self.layout.general.outputs, self.layout.shapes, strict=True):
            if shape is not None and isinstance(known, Tensor):
                yield tuple([values[place] for place in shape]), known.space


def layout_of(general: Lowered, forms: tuple[Poly, ...]) -> Layout:
    """Find the positions of a scheme's forms in its result."""
    at = {form: place for place, form in enumerate(forms)}

    return Layout(
        general,
        forms,
        tuple(
            tuple(at[d] for d in known.shape) if isinstance(known, Tensor) else None
            for known in general.outputs
        ),
    )


# === Schemes.


_USES_BEFORE_PREPARING = 16
"""Uses after which a scheme's depth is derived, and its questions are prepared for numbers.

Both take longer than a few evaluations.
"""


class Share(NamedTuple):
    """A length that a definition divides into equal parts, their number, and the symbol for one part."""

    whole: Symbol
    parts: int
    symbol: Symbol


class Scheme(Struct, eq=False):
    """An operator lowered for a pattern: each distinct form, and whether the scheme is right, by case."""

    general: Lowered
    forms: tuple[Poly, ...]
    cases: Cases
    shares: tuple[Share, ...]
    unproved: tuple[Cond, ...] = ()
    chain: tuple[Poly, ...] = ()
    """The depth, where it is known."""
    mac_flow: MacFlowNames | None = None
    """The flow of products through the program, where it is stored."""
    doubts: tuple[Cond, ...] = ()
    """Conditions each of which, if proved for a node, may give more exact forms of the elements read."""
    held: dict[Answers, bool] = field(default_factory=dict)
    examples: dict[Answers, Mapping[Symbol, Poly]] = field(default_factory=dict)
    """The lengths of the first node of each case."""
    uses: int = 0
    prepared: Callable[[Mapping[Symbol, int]], list[int]] | None = None
    layout: Layout | None = None

    def lower(
        self, lengths: Mapping[Symbol, Poly], lower_alone: Callable[[], Lowered | Rejected]
    ) -> Lowered | Rejected | None:
        """Instantiate the operator at lengths; ``lower_alone`` is used for the first of each case.

        The result is None where the scheme is known to be wrong: one for a more specific pattern may be
        right.
        """
        given, lengths = lengths, self._complete(lengths)
        try:
            point = numbers(lengths)
            doubts = (prove(substitute_cond(c, lengths)) for c in self.doubts)
            if self.doubts and (point is not None or True in doubts):
                return None
            case, instance = self._formulas(lengths) if point is None else self._numbers(point)
        except (AlgebraBudget, NotInteger, KeyError, ZeroDivisionError):  # a share may not divide
            return lower_alone()
        holds = self.held.get(case)
        if holds is False or (instance is None and point is None):
            return None
        if instance is None:
            return lower_alone()
        if not all(_everywhere(condition, lengths) for condition in self.unproved):
            instance = None
        if instance is not None and holds:
            return instance
        found = lower_alone()
        if holds is None:  # compare the first node of a case
            self.held[case] = instance is not None and same(instance, found)
            self.examples[case] = given
        return found

    def at(self, point: dict[Symbol, int]) -> Lowered | None:
        """Return the operator at numbers, if the scheme is known to be right there, else None."""
        for share in self.shares:
            part, rest = divmod(point[share.whole], share.parts)
            if not rest:
                point[share.symbol] = part
        try:
            case, instance = self._numbers(point)
        except (AlgebraBudget, NotInteger, KeyError, ZeroDivisionError):
            return None
        return instance if not (self.unproved or self.doubts) and self.held.get(case) else None

    def _complete(self, lengths: Mapping[Symbol, Poly]) -> Mapping[Symbol, Poly]:
        """Add the shares of lengths, as far as they divide them."""
        if not self.shares:
            return lengths
        found = dict(lengths)
        for share in self.shares:
            value = exact_div(found[share.whole], const(share.parts))
            if value is not None:
                found[share.symbol] = value
        return found

    def _numbers(self, point: Mapping[Symbol, int]) -> tuple[Answers, Lowered | None]:
        """Return the case of a point, and the operator there if all conditions hold."""
        if self.prepared is None:
            self.uses += 1
            often = self.uses == _USES_BEFORE_PREPARING
            if often and not self.chain:
                self.chain = chain_of(self.general.program)
            conditions = (c.condition for c in self.general.conditions)
            asked = (*conditions, *self.cases.asked, *self.forms, *self.chain)
            if often:
                self.prepared = prepared_all(asked)
            found = evaluate_each(asked, point)
        else:
            found = self.prepared(point)
        first, end = len(self.general.conditions), len(found) - len(self.chain)
        start = end - len(self.forms)
        case = self.cases.told(found[first:start])
        if not all(found[:first]):
            return case, None
        level = max(found[end:]) if self.chain else None
        return case, self._at(Instance(self._layout(), found[start:end]), _NOTHING, point, level)

    def _formulas(self, lengths: Mapping[Symbol, Poly]) -> tuple[Answers, Lowered | None]:
        """Return the case and operator where some lengths are formulas; open conditions are in the case."""
        case = self.cases.of(lengths)
        if not self.chain and isinstance(self.general.lowered, Program):
            self.chain = chain_of(self.general.program)
        if any(form.height for form in self.chain):  # the maximum may be provable for a single symbol only
            return case, None
        needed = [
            replace(c, condition=substitute_cond(c.condition, lengths)) for c in self.general.conditions
        ]
        proofs = [prove(c.condition) for c in needed]
        if False in proofs:
            return case, None
        relied = tuple([c for c, proof in zip(needed, proofs, strict=True) if proof is None])
        there = substituting(lengths)
        full = tuple(p for p in map(there, self.general.traffic.full) if not is_nonnegative(p))
        made = self._layout().at(list(map(there, self.forms)), full)
        return (*case, *proofs) if relied else case, self._at(made, lengths, _NOWHERE, None, relied)

    def _layout(self) -> Layout:
        if self.layout is None:
            self.layout = layout_of(self.general, self.forms)
        return self.layout

    def _at(
        self,
        made: LoweredCost,
        lengths: Mapping[Symbol, Poly],
        point: Mapping[Symbol, int],
        level: int | None,
        relied: tuple[Condition, ...] = (),
    ) -> Lowered:
        """Assemble the operator from its result at these lengths."""
        general = self.general
        return Lowered(
            general.op,
            general.domain,
            made,
            relied,
            _NOTHING,
            general.data,
            general.lowered,
            general.titles,
            (),
            general.inside,
            False,
            (),
            lengths,
            point,
            self.chain if level is None else (),
            level,
            self.mac_flow,
            options=general.options,
        )


def chain_of(program: Program) -> tuple[Poly, ...]:
    """Return the depth of a program as a maximum of forms; nothing if it is unknown."""
    try:
        return depths(program).chain.candidates
    except (Rejected, AlgebraBudget, RecursionError):
        return ()


_NOTHING: Mapping[Symbol, Poly] = MappingProxyType({})
_NOWHERE: Mapping[Symbol, int] = MappingProxyType({})


def _everywhere(condition: Cond, lengths: Mapping[Symbol, Poly]) -> bool:
    """Whether a condition is proved at all coordinates for these lengths."""
    by = dict(lengths)
    coordinates = (symbol for symbol in reach(symbols_of_cond(condition)) if symbol.kind == "coord")
    for symbol in sorted(coordinates, key=lambda s: s.depth):
        if symbol.lo is None or symbol.hi is None:
            return False
        by[symbol] = coordinate(symbol.name, substitute(symbol.hi, by), substitute(symbol.lo, by))
    return prove(substitute_cond(condition, by)) is True


def same(one: Lowered, other: Lowered | Rejected) -> bool:
    """Whether two ways to lower an operator have equal results."""
    if isinstance(other, Rejected) or other.equal or other.data or other.choices:
        return False
    if one.conditions != other.conditions or (one.conditions and one.traffic.open != other.traffic.open):
        return False
    if other.traffic.is_bound() and not one.traffic.is_bound():
        return False
    return _comparable(one) == _comparable(other)


def _comparable(lowered: Lowered) -> tuple[object, ...]:
    counts, traffic = lowered.counts, lowered.traffic
    functions = (dict(counts.histogram), dict(counts.index), dict(counts.atoms), counts.macs, counts.status)
    moved = (dict(traffic.read), dict(traffic.certain), dict(traffic.written), traffic.unsized)
    return (*functions, *moved, *map(frozen, lowered.outputs))


def scheme_of(general: Lowered | Rejected, symbols: Iterable[Symbol]) -> Scheme | None:
    """Make a scheme of an operator lowered for a pattern; None where it does not determine its instances."""
    if isinstance(general, Rejected) or general.data or general.counts.status != "exact":
        return None
    if not all(map(_plain, general.outputs)):
        return None
    doubts: tuple[Cond, ...] | None = ()
    if general.traffic.open:  # a scheme is used only at lengths where its conditions hold
        moved = traffic(general.program, tuple(c.condition for c in general.conditions))
        if moved.open:
            doubts = undecided(general.program)
        else:
            general = replace(general, made=ComputedCost(general.counts, moved, general.outputs))
    if doubts is None:
        return None
    forms = forms_of(general)
    mentioned = frozenset().union(
        *(form.free for form in forms),
        *(symbols_of_cond(c.condition) for c in general.conditions),
        *(symbols_of_cond(c) for c in doubts),
        *(form.free for form in general.traffic.full),
    )
    shares = tuple(_shares(general.equal, mentioned.difference(symbols)))
    cases = cases_of(general)
    known = mentioned.issubset((*symbols, *(share.symbol for share in shares)))
    unproved = tuple(c.condition for c in general.program.unproved)
    return Scheme(general, forms, cases, shares, unproved, doubts=doubts) if known else None


def _shares(equal: Mapping[Symbol, Poly], wanted: frozenset[Symbol]) -> Iterator[Share]:
    """Yield the definitions of symbols that lowering introduced as parts of lengths."""
    for whole, form in equal.items():
        for symbol in form.free & wanted:
            parts = form.terms.get((symbol,))
            if parts is not None and form == atom(symbol) * parts:
                yield Share(whole, parts, symbol)


def _plain(known: Known) -> bool:
    """Whether lengths occur in a fact only as forms: a quotient of numbers cannot be substituted."""
    match known:
        case Tensor() | Poly():
            return True
        case Seq(items=items) | Vec(items=items):
            return all(map(_plain, items))
        case Cast(value=inner):
            return _plain(inner)
        case _:
            return not symbols_in(known)


def forms_of(general: Lowered) -> tuple[Poly, ...]:
    """Return every distinct form in the result of lowering."""
    return tuple(dict.fromkeys(_forms(general)))


def _forms(lowered: Lowered) -> Iterator[Poly]:
    counts, traffic = lowered.counts, lowered.traffic
    moved = (traffic.read, traffic.certain, traffic.written)
    for forms in (counts.histogram, counts.index, counts.atoms, *moved):
        yield from forms.values()
    yield counts.macs
    for known in lowered.outputs:
        yield from forms_in(known)
