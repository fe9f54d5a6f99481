"""What starting costs: nothing heavy is loaded before it is needed."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HEAVY = ("sympy", "onnx", "pandas", "numpy", "lark", "ml_dtypes", "jinja2")
LOWERING = ("tolcost.syntax.parser", "tolcost.elaborate.expressions", "tolcost.models.lowering")
"""What reads and compiles definitions."""
MATMUL = str(Path(__file__).parent / "programs" / "matmul.tol")

LOADED = """
import sys
{work}
print(",".join(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


def loaded(work: str, heavy: tuple[str, ...] = HEAVY) -> set[str]:
    script = LOADED.format(work=work, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.strip().split(",")) - {""}


@pytest.mark.parametrize(
    "work",
    [
        "import tolcost",
        "from tolcost.cli import run; run(['--help'])",
        "from tolcost.cli import run; run(['nonsense'])",
        "from tolcost.cli import run; run(['explain', 'T0206'])",
        f"from tolcost.cli import run; run(['analyze', {MATMUL!r}, '--symbolic'])",
        f"from tolcost.cli import run; run(['analyze', {MATMUL!r}, '--dim', 'n=2', '--format', 'json'])",
        f"from tolcost.cli import run; run(['explain', {MATMUL!r}])",
        f"from tolcost.cli import run; run(['lower', {MATMUL!r}])",
        f"from tolcost.cli import run; run(['fmt', '--check', {MATMUL!r}])",
    ],
)
def test_nothing_heavy_is_loaded(work: str) -> None:
    assert (
        loaded("import io, sys; sys.stderr = io.StringIO()\n" + work + "\nsys.stderr = sys.__stderr__")
        == set()
    )


@pytest.mark.parametrize("name", ["resnet50", "densenet121"])
def test_a_common_model_needs_neither_onnx_nor_definitions(name: str) -> None:
    spec = find_spec("onnx")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    work = f"from tolcost.cli import run; run(['model', {str(file)!r}])"
    assert loaded(work, (*HEAVY, *LOWERING)) == set()


def test_definitions_are_compiled_without_onnx() -> None:
    bert = Path(__file__).parents[2] / "examples" / "bert.onnx"
    assert loaded(f"from tolcost.cli import run; run(['model', {str(bert)!r}])") == set()


@pytest.mark.parametrize("first", ["import onnx", "import tolcost.catalogue.messages"])
def test_messages_are_those_of_onnx(first: str) -> None:
    work = "import onnx, tolcost.catalogue.messages as m; assert m.ModelProto is onnx.ModelProto"
    assert loaded(f"{first}; {work}", ()) == set()


def test_the_table_of_commands_is_true() -> None:
    import click

    from tolcost.cli import COMMANDS, group

    context = click.Context(group, **group.context_settings)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert isinstance(command, click.Command)
        assert command.help


def test_the_version_is_the_package_s() -> None:
    import tomllib

    import tolcost

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert tolcost.__version__ == project["project"]["version"]
