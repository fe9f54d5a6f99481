"""Closed forms against counting by hand, at many lengths."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.cost.brute import brute
from tolcost.algebra import Symbol, coordinate, evaluate, ge, is_nonnegative, length, only_symbol, to_text
from tolcost.atoms.nodes import Node, Program, Put, Var
from tolcost.cost import Counts, count
from tolcost.cost.count import total_on_empty
from tolcost.diagnostics import Rejected, place
from tools.cost import programs
from tools.cost.programs import R0, X, apply, block, k, m, n, number, program
from tools.execute.builders import build, fold, mem, ref, select, tensor

N, M, K = programs.SYMBOLS
GRID = [{N: a, M: b, K: c} for a in (1, 2, 5, 8) for b in (1, 3) for c in (1, 4)]


def at(counts: Counts, values: Mapping[Symbol, int]) -> dict[tuple[str, ...], int]:
    found = {("data", *key): poly for key, poly in counts.histogram.items()}
    found |= {("index", *key): poly for key, poly in counts.index.items()}
    found |= {(name,): poly for name, poly in counts.atoms.items()}
    numbers = {key: evaluate(poly, values) for key, poly in found.items()}
    return {key: value for key, value in numbers.items() if value}


@pytest.mark.parametrize(
    "make",
    [
        programs.matmul,
        programs.triangle,
        programs.padded_conv,
        lambda: programs.padded_conv(1, 5, 2),
        lambda: programs.padded_conv(3, 3, 0),
        programs.scan,
        programs.moving_data,
    ],
)
def test_closed_form_is_what_counting_gives(make):
    made: Program = make()
    counts = count(made)
    assert counts.status == "exact"
    for values in GRID:
        if values[N] >= 3:
            assert at(counts, values) == dict(brute(made, values)), values


def test_matmul():
    counts = count(programs.matmul())
    assert to_text(counts.eops) == "2*k*m*n"
    assert {key: to_text(p) for key, p in counts.histogram.items()} == {
        ("add", "R"): "k*m*n",
        ("mul", "R"): "k*m*n",
    }
    assert counts.macs == k * m * n
    assert counts.atoms["lambda"] == counts.eops


def test_triangle():
    counts = count(programs.triangle())
    assert counts.eops == n * (n + 1)
    assert counts.macs == n * (n + 1) // 2


def test_padding_is_not_counted():
    counts = count(programs.padded_conv())
    taps = [sum(1 <= 2 * o + t - 1 <= 9 for o in range(5) for t in (1, 2, 3))]
    assert evaluate(counts.macs, {N: 9}) == taps[0]
    assert evaluate(counts.eops, {N: 9}) == 2 * taps[0]


def test_a_shared_node_counts_at_every_use():
    made = programs.shared_and_chosen()
    counts = count(made)
    assert evaluate(counts.histogram["exp", "R"], {N: 7}) == 2**31
    assert evaluate(counts.histogram["exp", "R"], {N: 3}) == 0
    assert evaluate(counts.histogram["sqrt", "R"], {N: 3}) == 1
    assert evaluate(counts.eops, {N: 3}) == 3
    assert evaluate(counts.eops, {N: 7}) == 2**31 + 2 * (2**30 - 1) + 1 + 2


def test_sides_that_cost_the_same_need_no_condition():
    i = coordinate("i", n)
    one = apply("add", mem(X, i), mem(X, i))
    other = apply("add", mem(X, n), number(1))
    counts = count(program(build([i], [n], select(ge(i - 3), one, other))))
    assert to_text(counts.histogram["add", "R"]) == "n"


def test_terms_know_their_source():
    terms = count(programs.matmul()).terms
    lines = {(t.function, place(t.span).line): to_text(t.count) for t in terms}
    assert lines == {("mul", 4): "k*m*n", ("add", 5): "k*m*n"}


def test_a_filter_makes_the_cost_depend_on_data():
    made, z = programs.filtered()
    counts = count(made)
    assert counts.status == "depends on data"
    assert to_text(counts.histogram["mul", "R"]) == "z"
    for kept in (0, 1, 4):
        values = {N: 5, z: kept}
        assert at(counts, values) == dict(brute(made, values))


def test_a_filter_in_a_loop_counts_by_the_total_of_its_lengths():
    counts = count(programs.filtered_in_a_loop())
    assert counts.status == "depends on data"
    every = only_symbol(counts.histogram["add", "R"])
    assert every is not None
    assert (every.role, every.lo, every.hi) == ("total", 0, k * n)
    assert counts.histogram["gt", "R"] == k * n
    assert {s.role for p in counts.atoms.values() for s in p.free if s.kind == "data"} == {"total", "some"}


def test_a_choice_that_a_node_makes_takes_the_larger_count():
    flag = apply("lt", number(1), number(2), space="B", charge="static")
    one = apply("add", mem(X, n), number(1))
    two = apply("add", one, number(1))
    counts = count(program(select(flag, one, two)))
    assert (counts.eops, counts.status) == (2, "upper bound")
    assert count(program(select(flag, one, one))).status == "exact"


def test_index_functions_are_no_eops():
    counts = count(programs.moving_data())
    assert counts.index == {("add", "R"): 1}
    assert counts.eops == 0
    assert counts.atoms["lambda"] == 0


def mac_fold(body: Node, acc: Var) -> Program:
    i = coordinate("i", n)
    return program(fold([i], [n], acc, number(0), body))


def test_what_counts_as_a_mac():
    acc = Var("acc", R0)
    product = apply("mul", mem(X, n), number(2))
    assert count(mac_fold(apply("add", ref(acc), product), acc)).macs == n
    assert count(mac_fold(apply("add", product, ref(acc)), acc)).macs == n
    assert count(mac_fold(apply("add", apply("add", ref(acc), product), product), acc)).macs == 2 * n
    assert count(mac_fold(apply("sub", ref(acc), product), acc)).macs == n
    assert count(mac_fold(apply("sub", ref(acc), apply("sub", number(1), product)), acc)).macs == n
    assert count(mac_fold(apply("max", ref(acc), product), acc)).macs == 0
    assert count(mac_fold(apply("add", ref(acc), apply("exp", product)), acc)).macs == 0
    assert count(mac_fold(apply("add", apply("mul", ref(acc), ref(acc)), number(1)), acc)).macs == 0
    assert count(mac_fold(apply("add", ref(acc), ref(acc)), acc)).macs == 0
    static = apply("mul", number(2), number(2), charge="static")
    assert count(mac_fold(apply("add", ref(acc), static), acc)).macs == 0


def test_a_product_bound_by_a_name_is_a_mac():
    acc, name = Var("acc", R0), Var("p", R0)
    product = apply("mul", mem(X, n), number(2))
    i = coordinate("i", n)
    body = block(apply("add", ref(acc), ref(name)), (name, product))
    assert count(program(fold([i], [n], acc, number(0), body))).macs == n


def test_members_of_an_accumulator_add_up_too():
    i, j = coordinate("i", n), coordinate("j", m)
    acc = Var("acc", tensor("R", m))
    start = build([coordinate("u", m)], [m], number(0))
    product = apply("mul", mem(X, i), number(2))
    added = apply("add", mem(ref(acc), j), product)
    everywhere = build([j], [m], added)
    assert count(program(fold([i], [n], acc, start, everywhere))).macs == n * m
    one = apply("add", mem(ref(acc), m), product)
    put = Put(ref(acc), (m,), one, acc.type)
    assert count(program(fold([i], [n], acc, start, put))).macs == n
    elsewhere = Put(ref(acc), (m,), apply("add", product, number(1)), acc.type)
    assert count(program(fold([i], [n], acc, start, elsewhere))).macs == 0


def test_deep_nesting_needs_no_stack():
    value: Node = mem(X, n)
    for _ in range(3000):
        value = apply("add", value, number(1))
    for _ in range(300):
        value = build([], [], value)
    assert count(program(value)).eops == 3000


def test_nested_loops_300_deep():
    value: Node = apply("exp", mem(X, n))
    for _ in range(300):
        value = fold([coordinate("i", 2)], [n * 0 + 2], Var("acc", R0), number(0), value)
    assert count(program(value)).eops == 2**300


def test_what_is_too_large_is_a_diagnostic():
    value: Node = apply("exp", mem(X, n))
    for _ in range(450):
        value = fold([coordinate("i", n)], [n], Var("acc", R0), number(0), value)
    with pytest.raises(Rejected) as caught:
        count(program(value))
    assert caught.value.diagnostics[0].code == "T0601"


def test_reference_interpreter_agrees():
    reference = pytest.importorskip("tolcost.execute.reference")
    numpy = pytest.importorskip("numpy")
    made = programs.matmul()
    run = reference.run_reference(made, {"a": numpy.ones((2, 3)), "b": numpy.ones((3, 4))})
    values = {N: 2, K: 3, M: 4}
    closed = count(made)
    assert {key: evaluate(p, values) for key, p in closed.histogram.items()} == run.counts.histogram
    assert {key: evaluate(p, values) for key, p in closed.atoms.items()} == run.counts.atoms


def test_a_divisor_that_facts_hide_is_left_as_it_is() -> None:
    """It is at least 1 by itself, not seen among the facts: it was put in its own place for ever."""
    a, b, c, d = (length(name, least) for name, least in zip("abcd", (0, 1, 1, 2), strict=True))
    divisor = ((2 * a + b + 2 * c) // 3) * (d * d + b)
    third = (b * c + b + n + 1) // 3
    facts = (ge(third * (2 * a * c + d * d + d - 3) - 2 * a * c - d * d - d + 3), ge(2 * a * a - c * n + 2))
    assert is_nonnegative(divisor - 1, facts)
    assert total_on_empty(n // divisor, facts) == n // divisor


def test_a_divisor_inside_of_another_one_is_made_at_least_1_too() -> None:
    a, b = length("a", 0), length("b", 0)
    assert to_text(total_on_empty(n // (a // b), ())) == "floor(n/(Max(floor(a/Max(b, 1)), 1)))"
