"""The Python API: sympy expressions and exact integers, the same as the command line's."""

import copy
import doctest
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import pytest
import sympy

import tolcost
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.elaborate.inputs import PlainValue
from tolcost.testing import assert_cost

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "cli" / "programs"
MATMUL = PROGRAMS / "matmul.tol"
BERT = str(Path(__file__).parents[2] / "examples" / "bert.onnx")


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


def test_numbers_say_what_they_are() -> None:
    bounded = tolcost.analyze("tol x: R [n]\ny := choose(x[1] > 0, map(x, exp(*)), x)")
    assert (bounded(n=3).status, bounded(n=[3, 4]).status) == ("upper bound", "upper bound")
    assert (tolcost.analyze(MATMUL)(n=1, k=2, m=3).status, bounded(n=3).eops) == ("exact", 4)
    assert tolcost.sweep(bounded, n=[3, 4], metrics="eops").to_dict("list") == {
        "n": [3, 4],
        "eops": [4, 5],
        "status": ["upper bound", "upper bound"],
    }


def test_a_model_in_memory_is_no_file_and_a_file_no_model_in_memory() -> None:
    with pytest.raises(Rejected, match="from_onnx"):
        tolcost.load_model(onnx.ModelProto())  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="load_model"):
        tolcost.from_onnx(BERT)  # type: ignore[arg-type]


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


# ---- many points at once ---------------------------------------------------------------------


def test_many_points_are_the_points_one_by_one() -> None:
    cost = tolcost.analyze(PROGRAMS / "windows.tol")
    sizes = np.arange(1, 40)
    found = cost(n=sizes[:, None], k=[[1, 2]], s=3)
    assert found.eops.shape == (39, 2)
    for key in ("eops", "bytes", "depth", "intensity"):
        one_by_one = [[cost(n=int(n), k=k, s=3)[key] for k in (1, 2)] for n in sizes]
        assert found[key].tolist() == one_by_one
    assert found.eops.dtype == np.int64


def test_many_points_are_held_to_the_conditions() -> None:
    cost = tolcost.analyze(PROGRAMS / "windows.tol", dims={"s": 1})
    with pytest.raises(tolcost.Rejected) as caught:
        cost(n=[9, 1], k=9)
    assert (caught.value.code, caught.value.hint) == ("T0344", "it needs n + s >= k")
    assert "at s = 1, n = 1, k = 9" in caught.value.message
    with pytest.raises(tolcost.Rejected, match="no value is given for `k`"):
        cost(n=[9, 1])
    with pytest.raises(TypeError):
        cost(n=[1.5], k=1)  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        _ = cost(n=[9], k=9).nothing


def test_what_follows_from_lengths_is_found_at_many_points_too() -> None:
    shares = tolcost.analyze(PROGRAMS / "shares.tol")
    assert shares(n=[12, 24], parts=3).eops.tolist() == [shares(n=n, parts=3).eops for n in (12, 24)]


def test_large_numbers_stay_exact_in_columns() -> None:
    found = tolcost.analyze(MATMUL)(n=[1, 2 * 10**9], k=2 * 10**9, m=2 * 10**9)
    assert found.eops.tolist() == [8 * 10**18, 16 * 10**27]


# ---- frames, notebooks, pictures -----------------------------------------------------------------


def test_frames_have_types() -> None:
    cost = tolcost.analyze(MATMUL)
    assert sum(cost.by("line").eops) == cost.eops
    there = cost.subs(n=2, k=3, m=4).by("op")
    assert there.dtypes.astype(str).to_dict() == {
        "op": "str",
        "nodes": "int64",
        **dict.fromkeys(("eops", "flops", "macs", "bytes"), "int64"),
        "share": "float64",
        "status": "category",
    }
    assert there.eops.tolist() == [48]
    assert cost.subs(n=10**9, k=10**9, m=10**9).by("op").eops.tolist() == [2 * 10**27]


