"""Layers of long short-term memory with weights of 8 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases

WAYS = ("forward", "reverse", "bidirectional")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"clip": 0.75},
    {"input_forget": 1},
    {"activations": ["HardSigmoid", "Relu", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.4]},
)


@cases("DynamicQuantizeLSTM")
def quantised_lstm(d: Draw) -> Trial:
    """The number of the case decides the direction, so that each comes up; the rest is drawn."""
    direction = WAYS[d.number % len(WAYS)]
    ways = 2 if direction == "bidirectional" else 1
    n, b, m, h = d.int(2, 4), *d.ints(3, 1, 3)
    dtype = d.pick((np.int8, np.uint8))
    inputs = [d.floats(n, b, m), weights(d, dtype, ways, m, 4 * h), weights(d, dtype, ways, h, 4 * h)]
    inputs += [d.perhaps(d.floats(ways, 8 * h)), d.perhaps(d.whole(b, low=1, high=n, dtype=np.int32))]
    inputs += [
        d.perhaps(d.floats(ways, b, h)),
        d.perhaps(d.floats(ways, b, h)),
        d.perhaps(d.floats(ways, 3 * h)),
    ]
    scales = [*scale(d, dtype, ways, h), *scale(d, dtype, ways, h)]
    options = dict(d.pick(OPTIONS))
    if "activations" in options:
        options = {name: value * ways for name, value in options.items()}
    attrs = {"hidden_size": h, "direction": direction, **options}
    return Trial([*inputs, *scales], attrs, asked=(True, True, True), rtol=1e-9, atol=1e-5)


def weights(d: Draw, dtype: Any, *shape: int) -> Array:
    """Signed ones keep to 7 bits: some processors add two products in 16 bits, and lose what does not fit."""
    low, high = (-64, 63) if dtype is np.int8 else (0, 255)
    return d.whole(*shape, low=low, high=high, dtype=dtype)


def scale(d: Draw, dtype: Any, ways: int, h: int) -> tuple[Array, Array]:
    """A scale and a zero point: one each, or one for each column, where all zero points have to be equal."""
    if d.flip():
        found = d.positive(ways, 4 * h, low=0.005, high=0.025)
        return found, np.full(found.shape, 0 if dtype is np.int8 else 130, dtype)
    low, high = (-9, 9) if dtype is np.int8 else (100, 150)
    return d.positive(ways, low=0.005, high=0.025), d.whole(ways, low=low, high=high, dtype=dtype)
