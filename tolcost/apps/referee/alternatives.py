"""The dependence of a count on the definition: other algorithms for an operator, and where costs cross.

An alternative, ``specs/alternatives/Softmax.online.tol``, is a definition like any other, with the operator's
own header, and is checked against the same node tests.  An algorithm for only some cases declares so itself,
with ``outside("...")``, and is not tested on the others.  Nodes never use an alternative.

Nothing is concluded from samples: fewer, more and equal are proved for all lengths, and a region is exact.
Values and counts of every algorithm are also compared with the operator's own definition at random inputs of
a few sizes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from msgspec import Struct

from tolcost.algebra import Cond, Poly, cond_text, to_text
from tolcost.algebra.compare import ComparisonVerdict, leading_terms
from tolcost.atoms.nodes import Program
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import FAILED, Result, check
from tolcost.catalogue.specs import Library, Spec, opening
from tolcost.cost import Counts, count
from tolcost.diagnostics import Source
from tolcost.elaborate.faults import Outside
from tolcost.elaborate.inputs import PlainValue
from tolcost.literals import literal_text
from tolcost.platform import specs_root
from tolcost.result.instances import OperatorInstance, command_of, lower_instance
from tolcost.result.judgement import order_of
from tolcost.result.regions import EVERYWHERE, where_positive
from tolcost.show.document import (
    Caution,
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Heading,
    Json,
    ReportTable,
    Section,
    Verdict,
    plain,
)

DEFINITION = "definition"
"""The name of the operator's own definition among its alternatives."""


class ComparedAt(Struct, frozen=True, eq=False):
    """The inputs at which alternatives are compared, the sizes of test runs, and the alternatives left out.

    Without sizes, small ones are chosen.
    """

    instance: OperatorInstance
    sizes: tuple[Mapping[str, int], ...] | None
    without: tuple[str, ...] = ()


class CostedAlgorithm(Struct, frozen=True, eq=False):
    """An algorithm with its cost, and its opening comment, unless it is the definition itself."""

    name: str
    about: str
    file: str
    program: Program
    counts: Counts

    @property
    def eops(self) -> Poly:
        """The closed form of its EOPs."""
        return self.counts.eops

    @property
    def facts(self) -> tuple[Cond, ...]:
        """The conditions of its closed form."""
        return tuple(condition.condition for condition in self.program.conditions)

    @property
    def holds_where(self) -> tuple[str, ...]:
        """The conditions of its closed form, as text."""
        return tuple(map(cond_text, self.facts))


class AlgorithmCrossing(Struct, frozen=True, eq=False):
    """Two algorithms: the order of their costs, and the regions in which each takes fewer operations.

    A region is text; it is empty if there is none, or if its description would be too long.
    """

    first: CostedAlgorithm
    second: CostedAlgorithm
    verdict: ComparisonVerdict
    first_fewer: str = ""
    second_fewer: str = ""


class AlgorithmComparison(Struct, frozen=True, eq=False):
    """The algorithms of an operator at one setting, the definition first, and all pairs of them."""

    setting: ComparedAt
    rows: tuple[CostedAlgorithm, ...]
    refused: tuple[tuple[str, str], ...]
    crossings: tuple[AlgorithmCrossing, ...]

    def against_definition(self, row: CostedAlgorithm) -> AlgorithmCrossing | None:
        """Return the comparison of an alternative with the definition."""
        pairs = (pair for pair in self.crossings if pair.first is row and pair.second is self.rows[0])
        return next(pairs, None)

    def extremes(self, wanted: ComparisonVerdict) -> tuple[CostedAlgorithm, ...]:
        """Return the algorithms that no other one beats everywhere; of equal ones, the first."""
        beaten = {pair.first for pair in self.crossings if pair.verdict in (_OPPOSITE[wanted], "equal")}
        beaten |= {pair.second for pair in self.crossings if pair.verdict == wanted}
        return tuple(row for row in self.rows if row not in beaten)


_OPPOSITE: Mapping[ComparisonVerdict, ComparisonVerdict] = {
    "less": "greater",
    "greater": "less",
}


