"""The general forms of an operator: combinations of measures that equal its counts, and their conditions.

The search looks for a form of all instances together first, then of those that share a trait, and in the end
of those that share all traits.  A form is used for every pattern of traits for which it gives the count at
all points; of the forms found, the fewest that cover all patterns are shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, islice, product
from math import lcm
from random import Random

import numpy as np
from msgspec import Struct, field

from tolcost.algebra import AlgebraBudget, Poly, const, length, product_of, substitute, total_of
from tolcost.catalogue.general.instances import (
    FINE,
    OTHER,
    RANK,
    SINGLE,
    VALUE,
    CountedPlace,
    GeneralInstance,
    Sample,
)
from tolcost.catalogue.types import Array

# === Expressing a column of integers as a combination of others, at all known points.
#
# Columns are quantities, simple ones first.  The search tries combinations of one, two or three columns, in
# floating-point numbers; the caller checks the result in integers.


_PARTS = 60
"""The factors that are looked for are multiples of one part in so many: 60 has all divisors up to 6."""


Combination = dict[int, Fraction]


def shortest(
    columns: Sequence[Array], target: Array, accept: Callable[[Combination], bool] = bool
) -> Combination | None:
    """Return the combination of at most three columns, preferably fewer, that equals the target, if any.

    Of several, the first that is accepted.

    >>> columns = [np.array(column) for column in ([1, 1, 1, 1], [2, 3, 5, 7], [4, 9, 25, 49])]
    >>> {column: str(factor) for column, factor in shortest(columns, np.array([5, 10, 26, 50])).items()}
    {0: '1', 2: '1'}
    """
    table = np.column_stack(columns)
    order = np.random.default_rng(5).permutation(len(target))  # distant points tell more
    telling = order[np.argsort(target[order] == 0, kind="stable")]  # a factor needs a target that is not 0
    for terms, wide in _AMONG.items():
        places = telling if terms == 1 else order
        for start in range(min(_STARTS, len(target) - terms)):
            found = _exactly(table[places, :wide], target[places], terms, start, accept)
            if found is not None:
                return found
    return None


_AMONG = {1: 2000, 2: 240, 3: 32}
"""Columns among which combinations of one, two or three are searched; more take too long."""

_STARTS, _CHECKS = 4, 6


def _exactly(
    table: Array, wanted: Array, terms: int, start: int, accept: Callable[[Combination], bool]
) -> Combination | None:
    """Find a combination of exactly ``terms`` columns: solved at that many points, checked at the others."""
    chosen = np.array(list(combinations(range(table.shape[1]), terms)), np.int64).reshape(-1, terms)
    points = slice(start, start + terms)
    factors, chosen = _solved(table[points], wanted[points], chosen)
    for row in range(min(len(wanted), _CHECKS)):
        holds = _gives(table[row][chosen], factors, wanted[row])
        factors, chosen = factors[holds], chosen[holds]
    found = [
        {int(n): Fraction(int(factor), _PARTS) for n, factor in zip(which, some, strict=True) if factor}
        for some, which in zip(factors, chosen, strict=True)
        if _gives(table[:, which], some, wanted).all()
    ]
    whole = [one for one in found if all(factor.denominator == 1 for factor in one.values())]
    return next((one for one in (*whole, *found) if len(one) == terms and accept(one)), None)


def _gives(columns: Array, factors: Array, wanted: Array) -> Array:
    """Return where columns times factors, in parts, add up to what is wanted."""
    products = columns * factors
    gap = np.abs(products.sum(axis=-1) - wanted * _PARTS)
    return np.asarray(gap <= 1e-12 * np.abs(products).sum(axis=-1))


def _solved(rows: Array, wanted: Array, chosen: Array) -> tuple[Array, Array]:
    """Solve each choice of columns at as many points; keep those with factors in whole parts."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1
    matrix = np.moveaxis((rows / scale)[:, chosen], 1, 0)  # axes: choice, point, column
    regular = np.abs(np.linalg.det(matrix)) > 1e-9
    chosen = chosen[regular]
    right = np.broadcast_to(wanted[:, None], (len(chosen), len(wanted), 1))
    factors = np.linalg.solve(matrix[regular], right)[:, :, 0] / scale[chosen] * _PARTS
    whole = np.rint(factors)
    near = (np.abs(factors - whole) < 1e-3).all(axis=-1)
    return whole[near], chosen[near]


