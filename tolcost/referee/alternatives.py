"""How far a count depends on the definition: other algorithms for an operator, and where their costs cross.

An alternative, ``specs/alternatives/Softmax.online.tol``, is a definition like any other, with the operator's
own header, and is held to the same node tests.  One that is an algorithm for some cases only says so itself,
with ``outside("...")``, and is not asked for the others.  No node is ever given one.

Nothing is tried: fewer, more and equal are proved for all lengths, and a region is exact.  Values and counts
of every algorithm are held to the operator's own definition at random inputs of a few sizes as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from tolcost.algebra import Cond, Poly, cond_text
from tolcost.algebra.compare import ComparisonVerdict, leading_terms
from tolcost.atoms.nodes import Program
from tolcost.audit.instances import OperatorInstance, lower_instance
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import FAILED, Result, check
from tolcost.catalogue.specs import Library, Spec, opening
from tolcost.check.verdicts import ordering
from tolcost.cost import Counts, count
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Source
from tolcost.elaborate.values import Outside
from tolcost.platform import specs_root
from tolcost.result.regions import where_positive

DEFINITION = "definition"
"""What the operator's own definition is called among its alternatives."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAt:
    """What alternatives are compared at, the sizes they are run at, and which of them are left out.

    Without sizes, some small ones are taken.
    """

    instance: OperatorInstance
    sizes: tuple[Mapping[str, int], ...] | None
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CostedAlgorithm:
    """An algorithm with its cost, and what it opens with, unless it is the definition itself."""

    name: str
    about: str
    file: str
    program: Program
    counts: Counts

    @property
    def eops(self) -> Poly:
        """Its closed form."""
        return self.counts.eops

    @property
    def facts(self) -> tuple[Cond, ...]:
        """What its closed form holds under."""
        return tuple(condition.condition for condition in self.program.conditions)

    @property
    def holds_where(self) -> tuple[str, ...]:
        """The same as text."""
        return tuple(map(cond_text, self.facts))


@dataclass(frozen=True, slots=True, eq=False)
class AlgorithmCrossing:
    """Two algorithms: how the first stands to the second, and where each takes fewer operations.

    It is said in words, and nothing is said where there is no such place, or where it takes too many words.
    """

    first: CostedAlgorithm
    second: CostedAlgorithm
    verdict: ComparisonVerdict
    first_fewer: str = ""
    second_fewer: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class AlgorithmComparison:
    """The algorithms of an operator at one setting: the definition first; and all pairs of them."""

    setting: ComparedAt
    rows: tuple[CostedAlgorithm, ...]
    refused: tuple[tuple[str, str], ...]
    crossings: tuple[AlgorithmCrossing, ...]

    def against_definition(self, row: CostedAlgorithm) -> AlgorithmCrossing | None:
        """How an alternative stands to the definition."""
        pairs = (pair for pair in self.crossings if pair.first is row and pair.second is self.rows[0])
        return next(pairs, None)

    def extremes(self, wanted: ComparisonVerdict) -> tuple[CostedAlgorithm, ...]:
        """The algorithms that no other one beats everywhere; of those that are equal, the first."""
        beaten = {pair.first for pair in self.crossings if pair.verdict in (_OPPOSITE[wanted], "equal")}
        beaten |= {pair.second for pair in self.crossings if pair.verdict == wanted}
        return tuple(row for row in self.rows if row not in beaten)


_OPPOSITE: Mapping[ComparisonVerdict, ComparisonVerdict] = {
    "less_or_equal": "greater_or_equal",
    "greater_or_equal": "less_or_equal",
}


def leading_ratio(most: Poly, least: Poly) -> Fraction | None:
    """How many times as large one form gets as another, where their leading terms are multiples.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> leading_ratio(10 * n * n + n, 4 * n * n), leading_ratio(n * n, n)
    (Fraction(5, 2), None)
    """
    above, below = leading_terms(most), leading_terms(least)
    if above.terms.keys() != below.terms.keys():
        return None
    ratios = {Fraction(above.terms[m] * below.den, below.terms[m] * above.den) for m in below.terms}
    return ratios.pop() if len(ratios) == 1 else None


