"""Published cost formulas as data: the metric, the operator and its shapes, and the source of each.

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
    times = 3                                      # training: each product once forward, twice backward

A formula that is not about an operator has its ``definition``, a program, in place of a name.  ``source`` and
``checked`` (the part of the source that the formula was compared with) default to those of the file.  A file
is read as a whole or refused with every mistake in it.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct, field

from tolcost.atoms.kit import schedules
from tolcost.atoms.lengths import lengths_of
from tolcost.atoms.nodes import Node, Program, Type
from tolcost.catalogue.listing import read_library
from tolcost.catalogue.specs import Library
from tolcost.cost.count import accumulated_products
from tolcost.cost.traffic import bits_of
from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted, refuse, unreadable
from tolcost.elaborate.inputs import PlainShapes, PlainValue, arguments
from tolcost.execute import run_reference
from tolcost.execute.inputs import plain_arrays
from tolcost.execute.values import OutputValue, RunCounts
from tolcost.platform import specs_root
from tolcost.result.instances import (
    OperatorInstance,
    command_of,
    lower_instance,
    lower_source,
    spec_of,
)
from tolcost.syntax import parse, read_source
from tolcost.syntax.tree import Ellipsis as Ellipsis_

# === The subject of a formula: an operator at some shapes, or a program, such as that of a model family.


class ModelProgram(Struct, frozen=True):
    """A program with the inputs given to it: ``families/llama`` of a library, or a file ``mine.tol``.

    ``text`` is the program itself if a formula brings its own definition.
    """

    path: str
    shapes: PlainShapes = field(default_factory=dict)
    attrs: Mapping[str, PlainValue] = field(default_factory=dict)
    text: str = ""

    @property
    def file(self) -> str:
        """The file of the program."""
        return self.path if self.path.endswith(".tol") else f"specs/{self.path}.tol"


Subject: TypeAlias = OperatorInstance | ModelProgram


def title_of(subject: Subject) -> str:
    """Return the usual name of a subject."""
    return subject.path if isinstance(subject, ModelProgram) else subject.op


def command_for(subject: Subject) -> str:
    """Return the command line that shows the verified form."""
    if isinstance(subject, OperatorInstance):
        return command_of(subject)
    return "" if subject.text else f"tolcost analyze {subject.file} --symbolic"


def plain_shapes(operator: str, library: Library) -> PlainShapes:
    """Return default shapes for the inputs that an operator needs: two lengths for each `...`."""
    needed = (s for s in spec_of(operator, library).inputs if s.kind == "tol" and not s.optional)
    fixed = {s.name: sum(not isinstance(e, Ellipsis_) for e in s.shape) for s in needed if s.any_rank}
    return {name: [f"{name}_{place}" for place in range(1, many + 3)] for name, many in fixed.items()}


def lower_subject(subject: Subject, library: Library) -> Program:
    """Lower the subject of a formula; mistakes raise ``Rejected``."""
    if isinstance(subject, OperatorInstance):
        return lower_instance(subject, library).program
    source = _source(subject)
    given = arguments(parse(source), subject.shapes, subject.attrs)
    return lower_source(source, library, given).program


def _source(subject: ModelProgram) -> Source:
    if subject.text:
        return Source(subject.path, subject.text)
    if subject.path.endswith(".tol"):
        return read_source(subject.path)
    folder, _, name = subject.path.partition("/")
    return read_library(folder).find(name).source


_MOST_DRAWS = 60
"""Inputs drawn in search of one for which the data-dependent numbers have given values."""


class SubjectRun(Struct, frozen=True):
    """The work of a run: functions applied, multiply-adds among them, and bytes read and written.

    The bytes of a text are unknown.  ``decided`` has the values of data-dependent numbers, by name.
    """

    counts: RunCounts
    macs: int
    moved: int | None
    decided: Mapping[str, int]


def run_subject(subject: Subject, program: Program, point: Mapping[str, int], library: Library) -> SubjectRun:
    """Run with the reference interpreter at a size; a subject that cannot be run raises ``Rejected``.

    ``program`` is the lowered subject; an operator is lowered again, since attributes become numbers.  Inputs
    are drawn until data-dependent numbers have the values in the point.
    """
    if isinstance(subject, OperatorInstance):
        shapes = cast(PlainShapes, {name: _put(shape, point) for name, shape in subject.shapes.items()})
        attrs = {name: _put(value, point) for name, value in subject.attrs.items()}
        program = lower_instance(
            OperatorInstance(subject.op, shapes, attrs, subject.outputs), library
        ).program
    dims = {symbol.name: point.get(symbol.name, 1) for symbol in lengths_of(program)}
    for seed in range(1, _MOST_DRAWS + 1):
        run = _run(program, dims, seed)
        if all(point.get(name, value) == value for name, value in run.decided.items()):
            return run
    refuse("T0340", f"no input of {title_of(subject)} was found at which data decides so")


def _run(program: Program, dims: Mapping[str, int], seed: int) -> SubjectRun:
    given = plain_arrays(program, dims, seed)
    watched: Counter[Node] = Counter()
    run = run_reference(program, given, dims, watched=watched)
    macs = sum(watched[node] for node in accumulated_products(program, schedules(program)))
    values = (*((needed.type, given[needed.name]) for needed in program.inputs),
              *((out.node.type, run.outputs[out.name]) for out in program.outputs))  # fmt: skip
    decided = {symbol.name: value for symbol, value in run.bindings.items() if symbol.kind == "data"}
    return SubjectRun(run.counts, macs, _bytes_of(values), decided)


def _bytes_of(values: Iterable[tuple[Type, OutputValue]]) -> int | None:
    """Return the bytes of values, each padded to whole bytes; None if one of them is a text."""
    total = 0
    for parts, value in values:
        for part, array in zip(parts, value if isinstance(value, tuple) else (value,), strict=True):
            bits = bits_of(part.space)
            if bits is None:
                return None
            total += -(-array.size * bits // 8)
    return total


def _put(value: PlainValue, point: Mapping[str, int]) -> PlainValue:
    if isinstance(value, str):
        return point.get(value, value)
    if isinstance(value, list | tuple):
        return [_put(one, point) for one in value]
    return value


# === Formulas.


CountedFigure: TypeAlias = Literal["eops", "flops", "macs", "bytes"]
METRICS: tuple[CountedFigure, ...] = get_args(CountedFigure)
RefereeVerdict: TypeAlias = Literal["equal", "too low", "too high", "too low and too high", "undecided"]
VERDICTS: tuple[RefereeVerdict, ...] = get_args(RefereeVerdict)

_FILE_KEYS = {"source", "checked"}
_SUBJECT_KEYS = {"operator", "program", "definition", "shapes", "attrs", "outputs"}
_KEYS = {"name", "counts", "formula", "where", "times", "about", "expect"} | _SUBJECT_KEYS | _FILE_KEYS
_MOST_BYTES = 1 << 20
_MOST_FORMULAS = 2_000
MOST_TIMES = 100


class PublishedFormula(Struct, frozen=True):
    """A formula, the metric it claims to count, and the place of its publication.

    ``where`` gives the meanings of names in the formula; a length of the subject among them restricts that
    length.  ``times`` multiplies the count.  ``expect`` is the verdict that its users rely on, and any other
    verdict is reported; None for shipped formulas, which are judged as they were published.  ``checked``
    names the part of the source that the text was compared with.
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
    for key in ("shapes", "attrs", "where"):
        if not isinstance(entry.get(key, {}), dict):
            yield f"{key} is a table"
        elif key == "shapes" and not all(isinstance(one, list) for one in entry.get(key, {}).values()):
            yield 'a shape is a list of names and numbers, such as X = ["n", 4]'
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
