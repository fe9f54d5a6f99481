"""Cost models: weight files by elementary function and space, and their application to counts.

A weight file is TOML: a name, a unit, the weight of a function without a rule, and rules.

    name = "energy"
    unit = "pJ"
    default = "error"                 # or "at least", or a number, on purpose

    [[rule]]
    functions = ["add", "sub"]        # or "*"
    spaces = ["float32", "R"]         # names of spaces, or "*"
    families = ["C"]                  # every space that is boolean B, integer Z, real R, complex C
    weight = 0.9                      # taken as the decimal it is written as
    source = "where the figure is from"

The narrowest rule wins: a named function before ``*``, then a named space before its family
before ``*``.  Two rules of one width for one pair are an error, and so is a pair without a
rule unless the file gives a default: nothing unknown weighs 0 by accident.  With ``"at least"``
what has no rule is left out and named, and the total is a lower bound.  All mistakes in the
form of a file are reported at once.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from math import lcm
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, field

from tolcost.algebra import ZERO, Poly, Symbol, evaluate
from tolcost.algebra.poly import scale
from tolcost.cost.count import Counts
from tolcost.diagnostics import Diagnostic, Rejected, refuse, unreadable
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES

ANY = "*"
_TOP_KEYS = ("name", "unit", "description", "default", "per_mac", "rule")
FAMILIES = ("B", "Z", "R", "C", "S")
_RULE_KEYS = ("functions", "spaces", "families", "weight", "source")
_DECIMAL = re.compile(r"[+-]?\d[\d_]{0,40}(\.[\d_]{1,40})?([eE][+-]?\d{1,2})?")
_MAX_RULES = 10_000
_MAX_INTEGER = 10**60
"""Weights above this are mistakes, and would make exact fractions slow."""


class FileRule(Struct, frozen=True, eq=False):
    """One rule as written; ``("*",)`` stands for all functions or all spaces.

    A family among the spaces has a prefix: see ``family``.
    """

    functions: tuple[str, ...]
    spaces: tuple[str, ...]
    weight: Fraction
    source: str = ""


def family(kind: str) -> str:
    """Return the key under which rules for a whole family of spaces are stored."""
    return f"family {kind}"


class _WeightReader(Struct, eq=False):
    """The mistakes found so far in one file."""

    file: str
    mistakes: list[Diagnostic] = field(default_factory=list)

    def complain(self, message: str, hint: str | None = None) -> None:
        self.mistakes.append(Diagnostic("T0612", f"{self.file}: {message}", hint=hint))


def read_toml(text: str, name: str, code: str) -> Mapping[str, object]:
    """Read TOML with numbers as exact decimals; ``code`` is the diagnostic for invalid TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        raise Rejected(Diagnostic(code, f"{name}: not a TOML file tolcost reads: {error}")) from error


def _decimal(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:50]} is not a plain decimal of moderate size")
    return Fraction(text.replace("_", ""))