def leading_ratio(most: Poly, least: Poly) -> Fraction | None:
    """Return the ratio of two forms for large lengths, if their leading terms are multiples.

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
    """Return the settings for an operator's alternatives, from ``specs/alternatives/instances.toml``."""
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
    verdict = order_of(first.eops, second.eops, facts).verdict
    if verdict == "equal":
        return AlgorithmCrossing(first, second, verdict)
    gap = second.eops - first.eops
    return AlgorithmCrossing(
        first,
        second,
        verdict,
        "" if verdict in ("greater", "greater_or_equal") else where_positive(gap, facts),
        "" if verdict in ("less", "less_or_equal") else where_positive(-gap, facts),
    )


def _comparable(first: CostedAlgorithm, second: CostedAlgorithm) -> bool:
    """Whether both are counts and not bounds, and at most one depends on data."""
    by_data = [any(symbol.kind == "data" for symbol in one.eops.free) for one in (first, second)]
    return not all(by_data) and all(one.counts.status != "upper bound" for one in (first, second))


# ---- alternatives, and their node tests ------------------------------------------------------


FOLDER = "alternatives"


class Alternative(Struct, frozen=True, eq=False):
    """Another algorithm for an operator; ``name`` distinguishes it."""

    operator: str
    name: str
    spec: Spec

    @property
    def about(self) -> str:
        """Its opening comment."""
        return opening(self.spec.source.text)


class NodeTests(Struct, frozen=True):
    """The results of an operator's node tests for an alternative: all tests, and those it is meant for."""

    every: int
    admitted: int
    failures: tuple[Result, ...] = ()

    @property
    def passed(self) -> int:
        """The number of admitted tests that pass in value, shape and count."""
        return self.admitted - len(self.failures)


@cache
def _files() -> dict[str, dict[str, Source]]:
    """Return the texts of alternatives, by operator and by name."""
    found: dict[str, dict[str, Source]] = {}
    for file in sorted(specs_root().joinpath(FOLDER).iterdir(), key=lambda file: file.name):
        operator, _, rest = file.name.partition(".")
        if rest.endswith(".tol"):
            source = Source(f"specs/{FOLDER}/{file.name}", file.read_text(encoding="utf-8"))
            found.setdefault(operator, {})[rest.removesuffix(".tol")] = source
    return found


def operators_with_alternatives() -> tuple[str, ...]:
    """Return the operators that have alternatives, sorted."""
    return tuple(_files())


def alternatives(operator: str, library: Library) -> tuple[Alternative, ...]:
    """Return the alternatives to an operator's definition, sorted by name."""
    texts = _files().get(operator, {})
    return tuple(
        Alternative(operator, name, library.definition("", operator, source))
        for name, source in texts.items()
    )


def hold_to_tests(one: Alternative, cases: Iterable[Case], library: Library) -> NodeTests:
    """Check an alternative against the node tests that its version and its algorithm are for."""
    ours = [case for case in cases if (case.node.domain, case.node.op) == ("", one.operator)]
    results = [check(case, library, other=one.spec) for case in ours if case.opset >= one.spec.since]
    failures = tuple(result for result in results if result.status in FAILED)
    return NodeTests(len(ours), sum(result.status != "outside" for result in results), failures)


# === Findings on alternatives, as documents: the algorithms of each operator, and where they cross.


MADE_BY = "make alternatives"
Tests = Mapping[tuple[str, str], NodeTests]
"""The results of node tests, by operator and alternative; empty if they were not run."""