def test_a_sweep_says_what_is_outside() -> None:
    frame = tolcost.sweep(PROGRAMS / "windows.tol", {"k": [1, 9]}, n="1..4", s=1, metrics=("eops", "depth"))
    assert frame.dtypes.astype(str)[["k", "eops", "outside"]].to_dict() == {
        "k": "int64",
        "eops": "Int64",
        "outside": "str",
    }
    inside = frame[frame.outside == ""]
    cost = tolcost.analyze(PROGRAMS / "windows.tol")
    assert inside.eops.tolist() == [cost(n=n, k=k, s=1).eops for n, k in zip(inside.n, inside.k, strict=True)]
    assert set(frame[frame.k == 9].outside) == {"it needs n + s >= k"}
    for wrong in ({"metrics": ["speed"]}, {"n": "4..1"}, {"n": "many"}, {"length": 1}):
        with pytest.raises(tolcost.Rejected):
            tolcost.sweep(MATMUL, **{"n": 1, "k": 1, "m": 1, **wrong})  # type: ignore[arg-type]


def test_a_sweep_over_a_length_that_a_model_has_not_is_refused() -> None:
    with pytest.raises(tolcost.Rejected, match="no length `sequence`"):
        tolcost.sweep(BERT, batch=[1, 2], sequence=128)


@pytest.mark.parametrize("by", ["layer", "ops", ""])
def test_parts_that_there_are_not_are_refused(by: str) -> None:
    with pytest.raises(tolcost.Rejected, match="a program has parts by op, scope, node, line"):
        tolcost.analyze(MATMUL).by(by)


def test_notebooks_see_formulas_and_nothing_from_outside_becomes_markup(tmp_path: Path) -> None:
    shown = tolcost.analyze(MATMUL)._repr_html_()
    assert "<math>" in shown
    assert "exact" in shown
    evil = tmp_path / "<script>.tol"
    evil.write_text(MATMUL.read_text("utf-8"), "utf-8")
    assert "<script>" not in tolcost.analyze(evil)._repr_html_()


def test_notebooks_see_a_comparison_as_the_command_tells_it() -> None:
    found = tolcost.diff("tol x: R [n]\ny := map(x, exp(*))", "tol x: R [n]\ny := map(x, exp(exp(*)))")
    assert repr(found) == "<CostComparison <text> -> <text>: more EOPs for all lengths>"
    assert found._repr_html_().startswith(
        '<div class="tolcost"><p>&lt;text&gt; -&gt; &lt;text&gt;: more EOPs'
    )
    assert f"<main>{found._repr_html_()}</main>" in found.written("html")


def test_times_are_shown_without_all_that_is_known_of_the_device(bert: tolcost.Cost) -> None:
    shown = repr(bert.time("h200"))
    assert shown.startswith("<CostTime h200: ")
    assert "Fitted" not in shown
    assert "Max(seq - 512, 0)" not in shown


def test_times_are_printed_with_their_units(bert: tolcost.Cost) -> None:
    time = bert.subs(**dict.fromkeys(bert.symbols, 8)).time("h200")
    microseconds = float(time.predicted)
    assert "/" not in repr(time) + str(time)
    (line,) = [line for line in str(time).splitlines() if line.startswith("predicted")]
    value, unit = line.split()[1:]
    assert float(value) * {"µs": 1, "ms": 1000}[unit] == pytest.approx(microseconds, rel=0.01)
    assert f"{value} {unit} predicted" in repr(time)


def test_pictures_show_the_numbers() -> None:
    cost = tolcost.analyze(PROGRAMS / "windows.tol", dims={"s": 1})
    axes = cost.subs(k=9).plot(values=[1, 2, 8, 16])
    assert axes.lines[-1].get_xdata().tolist() == [8, 16]
    assert axes.lines[-1].get_ydata().tolist() == [cost(n=n, k=9).eops for n in (8, 16)]
    bars = cost.subs(n=8, k=3).plot(metric="bytes")
    assert [bar.get_width() for bar in bars.patches] == [cost(n=8, k=3).bytes]
    for wrong in ({}, {"over": "n"}, {"over": "n", "metric": "speed"}):
        with pytest.raises(tolcost.Rejected):
            cost.plot(**wrong)  # type: ignore[arg-type]


