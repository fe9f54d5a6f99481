"""A copy of the package in which the parts that do most of the work are machine code.

The copy has the same modules; beside a compiled one lies its extension, which Python prefers.  What is
compiled is the road from text to counts: there everything is typed, and little is about other people's
libraries.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from native.records import written_out

PARTS = ("algebra", "atoms", "cost", "elaborate", "syntax")
MODULES = ("diagnostics.py", "elementary.py", "spaces.py")
INTERPRETED = {
    "algebra/errors.py": "inherits from exceptions that mypyc has no base for",
    "algebra/handles.py": "its objects are referred to weakly",
    "algebra/sympy_depth.py": "inherits from classes of sympy",
    "algebra/sympy_form.py": "inherits from classes of sympy",
}
"""What stays as it is among the parts that are compiled, and why."""

SHARED = "tolcost_native"
"""The name of the library that all extensions share."""

_DIRECT = ["-fvisibility=hidden", "-fno-semantic-interposition"] if os.name == "posix" else []
"""Calls between files of one library need no table: up to a fifth of the time of a small program."""

_SETTINGS = "[mypy]\nignore_errors = True\nignore_missing_imports = True\npython_version = 3.11\n"
"""That the sources are right was asked before; here mypy only has to find the types."""


def compiled_modules(root: Path) -> list[Path]:
    """The files below a project's root that are compiled, from there."""
    package = root / "tolcost"
    found = [file for part in PARTS for file in sorted((package / part).glob("*.py"))]
    named = [file.relative_to(package) for file in found if not file.name.startswith("__")]
    chosen = [name for name in named if name.as_posix() not in INTERPRETED]
    return [Path("tolcost") / name for name in (*chosen, *map(Path, MODULES))]


def copy(root: Path, target: Path) -> None:
    """Copy the package of a project, with links to what is beside it; hidden folders stay behind."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "tolcost", target / "tolcost", ignore=shutil.ignore_patterns("__pycache__"))
    for entry in root.iterdir():
        hidden = entry.is_dir() and entry.name.startswith(".") and entry.name != ".ci"
        if not hidden and entry.name not in ("tolcost", "build", "dist"):
            (target / entry.name).symlink_to(entry.resolve())


def compile_tree(root: Path, optimise: bool) -> None:
    """Compile the modules of a copy in place, and put the extensions beside them."""
    from mypyc.build import mypycify

    modules = compiled_modules(root)
    sources = {module: (root / module).read_text("utf-8") for module in modules}
    before = Path.cwd()
    os.chdir(root)
    try:
        for module, text in sources.items():
            module.write_text(written_out(text), "utf-8")
        settings = Path("build", "mypyc.ini")
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(_SETTINGS, "utf-8")
        extensions = mypycify(
            ["--config-file", str(settings), *map(str, modules)],
            opt_level="3" if optimise else "0",
            debug_level="0",
            multi_file=True,
            group_name=SHARED,
        )
        for extension in extensions:
            extension.extra_compile_args += _DIRECT
        _build(extensions)
    finally:
        for module, text in sources.items():
            module.write_text(text, "utf-8")
        os.chdir(before)


def extensions_of(root: Path) -> list[Path]:
    """The files that compiling adds, from the root of a copy."""
    found = [
        *root.glob(f"{SHARED}__mypyc.*"),
        *(root / "tolcost").rglob("*.so"),
        *(root / "tolcost").rglob("*.pyd"),
    ]
    return sorted(file.relative_to(root) for file in found)


def _build(extensions: list[Any]) -> None:
    """Let setuptools compile, as many files at a time as there are processors."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class Build(build_ext):  # type: ignore[misc]  # setuptools has no types
        def build_extensions(self) -> None:
            compile_some = self.compiler.compile

            def compile_all(sources: list[str], *args: Any, **options: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    made = list(pool.map(lambda source: compile_some([source], *args, **options), sources))
                return [item for items in made for item in items]

            self.compiler.compile = compile_all
            super().build_extensions()

    command = Build(Distribution({"name": SHARED, "ext_modules": extensions, "packages": []}))
    command.inplace = True
    command.ensure_finalized()
    command.run()
