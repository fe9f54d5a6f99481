"""Published cost formulas as data: what each counts, of which operator, at which shapes, and who says so.

    source = "torch 2.13, torch/utils/flop_counter.py"

    [[formula]]
    name = "mm"
    operator = "MatMul"
    shapes = { A = ["m", "k"], B = ["k", "n"] }
    counts = "flops"
    formula = "2*m*k*n"

A formula about a whole model names a program of a library, and what its own names mean there:

    [[formula]]
    name = "gpt2"
    program = "families/gpt2"
    formula = "6*N*b*s"
    where = { N = "12*l*(h*e)**2", f = "4*h*e" }   # f is a length of the program: judged where it is that
    times = 3                                      # training: each product once forward, twice backward

What no operator is has its ``definition``, a program, in place of a name.  ``source`` and ``checked`` (what
of it the formula was held to) are those of the file where a formula has none of its own.  A file is read
whole or refused with every mistake in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from tolcost.audit.instances import OperatorInstance
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, unreadable
from tolcost.platform import specs_root
from tolcost.referee.subjects import ModelProgram, Subject

CountedFigure: TypeAlias = Literal["eops", "flops", "macs", "bytes"]
METRICS: tuple[CountedFigure, ...] = get_args(CountedFigure)

_FILE_KEYS = {"source", "checked"}
_SUBJECT_KEYS = {"operator", "program", "definition", "shapes", "attrs", "outputs"}
_KEYS = {"name", "counts", "formula", "where", "times", "about", "expect"} | _SUBJECT_KEYS | _FILE_KEYS
_MOST_BYTES = 1 << 20
_MOST_FORMULAS = 2_000
MOST_TIMES = 100


@dataclass(frozen=True, slots=True)
class PublishedFormula:
    """A formula, what it claims to count, and where it was published.

    ``where`` says what names of the formula mean; one that is a length of what it is about restricts that
    length.  ``times`` is how often all is counted.  ``expect`` is the verdict that its users rely on, and
    anything else is news; None for those that come with tolcost, which are judged as they were published.
    ``checked`` says what of the source the text was held to.
    """

    name: str
    source: str
    subject: Subject
    counts: CountedFigure
    text: str
    about: str = ""
    expect: str | None = "equal"
    where: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    checked: str = ""


def shipped_formulas() -> dict[str, tuple[PublishedFormula, ...]]:
    """The formulas that come with tolcost, by the file that each source has."""
    folder = specs_root().joinpath("formulas")
    files = {
        file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")
    }
    return {
        name: parse_formulas(files[name].read_text(encoding="utf-8"), name, expect=None)
        for name in sorted(files)
    }


def read_file(path: Path) -> tuple[PublishedFormula, ...]:
    """Read a file of formulas; what is wrong with it raises ``Rejected``."""
    try:
        raw = path.read_bytes()[: _MOST_BYTES + 1]
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(Diagnostic("T0730", f"cannot read {quoted(str(path))}: {unreadable(error)}")) from None
    if len(raw) > _MOST_BYTES:
        refuse("T0730", f"{quoted(str(path))} is larger than {_MOST_BYTES} bytes")
    return parse_formulas(text, path.stem)


def parse_formulas(text: str, name: str, expect: str | None = "equal") -> tuple[PublishedFormula, ...]:
    r"""Read the text of a file of formulas.

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
    return tuple(_formula(known | entry, name, expect) for entry in entries)


def _problems(table: Mapping[str, Any], entries: object, name: str) -> Iterator[Diagnostic]:
    for key in sorted(set(table) - _FILE_KEYS - {"formula"}):
        yield Diagnostic("T0731", f"{name}: there is no key {quoted(key)}")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield Diagnostic("T0731", f"{name}: formulas are written as [[formula]]")
        return
    if len(entries) > _MOST_FORMULAS:
        yield Diagnostic("T0731", f"{name}: there are more than {_MOST_FORMULAS} formulas")
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
    if not isinstance(entry.get("expect", ""), str):
        yield "expect is a verdict, a text"
    for key in ("shapes", "attrs", "where"):
        if not isinstance(entry.get(key, {}), dict):
            yield f"{key} is a table"
    if type(entry.get("times", 1)) is not int or not 0 < entry.get("times", 1) <= MOST_TIMES:
        yield f"times is a number from 1 to {MOST_TIMES}"


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
        times=entry.get("times", 1),
        checked=str(entry.get("checked", "")),
    )


def _subject(entry: Mapping[str, Any]) -> Subject:
    shapes, attrs = entry.get("shapes", {}), entry.get("attrs", {})
    if "program" in entry:
        return ModelProgram(entry["program"], shapes, attrs)
    if "definition" in entry:
        return ModelProgram(entry["name"], shapes, attrs, entry["definition"])
    return OperatorInstance(entry["operator"], shapes, attrs, entry.get("outputs", 1))
