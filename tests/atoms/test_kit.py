"""The kit for passes: what it takes apart it puts together, and it knows every kind of node."""

from __future__ import annotations

from random import Random

import pytest

from tests.execute import programs as p
from tests.execute.random_ir import Gen
from tolcost.atoms import kit, text, unroll, verify
from tolcost.atoms.kit import children, inner_nodes, map_static, own_symbols, roots, schedules, with_operands
from tolcost.atoms.nodes import KINDS, Node, Program
from tolcost.atoms.text import program_text
from tolcost.execute import reference, vectorised

TABLES = {
    "children": kit._CHILDREN,
    "operand fields": kit._OPERAND_FIELDS,
    "verify": verify._RULES,
    "text": text._FORMS,
    "unroll": unroll._RULES,
    "reference": reference._RULES,
    "vectorised": vectorised.RULES,
}
MADE = (
    p.matmul,
    p.triangle_built,
    p.conv,
    p.argmax,
    p.keep_positive,
    p.scatter,
    p.gather_guarded,
    p.flattened,
)


def some_programs() -> list[Program]:
    """Programs with every kind of node among them."""
    return [*(make() for make in MADE), *(Gen(Random(seed)).program() for seed in range(60))]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_for_all_kinds_has_them_all(name: str) -> None:
    """A rule that is missing is found here, not by a user."""
    assert TABLES[name].keys() == set(KINDS)


def test_rebuilding_over_the_same_operands_changes_nothing() -> None:
    """Every field of every kind of node comes back."""
    met: set[type] = set()
    for program in some_programs():
        for node in inner_nodes(roots(program)):
            met.add(type(node))
            assert fields(with_operands(node, children(node))) == fields(node)
            assert fields(map_static(node, lambda poly: poly, lambda cond: cond)) == fields(node)
    assert met == set(KINDS)


def test_rebuilding_puts_operands_where_children_finds_them() -> None:
    """What is handed in is what the new node is made of, in order."""
    for program in some_programs():
        for node in inner_nodes(roots(program)):
            copies = tuple(with_operands(child, children(child)) for child in children(node))
            assert children(with_operands(node, copies)) == copies


def test_every_node_is_scheduled_once_after_its_operands() -> None:
    """Schedules hold the nodes of a program, and of each block inside it, in an order of evaluation."""
    for program in some_programs():
        found = schedules(program)
        for plan in found:
            for k, step in enumerate(plan.steps):
                assert [plan.steps[j].node for j in step.operands] == list(children(step.node))
                assert all(j < k for j in step.operands)
        assert {node for plan in found for node in plan.nodes} == set(inner_nodes(roots(program)))


def test_own_symbols_are_in_the_text() -> None:
    """Nothing is mentioned that cannot be read."""
    program = p.triangle_built()
    names = {symbol.name for node in inner_nodes(roots(program)) for symbol in own_symbols(node)}
    assert all(name in program_text(program) for name in names)


def fields(node: Node) -> list[object]:
    """The content of a node, which is itself compared by identity."""
    return [type(node), *(getattr(node, name) for name in node.__struct_fields__)]


def test_all_that_follows_comes_once_in_either_order() -> None:
    """Also where parts are shared, and where they lead back."""
    parts = {1: (2, 3), 2: (4,), 3: (4, 5), 4: (), 5: (3,)}
    before = list(kit.reached([1], parts.__getitem__))
    after = list(kit.parts_first([1], parts.__getitem__))
    assert before[0] == after[-1] == 1
    assert sorted(before) == sorted(after) == [1, 2, 3, 4, 5]
    assert after == [4, 2, 5, 3, 1]
    deep = 10**5
    assert next(kit.parts_first([0], lambda n: [n + 1] if n < deep else [])) == deep
