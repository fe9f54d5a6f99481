"""The second derivation at large: ``python -m tools.cost.opinions 10000`` writes ``reports/sympy.md``.

Every program of ``specs/`` and as many random ones as asked for: half of them random atoms, half
random ToLang.  Each count that sympy does not confirm for all lengths is listed with the reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import sympy
from msgspec import Struct

from tolcost.atoms.nodes import Program
from tolcost.cost.second_opinion import Agreement, second_opinion
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import Parsed, lower_for_author, read_program
from tolcost.syntax import read_source
from tools.cost.random_programs import random_program
from tools.generate.programs import generate
from tools.programs.road import lowered

ROOT = Path(__file__).parents[2]
SECONDS = 10.0
AGREE: tuple[Agreement, ...] = ("for all lengths", "at points")
ORDER: tuple[Agreement, ...] = (
    *AGREE, "sympy is wrong", "sympy gives up", "too slow", "no exact count", "ours is wrong",
)  # fmt: skip
MOST_LISTED = 2_000


class Row(Struct, frozen=True):
    """What came of one count of one program."""

    program: str
    function: str
    verdict: Agreement
    reason: str


def plain_programs(every: int = 1) -> Iterator[tuple[str, Elaborated]]:
    """The programs of ``specs/`` that lower as they are, or every so manieth of them."""
    paths = sorted((ROOT / "specs").rglob("*.tol"))
    yield from _lowered((path, {}) for path in paths if crc32(path.name.encode()) % every == 0)


def used_programs(every: int = 1) -> Iterator[tuple[str, Elaborated]]:
    """The operators as the gate uses them, or every so manieth of them."""
    specs = ROOT / "specs"
    cases = tomllib.loads((specs / "tolcost.toml").read_text())["cases"]
    chosen = ((specs / path, uses) for path, uses in cases.items() if crc32(path.encode()) % every == 0)
    yield from _lowered((path, case) for path, uses in chosen for case in uses.values())


def _lowered(work: Iterable[tuple[Path, dict[str, Any]]]) -> Iterator[tuple[str, Elaborated]]:
    for path, case in work:
        try:
            parsed = _parsed(path)
            given = arguments(parsed.program, case.get("shapes", {}), case.get("attrs", {}))
            yield str(path.relative_to(ROOT)), lower_for_author(parsed, given)
        except Rejected:
            continue


@cache
def _parsed(path: Path) -> Parsed:
    """A program, read once for all of its uses."""
    return read_program(read_source(path))


def random_atoms(seed: int) -> tuple[str, Program | None]:
    """A random program of the atomic IR."""
    return f"atoms {seed}", random_program(seed)


def random_text(seed: int) -> tuple[str, Program | None]:
    """A random ToLang program; None where it is rejected."""
    try:
        return f"ToLang {seed}", lowered(generate(seed).text).program
    except Rejected:
        return f"ToLang {seed}", None


def rows_of(name: str, program: Program | None, seconds: float = SECONDS) -> list[Row]:
    """What the two derivations say about a program."""
    if program is None:
        return []
    try:
        opinions = second_opinion(program, seconds)
    except Rejected:  # too large to count
        return []
    return [Row(name, ".".join(o.function), o.verdict, o.reason) for o in opinions]


def batch(seeds: range) -> tuple[int, list[Row]]:
    """How many of some random programs lower, and what comes of them; odd seeds are ToLang."""
    made = [random_text(seed) if seed % 2 else random_atoms(seed) for seed in seeds]
    rows = [row for name, program in made for row in rows_of(name, program)]
    return sum(program is not None for _, program in made), rows


def traps() -> Iterator[tuple[str, object, object]]:
    """What sympy answers wrongly, as it does in this version: the question, its answer, the right one."""
    n, m = sympy.symbols("n m", integer=True, positive=True)
    i, j = sympy.symbols("i j", integer=True, positive=True)
    yield "Sum(1, (i, 1, -3))", sympy.Sum(1, (i, 1, -3)).doit(), 0
    dropped = sympy.floor(n * (2 * m + 2) / 6).subs({n: 1, m: 1})
    yield "floor(n*(2*m + 2)/6) at n = m = 1", dropped, 0
    inner = sympy.Sum(sympy.Piecewise((j - 1, i + j <= 4), (0, True)), (i, 1, 3))
    escaped = sympy.Sum(n * inner, (j, 1, 2)).doit().subs(n, 1)
    yield "Sum(n*Sum((j - 1)*[i + j <= 4], (i, 1, 3)), (j, 1, 2)) at n = 1", escaped, 2


def report(specs: list[Row], random: list[Row], programs: int) -> str:
    """The report."""
    lines = [
        _HEAD.format(version=sympy.__version__, seconds=SECONDS),
        "| counts | programs of `specs/` | random programs |",
        "|---|---|---|",
        f"| programs | {len({row.program for row in specs})} | {programs} |",
    ]
    tallies = [Counter(row.verdict for row in rows) for rows in (specs, random)]
    lines += [f"| {verdict} | {tallies[0][verdict]} | {tallies[1][verdict]} |" for verdict in ORDER]
    lines += ["", "## Programs of `specs/` that sympy does not confirm for all lengths", ""]
    lines += _listed(row for row in specs if row.verdict != "for all lengths")
    lines += ["", "## Random programs that it does not confirm at all", ""]
    lines += _listed(row for row in random if row.verdict not in AGREE)
    lines += ["", "## Why the others are held at points only", "", "| reason | counts |", "|---|---|"]
    reasons = Counter(row.reason.split(";")[0] for row in random if row.verdict == "at points")
    lines += [f"| {reason} | {many} |" for reason, many in reasons.most_common()]
    lines.append(_TRAPS)
    lines += [f"| `{question}` | `{answer}` | `{right}` |" for question, answer, right in traps()]
    return "\n".join(lines) + "\n"


_HEAD = """\
# A second opinion from sympy

