"""``reports/mutants.md``, from what runs left under ``build/``: shares by seed, survivors with the reason.

    python -m tools.mutants.report

Reasons are in ``reasons.toml`` beside this file, by their kind, the place of a mutant and its change.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tolcost.show.document import Code, Column, ReportTable
from tolcost.show.tables import markdown
from tools.mutants.kept import PARTS, Outcome, Reasons, runs

REPORT = Path(__file__).parents[2] / "reports" / "mutants.md"
HEAD = """# Broken on purpose: what the tests notice

Written by `python -m tools.mutants.report` from runs of `make mutants`; a seed names a random sample. A
mutant that no test notices is *the same* if all results stay equal, so that no test can notice it; *a
limit* if only the amount of work that is allowed or tried changes a little; *open* if a test could notice
it.
"""
DEFINITIONS = """
## Definitions

Files of `specs/` that define an operator, and library files, each with one random change of value (another
function, sign or number) that keeps it well-formed: `python -m tools.mutants.definitions --seed SEED`. Then
the checks of `make test` run: ONNX's node tests, the gate, the tests of definitions.
"""
CODE = """
## Lines of code

Random places of `tolcost/algebra`, `cost` and `check`, changed one at a time (a comparison, an operation, a
number, a condition): `python -m tools.mutants.code --seed SEED --count COUNT`. For each mutant, tests that
execute the changed line run: those of the part's own folder for `--own` seconds, and others, in turns from
every file, for `--seconds`. If all pass, they run once more with all modules loaded anew. A mutant that
passes again counts as a survivor, although the rest of the suite might notice it, so that shares are lower
bounds.
"""
LOOKED_AT = "tests were added for its survivors, which were then tried again."
NOTES = {
    "algebra": """
Seeds 61 to 91 ran on earlier code. At first, 69 of 80 mutants were caught (seeds 61 and 62), then 41 of 60
(71 and 72), 24 of 30 (81) and 25 of 30 (91). Tests were added for the survivors of the seeds up to 81, and
176 of the 200 were caught, 88.0 %. Then lines whose change nothing can notice were removed, and general
tests were added after mutants of all places of `intervals.py` and some of `conditions.py` and `floors.py`,
and after a reading of the code. Seed 201 was drawn after that. The table has its first run, against
`tests/algebra` and doctests alone; tests that notice its open mutants came later.
""",
    "cost": f"\nSeed 31 was looked at: {LOOKED_AT}\n",
    "check": f"""
Seed 31 was looked at: {LOOKED_AT}
Seed 41 was drawn after that; no tests were added for it.
""",
}
SECTIONS = (
    (DEFINITIONS, ("library", "operators")),
    (CODE, ()),
    *((f"\n### {part}\n{NOTES[part]}", (part,)) for part in PARTS),
)
"""What to write, and the kinds of mutants it is about."""
SURVIVORS = (
    Column("where", "survivor", "code"),
    Column("before", "change: was", "code", group="change"),
    Column("after", "change: became", "code", group="change"),
    Column("is", "is"),
    Column("why", "why"),
)
Runs = dict[tuple[str, int], list[Outcome]]


def report(found: Runs, why: Reasons, before: str = "") -> str:
    """The whole report; a section that nothing was run for stays as it was before."""
    parts = [HEAD]
    for text, kinds in SECTIONS:
        some = {(kind, seed): ran for (kind, seed), ran in found.items() if kind in kinds}
        if some:
            parts += [text, "\n", *_shares(some, why), "\n", *_survivors(some, why)]
        else:
            parts.append(_section(before, text.split("\n")[1]) if kinds else text)
    return "".join(parts)


def _section(text: str, title: str) -> str:
    """A section of a report, from its title to the next one."""
    _, found, rest = text.partition(f"\n{title}\n")
    inside, *_ = re.split(r"\n#+ ", rest, maxsplit=1)
    return f"\n{title}\n{inside}" if found else ""


def _shares(found: Runs, why: Reasons) -> Iterator[str]:
    yield "| what | seed | mutants | caught | the same | a limit | open | caught | not counting the same |\n"
    yield "|---|---|---|---|---|---|---|---|---|\n"
    kinds = sorted({kind for kind, _ in found})
    rows = [(f"{kind} | {seed}", found[kind, seed]) for kind in kinds for k, seed in found if k == kind]
    rows += [
        (f"{kind} | all", [one for (k, _), ran in found.items() if k == kind for one in ran])
        for kind in kinds
        if sum(k == kind for k, _ in found) > 1
    ]
    for name, ran in rows:
        caught = sum(bool(one.by) for one in ran)
        left = [_reason(one, why)[0] for one in ran if not one.by]
        same, limit, open_ = (left.count(kind) for kind in ("same", "limit", "open"))
        shares = f"{100 * caught / len(ran):.1f} % | {100 * caught / (len(ran) - same):.1f} %"
        yield f"| {name} | {len(ran)} | {caught} | {same} | {limit} | {open_} | {shares} |\n"


def _survivors(found: Runs, why: Reasons) -> Iterator[str]:
    left = {one.name: one for ran in found.values() for one in ran if not one.by}
    yield survivors_table(
        (one.where, one.before, one.after, *_reason(one, why))
        for one in sorted(left.values(), key=lambda one: (_reason(one, why)[0], one.name))
    )


def survivors_table(rows: Iterable[tuple[str, str, str, str, str]]) -> str:
    """The table of mutants that no test noticed: the place, the code before and after, a word, the reason."""
    cells = tuple((*map(Code, found[:3]), *found[3:]) for found in rows)
    return markdown((ReportTable(SURVIVORS, cells, "mutants"),))


def _reason(mutant: Outcome, why: Reasons) -> tuple[str, str]:
    return why.of(mutant) or ("open", "not looked into")


def main() -> int:
    """Write the report."""
    argparse.ArgumentParser(description=__doc__).parse_args()  # none: whoever asks what this does is told
    before = REPORT.read_text("utf-8") if REPORT.exists() else ""
    REPORT.write_text(report(runs(), Reasons.read(), before), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
