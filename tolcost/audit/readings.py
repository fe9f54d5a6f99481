"""The rows of the paper's two ONNX tables, with all that ``specs/paper`` says of each."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from tolcost.algebra import Poly, const, floordiv, length, product_of
from tolcost.audit.instances import OperatorInstance, Shapes
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import PlainValue
from tolcost.platform import read_spec, spec_names, specs_root
from tolcost.show.document import Cell, Code, Column, ReportTable

Renamings: TypeAlias = Mapping[str, "str | Sequence[int | str]"]
Toml: TypeAlias = Mapping[str, Any]  # what a TOML file holds


@dataclass(frozen=True, slots=True)
class RowNames:
    """Which of a row's names stands for which input or attribute of its operator.

    ``lengths`` are numbers of the signature that ONNX leaves to shapes, as formulas; ``folds`` is the input
    or attribute that says which axes the row lays behind its length ``axes``; ``ignored`` are attributes that
    settle the shape or the type of the result alone; ``fixed`` are inputs that the row has no place for, with
    the value at which they change nothing.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, str] = field(default_factory=dict)
    folds: str | None = None
    ignored: tuple[str, ...] = ()
    fixed: Mapping[str, float] = field(default_factory=dict)
    admits_none: str | None = None

    @property
    def needed(self) -> set[str]:
        """The inputs and attributes without which the row has nothing to run on."""
        return set(self.names.values())

    @property
    def formals(self) -> set[str]:
        """Everything of the operator that the row has a place for."""
        formulas = {name for text in self.lengths.values() for name in re.findall(r"[A-Za-z]\w*", text)}
        return self.needed | formulas | ({self.folds} if self.folds else set())


@dataclass(frozen=True, slots=True)
class WrittenTrial:
    """A run of the printed program beyond ONNX's tests: on values that the operator's definition gets too."""

    inputs: Mapping[str, PlainValue]
    attrs: Mapping[str, PlainValue]
    operator_inputs: Mapping[str, PlainValue]
    operator_attrs: Mapping[str, PlainValue]


@dataclass(frozen=True, slots=True, eq=False)
class PaperRow:
    """A row of the paper.  ``printed`` is None where the print is not even ToLang.

    ``reading`` is the print under readings that the paper's own words allow, ``only_ours`` why our compiler
    refuses what the paper's rules would not, and ``shapes`` are those of inputs whose number is left open.
    """

    part: int
    operator: str
    signature: str
    representation: str
    flops: str
    eops: str
    printed: Source | None
    reading: Source | None
    corrected: Source | None
    why: str
    definition: str
    verified: OperatorInstance
    command: str
    names: Renamings
    verified_names: Renamings
    at: Mapping[str, int]
    only_ours: str
    shapes: Shapes
    given: RowNames
    beyond: tuple[WrittenTrial, ...]

    @property
    def readings(self) -> tuple[str, ...]:
        """What the reading reads, each as a sentence."""
        return tuple(remarks(self.reading.text, "reading")) if self.reading else ()

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
    instance = OperatorInstance(
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
        reading=_program(name, "reading"),
        why=why_of(corrected or printed),
        definition=reading.get("definition", ""),
        verified=instance,
        command=verified.get("command", ""),
        names=reading.get("names", {}),
        verified_names=verified.get("names", {}),
        at=reading.get("at", {}),
        only_ours=reading.get("only_ours", ""),
        shapes=reading.get("shapes", {}),
        given=_given(reading.get("given", {})),
        beyond=tuple(map(_written, reading.get("beyond", ()))),
    )


def _given(entry: Toml) -> RowNames:
    options = {**entry, "ignored": tuple(entry.get("ignored", ()))}
    return RowNames(**options)


def _written(entry: Toml) -> WrittenTrial:
    operator = entry["operator"]
    return WrittenTrial(
        entry.get("inputs", {}), entry.get("attrs", {}), operator.get("inputs", {}), operator.get("attrs", {})
    )


def _program(name: str, kind: str) -> Source | None:
    file = specs_root().joinpath("paper", "onnx", f"{name}.{kind}.tol")
    if not file.is_file():
        return None
    return Source(f"specs/paper/onnx/{name}.{kind}.tol", file.read_text(encoding="utf-8"))


def why_of(source: Source | None) -> str:
    """The remark in the head of a program on what the print does otherwise than its operator."""
    return " ".join(remarks(source.text, "why")) if source else ""


def remarks(text: str, key: str) -> list[str]:
    r"""What the head of a program says under a key, each as a sentence.

    >>> remarks("# changed: a is b\n#   or c\n# changed: d is e\nx = 1", "changed")
    ['A is b or c.', 'D is e.']
    """
    found = re.findall(rf"^# {key}: (.*(?:\n#   .*)*)", text, re.M)
    plain = (re.sub(r"\n#\s+", " ", remark) for remark in found)
    return [remark[:1].upper() + remark[1:] + ("" if remark.endswith(".") else ".") for remark in plain]


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
            why_of(corrected),
            " ".join(remarks(corrected.text, "changed")),
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
            row.why,
            " ".join(remarks(row.corrected.text, "changed")),
            Code(f"tolcost analyze {shown.name} --symbolic"),
        )


def _as_printed(text: str) -> str:
    """A program without comments and without what was declared for it."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "attr "))]
    return "\n".join(line for line in lines if not re.match(r"tol \w+: ", line))


# === The formulas that the paper prints for its counts, read into the algebra.
#
#     2*vol(t1)*|t2|[2]      Pi((|t|[axes]+2*p-|k|)/s+1)*2*|k|      vol(t)*n
#
# ``Pi`` is the product over the axes that a window slides along: inside it ``|t|[axes]`` is the
# length of the axis at hand, and ``|k|`` that of the kernel; outside, ``|k|`` is the kernel's volume.
# A quotient is rounded down, as the number of windows is.


_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]{1,9})|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>[-+*/()|\[\]]))")
_LONGEST = 400

AxisLengths: TypeAlias = tuple[Poly, ...]


class IllFormed(ValueError):
    """A formula that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class FormulaNames:
    """What the names in a formula stand for: shapes of ToLs, and numbers."""

    shapes: Mapping[str, AxisLengths]
    numbers: Mapping[str, Poly]


