"""The rows of the paper's two ONNX tables, with all that ``specs/paper`` says of each."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tolcost.audit.instances import Instance
from tolcost.diagnostics import Source
from tolcost.elaborate.arguments import PlainValue
from tolcost.library import specs_root

Renamings: TypeAlias = Mapping[str, "str | Sequence[int | str]"]
Toml: TypeAlias = Mapping[str, Any]  # what a TOML file holds


@dataclass(frozen=True, slots=True)
class PaperTrial:
    """A run of the printed program: on a node test of ONNX, or on values that ``operator`` gets too."""

    node: str | None
    inputs: Mapping[str, PlainValue]
    attrs: Mapping[str, PlainValue]
    shapes: Mapping[str, Sequence[int]]
    exact_shape: bool
    operator_inputs: Mapping[str, PlainValue] = field(default_factory=dict)
    operator_attrs: Mapping[str, PlainValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PaperRow:
    """A row of the paper.  ``printed`` is None where the print is not even ToLang."""

    part: int
    operator: str
    signature: str
    representation: str
    flops: str
    eops: str
    printed: Source | None
    corrected: Source | None
    note: str
    definition: str
    verified: Instance
    names: Renamings
    verified_names: Renamings
    at: Mapping[str, int]
    trials: tuple[PaperTrial, ...]

    @property
    def right(self) -> Source:
        """The program that is right: the corrected one, or the printed one that needs no correction."""
        found = self.corrected or self.printed
        if found is None:
            raise LookupError(f"{self.operator} has no program")
        return found


def paper_rows() -> tuple[PaperRow, ...]:
    """All 60 rows, in the order of the print."""
    folder = specs_root().joinpath("paper")
    readings = tomllib.loads(folder.joinpath("readings.toml").read_text(encoding="utf-8"))
    table = io.StringIO(folder.joinpath("tables.csv").read_text(encoding="utf-8"))
    return tuple(_row(line, readings.get(line["operator"], {})) for line in csv.DictReader(table))


def _row(line: Mapping[str, str], reading: Toml) -> PaperRow:
    name = line["operator"]
    printed, corrected = _program(name, "printed"), _program(name, "corrected")
    verified = reading.get("verified", {})
    instance = Instance(
        name, verified.get("shapes", {}), verified.get("attrs", {}), verified.get("outputs", 1)
    )
    return PaperRow(
        part=int(line["part"]),
        operator=name,
        signature=line["signature"],
        representation=line["representation"].replace("\\n", "\n"),
        flops=line["flops"],
        eops=line["eops"],
        printed=printed,
        corrected=corrected,
        note=note_of(corrected or printed),
        definition=reading.get("definition", ""),
        verified=instance,
        names=reading.get("names", {}),
        verified_names=verified.get("names", {}),
        at=reading.get("at", {}),
        trials=tuple(map(_trial, reading.get("trial", ()))),
    )


def _trial(entry: Toml) -> PaperTrial:
    operator = entry.get("operator", {})
    return PaperTrial(
        entry.get("node"),
        entry.get("inputs", {}),
        entry.get("attrs", {}),
        entry.get("shape", {}),
        entry.get("exact_shape", False),
        operator.get("inputs", {}),
        operator.get("attrs", {}),
    )


def _program(name: str, kind: str) -> Source | None:
    file = specs_root().joinpath("paper", "onnx", f"{name}.{kind}.tol")
    if not file.is_file():
        return None
    return Source(f"specs/paper/onnx/{name}.{kind}.tol", file.read_text(encoding="utf-8"))


def note_of(source: Source | None) -> str:
    """The remark in the head of a program on what is right and wrong in the print."""
    found = re.search(r"^# verdict-note: (.*(?:\n#   .*)*)", source.text if source else "", re.M)
    return re.sub(r"\n#\s+", " ", found[1]) if found else ""