ALGORITHMS = (
    Column("operator", "operator"),
    Column("at", "at", "code"),
    Column("algorithm", "algorithm"),
    Column("eops", "EOPs", "form"),
    Column("standing", "beside the definition", group="beside the definition"),
    Column("holds_where", "holds where", "code", drop=1, group="beside the definition"),
    Column("tests", "node tests", printed=False),
    Column("about", "what it does"),
    Column("command", "shown by", "code", shown=False),
)
RANGES = (
    Column("operator", "operator"),
    Column("at", "at", "code"),
    Column("algorithms", "algorithms", "number"),
    Column("fewest", "fewest EOPs", group="fewest EOPs"),
    Column("least", "closed form", "form", group="fewest EOPs"),
    Column("most", "most EOPs", group="most EOPs"),
    Column("greatest", "closed form", "form", group="most EOPs"),
    Column("ratio", "ratio of the leading terms", "number"),
)
CROSSINGS = (
    Column("operator", "operator"),
    Column("at", "at", "code"),
    Column("first", "first"),
    Column("first_fewer", "takes fewer", "code"),
    Column("second", "second"),
    Column("second_fewer", "takes fewer", "code"),
)


def algorithms_table(found: Sequence[AlgorithmComparison], tests: Tests) -> ReportTable:
    """Make a table of every algorithm of every operator, each with its closed form."""
    operators = len({one.setting.instance.op for one in found})
    others = {(one.setting.instance.op, row.name) for one in found for row in one.rows[1:]}
    noun = "operator" if operators == 1 else "operators"
    about = (
        f"A definition is one algorithm of several. Here are {len(others)} others for {operators} "
        f"{noun}. Each is checked against the operator's own node tests that it can compute, in value,"
        " shape and count, and against the definition at random inputs. *Beside the definition* is "
        "proved for all sizes."
    )
    rows = tuple(_row(one, row, tests) for one in found for row in one.rows)
    title = "Alternatives to definitions"
    return ReportTable(ALGORITHMS, rows, "alternatives", title, about, MADE_BY, by="operator")


def ranges_table(found: Sequence[AlgorithmComparison]) -> ReportTable:
    """Make a table of the closed forms between which the algorithms of each operator lie."""
    about = (
        "How far EOPs depend on the definition. Where no algorithm has the fewest (or most) EOPs for "
        "all lengths, the table names those that have for some; the next table says for which "
        "lengths."
    )
    rows = tuple(map(_range_row, found))
    return ReportTable(RANGES, rows, "ranges", "The range of closed forms", about, MADE_BY)


def _range_row(one: AlgorithmComparison) -> tuple[Cell, ...]:
    fewest, most = one.extremes("less"), one.extremes("greater")
    single = len(fewest) == 1 and len(most) == 1
    return (
        one.setting.instance.op,
        Code(setting_text(one)),
        len(one.rows),
        ", ".join(row.name for row in fewest),
        fewest[0].eops if len(fewest) == 1 else None,
        ", ".join(row.name for row in most),
        most[0].eops if len(most) == 1 else None,
        leading_ratio(most[0].eops, fewest[0].eops) if single else None,
    )


def crossings_table(found: Sequence[AlgorithmComparison]) -> ReportTable:
    """Make a table of the pairs of algorithms of which neither always takes fewer operations."""
    rows = tuple(
        (
            one.setting.instance.op,
            Code(setting_text(one)),
            pair.first.name,
            Code(pair.first_fewer),
            pair.second.name,
            Code(pair.second_fewer),
        )
        for one in found
        for pair in one.crossings
        if pair.verdict == "crosses"
    )
    about = "Pairs of algorithms of which neither takes fewer for all lengths, and exactly where each does."
    return ReportTable(CROSSINGS, rows, "crossings", "Where they cross", about, MADE_BY)


def tables(found: Sequence[AlgorithmComparison], tests: Tests) -> tuple[ReportTable, ...]:
    """Make the tables of all operators together, as a report."""
    return ranges_table(found), crossings_table(found), algorithms_table(found, tests)


def in_full(found: Sequence[AlgorithmComparison], tests: Tests) -> Iterator[Section]:
    """Yield one operator after another, as on a page."""
    for one in found:
        yield Heading(one.setting.instance.op, setting_text(one))
        yield _narrow(algorithms_table((one,), tests), 7)
        crossing = crossings_table((one,))
        if crossing.rows:
            yield _narrow(crossing, 6)
        told = [(row.name, row.about) for row in one.rows[1:]]
        yield Facts(tuple(Fact(name, about) for name, about in (*told, *one.refused)))