# === Forms.


MeasureProduct = tuple[Fraction, tuple[str, ...]]
TraitPattern = tuple[tuple[str, str], ...]
Product = tuple[tuple[str, ...], Array]

_WIDEST = {1: 100, 2: 24, 3: 14, 4: 7}
"""The number of measures whose products of one to four factors are tried."""

_HIGHEST = 3
"""The highest power of a measure in a product."""
_OF_VECTORS = ("len(", "prod(")
_MOST_TERMS, _LARGEST = 9, 32
_POINTS, _MOST_POINTS = 260, 120
_OTHERWISE, _NONE = "otherwise", "none"
_MOST_TRAITS, _MOST_GROUPS = 4, 24
_LONGEST = 90
"""In the largest row, a longer condition is replaced by "otherwise"."""


class MeasureSum(Struct, frozen=True):
    """A sum of products of measures with rational factors."""

    terms: tuple[MeasureProduct, ...]

    def at(self, values: Mapping[str, int]) -> Fraction | None:
        """Evaluate at values of measures; None if a measure is missing."""
        total = Fraction(0)
        for factor, names in self.terms:
            for name in names:
                if name not in values:
                    return None
                factor *= values[name]
            total += factor
        return total

    def gives(self, rows: Sequence[Sample], wanted: Sequence[int]) -> bool:
        """Whether the form equals a column at all rows."""
        return all(self.at(row.values) == count for row, count in zip(rows, wanted, strict=True))

    def divides(self, measures: frozenset[str]) -> bool:
        """Whether a term with one of these measures has a fractional factor."""
        return any(f.denominator > 1 and not measures.isdisjoint(names) for f, names in self.terms)

    @property
    def poly(self) -> Poly:
        """The form as a formula, with its measures as symbols."""
        under = lcm(*(factor.denominator for factor, _ in self.terms))
        whole = (product_of([const(int(f * under)), *map(length, names)]) for f, names in self.terms)
        found = total_of(list(whole))
        return found if under == 1 else Poly(found.terms, under)


class Forms(Struct, frozen=True):
    """The forms of EOPs and FLOPs."""

    eops: MeasureSum
    flops: MeasureSum

    def hold(self, instances: Iterable[GeneralInstance]) -> bool:
        """Whether both equal the counts of instances at all sampled points."""
        return all(
            self.eops.at(row.values) == row.counts[0] and self.flops.at(row.values) == row.counts[1]
            for instance in instances
            for row in instance.rows
        )

    def are(self, instance: GeneralInstance) -> bool:
        """Whether both equal the counts of an instance as formulas, and therefore at all of its lengths."""
        for form, counted in zip((self.eops.poly, self.flops.poly), instance.counts, strict=True):
            by = {symbol: instance.measures[symbol.name] for symbol in form.free}
            with suppress(AlgebraBudget):
                if substitute(form, by) == counted:
                    continue
            return False
        return True


class Row(Struct, frozen=True, eq=False):
    """Forms, their condition (in words), and the instances that they were checked against."""

    forms: Forms
    when: str
    instances: tuple[GeneralInstance, ...]


class KnownForms(Struct):
    """Patterns of traits with their instances, the forms found so far, and the patterns that have one."""

    patterns: dict[TraitPattern, list[GeneralInstance]]
    forms: list[Forms] = field(default_factory=list)
    covered: set[TraitPattern] = field(default_factory=set)

    @property
    def left(self) -> list[TraitPattern]:
        """The patterns without a form."""
        return [pattern for pattern in self.patterns if pattern not in self.covered]

    def add(self, forms: Forms) -> None:
        """Add forms, and mark all patterns that they cover."""
        self.forms.append(forms)
        self.covered.update(p for p, members in self.patterns.items() if forms.hold(members))

    def refine(self, pattern: TraitPattern) -> None:
        """Divide a pattern further, by rank and spaces."""
        finer = _patterns(self.patterns.pop(pattern), fine=True)
        self.patterns.update(finer)
        self.covered.update(p for p, some in finer.items() if any(forms.hold(some) for forms in self.forms))


