"""Schemes: an operator lowered once for a pattern of what is known, and instantiated everywhere.

A pattern is all that is known of a node but for the lengths of its inputs: of these only whether they are 0
or 1, and their bounds.  With symbols for all others the operator is lowered as ever; out of it come closed
forms, and conditions under which they hold.  A node is then a substitution of its own lengths, exact because
the forms are.  What numbers would have decided and symbols leave open divides a pattern into cases
(``cases``); the first node of each case is lowered by itself, and the scheme is held to it.  So is a node
at whose lengths a condition is not proved, and every node where there is no scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from tolcost.algebra import (
    LARGEST_LENGTH,
    AlgebraBudget,
    Cond,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    atom,
    const,
    coordinate,
    evaluate_each,
    exact_div,
    length,
    prepared,
    prepared_cond,
    prove,
    range_of,
    reach,
    substitute,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
)
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.cost.record import counts_with, traffic_with
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Inputs, Tensor
from tolcost.elaborate.values import Cast, Missing, Seq, Vec
from tolcost.models.cases import Case, Cases, cases_of, numbers
from tolcost.models.facts import Known, changed, forms_in, frozen, symbols_in
from tolcost.models.lowering import Given, Lowered, Setting, arguments, lower

Key = tuple[object, ...]

_LEAST = (2, 8)
"""Numbers from which on lengths are symbols: where a pattern has no scheme, one that says more may have."""

_OFTEN = 8
"""What a scheme that is used so often asks for is prepared: a function of numbers each."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What is known of the inputs of a node but for their lengths; and what these are, by their symbols."""

    key: Key
    inputs: tuple[Known | None, ...]
    lengths: Mapping[Symbol, Poly]


def pattern_of(given: Sequence[Known | None], least: int = 2) -> Pattern | None:
    """The pattern of some inputs; None where more is open than the lengths of tensors.

    Lengths that are numbers below ``least`` are part of it; others are symbols of at least that.
    """
    keys: list[object] = []
    inputs: list[Known | None] = []
    lengths: dict[Symbol, Poly] = {}
    for known in given:
        match known:
            case None | Missing():
                keys.append(None)
                inputs.append(None)
            case Tensor(shape=shape, space=space):
                general = tuple([_general(d, lengths, least) for d in shape])
                if None in general:
                    return None
                tensor = Tensor(tuple(d for d in general if d is not None), space)
                keys.append((space, general))
                inputs.append(tensor)
            case Cast() if not symbols_in(known):
                keys.append(frozen(known))
                inputs.append(known)
            case _:
                return None
    return Pattern(tuple(keys), tuple(inputs), lengths)


def _general(known: Poly, lengths: dict[Symbol, Poly], small: int) -> Poly | None:
    """A length as far as a pattern knows it; None where data decides it, or it is not proved to be one."""
    value = known.constant
    if value is not None and 0 <= value < small:
        return known
    least, most = (value, value) if value is not None else range_of(known)
    if least is None or least < 0 or (value is None and not _is_length(known, least)):
        return None
    form, symbol = _length(len(lengths), min(least, small), most is not None and most <= LARGEST_LENGTH)
    lengths[symbol] = known
    return form


def _is_length(known: Poly, least: int) -> bool:
    """Whether a formula is a length that data has no part in; one with floors has to be at least 1."""
    return least >= min(known.height, 1) and all(symbol.kind != "data" for symbol in known.free)


@lru_cache(maxsize=1 << 10)
def _length(place: int, low: int, bounded: bool) -> tuple[Poly, Symbol]:
    """The symbol for a length, with the bounds that are known of it."""
    form = length(f"#{place}", low, LARGEST_LENGTH if bounded else None)
    return form, the_symbol(form)


class Share(NamedTuple):
    """A length that a definition has in so many equal parts, and the symbol for one of them."""

    whole: Symbol
    parts: int
    symbol: Symbol