@dataclass(frozen=True, slots=True)
class ReadFormula:
    """A formula as an expression; ``repaired`` is what was read where the print is ill-formed."""

    form: Poly
    problem: str | None = None
    repaired: str | None = None


def read(text: str, meaning: FormulaNames) -> ReadFormula:
    """Read a formula, if need be with the one bracket put in that it lacks.

    >>> n, k, s = (length(name) for name in "nks")
    >>> meaning = FormulaNames({"t": (n,)}, {"k": k, "s": s})
    >>> read("2*vol(t)", meaning).form
    2*n
    >>> broken = read("Pi(|t|[axes]-k)/s+1)*k", meaning)
    >>> broken.form, broken.repaired
    (k*floor((n - k)/s) + k, 'Pi((|t|[axes]-k)/s+1)*k')
    """
    try:
        return ReadFormula(evaluate(text, meaning))
    except IllFormed as problem:
        repaired = text.replace("Pi(", "Pi((", 1)
        if text.count(")") != text.count("(") + 1 or repaired == text:
            raise
        return ReadFormula(evaluate(repaired, meaning), str(problem), repaired)


def evaluate(text: str, meaning: FormulaNames) -> Poly:
    """Give a formula as an expression; ``IllFormed`` where it is none."""
    reader = _FormulaReader(text, meaning)
    value = _sum(reader)
    if reader.at < len(reader.tokens):
        token = reader.tokens[reader.at]
        reader.fail(
            f"`{token[1]}` at place {token[2]} " + ("closes nothing" if token[1] == ")" else "is left over")
        )
    return value


class _FormulaReader:
    """The tokens of a formula, how far they are read, and the axis that a product is at."""

    def __init__(self, text: str, meaning: FormulaNames) -> None:
        self.meaning = meaning
        self.axis: int | None = None
        self.at = 0
        self.tokens: list[tuple[str, str, int]] = []
        if len(text) > _LONGEST:
            self.fail("it is too long")
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                self.fail(f"`{text[place]}` at place {place + 1} means nothing here")
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
            place = match.end()

    def fail(self, why: str) -> NoReturn:
        raise IllFormed(why)

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        if self.at == len(self.tokens):
            self.fail(f"it ends where `{wanted}` is due" if wanted else "it ends too early")
        kind, text, place = self.tokens[self.at]
        if wanted and text != wanted:
            self.fail(f"`{text}` at place {place} stands where `{wanted}` is due")
        self.at += 1
        return kind, text

    def shape(self) -> AxisLengths:
        _, name = self.take()
        found = self.meaning.shapes.get(name)
        if found is None:
            self.fail(f"there is no ToL called {name}")
        return found


def _sum(reader: _FormulaReader) -> Poly:
    value = _product(reader)
    while reader.peek() in ("+", "-"):
        _, sign = reader.take()
        other = _product(reader)
        value = value + other if sign == "+" else value - other
    return value


def _product(reader: _FormulaReader) -> Poly:
    value = _factor(reader)
    while reader.peek() in ("*", "/"):
        _, sign = reader.take()
        other = _factor(reader)
        if sign == "/" and other.constant == 0:
            reader.fail("it divides by 0")
        value = value * other if sign == "*" else floordiv(value, other)
    return value


def _factor(reader: _FormulaReader) -> Poly:
    kind, text = reader.take()
    if kind == "number":
        return const(int(text))
    if text == "(":
        value = _sum(reader)
        reader.take(")")
        return value
    if text == "|":
        return _lengths(reader)
    if kind != "name":
        reader.fail(f"`{text}` stands where a number is due")
    if reader.peek() == "(":
        return _call(reader, text)
    return reader.meaning.numbers[text] if text in reader.meaning.numbers else length(text)


def _call(reader: _FormulaReader, function: str) -> Poly:
    reader.take("(")
    if function == "vol":
        value = product_of(reader.shape())
    elif function == "Pi":
        value = _windows(reader)
    else:
        reader.fail(f"there is no function {function}")
    reader.take(")")
    return value


def _windows(reader: _FormulaReader) -> Poly:
    """Multiply what stands in the brackets over the axes of the ToL that is slid along."""
    rank = max(map(len, reader.meaning.shapes.values()), default=0)
    start, factors = reader.at, []
    for axis in range(max(rank, 1)):
        reader.at, reader.axis = start, axis
        factors.append(_sum(reader))
    reader.axis = None
    return product_of(factors)


def _lengths(reader: _FormulaReader) -> Poly:
    """Read what follows the first bar of ``|t|[2]``, ``|t|[axes]`` or ``|k|``."""
    shape = reader.shape()
    reader.take("|")
    if reader.peek() != "[":
        return product_of(shape) if reader.axis is None else _at(reader, shape, reader.axis)
    reader.take("[")
    kind, index = reader.take()
    reader.take("]")
    if kind == "number":
        return _at(reader, shape, int(index) - 1)
    if reader.axis is None:
        reader.fail(f"`{index}` chooses an axis outside a product")
    return _at(reader, shape, reader.axis)


def _at(reader: _FormulaReader, shape: AxisLengths, axis: int) -> Poly:
    if not 0 <= axis < len(shape):
        reader.fail(f"there is no axis {axis + 1}")
    return shape[axis]
