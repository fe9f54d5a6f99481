"""What tolcost counts at the recorded points, and for the nodes of the recorded models.

    PYTHONPATH=tools/benchmarks python -m hardware.counts reports/data/h200

Writes ``counts.csv`` and ``node_counts.csv`` beside what was recorded; needs no GPU.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .command import given_attributes, given_shapes, spec, tolcost
from .table import Case, read_table

WIDTHS = {"bool": 1, "int8": 1, "int32": 4, "int64": 8, "float32": 4, "bfloat16": 2}
ASSUMED = {"R": 4, "Z": 8}
"""How wide tolcost takes elements to be that a program does not fix."""


@cache
def analysed(op: str, shapes: str, attrs: str) -> dict[str, Any]:
    """What ``tolcost analyze`` says of an operator at these shapes, both given as JSON."""
    given = [*given_shapes(json.loads(shapes)), *given_attributes(json.loads(attrs))]
    program: dict[str, Any] = json.loads(tolcost("analyze", spec(op), *given, "--format", "json"))
    return program["programs"][0]  # type: ignore[no-any-return]


def row(case: Case, float_type: str, shapes: str, attrs: str) -> dict[str, Any]:
    """EOPs, the histogram, MACs, the serial depth, and the compulsory bytes, elements as wide as they are."""
    at = analysed(case.op, shapes, attrs)
    widths = {"R": WIDTHS[float_type], "Z": min((WIDTHS[t] for t in case.types.values()), default=8)}
    moved = {way: _bytes(spaces, widths) for way, spaces in at["traffic"].items()}
    histogram = {function: int(n) for function, n in at["histogram"].items()}
    counted = {"eops": int(at["eops"]), "macs": int(at["macs"]), "histogram": json.dumps(histogram)}
    counted["span"] = int(at["span"])
    certain = moved.get("certain", moved["read"])
    return {**counted, "read": moved["read"], "certain": certain, "written": moved["written"]}


def _bytes(spaces: Mapping[str, str], widths: Mapping[str, int]) -> int:
    wide = {space: widths[space] / ASSUMED[space] for space in ASSUMED}
    return sum(round(int(n) * wide.get(space, 1)) for space, n in spaces.items())


def point_counts() -> Iterator[dict[str, Any]]:
    """A row for each recorded point of the table."""
    for case in read_table().values():
        for at in case.sizes:
            size = " ".join(f"{name}={n}" for name, n in at.items())
            shapes, attrs = json.dumps(case.shapes(at)), json.dumps(case.attributes(at))
            for type_ in case.floats:
                head = {"name": case.name, "class": case.kind, "type": type_, "size": size}
                yield {**head, **row(case, type_, shapes, attrs)}


def node_counts(nodes: Path) -> Iterator[dict[str, Any]]:
    """The recorded nodes of the models, with their counts."""
    table = read_table()
    with nodes.open(encoding="utf-8", newline="") as lines:
        for node in csv.DictReader(lines):
            yield {**node, **row(table[node["case"]], node["type"], node["shapes"], node["attrs"])}


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    listed = list(rows)
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(listed[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(listed)


def main() -> int:
    folder = Path(sys.argv[1])
    write(folder / "counts.csv", point_counts())
    write(folder / "node_counts.csv", node_counts(folder / "nodes.csv"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
