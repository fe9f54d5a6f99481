"""Schemes: an operator lowered once for a pattern of what is known, and instantiated everywhere.

A pattern is all that is known of a node but for the lengths of its inputs: of these only whether they are 0
or 1, and their bounds.  With symbols for all others the operator is lowered as ever; out of it come closed
forms, and conditions under which they hold.  A node is then a substitution of its own lengths, exact because
the forms are.  What numbers would have decided and symbols leave open divides a pattern into cases
(``cases``); the first node of each case is lowered by itself, and the scheme is held to it.  So is a node
at whose lengths a condition is not proved, and every node where there is no scheme.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from tolcost.algebra import LARGEST_LENGTH, Poly, Symbol, atom, length, range_of, the_symbol
from tolcost.atoms.nodes import Program
from tolcost.catalogue.binding import takes
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.elaborate.given import frozen
from tolcost.elaborate.values import Cast, Missing, Vec
from tolcost.models.facts import LEAST, Known, Plain, plain_known, symbols_in
from tolcost.models.lowered import Given, Lowered, Setting, arguments, lower
from tolcost.models.scheme import Scheme, scheme_of
from tolcost.models.stored_schemes import NO_SCHEME, pattern_text, read_scheme

Key = tuple[object, ...]


class Level(NamedTuple):
    """How much a pattern leaves open: lengths from a number on, and whether entries of vectors as well.

    ``alike``: which lengths are equal is part of it.
    """

    least: int
    values: bool
    alike: bool = False


LEVELS = (Level(LEAST, True), Level(LEAST, False), Level(8, False), Level(LEAST, False, True))
"""What is tried: where a pattern has no scheme, one that says more may have."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What is known of the inputs of a node but for their lengths; and what these are, by their symbols."""

    key: Key
    inputs: tuple[Known | None, ...]
    lengths: Mapping[Symbol, Poly]


