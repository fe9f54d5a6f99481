"""Match the symbols of an old and a new entry: one table of symbols for both, and the facts about them.

Each entry chooses its own names for lengths, so names prove nothing.  A length of an old entry corresponds
to the length at the same axis of the same input now (``result.lengths``).  A length that no longer appears in
any input becomes an independent symbol.  Attributes correspond by name, because users set them by name.
Data-dependent numbers correspond only if both entries have the same source.  A comparison then covers the
shapes that both entries admit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    substitute,
    symbols_of_cond,
    the_symbol,
    to_words,
)
from tolcost.algebra.parse import parse_text
from tolcost.check.records import (
    UNKNOWN,
    Comparison,
    Demand,
    LockedInput,
    LockEntry,
    SymbolBounds,
    demand_text,
)
from tolcost.diagnostics import quoted
from tolcost.result.lengths import (
    InputPair,
    MatchedLengths,
    ShapedInput,
    match_lengths,
    pairs_by_name,
    pairs_by_place,
    shared_axes,
)

SymbolTable: TypeAlias = dict[str, Poly]


class Joint(Struct, frozen=True):
    """The symbols of two entries in common terms: a table for each, and the facts that hold for both.

    ``empty`` is set if no shape fits both entries.  ``differs`` is set if their domains may differ, so that
    facts may contradict each other.  ``binding`` are equations that restrict lengths which the old entry left
    free.  ``resized`` is set if a number in a shape changed, which no fact can express.  ``apart`` are
    data-dependent numbers of the old entry, which need not have the values of the current ones.

    ``known`` are the facts of the old entry alone, in the symbols of the new one.  ``fixed`` describes
    lengths that were free and no longer are, and ``asked`` lists the conditions of the new entry on lengths
    of inputs, with their texts.
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
    """Return the ways to match the symbols of two entries: one, or two if inputs may have changed places.

    Inputs are paired by place.  If the names of inputs suggest another pairing, either may be meant, and a
    conclusion has to hold for both.
    """
    names = symbol_table(new)
    was, now = shaped_inputs(old, {}), shaped_inputs(new, names)
    by_place, by_name = pairs_by_place(was, now), pairs_by_name(was, now)
    ways = (by_place,) if _names(by_place) == _names(by_name) else (by_place, by_name)
    return tuple(_joint(old, new, names, pairs) for pairs in ways)


def _names(pairs: Sequence[InputPair]) -> list[tuple[str, str]]:
    return sorted((old.name, new.name) for old, new in pairs)


def _joint(old: LockEntry, new: LockEntry, names: SymbolTable, pairs: Sequence[InputPair]) -> Joint:
    conditions = _conditions(new, names)
    is_same_program = bool(new.source) and old.source == new.source
    in_place = old.domain == new.domain and all(a.name == b.name for a, b in pairs)
    if in_place and (is_same_program or not _data_names(old)):
        return Joint(names, names, conditions)
    found = match_lengths(pairs)
    table = {symbol.name: form for symbol, form in found.symbols.items()}
    notes = [
        f"the length {quoted(name)} is now {quoted(to_words(form))}"
        for name, form in table.items()
        if name != to_words(form)
    ]
    notes += _own_symbols(old, new, table, names, _tied(pairs), is_same_program)
    axes = sum(1 for pair in pairs for _ in shared_axes(*pair))
    if not axes == _axis_count(old) == _axis_count(new):
        notes.append(f"the inputs changed: {old.domain.inputs_text} became {new.domain.inputs_text}")
    equal, binding, resized = _equalities(found, table)
    known = tuple(dict.fromkeys((*equal, *binding, *_old_bounds(old, table), *_conditions(old, table))))
    facts = dict.fromkeys((*conditions, *known))
    decided = {the_symbol(table[name]) for name in ([] if is_same_program else _data_names(old))}
    stands = _lengths(new) | {name for name in names if name not in _data_names(new)}
    asked = zip(map(demand_text, new.domain.where), conditions, strict=True)
    return Joint(
        table,
        names,
        tuple(fact for fact in facts if not isinstance(fact, Truth)),
        tuple(notes),
        FALSE in facts,
        True,
        tuple(one for one in binding if not isinstance(one, Truth)),
        resized,
        frozenset(decided),
        known,
        tuple(_fixed(old, table)),
        tuple(one for one in asked if {s.name for s in symbols_of_cond(one[1])} <= stands),
    )


def _equalities(found: MatchedLengths, table: SymbolTable) -> tuple[list[Cond], list[Cond], bool]:
    """Return the equations that make the inputs equal, those that restrict free lengths, and ``resized``."""
    gaps = [_gap(one.old, one.new, table) for one in (*found.telling, *found.open)]
    bound = [_gap(one.old, one.new, table) for _, one in found.binding]
    equal, binding = ([eq(gap) for gap in side if gap.free] for side in (gaps, bound))
    return equal, binding, any(not gap.free and gap != 0 for gap in (*gaps, *bound))  # numbers differ


def _gap(old: Poly, new: Poly, table: SymbolTable) -> Poly:
    return renamed(old, table) - new


def _tied(pairs: Sequence[InputPair]) -> set[str]:
    """Return the old names in the forms of shared axes, which equations relate to current lengths."""
    return {symbol.name for pair in pairs for form, _ in shared_axes(*pair) for symbol in form.free}


def _fixed(old: LockEntry, table: SymbolTable) -> Iterator[str]:
    """Describe lengths of inputs that were free, and are now equal to each other or given by a form."""
    first: dict[Poly, str] = {}
    for name in sorted(_free_lengths(old)):
        value = table[name]
        if value in first:
            yield f"the lengths {quoted(first[value])} and {quoted(name)} are one now"
        elif only_symbol(value) is None:
            yield f"the length {quoted(name)} is now {quoted(to_words(value))}"
        first.setdefault(value, name)


