"""Programs and what they cost: text pairs, each small enough to check by hand (``cases/*.txt``).

A case is a program, a line ``---``, and what is expected of it, one fact a line:

    eops: 2*n              elementary functions applied to data
    status: upper bound    where it is not exact
    where: k <= n          each condition that the forms rely on
    error: T0401 ...       the code and the words, of a program that is refused

These are always there.  The facts below are asked for by writing them down:

    functions: add n, exp n    by function        index: n        functions that only say where to look
    macs: n                                       depth: n + 1    the longest chain, folds as chains
    type: R [n]            of each output          turns: n       the most, of each loop that data ends

The closed forms are then evaluated at small lengths and held to what the reference interpreter counts when it
runs the program, and to a depth that is found by walking every coordinate: a form that is not what is
executed cannot be written down.  MACs are held to a run that follows every product to where it is added.
Both come from one lowering, so what is decided there (which case holds, how many steps) needs an expectation
that was worked out by hand.
TOLCOST_ACCEPT=1 writes what comes out, to be reviewed like any change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cost.brute_macs import hold_macs
from tests.syntax import cases
from tolcost.algebra import LARGEST_LENGTH, Poly, Symbol, cond_text, const, to_text, total_of
from tolcost.atoms.kit import defined_length, program_nodes
from tolcost.atoms.nodes import Output, Program
from tolcost.cost import Counts, count, depths
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import lower, read_program
from tools.cost.brute_depth import brute_depth
from tools.programs.points import held_at
from tools.programs.road import lengths_of

CASES = cases.read(Path(__file__).parent / "cases")
POINTS = 5
LARGEST = 5


def facts(program: Program, counts: Counts, wanted: set[str]) -> str:
    """What is said of a program: the facts that always are, and those that are asked for."""
    found = [("eops", to_text(counts.eops))]
    by_function: dict[str, list[Poly]] = {}
    for (function, _), times in counts.histogram.items():
        by_function.setdefault(function, []).append(times)
    listed = {function: to_text(total_of(times)) for function, times in sorted(by_function.items())}
    optional = {
        "functions": lambda: ", ".join(f"{function} {times}" for function, times in listed.items()),
        "macs": lambda: to_text(counts.macs),
        "index": lambda: to_text(total_of(counts.index.values())),
        "depth": lambda: str(depths(program).chain),
        "type": lambda: "; ".join(map(_type, program.outputs)),
        "turns": lambda: "; ".join(
            filter(None, map(_most_turns, sorted(counts.eops.free, key=lambda s: s.key)))
        ),
    }
    found += [(name, fact()) for name, fact in optional.items() if name in wanted]
    found += [("status", counts.status)] if counts.status != "exact" else []
    found += [("where", cond_text(c.condition)) for c in program.conditions]
    return "\n".join(dict.fromkeys(f"{name}: {value}" for name, value in found))


def _most_turns(symbol: Symbol) -> str:
    if symbol.role not in ("turns", "total") or "turns" not in symbol.name:
        return ""
    return "open" if symbol.hi in (None, const(LARGEST_LENGTH)) else str(symbol.hi)


def _type(output: Output) -> str:
    return ", ".join(f"{p.space} [{', '.join(map(to_text, p.shape))}]" for p in output.node.type)


def held(program: Program, status: str) -> None:
    """Run the program at a few lengths: its closed forms are what is counted, its depth what is walked."""
    points = held_at(program, wanted=POINTS, largest=LARGEST)
    assert points, "there are no lengths at which it runs"
    if status == "depends on data" or any(map(defined_length, program_nodes(program))):
        return  # only data tells how long its chains are
    depth = depths(program).chain
    for point in points:
        values = {symbol: point[symbol.name] for symbol in lengths_of(program)}
        hold_macs(program, values)
        walked = brute_depth(program, values, trees=False)
        assert depth.at(values) == walked if depth.is_exact(values) else depth.at(values) >= walked


@pytest.mark.parametrize("case", CASES, ids=str)
def test_closed_form(case: cases.Case) -> None:
    wanted = {line.partition(":")[0] for line in case.expected.splitlines()}
    try:
        program = lower(read_program(Source("case.tol", case.program))).program
        counts = count(program)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        cases.compare(case, f"error: {first.code} {first.message}")
        return
    cases.compare(case, facts(program, counts, wanted))
    held(program, counts.status)


def test_every_case_has_a_name_of_its_own() -> None:
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)
