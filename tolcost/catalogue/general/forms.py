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
from itertools import combinations, combinations_with_replacement, product
from math import lcm
from random import Random

import numpy as np

from tolcost.algebra import Poly, const, length, product_of, total_of
from tolcost.catalogue.general.fitting import PRIME, combination, residues
from tolcost.catalogue.general.instances import FINE, Instance
from tolcost.catalogue.types import Array

Term = tuple[Fraction, tuple[str, ...]]
Pattern = tuple[tuple[str, str], ...]

_WIDEST = {1: 100, 2: 18, 3: 9, 4: 6}
"""How many measures products of so many factors are tried of."""

_HIGHEST = 3
_MOST_TERMS, _PLAIN_TERMS, _LARGEST = 12, 3, 200
_POINTS, _MOST_POINTS = 260, 120
_OTHERWISE = "otherwise"
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
        for group in _groups(known.patterns):
            self._learn(known, group)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                known.refine(pattern)
        for pattern in known.left:
            if not self._learn(known, [pattern]):
                return None
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
        """A form that is so plain that it is none by chance, or that a part of the group tells too."""
        rows = [row for instance in group for row in instance.rows]
        found = self._fit(rows, place)
        if found is None or _is_plain(found):
            return found
        for left_out in range(3):
            part = [row for n, one in enumerate(group) if n % 3 != left_out for row in one.rows]
            told = self._fit(part or rows[::2], place)
            if told is not None and all(told.at(values) == counts[place] for values, counts in rows):
                return told
        return None

    def _fit(self, rows: Sequence[tuple[Mapping[str, int], tuple[int, int]]], place: int) -> Form | None:
        target = [counts[place] for _, counts in rows]
        if not any(target):
            return Form(())
        wanted = residues(target)
        columns = self._columns(rows)
        for degree, widest in _WIDEST.items():
            products = list(_products(columns[:widest], degree, len(rows)))[: len(rows) - _MORE]
            found = combination([column for _, column in products], wanted) if products else None
            if found is not None and _is_small(found.values()):
                form = Form(tuple((factor, products[n][0]) for n, factor in found.items()))
                if all(form.at(values) == counts[place] for values, counts in rows):
                    return form
        return None

    def _columns(self, rows: Sequence[tuple[Mapping[str, int], object]]) -> list[tuple[str, Array]]:
        """The measures that all rows have and that differ somewhere; of those that agree, the simplest."""
        known = set.intersection(*({*values} for values, _ in rows)) - self.without
        found: dict[tuple[int, ...], str] = {}
        for name in sorted(known, key=self.order):
            column = tuple(values[name] for values, _ in rows)
            if len(set(column)) > 1:
                found.setdefault(column, name)
        return [(name, residues(column)) for column, name in found.items()]


def _products(
    columns: Sequence[tuple[str, Array]], degree: int, rows: int
) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Products of up to so many measures, short ones first; powers up to the third."""
    yield (), np.ones(rows, np.int64)
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(columns, size):
            names = tuple(name for name, _ in chosen)
            if max(Counter(names).values()) <= _HIGHEST:
                column = np.ones(rows, np.int64)
                for _, values in chosen:
                    column = column * values % PRIME
                yield names, column


def _is_small(factors: Iterable[Fraction]) -> bool:
    found = list(factors)
    return len(found) <= _MOST_TERMS and all(f.denominator <= 6 and abs(f) <= _LARGEST for f in found)


def _is_plain(form: Form) -> bool:
    return len(form.terms) <= _PLAIN_TERMS and all(f.denominator <= 2 for f, _ in form.terms)


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
    """Rows with conditions in words: those with few patterns say theirs, and the largest may be the rest."""
    every = [[instance for pattern in here for instance in patterns[pattern]] for _, here in chosen]
    for n, (forms, _) in enumerate(chosen):
        mine = [instance.traits for instance in every[n]]
        others = [instance.traits for m, there in enumerate(every) if m != n for instance in there]
        when = _condition(mine, others)
        yield Row(forms, _OTHERWISE if n == 0 and len(when) > _LONGEST else when, tuple(every[n]))


def _condition(here: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> str:
    """What all of some instances have, and none of the others: in as few traits as tell them apart."""
    if not others:
        return ""
    names = [name for name in here[0] if len({p.get(name) for p in (*here, *others)}) > 1]
    names.sort(key=lambda name: name.startswith(FINE))
    for size in range(1, 4):
        for chosen in combinations(names, size):
            mine = {tuple(p.get(n, "none") for n in chosen) for p in here}
            if mine.isdisjoint({tuple(p.get(n, "none") for n in chosen) for p in others}):
                return _words(chosen, mine)
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
        return f"{what} given" if values == ["true"] else f"no {what}"
    return f"{name} = {' or '.join(values)}"
