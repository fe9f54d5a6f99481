"""Programs whose results are known: both interpreters give them, with the same counts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.execute import programs as p
from tests.execute.compare import same_both_ways
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program

rng = np.random.default_rng(7)


def reals(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def whole(*shape: int, low: int = -9, high: int = 10) -> np.ndarray:
    return rng.integers(low, high, size=shape)


def test_elementwise():
    x = reals(3, 4)
    done = same_both_ways(p.elementwise(), {"x": x})
    np.testing.assert_allclose(done.outputs["y"], np.exp(x))
    assert done.counts.histogram == {("exp", "R"): 12}
    assert done.counts.atoms == {"lambda": 12, "norm": 0, "member": 12, "join": 11, "embed": 4}


@pytest.mark.parametrize("make", [p.matmul, p.matmul_direct])
@pytest.mark.parametrize("space", ["R", "Z", "float32", "int8", "C"])
def test_matmul(make, space):
    a, b = whole(3, 5), whole(5, 2)
    done = same_both_ways(make(space), {"a": a, "b": b})
    expected = a @ b
    assert np.array_equal(done.outputs["y"], expected.astype(np.int8) if space == "int8" else expected)
    assert done.counts.histogram == {("mul", space): 30, ("add", space): 30}
    assert done.counts.eops == 60


def test_matmul_counts_of_atoms():
    done = same_both_ways(p.matmul(), {"a": reals(3, 5), "b": reals(5, 2)})
    assert done.counts.atoms == {"lambda": 60, "norm": 0, "member": 90, "join": 5 + 6 * 4, "embed": 2}


@pytest.mark.parametrize("function", ["add", "mul", "max", "min"])
def test_triangle(function):
    x = reals(6, 6)
    done = same_both_ways(p.triangle(function), {"x": x})
    assert done.counts.histogram == {(function, "R"): 21}


def test_triangle_of_built_rows():
    x = reals(6, 6)
    done = same_both_ways(p.triangle_built(), {"x": x})
    np.testing.assert_allclose(done.outputs["y"], np.tril(x**2).sum(1))
    assert done.counts.atoms["join"] == 5 + 15


def test_join_at_a_varying_place():
    x = whole(5)
    done = same_both_ways(p.ragged_joined(), {"x": x})
    weights = np.arange(1, 6)
    assert done.outputs["y"].tolist() == [
        int((np.where(weights <= i, x, -x) * weights).sum()) for i in range(1, 6)
    ]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("stride, pad", [(1, 0), (2, 1), (3, 2)])
def test_convolution(stride, pad, exact):
    x, w = reals(2, 9), reals(4, 2, 3)
    done = same_both_ways(p.conv(stride, pad, exact), {"x": x, "w": w})
    wide = np.pad(x, ((0, 0), (pad, pad)))
    out = (9 + 2 * pad - 3) // stride + 1
    windows = np.stack([wide[:, o * stride : o * stride + 3] for o in range(out)])
    np.testing.assert_allclose(done.outputs["y"], np.einsum("ocq,fcq->fo", windows, w))
    taps = np.pad(np.ones(9), pad)
    real = sum(int(taps[o * stride : o * stride + 3].sum()) for o in range(out)) if exact else out * 3
    assert done.counts.histogram == {("mul", "R"): 4 * 2 * real, ("add", "R"): 4 * 2 * real}


def test_infinite_weights_do_not_leak_into_the_padding():
    x, w = np.abs(reals(2, 9)), np.full((4, 2, 3), np.inf)
    done = same_both_ways(p.conv(2, 1, exact=True), {"x": x, "w": w})
    assert np.isposinf(done.outputs["y"]).all()


def test_argmax():
    x = reals(4, 6)
    done = same_both_ways(p.argmax(), {"x": x})
    best, at = done.outputs["y"]
    np.testing.assert_allclose(best, x.max(1))
    assert at.tolist() == (x.argmax(1) + 1).tolist()
    assert done.counts.histogram == {("gt", "R"): 24, ("where", "R"): 24}


@pytest.mark.parametrize("length", [0, 1, 5])
def test_cumsum(length):
    x = whole(length)
    done = same_both_ways(p.cumsum("Z"), {"x": x})
    assert done.outputs["y"].tolist() == np.cumsum(x).tolist()


def test_filter():
    x, s = reals(5, 3), reals(5)
    done = same_both_ways(p.keep_positive(), {"x": x, "s": s})
    np.testing.assert_allclose(done.outputs["y"], x[s > 0])
    np.testing.assert_allclose(done.outputs["y1"], x[s > 0].sum())
    assert {symbol.name: value for symbol, value in done.bindings.items()}["z"] == int((s > 0).sum())


def test_filter_whose_length_differs_from_row_to_row():
    x = reals(5, 4)
    done = same_both_ways(p.keep_per_row(), {"x": x})
    np.testing.assert_allclose(done.outputs["y"], (np.maximum(x, 0) ** 2).sum(1))


@pytest.mark.parametrize("half, kept", [("", 4), (" / 2", 2)])
@pytest.mark.parametrize("chosen", [1.0, -1.0])
def test_a_length_of_either_side_of_a_choice(half: str, kept: int, chosen: float) -> None:
    """Only the side that is taken finds how many entries there are; the other follows, divided too."""
    sides = "filter(x, map(x, * > 0)), filter(x, map(x, * > 1))"
    text = f"tol x: R [n]\ntol c: R\na = choose(c > 0, {sides})\ny := map(tol[|a|[1]{half}], a[i], [i])"
    x = np.array([2.0, 3.0, 4.0, 5.0])
    done = same_both_ways(lower(read_program(Source("p.tol", text))).program, {"x": x, "c": np.array(chosen)})
    assert np.array_equal(done.outputs["y"], x[:kept])


def test_scatter():
    x, at, u = whole(4), np.array([1, 4, 4, 2, 4]), whole(5)
    done = same_both_ways(p.scatter(), {"x": x, "at": at, "u": u})
    expected = x.copy()
    np.add.at(expected, at - 1, u)
    assert done.outputs["y"].tolist() == expected.tolist()


def test_scatter_on_every_row():
    x, at = whole(3, 4), whole(3, 5, low=1, high=5)
    done = same_both_ways(p.scatter_rows(), {"x": x, "at": at})
    expected = x.copy()
    for i in range(3):
        np.add.at(expected[i], at[i] - 1, 1)
    assert done.outputs["y"].tolist() == expected.tolist()


def test_gather():
    x, at = reals(4, 3), np.array([2, 2, 4])
    done = same_both_ways(p.gather(), {"x": x, "at": at})
    np.testing.assert_allclose(done.outputs["y"], x[at - 1])


@pytest.mark.parametrize("run", [run_reference, run_vectorised])
@pytest.mark.parametrize("bad", [0, 5, -1, 10**12])
def test_out_of_range_is_an_error(run, bad):
    with pytest.raises(Rejected) as caught:
        run(p.gather(), {"x": reals(4, 3), "at": np.array([2, bad])})
    assert [d.code for d in caught.value.diagnostics] == ["T0346"]


@pytest.mark.parametrize("run", [run_reference, run_vectorised])
def test_put_out_of_range_is_an_error(run):
    with pytest.raises(Rejected) as caught:
        run(p.scatter(), {"x": whole(4), "at": np.array([1, 5]), "u": whole(2)})
    assert {d.code for d in caught.value.diagnostics} == {"T0346"}


def test_a_fault_that_is_not_taken_is_no_error():
    done = same_both_ways(p.gather_guarded(), {"x": np.array([5.0, 6.0]), "at": np.array([2, 9, 1])})
    assert done.outputs["y"].tolist() == [6.0, -1.0, 5.0]


def test_reshape_and_convert():
    x = whole(3, 4).astype(np.int8)
    done = same_both_ways(p.flattened(), {"x": x})
    assert done.outputs["y"].dtype == np.float32
    assert done.outputs["y"].tolist() == x.T.reshape(-1).tolist()
    assert done.counts.atoms == {"lambda": 0, "norm": 0, "member": 36, "join": 33, "embed": 3}


def test_indices_of_every_kind():
    x = whole(5, 5)
    done = same_both_ways(p.diagonal_windows(), {"x": x})
    i, j = np.indices((5, 5)) + 1
    expected = x[i - 1, i - 1] - x[5 - i, j - 1] - x[(i + 1) // 2 - 1, (j + 1) // 2 - 1] - x[0, j - 1]
    assert np.array_equal(done.outputs["y"], expected)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_and_single(shape):
    done = same_both_ways(p.elementwise(), {"x": np.zeros(shape)})
    assert done.outputs["y"].shape == shape
    same_both_ways(p.matmul(), {"a": np.zeros(shape), "b": np.zeros((shape[1], 2))})
    same_both_ways(p.argmax(), {"x": np.zeros(shape)})
    same_both_ways(p.reduced("max", "Z"), {"x": np.zeros(shape, int)})


SPACES = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
WHOLE = [
    "int2",
    "uint2",
    "int4",
    "uint4",
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "Z",
]


@pytest.mark.parametrize("function", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("space", SPACES + WHOLE)
def test_reductions_in_every_space(function, space):
    x = whole(4, 3, low=0, high=2 if space == "int2" else 3)
    rtol = 1e-12 if space in WHOLE else 0.3 if "float8" in space else 2e-2
    same_both_ways(p.reduced(function, space), {"x": x}, rtol=rtol)


@pytest.mark.parametrize("function", ["and", "or", "xor"])
@pytest.mark.parametrize("space", ["B", "bool", "int8", "uint4", "Z"])
def test_logical_reductions(function, space):
    same_both_ways(p.reduced(function, space), {"x": whole(4, 3, low=0, high=2)})


def test_nan_and_infinity():
    x = np.array([[np.nan, np.inf, -np.inf], [1.0, np.inf, np.inf]])
    for function in ("add", "mul", "max", "min"):
        same_both_ways(p.reduced(function, "R"), {"x": x})


def test_shared_nodes_count_on_every_path():
    done = same_both_ways(p.shared(), {"x": reals(2)})
    assert done.counts.histogram == {("add", "R"): 2 * (2**20 - 1), ("mul", "R"): 2**21}


def test_deep_expressions_need_no_stack():
    done = same_both_ways(p.deep(), {"x": np.zeros(2)})
    assert done.outputs["y"].tolist() == [5000.0, 5000.0]


def test_a_fault_may_vary_where_the_data_does_not():
    done = same_both_ways(p.fault_wider_than_data(), {"x": -np.ones(3)})
    assert done.outputs["y"].tolist() == [[7.0], [5.0], [5.0]]
    for run in (run_reference, run_vectorised):
        with pytest.raises(Rejected):
            run(p.fault_wider_than_data(), {"x": np.ones(3)})


def test_filter_of_a_vector_whose_length_varies():
    done = same_both_ways(p.filter_of_varying_length(), {"x": np.ones(4)})
    assert done.outputs["y"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("run", [run_vectorised, run_reference])
@pytest.mark.parametrize(
    "indices, told", [([2, 9, 0], "index 9"), ([1, 0, 9], "index 0"), ([3, 2, -(2**40)], f"index -{2**40}")]
)
def test_a_member_that_is_not_there_is_told_by_its_index(indices, told, run) -> None:
    text = "tol x: R [n]\ntol k: Z [m]\nz = map(tol[m], x[k[i]], [i])\ny := z[2] + z[3]"
    program = lower(read_program(Source("members.tol", text))).program
    with pytest.raises(Rejected) as refused:
        run(program, {"x": np.arange(3.0), "k": np.array(indices)})
    (only,) = refused.value.diagnostics
    assert only.message == f"a member is read out of range: {told} is outside 1..3"
