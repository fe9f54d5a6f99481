"""The playground's answers, held to what the rest of tolcost says."""

import json
import runpy
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tolcost.algebra import evaluate
from tolcost.apps.editor.playground import answer
from tolcost.apps.editor.small_run import run_small
from tolcost.diagnostics import Rejected, Source
from tolcost.elementary import FUNCTIONS
from tolcost.execute import run_reference
from tolcost.pipeline import lower, read_program
from tolcost.platform import read_spec, spec_names

MATMUL = read_spec("examples", "matmul").text
LINEAR = "tol x: R [n]\ny := map(x, * + 1 + 2 * 3 * 4 * exp(*) + exp(* + 1) + exp(* + 2))\n"
SQUARE = "tol x: R [p]\ny := map(tol[p], reduce(map(x, * * x[i]), add, 0), [i])\n"
TYPED = "tol a: R [n]\n𝛼 = a\ny := map(a, exq(*))\n"


def ask(**request: Any) -> Any:
    return json.loads(answer(json.dumps(request)))


BUILD = runpy.run_path(str(Path(__file__).parents[2] / "site" / "build.py"))
OUTSIDE = """
import json, sys
sys.path.insert(0, {package!r})
from tolcost.apps.editor.playground import answer
asked = {asked!r}
for do in ("analyse", "numbers", "compare", "run", "unroll", "format", "complete", "hover"):
    answer(json.dumps({{**asked, "do": do}}))
"""
MODEL_OUTSIDE = """
import json, sys
sys.path.insert(0, {package!r})
from tolcost.apps.editor.opened_model import answer
told = []
found = json.loads(answer({model!r}, lambda done, of: told.append((done, of))))
assert "exact" in found["page"], found
assert told[0][0] < told[-1][0] <= told[-1][1]
"""


def packed(folder: Path, *parts: str) -> str:
    """What a page has of parts of the site, in a folder; the page brings its own build of msgspec."""
    for part in parts:
        for path, name in BUILD[part]():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    (folder / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    return str(folder)


def test_the_page_s_package_has_all_that_answers_need(tmp_path: Path) -> None:
    asked = {"text": MATMUL, "old": MATMUL, "new": MATMUL, "at": 20, "sweep": "n", "inputs": {}}
    given = {**asked, "dims": dict.fromkeys("nkm", 2)}
    script = OUTSIDE.format(package=packed(tmp_path, "package"), asked=given)
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)


def test_the_page_s_package_of_models_costs_one_without_numpy(tmp_path: Path) -> None:
    model = Path(__file__).parents[1] / "models" / "exported" / "decoder.onnx"
    script = MODEL_OUTSIDE.format(package=packed(tmp_path, "package", "models_package"), model=str(model))
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)


def test_a_program_is_answered_with_all_that_is_shown() -> None:
    found = ask(do="analyse", text=MATMUL)
    assert (found["eops"]["text"], found["status"], found["symbols"]) == ("2*k*m*n", "exact", ["n", "k", "m"])
    assert found["eops"]["math"].startswith("<math>")
    assert [line["eops"] for line in found["lines"]] == ["k*m*n", "k*m*n"]
    assert found["derivation"][0]["steps"][-1]["text"] == "2*k*m*n"


def test_places_are_in_the_units_of_scripts() -> None:
    (told,) = ask(do="analyse", text=TYPED)["diagnostics"]
    units = TYPED.encode("utf-16-le")
    assert units[2 * told["from"] : 2 * told["to"]].decode("utf-16-le") == "exq"
    assert (told["code"], told["line"], told["fix"]["text"]) == ("T0201", 3, "exp")


def test_numbers_are_exact_and_grow() -> None:
    found = ask(do="numbers", text=MATMUL, dims={"n": 10**6, "k": 10**6, "m": 10**6}, sweep="n")
    assert found["figures"]["eops"] == "2000000000000000000"
    assert [row["at"] for row in found["growth"][:3]] == [1, 2, 4]


def test_a_quotient_comes_as_one() -> None:
    """The page read the intensity of Softmax, 0.625, as a whole number, and stopped."""
    found = ask(
        do="numbers", text="tol x: R [n]\ny := map(x, * + 1 + 2 + 3 + 4 + 5)", dims={"n": 8}, sweep="n"
    )
    assert found["figures"]["intensity"] == "5/8"


