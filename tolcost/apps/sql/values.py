"""Values of SQL in ToLang: an expression, its type, and where it is NULL.

Numbers are those of SQL: a literal with a point is a decimal, which is exact, and stays a decimal through
sums, differences, products and remainders with whole numbers and other decimals.  In ToLang it is a whole
number, its value times a power of ten.  Quotients, roots, columns of R and literals with an exponent are
real.  A date is the number of days since 1970-01-01.  A text is its place among the sorted texts that may
stand there.

A value that may be NULL has a second expression, ``known``, which says whether it is not.  A truth value is
held by two: ``text`` is whether it is true, and ``no`` whether it is false; neither holds where it is NULL.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

ValueKind: TypeAlias = Literal["truth", "exact", "real", "text", "date", "null"]
MOST_DIGITS = 38
"""Limit on the digits of a decimal, including those behind the point."""
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class SqlType(Struct, frozen=True):
    """The type of an expression.

    ``exact`` numbers have ``scale`` digits behind the point; for text, ``texts`` has the texts that its
    numbers represent; ``may_be_nan`` and ``may_be_infinite`` apply to real numbers.
    """

    kind: ValueKind
    scale: int = 0
    texts: tuple[str, ...] = ()
    may_be_nan: bool = False
    may_be_infinite: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number that can be computed with."""
        return self.kind in ("exact", "real", "null")


TRUTH = SqlType("truth")
WHOLE = SqlType("exact")
DATE = SqlType("date")


class SqlValue(Struct, frozen=True):
    """An expression in ToLang and its type.

    ``literal`` is its number, if it is a literal; ``known`` is whether it is not NULL, for values that may
    be; ``no`` is whether a truth value is false, where that is not the opposite of ``text``; a ``static``
    value does not depend on the entries of tables.
    """

    text: str
    type: SqlType
    literal: str | None = None
    known: str | None = None
    no: str | None = None
    static: bool = False

    @property
    def real(self) -> str:
        """The number itself, where a decimal is a number times a power of ten."""
        if self.type.scale == 0:
            return self.text
        if self.literal is None:
            return f"div({self.text}, {10**self.type.scale})"
        return f"({self.literal})" if self.literal.startswith("-") else self.literal

    def at_scale(self, scale: int) -> str:
        """Multiply an exact number by the power of ten for a scale."""
        more = scale - self.type.scale
        if not more:
            return self.text
        return str(int(self.text) * 10**more) if self.text.isdigit() else f"({self.text} * {10**more})"

    @property
    def fails(self) -> str:
        """Whether a truth value is false."""
        return negated(self.text) if self.no is None else self.no


def null() -> SqlValue:
    """Return NULL, of no type yet."""
    return SqlValue("0", SqlType("null"), known="false", no="false", static=True)


# === Logic of conditions that are known to be true or false.


def every(tests: Iterable[str | None]) -> str | None:
    """Join conditions by `and`; None stands for one that always holds."""
    found = list(dict.fromkeys(test for test in tests if test is not None))
    if "false" in found:
        return "false"
    if len(found) < 2:
        return found[0] if found else None
    return f"({' and '.join(found)})"


def negated(test: str) -> str:
    """Negate a condition."""
    match test:
        case "true":
            return "false"
        case "false":
            return "true"
        case _:
            return f"not({test})"


# === Logic of three values.


def conjunction(left: SqlValue, right: SqlValue) -> SqlValue:
    """Return whether both hold: false if one is false, and else NULL if one is NULL."""
    return _logic("and", "or", left, right)


def disjunction(left: SqlValue, right: SqlValue) -> SqlValue:
    """Return whether one holds: true if one is true, and else NULL if one is NULL."""
    return _logic("or", "and", left, right)


def _logic(word: str, other: str, left: SqlValue, right: SqlValue) -> SqlValue:
    text = _joined(word, left.text, right.text)
    static = left.static and right.static
    if left.known is None and right.known is None:
        return SqlValue(text, TRUTH, static=static)
    return truth(text, _joined(other, left.fails, right.fails), static)


def _joined(word: str, left: str, right: str) -> str:
    neutral, final = ("true", "false") if word == "and" else ("false", "true")
    if final in (left, right):
        return final
    return right if left == neutral else left if right == neutral else f"({left} {word} {right})"


def truth(text: str, no: str, static: bool = False) -> SqlValue:
    """Return a truth value that may be NULL: where it is true, and where it is false."""
    return SqlValue(text, TRUTH, known=_joined("or", text, no), no=no, static=static)


def negation(value: SqlValue) -> SqlValue:
    """Return the opposite of a truth value; that of NULL is NULL."""
    if value.known is None:
        return SqlValue(negated(value.text), TRUTH, static=value.static)
    return replace(value, text=value.fails, no=value.text)


def known_truth(test: str, known: str | None, opposite: str | None = None, static: bool = False) -> SqlValue:
    """Return a truth value that is NULL where its operands are."""
    if known is None:
        return SqlValue(test, TRUTH, static=static)
    text, no = every((known, test)), every((known, opposite or negated(test)))
    return SqlValue(text or "true", TRUTH, known=known, no=no, static=static)


