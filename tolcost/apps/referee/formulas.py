"""Published cost formulas as data: the metric, the operator and its shapes, and the source of each.

Formulas stand as their sources print them (``tolcost.algebra.printed``).

    source = "torch 2.13, torch/utils/flop_counter.py"

    [[formula]]
    name = "mm"
    operator = "MatMul"
    shapes = { A = ["m", "k"], B = ["k", "n"] }
    counts = "flops"
    formula = "2*m*k*n"

A formula for a whole model names a program of a library, and defines its own names in terms of that program:

    [[formula]]
    name = "gpt2"
    program = "families/gpt2"
    formula = "6*N*b*s"
    where = { N = "12*l*(h*e)**2", f = "4*h*e" }   # f is a length of the program: judged only at this value
    train = "step"                                 # training: forward, and the backward pass that is derived

Letters of a source that mean something else here are said by ``let``, in lengths of the subject:

    formula = "24Bsh^2(1 + s/(6h))"
    let = { B = "b", h = "h*e" }

What holds of lengths where it is stated is assumed, and the formula is judged there alone:

    formula = "2*m*m*n"
    assume = ["k = m"]

A formula that is not about an operator has its ``definition``, a program, in place of a name.  ``source`` and
``checked`` (the part of the source that the formula was compared with) default to those of the file.  A file
is read as a whole or refused with every mistake in it.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct, field

from tolcost.apps.referee.conventions import CONVENTIONS
from tolcost.apps.referee.subjects import ModelProgram, Subject
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, unreadable
from tolcost.platform import specs_root
from tolcost.result.instances import OperatorInstance

CountedFigure: TypeAlias = Literal["eops", "flops", "macs", "bytes"]
METRICS: tuple[CountedFigure, ...] = get_args(CountedFigure)
RefereeVerdict: TypeAlias = Literal[
    "equal", "another convention", "too low", "too high", "too low and too high", "undecided"
]
VERDICTS: tuple[RefereeVerdict, ...] = get_args(RefereeVerdict)
RIGHT_VERDICTS: tuple[RefereeVerdict, ...] = ("equal", "another convention")

_FILE_KEYS = {"source", "checked", "reading"}
_SUBJECT_KEYS = {"operator", "program", "definition", "shapes", "attrs", "outputs"}
_KEYS = (
    {"name", "counts", "formula", "where", "let", "assume", "train", "about", "expect"}
    | _SUBJECT_KEYS
    | _FILE_KEYS
)
_MOST_BYTES = 1 << 20
_MOST_FORMULAS = 2_000
STEPS: Mapping[str, int] = {"": 1, "step": 3, "recomputed": 4}
"""What a formula may be about, and how often the products of matrices of a forward pass are in it."""


class PublishedFormula(Struct, frozen=True):
    """A formula, the metric it claims to count, and the place of its publication.

    ``where`` gives the meanings of names in the formula; a length of the subject among them restricts that
    length.  ``let`` gives the meanings of letters in the formula alone, in lengths of the subject, whatever
    these are called.  ``train`` is ``step`` for forward and backward together, ``recomputed`` if forward is
    done once more, and empty for forward alone.  ``expect`` is the verdict that its users rely on, and any
    other verdict is reported; None for shipped formulas, which are judged as they were published.
    ``assume`` are assumptions about lengths of the subject, under which alone the formula is judged.
    ``checked`` names the part of the source that the text was compared with, and ``reading`` the convention
    that the source states.
    """

    name: str
    source: str
    subject: Subject
    counts: CountedFigure
    text: str
    about: str = ""
    expect: str | None = "equal"
    where: Mapping[str, str] = field(default_factory=dict)
    train: str = ""
    checked: str = ""
    let: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""
    assume: tuple[str, ...] = ()


def shipped_formulas() -> dict[str, tuple[PublishedFormula, ...]]:
    """Return the formulas that come with tolcost, by the file of each source."""
    folder = specs_root().joinpath("formulas")
    files = {
        file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")
    }
    return {
        name: parse_formulas(files[name].read_text(encoding="utf-8"), name, expect=None)
        for name in sorted(files)
    }


def read_file(path: Path) -> tuple[PublishedFormula, ...]:
    """Read a file of formulas; mistakes in it raise ``Rejected``."""
    try:
        raw = path.read_bytes()[: _MOST_BYTES + 1]
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(Diagnostic("T0730", f"cannot read {quoted(str(path))}: {unreadable(error)}")) from None
    if len(raw) > _MOST_BYTES:
        refuse("T0730", f"{quoted(str(path))} is larger than {_MOST_BYTES} bytes")
    return parse_formulas(text, path.stem, folder=path.absolute().parent)


def parse_formulas(
    text: str, name: str, expect: str | None = "equal", folder: Path | None = None
) -> tuple[PublishedFormula, ...]:
    r"""Parse a file of formulas; programs are searched for from its folder upwards.

    >>> (one,) = parse_formulas('[[formula]]\nname = "a"\noperator = "Relu"\nformula = "1"', "mine")
    >>> one.counts, one.source
    ('flops', 'mine')
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Rejected(Diagnostic("T0730", f"{name} is not TOML: {error}")) from None
    entries = table.get("formula", [])
    problems = list(_problems(table, entries, name))
    if problems:
        raise Rejected(*problems[:20])
    known = {"source": name} | {key: table[key] for key in _FILE_KEYS if key in table}
    return tuple(_formula(known | _located(entry, folder), name, expect) for entry in entries)


