"""The general forms of an operator: which combinations of measures its counts are, and where each holds.

A form is found from all instances together if one does for all, else from those that share a trait, and in
the end from those that share them all.  It is kept for every pattern of traits at all of whose points it
gives the count; of the forms found, as few are shown as cover all patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, islice, product
from math import lcm
from random import Random

import numpy as np

from tolcost.algebra import Poly, const, length, product_of, total_of
from tolcost.catalogue.general.fitting import PRIME, combination, residues, shortest
from tolcost.catalogue.general.instances import FINE, OTHER, OTHER_REAL, VALUE, Instance, Sample
from tolcost.catalogue.general.measures import is_by_place
from tolcost.catalogue.types import Array

Term = tuple[Fraction, tuple[str, ...]]
Pattern = tuple[tuple[str, str], ...]
Product = tuple[tuple[str, ...], Array]

_WIDEST = {1: 100, 2: 18, 3: 10, 4: 6}
_WIDER = {1: 100, 2: 24, 3: 14, 4: 7}
"""How many measures products of so many factors are tried of: in long combinations, and in short ones."""

_HIGHEST = 3
_MOST_TERMS, _LARGEST = 9, 32
_POINTS, _MOST_POINTS = 260, 120
_OTHERWISE, _NONE = "otherwise", "none"
_MOST_TRAITS, _MOST_GROUPS = 4, 24
_LONGEST = 90
"""The condition of the largest row is not spelled out where it takes more characters."""

_MORE = 12
"""So many points more than unknowns are asked for."""


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of products of measures with rational factors."""

    terms: tuple[Term, ...]

    def at(self, values: Mapping[str, int]) -> Fraction | None:
        """What it comes to; None where a measure is not known."""
        total = Fraction(0)
        for factor, names in self.terms:
            for name in names:
                if name not in values:
                    return None
                factor *= values[name]
            total += factor
        return total

    def divides(self, measures: frozenset[str]) -> bool:
        """Whether a term with one of these measures has a fraction for a factor."""
        return any(f.denominator > 1 and not measures.isdisjoint(names) for f, names in self.terms)

    @property
    def poly(self) -> Poly:
        """The form as a formula, its measures as symbols."""
        under = lcm(*(factor.denominator for factor, _ in self.terms))
        whole = (product_of([const(int(f * under)), *map(length, names)]) for f, names in self.terms)
        found = total_of(list(whole))
        return found if under == 1 else Poly(found.terms, under)


