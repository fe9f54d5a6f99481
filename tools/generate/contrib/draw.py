"""What a drawn case is, and how generators draw from a stream of random numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

Array: TypeAlias = np.ndarray[Any, Any]
DOMAIN = "com.microsoft"


class Trial(Struct, frozen=True):
    """A node to be observed.

    ``asked`` says of each output whether it is asked for.  ``constant`` are the places of inputs that the
    run-time wants as constants of the model.  ``stated`` are the results as the documentation states them,
    for operators that have no kernel for a plain processor.
    """

    inputs: Sequence[Array | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    asked: Sequence[bool] = (True,)
    constant: Sequence[int] = ()
    stated: Sequence[Array] | None = None
    rtol: float | None = None
    atol: float | None = None
    domain: str = DOMAIN
    opset: int = 1


class Draw:
    """Random choices, the same for each operator and number every time."""

    def __init__(self, op: str, number: int) -> None:
        """Start the stream of a case."""
        self.op, self.number = op, number
        self.random = np.random.default_rng([zlib.crc32(op.encode()), number])

    def int(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self.random.integers(low, high + 1))

    def ints(self, count: int, low: int, high: int) -> list[int]:
        """Several of them."""
        return [self.int(low, high) for _ in range(count)]

    def flip(self, chance: float = 0.5) -> bool:
        """True now and then."""
        return bool(self.random.random() < chance)

    def pick(self, options: Sequence[Any]) -> Any:
        """One of several."""
        return options[self.int(0, len(options) - 1)]

    def real(self, low: float, high: float) -> float:
        """A number with few digits."""
        return round(float(self.random.uniform(low, high)), 3)

    def floats(self, *shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Array:
        """Normal numbers of 8 binary places: they take little room, and short floats hold most of them."""
        return np.asarray(np.round(self.random.standard_normal(shape) * scale * 256) / 256).astype(dtype)

    def positive(self, *shape: int, dtype: Any = np.float32, low: float = 0.25, high: float = 2.0) -> Array:
        """Numbers that are not near 0."""
        return np.asarray(np.round(self.random.uniform(low, high, shape) * 4096) / 4096).astype(dtype)

    def whole(self, *shape: int, low: int, high: int, dtype: Any = np.int64) -> Array:
        """Whole numbers, both ends included."""
        return np.asarray(self.random.integers(low, high + 1, shape)).astype(dtype)

    def bytes(self, *shape: int, dtype: Any = np.uint8) -> Array:
        """Whole numbers over the range of their type."""
        info = np.iinfo(dtype)
        return self.whole(*shape, low=info.min, high=info.max, dtype=dtype)

    def perhaps(self, array: Array, chance: float = 0.5) -> Array | None:
        """An optional input."""
        return array if self.flip(chance) else None

    def attrs(self, **options: Any) -> dict[str, Any]:
        """Some of the attributes, the others left to their defaults."""
        return {name: value for name, value in options.items() if value is not None and self.flip(0.7)}


Generator: TypeAlias = Callable[[Draw], Trial]
GENERATORS: dict[str, tuple[Generator, int]] = {}


def cases(*ops: str, count: int = 20) -> Callable[[Generator], Generator]:
    """Say which operators a generator draws cases of."""

    def register(generator: Generator) -> Generator:
        for op in ops:
            GENERATORS[op] = (generator, count)
        return generator

    return register


def trials(op: str) -> list[Trial]:
    """The cases of an operator."""
    generator, count = GENERATORS[op]
    return [generator(Draw(op, n)) for n in range(count)]