def _narrow(table: ReportTable, last: int) -> ReportTable:
    """Keep the non-empty columns of a table after its setting and before ``last``."""
    filled = [n for n in range(2, last) if any(plain(row[n]) for row in table.rows)]
    rows = tuple(tuple(row[n] for n in filled) for row in table.rows)
    return ReportTable(tuple(table.columns[n] for n in filled), rows)


def _row(one: AlgorithmComparison, row: CostedAlgorithm, tests: Tests) -> tuple[Cell, ...]:
    instance = one.setting.instance
    return (
        instance.op,
        Code(setting_text(one)),
        row.name,
        row.eops,
        standing_text(one.against_definition(row)),
        Code("; ".join(row.holds_where)),
        tests_text(tests.get((instance.op, row.name))),
        row.about,
        Code(command_of(instance, row.file)),
    )


def setting_text(one: AlgorithmComparison) -> str:
    """Format the shapes and values of a setting, as in ``X [m, n]; axis = 1``."""
    instance = one.setting.instance
    shapes = (f"{name} {_spaced(shape)}" for name, shape in instance.shapes.items())
    values = (f"{name} = {_spaced(value)}" for name, value in instance.attrs.items())
    return "; ".join((*shapes, *values))


def _spaced(value: PlainValue) -> str:
    if isinstance(value, str):
        return value
    return f"[{', '.join(map(_spaced, value))}]" if isinstance(value, Sequence) else literal_text(value)


def standing_text(pair: AlgorithmCrossing | None) -> Verdict:
    """Describe the cost of an alternative compared with the definition."""
    if pair is None:
        return Verdict("")
    match pair.verdict:
        case "equal":
            return Verdict("as many", None)
        case "less":
            return Verdict(_side("fewer", pair.first_fewer), True)
        case "greater":
            return Verdict(_side("more", pair.second_fewer), False)
        case "less_or_equal":
            return Verdict("never more", None)
        case "greater_or_equal":
            return Verdict("never fewer", None)
        case "crosses":
            return Verdict(f"{_side('fewer', pair.first_fewer)}; {_side('more', pair.second_fewer)}", None)
        case _:
            return Caution("undecided")


def _side(word: str, where: str) -> str:
    if where == EVERYWHERE:
        return word
    return f"{word} {where or 'somewhere'}"


def tests_text(tests: NodeTests | None) -> str:
    """Format how many of the admitted node tests pass, and how many are not admitted."""
    if tests is None:
        return ""
    rest = f", not for {tests.every - tests.admitted}" if tests.admitted != tests.every else ""
    return f"{tests.passed} of {tests.admitted}{rest}"


# ---- data ------------------------------------------------------------------------------------------


def alternatives_json(found: Sequence[AlgorithmComparison], tests: Tests) -> dict[str, Json]:
    """Return all comparisons as data for scripts."""
    return {"comparisons": [_comparison(one, tests) for one in found]}


def _comparison(one: AlgorithmComparison, tests: Tests) -> Json:
    instance = one.setting.instance
    return {
        "operator": instance.op,
        "at": setting_text(one),
        "algorithms": [_algorithm(instance.op, row, tests) for row in one.rows],
        "not_for_this": [{"name": name, "reason": reason} for name, reason in one.refused],
        "pairs": list(_pairs(one)),
    }


def _algorithm(operator: str, row: CostedAlgorithm, tests: Tests) -> Json:
    said = tests.get((operator, row.name))
    return {
        "name": row.name,
        "file": row.file,
        "about": row.about,
        "eops": to_text(row.eops),
        "count": row.counts.status,
        "holds_where": list(row.holds_where),
        "tests": None
        if said is None
        else {"cases": said.every, "admitted": said.admitted, "pass": said.passed},
    }


def _pairs(one: AlgorithmComparison) -> Iterator[Json]:
    for pair in one.crossings:
        yield {
            "first": pair.first.name,
            "second": pair.second.name,
            "verdict": pair.verdict,
            "first_fewer": pair.first_fewer,
            "second_fewer": pair.second_fewer,
        }
