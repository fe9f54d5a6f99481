"""Random programs with recursion, ragged ranges and loops until, in each other or side by side.

    python -m tools.programs.together 2000 --start 0 --jobs 2

Each is drawn as a text and as functions of plain Python that count what they do: values, work, and index
operations.  The text is lowered once for all lengths, or at each length where it does not go by levels.
What both interpreters execute, and the closed forms at what the run decides, have to be what Python counts.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from multiprocessing import Pool
from random import Random

import numpy as np

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Program
from tolcost.cost import Counts, count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.pipeline import Parsed, lower, read_program
from tolcost.platform import with_deep_stack
from tools.programs.drawn_together import Drawn, Ran, draw
from tools.programs.road import at

CHUNK = 100


def judge(seed: int) -> str:
    """Say whether all readings of a drawn program agree, or what differs."""
    drawn = draw(seed)
    parsed = read_program(Source(f"seed {seed}", drawn.text))
    lengths = [drawn.by**level if drawn.by > 1 else level + 1 for level in range(3 if drawn.by < 3 else 2)]
    if not drawn.known:
        try:
            program = lower(parsed).program
        except Rejected as rejected:
            if [d.code for d in rejected.diagnostics] != ["T0425"]:
                return f"refused: {rejected.diagnostics[0].code} {rejected.diagnostics[0].message}"
        else:
            counts = count(program)
            verdicts = [_differs(seed, drawn, program, counts, n) for n in lengths]
            return next(filter(None, verdicts), _told("by levels", counts))
    return _written_out(seed, drawn, parsed, lengths[1 + seed % (len(lengths) - 1) :][:1])


def _told(how: str, counts: Counts) -> str:
    return f"agree, {how}, at most" if counts.status == "upper bound" else f"agree, {how}"


def _written_out(seed: int, drawn: Drawn, parsed: Parsed, lengths: Iterable[int]) -> str:
    told = ""
    for n in lengths:
        try:
            program = lower(parsed, {**arguments(parsed.program, {"x": [n]})}).program
        except Rejected as rejected:
            return f"refused at {n}: {rejected.diagnostics[0].code} {rejected.diagnostics[0].message}"
        counts = count(program)
        found = _differs(seed, drawn, program, counts, n)
        if found:
            return found
        told = _told("written out", counts)
    return told


def _differs(seed: int, drawn: Drawn, program: Program, counts: Counts, n: int) -> str | None:
    """Say what differs at a length; None if nothing does."""
    rng = Random(seed * 100 + n)
    rows = sorted(rng.randint(0, 8) for _ in range(9))
    inputs = {"x": [rng.randint(-5, 9) for _ in range(n)], "ptr": rows,
              "val": [rng.randint(-4, 9) for _ in range(40)]}  # fmt: skip
    ran = Ran()
    expected = drawn.run(inputs, ran)
    given = {one.name: np.array(inputs[one.name]) for one in program.inputs}
    dims = {"p" if drawn.by > 1 else "n": _level(n, drawn.by)}
    dims = {name: size for name, size in dims.items() if any(name == s.name for s in program.symbols)}
    for run in (run_reference, run_vectorised):
        done = run(program, given, dims)
        if not np.array_equal(done.outputs["y"], expected):
            return f"differs: values at {n}: {done.outputs['y']} and not {expected}"
        if executed(done) != (ran.work, ran.index):
            return f"differs: executed at {n}: {executed(done)} and not {(ran.work, ran.index)}"
    for what, forms, counted in (("work", counts.histogram, ran.work), ("index", counts.index, ran.index)):
        said = _said(forms, done)
        above = counts.status == "upper bound" and all(said[name] >= counted[name] for name in counted)
        if said != counted and not above:
            return f"differs: closed form of {what} at {n}: {said} and not {counted}"
    return None


def _level(n: int, by: int) -> int:
    return n if by == 1 else next(p for p in range(n + 1) if by**p == n)


def executed(done: Execution) -> tuple[Counter[str], Counter[str]]:
    """What a run applied, by the name of the function: work, and index operations."""
    counts = done.counts
    return tuple(_by_name(found) for found in (counts.histogram, counts.index))  # type: ignore[return-value]


def _said(forms: Mapping[tuple[str, str], Poly], done: Execution) -> Counter[str]:
    return _by_name({key: at(form, done) for key, form in forms.items()})


def _by_name(found: Mapping[tuple[str, str], int]) -> Counter[str]:
    named = Counter[str]()
    for (name, _), many in found.items():
        if many:
            named[name] += many
    return named


def verdicts(seeds: Iterable[int]) -> list[tuple[int, str]]:
    """The verdicts on some seeds."""
    return [(seed, with_deep_stack(partial(_safely, seed))) for seed in seeds]


def _safely(seed: int) -> str:
    try:
        return judge(seed)
    except Exception as error:  # whatever it is, it is what we look for
        return f"differs: {type(error).__name__}: {error}"


def all_verdicts(start: int, many: int, jobs: int) -> Iterator[tuple[int, str]]:
    """The verdicts on many seeds, in their order."""
    end = start + many
    chunks = [range(first, min(first + CHUNK, end)) for first in range(start, end, CHUNK)]
    if jobs < 2:
        for chunk in chunks:
            yield from verdicts(chunk)
        return
    with Pool(jobs) as pool:
        for found in pool.imap(verdicts, chunks):
            yield from found


def main(asked: list[str]) -> int:
    """Judge as many as asked; the exit code tells whether all agree."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs.together", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=1000, help="how many programs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    options = parser.parse_args(asked)
    tally: Counter[str] = Counter()
    for seed, verdict in all_verdicts(options.start, options.many, options.jobs):
        tally[verdict if verdict.startswith("agree") else verdict.partition(":")[0]] += 1
        if not verdict.startswith("agree"):
            print(f"seed {seed}: {verdict}\n{draw(seed).text}", flush=True)
        if tally.total() % 1000 == 0:
            print(tally.total(), dict(tally), flush=True)
    print(f"{options.many} programs from seed {options.start}: {dict(tally)}")
    return 1 if any(not verdict.startswith("agree") for verdict in tally) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
