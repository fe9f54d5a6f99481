"""Every slip of the paper found: its place, its words, the reading adopted, and a command that shows it.

Those of the general text are kept in ``specs/paper/errata.toml``; those of programs in the heads of
the corrected programs, as ``# changed:`` lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from tolcost.audit.readings import note_of, paper_rows
from tolcost.library import read_spec, spec_names, specs_root
from tolcost.show.document import Cell, Code, Column, Table

COLUMNS = (
    Column("place", "place"),
    Column("quote", "the paper's words", "code"),
    Column("slip", "what is wrong"),
    Column("reading", "reading adopted"),
    Column("command", "shown by", "code"),
)


def errata_table() -> Table:
    """All slips: of the text, of the programs of section 5, of the ONNX tables."""
    rows = (*_general(), *_section_5(), *_onnx_rows())
    about = (
        f"{len(rows)} entries. A command shows what the compiler makes of the words, or of the reading "
        "adopted; run it from the top of the repository."
    )
    return Table(COLUMNS, rows, "errata", "Errata of the paper", about, "tolcost report")


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
            Code(_program(printed.text)),
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


def _program(text: str) -> str:
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
