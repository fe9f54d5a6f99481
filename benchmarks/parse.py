"""How fast programs are read, as a ratio to Python's own parser on text of the same size.

The ToLang text is the programs that come with tolcost, over and over; the Python text is this package's
own modules.  Both are read several times and the best time counts.  Prints one JSON object.
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
from tolcost.syntax import format_program, parse

ROOT = Path(__file__).parent.parent
SIZE = 1_000_000
ROUNDS = 3


def main() -> None:
    programs = _repeated(sorted((ROOT / "specs").rglob("*.tol")))
    modules = _repeated(sorted((ROOT / "tolcost").rglob("*.py")))
    source = Source("benchmark.tol", programs)
    tree = parse(source)
    ours = _best(lambda: parse(source))
    theirs = _best(lambda: ast.parse(modules))
    formatting = _best(lambda: format_program(tree))
    figures = {
        "characters": len(programs),
        "parse_seconds": round(ours, 3),
        "ast_parse_seconds": round(theirs, 3),
        "parse_to_ast_parse": round(ours / theirs, 2),
        "format_seconds": round(formatting, 3),
        "python": sys.version.split()[0],
    }
    print(json.dumps(figures, indent=2))


def _repeated(files: list[Path]) -> str:
    """The text of files, repeated up to the size."""
    # a module may begin with imports that have to come first in a file; parsing alone does not mind
    text = "\n".join(file.read_text("utf-8").replace("from __future__", "from future") for file in files)
    whole = text * (SIZE // len(text) + 1)
    return whole[: whole.rindex("\n\n", 0, SIZE)] if len(whole) > SIZE else whole


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
