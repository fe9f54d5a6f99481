"""What the symbols of two entries mean together: one table of symbols, and what is known of them.

Old and new entries name lengths on their own: names are only names.  A length of an old entry is the
one that stands at its place now (``result.lengths``).  A length that stands nowhere any more is one of its
own.  Attributes go by their names, as they are given by them, and what data decides is the same
only in the same program.  A comparison is then about the shapes that both entries admit.
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
    """What has to hold for inputs to be the same; second what binds lengths, third whether it never holds."""
    gaps = [_gap(one.old, one.new, table) for one in (*found.telling, *found.open)]
    bound = [_gap(one.old, one.new, table) for _, one in found.binding]
    equal, binding = ([eq(gap) for gap in side if gap.free] for side in (gaps, bound))
    return equal, binding, any(not gap.free and gap != 0 for gap in (*gaps, *bound))  # no number is another


def _gap(old: Poly, new: Poly, table: SymbolTable) -> Poly:
    return renamed(old, table) - new


def _tied(pairs: Sequence[InputPair]) -> set[str]:
    """The old names that stand in a form, which is a length of today."""
    return {symbol.name for pair in pairs for form, _ in shared_axes(*pair) for symbol in form.free}


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
    return {symbol.name for form in _extents(entry) if (symbol := only_symbol(form)) is not None}


def alone(entry: LockEntry) -> Joint:
    """How to read the forms of one entry; its bounds are among the facts, for who gives a length."""
    names = symbol_table(entry)
    table = {name: names.get(name, length(name)) for name in sorted(_mentioned(entry) | names.keys())}
    facts = (*_conditions(entry, names), *_old_bounds(entry, table))
    return Joint(names, table, facts)


def renamed(form: Poly, table: Mapping[str, Poly]) -> Poly:
    """An expression of an analysis in the symbols of a table, by their names."""
    return substitute(form, {s: table.get(s.name, length(s.name)) for s in form.free})


# ---- one entry ---------------------------------------------------------------------------------


def symbol_table(entry: LockEntry) -> SymbolTable:
    """The symbols that an entry gives bounds to; every other name is an ordinary length."""
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
    """Return the inputs of an entry by their shapes, in these symbols."""
    return tuple(_shaped(one, names) for one in entry.domain.inputs)


def _shaped(one: LockedInput, names: SymbolTable) -> ShapedInput:
    shapes = (tuple(parse_text(text, names) for text in part.shape) for part in one.parts)
    return ShapedInput(one.name, tuple(shapes))


def _extents(entry: LockEntry) -> Iterator[Poly]:
    """Give all that stands in the shapes of inputs."""
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
    """Give a meaning to the names of the old entry that stand at no place of today; say which.

    Those that are ``tied`` stand in a form, which is a length of today.
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
    """The bounds of an ordinary length."""
    return SymbolBounds(name, "length", "1", str(LARGEST_LENGTH))


def _lengths(entry: LockEntry) -> set[str]:
    """The names that stand in the shapes of inputs."""
    return {symbol.name for form in _extents(entry) for symbol in form.free}


def _mentioned(entry: LockEntry) -> set[str]:
    """Every name of an entry."""
    ends = [text for bounds in entry.domain.bounds for text in (bounds.low, bounds.high) if text is not None]
    forms = [figure.form for _, figure in entry.figures if figure.form != UNKNOWN]
    sides = [text for demand in entry.domain.where for one in demand for text in (one.left, one.right)]
    found = {symbol.name for text in (*ends, *forms, *sides) for symbol in parse_text(text).free}
    return found | _lengths(entry)


def _data_names(entry: LockEntry) -> set[str]:
    return {bounds.name for bounds in entry.domain.bounds if bounds.kind == "data"}


def _old_bounds(old: LockEntry, table: SymbolTable) -> Iterator[Cond]:
    """What the old entry says of the range of a symbol, where the new one may say something else."""
    own = {bounds.name: bounds for bounds in old.domain.bounds}
    usual = sorted(table.keys() - own.keys())
    for bounds in (*own.values(), *map(_usual, usual)):
        value = table[bounds.name]
        if bounds.low is not None:
            yield ge(value - parse_text(bounds.low, table))
        if bounds.high is not None:
            yield ge(parse_text(bounds.high, table) - value)