class MeasureTable(Struct, frozen=True):
    """Rows, and the products of measures there that a count may be a combination of.

    ``fixed`` has the values of those measures that are a number in each instance.
    """

    rows: Sequence[Sample]
    products: Sequence[Product]
    fixed: Mapping[str, set[int | None]]

    def form(self, wanted: Sequence[int], whole: bool = True) -> MeasureSum | None:
        """Find the combination of the fewest measures that equals a column, of at most three products.

        Combinations that fit by chance are rejected.  For a column that is the count of a single place, and
        not the ``whole`` count, so are factors that may be a number common to all instances.
        """
        if not any(wanted):
            return MeasureSum(())

        def accept(found: Combination) -> bool:
            form = self._of(found)
            return (
                _is_small(found.values())
                and not self._by_chance(form)
                and (whole or not self._in_common(form))
            )

        found = shortest([column for _, column in self.products], np.array(wanted, np.float64), accept)
        form = None if found is None else self._of(found)
        return form if form is not None and form.gives(self.rows, wanted) else None

    def _of(self, found: Combination) -> MeasureSum:
        return MeasureSum(tuple((factor, self.products[n][0]) for n, factor in found.items()))

    def _by_chance(self, form: MeasureSum) -> bool:
        """Whether the form may fit any column: a measure takes too few values, or divides."""
        used = self.fixed.keys() & {name for _, names in form.terms for name in names}
        return form.divides(frozenset(used)) or any(len(self.fixed[name]) <= len(form.terms) for name in used)

    def _in_common(self, form: MeasureSum) -> bool:
        """Whether a factor may stand for a number other than 1 and 2 that is common to all instances."""
        given = (v for name, v in self.fixed.items() if name.isidentifier() or name.startswith(_OF_VECTORS))
        common = {next(iter(values)) for values in given if len(values) == 1}
        return any(n and n > 2 and factor.numerator % n == 0 for n in common for factor, _ in form.terms)