@cache
def settings(operator: str) -> tuple[ComparedAt, ...]:
    """What an operator's alternatives are compared at: ``specs/alternatives/instances.toml``."""
    text = specs_root().joinpath(FOLDER, "instances.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["instance"]
    return tuple(_setting(entry) for entry in entries if entry["operator"] == operator)


def _setting(entry: Mapping[str, Any]) -> ComparedAt:
    shapes, attrs = entry.get("shapes", {}), entry.get("attrs", {})
    instance = OperatorInstance(entry["operator"], shapes, attrs, entry.get("outputs", 1))
    sizes = tuple(entry["sizes"]) if "sizes" in entry else None
    return ComparedAt(instance, sizes, tuple(entry.get("without", ())))


def compare_alternatives(operator: str, library: Library) -> tuple[AlgorithmComparison, ...]:
    """Cost the algorithms of an operator at its settings, and compare all pairs."""
    others = alternatives(operator, library)
    return tuple(_compared(setting, others, library) for setting in settings(operator))


def _compared(setting: ComparedAt, others: Sequence[Alternative], library: Library) -> AlgorithmComparison:
    rows = [_costed(setting, None, library)]
    refused: list[tuple[str, str]] = []
    for one in (one for one in others if one.name not in setting.without):
        try:
            rows.append(_costed(setting, one, library))
        except Outside as outside:
            refused.append((one.name, outside.diagnostics[0].message))
    pairs = tuple(_crossing(b, a) for a, b in combinations(rows, 2))
    return AlgorithmComparison(setting, tuple(rows), tuple(refused), pairs)


def _costed(setting: ComparedAt, one: Alternative | None, library: Library) -> CostedAlgorithm:
    spec = library.find("", setting.instance.op) if one is None else one.spec
    assert spec is not None, "alternatives are to operators that have a definition"
    program = lower_instance(setting.instance, library, spec).program
    name = DEFINITION if one is None else one.name
    about = "" if one is None else one.about
    return CostedAlgorithm(name, about, spec.source.name, program, count(program))


def _crossing(first: CostedAlgorithm, second: CostedAlgorithm) -> AlgorithmCrossing:
    facts = (*first.facts, *second.facts)
    if not _comparable(first, second):
        return AlgorithmCrossing(first, second, "unknown")
    verdict = ordering(first.eops, second.eops, facts)
    if verdict == "equal":
        return AlgorithmCrossing(first, second, verdict)
    gap = second.eops - first.eops
    return AlgorithmCrossing(
        first,
        second,
        verdict,
        "" if verdict == "greater_or_equal" else where_positive(gap, facts),
        "" if verdict == "less_or_equal" else where_positive(-gap, facts),
    )


def _comparable(first: CostedAlgorithm, second: CostedAlgorithm) -> bool:
    """Whether both are counts and not bounds; what data decides may stand in one of them only."""
    by_data = [any(symbol.kind == "data" for symbol in one.eops.free) for one in (first, second)]
    return not all(by_data) and all(one.counts.status != "upper bound" for one in (first, second))


# ---- the alternatives themselves, held to node tests -----------------------------------------


FOLDER = "alternatives"


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Another algorithm for an operator; ``name`` is what sets it apart."""

    operator: str
    name: str
    spec: Spec

    @property
    def about(self) -> str:
        """What it opens with."""
        return opening(self.spec.source.text)


@dataclass(frozen=True, slots=True)
class NodeTests:
    """What an operator's node tests said of an alternative: how many there are, and how many it is for."""

    every: int
    admitted: int
    failures: tuple[Result, ...] = ()

    @property
    def passed(self) -> int:
        """How many of those that it is for pass in value, shape and count."""
        return self.admitted - len(self.failures)


@cache
def _files() -> dict[str, dict[str, Source]]:
    """The texts, by operator and by what sets them apart."""
    found: dict[str, dict[str, Source]] = {}
    for file in sorted(specs_root().joinpath(FOLDER).iterdir(), key=lambda file: file.name):
        operator, _, rest = file.name.partition(".")
        if rest.endswith(".tol"):
            source = Source(f"specs/{FOLDER}/{file.name}", file.read_text(encoding="utf-8"))
            found.setdefault(operator, {})[rest.removesuffix(".tol")] = source
    return found


def operators_with_alternatives() -> tuple[str, ...]:
    """The operators that have some, sorted."""
    return tuple(_files())


def alternatives(operator: str, library: Library) -> tuple[Alternative, ...]:
    """The alternatives to an operator's definition, sorted by name."""
    texts = _files().get(operator, {})
    return tuple(
        Alternative(operator, name, library.definition("", operator, source))
        for name, source in texts.items()
    )


def hold_to_tests(one: Alternative, cases: Iterable[Case], library: Library) -> NodeTests:
    """Hold an alternative to the node tests that its version and its algorithm are for."""
    ours = [case for case in cases if (case.node.domain, case.node.op) == ("", one.operator)]
    results = [check(case, library, other=one.spec) for case in ours if case.opset >= one.spec.since]
    failures = tuple(result for result in results if result.status in FAILED)
    return NodeTests(len(ours), sum(result.status != "outside" for result in results), failures)
