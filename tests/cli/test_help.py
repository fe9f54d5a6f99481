"""Every example in ``--help`` is a command line that works."""

import shlex
import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import numpy
import onnx
import pytest

from tolcost.cli import COMMANDS, applications, group, run
from tolcost.cli.options import Command
from tools.models import graphs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def _commands() -> dict[str, Command]:
    context = click.Context(group, **group.context_settings)
    names = (*COMMANDS, *(name for name, *_ in applications()))
    found = {name: group.get_command(context, name) for name in names}
    return {name: command for name, command in found.items() if isinstance(command, Command)}


EXAMPLES = [(name, example) for name, command in _commands().items() for example in command.examples]
NOT_RUN = {
    "tolcost ops": "it derives the forms of all operators",
    "tolcost ops --format json": "it derives the forms of all operators",
    "tolcost ops Conv Gemm --verify": "it runs ONNX's tests",
    "tolcost verify": "it runs all of ONNX's tests",
    "tolcost referee": "it judges all formulas",
    "tolcost referee --format csv -o referee.csv": "it judges all formulas",
    "tolcost referee mine.toml": "tests/referee has such files",
    "tolcost alternatives": "it compares all algorithms",
    "tolcost alternatives MatMul --verify": "it runs ONNX's tests",
    "tolcost verify --format json --output verify.json": "it runs all of ONNX's tests",
    "tolcost verify --general MaxPool": "it derives general forms",
    "tolcost verify --domain com.microsoft": "it runs all cases of a domain",
    "tolcost verify Softmax Conv --verbose": "it runs ONNX's tests",
}
"""What takes longer than a test may; these examples are only parsed."""
ONLY_PARSED = ("report", "fleet", "torch", "lsp", "mcp", "check", "accept")
"""Commands that serve, or need a repository, torch, a network or minutes; the tests of each run it."""
SOFTMAX = "tol x: R [...]\nattr axis: Z = 1\ny := map(x, exp(*) * axis)\n"
OTHER_FILES = ("detector.onnx", "decoder.onnx", "strassen.json", "product.json", "s3://")
"""Files that examples name and that stand for a user's own."""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that examples name."""
    shutil.copy(ROOT / "specs" / "examples" / "matmul.tol", tmp_path)
    shutil.copy(ROOT / "specs" / "circuits" / "horner.tol", tmp_path)
    for name in ("orders.csv", "lines.csv", "tables.toml", "query.sql"):
        shutil.copy(HERE / "programs" / name, tmp_path)
    for name in ("old.tol", "new.tol"):
        shutil.copy(tmp_path / "matmul.tol", tmp_path / name)
    numpy.save(tmp_path / "b.npy", numpy.ones((2, 2)))
    (tmp_path / "t.csv").write_text("a,b,k\n1,2,3\n4,5,6\n")
    (tmp_path / "u.csv").write_text("k,c\n3,1\n")
    (tmp_path / "schema.toml").write_text('[t]\na = "Z"\nb = "R"\n[orders]\nid = "Z"\nprice = "R"\n')
    (tmp_path / "softmax.tol").write_text(SOFTMAX)
    (tmp_path / "config.json").symlink_to(ROOT / "specs" / "serving" / "models" / "llama3-8b.json")
    (tmp_path / "bert.onnx").symlink_to(ROOT / "examples" / "bert.onnx")
    for name in ("old", "new", "gpt2"):
        onnx.save(graphs.bert(17, graphs.SMALL), tmp_path / f"{name}.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_has_examples() -> None:
    for name, command in _commands().items():
        assert command.examples or name == "mcp", name
        assert all(example.startswith(f"tolcost {name}") for example in command.examples), name


@pytest.mark.parametrize("name, example", EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_works(
    name: str, example: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(example)[1:]
    if "<" in words:
        at = words.index("<")
        given = TextIOWrapper(BytesIO((folder / words[at + 1]).read_bytes()))
        monkeypatch.setattr(sys, "stdin", given)
        words = words[:at]
    _commands()[name].make_context(name, words[1:], parent=click.Context(group, **group.context_settings))
    capsys.readouterr()
    if name not in ONLY_PARSED and example not in NOT_RUN and not any(one in example for one in OTHER_FILES):
        assert run(words) in (0, 1), capsys.readouterr().err


def test_an_option_is_told_in_a_line() -> None:
    """Apart from lists of names, which are as long as they are."""
    for name, command in _commands().items():
        for option in command.params:
            told = getattr(option, "help", None) or ""
            assert len(told.partition(": ")[0]) <= 76, (name, told)
