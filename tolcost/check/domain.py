"""What the symbols of two entries mean together: one table of symbols, and what is known of them.

Old and new entries name lengths on their own.  A length that only changed its name is found by
its place in the shape of an input; where shapes say more than a name, both say the same length,
which becomes a fact.  A comparison is then about the shapes that both entries admit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    Cond,
    Poly,
    Truth,
    data_symbol,
    eq,
    ge,
    length,
    negate,
    parse_text,
    substitute,
    the_symbol,
)
from tolcost.check.records import LockEntry
from tolcost.diagnostics import Diagnostic, Rejected, quoted

_PIECE = re.compile(r"`(?:[^`\\]|\\.)*`|.", re.DOTALL)
_INPUT = re.compile(r"(`(?:[^`\\]|\\.)*`|[^\s`\[\];]+) (.*)", re.DOTALL)
_PART = re.compile(r"[^\s`\[\];]+\[(.*)\]", re.DOTALL)
_BOUND = re.compile(r"(`(?:[^`\\]|\\.)*`|[A-Za-z_]\w*) (in|from) (.*?)\.\.(.*)", re.DOTALL)
_COMPARISON = re.compile(r" (>=|<=|==|!=) ")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLAIN = re.compile(r"[A-Za-z_]\w*|`(?:[^`\\]|\\.)*`")

SymbolTable: TypeAlias = dict[str, Poly]
InputShapes: TypeAlias = dict[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class Joint:
    """How to read the forms of two entries side by side; ``empty`` where no shape fits both.

    ``differs`` where the entries admit different shapes, so that facts may contradict each other.
    """

    old: SymbolTable
    new: SymbolTable
    facts: tuple[Cond, ...]
    notes: tuple[str, ...] = ()
    empty: bool = False
    differs: bool = False


def joint(old: LockEntry, new: LockEntry) -> Joint:
    """Bring the symbols of two entries together."""
    names = symbol_table(new)
    conditions = _conditions(new, names)
    if (old.inputs, old.where) == (new.inputs, new.where):
        return Joint(names, names, conditions)
    table, equal, notes = _matched(old, new, names)
    facts = (*conditions, *equal, *_old_bounds(old, table), *_conditions(old, table))
    kept = tuple(dict.fromkeys(fact for fact in facts if not isinstance(fact, Truth)))
    return Joint(table, names, kept, notes, FALSE in facts, differs=True)


def alone(entry: LockEntry) -> Joint:
    """How to read the forms of one entry."""
    names = symbol_table(entry)
    return Joint(names, names, _conditions(entry, names))


def renamed(form: Poly, table: SymbolTable) -> Poly:
    """An expression of an analysis in the symbols of a table, by their names."""
    return substitute(form, {s: table.get(s.name, length(s.name)) for s in form.free})


# ---- one entry ---------------------------------------------------------------------------------


def symbol_table(entry: LockEntry) -> SymbolTable:
    """The symbols that an entry gives bounds to; every other name is an ordinary length.

    >>> str(the_symbol(symbol_table(LockEntry("e", where="p in 0..9"))["p"]).hi)
    '9'
    """
    table: SymbolTable = {}
    for bound in _bounds(entry):
        low, high = (parse_text(text, table) if text else None for text in (bound.low, bound.high))
        if bound.is_data or low is None:
            table[bound.name] = data_symbol(bound.name, low, high)
        else:
            table[bound.name] = length(bound.name, low, high)
    return table


@dataclass(frozen=True, slots=True)
class _Bound:
    """The range of a symbol as written; an end that is not given is empty."""

    name: str
    is_data: bool
    low: str
    high: str


def _bounds(entry: LockEntry) -> Iterator[_Bound]:
    for item in _split(entry.where, ";"):
        match = _BOUND.fullmatch(item)
        if match is not None:
            yield _Bound(_name(match[1]), match[2] == "from", match[3], match[4])


def _conditions(entry: LockEntry, table: SymbolTable) -> tuple[Cond, ...]:
    items = (item for item in _split(entry.where, ";") if not _BOUND.fullmatch(item))
    return tuple(_condition(item, table) for item in items)


def _condition(item: str, table: SymbolTable) -> Cond:
    parts = _COMPARISON.split(item)
    if len(parts) != 3:
        raise Rejected(Diagnostic("T0706", f"{quoted(item)} is neither a bound nor a comparison"))
    left, right = parse_text(parts[0], table), parse_text(parts[2], table)
    match parts[1]:
        case ">=":
            return ge(left - right)
        case "<=":
            return ge(right - left)
        case "==":
            return eq(left - right)
        case _:
            return negate(eq(left - right))


def shapes(entry: LockEntry) -> InputShapes:
    """The shapes of the inputs of an entry, as texts; an input may have several components."""
    found: InputShapes = {}
    for item in _split(entry.inputs, ";"):
        match = _INPUT.fullmatch(item)
        parts = [_PART.fullmatch(part) for part in _split(match[2], "&")] if match else []
        if match is None or None in parts:
            raise Rejected(Diagnostic("T0706", f"{quoted(item)} is not an input with its shape"))
        found[_name(match[1])] = tuple(tuple(_split(part[1], ",")) for part in parts if part)
    return found


def _name(text: str) -> str:
    """The name that a word or a quoted text stands for."""
    return the_symbol(parse_text(text)).name if text.startswith("`") else text


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign that stands neither in quotes nor in brackets."""
    pieces, depth = [""], 0
    for piece in _PIECE.findall(text):
        depth += (piece in "([") - (piece in ")]") if len(piece) == 1 else 0
        if piece == sign and not depth:
            pieces.append("")
        else:
            pieces[-1] += piece
    return [piece.strip() for piece in pieces if piece.strip()]


