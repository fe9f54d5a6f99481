"""``reports/mutants.md``, from what runs left under ``build/``: shares by seed, survivors with the reason.

    python -m tests.mutants.report

Reasons are in ``reasons.toml`` beside this file, by the place of a mutant and its change.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants.kept import Outcome, runs

HERE = Path(__file__).parent
REPORT = HERE.parents[1] / "reports" / "mutants.md"
HEAD = """# Broken on purpose: what the tests notice

Written by `python -m tests.mutants.report` from runs of `make mutants`; a seed names a random sample.
"""
DEFINITIONS = """
## Definitions

Files of `specs/` that define an operator, and library files, each with one random change of value (another
function, sign or number) that keeps it well-formed: `python -m tests.mutants.definitions --seed SEED`. Then
the checks of `make test` run: ONNX's node tests, the gate, the tests of definitions.
"""
CODE = """
## Lines of code

Random places of `tolcost/algebra`, `cost` and `check`, changed one at a time (a comparison, an operation, a
number, a condition): `python -m tests.mutants.code --seed SEED --count COUNT`. Then those tests run that run
the line, as many of them as take half a minute together; what they let pass counts as a survivor, whatever
the rest of the suite would say.
"""


def report(found: dict[tuple[str, int], list[Outcome]], why: dict[str, dict[str, str]]) -> str:
    """The whole report."""
    parts = [HEAD]
    for text, is_code in ((DEFINITIONS, False), (CODE, True)):
        some = {key: ran for key, ran in found.items() if ran[0].is_code == is_code}
        if some:
            parts += [text, "\n", *_shares(some), "\n", *_survivors(some, why)]
    return "".join(parts)


def _shares(found: dict[tuple[str, int], list[Outcome]]) -> Iterator[str]:
    yield "| what | seed | mutants | caught | share |\n|---|---|---|---|---|\n"
    for (kind, seed), ran in found.items():
        caught = sum(bool(outcome.by) for outcome in ran)
        yield f"| {kind} | {seed} | {len(ran)} | {caught} | {100 * caught / len(ran):.1f} % |\n"


def _survivors(found: dict[tuple[str, int], list[Outcome]], why: dict[str, dict[str, str]]) -> Iterator[str]:
    left = {outcome.name: outcome for ran in found.values() for outcome in ran if not outcome.by}
    yield "| survivor | change | why |\n|---|---|---|\n"
    for _, one in sorted(left.items()):
        reason = why.get(one.where, {}).get(one.change, "not looked into")
        yield f"| `{one.where}` | {_code(one.before)} became {_code(one.after)} | {reason} |\n"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def main(arguments: Sequence[str] = ()) -> int:
    """Write the report."""
    REPORT.write_text(report(runs(), tomllib.loads((HERE / "reasons.toml").read_text("utf-8"))), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
