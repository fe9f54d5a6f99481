"""Gradients of programs and operators, held to differences of values, and their counts to closed forms."""

import re
from pathlib import Path

import numpy as np
import pytest

from tolcost.algebra import Poly, evaluate, exact_div
from tolcost.atoms.kit import program_symbols
from tolcost.atoms.nodes import Program
from tolcost.atoms.tolang import tolang
from tolcost.cli.analyze import Request, lowered
from tolcost.cost import Counts, count
from tolcost.diagnostics import Rejected
from tolcost.elementary import FUNCTIONS
from tolcost.execute import run_reference
from tolcost.execute.inputs import random_arrays
from tolcost.gradient import GradientRequest, derivative, reverse, rules
from tolcost.gradient.inversion import Preimage, preimage
from tools.gradient.products import Arrays, again, check, derived

SPECS = Path(__file__).parents[2] / "specs"

PROGRAMS = [
    ("examples/attention.tol", {"s": 2, "t": 3, "d": 2, "w": 1}),
    ("examples/causal_attention.tol", {"s": 3, "d": 2, "w": 2}),
    ("examples/window_attention.tol", {"s": 4, "r": 2, "d": 2, "w": 2}),
    ("examples/block_attention.tol", {"s": 2, "b": 2, "n": 3, "d": 2, "w": 2, "t": 4}),
    ("examples/givens.tol", {"n": 3}),
    ("examples/scan.tol", {"n": 4}),
    ("examples/shortest_paths.tol", {"n": 3}),
    ("examples/triangle.tol", {"n": 4}),
    ("examples/welford.tol", {"n": 4}),
    ("motifs/transform/convolution.tol", {"n": 4, "m": 2}),
    ("polybench/gramschmidt.tol", {"m": 3, "n": 2}),
    ("polybench/correlation.tol", {"m": 2, "n": 3}),
    ("polybench/jacobi-1d.tol", {"tsteps": 2, "n": 5}),
    ("matlang/LU.tol", {"n": 3}),
    ("motifs/matrix/strassen.tol", {"n": 4, "n_share": 2}),
    ("motifs/transform/walsh_hadamard.tol", {"n": 4, "p": 2}),
    ("motifs/sort/merge.tol", {"n": 3, "p": 2}),
    ("textbook/recursive/merge_sort.tol", {"p": 1}),
]

OPERATORS = [
    (
        "Conv",
        {"X": [1, 2, "h", "w"], "W": [2, 1, 2, 3]},
        {"group": 2, "strides": [2, 1], "pads": [1, 0, 0, 1]},
    ),
    ("ConvTranspose", {"X": [1, 2, "h", "w"], "W": [2, 1, 2, 2]}, {"strides": [2, 1]}),
    ("MaxPool", {"X": [1, 1, "h", "w"]}, {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}),
    ("AveragePool", {"X": [1, 1, "h", "w"]}, {"kernel_shape": [2, 3]}),
    ("LayerNormalization", {"X": ["h", "w"], "Scale": ["w"], "B": ["w"]}, {}),
    ("Softmax", {"input": ["h", "w"]}, {}),
    ("LogSoftmax", {"input": ["h", "w"]}, {}),
    ("Gelu", {"X": ["h", "w"]}, {}),
    ("Gather", {"data": ["h", "w"], "indices": [5]}, {}),
    ("CumSum", {"x": ["h", "w"]}, {"axis": 1}),
    ("LSTM", {"X": ["h", 1, "w"], "W": [1, 8, "w"], "R": [1, 8, 2]}, {"hidden_size": 2}),
    ("Resize", {"X": [1, 1, "h", "w"]}, {"scales": [1, 1, 2, 2]}),
    ("DepthToSpace", {"input": [1, 4, "h", "w"]}, {"blocksize": 2}),
    ("Einsum", {"Inputs": [["h", "w"], ["w", 2]]}, {"equation": "ij,jk->ik"}),
    ("ReduceMax", {"data": ["h", "w"]}, {"axes": [1]}),
    ("ReduceProd", {"data": ["h", "w"]}, {"axes": [1]}),
    ("Pad", {"data": ["h", "w"]}, {"pads": [1, 0, 2, 1]}),
]


