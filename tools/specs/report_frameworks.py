"""Write ``reports/frameworks.md`` and ``.csv``: ``python -m tools.specs.report_frameworks``."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tolcost.algebra import Poly
from tolcost.cost import count
from tolcost.pipeline import lower, read_program
from tolcost.show.document import Column, Link, ReportTable
from tolcost.show.tables import csv_text, markdown
from tolcost.syntax import read_source
from tools.specs.record_frameworks import PROGRAMS, RECORD, ROOT, TITLES, called, calls, program_texts

REPORT = ROOT / "reports" / "frameworks.md"
COMMAND = "make frameworks"
_SETS = {"torch": "core ATen", "tensorflow": "tf.raw_ops"}
_COLUMNS = (
    Column("set", "set", printed=False),
    Column("operator", "operator"),
    Column("program", "program", printed=False),
    Column("by", "defined"),
    Column("eops", "EOPs", "form", width=40),
    Column("held", "values held to"),
    Column("without", "not defined because"),
)
_KINDS = (
    Column("kind", "what they are about"),
    Column("all", "operators", "number"),
    Column("defined", "defined", "number"),
)
# Why core ATen has operators without a program: the first pattern that a name begins with says.
_REASONS = (
    (r"sym_|_local_scalar_dense|scalar_tensor", "it asks for a length, a layout or a number"),
    (r"empty|resize_|as_strided", "its result is memory, and no function of values"),
    (r"rand|native_dropout", "its result is random"),
    (r".*_backward", "it is a gradient"),
    (r"_", "no program is written yet"),
)


class DefinedOperator(Struct, frozen=True):
    """An operator of a framework, its program, and the operators of ONNX that the program applies."""

    name: str
    program: str
    onnx: tuple[str, ...]
    eops: Poly


def defined_operators(framework: str) -> dict[str, DefinedOperator]:
    """Find the operators of a framework that programs define."""
    found: dict[str, DefinedOperator] = {}
    for name, text in program_texts():
        for call in calls(text, framework):
            for operator in called(call):
                code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
                onnx = tuple(dict.fromkeys(re.findall(r"(?<![\w.])([A-Z]\w+)\(", code)))
                found.setdefault(operator, DefinedOperator(operator, name, onnx, eops_of(name)))
    return found


def eops_of(name: str) -> Poly:
    """Give the closed form of a program."""
    return count(lower(read_program(read_source(PROGRAMS / f"{name}.tol"))).program).eops


def reason(name: str) -> str:
    """Say why an operator of core ATen has no program."""
    return next((why for pattern, why in _REASONS if re.match(pattern, name)), "no program is written yet")


def rows_of(framework: str, operators: Sequence[str], recorded: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Give a row for every operator of a framework."""
    defined = defined_operators(framework)
    rows: list[tuple[Any, ...]] = []
    for name in operators:
        one = defined.get(name)
        if one is None:
            why = reason(name) if framework == "torch" else recorded["operators"][framework][name]
            rows.append((_SETS[framework], name, "", "", "", "", why))
            continue
        held = ", ".join(TITLES[key] for key in TITLES if key in recorded["programs"][one.program][0])
        by = f"by {', '.join(one.onnx)} of ONNX" if one.onnx else "directly"
        link = Link(name, f"../specs/tensors/{one.program}.tol")
        rows.append((_SETS[framework], link, one.program, by, one.eops, held, ""))
    return rows


def tables() -> tuple[list[ReportTable], ReportTable]:
    """Make the tables of the page, and the table of all operators for the CSV."""
    recorded = json.loads(RECORD.read_text("utf-8"))
    kinds: dict[str, str] = recorded["operators"]["tensorflow"]
    torch = rows_of("torch", recorded["operators"]["torch"], recorded)
    tensorflow = rows_of("tensorflow", sorted(kinds), recorded)
    versions = recorded["versions"]
    known = [row for row in tensorflow if not row[-1]]
    total, done = Counter(kinds.values()), Counter(kinds[row[1].text] for row in known)
    open_ones = [row for row in tensorflow if row[-1] == "tensors"]
    about_torch = (
        f"{sum(not row[-1] for row in torch)} of the {len(torch)} operators of core ATen (PyTorch "
        f"{versions['torch']}; overloads of one name count once) have a program (specs/tensors), at "
        "one rank and with some attributes each: directly, or by operators of ONNX. Each program gives what "
        "PyTorch gives on recorded random inputs, and what a run counts is its closed form."
    )
    about_kinds = (
        f"{len(known)} of the {len(tensorflow):,} operators of tf.raw_ops (TensorFlow "
        f"{versions['tensorflow']}) have a program that gives what TensorFlow gives. Most of the others are "
        "not functions of tensors; their kinds follow from their definitions and their names. Of "
        f"those about tensors, {len(open_ones)} have no program yet; the CSV has all names."
    )
    title = "Operators of PyTorch and TensorFlow"
    page = [
        ReportTable(_KINDS, _by_kind(total, done), "", "Operators of TensorFlow", about_kinds, COMMAND),
        ReportTable(_COLUMNS, torch, "", "Operators of PyTorch: core ATen", about_torch, COMMAND),
        ReportTable(_COLUMNS[:-1], [row[:-1] for row in known], "", "Operators of TensorFlow with a program"),
    ]
    return page, ReportTable(_COLUMNS, [*torch, *tensorflow], "frameworks", title)


def _by_kind(total: Counter[str], done: Counter[str]) -> list[tuple[Any, ...]]:
    kinds = sorted(total, key=lambda kind: (-done[kind], kind))
    rows = [(kind, total[kind], done[kind]) for kind in kinds]
    return [*rows, ("all", sum(total.values()), sum(done.values()))]


def main() -> int:
    """Write the report."""
    page, everything = tables()
    REPORT.write_text(markdown(page), encoding="utf-8")
    REPORT.with_suffix(".csv").write_text(csv_text(everything), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
