"""Written backward passes, held in value to derivatives of the definitions; and what both cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tolcost.algebra import const
from tolcost.atoms.nodes import Program
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import open_library
from tolcost.cost import count
from tolcost.elaborate import Argument, Tensor, elaborate
from tolcost.elaborate.values import Missing
from tolcost.execute import run_vectorised
from tolcost.gradient import Derivative, GradientRequest, derive
from tolcost.platform import specs_root
from tolcost.training.written import DefinedNode, WrittenPass, lower_written, written_file

Shapes = dict[str, tuple[int, ...]]

NORM: Shapes = {"X": (2, 3, 4), "scale": (3,), "B": (3,), "input_mean": (3,), "input_var": (3,)}
HEADS: Shapes = {"Q": (1, 4, 3, 2), "K": (1, 2, 5, 2), "V": (1, 2, 5, 3)}
SQUARE: Shapes = {"Q": (2, 3, 4), "K": (2, 3, 4), "V": (2, 3, 4)}
LABELS: Shapes = {"scores": (3, 4, 2), "labels": (3, 2)}

CASES: list[tuple[str, Shapes, dict[str, object], str, str]] = [
    ("Softmax", {"input": (2, 3)}, {}, "input", "output"),
    ("Softmax", {"input": (2, 3, 2)}, {"axis": 1}, "input", "output"),
    ("LogSoftmax", {"input": (2, 3)}, {}, "input", "output"),
    ("Sigmoid", {"X": (3, 4)}, {}, "X", "Y"),
    ("Relu", {"X": (3, 4)}, {}, "X", "Y"),
    ("LayerNormalization", {"X": (2, 3, 4), "Scale": (4,), "B": (4,)}, {}, "X Scale B", "Y"),
    ("LayerNormalization", {"X": (2, 3, 4), "Scale": (3, 4), "B": (3, 4)}, {"axis": 1}, "X Scale B", "Y"),
    ("RMSNormalization", {"X": (2, 3, 4), "scale": (4,)}, {}, "X scale", "Y"),
    ("BatchNormalization", NORM, {}, "X scale B", "Y"),
    ("BatchNormalization", NORM, {"training_mode": 1}, "X scale B", "Y"),
    ("SoftmaxCrossEntropyLoss", {"scores": (3, 4), "labels": (3,)}, {}, "scores", "output"),
    ("SoftmaxCrossEntropyLoss", LABELS, {"reduction": "none", "ignore_index": 1}, "scores", "output"),
    ("SoftmaxCrossEntropyLoss", LABELS, {"reduction": "sum"}, "scores", "output"),
    ("SoftmaxCrossEntropyLoss", LABELS, {"ignore_index": 1}, "scores", "output"),
    ("Attention", HEADS, {}, "Q K V", "Y"),
    ("Attention", {**HEADS, "attn_mask": (3, 5)}, {}, "Q K V", "Y"),
    ("Attention", HEADS, {"is_causal": 1, "scale": 0.3}, "Q V", "Y"),
    ("Attention", SQUARE, {"is_causal": 1, "q_num_heads": 2, "kv_num_heads": 2}, "Q K V", "Y"),
]


def attribute(value: object) -> Argument:
    if isinstance(value, float):
        return Fraction(value).limit_denominator(1000)
    return const(value) if isinstance(value, int) else str(value)


def passes(
    op: str, shapes: Shapes, attrs: dict[str, object], wanted: tuple[str, ...], of: str
) -> tuple[Program, Derivative, WrittenPass]:
    """Return forward with all outputs, and both backward passes."""
    library = open_library(())
    spec = library.find("", op)
    assert spec is not None
    values = {name: attribute(value) for name, value in attrs.items()}
    node = GraphNode(op, "", "", tuple(shapes), (of,), values)  # type: ignore[arg-type]
    given: dict[str, Argument] = {
        s.name: Tensor(tuple(map(const, shapes[s.name])), "int64" if s.name == "labels" else "float64")
        if s.name in shapes
        else Missing(s.name)
        for s in spec.inputs
    }
    one, every = (
        elaborate(
            spec.program,
            {**given, **values},
            name=op,
            library=spec.library,
            operators=library.operators(),
            outputs=outputs,
        ).program
        for outputs in (1, len(spec.outputs))
    )
    parsed = written_file("", op)
    assert parsed is not None
    written = lower_written(parsed, DefinedNode(library, node, spec), one, wanted, (of,))
    assert written is not None
    return every, derive(one, GradientRequest(wanted, (of,))), written


@pytest.mark.parametrize("op, shapes, attrs, inputs, of", CASES)
def test_as_derived(op: str, shapes: Shapes, attrs: dict[str, object], inputs: str, of: str) -> None:
    wanted = tuple(inputs.split())
    every, derived, written = passes(op, shapes, attrs, wanted, of)
    rng = np.random.default_rng(3)
    least = -1.0 if op == "Relu" else 0.3
    arrays = {
        name: (rng.integers(0, 4, shape) if name == "labels" else rng.uniform(least, 1.5, shape),)
        for name, shape in shapes.items()
    }
    values = run_vectorised(every, arrays, {}).outputs
    known = {name: (np.asarray(value),) for name, value in values.items()} | arrays
    (adjoint,) = derived.adjoints[of]
    known[adjoint] = (rng.uniform(-1, 1, known[of][0].shape),)
    one, other = (
        run_vectorised(made.program, {given.name: known[given.name] for given in made.program.inputs}, {})
        for made in (derived, written)
    )
    for name in wanted:
        found, expected = other.outputs[written.gradients[name]], one.outputs[derived.gradients[name]]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)  # stash_type is float32
    assert other.counts.eops == count(written.program).eops
    if op != "Relu":
        assert int(str(count(written.program).eops)) <= int(str(count(derived.program).eops))


def test_every_file_is_held() -> None:
    files = {file.name.removesuffix(".tol") for file in specs_root().joinpath("backward").iterdir()}
    assert {name for name in files if name[0].isupper()} == {case[0] for case in CASES} | {"TopK"}


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_the_largest_get_their_adjoints_back(axis: int) -> None:
    """The definition of TopK sorts, and has no derivative: what is written is held to NumPy."""
    library, shape = open_library(()), (3, 4, 5)
    spec, parsed = library.find("", "TopK"), written_file("", "TopK")
    assert spec is not None
    assert parsed is not None
    values: dict[str, Argument] = {"K": const(2), "axis": const(axis)}
    forward = elaborate(
        spec.program,
        {"X": Tensor(tuple(map(const, shape)), "float64"), **values},
        name="TopK",
        library=spec.library,
        operators=library.operators(),
        outputs=2,
    ).program
    node = GraphNode("TopK", "", "", ("X", "K"), ("Values", "Indices"), values)  # type: ignore[arg-type]
    written = lower_written(parsed, DefinedNode(library, node, spec), forward, ("X",), ("Values",))
    assert written is not None
    rng = np.random.default_rng(5)
    x = rng.permutation(60).reshape(shape) * 1.0
    places = np.flip(np.argsort(x, axis), axis).take([0, 1], axis)
    adjoint = rng.uniform(-1, 1, places.shape)
    (name,) = written.adjoints["Values"]
    known = {"X": (x,), "Indices": (places,), name: (adjoint,)}
    found = run_vectorised(written.program, {g.name: known[g.name] for g in written.program.inputs}, {})
    expected = np.zeros(shape)
    np.put_along_axis(expected, places, adjoint, axis)
    np.testing.assert_array_equal(found.outputs[written.gradients["X"]], expected)


def test_attention_takes_five_products_where_forward_has_two() -> None:
    shapes: Shapes = {"Q": (2, 4, 8, 16), "K": (2, 4, 8, 16), "V": (2, 4, 8, 16)}
    every, _, written = passes("Attention", shapes, {}, ("Q", "K", "V"), "Y")
    product, rows = 2 * 4 * 8 * 8 * 16, 2 * 4 * 8 * 16
    assert count(every).macs == 2 * product
    assert count(written.program).macs == 5 * product + rows


@pytest.mark.parametrize("keys,flops", [(128, 134_217_728), (256, 268_435_456)])
def test_attention_as_torch_counts_it(keys: int, flops: int) -> None:
    """Three times the products of forward by the formula; 3.5 times where scores are computed again.

    The figures are those of torch's own tests of its counter, of 32 heads. Beside them, the derived pass has
    two products for each score (of the softmax), and the written one a product for each number of the output.
    """
    shapes: Shapes = {"Q": (4, 8, 128, 64), "K": (4, 8, keys, 64), "V": (4, 8, keys, 64)}
    every, derived, written = passes("Attention", shapes, {}, ("Q", "K", "V"), "Y")
    assert 2 * count(every).macs == flops
    scores, rows = 32 * 128 * keys, 32 * 128 * 64
    again = flops // 2  # the scores, which the derivative of a program computes again
    assert 2 * (count(derived.program).macs - 2 * scores) == 2 * flops + again
    assert 2 * (count(written.program).macs - rows) + flops == 7 * flops // 2
