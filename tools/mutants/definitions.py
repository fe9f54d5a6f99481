"""Definitions broken on purpose: would the tests notice?

    python -m tools.mutants.definitions [--seed N] [--count N] [--fast] [FILE.tol ...]

Every file of ``specs/`` that defines an operator, and every library file, gets one random change of value
(another function, sign or number) that keeps it well-formed.  A mutant is caught where

1. it is refused, or a node test of ONNX that passes does not any more (``tests/catalogue/test_verify.py``),
2. or the gate finds a program that costs something else (``tolcost check``),
3. or a test of ``tests/specs`` fails.

The last two run in a copy of the project, on what the first lets through.  What came of it is kept under
``build/``, where ``tools.mutants.report`` reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import Struct

from tolcost.catalogue.cases import Case, load_cases, recorded_cases
from tolcost.catalogue.conformance import check
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected, Source
from tolcost.syntax import parse, read_source
from tools.mutants.kept import ROOT, Outcome, keep

SPECS = ROOT / "specs"
FOLDERS = ("onnx", "onnx.ml", "onnx.preview", "onnx.preview.training", "com.microsoft", "lib")

_GROUPS = (
    "sin cos tan", "sinh cosh tanh", "asin acos atan", "asinh acosh atanh", "exp sqrt neg abs sqr ln erf",
    "floor ceil round trunc", "add sub", "mul div", "max min", "lt gt le ge", "eq ineq", "shl shr",
    "mod fmod", "isnan isinf", "recip rsqrt",
)  # fmt: skip
_ALTERNATIVES = {name: [o for o in row.split() if o != name] for row in _GROUPS for name in row.split()}
_SIGNS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "<": "<= >", "<=": "< >=", ">": ">= <", ">=": "> <=",
    "==": "!=", "!=": "==", "and": "or", "or": "and", "%": "*",
}  # fmt: skip
_PLACES = re.compile(
    rf"(?P<name>\b(?:{'|'.join(_ALTERNATIVES)})\b(?=[(,)]))"
    r"|(?<= )(?P<sign>[-+*/%]|<=?|>=?|==|!=|and|or)(?= )"
    r"|(?<![\w.@])(?P<number>\d+(?:\.\d+)?)(?![\w.])"
)
TESTS = ("specs", "referee", "kernels", "paper")
_USES = re.compile(r"^use (.*)$", re.MULTILINE)
_HEADER = re.compile(r"^(?:operator|use|tol|static|attr|space|list)\b.*$|#.*$", re.MULTILINE)


class Mutant(Struct, frozen=True):
    """A file with one change in it."""

    file: Path
    text: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        return self.file.relative_to(SPECS).as_posix()


def mutants(file: Path, random: Random) -> Iterator[Mutant]:
    """The changes of a file that keep it well-formed, in random order."""
    text = file.read_text("utf-8")
    quiet = [match.span() for match in _HEADER.finditer(text)]
    places = [m for m in _PLACES.finditer(text) if not any(a <= m.start() < b for a, b in quiet)]
    random.shuffle(places)
    tree = parse(read_source(file))
    for place in places:
        changed = text[: place.start()] + (new := _other(place, random)) + text[place.end() :]
        try:
            if parse(Source(str(file), changed)) == tree:
                continue
        except Rejected:
            continue
        line = text.count("\n", 0, place.start()) + 1
        yield Mutant(file, changed, line, place[0], new)


def _other(place: re.Match[str], random: Random) -> str:
    if place["name"]:
        return random.choice(_ALTERNATIVES[place["name"]])
    if place["sign"]:
        return random.choice(_SIGNS[place["sign"]].split())
    return "0" if place[0] == "1" else "1" if place[0] == "0" else f"{float(place[0]) * 2 + 1:g}"


# ---- 1: ONNX's node tests ----------------------------------------------------------------


def caught_by_onnx(mutant: Mutant, cases: tuple[Case, ...], passed: frozenset[str]) -> str:
    """A node test that a mutant does not pass any more, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        specs = Path(folder) / "specs"
        shutil.copytree(SPECS, specs, ignore=shutil.ignore_patterns("paper"))
        (specs / mutant.name).write_text(mutant.text, "utf-8")
        library = open_library([specs])
        for case in cases:
            if case.name in passed and check(case, library).status != "pass":
                return case.name
    return ""


