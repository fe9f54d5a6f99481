"""Schemes as text, from ``specs/schemes.tsv``: read when a node needs one.

They are written when the package is built (``tools/models/scheme_texts.py``).  A pattern contains everything
needed to lower its operator again.  After a tab follow the lengths of the nodes that the scheme's cases were
checked against; they are read only when schemes are made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from msgspec import Struct, field

from tolcost.algebra import (
    FALSE,
    TRUE,
    And,
    Cond,
    Eq,
    Exponential,
    Floor,
    Ge,
    Generator,
    Log2,
    Logic,
    Not,
    Or,
    Poly,
    Relu,
    Symbol,
    const,
    coordinate,
    the_symbol,
    to_text,
)
from tolcost.algebra.poly import symbol_of
from tolcost.atoms.nodes import Condition, Program
from tolcost.catalogue.graph import GraphNode, Weight
from tolcost.catalogue.specs import Spec
from tolcost.cost import Counts, Traffic
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, Seq, Vec
from tolcost.models.facts import Known
from tolcost.models.lowered import ComputedCost, Lowered, MacFlowNames, options_of
from tolcost.models.patterns import Cases, UndecidedInteger, UndecidedNumber
from tolcost.models.scheme import Scheme, Share, forms_of

# === Forms, conditions and facts as plain data, and back.
#
# A form is a number, or its denominator and rows of a coefficient and generators by table position.
# Forms are read as they were written, without any simplification: a digest protects the file they are in
# (``catalogue.specs``), and tests check all of them against newly lowered operators.


_AND, _OR = "and", "or"


class NotStored(Exception):
    """A value that stored schemes cannot contain."""


text_of: Callable[[object], str] = json.JSONEncoder(separators=(",", ":")).encode
"""Encodes data as one line of JSON."""


# ---- writing -------------------------------------------------------------------------------------


_CONDITIONS: Logic[object, object] = Logic(
    lambda form: [">", form],
    lambda form: ["=", form],
    lambda form: ["not", ["=", form]],
    bool,
    lambda parts: [_AND, *parts],
    lambda parts: [_OR, *parts],
)


class Writer(Struct):
    """Writes the parts of a scheme; ``table`` has the generators so far, each after its operands."""

    places: dict[Generator, int] = field(default_factory=dict)
    table: list[object] = field(default_factory=list)

    def generator(self, generator: Generator) -> int:
        """Return the position of a generator in the table, adding it if it is new."""
        if generator not in self.places:
            row = self._row(generator)
            self.places[generator] = len(self.table)
            self.table.append(row)
        return self.places[generator]

    def _row(self, generator: Generator) -> object:
        match generator:
            case Symbol(name=name, role="length", serial=0, lo=lo, hi=hi):
                return [name, _bound(lo), _bound(hi)]
            case Symbol(name=name, role="coord", lo=Poly() as lo, hi=Poly() as hi):
                return ["coord", name, self.form(lo), self.form(hi)]
            case Floor(p=p, q=q):
                return ["/", self.form(p), self.form(q)]
            case Relu(p=p):
                return ["+", self.form(p)]
            case Log2(p=p):
                return ["log", self.form(p)]
            case Exponential(base=base, p=p, whole=whole):
                return ["^", base, self.form(p), whole]
            case _:
                raise NotStored(generator)

    def form(self, form: Poly) -> object:
        """Encode a form."""
        value = form.constant
        if value is not None:
            return value
        terms = list(form.terms.items())
        if len(terms) > 1:
            terms.sort(key=_text_of_term)  # in an order that does not depend on how terms were found
        return [form.den, *([coef, *map(self.generator, mono)] for mono, coef in terms)]

    def forms(self, forms: Iterable[Poly]) -> list[object]:
        """Encode several forms."""
        return [self.form(form) for form in forms]

    def condition(self, condition: Cond) -> object:
        """Encode a condition."""
        return _CONDITIONS.of(condition, self.form)

    def known(self, known: object) -> object:
        """Encode a fact."""
        match known:
            case None:
                return None
            case Tensor(shape=shape, space=space):
                return ["tensor", space, *self.forms(shape)]
            case Weight(value=value) if value is not None:
                return ["weight", self.known(value)]
            case Cast(value=inner, space=space):
                return ["cast", space, self.known(inner)]
            case Seq(items=items):
                return ["seq", *map(self.known, items)]
            case Vec(shape=shape, items=items, loose=loose):
                alike = len(items) > 1 and len(set(map(id, items))) == 1
                entries = items[:1] if alike else items
                return ["fill" if alike else "vec", list(shape), loose, *map(self.known, entries)]
            case _:
                return self._number(known)

    def _number(self, value: object) -> object:
        match value:
            case UndecidedInteger():
                return ["any", "whole"]
            case UndecidedNumber():
                return ["any"]
            case Poly():
                return ["form", self.form(value)]
            case Fraction():
                return ["real", value.numerator, value.denominator]
            case float():
                return ["float", value.hex()]
            case str():
                return ["text", value]
            case _ if isinstance(value, Cond):
                return ["if", self.condition(value)]
            case _:
                raise NotStored(value)


def _text_of_term(term: tuple[tuple[Generator, ...], int]) -> str:
    mono, _ = term
    return to_text(Poly({mono: 1}, 1))


def _bound(form: Poly | None) -> int | None:
    if form is not None and form.constant is None:
        raise NotStored(form)
    return None if form is None else form.constant


# ---- reading -------------------------------------------------------------------------------------


class Reader:
    """Decodes what a ``Writer`` encoded, by the table of its generators."""

    def __init__(self, table: Sequence[Any]) -> None:
        self.generators: list[Generator] = []
        for row in table:
            self.generators.append(self._generator(row))

    def _generator(self, row: Any) -> Generator:
        match row:
            case ["/", p, q]:
                return Floor.make(self.form(p), self.form(q))
            case ["+", p]:
                return Relu.make(self.form(p))
            case ["log", p]:
                return Log2.make(self.form(p))
            case ["^", base, p, whole]:
                return Exponential.make(base, self.form(p), whole)
            case ["coord", name, lo, hi]:
                return the_symbol(coordinate(name, self.form(hi), self.form(lo)))
            case [name, lo, hi]:
                low, high = (None if bound is None else const(bound) for bound in (lo, hi))
                return symbol_of(name, 0, "length", low, high)
            case _:
                raise NotStored(row)

    def symbol(self, place: int) -> Symbol:
        """Return the symbol at a position."""
        found = self.generators[place]
        assert isinstance(found, Symbol)
        return found

    def form(self, data: Any) -> Poly:
        """Decode a form."""
        if isinstance(data, int):
            return const(data)
        known = self.generators
        return Poly({tuple([known[place] for place in row[1:]]): row[0] for row in data[1:]}, data[0])

    def forms(self, data: Iterable[Any]) -> tuple[Poly, ...]:
        """Decode several forms."""
        return tuple([self.form(one) for one in data])

    def condition(self, data: Any) -> Cond:
        """Decode a condition."""
        match data:
            case bool():
                return TRUE if data else FALSE
            case [">", p]:
                return Ge(self.form(p))
            case ["=", p]:
                return Eq(self.form(p))
            case ["not", part]:
                return Not(Eq(self.form(part[1])))
            case ["and" | "or" as kind, *parts]:
                return (And if kind == _AND else Or)(tuple(map(self.condition, parts)))
            case _:
                raise NotStored(data)

    def known(self, data: Any) -> Known:
        """Decode a fact."""
        match data:
            case ["tensor", space, *shape]:
                return Tensor(self.forms(shape), space)
            case ["cast", space, inner]:
                return Cast(self.known(inner), space)
            case ["vec", shape, loose, *items]:
                return Vec(tuple(shape), tuple(map(self.known, items)), loose)
            case ["fill", shape, loose, item]:
                return Vec(tuple(shape), (self.known(item),) * prod(shape), loose)
            case ["seq", *items]:
                return Seq(tuple(map(self.known, items)))
            case _:
                return self.number(data)

    def number(self, data: Any) -> Known:
        """Decode a known number, a text or a condition."""
        match data:
            case ["form", form]:
                return self.form(form)
            case ["any"]:
                return UndecidedNumber()
            case ["any", "whole"]:
                return UndecidedInteger()
            case ["real", over, under]:
                return Fraction(over, under)
            case ["float", text]:
                return float.fromhex(text)
            case ["text", str() as text]:
                return text
            case ["if", condition]:
                return self.condition(condition)
            case _:
                raise NotStored(data)


# === Schemes.


PARTS = (
    "counts", "index", "atoms", "macs", "read", "written", "least", "unsized", "outputs", "titles", "relies",
    "asks", "sizes", "static", "shares", "chain", "passes", "unproved", "doubts", "full", "held", "table",
)  # fmt: skip
"""The fields of a scheme's text, in order."""