def program_of(path: str | Path, shapes: dict[str, object] | None = None, **attrs: object) -> Program:
    return lowered(str(path), Request(shapes or {}, attrs)).program  # type: ignore[arg-type]


def written(tmp_path: Path, text: str) -> Program:
    path = tmp_path / "program.tol"
    path.write_text(text)
    return lowered(str(path), Request()).program


def arrays_of(program: Program, dims: dict[str, int], seed: int = 1) -> Arrays:
    """Random numbers between 0.3 and what is drawn, so that roots and logarithms have values."""
    known = {symbol.name for symbol in program_symbols(program)}
    drawn = random_arrays(program, {}, {name: n for name, n in dims.items() if name in known}, seed)
    return {
        name: tuple(np.abs(a) + 0.3 if a.dtype.kind == "f" else a for a in values)
        for name, values in drawn.items()
    }


def problem_of(program: Program, dims: dict[str, int], wanted: GradientRequest | None = None) -> str | None:
    symbols = {symbol.name for symbol in program_symbols(program)}
    known = {name: n for name, n in dims.items() if name in symbols}
    return check(program, arrays_of(program, dims), known, wanted=wanted).problem


@pytest.mark.parametrize("path,dims", PROGRAMS, ids=lambda one: one if isinstance(one, str) else "")
def test_program(path: str, dims: dict[str, int]) -> None:
    assert problem_of(program_of(SPECS / path), dims) is None


@pytest.mark.parametrize("name,shapes,attrs", OPERATORS, ids=lambda one: one if isinstance(one, str) else "")
@pytest.mark.parametrize("h,w", [(3, 4), (5, 3)])
def test_operator(name: str, shapes: dict[str, object], attrs: dict[str, object], h: int, w: int) -> None:
    program = program_of(SPECS / "onnx" / f"{name}.tol", shapes, **attrs)
    assert problem_of(program, {"h": h, "w": w}) is None


# ---- elementary functions ----------------------------------------------------------------------


def test_every_function_has_a_row_or_no_derivative(tmp_path: Path) -> None:
    for name, function in FUNCTIONS.items():
        if function.rule in ("compare", "logic", "test", "where") or name == "rand":
            continue
        for arity in range(function.arity[0], function.arity[1] + 1):
            row = rules.row_of(name, arity, False)
            assert row is not None, name
            args = ["x", "w"][:arity]
            called = f"{name}({', '.join(f'{a}[i]' for a in args)})"
            text = f"tol x: R [n]\ntol w: R [n]\ny := map(tol[n], {called}, [i])\nz := w\n"
            program = written(tmp_path, text)
            low = 1.2 if name == "acosh" else 0.2 if name in ("asin", "acos", "atanh") else 0.7
            x = np.array([low, low + 0.1, low + 0.25])
            arrays = {"x": (x,), "w": (np.array([2.3, 3.1, 1.4]),)}
            assert check(program, arrays, wanted=GradientRequest(("x", "w"))).problem is None, name


# ---- what has to fail --------------------------------------------------------------------------

TANH = "tol x: R [n]\ny := map(x, tanh(*))\n"


def test_a_wrong_row_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = written(tmp_path, TANH)
    assert problem_of(program, {"n": 3}) is None
    wrong = {**rules.rows(), "tanh": rules.rows()["sin"]}
    monkeypatch.setattr(rules, "rows", lambda: wrong)
    assert problem_of(program, {"n": 3}) is not None


