"""The house: how many files a program passes through on its way to a formula, and what imports what."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tolcost"
MOST_FILES_ON_THE_WAY = 50
LARGEST_CIRCLE = 3

_ENTERED = """
import importlib, pkgutil, sys, threading
import tolcost
from tolcost.cli import main

for module in pkgutil.walk_packages(tolcost.__path__, "tolcost."):
    if not module.name.endswith(("__main__", ".server")):  # these start, or need what may not be installed
        try:
            importlib.import_module(module.name)
        except ImportError:
            pass

folder, entered = tolcost.__path__[0], set()

def enter(frame, event, arg):
    if event == "call" and frame.f_code.co_filename.startswith(folder):
        entered.add(frame.f_code.co_filename)

threading.setprofile(enter)
sys.setprofile(enter)
try:
    main()
finally:
    sys.setprofile(None)
    print(*sorted(entered), sep="\\n", file=sys.stderr)
"""


def test_a_program_passes_through_few_files() -> None:
    """All that is entered while ``matmul.tol`` becomes a closed form, once everything is loaded."""
    program = PACKAGE.parent / "specs" / "examples" / "matmul.tol"
    command = [sys.executable, "-c", _ENTERED, "analyze", str(program), "--symbolic"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    entered = run.stderr.split()
    assert "2*k*m*n" in run.stdout
    assert {"parser.py", "values.py", "count.py", "text.py"} <= {Path(file).name for file in entered}
    assert len(entered) <= MOST_FILES_ON_THE_WAY, "\n".join(entered)


def test_no_large_circle_of_imports() -> None:
    """Imports of all kinds: at the top, inside of functions, and for types only."""
    files = {_module(file): file for file in PACKAGE.rglob("*.py")}
    reached = {name: _imported(name, file, files) for name, file in files.items()}
    changed = True
    while changed:
        changed = False
        for name, direct in reached.items():
            more = direct.union(*(reached[other] for other in direct))
            if more != direct:
                reached[name], changed = more, True
    circles = {frozenset(other for other in reached[name] if name in reached[other]) for name in reached}
    assert not [sorted(circle) for circle in circles if len(circle) > LARGEST_CIRCLE]


def _module(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, file: Path, files: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: imports say the whole name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in files else node.module or "")
    return found.intersection(files) - {name}