NO_SCHEME = "null"
"""The text of a pattern without a scheme."""


def pattern_text(node: GraphNode, since: int, inputs: Sequence[Known | None]) -> str | None:
    """Encode a pattern, identically for all of its nodes; None if patterns like it are not stored."""
    writer = Writer()
    try:
        attributes = {name: writer.known(value) for name, value in sorted(node.attributes.items())}
        known = list(map(writer.known, inputs))
        return text_of([since, node.asked, attributes, known, writer.table])
    except NotStored:
        return None


def read_scheme(text: str, node: GraphNode, spec: Spec, program: Callable[[], Program]) -> Scheme:
    """Decode a scheme; ``program`` lowers the operator under the symbols of its pattern."""
    data = dict(zip(PARTS, json.loads(text.partition("\t")[0]), strict=True))
    reader = Reader(data["table"])
    form, symbol = reader.form, reader.symbol
    counts, index = (
        {(function, space): form(count) for function, space, count in data[kind]}
        for kind in ("counts", "index")
    )
    atoms = {name: form(count) for name, count in data["atoms"].items()}
    read, written, least = (
        None if data[way] is None else {space: form(moved) for space, moved in data[way].items()}
        for way in ("read", "written", "least")
    )
    general = Lowered(
        op=node.op,
        domain=node.domain,
        made=ComputedCost(
            Counts(counts, index, atoms, form(data["macs"]), (), "exact"),
            Traffic(
                read or {},
                written or {},
                tuple(data["unsized"]),
                bool(data["doubts"]),
                least,
                reader.forms(data["full"]),
            ),
            tuple(map(reader.known, data["outputs"])),
        ),
        conditions=tuple(Condition(reader.condition(one), *told) for one, *told in data["relies"]),
        equal={},
        data=frozenset(),
        lowered=program,
        titles=tuple(data["titles"]),
        options=options_of(node, spec, data["titles"]),
    )
    return Scheme(
        general,
        forms_of(general),
        Cases(
            tuple(map(reader.condition, data["asks"])),
            reader.forms(data["sizes"]),
            reader.forms(data["static"]),
        ),
        tuple(Share(symbol(whole), parts, symbol(part)) for whole, parts, part in data["shares"]),
        tuple(map(reader.condition, data["unproved"])),
        reader.forms(data["chain"]),
        MacFlowNames(
            frozenset(data["passes"][0]),
            {title: frozenset(names) for title, names in data["passes"][1].items()},
            frozenset(data["passes"][2]),
        ),
        tuple(map(reader.condition, data["doubts"])),
        {tuple(case): holds for case, holds in data["held"]},
    )