Our own algebra derives the closed forms. Here sympy derives them too, from the counts before
they are summed: ranges, guards and weights (`cost/unsummed.py`), with `Sum`, `Piecewise`, `floor`
and `Max` alone (`algebra/sympy_sums.py`). *For all lengths* means that sympy finds a closed form
and sees, by expanding, that it is ours. *At points* means that it leaves a `Sum`, or does not see
the equality, and that both are what visiting every coordinate counts at up to three points. One
program: `tolcost analyze FILE --symbolic --engine sympy`.

Made by `make sympy` with sympy {version}, at most {seconds:g} s a count.
`python -m tools.cost.opinions 0` does the programs of `specs/` alone and leaves the random ones of the last
run as they are told.
"""

_TRAPS = """
## What sympy answers wrongly

The derivation goes round these: a range ends no earlier than it begins, static integers come
expanded, a factor stays outside of a sum (a `Sum` in a product loses the condition that its own
variable decides), and sums between numbers are written out from the outermost.

| question | sympy | right |
|---|---|---|"""


def _listed(rows: Iterable[Row]) -> list[str]:
    listed = list(rows)
    if not listed:
        return ["None."]
    shown = [f"| {r.program} | {r.function} | {r.verdict} | {r.reason} |" for r in listed[:MOST_LISTED]]
    more = [f"| and {len(listed) - MOST_LISTED} more | | | |"] if len(listed) > MOST_LISTED else []
    return ["| program | function | verdict | reason |", "|---|---|---|---|", *shown, *more]


def with_random_of(old: str, new: str) -> str:
    """A report on ``specs/`` with what another one says about random programs."""
    first, last = "\n## Random programs", "\n## What sympy answers wrongly"
    told = dict(re.findall(r"^\| ([a-z ]+) \| \d+ \| (\d+) \|$", old, re.MULTILINE))
    head = re.sub(
        r"^\| ([a-z ]+) \| (\d+) \| 0 \|$",
        lambda row: f"| {row[1]} | {row[2]} | {told[row[1]]} |",
        new[: new.index(first)],
        flags=re.MULTILINE,
    )
    return head + old[old.index(first) : old.index(last)] + new[new.index(last) :]


def main(arguments: list[str]) -> int:
    """Write the report; the exit code tells whether ours held everywhere."""
    parser = argparse.ArgumentParser(prog="python -m tools.cost.opinions", description=__doc__)
    parser.add_argument(
        "many",
        type=int,
        nargs="?",
        default=10_000,
        help="how many random programs; 0: keep what is told of them",
    )
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, default=ROOT / "reports" / "sympy.md")
    asked = parser.parse_args(arguments)
    end = asked.start + asked.many
    batches = [range(at, min(at + 50, end)) for at in range(asked.start, end, 50)]
    named = (*plain_programs(), *used_programs())
    specs = [row for name, found in named for row in rows_of(name, found.program)]
    random: list[Row] = []
    programs = 0
    with ProcessPoolExecutor(asked.jobs) as pool:
        for done, (many, rows) in enumerate(pool.map(batch, batches), 1):
            programs += many
            random += rows
            print(f"\r{done * 50} of {asked.many}", end="", file=sys.stderr)
    text = report(specs, random, programs)
    if not asked.many:
        text = with_random_of(asked.output.read_text("utf-8"), text)
    asked.output.write_text(text, encoding="utf-8")
    return int(any(row.verdict == "ours is wrong" for row in (*specs, *random)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
