"""The algebra of element sets, held to sets that are written out at small lengths.

Each of its answers is one-sided, so each test also asks that enough answers are given.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tolcost.algebra import const, coordinate, evaluate, ge, length, negate, the_symbol
from tolcost.algebra.points import hold_at
from tolcost.cost.element_sets import ElementSet, count_union, cut_box, drop_inner, merge_boxes
from tolcost.cost.indices import IndexValues, ReadAnalysis, index_values

N, M = length("n", 0), length("m", 0)
FORMS = (const(1), const(2), const(4), N, M, N + 1, N + M, 2 * N, N + 2)
POINTS = [{the_symbol(N): n, the_symbol(M): m} for n, m in product(range(5), repeat=2)]
RANK = 2
SHAPE = (5 * N + 9, 5 * M + 9)


def values_of(side, point):
    """The values of one index, written out."""
    first, count = evaluate(side.first, point), evaluate(side.count, point)
    return range(first, first + side.step * count, side.step)


def members(found, point):
    """The definition of a set: its box where the guards hold, or what its coordinates lead to."""
    if not found.ranges:
        here = hold_at(found.guards, point)
        return set(product(*(values_of(side, point) for side in found.box))) if here else set()
    taken = set()
    for at in product(*(range(1, evaluate(extent, point) + 1) for _, extent in found.ranges)):
        inside = point | {symbol: value for (symbol, _), value in zip(found.ranges, at, strict=True)}
        if hold_at(found.guards, inside):
            taken.add(tuple(evaluate(index, inside) for index in found.at))
    return taken


def side(rng, numbers=False):
    """Evenly spaced values; those of constant sets are numbers."""
    pick = [form for form in FORMS if form.constant is not None] if numbers else FORMS
    return IndexValues(rng.choice(pick), rng.choice((1, 1, 1, 2, 3)), rng.choice(pick))


def box(rng, numbers=False):
    """A box, perhaps under a condition on lengths."""
    sides = tuple(side(rng, numbers) for _ in range(RANK))
    count = sides[0].count * sides[1].count
    if numbers or rng.random() < 0.7:
        return ElementSet(count, SHAPE, sides)
    guard = rng.choice((ge(N - M), ge(N - 2), negate(ge(N - M))))
    return ElementSet(count, SHAPE, sides, (N, M), frozenset({guard}))


def near(rng, other):
    """A set like another, with one side moved, made shorter or longer."""
    k, sides = rng.randrange(RANK), list(other.box)
    by = rng.choice((const(1), N, M, sides[k].count))
    first, count = rng.choice(
        ((sides[k].first + by, sides[k].count), (sides[k].first, by), (sides[k].last + 1, by))
    )
    sides[k] = IndexValues(first, rng.choice((1, sides[k].step)), count)
    return ElementSet(sides[0].count * sides[1].count, SHAPE, tuple(sides))


def by_coordinates(rng):
    """A set by two coordinates, where a condition on them holds."""
    i, j = coordinate("i", N), coordinate("j", M)
    guard = rng.choice((ge(i - j), ge(j - i - 1), ge(i + j - 3), ge(2 - i)))
    first, step = rng.choice(((const(1), 1), (const(2), 1), (N + 1, 1), (const(1), 2)))
    at = (i + first - 1, step * j)
    sides = (IndexValues(first, 1, N), IndexValues(const(step), step, M))
    ranges = ((the_symbol(i), N), (the_symbol(j), M))
    return ElementSet(N * M, SHAPE, rng.choice((None, sides)), at, frozenset({guard}), ranges)


def pairs(count=400):
    """Pairs of random sets: half of them near one another."""
    rng = Random(1)
    for number in range(count):
        if number % 5 == 4:
            yield by_coordinates(rng), by_coordinates(rng)
        elif number % 5 == 3:
            one = by_coordinates(rng)
            yield (box(rng) if one.box is None else ElementSet(N * M, SHAPE, one.box)), one
        else:
            one = box(rng)
            yield one, near(rng, one) if number % 2 else box(rng)


def test_sets_that_are_apart_share_no_element():
    told = 0
    for one, other in pairs():
        disjoint = [members(one, point).isdisjoint(members(other, point)) for point in POINTS]
        told += one.is_apart(other)
        assert all(disjoint) or not one.is_apart(other)
    assert told > 40


def test_a_set_inside_another_has_no_element_besides():
    told = 0
    for one, other in pairs():
        for facts in ((), (ge(N - 1),), (ge(N - M),)):
            there = [point for point in POINTS if hold_at(facts, point)]
            subset = all(members(one, point) <= members(other, point) for point in there)
            told += one.is_inside(other, facts)
            assert subset or not one.is_inside(other, facts)
    assert told > 40


def test_sets_under_different_shapes_are_not_compared():
    one = ElementSet(const(1), SHAPE, (IndexValues(const(1), 1, const(1)),) * RANK)
    for box in (one.box, (IndexValues(const(3), 1, const(1)),) * RANK):
        other = ElementSet(const(1), SHAPE[::-1], box)
        assert not one.is_apart(other)
        assert not one.is_inside(other, ())


@pytest.mark.parametrize("fewer", [drop_inner, merge_boxes])
def test_fewer_sets_have_the_same_union(fewer):
    rng, less = Random(2), 0
    for _ in range(200):
        first = box(rng)
        sets = [first, near(rng, first), rng.choice((box, by_coordinates))(rng)]
        found = fewer(sets, (ge(N - 1),))
        less += len(found) < len(sets)
        for point in (point for point in POINTS if point[the_symbol(N)] >= 1):
            both = (set().union(*(members(one, point) for one in some)) for some in (sets, found))
            assert next(both) == next(both)
    assert less > 15


@pytest.mark.parametrize("numbers", [False, True])
def test_a_union_has_as_many_elements_as_are_told(numbers):
    rng, told = Random(3), 0
    for _ in range(200):
        first = box(rng, numbers)
        plain = ElementSet(first.box[0].count * first.box[1].count, SHAPE, first.box)
        sets = [plain, box(rng, numbers) if numbers else near(rng, plain)]
        found = count_union([one for one in sets if not one.guards])
        told += found is not None
        for point in POINTS if found is not None else ():
            every = set().union(*(members(one, point) for one in sets if not one.guards))
            assert evaluate(found, point) == len(every)
    assert told > 20


def test_a_box_is_cut_to_the_values_at_which_conditions_hold():
    rng, told = Random(4), 0
    for _ in range(200):
        i, extent = coordinate("i", N), N
        index = rng.choice((i, i + M, 2 * i, N + 1 - i))
        guard = ge(rng.choice((1, -1, 2)) * index + rng.choice((const(-2), M, M - N, const(3))))
        values = index_values(index, ((the_symbol(i), extent),), SHAPE[0], ReadAnalysis())
        cut = None if values is None else cut_box((values,), (index,), [guard], ReadAnalysis())
        told += cut is not None
        for point in POINTS if cut is not None else ():
            places = (point | {the_symbol(i): at} for at in range(1, evaluate(extent, point) + 1))
            expected = {evaluate(index, place) for place in places if hold_at((guard,), place)}
            assert set(values_of(cut[0], point)) == expected
    assert told > 60


def test_an_index_takes_the_values_that_are_told():
    """First value, step and number, where no range that is assumed to have an element is empty."""
    rng, told = Random(5), 0
    i, j = coordinate("i", N), coordinate("j", M)
    ranges = ((the_symbol(i), N), (the_symbol(j), M))
    parts = (i, 2 * i, i // 2, (i + 1) // 2, N + 1 - i, M * i, (i - 1) % 3)
    for _ in range(200):
        own = ranges if rng.random() < 0.6 else ranges[:1]
        index = rng.choice(parts) + (rng.choice((j, -j, 3 * j, j // 2)) if len(own) == 2 else 0) + 5
        found = index_values(index, own, 9 * N + 9 * M, analysis := ReadAnalysis())
        exact = found is not None and not analysis.inexact
        told += exact
        for point in POINTS if exact else ():
            if all(evaluate(form, point) >= 0 for form in analysis.full):
                at = product(*(range(1, evaluate(extent, point) + 1) for _, extent in own))
                places = (dict(zip((s for s, _ in own), one, strict=True)) for one in at)
                expected = {evaluate(index, point | place) for place in places}
                assert set(values_of(found, point)) == expected
    assert told > 60