# ---- two entries -------------------------------------------------------------------------------


def _matched(
    old: LockEntry, new: LockEntry, names: SymbolTable
) -> tuple[SymbolTable, list[Cond], tuple[str, ...]]:
    """What the names of the old entry are in the new one; lengths that have to be equal; remarks."""
    was, now = shapes(old), shapes(new)
    pairs = list(_paired(was, now))
    fitting = [
        (x, parse_text(y, names)) for before, after in pairs for x, y in zip(before, after, strict=True)
    ]
    given: SymbolTable = {}
    equal: list[Cond] = []
    for text, value in fitting:
        if _PLAIN.fullmatch(text):
            first = given.setdefault(_name(text), value)
            equal += [eq(first - value)] if first != value else []
    table = {**symbol_table(old), **names, **given}
    equal += [eq(parse_text(text, table) - value) for text, value in fitting if not _PLAIN.fullmatch(text)]
    return table, equal, _remarks(old, new, len(pairs) == _parts(was) == _parts(now), given)


def _parts(inputs: InputShapes) -> int:
    return sum(map(len, inputs.values()))


def _paired(was: InputShapes, now: InputShapes) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Components of inputs that belong together: by name, or by place where names changed; of equal rank."""
    same = [name for name in was if name in now]
    others = zip((n for n in was if n not in now), (n for n in now if n not in was), strict=False)
    for old_name, new_name in (*zip(same, same, strict=True), *others):
        for before, after in zip(was[old_name], now[new_name], strict=False):
            if len(before) == len(after):
                yield before, after


def _remarks(old: LockEntry, new: LockEntry, complete: bool, given: SymbolTable) -> tuple[str, ...]:
    renamed = [(name, str(value)) for name, value in given.items() if name != str(value)]
    notes = [f"the length {quoted(was)} is now {quoted(now)}" for was, now in renamed]
    if not complete:
        notes.append(f"the inputs changed: {old.inputs or 'none'} became {new.inputs or 'none'}")
    return tuple(notes)


def _old_bounds(old: LockEntry, table: SymbolTable) -> Iterator[Cond]:
    """What the old entry says of the range of a symbol, where the new one may say something else."""
    own = {bound.name: bound for bound in _bounds(old)}
    mentioned = " ".join((old.inputs, old.where, *(figure.form for _, figure in old.figures)))
    usual = (table.keys() - own.keys()) & set(_WORD.findall(mentioned))
    for bound in (*own.values(), *(_Bound(n, False, "1", str(LARGEST_LENGTH)) for n in sorted(usual))):
        value = table[bound.name]
        if bound.low:
            yield ge(value - parse_text(bound.low, table))
        if bound.high:
            yield ge(parse_text(bound.high, table) - value)
