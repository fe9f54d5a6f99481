"""What was found of alternatives, as documents: the algorithms of each operator, and where they cross."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tolcost.algebra import to_text
from tolcost.audit.instances import command_of, literal
from tolcost.elaborate.inputs import PlainValue
from tolcost.referee.alternatives import (
    AlgorithmComparison,
    AlgorithmCrossing,
    CostedAlgorithm,
    NodeTests,
    leading_ratio,
)
from tolcost.result.regions import EVERYWHERE
from tolcost.show.document import (
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Heading,
    ReportTable,
    Section,
    Verdict,
    plain,
)
from tolcost.show.json import Json

MADE_BY = "make alternatives"
Tests = Mapping[tuple[str, str], NodeTests]
"""What node tests said, by operator and alternative; none where they were not run."""

ALGORITHMS = (
    Column("operator", "operator"),
    Column("at", "at", "code"),
    Column("algorithm", "algorithm"),
    Column("eops", "EOPs", "form"),
    Column("standing", "beside the definition"),
    Column("holds_where", "holds where", "code"),
    Column("tests", "node tests"),
    Column("about", "what it does"),
    Column("command", "shown by", "code", shown=False),
)
RANGES = (
    Column("operator", "operator"),
    Column("at", "at", "code"),
    Column("algorithms", "algorithms", "number"),
    Column("fewest", "fewest EOPs"),
    Column("least", "closed form", "form"),
    Column("most", "most EOPs"),
    Column("greatest", "closed form", "form"),
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
    """Every algorithm of every operator, each with its closed form."""
    operators = len({one.setting.instance.op for one in found})
    others = {(one.setting.instance.op, row.name) for one in found for row in one.rows[1:]}
    about = (
        f"A definition is one algorithm of several. Here are {len(others)} others for {operators} operators. "
        "Each is held to those of the operator's own node tests that it is an algorithm for, in value, shape "
        "and count, and to the definition at random inputs. *Beside the definition* is proved for all sizes."
    )
    rows = tuple(_row(one, row, tests) for one in found for row in one.rows)
    return ReportTable(ALGORITHMS, rows, "alternatives", "Alternatives to definitions", about, MADE_BY)


def ranges_table(found: Sequence[AlgorithmComparison]) -> ReportTable:
    """For each operator, between which closed forms its algorithms lie."""
    about = (
        "How far EOPs depend on the definition. Where no algorithm has the fewest (or most) for all lengths, "
        "those are named that have for some; the next table tells for which."
    )
    rows = tuple(map(_range_row, found))
    return ReportTable(RANGES, rows, "ranges", "The range of closed forms", about, MADE_BY)


def _range_row(one: AlgorithmComparison) -> tuple[Cell, ...]:
    fewest, most = one.extremes("less_or_equal"), one.extremes("greater_or_equal")
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
    """The pairs of algorithms of which neither always takes fewer."""
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
    about = "The pairs of which neither takes fewer for all lengths, and exactly where each does."
    return ReportTable(CROSSINGS, rows, "crossings", "Where they cross", about, MADE_BY)


def tables(found: Sequence[AlgorithmComparison], tests: Tests) -> tuple[ReportTable, ...]:
    """All operators together, as a report."""
    return ranges_table(found), crossings_table(found), algorithms_table(found, tests)


def in_full(found: Sequence[AlgorithmComparison], tests: Tests) -> Iterator[Section]:
    """One operator after another, as on a page."""
    for one in found:
        yield Heading(one.setting.instance.op, setting_text(one))
        yield _narrow(algorithms_table((one,), tests), 2, 7)
        crossing = crossings_table((one,))
        if crossing.rows:
            yield _narrow(crossing, 2, 6)
        told = [(row.name, row.about) for row in one.rows[1:]]
        yield Facts(tuple(Fact(name, about) for name, about in (*told, *one.refused)))


def _narrow(table: ReportTable, first: int, last: int) -> ReportTable:
    """The columns of a table from the first to before the last that have something in them."""
    filled = [n for n in range(first, last) if any(plain(row[n]) for row in table.rows)]
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
    """The shapes and values of a setting, as in ``X [m, n]; axis = 1``."""
    instance = one.setting.instance
    shapes = (f"{name} {_spaced(shape)}" for name, shape in instance.shapes.items())
    values = (f"{name} = {_spaced(value)}" for name, value in instance.attrs.items())
    return "; ".join((*shapes, *values))


def _spaced(value: PlainValue) -> str:
    return value if isinstance(value, str) else literal(value).replace(",", ", ")


def standing_text(pair: AlgorithmCrossing | None) -> Verdict:
    """How an alternative stands to the definition."""
    if pair is None:
        return Verdict("")
    match pair.verdict:
        case "equal":
            return Verdict("as many", None)
        case "less_or_equal":
            return Verdict(_side("fewer", pair.first_fewer), True)
        case "greater_or_equal":
            return Verdict(_side("more", pair.second_fewer), False)
        case "crosses":
            return Verdict(f"{_side('fewer', pair.first_fewer)}; {_side('more', pair.second_fewer)}", None)
        case _:
            return Verdict("undecided", None)


def _side(word: str, where: str) -> str:
    if where == EVERYWHERE:
        return word
    return f"{word} {where or 'somewhere'}"


def tests_text(tests: NodeTests | None) -> str:
    """How many node tests pass, of those that an algorithm is for, of all."""
    if tests is None:
        return ""
    rest = f", not for {tests.every - tests.admitted}" if tests.admitted != tests.every else ""
    return f"{tests.passed} of {tests.admitted}{rest}"


# ---- data ------------------------------------------------------------------------------------------


def alternatives_json(found: Sequence[AlgorithmComparison], tests: Tests) -> dict[str, Json]:
    """All of it, for scripts."""
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