def _located(entry: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return an entry with the path of its program file, relative to the working directory."""
    given = entry.get("program", "")
    if folder is None or not given.endswith(".tol"):
        return dict(entry)
    above = (place / given for place in (folder, *folder.parents))
    found = next((path for path in above if path.is_file()), Path(given))
    return {**entry, "program": os.path.relpath(found)}


def _problems(table: Mapping[str, Any], entries: object, name: str) -> Iterator[Diagnostic]:
    for key in sorted(set(table) - _FILE_KEYS - {"formula"}):
        yield Diagnostic("T0731", f"{name}: there is no key {quoted(key)}")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield Diagnostic("T0731", f"{name}: formulas are written as [[formula]]")
        return
    if len(entries) > _MOST_FORMULAS:
        yield Diagnostic("T0731", f"{name}: there are more than {_MOST_FORMULAS} formulas")
    if not entries:
        yield Diagnostic(
            "T0731", f"{name}: there is no formula in it", hint="formulas are written as [[formula]]"
        )
    names = Counter(entry["name"] for entry in entries if isinstance(entry.get("name"), str))
    for twice in (one for one, times in names.items() if times > 1):
        yield Diagnostic("T0731", f"{name}: {names[twice]} formulas are called {quoted(twice)}")
    for number, entry in enumerate(entries, 1):
        for problem in _entry_problems(entry):
            yield Diagnostic("T0731", f"{name}: formula {entry.get('name', number)}: {problem}")


def _entry_problems(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(set(entry) - _KEYS):
        yield f"there is no key {quoted(key)}"
    for key in ("name", "formula"):
        if not isinstance(entry.get(key), str):
            yield f"needs {key}, a text"
    if [isinstance(entry.get(key), str) for key in ("operator", "program", "definition")].count(True) != 1:
        yield "needs one of operator, program and definition, a text"
    if entry.get("counts", "flops") not in METRICS:
        yield f"counts is one of {', '.join(METRICS)}"
    if entry.get("expect", "equal") not in VERDICTS:
        yield f"expect is one of {', '.join(VERDICTS)}"
    if entry.get("reading", "") not in ("", *CONVENTIONS):
        yield f"reading is one of {', '.join(CONVENTIONS)}"
    yield from _table_problems(entry)
    assume = entry.get("assume", [])
    if not isinstance(assume, list) or not all(isinstance(one, str) for one in assume):
        yield 'assume is a list of texts, such as ["h = 32*k", "n <= 512"]'


def _table_problems(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in ("shapes", "attrs", "where", "let"):
        if not isinstance(entry.get(key, {}), dict):
            yield f"{key} is a table"
        elif key == "shapes" and not all(isinstance(one, list) for one in entry.get(key, {}).values()):
            yield 'a shape is a list of names and numbers, such as X = ["n", 4]'
    if entry.get("train", "") not in STEPS:
        yield f"train is one of {', '.join(filter(None, STEPS))}"


def _formula(entry: Mapping[str, Any], file: str, expect: str | None) -> PublishedFormula:
    return PublishedFormula(
        name=f"{file}/{entry['name']}",
        source=str(entry["source"]),
        subject=_subject(entry),
        counts=cast(CountedFigure, entry.get("counts", "flops")),
        text=entry["formula"],
        about=str(entry.get("about", "")),
        expect=entry.get("expect", expect),
        where={name: str(text) for name, text in entry.get("where", {}).items()},
        train=entry.get("train", ""),
        checked=str(entry.get("checked", "")),
        let={name: str(text) for name, text in entry.get("let", {}).items()},
        reading=entry.get("reading", ""),
        assume=tuple(entry.get("assume", ())),
    )


def _subject(entry: Mapping[str, Any]) -> Subject:
    shapes, attrs = entry.get("shapes", {}), entry.get("attrs", {})
    if "program" in entry:
        return ModelProgram(entry["program"], shapes, attrs)
    if "definition" in entry:
        return ModelProgram(entry["name"], shapes, attrs, entry["definition"])
    return OperatorInstance(entry["operator"], shapes, attrs, entry.get("outputs", 1))
