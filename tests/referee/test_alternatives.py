"""Other algorithms for operators: right where they are for, counted as they run, and compared by proof.

Where two cross is told in words, and the words are held to both counts at every size tried.

`make alternatives` holds every alternative to every node test that it is for; here each is held to one.
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tolcost.algebra import Symbol
from tolcost.apps.referee.alternatives import (
    DEFINITION,
    AlgorithmComparison,
    NodeTests,
    algorithms_table,
    alternatives,
    compare_alternatives,
    hold_to_tests,
    operators_with_alternatives,
    tables,
)
from tolcost.catalogue.cases import Case, load_cases
from tolcost.catalogue.conformance import count_difference, value_difference
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.execute import run_vectorised
from tolcost.execute.inputs import random_arrays
from tolcost.result.regions import EVERYWHERE, try_shapes
from tolcost.show.tables import csv_text, markdown

REPORTS = Path(__file__).parents[2] / "reports"
LIBRARY = open_library()
OPERATORS = operators_with_alternatives()
SIZES = (1, 2, 4)
RTOL, ATOL = 1e-3, 1e-5


def node_tests_of(text: str) -> NodeTests:
    """Read back what a report says, where all pass."""
    numbers = [int(word) for word in text.replace(",", "").split() if word.isdigit()]
    admitted, others = numbers[1], sum(numbers[2:])
    return NodeTests(admitted + others, admitted)


def stored() -> dict[tuple[str, str], NodeTests]:
    """What the report says of node tests."""
    rows = csv.DictReader(io.StringIO((REPORTS / "alternatives.csv").read_text("utf-8")))
    said = {(row["operator"], row["algorithm"]): row["tests"] for row in rows}
    return {key: node_tests_of(text) for key, text in said.items() if key[1] != DEFINITION}


def test_alternatives_give_and_count_what_they_say() -> None:
    """The report is of today; at random inputs all is as it says; and no small size contradicts a verdict."""
    compared = [one for name in OPERATORS for one in compare_alternatives(name, LIBRARY)]
    tests = stored()
    assert (REPORTS / "alternatives.md").read_text("utf-8") == markdown(tables(compared, tests)), (
        "run `make alternatives`"
    )
    assert (REPORTS / "alternatives.csv").read_text("utf-8") == csv_text(algorithms_table(compared, tests)), (
        "run `make alternatives`"
    )
    shown = {(one.setting.instance.op, row.name) for one in compared for row in one.rows[1:]}
    assert shown == tests.keys() == {(n, one.name) for n in OPERATORS for one in alternatives(n, LIBRARY)}
    assert all(said.passed == said.admitted > 0 for said in tests.values())
    assert [problem for one in compared for problem in held_at_sizes(one)] == []
    for one in compared:
        not_contradicted(one)


def held_at_sizes(found: AlgorithmComparison) -> Iterator[str]:
    """What an algorithm gives or counts otherwise than it should, at random inputs of a few sizes."""
    sizes = default_sizes(found) if found.setting.sizes is None else found.setting.sizes
    for number, dims in enumerate(sizes):
        programs = [row.program for row in found.rows]
        arrays: dict[str, Any] = {}
        for program in programs:
            arrays.update(random_arrays(program, arrays, dims, seed=number))
        runs = []
        for row, program in zip(found.rows, programs, strict=True):
            needed = {one.name: arrays[one.name] for one in program.inputs}
            try:
                runs.append(run_vectorised(program, needed, dims))
            except Rejected as error:
                yield f"{row.name} at {dict(dims)}: {error.diagnostics[0].message}"
                return
            problem = count_difference(row.counts, runs[-1])
            if problem is not None:
                yield f"{row.name} at {dict(dims)}: {problem}"
        for row, run in zip(found.rows[1:], runs[1:], strict=True):
            for (name, theirs), ours in zip(runs[0].outputs.items(), run.outputs.values(), strict=True):
                problem = value_difference(ours, theirs, RTOL, ATOL)
                if problem is not None:
                    yield f"{row.name} at {dict(dims)}: {name}: {problem}"


def default_sizes(found: AlgorithmComparison) -> tuple[Mapping[str, int], ...]:
    """Small sizes for every name that a shape or a closed form has."""
    programs = (row.program for row in found.rows)
    shapes = (length for program in programs for node in program.inputs for length in node.type[0].shape)
    every = frozenset[Symbol]().union(*(p.free for p in (*shapes, *(row.eops for row in found.rows))))
    names = sorted(symbol.name for symbol in every if symbol.kind == "length")
    return tuple({name: size + n % 2 for n, name in enumerate(names)} for size in SIZES)


def not_contradicted(one: AlgorithmComparison) -> None:
    for pair in one.crossings:
        facts = (*pair.first.facts, *pair.second.facts)
        tried = list(try_shapes(pair.first.eops, pair.second.eops, facts))[:30]
        signs = {(point.old > point.new) - (point.old < point.new) for point in tried}
        allowed = {"equal": {0}, "less": {0, -1}, "greater": {0, 1}}
        allowed |= {"less_or_equal": {0, -1}, "greater_or_equal": {0, 1}}
        assert signs <= allowed.get(pair.verdict, {-1, 0, 1}), (one.setting, pair)
        assert EVERYWHERE not in (pair.first_fewer, pair.second_fewer) or 0 not in signs, (one.setting, pair)
        for words, sign in ((pair.first_fewer, -1), (pair.second_fewer, 1)):
            for point in tried if words not in ("", EVERYWHERE) else ():
                fewer = (point.old > point.new) - (point.old < point.new) == sign
                assert said_of(words, point.point) == fewer, (one.setting, words, point)


def said_of(words: str, point: Mapping[Symbol, int]) -> bool:
    """Whether a size is where the words say: "from n = 4 on", "where p = 0 or p > 9"."""
    text = re.sub(r"^from (\w+) = (\d+) on$", r"\1 >= \2", words).removeprefix("where ")
    text = re.sub(r"(?<![<>=])=(?!=)", "==", text)
    known = {"floor": math.floor, "ceiling": math.ceil, "log": lambda n, _: math.log2(n)}
    lengths = {symbol.name: value for symbol, value in point.items()}
    return bool(eval(text, {"__builtins__": {}}, known | lengths))  # noqa: S307  (our own words)


@pytest.mark.node_cases
def test_node_tests_pass() -> None:
    """One of each operator's that an alternative is for; where to begin, its name decides."""
    by_operator: dict[str, list[Case]] = {name: [] for name in OPERATORS}
    for case in load_cases(OPERATORS):
        if not case.node.domain:
            by_operator[case.node.op].append(case)
    tests = stored()
    for name in OPERATORS:
        every = by_operator[name]
        for one in alternatives(name, LIBRARY):
            start = len(one.name) % len(every)
            held = (hold_to_tests(one, (case,), LIBRARY) for case in (*every[start:], *every[:start]))
            first = next((said for said in held if said.admitted), NodeTests(0, 0))
            assert not first.failures, (name, one.name)
            assert tests[name, one.name].every == len(every), "run `make alternatives`"
            assert first.admitted, (name, one.name)
