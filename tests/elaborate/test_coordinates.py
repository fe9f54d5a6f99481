"""Coordinates are numbered by how many are bound around them: what is alike shares them, no two meet."""

from __future__ import annotations

from threading import Barrier, Thread

from tolcost.algebra import Symbol
from tolcost.atoms.kit import inner_nodes, roots
from tolcost.atoms.nodes import Build, Fold, Program
from tolcost.atoms.verify import verify
from tolcost.diagnostics import Source
from tolcost.pipeline import lower, read_program

NESTED = "tol x: R [n, m]\ny := map(x, map(x, * * x[i, j], [i, j]), [i, j])\n"
BESIDE = "tol x: R [n]\ny = map(x, * + x[i], [i])\nz := map(x, * * y[i], [i])\n"
LATE = "tol x: R [n]\nz := map(x, { y = map(x, * + x[i], [i])\n y[i] * x[i] }, [i])\n"


def test_a_program_has_the_same_coordinates_every_time() -> None:
    assert _coordinates(_lowered(NESTED)) == _coordinates(_lowered(NESTED))


def test_loops_inside_of_each_other_have_coordinates_of_their_own() -> None:
    for text, size in ((NESTED, 4), (LATE, 2)):
        found = _coordinates(_lowered(text))
        assert len(found) == len(set(found)) == size


def test_loops_beside_each_other_share_theirs() -> None:
    """One of them is elaborated when the other first needs it, in the middle of its body."""
    first, second = _coordinates(_lowered(BESIDE))
    assert first is second


def test_elaborations_at_the_same_time_have_the_same_coordinates() -> None:
    found: list[Program] = []
    together = Barrier(4)

    def work() -> None:
        together.wait()
        found.extend(_lowered(NESTED) for _ in range(20))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len({tuple(_coordinates(program)) for program in found}) == 1
    for program in found:
        verify(program)


def _lowered(text: str) -> Program:
    return lower(read_program(Source("loops.tol", text))).program


def _coordinates(program: Program) -> list[Symbol]:
    nodes = (node for node in inner_nodes(roots(program)) if isinstance(node, (Build, Fold)))
    return [symbol for node in nodes for symbol in node.coords]
