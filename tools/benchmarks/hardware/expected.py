"""Values of our definitions at small sizes, for the recorder to hold PyTorch's calls to.

    PYTHONPATH=tools/benchmarks python -m hardware.expected reports/data/h200/expected.npz

Every case of the table is run once by ``tolcost run``; inputs and outputs go into one file.  Needs no GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .command import given_attributes, spec, tolcost
from .table import Case, Shape, formula, read_table

Array = np.ndarray[Any, Any]


def draw(rng: np.random.Generator, kind: str, shape: Shape, at: Any) -> Array:
    """Random values of a kind; the kinds are those of ``operators.toml``."""
    if kind.startswith("below "):
        return rng.integers(0, formula(kind.removeprefix("below "), at), shape)
    if kind.endswith("permutation"):
        return np.argsort(rng.random(shape), axis=0 if kind.startswith("column") else -1)
    bounds = {"positive": (0.5, 2.0), "negative": (-2.0, -0.5), "unit": (-0.9, 0.9), "above one": (1.0, 3.0)}
    return rng.uniform(*bounds[kind], shape) if kind in bounds else rng.standard_normal(shape)


def inputs_of(case: Case) -> dict[str, Array | list[Array]]:
    """The inputs of a case at its small lengths."""
    rng = np.random.default_rng(sum(map(ord, case.name)))

    def one(name: str, shape: Shape) -> Array:
        type_ = case.types.get(name, "float32")
        integer = type_.startswith(("int", "bool"))
        kind = case.values.get(name, "below 2" if type_ == "bool" else "below 100" if integer else "normal")
        return np.asarray(draw(rng, kind, shape, case.small)).astype(type_)

    return {
        name: [one(name, part) for part in shape] if isinstance(shape, list) else one(name, shape)
        for name, shape in case.shapes(case.small).items()
    }


def listed(inputs: dict[str, Array | list[Array]]) -> Iterator[tuple[str, Array]]:
    """Names and arrays, a repeated input once for each of its arrays."""
    for name, given in inputs.items():
        yield from ((name, array) for array in (given if isinstance(given, list) else [given]))


def run(case: Case, inputs: dict[str, Array | list[Array]]) -> Array:
    """The first output of our definition, by the command that a user has."""
    with TemporaryDirectory() as folder:
        arguments = given_attributes(case.attributes(case.small))
        for i, (name, array) in enumerate(listed(inputs)):
            np.save(f"{folder}/{i}.npy", array)
            arguments += ["--input", f"{name}={folder}/{i}.npy"]
        tolcost("run", spec(case.op), *arguments, "-o", f"{folder}/out")
        return _first_output(Path(folder) / "out", Path(spec(case.op)))


def _first_output(folder: Path, file: Path) -> Array:
    """The output that the definition assigns first; of several parts, the first."""
    source = file.read_text(encoding="utf-8")

    def place(path: Path) -> tuple[int, str]:
        return source.index(f"\n{path.stem.split('.')[0]}"), path.name

    array: Array = np.load(min(folder.glob("*.npy"), key=place))
    return array


def main() -> int:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    cases = list(read_table().values())
    arrays = {}
    for case in cases:
        inputs = inputs_of(case)
        for i, (name, array) in enumerate(listed(inputs)):
            arrays[f"{case.name}|{name}|{i}"] = array
        arrays[f"{case.name}|"] = run(case, inputs)
    np.savez_compressed(target, allow_pickle=False, **arrays)
    print(f"{len(cases)} cases, {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
