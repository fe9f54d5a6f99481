"""A Turing machine and a combinator machine against interpreters in Python; machines with known scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.holding import Held, Inputs, hold
from tolcost.catalogue.listing import read_library
from tolcost.execute import run_vectorised

Rng = np.random.Generator

# ---- Turing machines ---------------------------------------------------------------------

# the champions, as (write, move, next) for a blank and for a one; H halts: states, steps, ones, table
BEAVERS = (
    (2, 6, 4, "1RB 1LB  1LA 1RH"),
    (3, 14, 6, "1RB 1RH  0RC 1RB  1LC 1LA"),
    (3, 21, 5, "1RB 1RH  1LB 0RC  1LC 1LA"),
    (4, 107, 13, "1RB 1LB  1LA 0LC  1RH 1LD  1RD 0RA"),
)


def table_of(text: str) -> tuple[Any, ...]:
    """A table in the usual notation as three arrays, with a last state that stays as it is."""
    rows = text.split()
    states = len(rows) // 2
    number = {**{chr(65 + k): k + 1 for k in range(states)}, "H": states + 1}
    entries = [(int(e[0]) + 1, {"R": 1, "L": -1}[e[1]], number[e[2]]) for e in rows]
    entries += [(1, 0, states + 1), (2, 0, states + 1)]
    return tuple(np.array(part).reshape(states + 1, 2) for part in zip(*entries, strict=True))


@pytest.mark.parametrize("states, steps, ones, text", BEAVERS)
def test_busy_beavers_reach_their_scores(states: int, steps: int, ones: int, text: str) -> None:
    held = Held("turing/busy_beaver", {})
    run = run_vectorised(
        held.program, {"table": table_of(text)}, {"m": 40, "steps": steps + 5, "q": states + 1}
    )
    assert (run.outputs["ones"], run.outputs["used"]) == (ones, steps)


def machines(given: Inputs, rng: Rng) -> Inputs:
    """Any table, but for its last state, which stays."""
    q, s = given["table"][0].shape
    table = [rng.integers(1, s + 1, (q, s)), rng.integers(-1, 2, (q, s)), rng.integers(1, q + 1, (q, s))]
    table[0][-1], table[1][-1], table[2][-1] = np.arange(1, s + 1), 0, q
    return {"table": tuple(table), "tape": rng.integers(1, s + 1, given["tape"].shape)}


def turing(table, tape, steps, start):
    write, move, after = table
    head, state, used = start, 1, 0
    for _ in range(steps):
        symbol = tape[head - 1]
        tape[head - 1] = write[state - 1, symbol - 1]
        used += state != len(write)
        head = min(max(head + move[state - 1, symbol - 1], 1), len(tape))
        state = after[state - 1, symbol - 1]
    return tape, head, state, used


def test_any_machine_does_as_its_table_says() -> None:
    no_steps = {"m": 3, "q": 2, "s": 2, "steps": 0}
    hold("turing/machine", turing, machines, attrs={"start": 1}, longest=9, none=no_steps)


def busy(table, m, steps):
    tape, _, _, used = turing(table, np.ones(m, int), steps, m // 2 + 1)
    return (tape == 2).sum(), used


def test_any_machine_on_an_empty_tape() -> None:
    def only(given: Inputs, rng: Rng) -> Inputs:
        return {"table": machines({**given, "tape": np.ones(1)}, rng)["table"]}

    hold("turing/busy_beaver", busy, only, longest=8, none={"m": 3, "q": 2, "steps": 0})


# ---- combinators -------------------------------------------------------------------------

S, K, I = -1, -2, -3  # noqa: E741
CELLS, USED = 60, 24


def drawn(rng: Rng, size: int) -> Any:
    """A random term with so many applications."""
    if size == 0:
        return int(rng.choice([S, S, S, K, K, I, -4]))
    left = int(rng.integers(0, size))
    return drawn(rng, left), drawn(rng, size - 1 - left)


def laid_out(term: Any, f: list[int], a: list[int]) -> int:
    """Put a term into the heap; its place, or the combinator it is."""
    if not isinstance(term, tuple):
        return int(term)
    parts = [laid_out(part, f, a) for part in term]
    f.append(parts[0])
    a.append(parts[1])
    return len(f)


def read_back(value: int, f: Any, a: Any) -> Any:
    return int(value) if value <= 0 else (read_back(f[value - 1], f, a), read_back(a[value - 1], f, a))


def reduced(term: Any, steps: int) -> tuple[Any, int]:
    """Steps of the same machine on trees: the head and its arguments, and how many reductions there were."""
    stack: list[Any] = []
    count = 0
    for _ in range(steps):
        if isinstance(term, tuple):
            stack.append(term[1])
            term = term[0]
        elif term == I and stack:
            term, count = stack.pop(), count + 1
        elif term == K and len(stack) >= 2:
            term, count = stack.pop(), count + 1
            stack.pop()
        elif term == S and len(stack) >= 3:
            x, y, z = stack.pop(), stack.pop(), stack.pop()
            stack += [(y, z), z]
            term, count = x, count + 1
    for argument in reversed(stack):
        term = (term, argument)
    return term, count


def heap_of(term: Any) -> Inputs:
    f: list[int] = []
    a: list[int] = []
    root = laid_out(term, f, a)
    blank = [0] * (CELLS - len(f))
    return {"f": np.array(f + blank), "a": np.array(a + blank), "root": np.array(root)}


def after(terms: list[Any], steps: int) -> list[tuple[Any, int]]:
    """What is left of some terms after so many steps, and how many reductions there were."""
    heaps = [heap_of(term) for term in terms]
    given = {f"{key}_all": np.array([heap[key] for heap in heaps]) for key in heaps[0]}
    dims = {"h": CELLS, "steps": steps, "used": USED, "batch": len(terms)}
    run = run_vectorised(Held("lambda/ski", {}).batched, given, dims)
    return [told(*parts) for parts in zip(*run.outputs["all"], strict=True)]


def told(head: int, depth: int, stack: Any, f: Any, a: Any, count: int) -> tuple[Any, int]:
    found = read_back(int(head), f, a)
    for argument in reversed(stack[: int(depth)]):
        found = (found, read_back(int(argument), f, a))
    return found, int(count)


def test_combinators_reduce_as_trees_do() -> None:
    rng = np.random.default_rng(3)
    inputs = done = 0
    for steps in (0, 1, 7, 14, 25):
        sizes = (0, 1, *(int(rng.integers(2, USED + 1)) for _ in range(28)))
        terms = [drawn(rng, size) for size in sizes]
        expected = [reduced(term, steps) for term in terms]
        assert after(terms, steps) == expected
        inputs += len(terms)
        done += sum(count for _, count in expected)
    assert inputs >= (read_library("lambda").find("ski").inputs or 0) >= 100
    assert done > 100


def test_numbers_as_functions() -> None:
    """Church's numerals with combinators: adding one to two makes three."""
    compose = ((S, (K, S)), K)
    one = I
    succ = (S, compose)
    two, three = (succ, one), (succ, (succ, one))
    f, x = -4, -5
    ((found, _),) = after([(((succ, two), f), x)], 60)
    assert normal(found) == normal(((three, f), x)) == (f, (f, (f, x)))


def normal(term: Any) -> Any:
    """The normal form of a term that has one."""
    term, _ = reduced(term, 500)
    return tuple(map(normal, term)) if isinstance(term, tuple) else term


def test_a_step_costs_the_same_whatever_it_does() -> None:
    for name in ("turing/machine", "lambda/ski"):
        counts = Held(name, {}).counts
        assert counts.status == "exact"
        assert {symbol.name for symbol in counts.eops.free} == {"steps"}
