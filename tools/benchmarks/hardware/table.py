"""The table of operators, read: cases, their shapes and attributes at given lengths.  Needs no GPU."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
Lengths = Mapping[str, int]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """An operator of ours, and the PyTorch call that computes it; see ``operators.toml``."""

    name: str
    kind: str
    inputs: Mapping[str, str | list[str]]
    call: str
    lengths: tuple[Lengths, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    floats: tuple[str, ...] = ("float32",)
    prepare: str = ""
    pattern: str = "stream"
    columns: str = "1"
    rows: str = "0"
    counters: bool = True
    unless: tuple[str, ...] = ()
    """Of the variant that PyTorch takes by itself: options of a node that make it take the first."""
    note: str = ""

    @property
    def op(self) -> str:
        """The operator's name in ``specs/onnx``."""
        return self.name.split()[0]

    @property
    def small(self) -> Lengths:
        """The lengths at which values are compared."""
        return self.lengths[0]

    @property
    def sizes(self) -> tuple[Lengths, ...]:
        """The lengths that are measured."""
        return self.lengths[1:]

    def shapes(self, at: Lengths) -> dict[str, Shape | list[Shape]]:
        """The shape of each input; a list of them for an input that may be repeated."""
        return {
            name: [_shape(text, at) for text in given] if isinstance(given, list) else _shape(given, at)
            for name, given in self.inputs.items()
        }

    def attributes(self, at: Lengths) -> dict[str, Any]:
        """The attributes and static inputs, formulas evaluated."""
        return {
            name: formula(value[1:], at) if isinstance(value, str) and value.startswith("=") else value
            for name, value in self.attrs.items()
        }


def formula(text: str, at: Lengths) -> Any:
    """The value of a formula of the table, which is part of this program and may be believed."""
    return eval(text, {"float": float, "count": prod}, dict(at))  # noqa: S307


def _shape(text: str, at: Lengths) -> Shape:
    return tuple(formula(f"[{text}]", at))


def read_table(file: Path = HERE / "operators.toml") -> dict[str, Case]:
    """All cases by name, in the order of the file."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    lengths = {name: tuple(given) for name, given in raw.pop("lengths").items()}
    return {case.name: case for case in _cases(raw, lengths)}


def _cases(raw: Mapping[str, Any], lengths: Mapping[str, tuple[Lengths, ...]]) -> Iterator[Case]:
    for kind, group in raw.items():
        for name, entry in group["operators"].items():
            given = dict(entry)
            both = given.pop("bf16", group.get("bf16", False))
            floats = given.pop("only", ["float32", "bfloat16"] if both else ["float32"])
            at = lengths[given.pop("lengths", group["lengths"])]
            common = {key: group[key] for key in ("pattern", "columns") if key in group}
            yield Case(name, kind, lengths=at, floats=tuple(floats), **{**common, **given})
