"""Terms of the lambda calculus in normal order: against a published interpreter, and every small term."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels.holding import Held
from tolcost.algebra import evaluate
from tolcost.catalogue.listing import read_library
from tolcost.execute import run_vectorised
from tools.programs.road import same_counts

RECORD = Path(__file__).parents[2] / "reports" / "data" / "lambda.json"
HELD = Held("lambda/normal_order", {})
Tokens = list[int]


@cache
def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["cases"]
    return found


def after(terms: list[Tokens], steps: int, room: int) -> list[tuple[Tokens, int, bool]]:
    """Run the program on several terms: what is left, reductions, and whether the room was too small."""
    given = np.array([term + [0] * (room - len(term)) for term in terms])
    run = run_vectorised(HELD.batched, {"term_all": given}, {"h": room, "steps": steps, "batch": len(terms)})
    left, count, full = run.outputs["all"]
    tokens = [[int(e) for e in row if e] for row in left]
    return list(zip(tokens, map(int, count), map(bool, full), strict=True))


def room_for(reducts: list[Tokens]) -> int:
    """One of few rooms, so that many terms run at once."""
    return -(-max(map(len, reducts)) // 15) * 15


# ---- a published interpreter ----------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_terms_after_some_steps_are_those_of_the_interpreter(steps: int) -> None:
    """The step of the program is that of the interpreter, not only the normal form."""
    by_room = defaultdict(list)
    for case in cases():
        if steps < len(case["reducts"]):
            by_room[room_for(case["reducts"][: steps + 1])].append(case["reducts"])
    done = 0
    for room, found in by_room.items():
        expected = [(reducts[steps], steps, False) for reducts in found]
        assert after([reducts[0] for reducts in found], steps, room) == expected
        done += len(found)
    assert done >= (20 if steps > 3 else 100)


def test_normal_forms_are_those_of_the_interpreter_and_stay() -> None:
    """Further steps leave the normal form and the number of reductions as they are."""
    groups = defaultdict(list)
    for case in cases():
        if case["end"] == "normal form":
            small = len(case["reducts"]) <= 6 and room_for(case["reducts"]) <= 30
            groups[(6, 30) if small else (17, 60)].append(case["reducts"])
    for (steps, room), found in groups.items():
        expected = [(reducts[-1], len(reducts) - 1, False) for reducts in found]
        assert after([reducts[0] for reducts in found], steps, room) == expected
    assert sum(map(len, groups.values())) >= (read_library("lambda").find("normal_order").inputs or 0) >= 100


def test_a_term_without_a_normal_form_goes_on_and_one_that_grows_stops_where_the_room_ends() -> None:
    named = {case["name"]: case["reducts"] for case in cases()}
    endless, grows = named["a term without a normal form"], named["a term that grows"]
    assert after([endless[0]], 12, 9) == [(endless[0], 12, False)]
    room = len(grows[3]) + 1
    assert after([grows[0]], 12, room) == [(grows[3], 3, True)]


def test_the_interpreter_contradicts_itself_in_one_term() -> None:
    """It renames a bound variable to the name that it replaces; recorded is what it does with other names."""
    (wrong,) = (case["name"] for case in cases() if case.get("contradicts"))
    assert wrong == "a bound variable that is renamed to the name being replaced"


# ---- every small term, against substitution on trees -----------------------------------------


@cache
def terms(size: int) -> list[Any]:
    """Every term with so many applications and abstractions, over the variables 0 and 1."""
    if size == 0:
        return [0, 1]
    pairs = [(f, a) for left in range(size) for f in terms(left) for a in terms(size - 1 - left)]
    return [*pairs, *(("lambda", body, None) for body in terms(size - 1))]


def shifted(term: Any, by: int, depth: int = 0) -> Any:
    if isinstance(term, int):
        return term + by if term >= depth else term
    if len(term) == 3:
        return ("lambda", shifted(term[1], by, depth + 1), None)
    return shifted(term[0], by, depth), shifted(term[1], by, depth)


def put_in(term: Any, argument: Any, depth: int = 0) -> Any:
    if isinstance(term, int):
        return shifted(argument, depth) if term == depth else term - (term > depth)
    if len(term) == 3:
        return ("lambda", put_in(term[1], argument, depth + 1), None)
    return put_in(term[0], argument, depth), put_in(term[1], argument, depth)


def reduced(term: Any) -> Any:
    """Take one step in normal order; None for a normal form."""
    if isinstance(term, int):
        return None
    if len(term) == 3:
        body = reduced(term[1])
        return None if body is None else ("lambda", body, None)
    function, argument = term
    if isinstance(function, tuple) and len(function) == 3:
        return put_in(function[1], argument)
    left = reduced(function)
    if left is not None:
        return left, argument
    right = reduced(argument)
    return None if right is None else (function, right)


def written(term: Any) -> Tokens:
    if isinstance(term, int):
        return [3 + term]
    if len(term) == 3:
        return [2, *written(term[1])]
    return [1, *written(term[0]), *written(term[1])]


@pytest.mark.parametrize("size", range(5))
def test_every_small_term_takes_the_step_that_substitution_gives(size: int) -> None:
    found = terms(size)
    expected = []
    for term in found:
        left = reduced(term)
        expected.append((written(term if left is None else left), int(left is not None), False))
    room = max(max(len(tokens) for tokens, _, _ in expected), max(len(written(term)) for term in found))
    assert after([written(term) for term in found], 1, room) == expected


def test_a_step_costs_the_same_whatever_the_term_is() -> None:
    counts = HELD.counts
    assert counts.status == "exact"
    assert {symbol.name for symbol in counts.eops.free} == {"h", "steps"}
    for room, steps in ((1, 2), (2, 3), (9, 4)):
        dims = {"h": room, "steps": steps}
        run = run_vectorised(HELD.program, {"term": np.array(([1, 2, 3, 4] + [0] * room)[:room])}, dims)
        same_counts(counts, run, dims)
        assert evaluate(counts.eops, {s: dims[s.name] for s in counts.eops.free}) == run.counts.eops