def test_pictures_mark_where_lines_cross_and_where_a_condition_ends_them() -> None:
    cost = tolcost.load_model(ROOT / "examples" / "llama.onnx").subs(batch=1)
    axes = cost.plot("seq", metric="macs", values=[256, 4096], top=3)
    (found,) = [text.get_text() for text in axes.texts]
    crossing = int(found.removeprefix("seq = ").replace(",", ""))
    macs = [cost.subs(seq=value).by("op").set_index("op").macs for value in (crossing - 1, crossing)]
    assert [frame["Attention"] > frame["MatMul"] for frame in macs] == [False, True]
    bert = tolcost.load_model(ROOT / "examples" / "bert.onnx").subs(batch=1)
    ended = bert.plot("seq", metric="macs", values=[256, 512, 1024])
    assert [text.get_text() for text in ended.texts] == ["seq <= 512"]


def test_pictures_mark_where_two_costs_cross() -> None:
    square = tolcost.analyze("tol x: R [n]\ny := map(tol[n, n], x[i] + x[j], [i, j])")
    line = tolcost.analyze("tol x: R [n]\nattr c: N\ny := map(tol[n, c], exp(x[i]), [i, j])").subs(c=100)
    values = [1, 64, 1024]
    axes = square.plot(label="square", values=values)
    line.plot(label="line", values=values, axes=axes)
    assert [text.get_text() for text in axes.texts] == ["square overtakes line at n = 101"]
    assert [square(n=n).eops > line(n=n).eops for n in (100, 101)] == [False, True]
    assert [(mark.get_xdata()[0], mark.get_ydata()[0]) for mark in axes.lines[2:]] == [
        (101, square(n=101).eops)
    ]
    for apart in ({"metric": "bytes"}, {"values": [1, 64]}):  # other figures, and a range that ends before
        axes = square.plot(label="square", values=values)
        line.plot(label="line", **{"values": values, **apart}, axes=axes)  # type: ignore[arg-type]
        assert not axes.texts


def test_what_is_not_known_is_not_drawn() -> None:
    """The bytes of texts were drawn as 0."""
    cost = tolcost.analyze("tol a: string [n]\ny := map(tol[n], eq(a[i], a[1]), [i])")
    for one in (cost, cost.subs(n=3)):
        with pytest.raises(Rejected, match="bytes of `<text>` are not known"):
            one.plot(metric="bytes")


# ---- operators, models in memory, errors, the tests of others ------------------------------------


def test_operators_cost_what_the_catalogue_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ops", "Softmax", "--format", "json"]) == 0
    for row in json.loads(capsys.readouterr().out)["operators"][0]["forms"]:
        assert str(tolcost.operator("Softmax", row["rank"]).eops) == row["eops"]
    strided = tolcost.operator(
        "Conv", shapes={"X": ("n", 3, 32, 32), "W": (8, 3, 3, 3)}, attrs={"strides": [2, 2]}
    )
    assert strided(n=1).macs == 8 * 27 * 15 * 15
    for wrong in ("Convolution", "ImageDecoder"):
        with pytest.raises(tolcost.Rejected):
            tolcost.operator(wrong)


def test_errors_carry_code_place_and_hint() -> None:
    with pytest.raises(tolcost.Rejected) as caught:
        tolcost.analyze("tol x: R [n]\ny := map(x, sqt(*))")
    error = caught.value
    assert (error.code, error.place, error.hint) == ("T0201", "<text>:2:13", "did you mean `sqrt`?")
    assert str(error).startswith("error[T0201]")
    assert pickle.loads(pickle.dumps(error)).diagnostics == error.diagnostics  # noqa: S301  # our own bytes