def test_a_kink_nearby_is_told_from_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences agree on the mean of two slopes there; what is neither of them, nor between, is wrong."""
    program = written(tmp_path, "tol x: R [n]\ny := map(x, min(exp(*) - 1, 0))\n")
    arrays = {"x": (np.array([-1e-10, 0.4]),)}
    assert check(program, arrays).problem is None
    wrong = {**rules.rows(), "exp": rules.rows()["neg"]}
    monkeypatch.setattr(rules, "rows", lambda: wrong)
    assert check(program, arrays).problem is not None


@pytest.mark.parametrize("stride", [1, 2])
def test_a_guard_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    def without_guards(*args: object) -> Preimage:
        found = preimage(*args)  # type: ignore[arg-type]
        domain = found.domain
        return Preimage(type(domain)(domain.coords, domain.extents), found.values)

    shapes: dict[str, object] = {"X": [1, 1, "h"], "W": [1, 1, 3]}
    program = program_of(SPECS / "onnx" / "Conv.tol", shapes, pads=[2, 2], strides=[stride])
    assert problem_of(program, {"h": 4}) is None
    monkeypatch.setattr(reverse, "preimage", without_guards)
    try:
        found = problem_of(program, {"h": 4})
    except Rejected as rejected:  # a member that is not there
        found = str(rejected)
    assert (found is None) == (stride == 1)  # with so much padding every place is reached


# ---- work --------------------------------------------------------------------------------------


def test_a_layer_takes_twice_the_products_backward(tmp_path: Path) -> None:
    """Its own again, because the derivative of tanh needs its value, and two for each of its own."""
    text = (
        "tol a: R [n, k]\ntol b: R [k, m]\n"
        "y := map(tol[n, m], tanh(reduce(a[i], (s, e) => s + e * b[u, j], 0, [u])), [i, j])\n"
    )
    program = written(tmp_path, text)
    once = count(program).macs
    assert count(derivative(program)).macs == 3 * once
    assert count(derivative(program, GradientRequest(("a",)))).macs == 2 * once


def test_products_of_a_network(tmp_path: Path) -> None:
    """Three layers: each has two products backward for each of its own, the first one without its input."""
    text = (
        "tol x: R [n, d]\ntol a: R [d, d]\ntol b: R [d, d]\ntol c: R [d, d]\n"
        "layer(x, w) = map(tol[n, d], reduce(x[i], (s, e) => s + e * w[u, j], 0, [u]), [i, j])\n"
        "y := layer(layer(layer(x, a), b), c)\n"
    )
    program = written(tmp_path, text)
    one = exact_div(count(program).macs, 3)
    assert one is not None
    # the values that the gradients need are computed again: those of the first two layers
    assert count(derivative(program)).macs == (2 + 3 * 2) * one
    assert count(derivative(program, GradientRequest(("a", "b", "c")))).macs == (2 + 3 * 2 - 1) * one


def test_products_as_torch_counts_them(tmp_path: Path) -> None:
    """5,184 FLOPs forward and backward, in a test of torch's counter: ``b`` and ``c`` have no gradients."""
    program = written(
        tmp_path,
        "tol a: R [4, 5]\ntol b: R [5, 6]\ntol c: R [7, 6, 7]\n"
        "m = map(tol[4, 6], reduce(tol[5], (t, z) => t + a[i, l] * b[l, j], 0, [l]), [i, j])\n"
        "y := map(tol[7, 4, 7], reduce(tol[6], (t, z) => t + m[i, l] * c[n, l, j], 0, [l]), [n, i, j])\n",
    )
    assert 2 * count(derivative(program, GradientRequest(("a",), values=True))).macs == 5_184


@pytest.mark.parametrize("pixels,macs", [(7, 802), (14, 3364), (56, 55780)])
def test_products_of_a_convolution(pixels: int, macs: int) -> None:
    """The gradient of the input skips the padding: 1.82, 1.91 and 1.98 times the products of the values."""
    shapes: dict[str, object] = {"X": [1, 1, pixels, pixels], "W": [1, 1, 3, 3]}
    program = program_of(SPECS / "onnx" / "Conv.tol", shapes, pads=[1, 1, 1, 1])
    assert count(program).macs == 9 * pixels**2
    assert count(derivative(program)).macs == macs


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "stride,dilation,pad", [(1, 1, 1), (2, 1, 0), (2, 1, 1), (3, 1, 2), (1, 2, 2), (2, 2, 2)]
)
def test_each_product_of_a_small_convolution(size: int, stride: int, dilation: int, pad: int) -> None:
    kernel = 2
    shapes: dict[str, object] = {"X": [1, 1, size], "W": [1, 1, kernel]}
    windows = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    if windows < 1:
        return
    attrs = {"strides": [stride], "dilations": [dilation], "pads": [pad, pad]}
    program = program_of(SPECS / "onnx" / "Conv.tol", shapes, **attrs)
    taps = [
        (o, q) for o in range(windows) for q in range(kernel) if 0 <= o * stride + q * dilation - pad < size
    ]
    found = count(derivative(program, GradientRequest(("X",)))).histogram
    assert found.get(("mul", "R"), 0) == len(taps)  # no sum is there where windows do not overlap
    assert problem_of(program, {}) is None