def pattern_of(given: Sequence[Known | None], level: Level) -> Pattern | None:
    """The pattern of some inputs; None where more is open than lengths, and integers that may be lengths.

    Numbers below the least of the level are part of it; others are symbols of at least that.
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
                general = _all_general(shape, lengths, level)
                if general is None or any(d.constant is not None and d.constant < 0 for d in general):
                    return None
                keys.append((space, general))
                inputs.append(Tensor(general, space))
            case Cast(value=Vec(shape=shape, items=items) as value, space=space) if level.values:
                entries = _all_general(items, lengths, level) if _is_index(known) else None
                if entries is None:
                    return None
                inputs.append(Cast(Vec(shape, entries, value.loose), space))
                keys.append((space, shape, entries))
            case Cast() if not symbols_in(known):
                keys.append(frozen(known))
                inputs.append(known)
            case _:
                return None
    return Pattern(tuple(keys), tuple(inputs), lengths)


def patterns_of(given: Sequence[Known | None]) -> Iterator[Pattern]:
    """The patterns of some inputs, the most general one first."""
    before: set[Key] = set()
    for level in LEVELS:
        pattern = pattern_of(given, level)
        if pattern is not None and pattern.key not in before:
            before.add(pattern.key)
            yield pattern


def _place(setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]) -> Key | None:
    """All that is known of a node but for lengths, where all inputs are tensors of known ones.

    Which types it may have is a matter of the version that is asked for.
    """
    kinds = [one.kind for one in plain if one is not None]
    if len(kinds) < len(plain):
        return None
    return (spec, setting.opsets.get(node.domain), node.asked, node.key, *kinds)


def _demands(spec: Spec, count: int) -> bool:
    """Whether a definition must know one of so many inputs."""
    return any(formal.kind == "static" for formal in takes(spec, count))


def _all_general(
    known: Iterable[object], lengths: dict[Symbol, Poly], level: Level
) -> tuple[Poly, ...] | None:
    general = [_general(one, lengths, level) if isinstance(one, Poly) else None for one in known]
    found = tuple(form for form in general if form is not None)
    return found if len(found) == len(general) else None


def _general(known: Poly, lengths: dict[Symbol, Poly], level: Level) -> Poly | None:
    """A length as far as a pattern knows it; None where data decides it, or it is not proved to be one."""
    value, small = known.constant, level.least
    if value is not None and value < small:
        return known
    same = next((symbol for symbol, form in lengths.items() if form == known), None) if level.alike else None
    if same is not None:
        return atom(same)
    least, most = (value, value) if value is not None else range_of(known)
    if least is None or least < 0 or (value is None and not _is_length(known, least)):
        return None
    form, symbol = _length(len(lengths), min(least, small), most is not None and most <= LARGEST_LENGTH)
    lengths[symbol] = known
    return form


def _is_length(known: Poly, least: int) -> bool:
    """Whether a formula is a length that data has no part in; one with floors has to be at least 1."""
    return least >= min(known.height, 1) and all(symbol.kind != "data" for symbol in known.free)


def _is_index(known: Cast) -> bool:
    """Whether something known is of integers, which lengths may be computed from."""
    return known.space in ("int64", "int32")


@lru_cache(maxsize=1 << 10)
def _length(place: int, low: int, bounded: bool) -> tuple[Poly, Symbol]:
    """The symbol for a length, with the bounds that are known of it."""
    form = length(f"#{place}", low, LARGEST_LENGTH if bounded else None)
    return form, the_symbol(form)


@dataclass(frozen=True, slots=True, eq=False)
class First:
    """The first node of a pattern: there is a scheme when there is another."""

    lengths: Mapping[Symbol, Poly]
    found: Lowered | Rejected


@dataclass(slots=True)
class Schemes:
    """The schemes of a session, by operator and pattern; None is a pattern that has none.

    Those that come with tolcost are read when a pattern is met first, unless ``stored`` says otherwise.
    """

    stored: bool = True
    found: dict[Key, First | Scheme | None] = field(default_factory=dict)
    quick: dict[Key, tuple[Scheme, tuple[Symbol, ...]]] = field(default_factory=dict)
    """Schemes of nodes of tensors alone, with the symbols of lengths in order: no pattern need be made."""

    def instance(
        self, setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]
    ) -> Lowered | None:
        """An operator on tensors of known lengths, where one like it was met; None elsewhere."""
        place = _place(setting, node, spec, plain)
        known = None if place is None else self.quick.get(place)
        if known is None:
            return None
        scheme, symbols = known
        lengths = [length for one in plain if one is not None for length in one.lengths]
        return scheme.at(dict(zip(symbols, lengths, strict=True)))

    def lower(self, setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
        """An operator by its scheme where there is one, and by itself elsewhere."""

        def itself() -> Lowered | Rejected:
            return lower(setting, node, spec, given)

        if node.graphs or spec.branches:
            return itself()
        plain = list(map(plain_known, given.inputs))
        instance = self.instance(setting, node, spec, plain)
        if instance is not None:
            return instance
        place = _place(setting, node, spec, plain)
        for pattern in patterns_of(arguments(spec, given, graphs=False)):
            key = (spec, node.asked, node.key, *pattern.key)
            if key not in self.found and not self._read(key, setting, node, spec, pattern):
                self.found[key] = first = First(pattern.lengths, itself())
                return first.found
            scheme = self.found[key]
            if isinstance(scheme, First):
                general = lower(setting, node, spec, replace(given, inputs=pattern.inputs))
                scheme = self.found[key] = held_scheme(scheme, pattern, general)
            found = None if scheme is None else scheme.lower(pattern.lengths, itself)
            if found is not None:
                if scheme is not None and place is not None and not _demands(spec, len(given.inputs)):
                    self.quick[place] = (scheme, tuple(pattern.lengths))
                return found
            place = None  # it is that of the most general pattern
        return itself()

    def _read(self, key: Key, setting: Setting, node: GraphNode, spec: Spec, pattern: Pattern) -> bool:
        """Take the scheme of a pattern from those that come with tolcost, if it is among them."""
        stored = setting.library.stored(spec.domain, spec.name).schemes if self.stored else {}
        named = pattern_text(node, spec.since, pattern.inputs) if stored else None
        text = None if named is None else stored.get(named)
        if text is None:
            return False

        bare = Setting(setting.library, setting.opsets)  # nothing of the model is kept

        @cache
        def program() -> Program:
            general = lower(bare, node, spec, Given(pattern.inputs, node.inputs))
            if isinstance(general, Rejected):
                raise general
            return general.program

        self.found[key] = None if text == NO_SCHEME else read_scheme(text, node, program)
        return True


def held_scheme(first: First, pattern: Pattern, general: Lowered | Rejected) -> Scheme | None:
    """The scheme of a pattern, held to its first node."""
    scheme = scheme_of(general, pattern.lengths)
    if scheme is not None:
        scheme.lower(first.lengths, lambda: first.found)
    return scheme
