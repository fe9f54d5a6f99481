"""Programs some of whose lengths are no longer one: where the conditions hold, a run finds nothing wrong.

Random programs are right at all lengths.  Here dimensions of inputs get lengths of their own, so that an
index may leave its dimension, and shapes may not fit.  Whatever the compiler says then of a program that it
takes, a run at lengths that it allows must not stop, and must count what it says.  What data decides is
checked by the run alone.

``python -m tools.programs.lengths_apart 10000`` tries as many as asked.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random

from tolcost.algebra import evaluate, evaluate_cond
from tolcost.atoms.kit import index_nodes, schedules
from tolcost.atoms.nodes import Member, Program, Put
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Elaborated
from tolcost.platform import with_deep_stack
from tools.generate.loops import loop_program
from tools.generate.programs import Case, generate
from tools.programs.road import Mismatch, hold, lengths_of, lowered

POINTS = 6


def apart(case: Case) -> Case:
    """The same program, some dimensions of its inputs with lengths of their own."""
    random = Random(case.seed)
    own: dict[str, str] = {}

    def declared(line: str) -> str:
        head, bracket, lengths = line.partition(" [")
        if not line.startswith("tol ") or " = " in head or not bracket:
            return line
        return head + bracket + re.sub(r"\b[nmk]\b", lambda found: other(found[0]), lengths)

    def other(length: str) -> str:
        if random.random() < 0.5:
            return length
        own[name := f"w{len(own) + 1}"] = length
        return name

    lines = [declared(line) for line in case.text.splitlines()]
    names = sorted(case.points[0])
    held = [name for name in names if name in "nmk"]
    points = (_near(random, dict(random.choice(case.points)), own) for _ in range(POINTS))
    return Case("\n".join([f"tol held: R [{', '.join(held)}]", *lines, ""]), tuple(points), case.seed)


def _near(random: Random, point: dict[str, int], own: Mapping[str, str]) -> dict[str, int]:
    return point | {name: max(point[like] + random.choice((-1, 0, 0, 0, 1)), 1) for name, like in own.items()}


def keeps_its_word(case: Case) -> int:
    """Hold a program to its word at the points it allows; tells at how many of them."""
    done = lowered(case.text)
    allowed = [point for point in case.points if _allows(done, point)]
    for point in allowed:
        try:
            hold(done.program, (point,), case.seed)
        except Rejected as stopped:
            if not done.program.unproved and not _looks_up(done.program):
                said = stopped.diagnostics[0].message
                raise Mismatch(f"a run stops where conditions hold: {said} at {point}") from stopped
    return len(allowed)


def _looks_up(program: Program) -> bool:
    """Whether data decides an index."""
    nodes = (node for plan in schedules(program) for node in plan.nodes)
    return any(isinstance(node, (Member, Put)) and bool(index_nodes(node.at)) for node in nodes)


def _allows(done: Elaborated, point: Mapping[str, int]) -> bool:
    """Whether the lengths fulfil all that the result relies on."""
    symbols = {symbol: point[symbol.name] for symbol in lengths_of(done.program) if symbol.name in point}
    symbols |= dict(_others(done, point))
    same = (evaluate(form, symbols) == symbols[s] for s, form in done.equal.items() if s in symbols)
    needed = (evaluate_cond(noted.condition, symbols) for noted in done.program.conditions)
    return all(same) and all(needed)


def _others(done: Elaborated, point: Mapping[str, int]) -> Iterator[tuple[object, int]]:
    """Lengths that others took the place of."""
    for symbol, form in done.equal.items():
        for one in (symbol, *form.free):
            if one.name in point:
                yield one, point[one.name]


def tried(write: Callable[[int], Case], seeds: range) -> tuple[Counter[str], list[str]]:
    """What became of the programs of some seeds, and which broke their word."""
    tally: Counter[str] = Counter()
    broken: list[str] = []

    def run() -> None:
        for seed in seeds:
            try:
                tally["points"] += keeps_its_word(apart(write(seed)))
                tally["kept"] += 1
            except Rejected:
                tally["refused"] += 1
            except Mismatch as found:
                broken.append(f"seed {seed}: {found}")

    with_deep_stack(run)
    return tally, broken


if __name__ == "__main__":
    many, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong = 0
    for writer in (generate, loop_program):
        outcomes, found = tried(writer, range(start, start + many // 2))
        print(writer.__name__, dict(outcomes), *found, sep="\n  ", flush=True)
        wrong += len(found)
    sys.exit(1 if wrong else 0)
