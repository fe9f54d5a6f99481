"""Closed forms are what an expert would write down: compared as polynomials, in the letters of textbooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tolcost import analyze
from tolcost.algebra import Poly, evaluate, to_text
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.specs import open_library
from tolcost.cost import count
from tolcost.elaborate import elaborate
from tolcost.elaborate.inputs import PlainValue, arguments

LIBRARY = open_library()
Shapes = Mapping[str, Sequence[int | str]]


def eops(
    op: str, shapes: Shapes, attrs: Mapping[str, PlainValue] | None = None, opset: int | None = None
) -> Poly:
    spec = LIBRARY.find("", op, opset)
    assert spec is not None
    given = arguments(spec.program, shapes, attrs or {})
    lowered = elaborate(
        spec.program, given, name=op, library=spec.library, operators=LIBRARY.operators(), outputs=1
    )
    counts = count(lowered.program)
    assert counts.status == "exact"
    return counts.eops


MATRICES: Shapes = {"A": ("m", "k"), "B": ("k", "n")}
IMAGE: Shapes = {"X": ("N", "C", "H", "W"), "W": ("M", "C", "kH", "kW")}


@pytest.mark.parametrize(
    "op, shapes, attrs, form",
    [
        ("MatMul", MATRICES, {}, "2*m*k*n"),
        ("MatMul", {"A": ("b", "m", "k"), "B": ("b", "k", "n")}, {}, "2*b*m*k*n"),
        ("MatMul", {"A": ("b", "h", "m", "k"), "B": ("b", "h", "k", "n")}, {}, "2*b*h*m*k*n"),
        ("MatMul", {"A": ("b", "m", "k"), "B": ("k", "n")}, {}, "2*b*m*k*n"),
        ("MatMul", {"A": ("k",), "B": ("k",)}, {}, "2*k"),
        ("Gemm", MATRICES, {}, "2*m*k*n"),
        ("Gemm", {"A": ("k", "m"), "B": ("n", "k")}, {"transA": 1, "transB": 1}, "2*m*k*n"),
        ("Softmax", {"input": ("n", "c")}, {}, "5*n*c"),
        ("Softmax", {"input": ("n", "h", "w")}, {"axis": 1}, "5*n*h*w"),
        ("LogSoftmax", {"input": ("n", "c")}, {}, "5*n*c + n"),
        ("ReduceSum", {"data": ("a", "b", "c")}, {"axes": (1,)}, "a*b*c"),
        ("ReduceSum", {"data": ("a", "b", "c")}, {}, "a*b*c"),
        ("ReduceMean", {"data": ("a", "b", "c")}, {"axes": (2,)}, "a*b*c + a*b"),
        ("ArgMax", {"data": ("a", "b", "c")}, {"axis": 2}, "2*a*b*c"),
        ("ArgMin", {"data": ("a", "b", "c")}, {"axis": 0}, "2*a*b*c"),
        ("Relu", {"X": ("n", "c", "h", "w")}, {}, "n*c*h*w"),
        ("Add", {"A": ("n", "c"), "B": ("c",)}, {}, "n*c"),
        ("Transpose", {"data": ("n", "c")}, {}, "0"),
        ("GlobalAveragePool", {"X": ("n", "c", "h", "w")}, {}, "n*c*h*w + n*c"),
        ("MaxPool", {"X": ("n", "c", "h", "w")}, {"kernel_shape": (2, 2), "strides": (1, 1)},
         "4*n*c*(h - 1)*(w - 1)"),
        ("Conv", IMAGE, {}, "2*N*M*(H - kH + 1)*(W - kW + 1)*C*kH*kW"),
        ("Conv", {"X": ("N", "C", "L"), "W": ("M", "C", "k")}, {}, "2*N*M*(L - k + 1)*C*k"),
        ("Conv", {"X": ("N", "C", "D", "H", "W"), "W": ("M", "C", "kD", "kH", "kW")}, {},
         "2*N*M*(D - kD + 1)*(H - kH + 1)*(W - kW + 1)*C*kD*kH*kW"),
        ("Conv", {"X": ("N", "C", 7, 7), "W": ("M", "C", 3, 3)}, {"pads": (1, 1, 1, 1), "strides": (2, 2)},
         "2*N*M*4*4*C*3*3"),
    ],
)  # fmt: skip
def test_form(op: str, shapes: Shapes, attrs: Mapping[str, PlainValue], form: str) -> None:
    assert to_text(eops(op, shapes, attrs) - parse_text(form)) == "0"


def test_a_bias_starts_the_fold_of_a_convolution() -> None:
    assert eops("Conv", {**IMAGE, "B": ("M",)}) == eops("Conv", IMAGE)


@pytest.mark.parametrize("group", [2, 3, 8])
def test_a_grouped_convolution_sees_its_share_of_the_channels(group: int) -> None:
    shapes: Shapes = {"X": ("N", "C", "H", "W"), "W": ("M", "cg", "kH", "kW")}
    found = eops("Conv", shapes, {"group": group})
    at = {"N": 2, "M": 4 * group, "H": 9, "W": 8, "kH": 3, "kW": 2, "C": 5 * group}
    expected = _at(parse_text("2*N*M*(H - kH + 1)*(W - kW + 1)*kH*kW"), at) * 5
    assert _at(found, {**at, "cg": 5, "M_share": 4, "C_share": 5}) == expected


def _at(form: Poly, values: Mapping[str, int]) -> int:
    return evaluate(form, {symbol: values[symbol.name] for symbol in form.free})


def test_a_depthwise_convolution() -> None:
    shapes: Shapes = {"X": ("N", 8, "H", "W"), "W": (8, 1, "kH", "kW")}
    assert eops("Conv", shapes, {"group": 8}) == parse_text("16*N*(H - kH + 1)*(W - kW + 1)*kH*kW")


@pytest.mark.parametrize("bias", [("n",), ("m", "n"), (1, "n"), ("m", 1), ()])
def test_gemm_with_defaults_is_no_dearer_than_matmul_plus_bias(bias: tuple[int | str, ...]) -> None:
    whole = eops("Gemm", {**MATRICES, "C": bias})
    apart = eops("MatMul", MATRICES) + parse_text("m*n")
    values = {"m": 5, "k": 7, "n": 3}
    assert _at(whole, values) <= _at(apart, values)


def test_gemm_pays_for_factors_that_are_not_1() -> None:
    plain, scaled = eops("Gemm", MATRICES), eops("Gemm", MATRICES, {"alpha": 2})
    assert to_text(scaled - plain) == "m*n"


def test_the_first_page_of_the_readme() -> None:
    text = (
        "tol a: R [n, k]\ntol b: R [k, m]\ntol result = [|a|[1], |b|[2]]\n"
        "vec(i, j) = map(a[i], mul(*, b[*, j]))\nelem(i, j) = reduce(vec(i, j), add, 0)\n"
        "result := map(result, elem(i, j), [i, j])\n"
    )
    assert str(analyze(text).eops) == "2*k*m*n"