def _free_lengths(entry: LockEntry) -> set[str]:
    """Return the names that are a length of an input by themselves."""
    return {symbol.name for form in _extents(entry) if (symbol := only_symbol(form)) is not None}


def alone(entry: LockEntry) -> Joint:
    """Return the symbols and facts of one entry.

    Its bounds are among the facts, because a budget may put a number in place of a symbol.
    """
    names = symbol_table(entry)
    table = {name: names.get(name, length(name)) for name in sorted(_mentioned(entry) | names.keys())}
    facts = (*_conditions(entry, names), *_old_bounds(entry, table))
    return Joint(names, table, facts)


def renamed(form: Poly, table: Mapping[str, Poly]) -> Poly:
    """Replace the symbols of an expression by those of the same names in a table."""
    return substitute(form, {s: table.get(s.name, length(s.name)) for s in form.free})


# ---- one entry ---------------------------------------------------------------------------------


def symbol_table(entry: LockEntry) -> SymbolTable:
    """Return the symbols for which an entry records bounds; every other name is an ordinary length."""
    table: SymbolTable = {}
    for bounds in entry.domain.bounds:
        table[bounds.name] = _symbol(bounds, table)
    return table


def _symbol(bounds: SymbolBounds, table: SymbolTable) -> Poly:
    low, high = (None if text is None else parse_text(text, table) for text in (bounds.low, bounds.high))
    if bounds.kind == "data" or low is None:
        return data_symbol(bounds.name, low, high)
    return length(bounds.name, low, high)


def _conditions(entry: LockEntry, table: SymbolTable) -> tuple[Cond, ...]:
    return tuple(_condition(demand, table) for demand in entry.domain.where)


def _condition(demand: Demand, table: SymbolTable) -> Cond:
    return disj(*(_comparison(one, table) for one in demand))


def _comparison(found: Comparison, table: SymbolTable) -> Cond:
    left, right = parse_text(found.left, table), parse_text(found.right, table)
    match found.sign:
        case ">=":
            return ge(left - right)
        case "<=":
            return ge(right - left)
        case "==":
            return eq(left - right)
        case "!=":
            return negate(eq(left - right))


def shaped_inputs(entry: LockEntry, names: SymbolTable) -> tuple[ShapedInput, ...]:
    """Return the inputs of an entry with their shapes, in the given symbols."""
    return tuple(_shaped(one, names) for one in entry.domain.inputs)


def _shaped(one: LockedInput, names: SymbolTable) -> ShapedInput:
    shapes = (tuple(parse_text(text, names) for text in part.shape) for part in one.parts)
    return ShapedInput(one.name, tuple(shapes))


def _extents(entry: LockEntry) -> Iterator[Poly]:
    """Give every length in the shapes of an entry's inputs."""
    yield from (form for one in shaped_inputs(entry, {}) for shape in one.shapes for form in shape)


def _axis_count(entry: LockEntry) -> int:
    return sum(1 for _ in _extents(entry))


def _own_symbols(
    old: LockEntry,
    new: LockEntry,
    table: SymbolTable,
    names: SymbolTable,
    tied: set[str],
    is_same_program: bool,
) -> list[str]:
    """Add the old names that match no current length to the table, and describe the independent symbols.

    A name that is ``tied`` is not described as lost: it appears in a form that equals a current length.
    """
    bounds = {one.name: one for one in old.domain.bounds}
    attributes = _mentioned(new) - _lengths(new) - (set() if is_same_program else _data_names(new))
    apart = []
    for name in (*bounds, *sorted(_mentioned(old) - bounds.keys())):
        if name in table:
            continue
        if name in attributes and name not in _lengths(old):
            table[name] = names.get(name, length(name))
            continue
        apart.append(name)
        found = bounds.get(name, _usual(name))
        table[name] = _symbol(replace(found, name=f"{name} before"), table)
    lost = [name for name in apart if name in _lengths(old) - tied]
    return [f"{quoted(name)} of before stands nowhere now" for name in lost] + [
        f"what data decides, {quoted(name)}, need not be what it was"
        for name in apart
        if name in bounds and bounds[name].kind == "data"
    ]


def _usual(name: str) -> SymbolBounds:
    """Return the bounds of an ordinary length."""
    return SymbolBounds(name, "length", "1", str(LARGEST_LENGTH))


def _lengths(entry: LockEntry) -> set[str]:
    """Return the names in the shapes of inputs."""
    return {symbol.name for form in _extents(entry) for symbol in form.free}


def _mentioned(entry: LockEntry) -> set[str]:
    """Return every name in an entry."""
    ends = [text for bounds in entry.domain.bounds for text in (bounds.low, bounds.high) if text is not None]
    forms = [figure.form for _, figure in entry.figures if figure.form != UNKNOWN]
    sides = [text for demand in entry.domain.where for one in demand for text in (one.left, one.right)]
    found = {symbol.name for text in (*ends, *forms, *sides) for symbol in parse_text(text).free}
    return found | _lengths(entry)


def _data_names(entry: LockEntry) -> set[str]:
    return {bounds.name for bounds in entry.domain.bounds if bounds.kind == "data"}


def _old_bounds(old: LockEntry, table: SymbolTable) -> Iterator[Cond]:
    """Give the old entry's bounds of its symbols as conditions, since the new entry may have other bounds."""
    own = {bounds.name: bounds for bounds in old.domain.bounds}
    usual = sorted(table.keys() - own.keys())
    for bounds in (*own.values(), *map(_usual, usual)):
        value = table[bounds.name]
        if bounds.low is not None:
            yield ge(value - parse_text(bounds.low, table))
        if bounds.high is not None:
            yield ge(parse_text(bounds.high, table) - value)
