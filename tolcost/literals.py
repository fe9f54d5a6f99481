"""Values as text: numbers, truth values, words, quoted texts, and lists of them, as ``--attr`` takes them.

One reader and one writer: whatever is written reads back as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias


class NoLiteralError(ValueError):
    """A text that is no value; the message says what is known."""


Literal: TypeAlias = "int | Fraction | float | bool | str | tuple[Literal, ...]"

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![A-Za-z0-9_.]))
    |(?P<special>[+-]?(?:[Ii]nf|[Nn]a[Nn])(?![A-Za-z0-9_]))
    |(?P<word>[A-Za-z_][A-Za-z0-9_.-]*(?:>=[0-9]{1,9})?)
    |(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>[\[\],]))""",
    re.VERBOSE,
)
_MEMORY = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([kMGT]i?)?B?")
_MOST_CHARACTERS = 1_000_000
_MOST_DIGITS = 1_000
_DEEPEST = 32


def read_memory(text: str) -> int:
    """Read an amount of memory, in bytes.

    >>> read_memory("80GB"), read_memory("1.5 GiB")
    (80000000000, 1610612736)
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise NoLiteralError("an amount of memory is such as 80GB or 24GiB")
    prefix = match[2] or ""
    base = 1024 if prefix.endswith("i") else 1000
    return int(Fraction(match[1]) * base ** (" kMGT".index(prefix[0]) if prefix else 0))


def read_literal(text: str) -> Literal:
    """Read one value; ``NoLiteralError`` says why a text is none.

    >>> read_literal("[1, [2.5, true]]"), read_literal("linear"), read_literal("'a b'")
    ((1, (Fraction(5, 2), True)), 'linear', 'a b')
    """
    if len(text) > _MOST_CHARACTERS:
        raise NoLiteralError(f"a value is longer than {_MOST_CHARACTERS:,} characters")
    tokens = _tokens(text)
    value = _literal_value(tokens, text, _DEEPEST)
    if tokens:
        raise _wrong(text)
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _wrong(text)
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens[::-1]


def _wrong(text: str) -> NoLiteralError:
    shown = text if len(text) <= 60 else text[:59] + "…"
    return NoLiteralError(f"cannot read the value {shown!r}: numbers, words, 'texts' and [lists] are known")


def _literal_value(tokens: list[tuple[str, str]], text: str, deep: int) -> Literal:
    """Read a value from the end of ``tokens``, which are in reverse; lists may be so many levels deep."""
    kind, token = tokens.pop() if tokens else ("sign", "")
    if kind != "sign":
        return _scalar(kind, token)
    if token != "[" or not deep:
        raise _wrong(text)
    entries: list[Literal] = []
    while tokens and tokens[-1] != ("sign", "]"):
        if entries and tokens.pop() != ("sign", ","):
            raise _wrong(text)
        entries.append(_literal_value(tokens, text, deep - 1))
    if not tokens:
        raise _wrong(text)
    tokens.pop()
    return tuple(entries)


def _scalar(kind: str, token: str) -> Literal:
    match kind:
        case "number":
            return _literal_number(token)
        case "special":
            return float(token)
        case "quoted":
            return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
        case _:
            return {"true": True, "false": False}.get(token, token)


def _literal_number(token: str) -> int | Fraction | float:
    if len(token) > _MOST_DIGITS:
        raise NoLiteralError(f"a number has more than {_MOST_DIGITS:,} digits")
    if re.fullmatch(r"[+-]?[0-9]+", token):
        return int(token)
    return Fraction(token) or (-0.0 if token.startswith("-") else Fraction(0))  # no fraction has that sign


# === Writing.


def literal_text(value: object) -> str:
    """Write a value so that it reads back: a word stands by itself, any other text in quotation marks.

    >>> literal_text((1, ("a", True))), literal_text(Fraction(1, 4)), literal_text("a b")
    ('[1,[a,true]]', '0.25', '"a b"')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return str(float(value)) if value.denominator > 1 else str(value.numerator)
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return value if _is_word(value) else '"{}"'.format(re.sub(r'(["\\])', r"\\\1", value))
    if isinstance(value, Sequence):
        return f"[{','.join(map(literal_text, value))}]"
    raise TypeError(f"{type(value).__name__} has no text")


def _is_word(text: str) -> bool:
    match = _TOKEN.fullmatch(text)
    return match is not None and match["word"] == text and text not in ("true", "false")
