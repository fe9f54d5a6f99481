"""Random queries of the subset that is translated, over three small tables."""

from __future__ import annotations

import random

TABLES = {
    "t": {"k": "Z", "a": "Z", "b": "R", "c": ("red", "green", "blue")},
    "u": {"k": "Z", "d": "Z", "e": ("red", "green", "blue")},
    "w": {"f": "Z", "g": "R"},
}
_WHOLE = {"t": ("k", "a"), "u": ("k", "d"), "w": ("f",)}
_TEXT = {"t": "c", "u": "e"}


def query(seed: int) -> str:
    """A query; its rows are in a settled order only if all of its columns are sorted by."""
    draw = random.Random(seed)
    names = draw.sample(sorted(TABLES), draw.choice((1, 1, 2, 2, 3)))
    conditions = [_condition(draw, names) for _ in range(draw.randrange(3))]
    text = f"from {names[0]}"
    for n, name in enumerate(names[1:], start=1):
        pair = f"{_column(draw, names[:n])} {draw.choice(('=', '=', '<'))} {_column(draw, [name])}"
        text += f" join {name} on {pair}" if draw.random() < 0.7 else f", {name}"
        conditions += [] if f" on {pair}" in text else [pair]
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return _selected(draw, names, text + where)


def _selected(draw: random.Random, names: list[str], rest: str) -> str:
    kind = draw.random()
    if kind < 0.25:
        items = ", ".join(f"{_aggregate(draw, names)} as x{n}" for n in range(draw.randint(1, 3)))
        return f"select {items} {rest}"
    if kind < 0.6:
        keys = sorted({_key(draw, names) for _ in range(draw.randint(1, 2))})
        values = [f"{_aggregate(draw, names)} as x{n}" for n in range(draw.randint(1, 3))]
        having = f" having count(*) > {draw.randint(1, 2)}" if draw.random() < 0.3 else ""
        ends = f" order by {', '.join(keys)}" + (
            f" limit {draw.randint(1, 4)}" if draw.random() < 0.4 else ""
        )
        order = ends if draw.random() < 0.5 else ""
        return f"select {', '.join([*keys, *values])} {rest} group by {', '.join(keys)}{having}{order}"
    items = [f"{_value(draw, names)} as y{n}" for n in range(draw.randint(1, 3))]
    distinct = "distinct " if draw.random() < 0.4 else ""
    ways = ", ".join(f"{n} {draw.choice(('asc', 'desc'))}" for n in range(1, len(items) + 1))
    order = f" order by {ways}" if draw.random() < 0.5 else ""
    limit = f" limit {draw.randint(1, 5)}" if order and draw.random() < 0.5 else ""
    return f"select {distinct}{', '.join(items)} {rest}{order}{limit}"


def _column(draw: random.Random, names: list[str]) -> str:
    name = draw.choice(names)
    return f"{name}.{draw.choice(_WHOLE[name])}"


def _key(draw: random.Random, names: list[str]) -> str:
    texts = [f"{name}.{_TEXT[name]}" for name in names if name in _TEXT]
    return draw.choice(texts) if texts and draw.random() < 0.4 else _column(draw, names)


def _value(draw: random.Random, names: list[str]) -> str:
    one, other = _column(draw, names), _column(draw, names)
    return draw.choice(
        (
            one,
            f"{one} + {other}",
            f"{one} * 2 - {other}",
            f"({one} + 1) * ({other} - 2)",
            f"-{one}",
            f"abs({one} - {other})",
            f"case when {one} > {other} then {one} else {other} end",
            f"{one} % 3",
            f"{one} / 4",
        )
    )


def _condition(draw: random.Random, names: list[str]) -> str:
    one, other, k = _column(draw, names), _column(draw, names), draw.randint(0, 5)
    plain = [
        f"{one} > {k}",
        f"{one} <= {other}",
        f"{one} between {k - 2} and {k}",
        f"{one} in ({k}, {k + 1}, 4)",
        f"not ({one} = {k} or {other} <> {k})",
        f"({one} < {k} or {other} >= 2)",
    ]
    for name in names:
        if name in _TEXT:
            column, text = f"{name}.{_TEXT[name]}", draw.choice(("red", "green", "blue"))
            plain += [f"{column} = '{text}'", f"{column} <> '{text}'", f"{column} >= '{text}'"]
    return draw.choice(plain)


def _aggregate(draw: random.Random, names: list[str]) -> str:
    value = _value(draw, names)
    kinds = (f"sum({value})", f"avg({value})", "count(*)", f"count({value})", f"sum({value}) + count(*)")
    return draw.choice((*kinds, f"min({value})", f"max({value})"))
