"""General forms: found for any rank, held to every node test, free of numbers that a test has by chance."""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tolcost.algebra import Poly, const, length, total_of
from tolcost.catalogue.cases import Case
from tolcost.catalogue.general.forms import MeasureSum, Search, shortest
from tolcost.catalogue.general.instances import GeneralInstance
from tolcost.catalogue.general.record import (
    GeneralForms,
    GeneralRow,
    HeldTest,
    as_record,
    forms_of,
    from_record,
    shown,
)
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import open_library
from tolcost.catalogue.types import Array
from tolcost.diagnostics import NOWHERE
from tolcost.elaborate.values import Value, Vec


def _instance(traits: dict[str, str], eops: Poly, **measures: Poly) -> GeneralInstance:
    return GeneralInstance(0, "", traits, measures, False, 0, (eops, eops), ())


def test_the_simplest_of_columns_that_agree_are_taken() -> None:
    chance = Random(3)
    one, two = ([chance.randint(1, 9) for _ in range(9)] for _ in range(2))
    columns = [one, two, [a + b for a, b in zip(one, two, strict=True)]]
    target = [3 * a - 2 * b for a, b in zip(one, two, strict=True)]
    found = shortest([np.array(c) for c in columns], np.array(target))
    assert found == {0: Fraction(3), 1: Fraction(-2)}
    assert shortest([np.array(c) for c in columns[:2]], np.array([*target[:-1], target[-1] + 1])) is None


def test_a_form_that_no_trait_divides_is_one_row() -> None:
    n, m = length("n"), length("m")
    plain = [
        _instance({"mode": "a"}, 2 * n * m + 7, n=n, m=m),
        _instance({"mode": "b"}, 6 * n + 7, n=n, m=const(3)),
    ]
    (row,) = Search(lambda name: (0, 0, name)).rows(plain)
    assert (shown(row.forms.eops.poly), row.when) == ("2*m*n + 7", "")


def test_what_is_done_at_many_places_is_the_sum_of_a_form_for_each() -> None:
    """A count of more than three products is found, as no place has more than one; FLOPs go by weights."""
    n, m, k, p = (length(name) for name in "nmkp")
    parts = (n * m, n * k, m * k, n * p, m * p)
    one = _instance({}, total_of(parts), n=n, m=m, k=k, p=p)
    one.places = {(NOWHERE, f"f{i}", Fraction(i % 2)): part for i, part in enumerate(parts)}
    one.counts = (one.counts[0], n * k + n * p)
    (row,) = Search(lambda name: (0, 0, name)).rows([one])
    assert row.forms.are(one)
    assert shown(row.forms.eops.poly) == shown(one.counts[0])


def test_forms_are_divided_by_what_decides_between_them() -> None:
    n = length("n")
    rows = Search(lambda name: (0, 0, name)).rows(
        [_instance({"mode": '"a"', "k": "1"}, 2 * n, n=n), _instance({"mode": '"b"', "k": "1"}, 3 * n, n=n)]
    )
    assert {(shown(row.forms.eops.poly), row.when) for row in rows} == {
        ("2*n", 'mode = "a"'),
        ("3*n", 'mode = "b"'),
    }


def test_what_is_no_combination_has_no_form() -> None:
    n, m = length("n"), length("m")
    one = _instance({}, n // 3 * (m // 2) + n, n=n, m=m)
    one.test = "a test"
    assert Search(lambda name: (0, 0, name)).rows([one]) is None


def test_a_wrong_form_is_told() -> None:
    form = MeasureSum(((Fraction(2), ("vol(Y)",)),)).poly
    row = GeneralRow("", form, form, (HeldTest("test_x", {"vol(Y)": 3}, 6, 5),), 1)
    assert row.problem(row.tests[0]) == "test_x: 5 FLOPs, but 2*vol(Y) is 6"


def _case(name: str, op: str, shapes: Sequence[Sequence[int]], *static: Array, **attributes: Value) -> Case:
    inputs = (*(np.zeros(shape, np.float32) for shape in shapes), *static)
    node = GraphNode(op, "", "", tuple(f"i{n}" for n in range(len(inputs))), ("o",), attributes)
    return Case(name, node, 21, inputs, (), 0.0, 0.0)


SOFTMAX = [_case("a", "Softmax", [(3, 4)]), _case("b", "Softmax", [(2, 3, 4)], axis=const(1))]
REDUCE = [
    _case("a", "ReduceL2", [(3, 4)], np.array([1])),
    _case("b", "ReduceL2", [(2, 3, 4)], np.array([0, 1]), keepdims=const(0)),
]
CONV = [
    _case("a", "Conv", [(1, 1, 7), (1, 1, 3)], pads=Vec((2,), (const(1), const(0)))),
    _case("b", "Conv", [(1, 1, 5, 6), (1, 1, 3, 2)], strides=Vec((2,), (const(2), const(2)))),
]
POOL = [
    _case("a", "MaxPool", [(1, 2, 7)], kernel_shape=Vec((1,), (const(3),)), pads=Vec((2,), (const(1),) * 2)),
    _case(
        "b",
        "MaxPool",
        [(1, 2, 5, 6)],
        kernel_shape=Vec((2,), (const(2),) * 2),
        pads=Vec((4,), (const(1),) * 4),
    ),
]


@pytest.mark.parametrize(
    "op, cases, form",
    [
        ("Softmax", SOFTMAX, "5*vol(output)"),
        ("ReduceL2", REDUCE, "2*vol(data) + vol(reduced)"),
        ("Conv", CONV, "2*vol(W[1])*vol(Y)"),  # though all cases have one channel, one group, no dilation
        ("MaxPool", POOL, "c*n*prod(#max)"),
    ],
)
def test_one_form_for_every_rank(op: str, cases: Sequence[Case], form: str) -> None:
    found = forms_of("", op, cases, open_library())
    plain = next(row for row in found.rows if row.tests)
    assert shown(plain.eops) == form
    assert found.is_general
    assert [test.name for test in plain.tests] == ["a", "b"]
    kept = from_record(as_record(GeneralForms("1", (found,)))).operators[0]
    assert (kept.is_general, kept.rows[0].eops) == (True, found.rows[0].eops)


@pytest.mark.parametrize("part", [0, 1])
def test_a_form_does_not_depend_on_which_case_it_is_found_from(part: int) -> None:
    (row,) = forms_of("", "Softmax", SOFTMAX[part : part + 1], open_library()).rows
    assert shown(row.eops) == "5*vol(output)"
