"""The Python API: sympy expressions and exact integers, the same as the command line's."""

import json
import math
from pathlib import Path

import pytest
import sympy

import tolcost
from tolcost.cli import run

PROGRAMS = Path(__file__).parents[1] / "cli" / "programs"
MATMUL = PROGRAMS / "matmul.tol"


def test_expressions_are_sympy_s() -> None:
    result = tolcost.analyze(MATMUL)
    n, k, m = (sympy.Symbol(name, integer=True, positive=True) for name in "nkm")
    assert result.eops == 2 * k * m * n
    assert result.flops == result.eops
    assert result.macs == k * m * n
    assert result.histogram == {("add", "R"): k * m * n, ("mul", "R"): k * m * n}
    assert result.atoms["lambda"] == result.eops
    assert result.depth == k + 1
    assert result.depth_tree == sympy.ceiling(sympy.log(k + 1, 2)) + 1
    assert result.parallelism == 2 * k * m * n / (k + 1)
    assert result.bytes == 4 * (k * m + k * n + m * n)
    assert (result.status, result.conditions, result.warnings) == ("exact", (), ())
    assert result._repr_latex_() == "$2 k m n$"
    assert repr(result) == "<Cost matmul: 2*k*m*n EOPs, exact>"


def test_numbers_are_exact_integers() -> None:
    result = tolcost.analyze(str(MATMUL))
    found = result.at(n=10**9, k=10**9, m=10**9)
    assert found.eops == 2 * 10**27
    assert found.histogram["add", "R"] == 10**27
    assert found.depth_tree == math.ceil(math.log2(10**9 + 1)) + 1
    assert result.at({"n": 1, "k": 2}, m=3).eops == 12


@pytest.mark.parametrize(
    "dims, code", [({"n": 1}, "T0345"), ({"n": 0, "k": 1, "m": 1}, "T0343"), ({"q": 1}, "T0412")]
)
def test_lengths_are_checked(dims: dict[str, int], code: str) -> None:
    with pytest.raises(tolcost.Rejected) as caught:
        tolcost.analyze(MATMUL).at(dims)
    assert caught.value.diagnostics[0].code == code


def test_dims_are_put_in_place() -> None:
    result = tolcost.analyze(MATMUL, dims={"n": 2, "k": 3})
    assert result.eops == 12 * sympy.Symbol("m", integer=True, positive=True)
    assert result.depth == 4
    assert result.at(m=5).eops == 60


def test_text_or_file() -> None:
    assert tolcost.analyze("y := 1 + 1").eops == 0
    assert tolcost.analyze(MATMUL.read_text(encoding="utf-8")).name == "<text>"
    with pytest.raises(tolcost.Rejected):
        tolcost.analyze("nowhere.tol")


def test_shapes_and_attributes() -> None:
    anyrank = PROGRAMS / "anyrank.tol"
    assert tolcost.analyze(anyrank, shapes={"x": ("n", 4)}).at(n=3).eops == 12
    assert tolcost.analyze(anyrank, shapes={"x": (2, 2)}, attrs={"kind": "steep"}).eops == 8
    stack = tolcost.analyze(PROGRAMS / "stack.tol", shapes={"xs": (("n",), ("n",))})
    assert stack.at(n=7).eops == 7
    for wrong in ({"x": (-1,)}, {"x": ("n m",)}, {"nothing": ("n",)}, {"x": ("n", ("m",))}):
        with pytest.raises(tolcost.Rejected):
            tolcost.analyze(anyrank, shapes=wrong)  # type: ignore[arg-type]


def test_frames_hold_exact_integers() -> None:
    frame = tolcost.analyze(MATMUL, dims={"n": 10**9, "k": 10**9, "m": 10**9}).to_frame()
    row = frame[(frame.metric == "eops") & (frame["item"] == "")].iloc[0]
    assert row["form"] == "2*k*m*n"
    assert row["value"] == 2 * 10**27
    assert tolcost.analyze(MATMUL).to_frame()["value"].isna().all()


def test_the_command_line_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(MATMUL), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(tolcost.analyze(MATMUL).to_json())
    assert run(["analyze", str(MATMUL)]) == 0
    assert capsys.readouterr().out == str(tolcost.analyze(MATMUL))


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError):
        _ = tolcost.nothing  # type: ignore[attr-defined]
    assert {"analyze", "Cost", "Rejected"} <= set(dir(tolcost))


def test_what_follows_from_a_length_does_not_stay() -> None:
    """n_share is n over parts; it is another one where n is."""
    shares = tolcost.analyze(PROGRAMS / "shares.tol", dims={"n": 12, "parts": 3})
    assert shares.at(n=24).eops == tolcost.analyze(PROGRAMS / "shares.tol").at(n=24, parts=3).eops