# ---- what else has to hold ---------------------------------------------------------------------


def test_twice(tmp_path: Path) -> None:
    program = written(tmp_path, "tol x: R [n]\ny := reduce(map(x, tanh(* * *)), add, 0)\n")
    first, _ = derived(program)
    assert problem_of(first, {"n": 3}, GradientRequest(("x",))) is None


def test_twice_a_convolution() -> None:
    program = program_of(SPECS / "motifs" / "transform" / "convolution.tol")
    first, _ = derived(program)
    dims = {"n": 4, "m": 2}
    assert problem_of(first, dims) is None


def test_ties_share(tmp_path: Path) -> None:
    program = written(tmp_path, "tol x: R [n]\ny := reduce(x, max, -Inf)\n")
    made, _ = derived(program)
    found = run_reference(made, {"x": (np.array([1.0, 3.0, 3.0]),), "d_y": (np.array(1.0),)})
    assert np.asarray(found.outputs["d_x"]).tolist() == [0.0, 0.5, 0.5]


def test_a_relu_is_flat_at_0(tmp_path: Path) -> None:
    made, _ = derived(written(tmp_path, "tol x: R [n]\ny := map(x, max(*, 0))\n"))
    found = run_reference(made, {"x": (np.array([-1.0, 0.0, 2.0]),), "d_y": (np.ones(3),)})
    assert np.asarray(found.outputs["d_x"]).tolist() == [0.0, 0.0, 1.0]


def test_two_outputs_of_one_value(tmp_path: Path) -> None:
    program = written(tmp_path, "tol x: R [n]\ny := map(x, sqr(*))\nz := y\n")
    assert problem_of(program, {"n": 3}) is None


def test_the_gradient_of_a_reshape_is_a_reshape(tmp_path: Path) -> None:
    """What the program relies on is granted: that its lengths divide leaves nothing to choose."""
    program = written(tmp_path, "tol x: R [a, b, c]\nattr d: N*\ny := reshape(x, [d, a * b * c / d])\n")
    assert "d_x := reshape(d_y, [a, b, c])" in tolang(derivative(program))
    assert problem_of(program, {"a": 2, "b": 3, "c": 2, "d": 4}) is None


def test_lengths_of_0(tmp_path: Path) -> None:
    program = written(tmp_path, "attr n: N\ntol x: R [n]\ny := reduce(x, (a, e) => tanh(a) + e * e, 1)\n")
    assert problem_of(program, {"n": 0}) is None
    assert problem_of(program, {"n": 3}) is None


def test_gradients_keep_spaces(tmp_path: Path) -> None:
    made, _ = derived(written(tmp_path, "tol x: float32 [n]\ntol w: R+ [n]\ny := map(x, * * w[i], [i])\n"))
    spaces = {output.name: output.node.type[0].space for output in made.outputs}
    assert spaces == {"d_x": "float32", "d_w": "R"}


def test_a_read_outside_under_a_choice(tmp_path: Path) -> None:
    text = "tol x: R [n]\ntol k: Z [m]\ny := map(k, (e) => where(e > 0 and e <= n, x[e], 0))\n"
    program = written(tmp_path, text)
    arrays = {"x": (np.array([0.5, 0.7, 0.9]),), "k": (np.array([2, 0, 5, 3]),)}
    assert check(program, arrays).problem is None


def test_a_choice_computes_one_side(tmp_path: Path) -> None:
    """The derivative of a root of -0.1 is not a number, and 0 times it would not be 0."""
    program = written(tmp_path, "tol x: R [n]\ny := map(x, choose(* > 0.5, sqrt(* - 0.5), sqr(*)))\n")
    arrays = {"x": (np.array([0.4, 0.7, 1.5]),)}
    assert check(program, arrays).problem is None


