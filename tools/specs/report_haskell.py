"""Write ``reports/haskell.md`` and ``.csv`` from the record of GHC: ``python -m tools.specs.report_haskell``.

Every program of ``specs/haskell`` is run on the recorded inputs.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from tolcost.atoms.nodes import Program
from tolcost.catalogue.listing import read_library
from tolcost.cost import count
from tolcost.execute import Execution, run_vectorised
from tolcost.pipeline import lower, read_program
from tolcost.show.document import Code, Column, Link, ReportTable
from tolcost.show.tables import csv_text, markdown
from tolcost.syntax import read_source
from tools.programs.road import lengths_of
from tools.specs.record_haskell import PROGRAMS, RECORD, ROOT

REPORT = ROOT / "reports" / "haskell.md"
COMMAND = "make haskell"
# GHC's operations on truth values and its choices do not count in the record.
_NOT_ON_NUMBERS = ("and", "or", "not", "xor", "where")

_COLUMNS = (
    Column("program", "operator"),
    Column("about", "what it gives"),
    Column("haskell", "in Haskell", "code", shown=False),
    Column("eops", "EOPs", "form"),
    Column("status", "count is"),
    Column("ours", "operations here", "number"),
    Column("ghc", "in GHC", "number"),
    Column("alike", "equal on"),
)


class CaseRun(Struct, frozen=True, eq=False):
    """A recorded case and the run of the program on its inputs."""

    case: dict[str, Any]
    run: Execution
    dims: dict[str, int]

    @property
    def on_numbers(self) -> int:
        """How many functions the run applies to numbers, as GHC's record counts them."""
        histogram = self.run.counts.histogram
        return sum(times for (name, _), times in histogram.items() if name not in _NOT_ON_NUMBERS)


@cache
def recorded() -> dict[str, Any]:
    """Read the record by program."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))["programs"]
    return found


@cache
def lowered(name: str) -> Program:
    """Lower a program of the library."""
    return lower(read_program(read_source(PROGRAMS / f"{name}.tol"))).program


def run_cases(name: str) -> list[CaseRun]:
    """Run a program on the inputs of every recorded case."""
    return [_run(lowered(name), case) for case in recorded()[name]["cases"]]


def _run(program: Program, case: dict[str, Any]) -> CaseRun:
    given = case["inputs"]
    symbols = {symbol.name for symbol in lengths_of(program)}
    dims = {name: value for name, value in given.items() if name in symbols}
    arrays = {}
    for needed in program.inputs:
        (part,) = needed.type
        value = given[needed.name]
        sizes = [len(value)] if part.shape else []
        if len(part.shape) > 1:  # an empty list of pairs does not show that they are pairs
            sizes.append(len(value[0]) if value else 2)
        for length, size in zip(part.shape, sizes, strict=True):
            dims.update({symbol.name: size for symbol in length.free})
        arrays[needed.name] = np.array(value, bool if part.space == "B" else np.int64).reshape(sizes)
    return CaseRun(case, run_vectorised(program, arrays, dims), dims)


def row_of(name: str, runs: list[CaseRun]) -> tuple[Any, ...]:
    """Give the row of a program: its closed form, and operations on numbers here and in GHC."""
    counts = count(lowered(name))
    alike = sum(one.on_numbers == one.case["operations"] for one in runs)
    about = read_library("haskell").find(name).about.partition(" Haskell: ")[0]
    return (
        Link(name.replace("_strict", "'"), f"../specs/haskell/{name}.tol"),
        about,
        Code(recorded()[name]["haskell"]),
        counts.eops,
        counts.status,
        sum(one.on_numbers for one in runs),
        sum(one.case["operations"] for one in runs),
        f"{alike} of {len(runs)}",
    )


def report_table(rows: list[tuple[Any, ...]]) -> ReportTable:
    """Make the table of all programs."""
    same = sum(row[5] == row[6] for row in rows)
    cases = sum(int(row[7].split()[-1]) for row in rows)
    about = (
        f"{len(rows)} operators of Haskell's base and vector as programs (specs/haskell). Each gives what "
        f"GHC gives on recorded inputs, {cases:,} in all, empty lists among them. Beside the closed form of "
        "its EOPs is the number of operations on numbers, arithmetic and comparisons, that these inputs "
        "take: here, and in GHC, where the elements are of a type that counts. Both are equal for "
        f"{same} programs. GHC applies fewer where it is lazy, and stops at the first entry that decides "
        "(any, elem, isPrefixOf), and where it does not compute places as numbers (findIndices, group, "
        "sort, insert). It applies more where it computes a result that it drops (prescanl')."
    )
    return ReportTable(_COLUMNS, tuple(rows), "haskell", "Operators of Haskell", about, COMMAND)


def main() -> int:
    """Write the report."""
    table = report_table([row_of(name, run_cases(name)) for name in sorted(recorded())])
    REPORT.write_text(markdown((table,)), encoding="utf-8")
    REPORT.with_suffix(".csv").write_text(csv_text(table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
