"""Whatever is shown on a terminal fits its width, and no number is ever cut."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.models.walking import Session
from tools.models import graphs

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "specs" / "examples"
WIDTHS = (60, 80, 120, 200)
WIDE = 100_000
NOTE = "… is more than fits"
COMMANDS = (
    "analyze attention.tol im2col.tol windows.tol --symbolic",
    "analyze matmul.tol --dim k=4096 --dim m=100003 --sweep n=1,3,1000..1000000",
    "analyze matmul.tol --dim n=4096 --dim k=64 --device h200 --weights energy-45nm",
    "model bert.onnx",
    "model bert.onnx --exact --sort name --metric eops,macs,bytes",
    "model bert.onnx --by node --columns op,type,shape,nodes,eops,flops,macs,bytes,parameters,share --exact",
    "model bert.onnx --depth 3 --columns nodes,eops,flops,macs,bytes,parameters,intensity,cumulative,form",
    "model bert.onnx --symbolic --device h200 --sweep seq=1,7,16",
    "model bert.onnx --train adamw",
    "plan --model gpt2-medium --devices h100,h200,mi300x",
    "diff attention.tol causal_attention.tol",
    "diff bert.onnx deeper.onnx",
    "diff bert.onnx deeper.onnx --dim batch=1 --dim seq=16",
    "explain attention.tol",
    "explain im2col.tol",
    "ops Softmax Conv",
    "ops --library matlang",
    "ops --library all",
    "fleet bert.onnx deeper.onnx --jobs 1",
    "referee fvcore/",
    "referee torch/mm",
    "check",
    "sql query.sql --tables tables.toml",
    "alternatives Softmax",
)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Programs, models, and a project with a program that has become costlier."""
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(HERE / "programs", folder, dirs_exist_ok=True)
    for name in ("attention.tol", "causal_attention.tol"):
        shutil.copy(EXAMPLES / name, folder)
    onnx.save(graphs.bert(17, graphs.SMALL), folder / "bert.onnx")
    onnx.save(graphs.deeper_bert(), folder / "deeper.onnx")
    project = folder / "project"
    project.mkdir()
    (project / "tolcost.toml").write_text('budgets = { "a.tol" = ["eops <= 2*s*s"] }\n')
    shutil.copy(EXAMPLES / "causal_attention.tol", project / "a.tol")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert run(["check", "--update"]) == 1
        shutil.copy(EXAMPLES / "attention.tol", project / "a.tol")
        shared = Session(open_library())
        for part in ("cli.model", "models.walking"):
            patch.setattr(f"tolcost.{part}.Session", lambda _: shared)
        yield folder


@pytest.mark.parametrize("command", COMMANDS)
def test_everything_fits(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder / "project" if command == "check" else folder)

    def shown(width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert run(command.split()) in (0, 1, 3), capsys.readouterr().err
        return capsys.readouterr().out

    whole = set(_numbers(shown(WIDE)))
    for width in WIDTHS:
        text = shown(width).partition("\nDefinition, ")[0]  # programs are quoted as they are
        for line in text.splitlines():
            assert len(line) <= width or " " not in line.strip(), f"{width}: {line}"
        for number in set(_numbers(text)) - whole:  # the leading terms of a form have numbers of their own
            longer = [one for one in whole if len(number) > 2 and one.startswith(number)]
            assert not longer, f"{width}: {number} is cut from {longer}"
        if NOTE in text:
            assert text.replace(NOTE, "").count("…") > 0, width


def _numbers(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])\d[\d,.]*(?<=\d)", text)
