"""Programs, and what is said of them besides their counts: text pairs (``cases/*.txt``).

    reads          what is read of each input, the bytes, what is read whatever data says, and whether numbers
                   for lengths might tell more
    depths         the longest chain, with folds as chains and as trees
    derivations    how the count is derived, step by step
    files          of devices and of weights: what they say, or what is wrong with them

Reads are held to what matters: an element that is changed, and with it a result, was read.  Depths are held
to walking every coordinate, and derivations to the count.  TOLCOST_ACCEPT=1 writes what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from tests.syntax import cases
from tolcost.algebra import ZERO, Ge, Poly, cond_text, evaluate, to_text
from tolcost.atoms.nodes import Program
from tolcost.cost import count, depths, traffic
from tolcost.cost.derive import derive
from tolcost.cost.device import Habit, parse_device
from tolcost.cost.span import Depth
from tolcost.cost.traffic import elements_read
from tolcost.cost.unsummed import unsummed, walked
from tolcost.cost.weights import parse_weights
from tolcost.diagnostics import Rejected, Source, place, render_all
from tolcost.execute import run_reference
from tolcost.pipeline import lower, read_program
from tools.cost.brute_depth import brute_depth
from tools.programs.points import candidates
from tools.programs.road import inputs_for, lengths_of

CASES = cases.read(Path(__file__).with_name("cases"))
LARGEST, POINTS = 5, 3


def program_of(case: cases.Case) -> Program:
    return lower(read_program(Source("case.tol", case.program))).program


def points(program: Program) -> list[dict[str, int]]:
    found = [point for _, point in zip(range(20), candidates(program, LARGEST), strict=False) if point]
    return found[:POINTS] if lengths_of(program) else [{}]


def reads(program: Program) -> str:
    moved = traffic(program)
    lines = [
        f"{name}: {', '.join(f'{to_text(form)} of {space}' for space, form in parts)}"
        for name, parts in elements_read(program).items()
    ]
    lines += [f"bytes: {_by_space(moved.read)} in, {_by_space(moved.written)} out"]
    lines += [f"certain: {_by_space(moved.certain)}"] if moved.certain != moved.read else []
    lines += [f"without a size: {', '.join(moved.unsized)}"] if moved.unsized else []
    lines += ["numbers might tell more"] if moved.open else []
    lines += [f"at most, unless {' and '.join(cond_text(Ge(p)) for p in moved.full)}"] if moved.full else []
    return "\n".join(lines)


def _by_space(forms: Mapping[str, Poly]) -> str:
    return ", ".join(f"{space} {to_text(form)}" for space, form in forms.items()) or "nothing"


def depths_(program: Program) -> str:
    found = depths(program)
    return f"chain: {_depth(found.chain)}\ntree: {_depth(found.tree)}"


def _depth(depth: Depth) -> str:
    full = f", at most, unless {' and '.join(cond_text(Ge(p)) for p in depth.full)}" if depth.full else ""
    return f"{depth}{full}" if depth.exact else f"at most {depth}"


def derivations(program: Program) -> str:
    lines = []
    for chain in derive(program).chains:
        lines += [chain.steps[0].text_before] if chain.steps else [f"EOPs({chain.name})"]
        for step in chain.steps:
            cost = "" if step.poly is None else f", worth {to_text(step.poly)}"
            lines.append(f"  = {step.text_after}    line {place(step.span).line}: {step.reason}{cost}")
        lines += [] if chain.complete else ["  not complete"]
    return "\n".join(lines)


ANSWERS = {"reads": reads, "depths": depths_, "derivations": derivations}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said(case: cases.Case) -> None:
    is_file = case.file.stem == "files"
    cases.compare(case, file(case) if is_file else ANSWERS[case.file.stem](program_of(case)))


def file(case: cases.Case) -> str:
    """A file of a device or of weights, in the fields it is read into."""
    read = parse_device if case.name.startswith("device") else parse_weights
    try:
        return _fields(read(case.program, "file.toml"))
    except Rejected as rejected:
        return render_all(rejected.diagnostics).rstrip("\n")


def _fields(value: Any, indent: str = "") -> str:
    lines = []
    for name in value.__struct_fields__:
        inside = getattr(value, name)
        for one in (
            inside if isinstance(inside, tuple) and inside and isinstance(inside[0], Struct) else (inside,)
        ):
            shown = f"\n{_fields(one, indent + '  ')}" if isinstance(one, Struct) else f" {_plain(one)}"
            lines.append(f"{indent}{name}:{shown}")
    return "\n".join(lines)


def _plain(value: object) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{_plain(key)} {_plain(inside)}" for key, inside in value.items())
        case tuple():
            return ", ".join(map(_plain, value))
        case Habit():
            return f"({_plain((value.pattern, value.kernels, value.passes))})"
        case _:
            return str(value)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.file.stem == "reads" and not re.search(": (S|int4) ", case.program)],
    ids=str,
)
def test_what_matters_is_read(case: cases.Case) -> None:
    program = program_of(case)
    moved = traffic(program)
    chosen = moved.least is not None or "filter" in case.program or "put" in case.program
    for point in points(program):
        given = inputs_for(program, point, seed=1)
        given |= {"at": np.ones_like(given["at"])} if "at" in given else {}  # in the range of any length
        symbols = {symbol: point[symbol.name] for symbol in lengths_of(program)}
        plain = run_reference(program, given, point)  # type: ignore[arg-type]
        bindings = {**symbols, **plain.bindings}
        told = elements_read(program)
        reached = all(evaluate(p, symbols) >= 0 for p in moved.full)
        for name, values in given.items():
            if isinstance(values, np.ndarray) and values.dtype == float:
                counted = sum(evaluate(form, bindings) for _, form in told.get(name, ()))
                matter = sum(_matters(program, given, point, name, at) for at in np.ndindex(values.shape))
                assert matter <= counted <= values.size
                if counted < values.size and not chosen and reached:
                    assert matter == counted


def _matters(
    program: Program, given: dict[str, object], point: dict[str, int], name: str, at: object
) -> bool:
    changed = np.array(given[name])
    changed[at] += 1000.25  # type: ignore[index]
    runs = [
        run_reference(program, values, point).outputs  # type: ignore[arg-type]
        for values in (given, {**given, name: changed})
    ]
    return not all(
        np.array_equal(*pair, equal_nan=True) for pair in zip(*(r.values() for r in runs), strict=True)
    )


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.file.stem == "depths" and "filter" not in case.program], ids=str
)
def test_depths_are_what_is_walked(case: cases.Case) -> None:
    program = program_of(case)
    found = depths(program)
    for point in points(program):
        values = {symbol: point[symbol.name] for symbol in lengths_of(program)}
        for depth, trees in ((found.chain, False), (found.tree, True)):
            if all(form.free <= values.keys() for form in depth.candidates):
                walked = brute_depth(program, values, trees)
                assert depth.at(values) == walked if depth.is_exact(values) else depth.at(values) >= walked


@pytest.mark.parametrize("case", [case for case in CASES if case.file.stem == "derivations"], ids=str)
def test_derivations_end_at_the_count(case: cases.Case) -> None:
    program = program_of(case)
    assert derive(program).total == count(program).eops


PROGRAMS = [case for case in CASES if case.file.stem != "files" and "filter" not in case.program]


@pytest.mark.parametrize("case", PROGRAMS[::2], ids=str)
def test_counts_before_they_are_summed_are_the_counts(case: cases.Case) -> None:
    program = program_of(case)
    closed, summands = count(program).histogram, unsummed(program)
    assert closed.keys() <= summands.keys()
    for point in points(program):
        values = {symbol: point[symbol.name] for symbol in lengths_of(program)}
        for key, parts in summands.items():
            assert walked(parts, values) == evaluate(closed.get(key, ZERO), values)
