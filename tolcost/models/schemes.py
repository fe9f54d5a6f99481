"""Schemes: an operator is lowered once for a pattern of facts, and instantiated for each node.

A pattern has everything known about a node except the lengths of its inputs (``patterns``).  The operator is
lowered as usual, with symbols for these lengths, which gives closed forms and their conditions.  A node is
then a substitution of its own lengths, which is exact because the forms are.  Decisions that numbers would
make and symbols leave open divide a pattern into cases (``patterns``); the first node of each case is lowered
alone and compared with the scheme.  So is every node of a pattern without a scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import Lock

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.nodes import Program
from tolcost.catalogue.graph import GraphNode, met
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost.macs import find_mac_flow
from tolcost.diagnostics import Rejected
from tolcost.models.facts import FactTable, Plain, plain_known
from tolcost.models.lowered import Applied, Given, Lowered, Setting, arguments, mac_flow_names
from tolcost.models.patterns import NumberInspected, Pattern, PatternKey, patterns_of
from tolcost.models.scheme import Scheme, chain_of, scheme_of
from tolcost.models.stored_schemes import NO_SCHEME, pattern_text, read_scheme


def lowered_alone(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
    """Lower an operator without a scheme; the result is a diagnostic if that fails."""
    from tolcost.models.lowering import lower  # common models need no lowering, so it is not loaded

    return lower(setting, node, spec, given)


def _place(setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]) -> PatternKey | None:
    """Return the key of a node without its lengths, if all inputs are tensors of known lengths.

    The version is part of it, since it decides which types are listed.
    """
    kinds = [one.kind for one in plain if one is not None]
    if len(kinds) < len(plain):
        return None
    return (spec, setting.opsets.get(node.domain), node.asked, node.key, *kinds)


class First(Struct, frozen=True, eq=False):
    """A pattern seen once.  A scheme is built only when a second node matches it."""

    lengths: Mapping[Symbol, Poly]
    found: Lowered | Rejected


class Schemes(Struct):
    """The schemes of a session, by operator and pattern; None for a pattern that has none.

    Shipped schemes are read when a pattern is first met, unless ``stored`` is False.
    """

    stored: bool = True
    found: dict[PatternKey, First | Scheme | None] = field(default_factory=dict)
    quick: dict[PatternKey, tuple[Scheme, tuple[Symbol, ...]]] = field(default_factory=dict)
    """Schemes of nodes with only tensors, with the symbols of lengths in order: no pattern need be made."""

    def instance(
        self, setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]
    ) -> Lowered | None:
        """Instantiate an operator on tensors of known lengths, if a similar node was met; None otherwise."""
        place = _place(setting, node, spec, plain)
        known = None if place is None else self.quick.get(place)
        if known is None:
            return None
        scheme, symbols = known
        lengths = [length for one in plain if one is not None for length in one.lengths]
        return scheme.at(dict(zip(symbols, lengths, strict=True)))

    def lower(self, setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
        """Lower an operator by its scheme if there is one, and alone otherwise."""
        if node.graphs or spec.branches:
            return lowered_alone(setting, node, spec, given)
        plain = list(map(plain_known, given.inputs))
        instance = self.instance(setting, node, spec, plain)
        if instance is not None:
            return instance
        place = _place(setting, node, spec, plain)
        for pattern in patterns_of(arguments(spec, given, graphs=False)):
            key = (spec, node.asked, node.key, *pattern.key)
            try:
                found = self._lower_by_scheme(key, setting, node, spec, given, pattern)
            except NumberInspected:  # the result depends on more than lengths
                found = None
                if not isinstance(self.found.get(key), Scheme):
                    self.found[key] = None
            if found is not None:
                scheme = self.found[key]
                demanded = (f.kind == "static" for f in met(spec.head.takes, len(given.inputs)))
                if isinstance(scheme, Scheme) and place is not None and not any(demanded):
                    self.quick[place] = (scheme, tuple(pattern.lengths))
                return found
            place = None  # only the most general pattern has this key
        return lowered_alone(setting, node, spec, given)

    def _lower_by_scheme(
        self, key: PatternKey, setting: Setting, node: GraphNode, spec: Spec, given: Given, pattern: Pattern
    ) -> Lowered | Rejected | None:
        """Lower an operator by the scheme of a pattern; None if there is none, or it is not right here."""
        numbers = pattern.told

        def lower_alone() -> Lowered | Rejected:
            if not numbers:
                return lowered_alone(setting, node, spec, given)
            own = [pattern.inputs[n] if n in numbers else known for n, known in enumerate(given.inputs)]
            found = lowered_alone(setting, node, spec, replace(given, inputs=tuple(own)))
            if isinstance(found, Rejected):
                return found
            # everything that will be needed of its program
            mac_flow = mac_flow_names(find_mac_flow(found.program))
            return replace(found, chain=chain_of(found.program), mac_flow=mac_flow)

        if key not in self.found and not self._read_stored(key, setting, node, spec, pattern):
            self.found[key] = first = First(pattern.lengths, lower_alone())
            found: Lowered | Rejected | None = first.found
        else:
            scheme = self.found[key]
            if isinstance(scheme, First):
                general = lowered_alone(setting, node, spec, replace(given, inputs=pattern.inputs))
                scheme = self.found[key] = verified_scheme(scheme, pattern, general)
            found = None if scheme is None else scheme.lower(pattern.lengths, lower_alone)
        if not numbers or not isinstance(found, Lowered):
            return found
        general_inputs = tuple(numbers.get(n, known) for n, known in enumerate(pattern.inputs))
        inputs = general_inputs if found.is_instance else given.inputs
        bare = Setting(setting.library, setting.opsets)  # without anything of the model
        return replace(found, lowered=_program(bare, node, spec, replace(given, inputs=inputs)))

    def _read_stored(
        self, key: PatternKey, setting: Setting, node: GraphNode, spec: Spec, pattern: Pattern
    ) -> bool:
        """Read the scheme of a pattern from the shipped ones; the result is whether it is among them."""
        stored = setting.library.stored(spec.domain, spec.name)
        looks = self.stored and stored.any_scheme
        named = pattern_text(node, spec.since, pattern.inputs) if looks else None
        text = None if named is None else stored.scheme(named)
        if text is None:
            return False

        bare = Setting(setting.library, setting.opsets)  # without anything of the model
        lowering = _program(bare, node, spec, Given(pattern.inputs, node.inputs))
        program = GeneralProgram(spec.domain, spec.name, named or "", lowering)
        self.found[key] = None if text == NO_SCHEME else read_scheme(text, node, spec, program)
        return True


class GeneralProgram(Struct, frozen=True, eq=False):
    """The program of a stored scheme, lowered on demand; ``pattern`` is the text by which it is found."""

    domain: str
    name: str
    pattern: str
    lower: Callable[[], Program]

    def __call__(self) -> Program:
        """Return the program."""
        return self.lower()


def _program(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Callable[[], Program]:
    """Return a function that lowers an operator on demand."""

    @cache
    def program() -> Program:
        found = lowered_alone(setting, node, spec, given)
        if isinstance(found, Rejected):
            raise found
        return found.program

    return program


def verified_scheme(first: First, pattern: Pattern, general: Lowered | Rejected) -> Scheme | None:
    """Make the scheme of a pattern, and check it against its first node."""
    scheme = scheme_of(general, pattern.lengths)
    if scheme is not None and pattern.told:
        scheme.chain, scheme.mac_flow = (
            chain_of(scheme.general.program),
            mac_flow_names(find_mac_flow(scheme.general.program)),
        )
    if scheme is not None:
        scheme.lower(first.lengths, lambda: first.found)
    return scheme


# --- Caches for the whole process: fact numbers, schemes, and results for nodes
#
# They depend on no model, only on the definitions they came from, and on names where these occur in a
# result.  The next session with the same definitions continues with them, as long as they are not
# too large.


MOST_FACTS, MOST_PATTERNS = 20_000, 2_000
"""With more facts or nodes, or more patterns, the next session starts with empty caches."""

NodeKey = tuple[object, ...]
Seen = dict[NodeKey, Applied]


class Lasting(Struct):
    """The caches for one set of definitions; nodes are keyed by fact numbers of the table."""

    library: Library
    schemes: Schemes | None = field(default_factory=Schemes)
    table: FactTable = field(default_factory=FactTable)
    done: dict[NodeKey, Seen] = field(default_factory=dict)
    checked: dict[NodeKey, tuple[str, ...]] = field(default_factory=dict)


_last: list[Lasting] = []
_lock = Lock()


def lasting(library: Library) -> Lasting:
    """Return the caches that earlier sessions left for these definitions."""
    with _lock:
        before = _last.pop() if _last else None
        if before is None or before.library is not library:
            found = Lasting(library)
        elif max(len(before.table.facts), sum(map(len, before.done.values()))) <= MOST_FACTS:
            found = before
        else:
            found = Lasting(library, before.schemes)
        if found.schemes is not None and len(found.schemes.found) > MOST_PATTERNS:
            found = Lasting(library)
        _last.append(found)
        return found