@dataclass(slots=True, eq=False)
class Scheme:
    """An operator lowered for a pattern; every form in it once, and whether it holds, case by case."""

    general: Lowered
    forms: tuple[Poly, ...]
    cases: Cases
    shares: tuple[Share, ...]
    held: dict[Case, bool] = field(default_factory=dict)
    uses: int = 0
    prepared: Sequence[Callable[[Mapping[Symbol, int]], int]] | None = None

    def lower(
        self, lengths: Mapping[Symbol, Poly], itself: Callable[[], Lowered | Rejected]
    ) -> Lowered | Rejected:
        """The operator at some lengths; ``itself`` lowers it by itself, as the first of each case is."""
        lengths = self._complete(lengths)
        try:
            point = numbers(lengths)
            case, values = self._formulas(lengths) if point is None else self._numbers(point)
        except (AlgebraBudget, NotInteger, UnboundSymbol, ZeroDivisionError):
            return itself()
        holds = self.held.get(case)
        instance = None if holds is False or values is None else self._at(lengths, point, values)
        if instance is not None and holds:
            return instance
        found = itself()
        if holds is None:  # the rest of a case is like its first
            self.held[case] = instance is not None and same(instance, found)
        return found

    def _complete(self, lengths: Mapping[Symbol, Poly]) -> Mapping[Symbol, Poly]:
        """These lengths and the shares that divide them, as far as there are."""
        if not self.shares:
            return lengths
        found = dict(lengths)
        for share in self.shares:
            value = exact_div(found[share.whole], const(share.parts))
            if value is not None:
                found[share.symbol] = value
        return found

    def _numbers(self, point: Mapping[Symbol, int]) -> tuple[Case, Sequence[Poly] | None]:
        """The case of a point, and what the forms come to where all conditions hold."""
        conditions = [c.condition for c in self.general.conditions]
        asked = (*conditions, *self.cases.conditions, *self.cases.sizes, *self.forms)
        self.uses += 1
        if self.uses == _OFTEN:
            self.prepared = [prepared(one) if isinstance(one, Poly) else prepared_cond(one) for one in asked]
        if self.prepared is None:
            found = evaluate_each(asked, point)
        else:
            found = [int(function(point)) for function in self.prepared]
        first, rest = len(conditions), len(found) - len(self.forms)
        return self.cases.told(found[first:rest]), (
            [const(value) for value in found[rest:]] if all(found[:first]) else None
        )

    def _formulas(self, lengths: Mapping[Symbol, Poly]) -> tuple[Case, Sequence[Poly] | None]:
        """The same where some lengths are formulas."""
        case = self.cases.of(lengths)
        if any(form.height for form in self.forms):  # polynomials have one normal form, others do not
            return case, None
        conditions = (substitute_cond(c.condition, lengths) for c in self.general.conditions)
        holds = all(prove(condition) is True for condition in conditions)
        return case, [substitute(form, lengths) for form in self.forms] if holds else None

    def _at(
        self, lengths: Mapping[Symbol, Poly], point: Mapping[Symbol, int] | None, values: Sequence[Poly]
    ) -> Lowered | None:
        """The operator where the forms have these values; None where something is not proved."""
        general = self.general
        if not all(_everywhere(c.condition, lengths) for c in general.program.unproved):
            return None
        change = dict(zip(self.forms, values, strict=True)).__getitem__
        return Lowered(
            general.op,
            general.domain,
            counts_with(general.counts, change),
            traffic_with(general.traffic, change),
            tuple([changed(known, change) for known in general.outputs]),
            (),
            _NOTHING,
            general.data,
            general.program,
            general.titles,
            inside=general.inside,
            lengths=lengths if point is None else _NOTHING,
            point=point or _NOWHERE,
        )


_NOTHING: Mapping[Symbol, Poly] = MappingProxyType({})
_NOWHERE: Mapping[Symbol, int] = MappingProxyType({})


def _everywhere(condition: Cond, lengths: Mapping[Symbol, Poly]) -> bool:
    """Whether a condition is proved to hold at all coordinates, where lengths are these."""
    by = dict(lengths)
    coordinates = (symbol for symbol in reach(symbols_of_cond(condition)) if symbol.kind == "coord")
    for symbol in sorted(coordinates, key=lambda s: s.depth):
        if symbol.lo is None or symbol.hi is None:
            return False
        by[symbol] = coordinate(symbol.name, substitute(symbol.hi, by), substitute(symbol.lo, by))
    return prove(substitute_cond(condition, by)) is True