@pytest.mark.parametrize(
    "text",
    [
        "y := map(k, (e) => choose(e > 0 and e <= m, ln(x[e]), 0.5))\n",
        "y := map(x, choose(* > 0.5, choose(* > 0.9, ln(* - 0.9), sqrt(* - 0.5)), sqr(*)))\n",
        "next(t, i) = choose(t * x[i] > 0.3, sqrt(t * x[i] - 0.3), t + x[1] * t)\n"
        "y := reduce(tol[m], (t, z) => next(t, i), 0.6, [i])\n",
        "run(u) = reduce(tol[2], (t, z) => sqrt(t * u), sqrt(u - 0.5), [i])\n"
        "y := map(x, choose(* > 0.5, run(*), sqr(*)))\n",
        "y := map(x, (choose(k[j] > 3, k[j] * 2, k[j] + 1)) * *, [j])\n",
    ],
)
def test_choices_by_data(tmp_path: Path, text: str) -> None:
    program = written(tmp_path, f"tol x: R [m]\ntol k: Z [m]\n{text}")
    arrays = {"x": (np.array([0.4, 0.7, 1.5]),), "k": (np.array([2, 0, 5]),)}
    there = {given.name: arrays[given.name] for given in program.inputs}
    assert check(program, there, {"m": 3}).problem is None


@pytest.mark.parametrize(
    "step", ["put(t, [k[i] % n + 1], u[i] * u[i])", "put(t, [k[i] % n + 1], t[k[i] % n + 1] + u[i] * u[i])"]
)
def test_places_that_data_decides(tmp_path: Path, step: str) -> None:
    declared = "tol x: R [n]\ntol u: R [m]\ntol k: Z [m]\n"
    program = written(tmp_path, f"{declared}y := reduce(tol[m], (t, z) => {step}, map(x, sqr(*)), [i])\n")
    arrays = {
        "x": (np.array([0.5, 0.7, 0.9]),),
        "u": (np.array([1.5, 0.4, 0.8, 2.0]),),
        "k": (np.array([4, 1, 0, 1]),),
    }
    assert check(program, arrays).problem is None


def test_numbers_are_added_to_a_part_of_an_adjoint(tmp_path: Path) -> None:
    """The adjoint of a join is longer than what was joined."""
    text = "y := join(x, map(tol[2], 1.0), 1)\nz := map(k, (e) => x[e % n + 1])\n"
    program = written(tmp_path, f"tol x: R [n]\ntol k: Z [m]\n{text}")
    arrays = {"x": (np.array([0.5, 0.7, 0.9]),), "k": (np.array([4, 1, 0, 1]),)}
    assert check(program, arrays).problem is None


def test_an_index_that_is_computed_keeps_its_brackets(tmp_path: Path) -> None:
    """It is printed as ``(1 - n)*2 % n + 1``: a number in a formula may be a sum."""
    text = (
        "tol x: R [n]\nv = join([[2]], map(tol[1, n], 1 - j, [i, j]), 2)\n"
        "twice = map(v, * * 2)\ny := x[twice[1, n + 1] % n + 1] * 2.0\n"
    )
    program = written(tmp_path, text)
    assert "(1 - n) * 2 % n" in tolang(derivative(program))
    assert problem_of(program, {"n": 3}) is None


def test_names_do_not_matter(tmp_path: Path) -> None:
    text = (SPECS / "onnx" / "Softmax.tol").read_text()
    other = tmp_path / "Other.tol"
    other.write_text(text.replace("operator Softmax", "operator Whatever"))
    shapes = {"input": ["n", "m"]}
    one = derived(program_of(SPECS / "onnx" / "Softmax.tol", shapes))[1]
    assert derived(program_of(other, shapes))[1] == one


def test_print_and_read_again_is_the_same() -> None:
    for path, dims in PROGRAMS[:4]:
        made = derivative(program_of(SPECS / path))
        one, other = (_numbers(count(program), dims) for program in (made, again(tolang(made))))
        assert one == other


def _numbers(counts: Counts, dims: dict[str, int]) -> list[dict[object, int]]:
    def at(form: Poly) -> int:
        return evaluate(form, {symbol: dims[symbol.name] for symbol in form.free})

    tables = [counts.histogram, counts.index, {"macs": counts.macs}]
    return [{key: at(form) for key, form in table.items()} for table in tables]


def test_no_operator_is_named() -> None:
    folder = Path(rules.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    operators = {path.stem for path in (SPECS / "onnx").glob("*.tol")}
    words = set(re.findall(r"[\"'](\w+)[\"']", text))
    assert not words & operators
