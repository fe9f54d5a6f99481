"""Lines of our own code broken on purpose: would the tests notice?

    python -m tests.mutants.code [--seed N] [--count N] [--own] [PART ...]

Random places of ``algebra``, ``cost`` and ``check`` are changed one at a time (a comparison, an operation, a
number, a condition) in a copy of the project, and the tests of that part run until one fails; then, if none
did, the tests that hold whole programs, unless only the part's own are asked for.  What does not end has
failed, too.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
TESTS = {
    "algebra": ("tests/algebra", "tests/elaborate"),
    "cost": ("tests/cost", "tests/elaborate", "tests/programs/test_paper_counts.py"),
    "check": ("tests/check",),
}
WHOLE = ("tests/specs/test_expert_forms.py", "tests/cli/test_sessions.py", "tests/programs", "tests/result")
MOST_SECONDS = 1500

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


@dataclass(frozen=True)
class Change:
    """A place in a module, what stands there, and how to change it."""

    line: int
    before: str
    make: Callable[[], None]


def changes(module: ast.Module) -> Iterator[Change]:
    """All changes of a module: only code that runs, neither types nor texts."""
    quiet = {id(n) for top in ast.walk(module) for part in _unmeant(top) for n in ast.walk(part)}
    for node in ast.walk(module):
        if id(node) in quiet:
            continue
        match node:
            case ast.Compare(ops=[op]) if type(op) in _COMPARED:
                yield _change(node, "ops", [_COMPARED[type(op)]()])
            case ast.BinOp(op=op) if type(op) in _OPERATED:
                yield _change(node, "op", _OPERATED[type(op)]())
            case ast.BoolOp(op=op):
                yield _change(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
            case ast.Constant(value=bool() as value):
                yield _change(node, "value", not value)
            case ast.Constant(value=int() as value):
                yield _change(node, "value", value + 1)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield _change(node, "test", ast.UnaryOp(ast.Not(), test))


def _unmeant(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that say nothing about what is computed."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            signature = getattr(node, "args", None)
            notes = (
                []
                if signature is None
                else [a.annotation for a in ast.walk(signature) if isinstance(a, ast.arg)]
            )
            return [
                n for n in (*node.decorator_list, *notes, getattr(node, "returns", None)) if n is not None
            ]
        case ast.AnnAssign(annotation=annotation):
            return [annotation]
        case ast.Assert() | ast.Raise():
            return [node]
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return [node]
        case _:
            return []


def _change(node: ast.AST, field: str, value: object) -> Change:
    return Change(node.lineno, ast.unparse(node).splitlines()[0][:70], lambda: setattr(node, field, value))


def caught(project: Path, module: Path, suites: Sequence[tuple[str, ...]], text: str) -> str:
    """The test that fails, or nothing."""
    file = project / module
    kept = file.read_text("utf-8")
    file.write_text(text, "utf-8")
    try:
        for tests in suites:
            ran = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", *tests],
                cwd=project, capture_output=True, text=True, check=False, timeout=MOST_SECONDS,
            )  # fmt: skip
            if ran.returncode:
                failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0].split(" - ")[0] if failed else f"exit code {ran.returncode}"
    except subprocess.TimeoutExpired:
        return "takes too long"
    finally:
        file.write_text(kept, "utf-8")
    return ""


def main() -> int:
    """Break random places, and say which changes nobody notices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="how many of each part")
    parser.add_argument("--own", action="store_true", help="only the tests in the part's own folder")
    parser.add_argument("parts", nargs="*", default=list(TESTS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        leave = shutil.ignore_patterns(".*", "build", "__pycache__")
        shutil.copytree(ROOT, project, ignore=leave, symlinks=True)
        for part in asked.parts:
            suites = (TESTS[part][:1],) if asked.own else (TESTS[part], WHOLE)
            random = Random(f"{asked.seed} {part}")
            survivors = sum(not by for by in _tried(project, part, asked.count, random, suites))
            print(f"{part}: {asked.count - survivors} of {asked.count} caught, seed {asked.seed}", flush=True)
    return 0


def _tried(
    project: Path, part: str, count: int, random: Random, suites: Sequence[tuple[str, ...]]
) -> Iterator[str]:
    files = sorted((ROOT / "tolcost" / part).glob("*.py"))
    places = [(file, n) for file in files for n, _ in enumerate(changes(ast.parse(file.read_text("utf-8"))))]
    for file, number in random.sample(places, count):
        module = ast.parse(file.read_text("utf-8"))
        change = list(changes(module))[number]
        change.make()
        start = time.monotonic()
        by = caught(project, file.relative_to(ROOT), suites, ast.unparse(ast.fix_missing_locations(module)))
        where = f"{file.relative_to(ROOT)}:{change.line}: `{change.before}`"
        print(f"{where}: {by or 'SURVIVES'} ({time.monotonic() - start:.0f} s)", flush=True)
        yield by


if __name__ == "__main__":
    sys.exit(main())
