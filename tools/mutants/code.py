"""Lines of our own code broken on purpose: would the tests notice?

    python -m tools.mutants.code [--seed N] [--count N] [--map [SUITE ...]] [--parts PART ...]

Random places of ``algebra``, ``cost`` and ``check`` are changed one at a time (a comparison, an operation, a
number, a condition) in a copy of the project, and the tests that run the line are run until one fails, in
turns from every file of tests: those of the part's own folder, then all others.  Which tests run a line is
found by ``--map``, and kept under ``build/``.  What does not end has failed, too.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from msgspec import Struct

from tools.mutants.kept import PARTS, Outcome, Reasons, keep, kept
from tools.mutants.selection import MOST_SECONDS, SUITES, Mutant, Tests, caught, copied, watch

OWN_SECONDS = 8.0
"""So long may the tests of the part's own folder take before the others are asked."""

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


class Change(Struct, frozen=True):
    """A place in a module, what stands there, and how to change it."""

    lines: range
    loads: bool
    """Whether it runs when the module is loaded, in no function."""
    before: str
    make: Callable[[], str]


def changes(module: ast.Module) -> Iterator[tuple[str, Change]]:
    """All changes of a module, with what they are in: only code that runs, neither types nor texts."""
    quiet = {id(n) for top in ast.walk(module) for part in _unmeant(top) for n in ast.walk(part)}
    called = {id(n) for top in ast.walk(module) if isinstance(top, ast.FunctionDef) for n in ast.walk(top)}
    for inside, lines, node, shown in _placed(module, (), range(0), module):
        if id(node) in quiet:
            continue
        for field, value in _broken(node):
            make = _making(node, field, value, shown)
            yield inside, Change(lines, id(node) not in called, _text(shown), make)


def _broken(node: ast.AST) -> Iterator[tuple[str, object]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield "ops", [_COMPARED[type(op)]()]
        case ast.BinOp(op=op) if type(op) in _OPERATED:
            yield "op", _OPERATED[type(op)]()
        case ast.BoolOp(op=op):
            yield "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.Constant(value=bool() as value):
            yield "value", not value
        case ast.Constant(value=int() as value):
            yield "value", value + 1
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "test", ast.UnaryOp(ast.Not(), test)


def _placed(
    node: ast.AST, inside: tuple[str, ...], lines: range, above: ast.AST
) -> Iterator[tuple[str, range, ast.AST, ast.AST]]:
    """All nodes, each with the definition it is in, the lines of its statement, and what to show of it.

    The lines are without those of statements below; a number is shown with what it is a part of.
    """
    if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        first = getattr(node, "lineno", None) or node.pattern.lineno
        below = [s.lineno for s in ast.walk(node) if isinstance(s, ast.stmt) and s is not node]
        end = min(below) - 1 if below else node.end_lineno
        lines = range(first, max(first, end) + 1)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    bare = isinstance(node, ast.Constant) and not isinstance(above, ast.FunctionDef)
    yield ".".join(inside), lines, node, above if bare else node
    for child in ast.iter_child_nodes(node):
        yield from _placed(child, inside, lines, node)


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


def _text(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:90]


def _making(node: ast.AST, field: str, value: object, shown: ast.AST) -> Callable[[], str]:
    def make() -> str:
        setattr(node, field, value)
        return _text(shown)

    return make


def sample(project: Path, part: str, count: int, seed: int) -> list[tuple[Path, int]]:
    """Random places of a part: the file, and the number of the change in it."""
    files = sorted((project / "tolcost" / part).glob("*.py"))
    places = [(file, n) for file in files for n, _ in enumerate(changes(ast.parse(file.read_text("utf-8"))))]
    return Random(f"{seed} {part}").sample(places, count)


def left(project: Path, part: str, seed: int) -> list[tuple[Path, int]]:
    """The places of mutants that survived for no known reason, where the code is as it was."""
    why = Reasons.read()
    found = []
    for one in kept(part, seed):
        if not one.by and why.of(one) is None and _before(project / one.file, one.number) == one.before:
            found.append((project / one.file, one.number))
    return found


def fresh(project: Path, part: str, seed: int, count: int) -> list[tuple[Path, int]]:
    """The places of a sample that were not tried yet, or that stand in other code now."""
    done = {(one.file, one.number): one.before for one in kept(part, seed)}
    return [
        (file, number)
        for file, number in sample(project, part, count, seed)
        if done.get((file.relative_to(project).as_posix(), number)) != _before(file, number)
    ]


def _before(file: Path, number: int) -> str | None:
    places = dict(enumerate(changes(ast.parse(file.read_text("utf-8")))))
    return places[number][1].before if number in places else None


def tried(
    project: Path, part: str, places: list[tuple[Path, int]], known: Tests, seconds: tuple[float, float]
) -> Iterator[Outcome]:
    """Break places of a part one after the other; tests of its folder, then others, take so many seconds."""
    mutants, told = [], []
    for file, number in places:
        module = ast.parse(file.read_text("utf-8"))
        inside, change = list(changes(module))[number]
        after = change.make()
        name = file.relative_to(project).as_posix()
        tests = known.running(name, None if change.loads else change.lines)
        own = known.within([test for test in tests if test.startswith(f"tests/{part}/")], seconds[0])
        others = known.within([test for test in tests if test not in set(own)], seconds[1])
        mutants.append(Mutant(file, module, [*own, *others]))
        told.append((part, f"{name}:{inside}", number, change.before, after))
    for number, by in caught(project, mutants, known.seconds):
        yield Outcome(*told[number], by)


def main() -> int:
    """Break random places, and say which changes nobody notices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="how many of each part")
    parser.add_argument("--again", action="store_true", help="only those that survived for no known reason")
    parser.add_argument(
        "--own", type=float, default=OWN_SECONDS, help="seconds of tests of the part's folder"
    )
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="of others, besides")
    parser.add_argument("--map", nargs="*", metavar="SUITE", help="find again which tests run a line")
    parser.add_argument("--parts", nargs="*", default=list(PARTS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = copied(folder)
        if asked.map is not None:
            for suite in asked.map or SUITES:
                print(watch(project, suite), flush=True)
        if asked.count and not Tests.read().seconds:  # else nothing would be run, and every change survive
            parser.error("which tests run a line is not known yet: begin with --map")
        for part in asked.parts if asked.count else ():
            _part(project, part, asked)
    return 0


def _part(project: Path, part: str, asked: argparse.Namespace) -> None:
    seed: int = asked.seed
    places = left(project, part, seed) if asked.again else fresh(project, part, seed, asked.count)
    for outcome in tried(project, part, places, Tests.read(), (asked.own, asked.seconds)):
        print(
            f"{outcome.where}: `{outcome.before}` -> `{outcome.after}`: {outcome.by or 'SURVIVES'}",
            flush=True,
        )
        keep(outcome, seed)
    done = kept(part, seed)
    noticed = sum(bool(outcome.by) for outcome in done)
    print(f"{part}: {noticed} of {len(done)} caught, seed {seed}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
