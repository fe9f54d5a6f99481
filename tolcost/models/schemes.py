"""Schemes: an operator lowered once for a pattern of what is known, and instantiated everywhere.

A pattern is all that is known of a node but for the lengths of its inputs (``patterns``).  With symbols for
these the operator is lowered as ever; out of it come closed forms, and conditions under which they hold.  A
node is then a substitution of its own lengths, exact because the forms are.  What numbers would have decided
and symbols leave open divides a pattern into cases (``patterns``); the first node of each case is lowered by
itself, and the scheme is held to it.  So is every node where there is no scheme.
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
from tolcost.cost.count import passing
from tolcost.diagnostics import Rejected
from tolcost.models.facts import FactTable, Plain, plain_known
from tolcost.models.lowered import Applied, Given, Lowered, Setting, arguments, passes_of
from tolcost.models.patterns import Asked, Pattern, PatternKey, patterns_of
from tolcost.models.scheme import Scheme, chain_of, scheme_of
from tolcost.models.stored_schemes import NO_SCHEME, pattern_text, read_scheme


def lowered_alone(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
    """An operator lowered by itself; a diagnostic says why where that cannot be done."""
    from tolcost.models.lowering import lower  # for common models nothing has to be: then it is not loaded

    return lower(setting, node, spec, given)


def _place(setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]) -> PatternKey | None:
    """All that is known of a node but for lengths, where all inputs are tensors of known ones.

    Which types it may have is a matter of the version that is asked for.
    """
    kinds = [one.kind for one in plain if one is not None]
    if len(kinds) < len(plain):
        return None
    return (spec, setting.opsets.get(node.domain), node.asked, node.key, *kinds)


class First(Struct, frozen=True, eq=False):
    """The first node of a pattern: there is a scheme when there is another."""

    lengths: Mapping[Symbol, Poly]
    found: Lowered | Rejected


class Schemes(Struct):
    """The schemes of a session, by operator and pattern; None is a pattern that has none.

    Those that come with tolcost are read when a pattern is met first, unless ``stored`` says otherwise.
    """

    stored: bool = True
    found: dict[PatternKey, First | Scheme | None] = field(default_factory=dict)
    quick: dict[PatternKey, tuple[Scheme, tuple[Symbol, ...]]] = field(default_factory=dict)
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
                found = self._by(key, setting, node, spec, given, pattern)
            except Asked:  # it is no matter of lengths alone
                found = None
                if not isinstance(self.found.get(key), Scheme):
                    self.found[key] = None
            if found is not None:
                scheme = self.found[key]
                demanded = (f.kind == "static" for f in met(spec.head.takes, len(given.inputs)))
                if isinstance(scheme, Scheme) and place is not None and not any(demanded):
                    self.quick[place] = (scheme, tuple(pattern.lengths))
                return found
            place = None  # it is that of the most general pattern
        return lowered_alone(setting, node, spec, given)

    def _by(
        self, key: PatternKey, setting: Setting, node: GraphNode, spec: Spec, given: Given, pattern: Pattern
    ) -> Lowered | Rejected | None:
        """An operator by the scheme of a pattern; None where that has none, or does not hold."""
        numbers = pattern.told

        def itself() -> Lowered | Rejected:
            if not numbers:
                return lowered_alone(setting, node, spec, given)
            own = [pattern.inputs[n] if n in numbers else known for n, known in enumerate(given.inputs)]
            found = lowered_alone(setting, node, spec, replace(given, inputs=tuple(own)))
            if isinstance(found, Rejected):
                return found
            passes = passes_of(passing(found.program))  # with all that is ever asked of its program
            return replace(found, chain=chain_of(found.program), passes=passes)

        if key not in self.found and not self._read(key, setting, node, spec, pattern):
            self.found[key] = first = First(pattern.lengths, itself())
            found: Lowered | Rejected | None = first.found
        else:
            scheme = self.found[key]
            if isinstance(scheme, First):
                general = lowered_alone(setting, node, spec, replace(given, inputs=pattern.inputs))
                scheme = self.found[key] = held_scheme(scheme, pattern, general)
            found = None if scheme is None else scheme.lower(pattern.lengths, itself)
        if not numbers or not isinstance(found, Lowered):
            return found
        general_inputs = tuple(numbers.get(n, known) for n, known in enumerate(pattern.inputs))
        inputs = general_inputs if found.is_instance else given.inputs
        bare = Setting(setting.library, setting.opsets)  # nothing of the model is kept
        return replace(found, lowered=_program(bare, node, spec, replace(given, inputs=inputs)))

    def _read(self, key: PatternKey, setting: Setting, node: GraphNode, spec: Spec, pattern: Pattern) -> bool:
        """Take the scheme of a pattern from those that come with tolcost, if it is among them."""
        stored = setting.library.stored(spec.domain, spec.name).schemes if self.stored else None
        named = pattern_text(node, spec.since, pattern.inputs) if stored else None
        text = None if stored is None or named is None else stored.get(named)
        if text is None:
            return False

        bare = Setting(setting.library, setting.opsets)  # nothing of the model is kept
        program = _program(bare, node, spec, Given(pattern.inputs, node.inputs))
        self.found[key] = None if text == NO_SCHEME else read_scheme(text, node, program)
        return True


def _program(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Callable[[], Program]:
    """What an operator is lowered to, which is done when it is asked for."""

    @cache
    def program() -> Program:
        found = lowered_alone(setting, node, spec, given)
        if isinstance(found, Rejected):
            raise found
        return found.program

    return program


def held_scheme(first: First, pattern: Pattern, general: Lowered | Rejected) -> Scheme | None:
    """The scheme of a pattern, held to its first node."""
    scheme = scheme_of(general, pattern.lengths)
    if scheme is not None and pattern.told:
        scheme.chain, scheme.passes = (
            chain_of(scheme.general.program),
            passes_of(passing(scheme.general.program)),
        )
    if scheme is not None:
        scheme.lower(first.lengths, lambda: first.found)
    return scheme


# --- What lasts for the process: numbers of things known, schemes, and nodes that were seen
#
# None of it depends on a model, only on the definitions that it came from, and on names where these are part
# of what a node comes to.  The next session with the same definitions goes on with it, as long as it is not
# too much.


MOST_THINGS, MOST_PATTERNS = 20_000, 2_000
"""With more things, or nodes, or patterns, the next session starts anew."""

NodeKey = tuple[object, ...]
Seen = dict[NodeKey, Applied]


class Lasting(Struct):
    """What was found with some definitions; nodes are by numbers of the table."""

    library: Library
    schemes: Schemes | None = field(default_factory=Schemes)
    table: FactTable = field(default_factory=FactTable)
    done: dict[NodeKey, Seen] = field(default_factory=dict)
    checked: dict[NodeKey, tuple[str, ...]] = field(default_factory=dict)


_last: list[Lasting] = []
_lock = Lock()


def lasting(library: Library) -> Lasting:
    """What the sessions before found with these definitions."""
    with _lock:
        before = _last.pop() if _last else None
        if before is None or before.library is not library:
            found = Lasting(library)
        elif max(len(before.table.things), sum(map(len, before.done.values()))) <= MOST_THINGS:
            found = before
        else:
            found = Lasting(library, before.schemes)
        if found.schemes is not None and len(found.schemes.found) > MOST_PATTERNS:
            found = Lasting(library)
        _last.append(found)
        return found
