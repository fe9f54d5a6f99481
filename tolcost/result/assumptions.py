"""Assumptions about lengths: that one equals a form in others, has a remainder, or lies within bounds.

An equation substitutes a form for its length; a bound becomes a fact that forms may rely on.  Numbers that
are given later are checked against both: a point that violates an assumption has no figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from math import gcd, lcm
from shlex import quote
from typing import NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    TRUE,
    ZERO,
    Cond,
    Eq,
    Floor,
    Ge,
    Poly,
    Symbol,
    atom,
    bounds,
    cond_text,
    const,
    eq,
    exact_div,
    fewer_clips,
    ge,
    generators_in,
    length,
    only_symbol,
    polys_of,
    prove,
    quoted,
    simplify,
    substitute,
    substitute_cond,
    to_text,
)
from tolcost.algebra.compare import power_floors, residue_steps
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import affine_parts
from tolcost.diagnostics import Diagnostic, Rejected, refuse
from tolcost.diagnostics import quoted as shown
from tolcost.result.point import Requirement

_RELATION = re.compile(r"<=|>=|==|!=|<|>|=")
_EQUAL = ("=", "==")
_REMAINDER = re.compile(r"(.+)%\s*([0-9]{1,9})\s*")
_NAME = re.compile(r"[^-+*/()%<>=,\s]+")
_SEVERAL = re.compile(r"\b(each|sum)\(([^()]+)\)")
_HINT = "an assumption is like `h = 32*k`, `h % 32 == 0` or `seq <= 512`"


class Assumed(Struct, frozen=True):
    """Assumptions as read: their texts, the forms that replace lengths, and the facts that remain."""

    texts: tuple[str, ...] = ()
    put: Mapping[Symbol, Poly] = field(default_factory=dict)
    facts: tuple[Cond, ...] = ()

    def change(self, form: Poly) -> Poly:
        """Substitute the assumptions into a form, and simplify it under the facts."""
        found = substitute(form, self.put)
        return fewer_clips(simplify(found, self.facts), self.facts) if self.facts else found

    def conditions(self, found: Iterable[Requirement]) -> tuple[Requirement, ...]:
        """Return the remaining conditions and the assumed facts; ``Rejected`` if these contradict one."""
        kept = []
        for one in found:
            condition = substitute_cond(one.condition, self.put)
            decided = prove(condition, self.facts)
            if decided is False:
                raise _contradiction(self.texts, f"{one.owner} needs {one.text[:200]}: {one.reason}")
            if decided is None or one.kind == "checked":
                kept.append(replace(one, condition=condition))
        facts = (Requirement(fact, "it is assumed", assumed=True) for fact in self.facts)
        return (*(one for one in kept if one.condition != TRUE), *facts)


NOTHING = Assumed()


def equation(name: str, form: str, fresh: bool = True) -> str:
    """Write the assumption that a length of any name equals a form, which may have new names if ``fresh``.

    >>> equation("x[0]", "32*h"), equation("w", "h", fresh=False)
    ('`x[0]` = 32*h', 'w == h')
    """
    return f"{quoted(name)} {'=' if fresh else '=='} {form}"


def assumed(
    texts: Sequence[str],
    names: Mapping[str, Poly],
    lenient: bool = False,
    needed: Iterable[Requirement] = (),
) -> Assumed:
    """Read assumptions about lengths by name; ``lenient`` skips assumptions about unknown lengths.

    Lengths that follow from them by equations among the ``needed`` conditions are substituted as well.

    >>> found = assumed(["h % 32 == 0", "n <= 8"], {"h": length("h"), "n": length("n")})
    >>> found.change((length("h") + 31) // 32), found.facts
    (h_32, (Ge(p=8 - n),))
    """
    reader = _Reading(dict(names))
    every = [(said, text, *_parts(text)) for said, text in _expanded(texts, names, lenient)]
    every.sort(key=lambda one: one[3] not in _EQUAL)  # bounds last: equations may replace their lengths
    used: set[str] = set()
    for said, text, left, relation, right in every:
        reader.said = said
        reader.read[said] = None
        try:
            remainder = _REMAINDER.fullmatch(left)
            if relation not in _EQUAL:
                reader.bounded(text, left, relation, right)
            elif remainder is not None:
                reader.divided(text, remainder[1].strip(), int(remainder[2]), right)
            else:
                reader.equal(text, left, right, fresh=relation == "=")
            used.add(said)
        except _UnknownLength as unknown:
            if not lenient:
                named = relation == "==" and left.strip().strip("`") in names
                new = f"{left.strip()} = {right.strip()}" if named else ""
                raise unknown.told(new) from None
    for one in needed:
        if isinstance(one.condition, Eq):
            reader.said = one.text
            reader.follow(one.text, one.condition.p)
    reader.pinned(texts)
    return Assumed(tuple(text for text in texts if text in used), reader.put, tuple(reader.facts))


def _expanded(texts: Iterable[str], names: Mapping[str, Poly], lenient: bool) -> Iterator[tuple[str, str]]:
    """Expand ``each(P)`` to an assumption for every name that fits, and ``sum(P)`` to the sum of the names.

    Yield each result with the text that the user wrote.

    >>> names = {"z_1": length("z_1"), "z_2": length("z_2")}
    >>> [text for _, text in _expanded(["each(z_*) = 2", "sum(z_*) = n"], names, False)]
    ['`z_1` = 2', '`z_2` = 2', '(`z_1` + `z_2`) = n']
    """
    for text in texts:
        match = _SEVERAL.search(text)
        if match is None:
            yield text, text
            continue
        found = [f"`{name}`" for name in names if fnmatchcase(name, match[2].strip())]
        if not found:
            if not lenient:
                raise _UnknownLength(match[2].strip(), names).told()
            continue
        before, after = text[: match.start()], text[match.end() :]
        whole = found if match[1] == "each" else [f"({' + '.join(found)})"]
        yield from ((text, f"{before}{one}{after}") for one in whole)


def _parts(text: str) -> tuple[str, str, str]:
    match = _RELATION.search(text)
    if match is None or not text[: match.start()].strip() or not text[match.end() :].strip():
        refuse("T0696", f"{shown(text)} is no assumption", hint=_HINT)
    if _RELATION.search(text, match.end()) or re.search(r"\s(and|or|&&?|\|\|?)\s", text):
        hint = "an assumption has one relation; `--assume` may be repeated: 'n >= 2' and 'n <= 512'"
        refuse("T0696", f"{shown(text)} is no assumption", hint=hint)
    if match[0] == "!=":
        refuse("T0696", f"{shown(text)} is no assumption", hint="`n < m` or `n > m` is one")
    if "%" in text and not (match[0] in ("=", "==") and _REMAINDER.fullmatch(text[: match.start()])):
        hint = "a remainder is that by a number: `h % 32 == 0`"
        refuse("T0696", f"{shown(text)} is no assumption", hint=hint)
    return text[: match.start()].strip(), match[0], text[match.end() :].strip()


def _contradiction(texts: Iterable[str], other: str) -> Rejected:
    said = ", ".join(shown(text) for text in texts)
    return Rejected(Diagnostic("T0696", f"no lengths fulfil what is assumed ({said})", hint=other))


class _UnknownLength(Exception):
    """An assumption names a length that does not exist."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(known)

    def told(self, new: str = "") -> Rejected:
        """Return the error to report; ``new`` is the assumption that would introduce such a length."""
        names = ", ".join(self.known[:12]) or "none"
        message = f"there is no length {shown(self.name.strip('`'))}"
        more = f"; `--assume {quote(new)}` brings in a new one" if new else ""
        return Rejected(Diagnostic("T0696", message, hint=f"there are {names}{more}"))


class _Reading(Struct):
    """The lengths known by name, and the assumptions read so far."""

    names: dict[str, Poly]
    put: dict[Symbol, Poly] = field(default_factory=dict)
    facts: list[Cond] = field(default_factory=list)
    said: str = ""
    """The assumption being read, as the user wrote it."""
    read: dict[str, None] = field(default_factory=dict)
    """The texts of all assumptions read so far, for messages."""
    origins: dict[Symbol, str] = field(default_factory=dict)
    """The assumption that gave each substituted length its form."""

    def equal(self, text: str, left: str, right: str, fresh: bool) -> None:
        """Substitute the form on one side for the length on the other; it may have new names if ``fresh``."""
        symbol = self._symbol(left)
        if symbol is None and _NAME.fullmatch(left) and left not in self.names and not left.isdecimal():
            raise _UnknownLength(left, self.names)
        if symbol is None:
            left, right = right, left
            symbol = self._symbol(left)
        if symbol is None:
            self._solved(text, self._form(left, fresh=False) - self._form(right, fresh=False))
        else:
            self._set(text, symbol, self._form(right, fresh))

    def _solved(self, text: str, gap: Poly) -> None:
        """Solve an equation for one of its lengths, preferably a data-dependent one, and substitute that."""
        gap = substitute(gap, self.put)
        if gap.constant == 0:  # it follows from earlier assumptions
            return
        if gap.constant is not None:
            raise _contradiction((text,), "it holds of no lengths")
        for symbol in sorted(gap.free, key=lambda s: (s.kind == "data", s.key), reverse=True):
            times, rest = affine_parts(gap, symbol) or (ZERO, ZERO)
            step, known = times.constant, rest.constant
            if step in (1, -1):
                self._set(text, symbol, -rest * step)
                return
            if step and known is not None and known % step == 0:
                self._set(text, symbol, const(-known // step))
                return
        self._parametrised(text, gap)

    def follow(self, text: str, gap: Poly) -> None:
        """Solve an equation that the assumptions changed for the first length that it determines."""
        known = substitute(gap, self.put)
        for symbol in sorted(gap.free & known.free, key=lambda s: s.key) if known != gap else ():
            times, rest = affine_parts(known, symbol) or (ZERO, ZERO)
            told = exact_div(-rest, times) if times.constant else None
            if told is not None:
                self._set(text, symbol, told)
                return

    def _parametrised(self, text: str, gap: Poly) -> None:
        """Write two lengths that an equation ties as multiples of a new one, as in `n = 2*m`, `k = 3*m`."""
        one, *others = sorted(gap.free, key=lambda s: s.key)
        first, rest = affine_parts(gap, one) or (ZERO, ZERO)
        second, number = affine_parts(rest, others[0]) or (ZERO, ZERO) if others else (ZERO, rest)
        a, b, c = first.constant, second.constant, number.constant
        if not a or b is None or c is None or (others and not b):
            is_linear = all(affine_parts(gap, symbol) is not None for symbol in gap.free)
            by_new = "say what its lengths are by new ones: `n = 2*m` and `k = 3*m` for `3*n = 2*k`"
            hint = by_new if is_linear else _HINT
            refuse("T0696", f"{shown(text)} says of no length what it is", hint=hint)
        common = gcd(a, b)
        if c % common:
            raise _contradiction((text,), "no whole numbers do")
        other = others[0]
        if abs(a) == common:  # the first is an integer form in the second
            one, other, a, b = other, one, b, a
        step = abs(b) // common
        remainder = -c // common * pow(a // common, -1, step) % step
        put = atom(one) if step == 1 else self._multiple(text, one, step, remainder)
        told = exact_div(-(put * a + c), b)
        assert told is not None, "the remainder was chosen so"
        self._set(text, one, put)
        self._set(text, other, told)

    def _multiple(self, text: str, symbol: Symbol, step: int, remainder: int) -> Poly:
        """Return a length as ``step`` times a new one, plus ``remainder``."""
        title = f"{symbol.name}_{step}"
        if title in self.names:
            refuse("T0696", f"{shown(title)} is a length already: {shown(text)}")
        self.names[title] = length(title, 0 if remainder else 1)
        return self.names[title] * step + remainder

    def divided(self, text: str, name: str, step: int, rest: str) -> None:
        """Write a length as a multiple of a new one, plus the assumed remainder."""
        symbol, remainder = self._symbol(name), self._form(rest, fresh=False).constant
        if symbol is None:
            raise _UnknownLength(name, self.names)
        if not step or remainder is None or not 0 <= remainder < step:
            refuse("T0696", f"{shown(text)} is no remainder", hint="h % 32 == 0")
        self._set(text, symbol, self._multiple(text, symbol, step, remainder))

    def bounded(self, text: str, left: str, relation: str, right: str) -> None:
        """Add a comparison to the facts."""
        gap = self._form(right, fresh=False) - self._form(left, fresh=False)
        gap = gap if relation in ("<=", "<") else -gap
        self._add(text, ge(substitute(gap - (relation in ("<", ">")), self.put)))

    def pinned(self, texts: Sequence[str]) -> None:
        """Substitute a number for a length whose bounds meet; refuse bounds that no length fulfils."""
        bounded = {s for fact in self.facts if isinstance(fact, Ge) for s in fact.p.free}
        for symbol in sorted(bounded, key=lambda s: s.key):
            low, high = bounds(atom(symbol), tuple(self.facts))
            if low is None or high is None:
                continue
            if low > high:
                ends = f"{symbol.name} would be at least {low:,} and at most {high:,}"
                raise _contradiction(texts, ends)
            if low == high:
                self._set(", ".join(texts), symbol, const(low))
        if FALSE in self.facts:
            raise _contradiction(texts, "together they leave no length")
        self.facts = [fact for fact in self.facts if fact != TRUE]

    def _symbol(self, name: str) -> Symbol | None:
        """Return the symbol of a side that is a single known length, else None."""
        form = self.names.get(name[1:-1] if name[:1] == name[-1:] == "`" else name)
        return None if form is None else only_symbol(form)

    def _form(self, text: str, fresh: bool) -> Poly:
        found = parse_text(text, self.names)
        known = {symbol for form in self.names.values() for symbol in form.free}
        for symbol in sorted(found.free - known, key=lambda s: s.key):
            if not fresh:
                raise _UnknownLength(symbol.name, self.names)
            self.names[symbol.name] = atom(symbol)
        return found

    def _set(self, text: str, symbol: Symbol, form: Poly) -> None:
        value = substitute(form, self.put)
        if symbol in self.put:
            if self.put[symbol] != value:
                self._refuse_twice(symbol, value)
            return
        if symbol in value.free:
            if value != atom(symbol):
                refuse("T0696", f"{shown(text)} says what a length is by itself")
            return
        one = {symbol: value}
        self.origins[symbol] = self.said
        self.put = {s: substitute(p, one) for s, p in self.put.items()} | one
        before, self.facts = self.facts, [substitute_cond(fact, one) for fact in self.facts]
        broken = next((fact for fact, now in zip(before, self.facts, strict=True) if now == FALSE), None)
        if broken is not None:
            why = f"{cond_text(broken)} does not hold where {symbol.name} is {to_text(value)}"
            raise _contradiction(self.read, why)
        for end, way, most in ((symbol.lo, 1, "at least"), (symbol.hi, -1, "at most")):
            if end is not None and end != LARGEST_LENGTH:
                fact = ge(substitute((value - end) * way, self.put))
                if fact == FALSE:
                    why = f"{symbol.name} would be {to_text(value)}, and is {most} {to_text(end)}"
                    raise _contradiction(self.read, why)
                self._add(text, fact)

    def _refuse_twice(self, symbol: Symbol, value: Poly) -> NoReturn:
        """Refuse a second form for a length; if no lengths make the two equal, report a contradiction."""
        before, origin = self.put[symbol], self.origins[symbol]
        if prove(eq(value - before)) is False:
            why = f"{symbol.name} would be {to_text(before)} and {to_text(value)}"
            raise _contradiction(dict.fromkeys((origin, self.said)), why)
        hint = f"by {shown(origin)} it is {to_text(before)}, and by {shown(self.said)} {to_text(value)}"
        refuse("T0696", f"{shown(symbol.name)} is assumed twice", hint=hint)

    def _add(self, text: str, fact: Cond) -> None:
        if fact == FALSE:
            raise _contradiction((text,), "it holds of no lengths from 1 on")
        if prove(fact) is not True:
            self.facts.append(fact)


# ---- suggested assumptions -----------------------------------------------------------------------


def partitions(kept: Sequence[Symbol], told: Iterable[Symbol]) -> Iterator[str]:
    """Yield options that assume that data-dependent lengths split a number among them, in any way or evenly.

    Nothing proves that they do: it holds if every entry goes to exactly one of them, as tokens go to experts.
    A group with a length that is already given (``told``) is left out: the rest no longer split it evenly.
    """
    names_told = [symbol.name for symbol in told]
    together: dict[Poly, list[Symbol]] = {}
    for symbol in kept:
        if symbol.hi is not None:
            together.setdefault(symbol.hi, []).append(symbol)
    for most, same in together.items():
        names = [symbol.name for symbol in same]
        pattern = f"{_shared(names)}*{_shared([name[::-1] for name in names])[::-1]}"
        if any(fnmatchcase(name, pattern) for name in names_told):
            continue
        if len(same) > 1 and [s for s in kept if fnmatchcase(s.name, pattern)] == same:
            whole = to_text(most)
            yield (
                f"if these split {whole} among them: --assume 'sum({pattern}) = {whole}'; "
                f"evenly: --assume 'each({pattern}) = ({whole})/{len(same)}'"
            )


def offered(forms: Sequence[Poly], needed: Iterable[Requirement], taken: Iterable[str]) -> str | None:
    """Suggest assumptions that remove all floors from forms, in words and as options; None if there are none.

    The forms are polynomials then, unless a clip or a power is left.
    """
    conditions = [one.condition for one in needed if one.kind == "needed" and not one.assumed]
    every = (*forms, *(p for condition in conditions for p in polys_of(condition)))
    steps, least = dict[Symbol, int](), dict[Symbol, int]()
    for form in every:
        for symbol, step in residue_steps(form).items():
            steps[symbol] = lcm(steps.get(symbol, 1), step)
        for symbol, exponent in power_floors(form).items():
            least[symbol] = max(least.get(symbol, 0), exponent)
    steps = {symbol: step for symbol, step in steps.items() if step > 1}
    names = tuple(islice(_free_names(taken), len(steps | least)))
    tried = (_Offer(some, few) for some, few in (({}, least), (steps, {}), (steps, least)) if some or few)
    return next((said for offer in tried if (said := offer.said(forms, conditions, names))), None)


class _Offer(Struct, frozen=True):
    """Divisors of lengths, and least values of exponents, that may leave forms without floors."""

    steps: Mapping[Symbol, int]
    least: Mapping[Symbol, int]

    def said(self, forms: Sequence[Poly], conditions: Sequence[Cond], names: Sequence[str]) -> str | None:
        """Describe the assumption, in words and as options; None if floors are left under it."""
        ordered = sorted({*self.steps, *self.least}, key=lambda s: s.key)
        put = {
            symbol: self._value(symbol, length(name)) for symbol, name in zip(ordered, names, strict=False)
        }
        left = [
            g for form in forms for g in generators_in(substitute(form, put)) if not isinstance(g, Symbol)
        ]
        if any(isinstance(g, Floor) for g in left):
            return None
        holds = bool(conditions) and all(prove(substitute_cond(c, put)) is True for c in conditions)
        where = " and ".join(text for symbol in ordered for text in self._where(symbol))
        said = " ".join(f"--assume '{equation(symbol.name, to_text(form))}'" for symbol, form in put.items())
        forms_are = "forms without floors" if left else "polynomials"
        if holds:
            return f"all of it holds where {where}: {said} gives {forms_are}"
        return f"{forms_are} where {where}: {said}"

    def _value(self, symbol: Symbol, free: Poly) -> Poly:
        step, least = self.steps.get(symbol, 1), self.least.get(symbol, 1)
        return step * (free + max(-(-least // step) - 1, 0))

    def _where(self, symbol: Symbol) -> Iterator[str]:
        step, least = self.steps.get(symbol, 1), self.least.get(symbol, 0)
        if step > 1:
            yield f"{step} divides {symbol.name}"
        if least > (step if step > 1 else 0):
            yield f"{symbol.name} >= {least}"


def _shared(names: Sequence[str]) -> str:
    """Return the longest common prefix of all names."""
    return "".join(letters[0] for letters in takewhile(lambda ones: len(set(ones)) == 1, zip(*names)))  # noqa: B905


def _free_names(taken: Iterable[str]) -> Iterator[str]:
    used = set(taken)
    yield from (name for name in ("k", "m", "p", "q", "r", "s") if name not in used)
    yield from (f"k{n}" for n in range(1, 1000) if f"k{n}" not in used)
