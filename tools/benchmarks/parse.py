"""How fast programs are read, as a ratio to Python's own parser on text of the same size.

The ToLang text is the programs that come with tolcost, the Python text the modules of tolcost, both
over and over and without their comments: a comment is read quickly, and the programs have many.  The
two take turns, processor time is measured, and the best time of each counts.  Prints one JSON object.
"""

from __future__ import annotations

import ast
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tolcost.diagnostics import Source
from tolcost.syntax import parse, read_source
from tolcost.syntax.format import format_program
from tolcost.syntax.tree import Module

ROOT = Path(__file__).parents[2]
SIZE = 1_000_000
ROUNDS = 5


def main() -> None:
    programs = [_without_comments(file) for file in sorted((ROOT / "specs").rglob("*.tol"))]
    modules = [ast.unparse(_without_docstrings(file)) for file in sorted((ROOT / "tolcost").rglob("*.py"))]
    source, python = Source("benchmark.tol", _repeated(programs)), _repeated(modules)
    tree = parse(source)
    works = (lambda: parse(source), lambda: ast.parse(python), lambda: format_program(tree))
    rounds = [[_seconds(work) for work in works] for _ in range(ROUNDS)]
    ours, theirs, formatting = map(min, zip(*rounds, strict=True))
    figures = {
        "characters": [len(source.text), len(python)],
        "parse_seconds": round(ours, 3),
        "ast_parse_seconds": round(theirs, 3),
        "parse_to_ast_parse": round(ours / theirs, 2),
        "format_seconds": round(formatting, 3),
        "python": sys.version.split()[0],
    }
    print(json.dumps(figures, indent=2))


def _without_comments(file: Path) -> str:
    return format_program(Module(parse(read_source(file)).statements))


def _without_docstrings(file: Path) -> ast.Module:
    module = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body[0] = ast.Pass()
    return module


def _repeated(texts: list[str]) -> str:
    """Texts, repeated until there is enough."""
    whole: list[str] = []
    size = 0
    while size < SIZE:
        for text in texts:
            whole.append(text)
            size += len(text) + 1
            if size >= SIZE:
                break
    return "\n".join(whole)


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