def test_formulas_are_held_to_costs() -> None:
    assert_cost(MATMUL, eops="2*n*k*m", macs="m*n*k", depth="k + 1", bytes="<= 4*(n*k + k*m + m*n)")
    assert_cost(tolcost.analyze(MATMUL), dims={"n": 2, "m": 3}, eops="12*k")
    for wrong in ({"eops": "2*n*k*m + 1"}, {"eops": "<= n*k*m"}, {"eops": 7}, {"status": "upper bound"}):
        with pytest.raises(AssertionError):
            assert_cost(MATMUL, **wrong)  # type: ignore[arg-type]
    for wrong in ({"eops": "q"}, {"speed": "n"}, {"intensity": "n"}):
        with pytest.raises(tolcost.Rejected):
            assert_cost(MATMUL, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted({*tolcost.__all__} - {"__version__"}))
def test_every_public_name_has_an_example(name: str) -> None:
    """Examples are run where the names are defined, with all other doctests."""
    subject = getattr(tolcost, name)
    assert ">>>" in (subject.__doc__ or "")
    assert doctest.DocTestParser().get_examples(subject.__doc__)


def test_assumptions_are_made_at_once() -> None:
    cost = tolcost.analyze(MATMUL).assume("n = 2*k", "m <= 8")
    assert cost(k=3, m=4).eops == 2 * 6 * 3 * 4
    with pytest.raises(tolcost.Rejected):
        cost(k=3, m=9)
    with pytest.raises(tolcost.Rejected):
        cost.assume("k = 4")


def test_a_length_is_a_symbol_with_assumptions() -> None:
    """``Symbol("n")`` is another symbol to sympy: a limit in it was 0, without a word."""
    cost = tolcost.analyze("tol x: R [n, n]\ny := map(x, exp(*) * 3)")
    n = tolcost.symbols("n")
    assert sympy.limit(cost.eops / n**2, n, sympy.oo) == 2
    assert cost.symbol("n") == n in cost.eops.free_symbols
    empty = tolcost.analyze("attr m: N\ntol x: R [m]\ny := map(x, exp(*))")
    assert empty.symbol("m") in empty.eops.free_symbols
    assert empty.symbol("m") != tolcost.symbols("m")  # it may be 0
    with pytest.raises(tolcost.Rejected, match="there is no length `k`"):
        cost.symbol("k")


def test_what_was_meant_is_hinted() -> None:
    with pytest.raises(tolcost.Rejected, match=r"`\*\*` is a power"):
        assert_cost(MATMUL, eops="2*n^3")
    with pytest.raises(TypeError, match=r"`cost.assume\('n = s'\)` puts a formula in its place"):
        tolcost.analyze(MATMUL).subs(n="s")  # type: ignore[arg-type]


def test_a_frame_has_the_names_of_python() -> None:
    metrics = set(tolcost.analyze(MATMUL).to_frame().metric)
    assert "depth" in metrics
    assert "span" not in metrics


MATRIX = "tol x: R [n, k]\nattr s: N* = 2\ny := map(x, * * s)"


