"""Values on the command line: numbers, truths, words, quoted texts and lists of them.

    3   -0.5   1e-5   inf   true   linear   "two words"   [1, 2]   [[1, 2], [3, 4]]

A small reader of its own: nothing is ever executed.  A decimal is taken as the number it is
written as, so 0.1 is one tenth.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeAlias

import click

Literal: TypeAlias = "int | Fraction | float | bool | str | tuple[Literal, ...]"

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![A-Za-z0-9_.]))
    |(?P<special>[+-]?(?:[Ii]nf|[Nn]a[Nn])(?![A-Za-z0-9_]))
    |(?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>[\[\],]))""",
    re.VERBOSE,
)
_MOST_CHARACTERS = 1_000_000
_MOST_DIGITS = 1_000
_DEEPEST = 32


def read_literal(text: str) -> Literal:
    """Read one value; ``click.UsageError`` says what is wrong.

    >>> read_literal("[1, [2.5, true]]"), read_literal("linear"), read_literal("'a b'")
    ((1, (Fraction(5, 2), True)), 'linear', 'a b')
    """
    if len(text) > _MOST_CHARACTERS:
        raise click.UsageError(f"a value is longer than {_MOST_CHARACTERS:,} characters")
    tokens = _tokens(text)
    value, rest = _value(tokens, text)
    if rest:
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


def _wrong(text: str) -> click.UsageError:
    shown = text if len(text) <= 60 else text[:59] + "…"
    return click.UsageError(f"cannot read the value {shown!r}: numbers, words, 'texts' and [lists] are known")


def _value(tokens: list[tuple[str, str]], text: str) -> tuple[Literal, list[tuple[str, str]]]:
    """Read from the end of ``tokens``, which are in reverse; lists are kept open on a stack."""
    open_lists: list[list[Literal]] = []
    expected = True  # whether a value comes next, rather than a comma or a bracket
    while tokens:
        kind, token = tokens.pop()
        if token == "[" and kind == "sign" and expected and len(open_lists) < _DEEPEST:
            open_lists.append([])
            continue
        if kind == "sign" and token == "]" and open_lists and (not expected or not open_lists[-1]):
            done: Literal = tuple(open_lists.pop())
        elif kind == "sign" and token == "," and open_lists and not expected:
            expected = True
            continue
        elif kind != "sign" and expected:
            done = _scalar(kind, token)
        else:
            raise _wrong(text)
        if not open_lists:
            return done, tokens
        open_lists[-1].append(done)
        expected = False
    raise _wrong(text)


def _scalar(kind: str, token: str) -> Literal:
    match kind:
        case "number":
            return _number(token)
        case "special":
            return float(token)
        case "quoted":
            return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
        case _:
            return {"true": True, "false": False}.get(token, token)


def _number(token: str) -> int | Fraction:
    if len(token) > _MOST_DIGITS:
        raise click.UsageError(f"a number has more than {_MOST_DIGITS:,} digits")
    if re.fullmatch(r"[+-]?[0-9]+", token):
        return int(token)
    return Fraction(token)