def _check_keys(reader: _WeightReader, raw: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in raw:
        if key not in known:
            reader.complain(f"unknown key {key[:60]!r}{where}", _did_you_mean(key, known))


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # only a typing mistake needs it

    close = get_close_matches(word[:60], known, 1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def _text(
    reader: _WeightReader, raw: Mapping[str, object], key: str, where: str, required: bool = True
) -> str:
    value = raw.get(key, None if required else "")
    if isinstance(value, str) and (value.isprintable() or not required):
        return value
    kind = "of one line" if isinstance(value, str) else "text"
    reader.complain(f"{key} must be {kind}{where}", f'{key} = "..."')
    return ""


AT_LEAST = "at least"


def _default(reader: _WeightReader, raw: Mapping[str, object]) -> Fraction | None:
    match raw.get("default"):
        case "error" | "at least":
            return None
        case None:
            reader.complain(
                '"default" is missing', 'default = "error", "at least", or the number that is meant'
            )
            return None
        case value:
            return _number(reader, value, "default")


def _number(reader: _WeightReader, value: object, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        reader.complain(f"{what} must be a number")
        return Fraction(0)
    if value < 0 or value > _MAX_INTEGER:
        reader.complain(f"{what} must not be negative, nor above 1e60")
    return Fraction(value)


def _rules(reader: _WeightReader, raw: object) -> tuple[FileRule, ...]:
    if not isinstance(raw, list) or len(raw) > _MAX_RULES:
        reader.complain(f"rules are [[rule]] tables, at most {_MAX_RULES}")
        return ()
    return tuple(_rule(reader, entry, number) for number, entry in enumerate(raw, 1))


def _rule(reader: _WeightReader, raw: object, number: int) -> FileRule:
    where = f" in rule {number}"
    if not isinstance(raw, dict):
        reader.complain(f"rule {number} is not a table", "[[rule]]")
        return FileRule((), (), Fraction(0))
    _check_keys(reader, raw, _RULE_KEYS, where)
    if "weight" not in raw:
        reader.complain(f"weight is missing{where}")
    return FileRule(
        functions=_names(reader, raw.get("functions"), tuple(FUNCTIONS), "function", where),
        spaces=_spaces(reader, raw, where),
        weight=_number(reader, raw.get("weight", 0), f"weight{where}"),
        source=_text(reader, raw, "source", where, required=False),
    )


def _spaces(reader: _WeightReader, raw: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Read the spaces of a rule, given by name, by family, or both."""
    families: tuple[str, ...] = ()
    if "families" in raw:
        families = tuple(map(family, _names(reader, raw["families"], FAMILIES, "family", where)))
    if "spaces" not in raw and families:
        return families
    return (*_names(reader, raw.get("spaces"), tuple(SPACES), "space", where), *families)


def _names(
    reader: _WeightReader, raw: object, known: tuple[str, ...], what: str, where: str
) -> tuple[str, ...]:
    if raw == ANY and what != "family":
        return (ANY,)
    if not isinstance(raw, list) or not raw or not all(isinstance(name, str) for name in raw):
        reader.complain(f'each {what} must be named in a list, or all of them as "*"{where}')
        return ()
    for name in raw:
        if name not in known:
            reader.complain(f"unknown {what} {name[:60]!r}{where}", _did_you_mean(name, known))
    return tuple(dict.fromkeys(raw))


SHIPPED = ("eops", "flops", "macs", "energy-45nm", "energy-7nm", "h200")
_MAX_FILE = 1 << 20

WeightTable: TypeAlias = Mapping[tuple[str, str], Fraction]


class Weights(Struct, frozen=True, eq=False):
    """A cost model.

    ``default`` is None where a function and space without a rule have no weight: they are left out of the
    total of a ``partial`` model, and an error in any other.
    """

    name: str
    unit: str
    default: Fraction | None
    per_mac: Fraction
    table: WeightTable
    sources: tuple[str, ...] = ()
    description: str = ""
    partial: bool = False


class Weighed(Struct, frozen=True):
    """A weighted count: exactly ``numerator / denominator`` units, and no less with what is left out."""

    numerator: Poly
    denominator: int
    unit: str
    left_out: tuple[str, ...] = ()
    """Functions that the model has no weight for, each with its space, as ``exp R``."""

    @property
    def poly(self) -> Poly:
        """The value as one expression, whose coefficients may be fractions."""
        return scale(self.numerator, 1, self.denominator)

    def at(self, values: Mapping[Symbol, int]) -> Fraction:
        """Evaluate exactly at a point."""
        return Fraction(evaluate(self.numerator, values), self.denominator)


def load_weights(path: str | Path) -> Weights:
    """Read a weight file, or a shipped one by its name (``"flops"``)."""
    text = _read(path)
    return (stored_weights(str(path), text) if str(path) in SHIPPED else None) or parse_weights(
        text, str(path)
    )


def _shipped(name: str, suffix: str) -> Path:
    return Path(__file__).parent / "weights" / f"{name}.{suffix}"


def _read(path: str | Path) -> str:
    found = _shipped(str(path), "toml") if str(path) in SHIPPED else Path(path)
    try:
        if found.stat().st_size > _MAX_FILE:
            refuse("T0610", f"{path}: a weight file has at most {_MAX_FILE} bytes")
        return found.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the weight file {path}: {unreadable(error)}"
        hint = f"shipped cost models: {', '.join(SHIPPED)}"
        raise Rejected(Diagnostic("T0610", message, hint=hint)) from error


def stored_weights(name: str, text: str) -> Weights | None:
    """Read a shipped cost model from its stored form, if there is one that was made from this text."""
    kept = _shipped(name, "json")
    if not kept.is_file():
        return None
    digest, unit, default, per_mac, rows, sources, description = json.loads(kept.read_text(encoding="utf-8"))
    if digest != _digest(text):
        return None
    table = MappingProxyType({(function, space): Fraction(*weight) for function, space, weight in rows})
    least = None if default is None else Fraction(*default)
    return Weights(name, unit, least, Fraction(*per_mac), table, tuple(sources), description)


def store_weights(name: str = "flops") -> None:
    """Store the parsed form of a shipped cost model.

    Every command weighs FLOPs, and reading the TOML takes 2 ms.
    """
    text = _read(name)
    one = parse_weights(text, name)
    rows = [[*pair, weight.as_integer_ratio()] for pair, weight in one.table.items()]
    default = None if one.default is None else one.default.as_integer_ratio()
    told = (one.unit, default, one.per_mac.as_integer_ratio(), rows, one.sources, one.description)
    _shipped(name, "json").write_text(f"{json.dumps([_digest(text), *told])}\n", encoding="utf-8")


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def parse_weights(text: str, name: str = "<weights>") -> Weights:
    r"""Read a cost model from TOML text.

    >>> model = parse_weights('name = "all"\nunit = "op"\ndefault = 1')
    >>> weight_of(model, "add", "R")
    Fraction(1, 1)
    """
    reader = _WeightReader(name)
    raw = read_toml(text, name, "T0611")
    _check_keys(reader, raw, _TOP_KEYS, "")
    rules = _rules(reader, raw.get("rule", []))
    table: dict[tuple[str, str], Fraction] = {}
    clashes: list[Diagnostic] = []
    for rule in rules:
        for pair in product(rule.functions, rule.spaces):
            if table.setdefault(pair, rule.weight) != rule.weight:
                message = f"{name}: two rules of one width weigh {pair[0]} on {pair[1]} differently"
                clashes.append(Diagnostic("T0613", message, hint="keep one of them"))
    found = Weights(
        name=_text(reader, raw, "name", ""),
        unit=_text(reader, raw, "unit", ""),
        default=_default(reader, raw),
        per_mac=_number(reader, raw.get("per_mac", 0), "per_mac"),
        table=MappingProxyType(table),
        sources=tuple(dict.fromkeys(rule.source for rule in rules if rule.source)),
        description=_text(reader, raw, "description", "", required=False),
        partial=raw.get("default") == AT_LEAST,
    )
    if reader.mistakes or clashes:
        raise Rejected(*(reader.mistakes or clashes))
    return found


def weight_of(weights: Weights, function: str, space: str) -> Fraction | None:
    """Return the weight of one application; None where the model has none."""
    kind = family(SPACES[space].kind) if space in SPACES else ""
    for pair in (
        (function, space), (function, kind), (function, ANY), (ANY, space), (ANY, kind), (ANY, ANY),
    ):  # fmt: skip
        if pair in weights.table:
            return weights.table[pair]
    return weights.default


def lacking(weights: Weights) -> tuple[str, ...]:
    """Return the functions that a cost model has no weight for, neither on reals nor on ``float32``."""
    usual = ("R", "float32")
    return tuple(name for name in FUNCTIONS if all(weight_of(weights, name, s) is None for s in usual))


def weigh(counts: Counts, weights: Weights) -> Weighed:
    """Weigh a histogram exactly; a function and space without a weight are an error, or are left out."""
    pairs = {key: weight_of(weights, *key) for key in counts.histogram}
    missing = sorted(key for key, weight in pairs.items() if weight is None)
    if missing and not weights.partial:
        raise Rejected(*(_uncovered(weights, *key) for key in missing))
    parts = [(counts.histogram[key], weight) for key, weight in pairs.items() if weight is not None]
    parts.append((counts.macs, weights.per_mac))
    denominator = lcm(*(weight.denominator for _, weight in parts))
    numerator = ZERO
    for poly, weight in parts:
        numerator = numerator + poly * int(weight * denominator)
    return Weighed(numerator, denominator, weights.unit, tuple(map(" ".join, missing)))


def _uncovered(weights: Weights, function: str, space: str) -> Diagnostic:
    known = "an elementary function" if function in FUNCTIONS else "not an elementary function"
    return Diagnostic(
        "T0614",
        f"the cost model {weights.name} has no weight for {function} on {space} ({known})",
        hint='add a [[rule]] for it, or set "default" to "at least" or a number',
    )
