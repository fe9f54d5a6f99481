"""What became of mutants, kept under ``build/`` by every run: one file for each kind and seed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from msgspec import Struct, to_builtins

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants"
PARTS = ("algebra", "cost", "check")
"""The parts of which lines of code are broken."""


class Outcome(Struct, frozen=True):
    """A mutant, and what caught it: the name of a test, or nothing."""

    kind: str
    where: str
    """The file, and what in it."""
    number: int
    """Which change of the file, or in which line it is."""
    before: str
    after: str
    by: str

    @property
    def file(self) -> str:
        return self.where.partition(":")[0]

    @property
    def name(self) -> str:
        return f"{self.file}:{self.number}"

    @property
    def is_code(self) -> bool:
        return self.file.endswith(".py")

    @property
    def change(self) -> str:
        return f"{self.before} -> {self.after}"


def keep(outcome: Outcome, seed: int) -> None:
    """Add to what is kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{outcome.kind}-{seed}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(to_builtins(outcome)) + "\n")


def kept(kind: str, seed: int) -> list[Outcome]:
    """What was kept of a kind and a seed, the latest of each mutant."""
    file = KEPT / f"{kind}-{seed}.jsonl"
    text = file.read_text("utf-8") if file.exists() else ""
    found = [Outcome(**json.loads(line)) for line in text.splitlines()]
    return list({outcome.name: outcome for outcome in found}.values())


def runs() -> dict[tuple[str, int], list[Outcome]]:
    """All that is kept, by kind and seed."""
    named = (re.fullmatch(r"(\w+)-(\d+)", file.stem) for file in sorted(KEPT.glob("*.jsonl")))
    return {(m[1], int(m[2])): kept(m[1], int(m[2])) for m in named if m}


class Reasons(Struct, frozen=True):
    """Why mutants survive: ``same``, ``limit`` or ``open``, and in words."""

    known: dict[str, dict[str, dict[str, str]]]

    @classmethod
    def read(cls) -> Reasons:
        """Those that were found."""
        return cls(tomllib.loads(Path(__file__).with_name("reasons.toml").read_text("utf-8")))

    def of(self, mutant: Outcome) -> tuple[str, str] | None:
        """The kind, and the words; none where nobody looked into it."""
        found = (
            (kind, places.get(mutant.where, {}).get(mutant.change)) for kind, places in self.known.items()
        )
        return next(((kind, words) for kind, words in found if words is not None), None)
