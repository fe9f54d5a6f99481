"""Cost models: weight files over (elementary function, space), and weighing counts with them.

A weight file is TOML: a name, a unit, what a function without a rule weighs, and rules.

    name = "energy"
    unit = "pJ"
    default = "error"                 # or a number, on purpose

    [[rule]]
    functions = ["add", "sub"]        # or "*"
    spaces = ["float32", "R"]         # names of spaces, or "*"
    families = ["C"]                  # every space that is boolean B, integer Z, real R, complex C
    weight = 0.9                      # taken as the decimal it is written as
    source = "where the figure is from"

The narrowest rule wins: a named function before ``*``, then a named space before its family
before ``*``.  Two rules of one width for one pair are an error, and so is a pair without a
rule unless the file gives a default: nothing unknown weighs 0 by accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tolcost.algebra import ZERO, Poly, Symbol, evaluate
from tolcost.algebra.poly import scale
from tolcost.cost.count import Counts
from tolcost.cost.weightfile import ANY, FileRule, family, parse_weight_file
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES

SHIPPED = ("eops", "flops", "macs", "energy-45nm", "energy-7nm")
_MAX_FILE = 1 << 20

Table: TypeAlias = Mapping[tuple[str, str], Fraction]


@dataclass(frozen=True, slots=True)
class Weights:
    """A cost model.  ``default`` is None where a pair without a rule is an error."""

    name: str
    unit: str
    default: Fraction | None
    per_mac: Fraction
    table: Table
    sources: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A weighed count: ``numerator / denominator`` units, exactly."""

    numerator: Poly
    denominator: int
    unit: str

    @property
    def poly(self) -> Poly:
        """The value as one expression, whose coefficients may be fractions."""
        return scale(self.numerator, 1, self.denominator)

    def at(self, values: Mapping[Symbol, int]) -> Fraction:
        """Evaluate exactly at a point."""
        return Fraction(evaluate(self.numerator, values), self.denominator)


def load_weights(path: str | Path) -> Weights:
    """Read a weight file, or a shipped one by its name (``"flops"``)."""
    return parse_weights(_read(path), str(path))


def _read(path: str | Path) -> str:
    shipped = Path(__file__).parent / "weights" / f"{path}.toml"
    found = shipped if str(path) in SHIPPED else Path(path)
    try:
        if found.stat().st_size > _MAX_FILE:
            raise Rejected(Diagnostic("T0610", f"{path}: a weight file has at most {_MAX_FILE} bytes"))
        return found.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the weight file {path}: {error}"
        hint = f"shipped cost models: {', '.join(SHIPPED)}"
        raise Rejected(Diagnostic("T0610", message, hint=hint)) from error


def parse_weights(text: str, name: str = "<weights>") -> Weights:
    r"""Read a cost model from TOML text.

    >>> model = parse_weights('name = "all"\nunit = "op"\ndefault = 1')
    >>> weight_of(model, "add", "R")
    Fraction(1, 1)
    """
    file = parse_weight_file(text, name)
    table: dict[tuple[str, str], Fraction] = {}
    clashes: list[Diagnostic] = []
    for rule in file.rules:
        for pair in _pairs(rule):
            if table.setdefault(pair, rule.weight) != rule.weight:
                message = f"{name}: two rules of one width weigh {pair[0]} on {pair[1]} differently"
                clashes.append(Diagnostic("T0613", message, hint="keep one of them"))
    if clashes:
        raise Rejected(*clashes)
    sources = tuple(dict.fromkeys(rule.source for rule in file.rules if rule.source))
    return Weights(
        file.name, file.unit, file.default, file.per_mac, MappingProxyType(table), sources, file.description
    )


def _pairs(rule: FileRule) -> Iterator[tuple[str, str]]:
    return ((function, space) for function in rule.functions for space in rule.spaces)


def weight_of(weights: Weights, function: str, space: str) -> Fraction | None:
    """Give the weight of one application; None where the model does not say."""
    kind = family(SPACES[space].kind) if space in SPACES else ""
    for pair in (
        (function, space), (function, kind), (function, ANY), (ANY, space), (ANY, kind), (ANY, ANY),
    ):  # fmt: skip
        if pair in weights.table:
            return weights.table[pair]
    return weights.default


def weigh(counts: Counts, weights: Weights) -> Weighed:
    """Weigh a histogram, exactly; a pair that the model does not cover is a diagnostic."""
    pairs = {key: weight_of(weights, *key) for key in counts.histogram}
    missing = tuple(_uncovered(weights, *key) for key, weight in pairs.items() if weight is None)
    if missing:
        raise Rejected(*missing)
    parts = [(counts.histogram[key], weight) for key, weight in pairs.items() if weight is not None]
    parts.append((counts.macs, weights.per_mac))
    denominator = lcm(*(weight.denominator for _, weight in parts))
    numerator = ZERO
    for poly, weight in parts:
        numerator = numerator + poly * int(weight * denominator)
    return Weighed(numerator, denominator, weights.unit)


def _uncovered(weights: Weights, function: str, space: str) -> Diagnostic:
    known = "an elementary function" if function in FUNCTIONS else "not an elementary function"
    return Diagnostic(
        "T0614",
        f"the cost model {weights.name} has no weight for {function} on {space} ({known})",
        hint='add a [[rule]] for it, or set "default" to a number',
    )
