"""The rows of the paper's two ONNX tables, with everything that ``specs/paper`` records about each."""

from __future__ import annotations

import ast
import csv
import io
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from tolcost.algebra import Poly, const, floordiv, length, product_of
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import PlainShapes, PlainValue
from tolcost.platform import read_spec, spec_names, specs_root
from tolcost.result.instances import OperatorInstance
from tolcost.show.document import Cell, Code, Column, ReportTable

Renamings: TypeAlias = Mapping[str, "str | Sequence[int | str]"]
Toml: TypeAlias = Mapping[str, Any]  # what a TOML file holds


class RowNames(Struct, frozen=True):
    """The inputs and attributes of the operator that a row's names stand for.

    ``lengths`` has numbers of the signature that ONNX leaves to shapes, as formulas; ``folds`` is the input
    or attribute with the axes that the row puts behind its length ``axes``; ``ignored`` are attributes that
    affect only the shape or the type of the result; ``fixed`` are inputs that the row has no place for, with
    the value at which they have no effect.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, str] = field(default_factory=dict)
    folds: str | None = None
    ignored: tuple[str, ...] = ()
    fixed: Mapping[str, float] = field(default_factory=dict)
    admits_none: str | None = None

    @property
    def needed(self) -> set[str]:
        """The inputs and attributes that the row needs to run."""
        return set(self.names.values())

    @property
    def formals(self) -> set[str]:
        """All inputs and attributes of the operator that the row has a place for."""
        formulas = {name for text in self.lengths.values() for name in re.findall(r"[A-Za-z]\w*", text)}
        return self.needed | formulas | ({self.folds} if self.folds else set())


class WrittenTrial(Struct, frozen=True):
    """A run of the printed program beyond ONNX's tests, on values that the definition gets, too."""

    inputs: Mapping[str, PlainValue]
    attrs: Mapping[str, PlainValue]
    operator_inputs: Mapping[str, PlainValue]
    operator_attrs: Mapping[str, PlainValue]


class PaperRow(Struct, frozen=True, eq=False):
    """A row of the paper.  ``printed`` is None if the print is not even ToLang.

    ``reading`` is the print under readings that the paper's own words allow, ``only_ours`` the reason why our
    compiler refuses what the paper's rules admit, and ``shapes`` are those of inputs whose number is left
    open.
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
    shapes: PlainShapes
    given: RowNames
    beyond: tuple[WrittenTrial, ...]

    @property
    def readings(self) -> tuple[str, ...]:
        """The changes that the reading makes, each as a sentence."""
        return tuple(remarks(self.reading.text, "reading")) if self.reading else ()

    @property
    def right(self) -> Source:
        """The correct program: the corrected one, or a printed one that needs no correction."""
        found = self.corrected or self.printed
        if found is None:
            raise LookupError(f"{self.operator} has no program")
        return found


def paper_rows() -> tuple[PaperRow, ...]:
    """Read all 60 rows, in the order of the print."""
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
    """Return the remark at the head of a program about the difference between the print and its operator."""
    return " ".join(remarks(source.text, "why")) if source else ""


def remarks(text: str, key: str) -> list[str]:
    r"""Return the remarks at the head of a program under a key, each as a sentence.

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
    """Make a table of all slips: in the text, in the programs of section 5, in the ONNX tables."""
    rows = (*_general(), *_section_5(), *_onnx_rows())
    about = (
        f"{len(rows)} entries. The command of each shows what the compiler makes of the printed words,"
        " or of the reading adopted; run it from the top of the repository."
    )
    return ReportTable(COLUMNS, rows, "errata", "Errata of the paper", about, "tolcost report", entries=True)


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
    """Return a program without comments and without declarations added for it."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "attr "))]
    return "\n".join(line for line in lines if not re.match(r"tol \w+: ", line))


# === The formulas that the paper prints for its counts, read into the algebra.
#
#     2*vol(t1)*|t2|[2]      Pi((|t|[axes]+2*p-|k|)/s+1)*2*|k|      vol(t)*n
#
# ``Pi`` is the product over the axes that a window slides along: inside it ``|t|[axes]`` is the
# length of the axis at hand, and ``|k|`` that of the kernel; outside, ``|k|`` is the kernel's volume.
# A quotient is rounded down, as the number of windows is.


_BARS = re.compile(r"\|(\w+)\|(?:\[(\w+)\])?")
_NAME = re.compile(r"[A-Za-z]\w*")

AxisLengths: TypeAlias = tuple[Poly, ...]


class IllFormed(ValueError):
    """A formula that cannot be read; the message states why."""


class FormulaNames(Struct, frozen=True):
    """The meanings of names in a formula: shapes of ToLs, and numbers."""

    shapes: Mapping[str, AxisLengths]
    numbers: Mapping[str, Poly]


class ReadFormula(Struct, frozen=True):
    """A formula as an expression; ``repaired`` is the formula that was read instead of an ill-formed one."""

    form: Poly
    problem: str | None = None
    repaired: str | None = None


def read(text: str, meaning: FormulaNames) -> ReadFormula:
    """Read a formula, with a missing bracket added if necessary.

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
    """Evaluate a formula to an expression; raise ``IllFormed`` if it is not one."""
    opened = 0
    for place, sign in enumerate(text, start=1):
        opened += (sign == "(") - (sign == ")")
        if opened < 0:
            raise IllFormed(f"`)` at place {place} closes nothing")
    called = _BARS.sub(lambda bars: f"length({bars[1]},{bars[2] or ''})", text)
    try:  # a name may be a keyword of Python
        tree = ast.parse(_NAME.sub(r"_\g<0>", called).strip(), mode="eval").body
    except SyntaxError as error:
        raise IllFormed(f"it is no formula: {error.msg}") from None
    return _value(tree, meaning, None)


