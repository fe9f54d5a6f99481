"""What the symbols of two entries mean together: one table of symbols, and what is known of them.

Old and new entries name lengths on their own: names are only names.  A length of an old entry is the
one that stands at its place now, the same axis of the same input; where shapes say more than a name,
both say the same length, which becomes a fact.  A length that stands nowhere any more is one of its
own.  Attributes go by their names, as they are given by them, and what data decides is the same
only in the same program.  A comparison is then about the shapes that both entries admit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    Cond,
    Poly,
    Symbol,
    Truth,
    data_symbol,
    disj,
    eq,
    ge,
    length,
    negate,
    only_symbol,
    prove,
    substitute,
    symbols_of_cond,
    the_symbol,
    to_words,
)
from tolcost.algebra.parse import parse_text
from tolcost.check.records import UNKNOWN, LockEntry
from tolcost.diagnostics import quoted, refuse

_PIECE = re.compile(r"`(?:[^`\\]|\\.)*`| or |.", re.DOTALL)
_INPUT = re.compile(r"(`(?:[^`\\]|\\.)*`|[^\s`\[\];]+) (.*)", re.DOTALL)
_PART = re.compile(r"[^\s`\[\];]+\[(.*)\]", re.DOTALL)
_BOUND = re.compile(r"(`(?:[^`\\]|\\.)*`|[A-Za-z_]\w*) (in|from) (.*?)\.\.(.*)", re.DOTALL)
_COMPARISON = re.compile(r" (>=|<=|==|!=) ")
_PLAIN = re.compile(r"[A-Za-z_]\w*|`(?:[^`\\]|\\.)*`")

SymbolTable: TypeAlias = dict[str, Poly]
InputShapes: TypeAlias = dict[str, tuple[tuple[str, ...], ...]]


class Joint(Struct, frozen=True):
    """How to read the forms of two entries side by side; ``empty`` where no shape fits both.

    ``differs`` where the entries admit different shapes, so that facts may contradict each other;
    ``binding`` says of lengths that were free what they would have to be for inputs to be the same;
    ``resized`` where numbers in shapes are others now, which no fact says;
    ``apart`` are numbers that data decided before, in ways that need not go with those of now.

    ``known`` is what the old entry alone says, in the symbols of the new one; ``fixed`` are lengths that are
    others now, in words, and ``asked`` the conditions of the new one on lengths of inputs, with their texts.
    """

    old: SymbolTable
    new: SymbolTable
    facts: tuple[Cond, ...]
    notes: tuple[str, ...] = ()
    empty: bool = False
    differs: bool = False
    binding: tuple[Cond, ...] = ()
    resized: bool = False
    apart: frozenset[Symbol] = frozenset()
    known: tuple[Cond, ...] = ()
    fixed: tuple[str, ...] = ()
    asked: tuple[tuple[str, Cond], ...] = ()


def joints(old: LockEntry, new: LockEntry) -> tuple[Joint, ...]:
    """The ways to bring the symbols of two entries together: two where inputs changed places.

    An input is the one at its place.  Where that contradicts the names of inputs, nothing says which
    is meant, and what is concluded has to hold both ways.
    """
    return tuple(_joint(old, new, pairs) for pairs in _ways(old, new))


def _ways(old: LockEntry, new: LockEntry) -> list[list[tuple[str, str]]]:
    was, now = shapes(old), shapes(new)
    by_place = list(zip(was, now, strict=False))
    same = [name for name in was if name in now]
    others = zip((n for n in was if n not in now), (n for n in now if n not in was), strict=False)
    by_name = [*zip(same, same, strict=True), *others]
    return [by_place] if sorted(by_place) == sorted(by_name) else [by_place, by_name]


def _joint(old: LockEntry, new: LockEntry, pairs: Sequence[tuple[str, str]]) -> Joint:
    names = symbol_table(new)
    conditions = _conditions(new, names)
    is_same_program = bool(new.source) and old.source == new.source
    in_place = (old.inputs, old.where) == (new.inputs, new.where) and all(a == b for a, b in pairs)
    if in_place and (is_same_program or not _data_names(old)):
        return Joint(names, names, conditions)
    table, gaps, binding, notes = _matched(old, new, names, pairs, is_same_program)
    resized = [gap for gap in gaps if not gap.free]  # no number is another one
    equal = [eq(gap) for gap in gaps if gap.free]
    known = tuple(dict.fromkeys((*equal, *_old_bounds(old, table), *_conditions(old, table))))
    facts = dict.fromkeys((*conditions, *known))
    decided = {the_symbol(table[name]) for name in ([] if is_same_program else _data_names(old))}
    stands = _lengths(new) | {name for name in names if name not in _data_names(new)}
    asked = zip(_demands(new), conditions, strict=True)
    return Joint(
        table,
        names,
        tuple(fact for fact in facts if not isinstance(fact, Truth)),
        notes,
        FALSE in facts,
        True,
        binding,
        bool(resized),
        frozenset(decided),
        known,
        tuple(_fixed(old, table)),
        tuple(one for one in asked if {s.name for s in symbols_of_cond(one[1])} <= stands),
    )


def _fixed(old: LockEntry, table: SymbolTable) -> Iterator[str]:
    """Lengths of inputs that were free, and are now others or have a form."""
    first: dict[Poly, str] = {}
    for name in sorted(_free_lengths(old)):
        value = table[name]
        if value in first:
            yield f"the lengths {quoted(first[value])} and {quoted(name)} are one now"
        elif only_symbol(value) is None:
            yield f"the length {quoted(name)} is now {quoted(to_words(value))}"
        first.setdefault(value, name)


def _free_lengths(entry: LockEntry) -> set[str]:
    """The names that stand for a whole length of an input."""
    texts = (text for parts in shapes(entry).values() for part in parts for text in part)
    return {_name(text) for text in texts if _PLAIN.fullmatch(text)}


def alone(entry: LockEntry) -> Joint:
    """How to read the forms of one entry; its bounds are among the facts, for who gives a length."""
    names = symbol_table(entry)
    table = {name: names.get(name, length(name)) for name in sorted(_mentioned(entry) | names.keys())}
    facts = (*_conditions(entry, names), *_old_bounds(entry, table))
    return Joint(names, table, facts)


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
        table[bound.name] = _symbol(bound, table)
    return table


class _Bound(Struct, frozen=True):
    """The range of a symbol as written; an end that is not given is empty."""

    name: str
    is_data: bool
    low: str
    high: str


def _symbol(bound: _Bound, table: SymbolTable) -> Poly:
    low, high = (parse_text(text, table) if text else None for text in (bound.low, bound.high))
    if bound.is_data or low is None:
        return data_symbol(bound.name, low, high)
    return length(bound.name, low, high)


def _bounds(entry: LockEntry) -> Iterator[_Bound]:
    for item in _split(entry.where, ";"):
        match = _BOUND.fullmatch(item)
        if match is not None:
            yield _Bound(_name(match[1]), match[2] == "from", match[3], match[4])


def _conditions(entry: LockEntry, table: SymbolTable) -> tuple[Cond, ...]:
    return tuple(
        disj(*(_comparison(text, table) for text in _split(item, " or "))) for item in _demands(entry)
    )


def _demands(entry: LockEntry) -> list[str]:
    """What an entry asks of lengths: comparisons, and choices between some."""
    return [item for item in _split(entry.where, ";") if not _BOUND.fullmatch(item)]


def _comparison(item: str, table: SymbolTable) -> Cond:
    parts = _COMPARISON.split(item)
    if len(parts) != 3:
        refuse("T0706", f"{quoted(item)} is neither a bound nor a comparison")
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
            refuse("T0706", f"{quoted(item)} is not an input with its shape")
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
    old: LockEntry,
    new: LockEntry,
    names: SymbolTable,
    pairs: Sequence[tuple[str, str]],
    is_same_program: bool,
) -> tuple[SymbolTable, list[Poly], tuple[Cond, ...], tuple[str, ...]]:
    """What the names of the old entry are in the new one; what has to be 0 for lengths to be equal; remarks.

    Third are those of the equalities that bind lengths which others tell already.
    """
    was, now = shapes(old), shapes(new)
    parts = [part for a, b in pairs for part in zip(was[a], now[b], strict=False)]
    axes = [axis for a, b in parts if len(a) == len(b) for axis in zip(a, b, strict=True)]
    fitting = [(text, parse_text(value, names)) for text, value in axes]
    table: SymbolTable = {}
    gaps: list[Poly] = []
    for text, value in fitting:
        if _PLAIN.fullmatch(text):
            first = table.setdefault(_name(text), value)
            gaps += [first - value] if first != value else []
    renamed_ = [(name, to_words(value)) for name, value in table.items() if name != to_words(value)]
    told = {symbol for value in table.values() for symbol in value.free}
    notes = [f"the length {quoted(a)} is now {quoted(b)}" for a, b in renamed_]
    tied = {symbol.name for text, _ in fitting for symbol in parse_text(text).free}
    notes += _own_symbols(old, new, table, names, tied, is_same_program)
    forms = [(text, value) for text, value in fitting if not _PLAIN.fullmatch(text)]
    gaps += [gap for text, value in forms if (gap := parse_text(text, table) - value) != 0]
    if not len(axes) == _axis_count(was) == _axis_count(now):
        notes.append(f"the inputs changed: {old.inputs or 'none'} became {new.inputs or 'none'}")
    return table, gaps, tuple(_binding([eq(gap) for gap in gaps], told)), tuple(notes)


def _binding(equal: Sequence[Cond], told: set[Symbol]) -> Iterator[Cond]:
    """Of equalities, each of which may tell one length more, those that tell none and do not follow."""
    known: tuple[Cond, ...] = ()
    for one in equal:
        more = symbols_of_cond(one) - told
        if more:
            known = (*known, one)
            told |= more
        elif not isinstance(one, Truth) and prove(one, known) is not True:
            yield one


def _axis_count(inputs: InputShapes) -> int:
    return sum(len(part) for parts in inputs.values() for part in parts)


def _own_symbols(
    old: LockEntry,
    new: LockEntry,
    table: SymbolTable,
    names: SymbolTable,
    tied: set[str],
    is_same_program: bool,
) -> list[str]:
    """Give a meaning to the names of the old entry that stand at no place of today; say which.

    Those that are ``tied`` stand in a form, which is a length of today.
    """
    bounds = {bound.name: bound for bound in _bounds(old)}
    attributes = _mentioned(new) - _lengths(new) - (set() if is_same_program else _data_names(new))
    apart = []
    for name in (*bounds, *sorted(_mentioned(old) - bounds.keys())):
        if name in table:
            continue
        if name in attributes and name not in _lengths(old):
            table[name] = names.get(name, length(name))
            continue
        apart.append(name)
        bound = bounds.get(name, _Bound(name, False, "1", str(LARGEST_LENGTH)))
        table[name] = _symbol(replace(bound, name=f"{name} before"), table)
    lost = [name for name in apart if name in _lengths(old) - tied]
    return [f"{quoted(name)} of before stands nowhere now" for name in lost] + [
        f"what data decides, {quoted(name)}, need not be what it was"
        for name in apart
        if name in bounds and bounds[name].is_data
    ]


def _lengths(entry: LockEntry) -> set[str]:
    """The names that stand in the shapes of inputs."""
    texts = (text for parts in shapes(entry).values() for part in parts for text in part)
    return {symbol.name for text in texts for symbol in parse_text(text).free}


def _mentioned(entry: LockEntry) -> set[str]:
    """Every name of an entry."""
    bounds = [text for bound in _bounds(entry) for text in (bound.low, bound.high) if text]
    forms = [figure.form for _, figure in entry.figures if figure.form != UNKNOWN]
    compared = [one for item in _demands(entry) for one in _split(item, " or ")]
    sides = [text for one in compared for text in _COMPARISON.split(one)[::2]]
    found = {symbol.name for text in (*bounds, *forms, *sides) for symbol in parse_text(text).free}
    return found | _lengths(entry)


def _data_names(entry: LockEntry) -> set[str]:
    return {bound.name for bound in _bounds(entry) if bound.is_data}


def _old_bounds(old: LockEntry, table: SymbolTable) -> Iterator[Cond]:
    """What the old entry says of the range of a symbol, where the new one may say something else."""
    own = {bound.name: bound for bound in _bounds(old)}
    usual = sorted(table.keys() - own.keys())
    for bound in (*own.values(), *(_Bound(name, False, "1", str(LARGEST_LENGTH)) for name in usual)):
        value = table[bound.name]
        if bound.low:
            yield ge(value - parse_text(bound.low, table))
        if bound.high:
            yield ge(parse_text(bound.high, table) - value)
