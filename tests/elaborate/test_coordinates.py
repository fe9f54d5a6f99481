"""Coordinates are numbered in each elaboration: programs that are alike share them, none has one twice."""

from __future__ import annotations

from threading import Barrier, Thread

from tolcost.algebra import Symbol
from tolcost.atoms.kit import inner_nodes, roots
from tolcost.atoms.nodes import Build, Fold, Program
from tolcost.atoms.verify import verify
from tolcost.diagnostics import Source
from tolcost.elaborate.context import coordinate, numbering
from tolcost.pipeline import lower, read_program

NESTED = "tol x: R [n, m]\ny := map(x, map(x, * * x[i, j], [k, l]), [i, j])\nz := reduce(x, add, 0)\n"


def test_a_program_has_the_same_coordinates_every_time() -> None:
    first, second = _coordinates(_lowered()), _coordinates(_lowered())
    assert len(first) == len(set(first)) >= 6
    assert first == second


def test_elaborations_at_the_same_time_do_not_share_their_numbers() -> None:
    found: list[Program] = []
    together = Barrier(4)

    def work() -> None:
        together.wait()
        found.extend(_lowered() for _ in range(20))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len({tuple(_coordinates(program)) for program in found}) == 1
    for program in found:
        verify(program)


def test_an_elaboration_inside_of_another_has_other_coordinates() -> None:
    with numbering():
        outer = coordinate("i", 5)
        with numbering():
            inner = coordinate("i", 5)
        after = coordinate("i", 5)
    assert len({outer, inner, after}) == 3
    assert coordinate("i", 5) not in (outer, inner, after)


def _lowered() -> Program:
    return lower(read_program(Source("nested.tol", NESTED))).program


def _coordinates(program: Program) -> list[Symbol]:
    nodes = (node for node in inner_nodes(roots(program)) if isinstance(node, (Build, Fold)))
    return [symbol for node in nodes for symbol in node.coords]