def test_lengths_start_at_typical_ones() -> None:
    assert ask(do="analyse", text=MATMUL)["example"] == {"n": 1024, "k": 1024, "m": 1024}


def test_two_programs_are_compared_for_all_lengths() -> None:
    found = ask(do="compare", old=MATMUL, new=MATMUL.replace("mul(*, b[*, j])", "exp(mul(*, b[*, j]))"))
    assert (found["verdict"], found["said"]) == ("costlier", "more EOPs for all lengths")


def test_two_programs_have_figures_at_lengths_and_curves_that_cross() -> None:
    """By the names of the old one, whatever the new one calls its lengths."""
    found = ask(do="compare", old=LINEAR, new=SQUARE, dims={"n": 100}, sweep="n")
    whole = found["rows"][0]
    assert (whole["was"], whole["now"], whole["change"]) == (1000, 20000, "+1,900.0 %")
    assert found["point"] == "p = 100"
    for row in found["curves"]:
        assert (row["old"], row["new"]) == (10 * row["at"], 2 * row["at"] ** 2)
    assert found["turns"] == [{"at": 6, "costlier": "new"}]  # 10*5 is 2*5**2
    assert ask(do="compare", old=SQUARE, new=LINEAR, dims={"p": 7}, sweep="p")["turns"] == [
        {"at": 6, "costlier": "old"}
    ]


def test_no_figures_are_shown_where_one_of_two_programs_has_none() -> None:
    halves = "tol x: R [n, 2]\ny := map(x, exp(*))\n"
    least = "tol x: R [n, 2]\ny := map(x[3], exp(*))\n"
    found = ask(do="compare", old=halves, new=least, dims={"n": 1}, sweep="n")
    assert found["point"] is None
    assert found["rows"][0]["was"] is None
    assert 1 not in [row["at"] for row in found["curves"]]
    assert ask(do="compare", old=halves, new=least, dims={"n": 64}, sweep="n")["rows"][0]["now"] == 2


def test_what_cannot_be_done_is_told() -> None:
    assert ask(do="run", text="y := ", dims={}, inputs={})["failed"][0]["code"].startswith("T01")
    wide = ask(do="unroll", text=MATMUL, dims={"n": 10**4, "k": 10, "m": 10**4})
    assert wide["failed"][0]["code"] == "T0510"
    assert ask(do="format", text="y:=1") == {"text": "y := 1\n"}
    assert ask(do="format", text="y := (") == {"text": None}
    assert any(one["label"] == "matmul" for one in ask(do="complete", text="matmul = 1\n", at=11)["options"])
    assert "exp(x)" in ask(do="hover", text="tol x: R\ny := exp(x)", at=15)["markdown"]


@pytest.mark.parametrize(
    "name",
    [n for n in spec_names("examples") if n not in ("histogram", "positive", "sparse_matvec", "newton")],
)
def test_a_small_run_is_a_run(name: str) -> None:
    source: Source = read_spec("examples", name)
    program = lower(read_program(source)).program
    dims = {symbol.name: 2 for symbol in program.symbols} | {
        s.name: 2 for given in program.inputs for part in given.type for form in part.shape for s in form.free
    }
    draw, known = np.random.default_rng(1), {s: dims[s.name] for s in program.symbols}
    arrays = {
        given.name: draw.integers(1, 5, [evaluate(d, known) for d in given.type[0].shape]).astype(float)
        for given in program.inputs
    }
    found = run_small(program, {name: value.tolist() for name, value in arrays.items()}, dims)
    wanted = run_reference(program, {name: (value,) for name, value in arrays.items()}, dims)
    for name, parts in found.outputs.items():
        value = wanted.outputs[name]
        for part, array in zip(parts, value if isinstance(value, tuple) else (value,), strict=True):
            assert np.allclose(np.array(part.nested(), float), np.asarray(array, float), equal_nan=True)
    assert sum(found.functions.values()) == sum(wanted.counts.histogram.values())