def _value(node: ast.expr, meaning: FormulaNames, axis: int | None) -> Poly:
    """Evaluate a part of a formula, inside a product at one of its axes."""
    match node:
        case ast.Constant(value=int(number)):
            return const(number)
        case ast.Name(id=name):
            return meaning.numbers.get(name[1:], length(name[1:]))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left, meaning, axis), _value(right, meaning, axis))
        case ast.Call(func=ast.Name(id="_vol"), args=[ast.Name(id=name)]):
            return product_of(_shape(name, meaning))
        case ast.Call(func=ast.Name(id="_Pi"), args=[inside]):
            rank = max(map(len, meaning.shapes.values()), default=0)
            return product_of([_value(inside, meaning, n) for n in range(max(rank, 1))])
        case ast.Call(func=ast.Name(id="_length"), args=[ast.Name(id=name)]):
            shape = _shape(name, meaning)
            return product_of(shape) if axis is None else _at(shape, axis)
        case ast.Call(func=ast.Name(id="_length"), args=[ast.Name(id=name), ast.Constant(value=int(number))]):
            return _at(_shape(name, meaning), number - 1)
        case ast.Call(func=ast.Name(id="_length"), args=[ast.Name(id=name), ast.Name()]) if axis is not None:
            return _at(_shape(name, meaning), axis)
        case _:
            raise IllFormed(f"{ast.unparse(node).replace('_', '')} means nothing here")


def _quotient(a: Poly, b: Poly) -> Poly:
    if b.constant == 0:
        raise IllFormed("it divides by 0")
    return floordiv(a, b)


_OPERATIONS: Mapping[type[ast.operator], Callable[[Poly, Poly], Poly]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
}


def _shape(name: str, meaning: FormulaNames) -> AxisLengths:
    if name[1:] not in meaning.shapes:
        raise IllFormed(f"there is no ToL called {name[1:]}")
    return meaning.shapes[name[1:]]


def _at(shape: AxisLengths, axis: int) -> Poly:
    if not 0 <= axis < len(shape):
        raise IllFormed(f"there is no axis {axis + 1}")
    return shape[axis]