@dataclass(frozen=True, slots=True)
class Forms:
    """EOPs and FLOPs."""

    eops: Form
    flops: Form

    def hold(self, instances: Iterable[Instance]) -> bool:
        """Whether both give the counts of instances, wherever these were looked at."""
        return all(
            self.eops.at(values) == counts[0] and self.flops.at(values) == counts[1]
            for instance in instances
            for values, counts in instance.rows
        )


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Forms, where they hold (in words), and the instances that they were held to."""

    forms: Forms
    when: str
    instances: tuple[Instance, ...]


@dataclass(slots=True)
class Known:
    """Patterns of traits with their instances, the forms found so far, and the patterns that have one."""

    patterns: dict[Pattern, list[Instance]]
    forms: list[Forms] = field(default_factory=list)
    covered: set[Pattern] = field(default_factory=set)

    @property
    def left(self) -> list[Pattern]:
        """The patterns without a form."""
        return [pattern for pattern in self.patterns if pattern not in self.covered]

    def add(self, forms: Forms) -> None:
        """Take forms in, for all patterns that they hold for."""
        self.forms.append(forms)
        self.covered.update(p for p, members in self.patterns.items() if forms.hold(members))

    def refine(self, pattern: Pattern) -> None:
        """Divide a pattern by rank and spaces, too."""
        finer = _patterns(self.patterns.pop(pattern), fine=True)
        self.patterns.update(finer)
        self.covered.update(p for p, some in finer.items() if any(forms.hold(some) for forms in self.forms))


@dataclass(slots=True)
class Search:
    """The search for the forms of one operator; ``order`` sorts measures, the simplest first."""

    order: Callable[[str], tuple[int, int, str]]
    without: frozenset[str] = frozenset()
    chance: Random = field(default_factory=lambda: Random(17))

    def rows(self, instances: Sequence[Instance]) -> tuple[Row, ...] | None:
        """Forms that cover all instances; None where there are none for some."""
        for instance in instances:
            instance.sampled(max(4, _POINTS // max(len(instances), 1)), self.chance)
        known = Known(_patterns([instance for instance in instances if instance.rows], fine=False))
        for group in islice(_groups(known.patterns), _MOST_GROUPS):
            self._learn(known, group)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                known.refine(pattern)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                if any(instance.test for instance in known.patterns[pattern]):
                    return None
                del known.patterns[pattern]  # no test is like that
        return tuple(_described(_cover(known.patterns, known.forms), known.patterns))

    def _learn(self, known: Known, group: Sequence[Pattern]) -> bool:
        """Find forms from a group of patterns, unless all of them have some; whether they have now."""
        if not known.covered.issuperset(group):
            forms = self.fit([instance for pattern in group for instance in known.patterns[pattern]])
            if forms is not None:
                known.add(forms)
        return known.covered.issuperset(group)

    def fit(self, group: Sequence[Instance]) -> Forms | None:
        """The forms of EOPs and FLOPs that all of a group have in common."""
        for instance in group:
            instance.sampled(min(_MOST_POINTS, max(len(instance.rows), _POINTS // len(group))), self.chance)
        eops = self._certain(group, 0)
        flops = None if eops is None else self._certain(group, 1)
        return None if eops is None or flops is None else Forms(eops, flops)

    def _certain(self, group: Sequence[Instance], place: int) -> Form | None:
        """A form that is none by chance: a short one, or one in measures that vary as one pleases."""
        rows = [row for instance in group for row in instance.rows]
        fixed = frozenset().union(*({*one.measures} for one in group)) - _open_measures(group)
        found = self._shortest(rows, place)
        if found is not None and not found.divides(fixed):
            return found
        return self._longer(rows, place, fixed)

    def _shortest(self, rows: Sequence[Sample], place: int) -> Form | None:
        """The combination of the fewest measures that a count is at all rows, of at most three products."""
        wanted = residues([counts[place] for _, counts in rows])
        if not wanted.any():
            return Form(())
        products = list(_products(self._columns(rows), _WIDER, len(rows)))
        return _checked(shortest([column for _, column in products], wanted), products, rows, place)

    def _longer(
        self, rows: Sequence[Sample], place: int, without: frozenset[str] = frozenset()
    ) -> Form | None:
        """The same of any length, with products of as few measures as will do."""
        wanted = residues([counts[place] for _, counts in rows])
        usable = (one for one in self._columns(rows) if not is_by_place(one[0]))
        columns = [(name, column) for name, column in usable if name not in without]
        for degree in _WIDEST if columns else ():
            widest = {size: wide for size, wide in _WIDEST.items() if size <= degree}
            products = list(_products(columns, widest, len(rows)))[: max(len(rows) - _MORE, 1)]
            form = _checked(combination([column for _, column in products], wanted), products, rows, place)
            if form is not None:
                return form
        return None

    def _columns(self, rows: Sequence[Sample]) -> list[tuple[str, Array]]:
        """The measures that all rows have and that differ somewhere; of those that agree, the simplest."""
        known = set.intersection(*({*values} for values, _ in rows)) - self.without
        found: dict[tuple[int, ...], str] = {}
        for name in sorted(known, key=self.order):
            column = tuple(values[name] for values, _ in rows)
            if len(set(column)) > 1:
                found.setdefault(column, name)
        return [(name, residues(column)) for column, name in found.items()]


def _checked(
    found: dict[int, Fraction] | None, products: Sequence[Product], rows: Sequence[Sample], place: int
) -> Form | None:
    """The form of a combination, if its factors are small and it is right in integers, too."""
    if found is None or not _is_small(found.values()):
        return None
    form = Form(tuple((factor, products[n][0]) for n, factor in found.items()))
    return form if all(form.at(values) == counts[place] for values, counts in rows) else None


def _open_measures(group: Iterable[Instance]) -> frozenset[str]:
    """The measures that are not just a number in each instance: only these vary as one pleases."""
    return frozenset(name for one in group for name, form in one.measures.items() if form.constant is None)


def _products(
    columns: Sequence[tuple[str, Array]], widest: Mapping[int, int], rows: int
) -> Iterator[Product]:
    """Products of so many measures, short ones first; powers up to the third."""
    yield (), np.ones(rows, np.int64)
    for size, widest_here in widest.items():
        for chosen in combinations_with_replacement(columns[:widest_here], size):
            names = tuple(name for name, _ in chosen)
            if max(Counter(names).values()) <= _HIGHEST:
                column = np.ones(rows, np.int64)
                for _, values in chosen:
                    column = column * values % PRIME
                yield names, column


def _is_small(factors: Iterable[Fraction]) -> bool:
    found = list(factors)
    return len(found) <= _MOST_TERMS and all(f.denominator <= 6 and abs(f) <= _LARGEST for f in found)


# ---- patterns ----------------------------------------------------------------------------


def _patterns(instances: Sequence[Instance], fine: bool) -> dict[Pattern, list[Instance]]:
    found: dict[Pattern, list[Instance]] = defaultdict(list)
    for instance in instances:
        traits = instance.traits.items()
        found[tuple((k, v) for k, v in traits if fine or not k.startswith(FINE))].append(instance)
    return dict(found)


def _groups(patterns: Mapping[Pattern, object]) -> Iterator[list[Pattern]]:
    """All patterns, then those that share one trait, those traits first that divide into few."""
    yield list(patterns)
    by: dict[str, dict[str, list[Pattern]]] = defaultdict(lambda: defaultdict(list))
    for pattern in patterns:
        for name, value in pattern:
            by[name][value].append(pattern)
    for groups in sorted(by.values(), key=len):
        if len(groups) > 1:
            yield from groups.values()


def _cover(
    patterns: Mapping[Pattern, list[Instance]], candidates: Sequence[Forms]
) -> list[tuple[Forms, list[Pattern]]]:
    """As few forms as cover all patterns, those first that hold for many instances; the simpler of equals."""
    held = [{p for p, members in patterns.items() if forms.hold(members)} for forms in candidates]
    left: set[Pattern] = set(patterns)
    chosen: list[tuple[Forms, list[Pattern]]] = []

    def worth(n: int) -> tuple[int, int]:
        return sum(len(patterns[pattern]) for pattern in held[n] & left), -_size(candidates[n])

    while left:
        best = max(range(len(candidates)), key=worth)
        chosen.append((candidates[best], [p for p in patterns if p in held[best] and p in left]))
        left -= held[best]
    return chosen


def _size(forms: Forms) -> int:
    return sum(1 + len(names) for form in (forms.eops, forms.flops) for _, names in form.terms)


# ---- in words ----------------------------------------------------------------------------


def _described(
    chosen: Sequence[tuple[Forms, list[Pattern]]], patterns: Mapping[Pattern, list[Instance]]
) -> Iterator[Row]:
    """Rows with conditions in words; where that of the largest is long, it is all the rest."""
    groups = [[instance for pattern in here for instance in patterns[pattern]] for _, here in chosen]
    traits = [[instance.traits for instance in group] for group in groups]
    telling = _telling(traits)
    for n, (forms, _) in enumerate(chosen):
        others = [one for m, there in enumerate(traits) if m != n for one in there]
        when = _condition(traits[n], others, telling)
        yield Row(forms, _OTHERWISE if n == 0 and len(when) > _LONGEST else when, tuple(groups[n]))


def _telling(rows: Sequence[Sequence[Mapping[str, str]]]) -> tuple[str, ...]:
    """As few traits as tell which row an instance is in; of those, such as have few values."""
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
    """Whether some traits tell all rows apart."""
    seen: dict[tuple[str, ...], int] = {}
    return all(seen.setdefault(_values(one, names), n) == n for n, row in enumerate(rows) for one in row)


def _values(traits: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(traits.get(name, _NONE) for name in names)


def _condition(
    here: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]], names: Sequence[str]
) -> str:
    """What all of some instances have, and none of the others: in as few traits as tell them apart."""
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            if not others or _tell((here, others), chosen):
                return _words(chosen, {_values(one, chosen) for one in here})
    return _OTHERWISE


def _words(names: Sequence[str], values: set[tuple[str, ...]]) -> str:
    """Say which values some traits have.

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
    if name.startswith(VALUE):
        name = name[len(VALUE) : -1]
    if values in ([OTHER], [OTHER_REAL]):
        return f"{name} {values[0]}"
    return f"{name} = {' or '.join(values)}"
