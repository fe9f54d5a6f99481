"""Convolution, pooling and images where ONNX has no test of its own: old versions, rare options."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.specs.holding import Array, by_reference, held, whole

RANDOM = np.random.default_rng(13)


def floats(*shape: int) -> Array:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


def reals(*entries: float) -> Array:
    return np.array(entries, np.float32)


IMAGE = floats(2, 4, 7, 6)


# ---- convolution ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x, w, options",
    [
        (IMAGE, floats(6, 2, 3, 3), {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1]}),
        (IMAGE, floats(4, 1, 2, 3), {"group": 4, "dilations": [2, 1]}),
        (floats(1, 2, 9), floats(3, 2, 4), {"auto_pad": "SAME_LOWER", "strides": [2]}),
        (floats(1, 2, 5, 4, 4), floats(3, 2, 2, 3, 2), {"auto_pad": "VALID"}),
    ],
)
def test_convolutions(x: Array, w: Array, options: dict[str, Any]) -> None:
    held("Conv", 7, [x, w, floats(len(w))], options, rtol=1e-3)


def spread(x: Array, w: Array, group: int, strides: tuple[int, ...], dilations: tuple[int, ...]) -> Array:
    """What a transposed convolution is before anything is cut off."""
    (n, c, *s), (_, m, *k) = x.shape, w.shape
    lengths = [(a - 1) * b + (d - 1) * e + 1 for a, b, d, e in zip(s, strides, k, dilations, strict=True)]
    y = np.zeros((n, m * group, *lengths), np.float32)
    for h, place, entry in product(range(c), np.ndindex(*s), np.ndindex(*k)):
        g = h // (c // group)
        at = tuple(np.array(place) * strides + np.array(entry) * dilations)
        y[(slice(None), slice(g * m, (g + 1) * m), *at)] += np.outer(
            x[(slice(None), h, *place)], w[h, :, *entry]
        )
    return y


def test_transposed_convolution_with_groups() -> None:
    x, w, b = floats(2, 4, 3, 4), floats(4, 2, 3, 2), floats(4)
    whole_ = spread(x, w, 2, (2, 3), (2, 1)) + b.reshape(4, 1, 1)
    options = {"group": 2, "strides": [2, 3], "dilations": [2, 1]}
    held("ConvTranspose", 7, [x, w, b], options, [whole_], rtol=1e-4)
    cut = whole_[:, :, 1:, 2:-1]
    held("ConvTranspose", 11, [x, w, b], options | {"pads": [1, 2, 0, 1]}, [cut], rtol=1e-4)
    longer = np.concatenate([whole_, np.broadcast_to(b.reshape(4, 1, 1), (2, 4, *whole_.shape[2:3], 2))], 3)
    held("ConvTranspose", 11, [x, w, b], options | {"output_padding": [0, 2]}, [longer], rtol=1e-4)


@pytest.mark.parametrize("auto, start", [("SAME_UPPER", (0, 0)), ("SAME_LOWER", (1, 0))])
def test_transposed_convolution_of_a_given_length(auto: str, start: tuple[int, int]) -> None:
    x, w = floats(1, 2, 3, 4), floats(2, 2, 3, 2)
    y = spread(x, w, 1, (2, 2), (1, 1))[:, :, start[0] :, start[1] :][:, :, :6, :8]
    options = {"strides": [2, 2], "auto_pad": auto}
    held("ConvTranspose", 11, [x, w], options, [y], rtol=1e-4)
    held("ConvTranspose", 11, [x, w], options | {"output_shape": [6, 8]}, [y], rtol=1e-4)


def test_deformed_windows() -> None:
    inputs = [floats(1, 4, 4, 4), floats(6, 2, 2, 2), floats(1, 16, 3, 3), floats(6), floats(1, 8, 3, 3)]
    held("DeformConv", 19, inputs, {"group": 2, "offset_group": 2}, rtol=1e-3)
    options = {"strides": [2, 2], "dilations": [2, 1], "pads": [1, 0, 2, 1], "kernel_shape": [3, 2]}
    held("DeformConv", 19, [floats(1, 2, 7, 6), floats(3, 2, 3, 2), floats(1, 12, 3, 3)], options, rtol=1e-3)


# ---- pooling ----------------------------------------------------------------------------------

POOL = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}


@pytest.mark.parametrize("opset", [7, 10, 11, 22])
def test_older_pools(opset: int) -> None:
    held("MaxPool", opset, [IMAGE], POOL, by_reference("MaxPool", 12, [IMAGE], POOL))
    for counted in (0, 1):
        options = POOL | {"count_include_pad": counted}
        held("AveragePool", opset, [IMAGE], options, by_reference("AveragePool", 19, [IMAGE], options))


def maxima(x: Array, kernel: tuple[int, ...], column_order: bool) -> Iterator[tuple[float, int]]:
    """The largest element of each window without padding, one step apart, and its flat place."""
    out = [n - k + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    order: Any = "F" if column_order else "C"
    for f, o in product(np.ndindex(*x.shape[:2]), np.ndindex(*out)):
        places = [tuple(np.add(o, q)) for q in np.ndindex(*kernel)]
        best = max(places, key=lambda p: float(x[(*f, *p)]))
        plane = np.ravel_multi_index(f, x.shape[:2]) * np.prod(x.shape[2:])
        yield float(x[(*f, *best)]), int(plane + np.ravel_multi_index(best, x.shape[2:], order=order))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("x", [floats(2, 2, 4, 3), floats(1, 2, 3, 4, 3)])
def test_where_a_maximum_is(x: Array, order: int) -> None:
    kernel = (2,) * (x.ndim - 2)
    values, places = zip(*maxima(x, kernel, bool(order)), strict=True)
    shape = (*x.shape[:2], *(n - 1 for n in x.shape[2:]))
    expected = [np.array(values, np.float32).reshape(shape), np.array(places, np.int64).reshape(shape)]
    held("MaxPool", 8, [x], {"kernel_shape": list(kernel), "storage_order": order}, expected)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_as_pools(p: int) -> None:
    options = {"kernel_shape": [3, 2], "p": p}
    expected = by_reference("LpPool", 18, [IMAGE], options)
    held("LpPool", 7, [IMAGE], options, expected, rtol=1e-4)
    total = ((np.abs(IMAGE) ** p).sum((2, 3), keepdims=True) ** (1 / p)).astype(np.float32)
    held("GlobalLpPool", 7, [IMAGE], {"p": p}, [total], rtol=1e-4)


def region(x: Array, roi: Array, shape: tuple[int, int]) -> Iterator[float]:
    """The maxima of one region's bins, channel by channel."""
    x1, y1, x2, y2 = np.floor(roi[1:] + 0.5)
    size = (max(y2 - y1 + 1, 1) / shape[0], max(x2 - x1 + 1, 1) / shape[1])
    for f, p, q in np.ndindex(x.shape[1], *shape):
        top, left = int(np.floor(p * size[0]) + y1), int(np.floor(q * size[1]) + x1)
        bottom, right = int(np.ceil((p + 1) * size[0]) + y1), int(np.ceil((q + 1) * size[1]) + x1)
        box = x[int(roi[0]), f, max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
        yield float(box.max()) if box.size else 0.0


def test_the_maxima_of_regions() -> None:
    rois = reals(0, 1, 1, 5, 6, 1, 0, 2, 3, 3, 0, 2.4, 1.6, 5.4, 3.2, 1, 4, 4, 9, 12).reshape(4, 5)
    values = [v for roi in rois for v in region(IMAGE, roi, (2, 3))]
    expected = np.array(values, np.float32).reshape(4, 4, 2, 3)
    held("MaxRoiPool", 7, [IMAGE, rois], {"pooled_shape": [2, 3]}, [expected])


def test_small_images_atom_by_atom() -> None:
    """Onnx has no test of these."""
    small = np.ascontiguousarray(IMAGE[:1, :1, :3, :3])
    rois = reals(0, 0, 0, 2, 1).reshape(1, 5)
    expected = np.array(list(region(small, rois[0], (1, 2))), np.float32).reshape(1, 1, 1, 2)
    found = held("MaxRoiPool", 7, [small, rois], {"pooled_shape": [1, 2]}, [expected], atoms=5000)
    assert found.unrolled is not None
    total = np.abs(small).sum(axis=(2, 3), keepdims=True)
    assert held("GlobalLpPool", 7, [small], {"p": 1}, [total], rtol=1e-4, atoms=1000).unrolled is not None


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_points_of_regions(mode: str, ratio: int) -> None:
    rois = reals(0.5, 1, 5, 6, 0, 2, 3.3, 3.9, 2, 2, 5.5, 6.5).reshape(3, 4)
    inputs = [IMAGE, rois, whole(0, 1, 1)]
    options = {"output_height": 2, "output_width": 3, "sampling_ratio": ratio, "mode": mode}
    held("RoiAlign", 16, inputs, options | {"spatial_scale": 0.75}, rtol=1e-4)
    unmoved = options | {"coordinate_transformation_mode": "output_half_pixel"}
    held("RoiAlign", 10, inputs, options, by_reference("RoiAlign", 16, inputs, unmoved), rtol=1e-4)


# ---- resizing and sampling --------------------------------------------------------------------

SMALL = floats(1, 2, 5, 4)
NONE = np.zeros(0, np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_before_resize_had_options(mode: str) -> None:
    scales = reals(1, 1, 2.5, 3)
    now = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    expected = by_reference("Resize", 19, [SMALL, None, scales], now)
    held("Resize", 10, [SMALL, scales], {"mode": mode}, expected, rtol=1e-4)
    held("Upsample", 9, [SMALL, scales], {"mode": mode}, expected, rtol=1e-4)
    held("Upsample", 7, [SMALL], {"mode": mode, "scales": scales.tolist()}, expected, rtol=1e-4)


def test_downsampling_once_took_the_next_element() -> None:
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    held("Resize", 10, [x, reals(1, 1, 0.6, 0.6)], {}, [reals(1, 3).reshape(1, 1, 1, 2)])


@pytest.mark.parametrize("how", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_ways_to_resize(how: str, mode: str) -> None:
    options = {"coordinate_transformation_mode": how, "mode": mode}
    held("Resize", 11, [SMALL, NONE, NONE, whole(1, 2, 8, 3)], options, rtol=1e-4)
    held("Resize", 13, [SMALL, None, reals(1, 1, 1.6, 0.5)], options, rtol=1e-4)
    last = [SMALL, None, None, whole(5, 9)]
    expected = by_reference("Resize", 19, last, options | {"axes": [2, 3]})
    held("Resize", 19, last, options | {"axes": [-2, -1]}, expected, rtol=1e-4)
    if (how, mode) != ("pytorch_half_pixel", "cubic"):  # the evaluator takes -0.5 where ONNX's text says 0
        held("Resize", 13, [SMALL, None, None, whole(1, 2, 1, 3)], options, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_smaller"},
    ],
)
def test_options_of_resize(options: dict[str, Any]) -> None:
    held("Resize", 19, [SMALL, None, None, whole(3, 2)], options | {"axes": [2, 3]}, rtol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_bytes_are_rounded_and_kept_in_range(mode: str) -> None:
    pixels = RANDOM.integers(0, 255, (1, 1, 4, 4)).astype(np.uint8)
    held("Resize", 13, [pixels, None, reals(1, 1, 2, 2)], {"mode": mode})


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_regions_to_crop(mode: str) -> None:
    roi = reals(0, 0, 0.2, 0.1, 1, 1, 0.7, 1.2)
    how = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 3.0}
    held("Resize", 19, [SMALL, roi, None, whole(1, 2, 4, 6)], how | {"mode": mode}, rtol=1e-4)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode, old", [("linear", "bilinear"), ("nearest", "nearest"), ("cubic", "bicubic")])
def test_samples(corners: int, padding: str, mode: str, old: str) -> None:
    grid = (RANDOM.random((2, 3, 4, 2)) * 3 - 1.5).astype(np.float32)
    options = {"align_corners": corners, "padding_mode": padding, "mode": mode}
    inputs = [floats(2, 2, 5, 4), grid]
    expected = by_reference("GridSample", 20, inputs, options)
    held("GridSample", 20, inputs, options, expected, rtol=1e-3)
    held("GridSample", 16, inputs, options | {"mode": old}, expected, rtol=1e-3)


def test_columns_to_an_image() -> None:
    assert held("Col2Im", 18, [floats(2, 12, 15), whole(4, 6), whole(2, 2)], {}).concrete == ()
    options = {"strides": [2, 2], "pads": [1, 0, 1, 1], "dilations": [1, 2]}
    held("Col2Im", 18, [floats(1, 12, 6), whole(5, 5), whole(3, 2)], options)


def test_maxima_put_back() -> None:
    x, places = reals(1, 2, 3, 4).reshape(1, 1, 2, 2), whole(5, 7, 13, 15).reshape(1, 1, 2, 2)
    options = {"kernel_shape": [2, 2], "strides": [2, 2]}
    assert held("MaxUnpool", 9, [x, places], options).eops == "0"
    held("MaxUnpool", 11, [x, places, whole(1, 1, 5, 5)], options)
