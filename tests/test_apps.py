"""The core works with any application removed, and what an application brings goes with its folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tolcost import apps

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.parent.name for path in (ROOT / "tolcost" / "apps").glob("*/__init__.py"))
CORE = """
import importlib, pathlib, sys
import tolcost
root = pathlib.Path(tolcost.__file__).parent
for path in sorted(root.rglob("*.py")):
    parts = path.relative_to(root.parent).with_suffix("").parts
    if "apps" not in parts and parts[-1] != "__main__":
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
from tolcost.cli import run
commands = sys.argv[1:]
codes = [run(command.split()) for command in commands]
print(codes)
"""
COMMANDS = (
    "--help",
    "analyze specs/examples/matmul.tol --symbolic",
    "explain specs/examples/softmax.tol",
    "diff p.tol p.tol",
    "run specs/examples/matmul.tol --dim n=2 --dim k=2 --dim m=2 --count --random",
    "ops Relu",
    "verify Relu",
    "model examples/bert.onnx",
    "check --update",
    "check",
)


GREETING = """
import click

@click.command()
def command() -> int:
    click.echo("hello")
    return 0
"""


@pytest.fixture
def without(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The package without one application, by links to everything else."""
    inside = tmp_path / "tolcost" / "apps"
    inside.mkdir(parents=True)
    for folder in (ROOT / "tolcost", ROOT / "tolcost" / "apps"):
        for path in folder.iterdir():
            if path.name not in ("apps", "__pycache__", request.param):
                (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    for name in ("specs", "docs", "reports", "examples"):
        if (ROOT / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "p.tol").write_text("tol x: R [n]\ny := map(x, exp(*))\n", "utf-8")
    (tmp_path / "tolcost.toml").write_text('paths = ["p.tol"]\n', "utf-8")
    return tmp_path


@pytest.mark.parametrize("without", NAMES, indirect=True, ids=NAMES)
def test_the_core_works_without(without: Path, request: pytest.FixtureRequest) -> None:
    removed = request.node.callspec.id
    env = {**os.environ, "PYTHONPATH": str(without)}
    done = subprocess.run(
        [sys.executable, "-c", CORE, *COMMANDS],
        cwd=without, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == [str([0] * len(COMMANDS))], done.stderr[-2000:]
    brought = [name for name, (module, _) in apps.COMMANDS.items() if module.startswith(f"{removed}.")]
    listed = {line.split()[0] for line in done.stdout.partition("Exit codes")[0].splitlines() if line.strip()}
    assert brought
    assert not listed.intersection(brought)
    assert listed.issuperset(set(apps.COMMANDS) - set(brought))


def test_every_application_is_in_the_table() -> None:
    rows = [module for module, _ in apps.COMMANDS.values()]
    assert {module.partition(".")[0] for module in rows} == set(NAMES)


def test_an_application_is_a_folder_and_a_row(tmp_path: Path) -> None:
    """The command line lists it, runs it, and suggests it where its name is misspelt."""
    inside = tmp_path / "tolcost" / "apps"
    inside.mkdir(parents=True)
    for folder in (ROOT / "tolcost", ROOT / "tolcost" / "apps"):
        for path in folder.iterdir():
            if path.name not in ("apps", "__pycache__") and path != ROOT / "tolcost" / "apps" / "__init__.py":
                (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    table = (ROOT / "tolcost" / "apps" / "__init__.py").read_text("utf-8")
    row = '        "greet": ("greeting.command", "Say hello."),\n'
    (inside / "__init__.py").write_text(
        table.replace('        "torch": (', f'{row}        "torch": (', 1), "utf-8"
    )
    (inside / "greeting").mkdir()
    (inside / "greeting" / "__init__.py").write_text('"""Greetings."""\n', "utf-8")
    (inside / "greeting" / "command.py").write_text(GREETING, "utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "tolcost", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "greet         Say hello." in run("--help")
    assert run("greet") == "hello\n"
    assert "Did you mean greet?" in run("gret")
