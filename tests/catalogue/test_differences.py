"""Differences are seen, and no more is forgiven than ONNX's runner forgives."""

import ml_dtypes
import numpy as np

from tolcost.catalogue.conformance import distribution_difference, shape_difference, value_difference


def differ(a: object, b: object) -> bool:
    return value_difference(np.asarray(a), np.asarray(b), 1e-3, 1e-7) is not None


def test_floats_within_the_tolerance() -> None:
    assert not differ([1.0, np.nan, np.inf], [1.0009, np.nan, np.inf])
    assert differ([1.0], [1.0011])
    assert differ([0.0], [2e-7])
    assert differ([np.inf], [-np.inf])
    assert differ([np.nan], [0.0])


def test_bfloat16_within_two_units() -> None:
    one = np.array([1.0], ml_dtypes.bfloat16)
    assert not differ(one, (one.astype(np.float32) * 1.0156).astype(ml_dtypes.bfloat16))
    assert differ(one, (one.astype(np.float32) * 1.04).astype(ml_dtypes.bfloat16))


def test_everything_else_exactly() -> None:
    assert differ([10000], [10001])
    assert differ(np.array([1], np.int32), np.array([1], np.int64))
    assert differ(np.array([7], ml_dtypes.int4), np.array([6], ml_dtypes.int4))
    assert differ(np.array(["a"], object), np.array(["b"], object))
    assert not differ(np.array(["a"], object), np.array(["a"], "U1"))


def test_shapes_and_sequences() -> None:
    a = np.zeros((2, 3))
    assert shape_difference(a, a.T) is not None
    assert shape_difference((a, a), (a,)) is not None
    assert shape_difference((a,), a) is not None
    assert shape_difference(None, a) is not None
    assert shape_difference((a, a), (a, a)) is None


def test_distributions() -> None:
    random = np.random.default_rng(1)
    assert distribution_difference(random.normal(size=2000), random.normal(size=1500)) is None
    assert distribution_difference(random.normal(size=2000), random.normal(0.5, 1, 1500)) is not None
    assert distribution_difference(random.random(200), random.random(200).astype(np.float32)) is not None