def test_a_run_of_another_shape_is_refused() -> None:
    program = lower(read_program(Source("case.tol", "tol x: R [n, m]\ny := x[1, 2]\n"))).program
    assert run_small(program, {"x": [[1, 2, 3], [4, 5, 6]]}, {"n": 2, "m": 3}).outputs["y"][0].nested() == 2
    with pytest.raises(Rejected, match=r"the input `x` has shape \[3, 2\], not \[2, 3\]"):
        run_small(program, {"x": [[1, 2], [3, 4], [5, 6]]}, {"n": 2, "m": 3})


REALS = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, -0.5, 2.0, 3.0, 10.0, 1e200, -720.0, np.inf, -np.inf, np.nan)
WHOLE = (0, 1, -1, 2, -3, 65, 2**62, -(2**63), 2**53 + 1)
COMPUTED = sorted(set(FUNCTIONS) - {"rand", "where"})


def applied(function: str, space: str) -> Any:
    """A program that applies a function to a pair of vectors, or to one; None where there is none."""
    least, _ = FUNCTIONS[function].arity
    given = ", ".join(("x[i]", "w[i]")[:least])
    text = f"tol x: {space} [n]\ntol w: {space} [n]\ny := map(tol[n], {function}({given}), [i])"
    try:
        return lower(read_program(Source("p.tol", text))).program
    except Rejected:
        return None


def values_of(run: Any) -> Any:
    """What a run gives, or that it is refused."""
    try:
        return np.asarray(run(), float)
    except Rejected as rejected:
        return rejected.diagnostics[0].code


def both(program: Any, given: dict[str, list[Any]]) -> tuple[Any, Any]:
    """What a small run gives, and what a run."""
    arrays = {name: np.array(values) for name, values in given.items()}
    dims = {"n": len(given["x"])}
    found = values_of(lambda: run_small(program, given, dims).outputs["y"][0].nested())
    return found, values_of(lambda: run_reference(program, arrays).outputs["y"])


@pytest.mark.parametrize("function", COMPUTED)
def test_functions_are_those_of_a_run(function: str) -> None:
    for space, numbers in (("R", REALS), ("Z", WHOLE), ("B", (0, 1))):
        program, pairs = applied(function, space), list(product(numbers, numbers))
        for part in ([pairs] if space == "R" else [[pair] for pair in pairs]) if program else ():
            x, w = ([pair[k] for pair in part] for k in (0, 1))
            found, wanted = both(program, {"x": x, "w": w})
            if isinstance(wanted, str) or isinstance(found, str):
                assert found == wanted, (space, part)
            else:
                assert np.allclose(found, wanted, equal_nan=True), (space, part)


@pytest.mark.parametrize(
    "text, x, said",
    [
        ("tol x: R [n]\ny := map(convert(x, int8), convert(*, R))", [300.0], "T0520"),
        ("tol x: R [n]\ny := convert(x, Z)", [np.nan], "T0349"),
        ("tol x: Z [n]\ny := x", [2.5], "T0349"),
        ("tol x: N [n]\ny := x", [-1], "T0349"),
        ("space pixel: N [0, 255]\ntol x: Z [n]\ny := convert(x, pixel)", [300], "T0349"),
        ("tol x: Z [n]\ny := map(x, (e) => x[e + 1])", [1], "T0346"),
        ("tol x: Z [n]\ny := map(x, (e) => where(e == 1, x[e + 1], e) == 2)", [1], "T0346"),
        ("tol x: Z [n]\ny := map(x, (e) => where(e > 0, e, x[e + 9]))", [1], [1.0]),
        ("tol x: Z [n]\ny := map(x, where(* == 0, 7, mod(5, *)))", [0], [7.0]),
    ],
)
def test_what_is_no_number_is_not_shown_as_one(text: str, x: list[float], said: Any) -> None:
    program = lower(read_program(Source("p.tol", text))).program
    found, wanted = both(program, {"x": x})
    assert (found if isinstance(found, str) else found.tolist()) == said
    assert said == "T0520" or isinstance(wanted, str) == isinstance(found, str)


def test_a_bound_is_called_one() -> None:
    text = "tol x: R [n]\ntol w: R [n]\ny := map(tol[n - 1], x[1] * w[i], [i])"
    units = {one["key"]: one["unit"] for one in ask(do="analyse", text=text)["measures"]}
    assert (units["bytes"], units["span"], units["eops"]) == ("at most", "at most", "")
