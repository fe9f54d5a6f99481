"""The rows of the paper's two ONNX tables, with all that ``specs/paper`` says of each."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tolcost.audit.instances import Instance
from tolcost.diagnostics import Source
from tolcost.elaborate.arguments import PlainValue
from tolcost.library import read_spec, spec_names, specs_root
from tolcost.show.document import Cell, Code, Column, ReportTable

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
    command: str
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
        command=verified.get("command", ""),
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


# ---- every slip found: its place, its words, the reading adopted, a command that shows it ------


COLUMNS = (
    Column("place", "place"),
    Column("quote", "the paper's words", "code"),
    Column("slip", "what is wrong"),
    Column("reading", "reading adopted"),
    Column("command", "shown by", "code"),
)


def errata_table() -> ReportTable:
    """All slips: of the text, of the programs of section 5, of the ONNX tables."""
    rows = (*_general(), *_section_5(), *_onnx_rows())
    about = (
        f"{len(rows)} entries. A command shows what the compiler makes of the words, or of the reading "
        "adopted; run it from the top of the repository."
    )
    return ReportTable(COLUMNS, rows, "errata", "Errata of the paper", about, "tolcost report")


def _general() -> Iterator[tuple[Cell, ...]]:
    text = specs_root().joinpath("paper", "errata.toml").read_text(encoding="utf-8")
    for slip in tomllib.loads(text)["slip"]:
        yield slip["place"], Code(slip["quote"]), slip["slip"], slip["reading"], Code(slip["shows"])


def _section_5() -> Iterator[tuple[Cell, ...]]:
    for stem in spec_names("paper/section5"):
        name, _, kind = stem.partition(".")
        if kind != "corrected":
            continue
        printed, corrected = read_spec("paper/section5", f"{name}.printed"), read_spec("paper/section5", stem)
        place = re.search(r"^# paper: (.*)", corrected.text, re.M)
        yield (
            place[1] if place else name,
            Code(_as_printed(printed.text)),
            note_of(corrected),
            " ".join(changes(corrected.text)),
            Code(f"tolcost analyze {printed.name} --symbolic"),
        )


def _onnx_rows() -> Iterator[tuple[Cell, ...]]:
    for row in paper_rows():
        if row.corrected is None:
            continue
        shown = row.printed or row.corrected
        yield (
            f"ONNX table, part {row.part} of 2, row {row.operator}",
            Code(row.representation),
            row.note,
            " ".join(changes(row.corrected.text)),
            Code(f"tolcost analyze {shown.name} --symbolic"),
        )


def _as_printed(text: str) -> str:
    """A program without comments and without what was declared for it."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "attr "))]
    return "\n".join(line for line in lines if not re.match(r"tol \w+: ", line))


def changes(text: str) -> list[str]:
    r"""What the head of a corrected program says was changed, each as a sentence.

    >>> changes("# changed: a is b\n#   or c\n# changed: d is e\nx = 1")
    ['A is b or c.', 'D is e.']
    """
    found = re.findall(r"^# changed: (.*(?:\n#   .*)*)", text, re.M)
    plain = (re.sub(r"\n#\s+", " ", change) for change in found)
    return [change[:1].upper() + change[1:] + ("" if change.endswith(".") else ".") for change in plain]