@pytest.mark.parametrize("wrong", ["3", 2.0, None])
def test_a_length_is_an_integer(wrong: object) -> None:
    with pytest.raises(TypeError, match="the length `n` is an integer"):
        tolcost.analyze(MATRIX, dims={"n": wrong})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="the length `n` is an integer"):
        tolcost.analyze(MATRIX).subs(n=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [Fraction(7, 2), sympy.Rational(7, 2), 3.7, None, "3", sympy.Symbol("m"), {1}, np.True_]
)
def test_a_length_that_is_no_integer_is_not_brought_to_one(wrong: object) -> None:
    """Alone, among others, and in an array of objects; a sweep does not either."""
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
    objects = np.empty(1, dtype=object)
    objects[0] = wrong
    for given in (wrong, [10**30, wrong], objects):
        with pytest.raises(TypeError, match="the length `n` is an integer, not"):
            cost(n=given)  # type: ignore[call-overload]
        if not isinstance(given, str | set):  # these are several
            with pytest.raises(TypeError, match="the length `n` is an integer, not"):
                tolcost.sweep(cost, n=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("one", [3, np.int64(3), np.array(3), [3], range(3, 4), np.array([3])])
def test_a_sweep_takes_one_length_and_several(one: object) -> None:
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
    assert tolcost.sweep(cost, n=one, metrics="eops").to_numpy().tolist() == [[3, 3]]  # type: ignore[arg-type]


def test_shapes_take_numbers_of_numpy_and_say_what_is_no_length() -> None:
    assert str(tolcost.operator("Relu", shapes={"X": (np.int64(2), "n")}).eops) == "2*n"
    for wrong in (sympy.Symbol("q"), None, 2.5, np.float64(2)):
        with pytest.raises(Rejected, match="in the shape of `X`"):
            tolcost.operator("Relu", shapes={"X": (wrong, "n")})  # type: ignore[dict-item]


def test_a_cost_has_its_figures() -> None:
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
    assert "eops" in cost
    assert "zz" not in cost
    assert {key: cost[key] for key in cost}["eops"] == cost.eops


def test_what_nobody_means_is_told_in_words() -> None:
    with pytest.raises(Rejected, match="the program defines nothing"):
        tolcost.analyze("")
    with pytest.raises(TypeError, match="told by its name"):
        tolcost.operator(None)  # type: ignore[arg-type]
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
    with pytest.raises(Rejected, match="no parts by `None`"):
        cost.by(None)  # type: ignore[arg-type]
    assert "outside its range" in tolcost.sweep(cost, n="2147483640..99999999999")["outside"].iloc[-1]


def test_a_length_that_is_not_there_is_refused_not_ignored() -> None:
    with pytest.raises(Rejected, match="there is no length `q`"):
        tolcost.analyze(MATRIX, dims={"q": 3})
    assert tolcost.analyze(MATRIX, dims={"n": 8}, assume="n = 2*q").point.dims["q"] == 4


def test_an_assumption_may_be_alone_and_is_a_text() -> None:
    assert str(tolcost.analyze(MATRIX, assume="n = 2*q").eops) == "2*k*q"
    with pytest.raises(TypeError, match="an assumption is a text"):
        tolcost.analyze(MATRIX).assume(["n = 2*q"])  # type: ignore[arg-type]


def test_a_figure_that_is_not_there_is_no_figure_that_is_not_known() -> None:
    cost = tolcost.analyze(MATRIX)
    assert cost.params is None
    with pytest.raises(KeyError, match="there is no figure 'eobs'"):
        _ = cost["eobs"]


@pytest.mark.parametrize("value", [np.int64(3), 3.0, Fraction(3), True])
def test_whole_numbers_are_values_of_integers(value: PlainValue) -> None:
    assert tolcost.analyze(MATRIX, attrs={"s": value}).eops == tolcost.analyze(MATRIX).eops


@pytest.mark.parametrize("value", [2.5, math.nan, math.inf, Fraction(1, 2), object(), None])
def test_what_is_no_whole_number_is_not(value: PlainValue) -> None:
    with pytest.raises(Rejected, match="is no value for `s`"):
        tolcost.analyze(MATRIX, attrs={"s": value})


def test_arrays_are_values_and_no_shape_is_a_text() -> None:
    text = "tol x: R [...]\nstatic t: Z [m]\ny := map(x, * * t[1])"
    found = tolcost.analyze(text, shapes={"x": ("n", 3)}, attrs={"t": np.array([4, 5])})
    assert str(found.eops) == "3*n"
    with pytest.raises(Rejected, match="is no shape of `x`"):
        tolcost.analyze(text, shapes={"x": "n,m"}, attrs={"t": [1]})


@pytest.mark.parametrize("shape", ["bs", 5, (2.5, 3)])
def test_the_shape_of_a_model_is_no_text_either(shape: object) -> None:
    with pytest.raises(Rejected, match="is no shape of `input_ids`"):
        tolcost.load_model(BERT, shapes={"input_ids": shape})  # type: ignore[dict-item]


@pytest.mark.parametrize("specs", ["nowhere", ["nowhere"], [BERT]])
def test_a_folder_of_operators_that_is_not_there_is_refused(specs: str | list[str]) -> None:
    with pytest.raises(Rejected, match="there is no folder"):
        tolcost.load_model(BERT, specs=specs)
    own = str(PROGRAMS / "own")
    assert tolcost.operator("Twice", specs=own).eops == tolcost.operator("Twice", specs=[own]).eops


def test_a_program_has_no_runs_and_no_rank_is_below_0() -> None:
    with pytest.raises(Rejected, match="is no model that is run"):
        tolcost.generate(tolcost.analyze(MATRIX), "n: 1..m")
    with pytest.raises(Rejected, match="a rank is 0 or more"):
        tolcost.operator("Softmax", rank=-1)


def test_no_points_have_no_numbers() -> None:
    assert tolcost.analyze(MATRIX)(n=[], k=2).eops.tolist() == []


EXAMPLES = Path(__file__).parents[2] / "examples"
DECODER = Path(__file__).parents[1] / "models" / "exported" / "decoder.onnx"


@pytest.fixture(scope="module")
def bert() -> tolcost.Cost:
    return tolcost.load_model(EXAMPLES / "bert.onnx")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda cost: pickle.loads(pickle.dumps(cost))])  # noqa: S301
