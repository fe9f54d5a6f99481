"""Shorten closed forms for readers: recurring parts get names, and a long form is cut to its leading terms.

Large numbers are rounded to three digits, with a prefix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import Generator, Poly, Symbol, atom, data_symbol, generators_in, leading_terms, to_text
from tolcost.algebra import replace as replace_generator
from tolcost.algebra.poly import poly
from tolcost.algebra.printers import display_order
from tolcost.cost.device import Duration
from tolcost.cost.record import FormRatio
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed
from tolcost.show.document import Form, ShortForm, text_of

_LEAST_SAVED, _MOST_NAMES = 16, 12
_FEW = ("t", "u", "v")
MORE = "…"


class Subterms(Struct, frozen=True):
    """Recurring parts of some forms, each with its name; a part comes before the parts that contain it."""

    steps: tuple[tuple[Generator, Poly], ...] = ()

    def put(self, form: Form) -> Form:
        """Replace the recurring parts of a form by their names."""
        return _each(form, self._put)

    def _put(self, form: Poly) -> Poly:
        for generator, name in self.steps:
            form = replace_generator(form, generator, name)
        return form

    def lets(self) -> tuple[str, ...]:
        """Write the definition of each name, in terms of earlier names."""
        return tuple(f"let {to_text(name)} = {to_text(atom(generator))}" for generator, name in self.steps)


def subterms(forms: Sequence[Poly]) -> Subterms:
    """Name the recurring parts of some forms, where that makes the forms shorter.

    >>> from tolcost.algebra import length
    >>> t = (length("h") - 1) // 2 + 1
    >>> found = subterms([3 * t * t + t, 5 * t])
    >>> found.put(5 * t), found.lets()
    (5*t, ('let t = floor((h + 1)/2)',))
    """
    found = tuple(_recurring(forms))
    titles = iter(_titles(len(found), {symbol.name for form in forms for symbol in form.free}))
    steps: list[tuple[Generator, Poly]] = []
    for generator in found:
        now = _only(Subterms(tuple(steps))._put(atom(generator)))
        if now is not None:
            steps.append((now, data_symbol(next(titles), None, None)))
    return Subterms(tuple(steps))


def _only(form: Poly) -> Generator | None:
    """Return the generator that a form consists of, or None if it is anything else."""
    mono = next(iter(form.terms), ())
    return mono[0] if len(mono) == 1 and form == atom(mono[0]) else None


def _recurring(forms: Iterable[Poly]) -> list[Generator]:
    """Return the parts whose naming saves most characters, inner parts before the parts that contain them."""
    often: Counter[Generator] = Counter()
    for form in forms:
        often.update(g for mono in form.terms for g in set(mono))
        inside = (
            part for outer in generators_in(form) if not isinstance(outer, Symbol) for part in outer.parts
        )
        often.update(g for part in inside for g in generators_in(part))
    saved = {
        g: len(to_text(atom(g))) * (times - 1)
        for g, times in often.items()
        if times > 1 and not isinstance(g, Symbol)
    }
    worth = sorted((g for g, much in saved.items() if much >= _LEAST_SAVED), key=lambda g: -saved[g])
    return sorted(worth[:_MOST_NAMES], key=lambda g: (atom(g).height, to_text(atom(g))))


def _titles(count: int, taken: set[str]) -> list[str]:
    free = [name for name in _FEW if name not in taken]
    if count <= len(free):
        return free[:count]
    stem = next(stem for n in range(count + len(taken)) if not _clash(stem := "t" + "_" * n, count, taken))
    return [f"{stem}{n}" for n in range(1, count + 1)]


def _clash(stem: str, count: int, taken: set[str]) -> bool:
    return not taken.isdisjoint(f"{stem}{n}" for n in range(1, count + 1))


def _each(form: Form, change: Callable[[Poly], Poly]) -> Form:
    match form:
        case Poly():
            return change(form)
        case Depth(candidates=candidates, exact=exact):
            return Depth(tuple(map(change, candidates)), exact)
        case _:
            return form


def shortened(form: Form, width: int) -> str:
    """Write a form as text; a form longer than ``width`` is cut to its leading terms, and ends in ``…``.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> shortened(3 * n * n * m + 12345 * n + 7, 60), shortened(3 * n * n * m + 12345 * n + 7, 12)
    ('3*m*n**2 + 12345*n + 7', '3*m*n**2 + …')
    """
    text = text_of(form, grouped=True)
    if len(text) <= width:
        return text
    match form:
        case Poly():
            return _leading(form, width)
        case Weighed():
            return _leading(form.poly, width)
        case Depth(candidates=candidates):
            others = len(candidates) - 1
            end = f", {MORE} {others} more)" if others else ""
            return (
                f"Max({_leading(candidates[0], width - 16)}{end}" if end else _leading(candidates[0], width)
            )
        case FormRatio() | Duration():
            return MORE
        case _:
            return text


def short_form(form: Form, width: int) -> Form | ShortForm:
    """Return a cell for a form that is usually as long as ``width``; a number stays whole."""
    if isinstance(form, int | Fraction):
        return form
    return ShortForm(shortened(form, width), form)


def _leading(form: Poly, width: int) -> str:
    """Write the terms of the highest degree, or as many of them as fit."""
    whole, lead = to_text(form), leading_terms(form)
    if len(whole) <= width:
        return whole
    best, terms = MORE, display_order(lead)
    for count in range(1, len(terms) + 1):
        text = to_text(poly({mono: form.terms[mono] for mono in terms[:count]}, form.den))
        if len(text) + 4 > width:
            break
        best = f"{text} + {MORE}"
    return best


# ---- large numbers ---------------------------------------------------------------------------


_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q")


def si(value: int | Fraction, unit: str = "", exact: bool = False) -> str:
    """Write a number with three digits and a prefix, or with ``exact``, every digit of an integer.

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
        return f"{Decimal(value.numerator) / value.denominator:.2e}{behind}"  # no prefix is left
    mark = f"{_PREFIXES[power]}{unit}"
    return f"{_three(scaled)} {mark}" if mark else _three(scaled)


