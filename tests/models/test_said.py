"""What a user says of a model's lengths means one thing: a length, a number in a tensor, or nothing."""

from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost.cli import run

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g '
TOP = "(float[n, m] x, int64[1] k) => (float[n, o] z, int64[n, o] i) { z, i = TopK(x, k) }"
EXPAND = "(float[n, 1] x, int64[2] s) => (float[a, b] z) { z = Expand(x, s) }"
ADD = "(float[n, m] x, float[n, m] y) => (float[n, m] z) { z = Add(x, y) }"


def stored(folder: Path, text: str) -> str:
    file = folder / "m.onnx"
    file.write_bytes(parse_model(HEAD + text).SerializeToString())
    return str(file)


def test_a_number_in_a_tensor_is_not_called_as_its_length(tmp_path: Path) -> None:
    """`k[0]` is the length of `k`, which the file fixes: the first number in it could not be said."""
    cost = tolcost.load_model(stored(tmp_path, TOP))
    assert set(cost.symbols) == {"n", "m", "k{0}"}
    assert cost({"n": 3, "m": 5, "k{0}": 2}).eops == 2 * 2 * 5 * 3
    with pytest.raises(tolcost.Rejected, match=r"outside its range|break a condition"):
        cost({"n": 3, "m": 5, "k{0}": 6})


def test_a_number_that_is_a_length_is_held_to_it(tmp_path: Path) -> None:
    cost = tolcost.load_model(stored(tmp_path, EXPAND))
    assert cost({"n": 3, "s{0}": 3, "s{1}": 4}).bytes == 4 * (3 + 3 * 4)
    assert cost({"s{0}": 3, "s{1}": 4}).bytes == 4 * (3 + 3 * 4)
    assert cost({"n": 1, "s{0}": 5, "s{1}": 4}).bytes == 4 * (1 + 5 * 4)
    with pytest.raises(tolcost.Rejected, match=r"makes `s.0.` and `n` equal, but they are 2 and 3"):
        cost({"n": 3, "s{0}": 2})


@pytest.mark.parametrize(
    "said, told",
    [
        (["--shape", "x=99999999999999,3"], "`x[0]` = 99,999,999,999,999 is outside its range"),
        (["--shape", "x=1e3,2"], "`1e3` in the shape of `x` is no length"),
        (["--shape", "x=-1,2"], "`x[0]` = -1 is outside its range 0..2,147,483,646"),
        (["--dim", "n=99999999999999999999"], "`n` = 99,999,999,999,999,999,999 is outside its range"),
        (["--dim", "n=-1"], "`n` = -1 is outside its range 0..2,147,483,646"),
        (["--dim", "n=1e3"], "--dim n needs a whole number, not '1e3'"),
        (["--dim", "|x|=q"], "there is no length `|x|`"),
    ],
)
def test_what_is_no_length_is_refused_with_its_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: list[str], told: str
) -> None:
    """A number that is too large was taken for a name, of a length of 1."""
    assert run(["model", stored(tmp_path, ADD), *said]) == 2
    assert told in capsys.readouterr().err


def test_a_rank_that_is_not_known_is_asked_for_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = parse_model(HEAD + "(float[n] here) => (float[n] z) { z = Exp(here) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    file = tmp_path / "m.onnx"
    file.write_bytes(model.SerializeToString())
    assert run(["model", str(file)]) == 2
    assert "--shape here=..." in capsys.readouterr().err


def test_a_version_that_nothing_defines_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tolcost ops Acos` shows a definition: that there is none is true of the first versions alone."""
    text = '<ir_version: 3, opset_import: ["" : 6]> g (float[n] x) => (float[n] z) { z = Acos(x) }'
    file = tmp_path / "m.onnx"
    file.write_bytes(parse_model(text).SerializeToString())
    assert run(["model", str(file)]) == 3
    assert "Acos is not costed: it has no definition before version 7" in capsys.readouterr().out


def test_a_model_without_a_version_is_told_which_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = parse_model(HEAD + ADD)
    del model.opset_import[:]
    file = tmp_path / "m.onnx"
    file.write_bytes(model.SerializeToString())
    assert run(["model", str(file)]) == 0
    assert "opset       the model names none  the newest definitions are taken\n" in capsys.readouterr().out