class Search(Struct):
    """The search for the forms of one operator; ``order`` sorts measures, the simplest first.

    ``every`` has the instances; ``places`` is a memo of the forms of places in all of them.
    """

    order: Callable[[str], tuple[int, int, str]]
    without: frozenset[str] = frozenset()
    chance: Random = field(default_factory=lambda: Random(17))
    every: Sequence[GeneralInstance] = ()
    places: dict[CountedPlace, MeasureSum | None] = field(default_factory=dict)

    def rows(self, instances: Sequence[GeneralInstance]) -> tuple[Row, ...] | None:
        """Return forms that cover all instances; None if some have none."""
        self.every = instances
        for instance in instances:
            instance.sampled(max(4, _POINTS // max(len(instances), 1)), self.chance)
        known = KnownForms(_patterns([instance for instance in instances if instance.tells], fine=False))
        for group in islice(_groups(known.patterns), _MOST_GROUPS):
            self._learn(known, group)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                known.refine(pattern)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                if any(instance.test for instance in known.patterns[pattern]):
                    return None
                del known.patterns[pattern]  # a pattern without any test
        return tuple(_described(_cover(known.patterns, known.forms), known.patterns))

    def _learn(self, known: KnownForms, group: Sequence[TraitPattern]) -> bool:
        """Find forms from a group of patterns, unless all are covered; return whether they are now."""
        if not known.covered.issuperset(group):
            forms = self.fit([instance for pattern in group for instance in known.patterns[pattern]])
            if forms is not None:
                known.add(forms)
        return known.covered.issuperset(group)

    def fit(self, group: Sequence[GeneralInstance]) -> Forms | None:
        """Find common forms of EOPs and FLOPs for a group: of the whole counts, or place by place."""
        table = self._table(group)
        eops = table.form([row.counts[0] for row in table.rows])
        flops = None if eops is None else table.form([row.counts[1] for row in table.rows])
        return self._by_places(group, table) if eops is None or flops is None else Forms(eops, flops)

    def _table(self, group: Sequence[GeneralInstance]) -> MeasureTable:
        for instance in group:
            instance.sampled(min(_MOST_POINTS, max(len(instance.rows), _POINTS // len(group))), self.chance)
        rows = [row for instance in group for row in instance.rows]
        fixed = frozenset().union(*({*one.measures} for one in group)) - _open_measures(group)
        values = {name: {row.values.get(name) for row in rows} for name in fixed}
        return MeasureTable(rows, list(_products(self._columns(rows), len(rows))), values)

    def _by_places(self, group: Sequence[GeneralInstance], table: MeasureTable) -> Forms | None:
        """Find a form for each place of the definition, and add them up, weighted."""
        eops: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
        flops: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
        for place in {place: None for one in group for place in one.places}:
            if any(place not in one.places for one in group):
                return None
            column = [row[place] for one in group for row in one.at_places()]
            found = self._everywhere(place)
            if found is None or not found.gives(table.rows, column):
                found = table.form(column, whole=False)
            if found is None:
                return None
            for factor, names in found.terms:
                eops[names] += factor
                flops[names] += factor * place[2]
        return Forms(*(MeasureSum(tuple((f, n) for n, f in terms.items() if f)) for terms in (eops, flops)))

    def _everywhere(self, place: CountedPlace) -> MeasureSum | None:
        """Return the form of a place in all instances that reach it; None if there is none."""
        if place not in self.places:
            group = [one for one in self.every if place in one.places and one.rows]
            table = self._table(group)
            column = [row[place] for one in group for row in one.at_places()]
            self.places[place] = table.form(column, whole=False)
        return self.places[place]

    def _columns(self, rows: Sequence[Sample]) -> list[tuple[str, Array]]:
        """Return the measures that all rows have and that vary; of equal measures, the simplest."""
        known = set.intersection(*({*row.values} for row in rows)) - self.without
        found: dict[tuple[int, ...], str] = {}
        for name in sorted(known, key=self.order):
            column = tuple(row.values[name] for row in rows)
            if len(set(column)) > 1:
                found.setdefault(column, name)
        return [(name, np.array(column, np.float64)) for column, name in found.items()]


def _open_measures(group: Iterable[GeneralInstance]) -> frozenset[str]:
    """Return the measures that depend on lengths in some instance: only these can be sampled freely."""
    return frozenset(name for one in group for name, form in one.measures.items() if form.constant is None)


def _products(columns: Sequence[tuple[str, Array]], rows: int) -> Iterator[Product]:
    """Yield products of measures, short ones first, with powers up to the third."""
    yield (), np.ones(rows)
    for size, widest in _WIDEST.items():
        for chosen in combinations_with_replacement(columns[:widest], size):
            names = tuple(name for name, _ in chosen)
            if max(Counter(names).values()) <= _HIGHEST:
                column = np.ones(rows)
                for _, values in chosen:
                    column = column * values
                yield names, column


def _is_small(factors: Iterable[Fraction]) -> bool:
    found = list(factors)
    return len(found) <= _MOST_TERMS and all(f.denominator <= 6 and abs(f) <= _LARGEST for f in found)


# ---- patterns ----------------------------------------------------------------------------


def _patterns(instances: Sequence[GeneralInstance], fine: bool) -> dict[TraitPattern, list[GeneralInstance]]:
    found: dict[TraitPattern, list[GeneralInstance]] = defaultdict(list)
    for instance in instances:
        traits = instance.traits.items()
        found[tuple((k, v) for k, v in traits if fine or not k.startswith(FINE))].append(instance)
    return dict(found)


def _groups(patterns: Mapping[TraitPattern, object]) -> Iterator[list[TraitPattern]]:
    """Yield all patterns, then those that share a trait, traits with the fewest values first."""
    yield list(patterns)
    by: dict[str, dict[str, list[TraitPattern]]] = defaultdict(lambda: defaultdict(list))
    for pattern in patterns:
        for name, value in pattern:
            by[name][value].append(pattern)
    for groups in sorted(by.values(), key=len):
        if len(groups) > 1:
            yield from groups.values()


def _cover(
    patterns: Mapping[TraitPattern, list[GeneralInstance]], candidates: Sequence[Forms]
) -> list[tuple[Forms, list[TraitPattern]]]:
    """Choose the fewest forms that cover all patterns, greedily: by instances, then by simplicity."""
    held = [{p for p, members in patterns.items() if forms.hold(members)} for forms in candidates]
    left: set[TraitPattern] = set(patterns)
    chosen: list[tuple[Forms, list[TraitPattern]]] = []

    def worth(n: int) -> tuple[int, int]:
        terms = (*candidates[n].eops.terms, *candidates[n].flops.terms)
        size = sum(1 + len(names) for _, names in terms)
        return sum(len(patterns[pattern]) for pattern in held[n] & left), -size

    while left:
        best = max(range(len(candidates)), key=worth)
        chosen.append((candidates[best], [p for p in patterns if p in held[best] and p in left]))
        left -= held[best]
    return chosen


# ---- in words ----------------------------------------------------------------------------


def _described(
    chosen: Sequence[tuple[Forms, list[TraitPattern]]], patterns: Mapping[TraitPattern, list[GeneralInstance]]
) -> Iterator[Row]:
    """Yield rows with conditions in words; a long condition of the largest row becomes "otherwise"."""
    groups = [[instance for pattern in here for instance in patterns[pattern]] for _, here in chosen]
    traits = [[instance.traits for instance in group] for group in groups]
    telling = _telling(traits)
    for n, (forms, _) in enumerate(chosen):
        others = [one for m, there in enumerate(traits) if m != n for one in there]
        when = _with_ranks(_condition(traits[n], others, telling), traits[n], telling)
        yield Row(forms, _OTHERWISE if n == 0 and len(when) > _LONGEST else when, tuple(groups[n]))


def _with_ranks(when: str, here: Sequence[Mapping[str, str]], telling: Sequence[str]) -> str:
    """Add the rank common to all instances of a row to its condition, if the operator's rows have ranks."""
    found = {name: {one.get(name, _NONE) for one in here} for name in telling if name.startswith(RANK)}
    told = (_word(name, [*values]) for name, values in found.items() if len(values) == 1 and name not in when)
    return ", ".join(filter(None, (when, *told)))


def _telling(rows: Sequence[Sequence[Mapping[str, str]]]) -> tuple[str, ...]:
    """Choose the fewest traits that determine an instance's row, preferably traits with few values."""
    every = [one for row in rows for one in row]
    values = {name: {one.get(name) for one in every} for name in {n: None for one in every for n in one}}
    names = [name for name, found in values.items() if len(found) > 1]
    names.sort(key=lambda name: (name.startswith(FINE), len(values[name])))
    for size in range(_MOST_TRAITS + 1):
        for chosen in combinations(names, size):
            if _tell(rows, chosen):
                return chosen
    return tuple(names)


def _tell(rows: Sequence[Sequence[Mapping[str, str]]], names: Sequence[str]) -> bool:
    """Whether traits distinguish all rows."""
    seen: dict[tuple[str, ...], int] = {}
    return all(seen.setdefault(_values(one, names), n) == n for n, row in enumerate(rows) for one in row)


def _values(traits: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(traits.get(name, _NONE) for name in names)


def _condition(
    here: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]], names: Sequence[str]
) -> str:
    """Describe instances by a property that no others have, in the fewest distinguishing traits."""
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            if not others or _tell((here, others), chosen):
                return _words(chosen, {_values(one, chosen) for one in here})
    return _OTHERWISE


def _words(names: Sequence[str], values: set[tuple[str, ...]]) -> str:
    """Describe the values that traits take.

    >>> _words(("alpha", "given(C)"), {("1", "true"), ("0", "true")})
    'alpha = 0 or 1, C given'
    """
    each = [sorted({one[n] for one in values}) for n in range(len(names))]
    if len(values) == len(list(product(*each))):
        return ", ".join(map(_word, names, each))
    return "; or ".join(
        ", ".join(_word(n, [v]) for n, v in zip(names, one, strict=True)) for one in sorted(values)
    )


def _word(name: str, values: Sequence[str]) -> str:
    if name.startswith("given("):
        what = name[len("given(") : -1]
        return f"{what} given" if values == ["true"] else f"no {what}" if values == ["false"] else ""
    if name.startswith(SINGLE):
        single = " or ".join("one number" if value == "true" else "more than one number" for value in values)
        return f"{name[len(SINGLE) : -1]} is {single}"
    if name.startswith(VALUE):
        name = name[len(VALUE) : -1]
    if values == [OTHER]:
        return f"{name} {values[0]}"
    return f"{name} = {' or '.join(values)}"
