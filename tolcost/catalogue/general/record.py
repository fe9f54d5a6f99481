"""General forms as stored data: an operator's forms, their conditions, and the tests that checked them.

For every node test, the values of the measures in its form are stored beside the counts, so that anyone can
evaluate the form.  ``digest`` is that of the definition and the library files it uses: a form is valid for
that text only.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from tolcost.algebra import Poly, to_text
from tolcost.algebra.evaluate import evaluate
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.cases import Case, load_cases
from tolcost.catalogue.general.forms import Row, Search
from tolcost.catalogue.general.instances import instances
from tolcost.catalogue.general.measures import preference
from tolcost.catalogue.schemas import onnx_version
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.catalogue.workers import WorkProgress, gathered

SECONDS_PER_OPERATOR = 900.0
"""The time limit for the search of one operator."""


class HeldTest(Struct, frozen=True):
    """A node test: the values of its form's measures, and its counts."""

    name: str
    values: Mapping[str, int]
    eops: int
    flops: int


class GeneralRow(Struct, frozen=True, eq=False):
    """Forms in measures, their condition, the tests that checked them, and the number of all instances.

    In ``proved`` of the instances the form equals the count as a formula, and so at all lengths.
    """

    when: str
    eops: Poly
    flops: Poly
    tests: tuple[HeldTest, ...]
    instances: int
    proved: int = 0

    def problem(self, test: HeldTest) -> str | None:
        """Describe the difference between a form and the count of a test; None if there is none."""
        for name, form, counted in (("EOPs", self.eops, test.eops), ("FLOPs", self.flops, test.flops)):
            said = evaluate(form, {s: test.values[s.name] for s in form.free})
            if said != counted:
                return f"{test.name}: {counted} {name}, but {shown(form)} is {said}"
        return None


class OperatorForms(Struct, frozen=True, eq=False):
    """The general forms of an operator; without rows, ``reason`` states why there are none."""

    op: str
    domain: str
    digest: str
    rows: tuple[GeneralRow, ...]
    tests: int
    reason: str = ""

    @property
    def problems(self) -> tuple[str, ...]:
        """Differences between forms and the counts of tests."""
        return tuple(p for row in self.rows for test in row.tests if (p := row.problem(test)) is not None)

    @property
    def is_general(self) -> bool:
        """Whether every test has a form, and all forms equal their counts."""
        held = sum(len(row.tests) for row in self.rows)
        return bool(self.rows) and held == self.tests and not self.problems


class GeneralForms(Struct, frozen=True):
    """The general forms of operators, with the version of onnx whose tests they were checked against."""

    onnx: str
    operators: tuple[OperatorForms, ...]

    @property
    def count(self) -> int:
        """The number of operators with forms for all of their tests."""
        return sum(one.is_general for one in self.operators)

    def of(self, domain: str, op: str) -> OperatorForms | None:
        """Return the forms of one operator."""
        return next((one for one in self.operators if (one.domain, one.op) == (domain, op)), None)


def shown(form: Poly) -> str:
    """Format a form for people, with the names of its measures unquoted.

    >>> shown(parse_text("2*`vol(Y)`*k"))
    '2*k*vol(Y)'
    """
    return to_text(form).replace("`", "")


def digest(spec: Spec) -> str:
    """Return a digest of the texts of a definition and of its library files."""
    texts = (spec.source.text, *sorted(spec.library_texts()))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


# ---- finding -----------------------------------------------------------------------------


def general_forms(
    names: Iterable[str], jobs: int | None, progress: WorkProgress, specs: Sequence[str | Path]
) -> GeneralForms:
    """Find the general forms of operators, all or some, and check them against ONNX's node tests."""
    library = open_library(specs)
    by: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in load_cases(names):
        if case.node.op not in library.outside(case.node.domain):
            by[case.node.domain, case.node.op].append(case)
    wanted = sorted(by)

    def work(n: int) -> OperatorForms:
        return forms_of(*wanted[n], by[wanted[n]], library)

    def lost(n: int, why: str) -> OperatorForms:
        domain, op = wanted[n]
        return OperatorForms(op, domain, "", (), len(by[wanted[n]]), why)

    found = gathered(work, [op for _, op in wanted], lost, jobs, SECONDS_PER_OPERATOR, progress)
    return GeneralForms(onnx_version(), found)


def forms_of(domain: str, op: str, cases: Sequence[Case], library: Library) -> OperatorForms:
    """Find the general forms of one operator."""
    spec = library.find(domain, op)
    if spec is None:
        return OperatorForms(op, domain, "", (), len(cases), "there is no definition")
    if any(statement.space == "G" and not statement.optional for statement in spec.attributes):
        reason = "its cost is that of a graph that it is given"
        return OperatorForms(op, domain, digest(spec), (), len(cases), reason)
    every = instances(tuple(cases), library)
    attributes = frozenset(statement.name for statement in spec.attributes)
    rows = Search(preference(spec), attributes).rows(every) or Search(preference(spec)).rows(every)
    reason = "" if rows else "no combination of measures was found"
    tested = tuple(row for row in map(_row, rows or ()) if row.tests)
    if any(not row.proved for row in tested):  # many forms agree at a few points
        tested, reason = (), "a form that was found is proved in none of its cases"
    return OperatorForms(op, domain, digest(spec), tested, len(cases), reason)


def _row(row: Row) -> GeneralRow:
    eops, flops = row.forms.eops.poly, row.forms.flops.poly
    used = {symbol.name for form in (eops, flops) for symbol in form.free}
    tests = [
        HeldTest(one.test, {name: sample.values[name] for name in sorted(used)}, *sample.counts)
        for one in row.instances
        if one.test and one.own is not None
        for sample in one.rows[:1]
    ]
    proved = sum(map(row.forms.are, row.instances))
    return GeneralRow(row.when, eops, flops, tuple(tests), len(row.instances), proved)


# ---- stored data -------------------------------------------------------------------------


def as_record(found: GeneralForms) -> dict[str, object]:
    """General forms as plain data for JSON."""
    return {
        "tolcost": 1,
        "kind": "general forms",
        "onnx": found.onnx,
        "summary": {
            "operators": len(found.operators),
            "general": found.count,
            "tests": sum(one.tests for one in found.operators),
            "held": sum(len(row.tests) for one in found.operators for row in one.rows),
        },
        "operators": list(map(_operator_record, found.operators)),
    }


def _operator_record(one: OperatorForms) -> dict[str, object]:
    rows = [
        {
            "when": row.when,
            "eops": to_text(row.eops),
            "flops": to_text(row.flops),
            "instances": row.instances,
            "proved": row.proved,
            "tests": list(map(to_builtins, row.tests)),
        }
        for row in one.rows
    ]
    return {
        "op": one.op,
        "domain": one.domain,
        "digest": one.digest,
        "tests": one.tests,
        "reason": one.reason,
        "rows": rows,
    }


def from_record(record: Mapping[str, Any]) -> GeneralForms:
    """Read general forms from plain data."""
    return GeneralForms(str(record["onnx"]), tuple(map(_operator, record["operators"])))


def _operator(one: Mapping[str, Any]) -> OperatorForms:
    rows = tuple(
        GeneralRow(
            row["when"],
            parse_text(row["eops"]),
            parse_text(row["flops"]),
            tuple(HeldTest(**test) for test in row["tests"]),
            row["instances"],
            row.get("proved", 0),
        )
        for row in one["rows"]
    )
    return OperatorForms(one["op"], one["domain"], one["digest"], rows, one["tests"], one["reason"])
