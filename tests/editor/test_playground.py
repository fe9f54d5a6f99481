"""The playground's answers, held to what the rest of tolcost says."""

import json
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.diagnostics import Source
from tolcost.editor.playground import answer
from tolcost.editor.small_run import run_small
from tolcost.execute import run_reference
from tolcost.pipeline import lower, read_program
from tolcost.platform import read_spec, spec_names

MATMUL = read_spec("examples", "matmul").text
TYPED = "tol a: R [n]\n𝛼 = a\ny := map(a, exq(*))\n"


def ask(**request: Any) -> Any:
    return json.loads(answer(json.dumps(request)))


OUTSIDE = """
import json, sys
sys.path.insert(0, {package!r})
from tolcost.editor.playground import answer
asked = {asked!r}
for do in ("analyse", "numbers", "compare", "run", "unroll", "format", "complete", "hover"):
    answer(json.dumps({{**asked, "do": do}}))
"""


def test_the_page_s_package_has_all_that_answers_need(tmp_path: Path) -> None:
    package = tmp_path / "tolcost.zip"
    runpy.run_path(str(Path(__file__).parents[2] / "site" / "build.py"))["package"](package)
    zipfile.ZipFile(package).extractall(tmp_path)
    asked = {"text": MATMUL, "old": MATMUL, "new": MATMUL, "at": 20, "sweep": "n", "inputs": {}}
    script = OUTSIDE.format(package=str(tmp_path), asked={**asked, "dims": dict.fromkeys("nkm", 2)})
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


def test_two_programs_are_compared_for_all_lengths() -> None:
    found = ask(do="compare", old=MATMUL, new=MATMUL.replace("mul(*, b[*, j])", "exp(mul(*, b[*, j]))"))
    assert (found["verdict"], found["said"]) == ("costlier", "more EOPs for all lengths")


def test_what_cannot_be_done_is_told() -> None:
    assert ask(do="run", text="y := ", dims={}, inputs={})["failed"][0]["code"].startswith("T01")
    wide = ask(do="unroll", text=MATMUL, dims={"n": 10**4, "k": 10, "m": 10**4})
    assert wide["failed"][0]["code"] == "T0510"
    assert ask(do="format", text="y:=1") == {"text": "y := 1\n"}
    assert ask(do="format", text="y := (") == {"text": None}
    assert any(one["label"] == "matmul" for one in ask(do="complete", text="matmul = 1\n", at=11)["options"])
    assert "exp(x)" in ask(do="hover", text="tol x: R\ny := exp(x)", at=15)["markdown"]


@pytest.mark.parametrize("name", [n for n in spec_names("examples") if n not in ("histogram", "positive")])
def test_a_small_run_is_a_run(name: str) -> None:
    source: Source = read_spec("examples", name)
    program = lower(read_program(source)).program
    dims = {symbol.name: 2 for symbol in program.symbols} | {
        s.name: 2 for given in program.inputs for part in given.type for form in part.shape for s in form.free
    }
    draw = np.random.default_rng(1)
    arrays = {
        given.name: draw.integers(1, 5, [2] * len(given.type[0].shape)).astype(float)
        for given in program.inputs
    }
    found = run_small(program, {name: value.tolist() for name, value in arrays.items()}, dims)
    wanted = run_reference(program, {name: (value,) for name, value in arrays.items()}, dims)
    for name, parts in found.outputs.items():
        value = wanted.outputs[name]
        for part, array in zip(parts, value if isinstance(value, tuple) else (value,), strict=True):
            assert np.allclose(np.array(part.nested(), float), np.asarray(array, float), equal_nan=True)
    assert sum(found.functions.values()) == sum(wanted.counts.histogram.values())


def test_a_bound_is_called_one() -> None:
    text = "tol x: R [n]\ntol w: R [n]\ny := map(tol[n - 1], x[1] * w[i], [i])"
    units = {one["key"]: one["unit"] for one in ask(do="analyse", text=text)["measures"]}
    assert (units["bytes"], units["span"], units["eops"]) == ("at most", "at most", "")