_DURATIONS = ("µs", "ms", "s")


def duration_text(microseconds: int | Fraction) -> str:
    """Write a time with three digits, in the unit that suits it.

    >>> duration_text(Fraction(434_987, 100)), duration_text(672), duration_text(Fraction(1, 20))
    ('4.35 ms', '672 µs', '0.05 µs')
    >>> duration_text(999_500), duration_text(5 * 10**10), duration_text(0)
    ('1.00 s', '50,000 s', '0 µs')
    """
    scaled, unit = _in_unit(microseconds)
    return f"{_three(scaled)} {unit}"


def _in_unit(microseconds: int | Fraction) -> tuple[Fraction, str]:
    power, scaled = 0, Fraction(microseconds)
    while _rounds_to_thousand(scaled) and power < len(_DURATIONS) - 1:
        power, scaled = power + 1, scaled / 1000
    return scaled, _DURATIONS[power]


_MOST_PLACES = 18
"""An attosecond has as many decimal places, as a part of a second."""


def time_texts(*attoseconds: int) -> tuple[str, ...]:
    """Write times with three digits, or in one unit with as many digits as tell different times apart.

    >>> time_texts(4_350 * 10**12, 4_354 * 10**12), time_texts(5 * 10**15, 0)
    (('4.350 ms', '4.354 ms'), ('5.00 ms', '0 µs'))
    """
    times = [Fraction(value, 10**12) for value in attoseconds]
    found = tuple(map(duration_text, times))
    largest = max(times, key=abs)
    scaled, unit = _in_unit(largest)
    for places in range(3, _MOST_PLACES):
        if len(set(found)) == len(set(times)):
            break
        found = tuple(f"{decimal_text(value * scaled / largest, places)} {unit}" for value in times)
    return found


def _rounds_to_thousand(value: Fraction) -> bool:
    return abs(value) >= Fraction(9995, 10)


def _three(value: Fraction) -> str:
    """Write three significant digits, without a power of ten unless the number is tiny."""
    size = abs(value)
    if size < Fraction("0.9995"):
        return _tiny(value)
    return decimal_text(value, 0 if size >= Fraction("99.95") else 1 if size >= Fraction("9.995") else 2)


def _tiny(value: Fraction) -> str:
    """Write three digits of a number below 1: 0.25, 1.25e-05."""
    if not value:
        return "0"
    power = len(str(value.numerator).lstrip("-")) - len(str(value.denominator))
    power -= abs(value) * 10**-power < 1  # of the first digit that is not 0
    digits = abs(round(value * 10 ** (2 - power)))
    if digits == 1000:
        digits, power = 100, power + 1
    minus = "-" if value < 0 else ""
    if power >= -4:
        return f"{minus}0.{digits:0{2 - power}}".rstrip("0")
    return f"{minus}{digits / 100:g}e{power:03}"


def decimal_text(value: Fraction, places: int) -> str:
    """Round to some decimal places, a tie to the even digit: of the exact value, as scripts of pages do.

    >>> decimal_text(Fraction(9, 8), 2), decimal_text(Fraction(-2, 3), 1), decimal_text(Fraction(45, 100), 1)
    ('1.12', '-0.7', '0.4')
    """
    whole, rest = divmod(abs(round(value * 10**places)), 10**places)
    minus = "-" if value < 0 and (whole or rest) else ""
    return f"{minus}{whole:,}" + (f".{rest:0{places}}" if places else "")


def percent_text(share: Fraction) -> str:
    """Write a share with one decimal place: in tables, and on pages.

    >>> percent_text(Fraction(1, 3)), percent_text(Fraction(1, 10**6)), percent_text(Fraction(25))
    ('33.3 %', '0.0 %', '2,500.0 %')
    """
    return f"{decimal_text(share * 100, 1)} %"


_SMALL = Fraction(1, 2000)
"""Below it, a change is 0.0 % when it is rounded."""


def change_text(old: int, new: int) -> str:
    """Write a change as a percentage of the old number, which is not 0.

    >>> change_text(64, 16), change_text(9, 1050), change_text(8192, 8193)
    ('-75.0 %', '+11,566.7 %', 'under 0.1 %')
    """
    part = Fraction(new - old, old)
    if 0 < abs(part) < _SMALL:
        return "under 0.1 %"
    return f"{'-' if part < 0 else '+'}{percent_text(abs(part))}"