# === Types.


def common_type(types: Iterable[SqlType]) -> SqlType | None:
    """Return the common type of values, if they have one; NULL goes with all types."""
    given = list(types)
    found = [one for one in given if one.kind != "null"]
    kinds = {one.kind for one in found}
    if not found:
        return given[0]
    if len(kinds) == 1 and kinds <= {"truth", "date"}:
        return found[0]
    if kinds == {"exact"}:
        return SqlType("exact", max(one.scale for one in found))
    if kinds == {"text"}:
        return SqlType("text", texts=tuple(sorted({text for one in found for text in one.texts})))
    if not kinds <= {"exact", "real"}:
        return None
    nan, infinite = any(one.may_be_nan for one in found), any(one.may_be_infinite for one in found)
    return SqlType("real", may_be_nan=nan, may_be_infinite=infinite)


def default(type_: SqlType) -> str:
    """Return the number that stands where a value of a type is NULL."""
    return {"truth": "false", "text": "1"}.get(type_.kind, "0")


TableOf: TypeAlias = Callable[[Sequence[int]], str]
"""Names a static vector of the program."""


def in_type(value: SqlValue, wanted: SqlType, table: TableOf) -> str:
    """Write a value in a common type; ``table`` names a vector of numbers, for texts numbered differently."""
    if value.type.kind == "null":
        return default(wanted)
    match wanted.kind:
        case "exact":
            return value.at_scale(wanted.scale)
        case "real":
            return value.real
        case "text" if value.type.texts != wanted.texts:
            return looked_up(value, [bisect_left(wanted.texts, text) + 1 for text in value.type.texts], table)
        case _:
            return value.text


def looked_up(value: SqlValue, entries: Sequence[int], table: TableOf) -> str:
    """Write the entry of a static vector that stands at the place of a text."""
    if not entries:
        return "1"
    if value.text.isdigit():
        return str(entries[int(value.text) - 1]).lower()
    return f"{table(entries)}[{value.text}]"


# === Comparisons.


def compared(left: SqlValue, sign: str, right: SqlValue) -> str:
    """Compare two values of comparable types; NaN equals itself and exceeds every other number."""
    if not (left.type.is_number and right.type.is_number):
        return f"{left.text} {sign} {right.text}"
    if sign in (">", ">="):
        return compared(right, TURNED[sign], left) if _has_nan(left, right) else _plainly(left, sign, right)
    if not _has_nan(left, right):
        return _plainly(left, sign, right)
    one, other = left.real, right.real
    both = left.type.may_be_nan and right.type.may_be_nan
    match sign:
        case "==":
            return f"same_number({one}, {other})" if both else f"{one} == {other}"
        case "!=":
            return f"not(same_number({one}, {other}))" if both else f"{one} != {other}"
        case "<" if both:
            return f"less_number({one}, {other})"
        case "<=" if both:
            return f"not(less_number({other}, {one}))"
        case _ if right.type.may_be_nan:  # a number is less than NaN, so negate the opposite comparison
            return f"not({one} {'>=' if sign == '<' else '>'} {other})"
        case _:
            return f"{one} {sign} {other}"


def comparison(left: SqlValue, sign: str, right: SqlValue) -> SqlValue:
    """Compare two values of comparable types, either of which may be NULL."""
    known = every((left.known, right.known))
    static = left.static and right.static
    test = f"({compared(left, sign, right)})"
    opposite = None if _has_nan(left, right) else f"({compared(left, _OPPOSITE[sign], right)})"
    return known_truth(test, known, opposite, static)


def same(left: SqlValue, right: SqlValue) -> str:
    """Write whether two values are the same, where NULL is the same as NULL."""
    test = compared(left, "==", right)
    if left.known is None or right.known is None:
        return every((left.known, right.known, test)) or test
    if left.text == right.text == default(left.type):
        return f"({left.known} == {right.known})"
    return f"({left.known} and {right.known} and {test} or not({left.known} or {right.known}))"


def precedes(left: SqlValue, right: SqlValue, descending: bool, nulls_first: bool) -> str:
    """Write whether one value is sorted before another, which may be NULL."""
    test = compared(left, ">" if descending else "<", right)
    one, other = left.known, right.known
    if one is None or other is None:
        return test
    if nulls_first:
        return f"({other} and (not({one}) or {test}))"
    return f"({one} and (not({other}) or {test}))"


def _has_nan(left: SqlValue, right: SqlValue) -> bool:
    return left.type.may_be_nan or right.type.may_be_nan


def _plainly(left: SqlValue, sign: str, right: SqlValue) -> str:
    joined = common_type((left.type, right.type))
    if joined is None or joined.kind == "null":
        return f"{left.text} {sign} {right.text}"
    one, other = (
        default(joined)
        if side.type.kind == "null"
        else side.at_scale(joined.scale)
        if joined.kind == "exact"
        else side.real
        for side in (left, right)
    )
    return f"{one} {sign} {other}"