def cases_by_file(cases: tuple[Case, ...]) -> dict[str, tuple[Case, ...]]:
    """The node tests that each file has to do with, those of few elements first."""
    library = open_library()
    found: dict[str, list[Case]] = {}
    for case in sorted(cases, key=_size):
        spec = library.find(case.node.domain, case.node.op, case.opset)
        sources = (
            []
            if spec is None
            else [spec.source, *(s.span.source for m in spec.library for s in m.statements)]
        )
        for name in {"/".join(source.name.split("/")[-2:]) for source in sources}:
            found.setdefault(name, []).append(case)
    return {name: tuple(some) for name, some in found.items()}


def _size(case: Case) -> int:
    return sum(getattr(item, "size", 1000) for item in (*case.inputs, *case.outputs))


# ---- 2 and 3: the gate, and tests of our own ----------------------------------------------


def caught_by_tests(mutant: Mutant) -> str:
    """The first of our own checks that a mutant fails, in a copy of the project."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        leave = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "build", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=leave, symlinks=True)
        (copy / "specs" / mutant.name).write_text(mutant.text, "utf-8")
        gate = _run(copy, "specs", "-m", "tolcost", "check", "--strict", "--fresh", *_affected(mutant))
        if gate.returncode:
            return "tolcost check"
        tests = _run(copy, ".", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *_tests_of(mutant))
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", tests.stdout, re.MULTILINE)
        return failed[1] if failed else ""


def _affected(mutant: Mutant) -> list[str]:
    """The programs that a change has to do with: the file, or those that use the library, directly or not."""
    if not mutant.name.startswith("lib/"):
        return [mutant.name]
    files = {file.relative_to(SPECS).as_posix(): file.read_text("utf-8") for file in SPECS.rglob("*.tol")}
    used = {name: set(re.findall(r"\w+", " ".join(_USES.findall(text)))) for name, text in files.items()}
    reached = {mutant.file.stem}
    while more := {Path(n).stem for n in used if n.startswith("lib/") and used[n] & reached} - reached:
        reached |= more
    return sorted(n for n in files if used[n] & reached and not n.startswith("lib/"))


def _tests_of(mutant: Mutant) -> list[str]:
    """The tests of definitions that mention what a change has to do with, or all."""
    names = {Path(name).name.split(".")[0].partition("@")[0] for name in (mutant.name, *_affected(mutant))}
    named = re.compile(rf"\b(?:{'|'.join(names)})\b")
    files = [file for folder in TESTS for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    naming = [file for file in files if named.search(file.read_text("utf-8"))]
    return [str(file.relative_to(ROOT)) for file in naming or files]


def _run(project: Path, folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder of a copy of the project, with that copy's tolcost."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project / folder,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )


# ---- the report --------------------------------------------------------------------------


def main() -> int:
    """Break every definition once, or some, and say which changes nobody notices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="so many random files of those")
    parser.add_argument("--fast", action="store_true", help="ONNX's node tests only")
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    every = [file for folder in FOLDERS for file in sorted((SPECS / folder).glob("*.tol"))]
    files = [file.resolve() for file in asked.files] or every
    if asked.count is not None:
        files = Random(asked.seed).sample(files, min(asked.count, len(files)))
    caught, total = 0, 0
    for outcome in _outcomes(files, asked.seed, asked.fast):
        print(
            f"{outcome.name}: `{outcome.before}` -> `{outcome.after}`: {outcome.by or 'SURVIVES'}",
            flush=True,
        )
        caught, total = caught + bool(outcome.by), total + 1
        keep(outcome, asked.seed)
    print(f"\n{total} mutants, {caught} caught ({100 * caught / max(total, 1):.1f} %), seed {asked.seed}")
    print(f"nothing to change: {len(files) - total} files")
    return 0


def _outcomes(files: list[Path], seed: int, fast: bool) -> Iterator[Outcome]:
    recorded = recorded_cases(open_library())
    cases = cases_by_file((*load_cases(), *recorded))
    stored = json.loads((ROOT / "reports" / "data" / "conformance.json").read_text("utf-8"))["cases"]
    passed = frozenset(case["name"] for case in stored if case["status"] == "pass")
    passed |= {case.name for case in recorded}
    for file in files:
        mutant = next(mutants(file, Random(f"{seed} {file.relative_to(SPECS)}")), None)
        if mutant is None:
            continue
        case = caught_by_onnx(mutant, cases.get(mutant.name, ()), passed)
        by = f"ONNX: {case}" if case else "" if fast else caught_by_tests(mutant)
        kind = "library" if mutant.name.startswith("lib/") else "operators"
        yield Outcome(kind, mutant.name, mutant.line, mutant.before, mutant.after, by)


if __name__ == "__main__":
    sys.exit(main())
