"""Large numbers for people: a few digits and a prefix, or every digit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q")


def si(value: int | Fraction, unit: str = "", exact: bool = False) -> str:
    """Give a number to three digits with a prefix; ``exact`` gives every digit of an integer.

    >>> si(97_166_000_123), si(999_999), si(512), si(1_230_000, "B"), si(Fraction(1, 3))
    ('97.2 G', '1.00 M', '512', '1.23 MB', '0.333')
    >>> si(97_166_000_123, exact=True), si(8**512, "B")
    ('97,166,000,123', '2.41e+462 B')
    """
    behind = f" {unit}" if unit else ""
    if isinstance(value, int) and (exact or abs(value) < 1000):
        return f"{value:,}{behind}"
    power, scaled = 0, Fraction(value)
    while _rounds_to_thousand(scaled) and power < len(_PREFIXES) - 1:
        power, scaled = power + 1, scaled / 1000
    if _rounds_to_thousand(scaled):
        return f"{_decimal(value):.2e}{behind}"  # no prefix is left
    mark = f"{_PREFIXES[power]}{unit}"
    return f"{_three(scaled)} {mark}" if mark else _three(scaled)


def _rounds_to_thousand(value: Fraction) -> bool:
    return abs(value) >= Fraction(9995, 10)


def _decimal(value: int | Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def _three(value: Fraction) -> str:
    """Three significant digits, never in powers of ten unless it is tiny."""
    size = abs(value)
    if size >= Fraction("99.95"):
        return f"{float(value):.0f}"
    if size >= Fraction("9.995"):
        return f"{float(value):.1f}"
    return f"{float(value):.2f}" if size >= Fraction("0.9995") else f"{float(value):.3g}"
