"""Make ``specs/schemes.tsv`` again: the schemes that come with tolcost.

    python -m tools.models.store_schemes [MODEL.onnx ...]

Every pattern that is stored is lowered anew from the definitions of now; patterns that nodes of the given
models have, and that are not stored yet, are added.  Of very many models those are that several have: what
one has alone makes the package larger for everybody else.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

from msgspec import field
from onnx import defs

from tolcost.algebra import Poly, Symbol, const
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import FILE, Library, Spec, folder_of, open_library
from tolcost.diagnostics import Rejected
from tolcost.models.facts import replaced, symbols_in
from tolcost.models.lowered import Given, Lowered, Setting
from tolcost.models.lowering import lower
from tolcost.models.patterns import NumberInspected, PatternKey, numbers
from tolcost.models.patterns import Pattern as Met
from tolcost.models.scheme import Scheme, scheme_of
from tolcost.models.schemes import First, Schemes
from tolcost.models.stored_schemes import NO_SCHEME, pattern_text
from tolcost.models.walking import Session
from tolcost.platform import specs_root, with_deep_stack
from tolcost.result.model import study_file
from tools.models.scheme_texts import examples_of, node_of_pattern, scheme_text, stored_file, stored_lines

Operator = tuple[str, str]

PROBES, CASES = 40, 24
MANY, SEVERAL, FEW = 20, 2, 400
"""Of so many models, a pattern is stored that so many have, or one of so few nodes: it is much of that."""
LENGTHS = (2, 3, 5, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 224, 256, 512, 768, 1000, 1024, 2048, 3072, 5000)
"""Lengths that models have."""


class Recording(Schemes):
    """Makes the scheme of every pattern that is not stored when it is met first, and keeps all by text.

    Examples of those that are stored are of cases that they were not held to.
    """

    texts: dict[tuple[Operator, str], list[Scheme]] = field(default_factory=dict)
    met: set[tuple[Operator, str]] = field(default_factory=set)
    """The patterns of the model that is looked at."""
    models: Counter[tuple[Operator, str]] = field(default_factory=Counter)

    def _lower_by_scheme(
        self, key: PatternKey, setting: Setting, node: GraphNode, spec: Spec, given: Given, pattern: Met
    ) -> Lowered | Rejected | None:
        new = key not in self.found
        try:
            found = super()._lower_by_scheme(key, setting, node, spec, given, pattern)
            if isinstance(self.found[key], First):  # the second node of a pattern makes the scheme
                found = super()._lower_by_scheme(key, setting, node, spec, given, pattern)
        finally:
            text = pattern_text(node, spec.since, pattern.inputs)
            if text is not None:
                self.met.add(((spec.domain, spec.name), text))
                schemes, scheme = (
                    self.texts.setdefault(((spec.domain, spec.name), text), []),
                    self.found.get(key),
                )
                schemes += [scheme] if new and isinstance(scheme, Scheme) else []
        return found


def stored_before(root: Path) -> dict[Operator, dict[str, str]]:
    """What is stored of each operator, by pattern, whether or not it fits the definitions of now."""
    domains = {folder_of(domain): domain for domain in open_library().domains()}
    found: dict[Operator, dict[str, str]] = defaultdict(dict)
    for line in (root / FILE).read_text("utf-8").splitlines()[1:]:
        name, _, text = line.partition("\t")
        place, _, pattern = name.partition(" ")
        folder, _, operator = place.partition("/")
        if pattern:
            found[domains[folder], operator][pattern] = text.rpartition("\t")[0]
    return found


def anew(library: Library, operator: Operator, pattern: str, stored: str) -> Scheme | None:
    """The scheme of a stored pattern, lowered anew and held to the same nodes; what has none keeps none."""
    if stored == NO_SCHEME:
        return None
    lowering = Pattern(library, operator, pattern)
    scheme = scheme_of(lowering.at({}), lowering.symbols)
    if scheme is None:
        print(f"{operator[1]} has no scheme any more, and keeps none, for {pattern}")
    else:
        for lengths in examples_of(stored):
            scheme.lower(lengths, partial(lowering.at, lengths))
    return scheme


class Pattern:
    """A pattern as it is stored, to be lowered at any lengths."""

    def __init__(self, library: Library, operator: Operator, text: str) -> None:
        domain, name = operator
        since, self.node, self.inputs = node_of_pattern(text, name, domain)
        self.spec = next(spec for spec in library.versions(domain, name) if spec.since == since)
        later = [other.since - 1 for other in library.versions(domain, name) if other.since > since]
        opset = min(later, default=defs.onnx_opset_version()) if not domain else since
        self.setting = Setting(library, {domain: opset})
        self.symbols = frozenset[Symbol]().union(*map(symbols_in, self.inputs))

    def at(self, lengths: Mapping[Symbol, Poly]) -> Lowered | Rejected:
        """The operator at lengths, lowered by itself; what decides something is no matter of a pattern."""
        given = tuple(None if known is None else replaced(known, lengths) for known in self.inputs)
        try:
            return lower(self.setting, self.node, self.spec, Given(given, self.node.inputs))
        except NumberInspected:
            return Rejected()


def probed(library: Library, operator: Operator, pattern: str, scheme: Scheme) -> None:
    """Hold a scheme to nodes of further cases: other lengths than its examples have, equal ones together."""
    lowering, rng = Pattern(library, operator, pattern), random.Random(pattern)
    points = [numbers(lengths) for lengths in scheme.examples.values()]
    for point in filter(None, points):
        for _ in range(PROBES):
            change = {value: rng.choice((value, *LENGTHS)) for value in point.values()}
            lengths = {symbol: const(change[value]) for symbol, value in point.items()}
            if len(scheme.held) < CASES:
                scheme.lower(lengths, partial(lowering.at, lengths))


def held(
    library: Library, operator: Operator, pattern: str, scheme: Scheme, nodes: Iterable[Mapping[Symbol, Poly]]
) -> None:
    """Hold a scheme to nodes of further cases that models have."""
    lowering = Pattern(library, operator, pattern)
    for lengths in nodes:
        if len(scheme.held) < CASES:
            scheme.lower(lengths, partial(lowering.at, lengths))


def recorded(models: list[Path]) -> Recording:
    """The schemes of all nodes of some models."""
    recording = Recording()
    for path in {sha256(path.read_bytes()).digest(): path for path in models}.values():
        print(path.name, flush=True)
        session = Session(open_library(), schemes=recording)
        nodes = 0
        try:
            study = with_deep_stack(lambda path=path, session=session: study_file(path, session))  # type: ignore[misc]
            nodes = len(study.model.graph.nodes)
        except Rejected as rejected:
            print(rejected)
        recording.models.update(recording.met)
        if nodes <= FEW:
            recording.models.update(dict.fromkeys(recording.met, SEVERAL))
        recording.met.clear()
    return recording


def main(arguments: list[str]) -> None:
    library, root = open_library(), specs_root()
    assert isinstance(root, Path)
    found: dict[Operator, dict[str, Scheme | None]] = defaultdict(dict)
    for operator, lines in stored_before(root).items():
        found[operator] = {pattern: anew(library, operator, pattern, text) for pattern, text in lines.items()}
    recording = recorded(list(map(Path, arguments)))
    least = SEVERAL if len(arguments) >= MANY else 1
    for domain in library.domains():
        for name in library.names(domain):
            found[domain, name] |= {}  # at least the heads of its definitions
    for (operator, pattern), schemes in recording.texts.items():
        if recording.models[operator, pattern] < least:
            continue
        scheme = found[operator].get(pattern)
        if scheme is None:
            scheme = found[operator][pattern] = next(iter(schemes), None)
            if scheme is not None:
                probed(library, operator, pattern, scheme)
        for other in schemes:
            if scheme is not None and other is not scheme:
                held(library, operator, pattern, scheme, other.examples.values())
    lines = (line for operator, named in found.items() for line in lines_of(root, library, operator, named))
    (root / FILE).write_text(stored_file(lines), "utf-8")


def lines_of(
    root: Path, library: Library, operator: Operator, schemes: Mapping[str, Scheme | None]
) -> Iterator[tuple[str, str]]:
    """What is to be stored of an operator."""
    domain, name = operator
    heads = {spec.since: spec.head for spec in library.versions(domain, name)}
    texts = {pattern: text for pattern, scheme in schemes.items() if (text := text_of_scheme(scheme))}
    return stored_lines(root, f"{folder_of(domain)}/{name}", library.made_from(domain, name), heads, texts)


def text_of_scheme(scheme: Scheme | None) -> str | None:
    """The text of a scheme; one that holds at none of its nodes is as good as none."""
    useless = scheme is None or not any(scheme.held.values())
    return NO_SCHEME if scheme is None or useless else scheme_text(scheme)


if __name__ == "__main__":
    main(sys.argv[1:])