def test_costs_are_copied_and_kept(
    bert: tolcost.Cost, copied: Callable[[tolcost.Cost], tolcost.Cost]
) -> None:
    program = tolcost.analyze("tol x: R [n]\ny := map(tol[n - 2], x[i] + x[i + 2], [i])")
    costs = [
        program,
        program.subs(n=4),
        tolcost.operator("Conv"),
        bert,
        bert.subs(seq=7),
        bert.assume("seq = 32*k"),
        tolcost.load_model(EXAMPLES / "bert.onnx", shapes={"input_ids": ("batch", 128)}),
        tolcost.load_model(EXAMPLES / "bert.onnx", dims={"input_ids[0]": 1}),
        tolcost.generate(tolcost.load_model(DECODER, dims={"seq": 1}), "past: p..p+n", "seq=p"),
    ]
    for cost in costs:
        twin = copied(cost)
        assert twin.eops == cost.eops
        assert twin.to_frame().equals(cost.to_frame())
        assert (repr(twin), str(twin), twin.where) == (repr(cost), str(cost), cost.where)
        assert [one.line for one in twin.where] == [one.line for one in cost.where]
    assert copied(program(n=5)) == program(n=5)  # type: ignore[arg-type, comparison-overlap]
    assert copied(program(n=[3, 4])).eops.tolist() == [1, 2]  # type: ignore[arg-type, attr-defined]


def test_a_cost_that_was_kept_is_read_in_another_process(bert: tolcost.Cost) -> None:
    kept = pickle.dumps([bert, tolcost.operator("Relu")])
    read = "import pickle, sys; print([cost.eops for cost in pickle.load(sys.stdin.buffer)])"
    told = subprocess.run([sys.executable, "-c", read], input=kept, capture_output=True, check=True)
    assert told.stdout.decode().strip() == str([bert.eops, tolcost.operator("Relu").eops])


def test_a_cost_that_was_kept_is_no_other_one_by_other_definitions(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    definition = tmp_path / "onnx" / "Relu.tol"
    definition.write_text("operator Relu\ntol X: R [...]\nY := map(X, exp(exp(*)))\n", "utf-8")
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])],
        "own",
        [tensor("x", onnx.TensorProto.FLOAT, ["n"])],
        [tensor("y", onnx.TensorProto.FLOAT, ["n"])],
    )
    cost = tolcost.from_onnx(onnx.helper.make_model(graph), specs=[tmp_path])
    kept = pickle.dumps(cost)
    assert str(pickle.loads(kept).eops) == "2*n"  # noqa: S301
    definition.write_text("operator Relu\ntol X: R [...]\nY := map(X, exp(*))\n", "utf-8")
    with pytest.raises(Rejected, match="T0669"):
        pickle.loads(kept)  # noqa: S301
