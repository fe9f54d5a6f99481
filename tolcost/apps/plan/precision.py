"""How wide numbers are kept: parameters, by a scheme of quantisation, and the cache."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import Any

from msgspec import Struct

from tolcost.diagnostics import quoted, refuse
from tolcost.platform import specs_root


class Precision(Struct, frozen=True):
    """Bytes of a number: of a parameter that is made narrower, of others, and of the cache."""

    name: str
    narrow: Fraction
    """With its share of the scales and zero points of its group."""
    plain: Fraction
    cache: Fraction
    stay: frozenset[str]
    """The parameters that are not made narrower."""
    state: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    """The parameters that alone are made narrower, if a scheme says so."""

    def bytes_of(self, parameter: str) -> Fraction:
        """Return the bytes of an element of a parameter."""
        stays = parameter in self.stay if self.only is None else parameter not in self.only
        return self.plain if stays else self.narrow

    def width(self, given: str) -> Fraction:
        """Return the bytes of an element of an input: of a parameter, or of what is kept between runs."""
        return self.cache if given in self.state else self.bytes_of(given)


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(specs_root().joinpath("serving", "precisions.toml").read_text(encoding="utf-8"))


def precision_names() -> tuple[str, ...]:
    """Return the names of all schemes for parameters."""
    return tuple(_file()["weights"])


def cache_names() -> tuple[str, ...]:
    """Return the names of all types of caches."""
    return tuple(_file()["cache"])


def precision_of(weights: str = "bf16", cache: str = "bf16") -> Precision:
    """Return how wide numbers are kept.

    >>> precision_of("int4").narrow
    Fraction(133, 256)
    >>> precision_of("int4").bytes_of("norms")
    Fraction(2, 1)
    """
    file = _file()
    scheme, kept = _named(file["weights"], weights, "parameters"), _named(file["cache"], cache, "caches")
    bits = Fraction(scheme["bits"])
    if "group" in scheme:
        bits += Fraction(scheme["bits_of_a_group"], scheme["group"])
    name = weights if cache == "bf16" else f"{weights}, cache {cache}"
    return Precision(
        name, bits / 8, Fraction(2), Fraction(kept["bits"], 8),
        frozenset(file["stay"]), frozenset(file["state"]),
        frozenset(scheme["only"]) if "only" in scheme else None,
    )  # fmt: skip


def _named(table: Mapping[str, Any], name: str, what: str) -> Mapping[str, Any]:
    if name not in table:
        near = get_close_matches(name[:40], table, n=1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"there are {', '.join(table)}"
        refuse("T0924", f"{quoted(name)} is no precision for {what}", hint=hint)
    found: Mapping[str, Any] = table[name]
    return found