def same(one: Lowered, other: Lowered | Rejected) -> bool:
    """Whether two ways to lower an operator came to the same."""
    if isinstance(other, Rejected) or other.conditions or other.equal or other.data or other.choices:
        return False
    return _told(one) == _told(other)


def _told(lowered: Lowered) -> tuple[object, ...]:
    counts, traffic = lowered.counts, lowered.traffic
    functions = (dict(counts.histogram), dict(counts.index), dict(counts.atoms), counts.macs, counts.status)
    moved = (dict(traffic.read), dict(traffic.certain), dict(traffic.written), traffic.unsized)
    return (*functions, *moved, *map(frozen, lowered.outputs))


def scheme_of(general: Lowered | Rejected, symbols: Iterable[Symbol]) -> Scheme | None:
    """The scheme that an operator lowered for a pattern is; None where it does not tell its instances."""
    if isinstance(general, Rejected) or general.forgets or general.data or general.counts.status != "exact":
        return None
    if general.counts.index or general.traffic.open or not all(map(_plain, general.outputs)):
        return None  # whether a function computes an index is a matter of what needs it first
    forms = tuple(dict.fromkeys(_forms(general)))
    mentioned = frozenset().union(
        *(form.free for form in forms), *(symbols_of_cond(c.condition) for c in general.conditions)
    )
    shares = tuple(_shares(general.equal, mentioned.difference(symbols)))
    cases = cases_of(general)
    known = mentioned.issubset((*symbols, *(share.symbol for share in shares)))
    return Scheme(general, forms, cases, shares) if known and cases is not None else None


def _shares(equal: Mapping[Symbol, Poly], wanted: frozenset[Symbol]) -> Iterator[Share]:
    """How symbols that lowering introduced follow from lengths."""
    for whole, form in equal.items():
        for symbol in form.free & wanted:
            parts = form.terms.get((symbol,))
            if parts is not None and form == atom(symbol) * parts:
                yield Share(whole, parts, symbol)


def _plain(known: object) -> bool:
    """Whether lengths occur in something known as forms only: a quotient of numbers is another thing."""
    match known:
        case Tensor() | Poly():
            return True
        case Inputs(items=items) | Seq(items=items) | Vec(items=items):
            return all(map(_plain, items))
        case Cast(value=inner):
            return _plain(inner)
        case _:
            return not symbols_in(known)


def _forms(lowered: Lowered) -> Iterator[Poly]:
    counts, traffic = lowered.counts, lowered.traffic
    moved = (traffic.read, traffic.certain, traffic.written)
    for forms in (counts.histogram, counts.index, counts.atoms, *moved):
        yield from forms.values()
    yield counts.macs
    for known in lowered.outputs:
        yield from forms_in(known)


@dataclass(frozen=True, slots=True, eq=False)
class First:
    """The first node of a pattern: there is a scheme when there is another."""

    lengths: Mapping[Symbol, Poly]
    found: Lowered | Rejected


@dataclass(slots=True)
class Schemes:
    """The schemes of a session, by operator and pattern; None is a pattern that has none."""

    found: dict[Key, First | Scheme | None] = field(default_factory=dict)

    def lower(self, setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
        """An operator by its scheme where there is one, and by itself elsewhere."""

        def itself() -> Lowered | Rejected:
            return lower(setting, node, spec, given)

        if node.graphs or spec.branches:
            return itself()
        inputs = arguments(spec, given, graphs=False)
        for least in _LEAST:
            pattern = pattern_of(inputs, least)
            if pattern is None:
                break
            key = (spec, node.asked, node.key, *pattern.key)
            if key not in self.found:
                self.found[key] = first = First(pattern.lengths, itself())
                return first.found
            scheme = self.found[key]
            if isinstance(scheme, First):
                general = lower(setting, node, spec, replace(given, inputs=pattern.inputs))
                scheme = self.found[key] = _second(scheme, pattern, general)
            if scheme is not None:
                return scheme.lower(pattern.lengths, itself)
        return itself()


def _second(first: First, pattern: Pattern, general: Lowered | Rejected) -> Scheme | None:
    """The scheme of a pattern, held to its first node."""
    scheme = scheme_of(general, pattern.lengths)
    if scheme is not None:
        scheme.lower(first.lengths, lambda: first.found)
    return scheme
