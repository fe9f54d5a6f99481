"""Random programs with recursion, ragged ranges and loops until, as a text and as functions of plain Python.

The functions count what they do, as work or as index operations; ``together`` holds the text to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count as numbered
from random import Random
from typing import Any, NamedTuple, TypeAlias

Names: TypeAlias = Mapping[str, Any]
FUNCTIONS: dict[str, Callable[[int, int], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mod": lambda a, b: a % b,
    "max": max,
    "gt": lambda a, b: a > b,
}
SIGNS = {"add": "+", "sub": "-", "mod": "%", "gt": ">"}


class Ran:
    """How often each function was applied, for values and for coordinates."""

    def __init__(self) -> None:
        self.work = Counter[str]()
        self.index = Counter[str]()


class Expr(NamedTuple):
    """An expression as text, and what it comes to; ``to`` counts what it applies."""

    text: str
    value: Callable[[Names, Ran, Counter[str]], Any]


def read(name: str, place: int | None = None) -> Expr:
    """A name, or an element of a vector."""
    if place is None:
        return Expr(name, lambda names, ran, to: names[name])
    return Expr(f"{name}[{place}]", lambda names, ran, to: names[name][place - 1])


def constant(number: int) -> Expr:
    """A number."""
    return Expr(str(number), lambda names, ran, to: number)


def applied(name: str, one: Expr, other: Expr) -> Expr:
    """A function of two numbers."""
    sign = SIGNS.get(name)
    text = f"{name}({one.text}, {other.text})" if sign is None else f"({one.text} {sign} {other.text})"

    def value(names: Names, ran: Ran, to: Counter[str]) -> Any:
        args = one.value(names, ran, to), other.value(names, ran, to)
        to[name] += 1
        return FUNCTIONS[name](*args)

    return Expr(text, value)


# === What is drawn: numbers with ranges and loops in them.


class Drawing:
    """One program while it is drawn."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self._numbers = numbered(1)

    def name(self, letter: str) -> str:
        """A name that nothing else has."""
        return f"{letter}{next(self._numbers)}"

    def mixed(self, items: Sequence[Expr], all_of: bool = False) -> Expr:
        """One to three of some numbers, or all of them, with functions between."""
        rng = self.rng
        taken = list(items) if all_of else rng.choices(items, k=rng.choice([1, 1, 2, 3]))
        rng.shuffle(taken)
        found = taken[0]
        for item in taken[1:]:
            found = applied(rng.choice(["add", "sub", "max"]), found, item)
        return found

    def number(self, leaves: Sequence[Expr], wanted: Sequence[str]) -> Expr:
        """A number that has the constructs wanted in it."""
        if not wanted:
            return self.mixed(leaves)
        first, *rest = wanted
        inside, beside = (rest, []) if self.rng.random() < 0.6 else ([], rest)
        made = {"range": self.ragged, "loop": self.loop}[first](leaves, inside)
        if beside:
            return self.mixed([made, self.number(leaves, beside)], all_of=True)
        return self.mixed([made, self.rng.choice(leaves)], all_of=True) if self.rng.random() < 0.4 else made

    def small(self, leaves: Sequence[Expr], most: int) -> Expr:
        """A number of data between 0 and one less than ``most``."""
        return applied("mod", self.rng.choice(leaves), constant(most))

    def ends(self, leaves: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The ends of a range that data decides: a row of the pointers, or a number of its own."""
        rng = self.rng
        if rng.random() < 0.4:
            row = rng.randint(1, 7)
            return applied("add", read("ptr", row), constant(1)), read("ptr", row + rng.randint(0, 1))
        return constant(rng.randint(1, 2)), self.small(
            [read("val", rng.randint(1, 9)), *leaves], rng.randint(2, 5)
        )

    def ragged(self, leaves: Sequence[Expr], inside: Sequence[str]) -> Expr:
        """A sum over a ragged range."""
        low, high = self.ends([leaf for leaf in leaves if is_element(leaf)])
        s, k = self.name("s"), self.name("k")
        entry = Expr(f"val[{k}]", lambda names, ran, to: names["val"][names[k] - 1])
        placed = applied("add", entry, read(k))
        items = [read(s), self.number([entry, entry, placed, *leaves], inside)]
        if self.rng.random() < 0.3:
            items.append(entry)
        body, start = self.mixed(items, all_of=True), self.rng.choice([*leaves, constant(0)])
        is_value = placed.text in body.text

        def lowest(ran: Ran) -> Counter[str]:
            return ran.work if is_value else ran.index  # the number of a step is made of the first one

        def value(names: Names, ran: Ran, to: Counter[str]) -> Any:
            carried = start.value(names, ran, to)
            first, last = low.value(names, ran, lowest(ran)), high.value(names, ran, ran.index)
            for j in range(first, last + 1):
                carried = body.value({**names, s: carried, k: j}, ran, ran.work)
            return carried

        return Expr(f"reduce({low.text}..{high.text}, ({s}, {k}) => {body.text}, {start.text})", value)

    def loop(self, leaves: Sequence[Expr], inside: Sequence[str]) -> Expr:
        """A loop until: it counts down, it carries something along, or it is Euclid's."""
        kind = self.rng.choice(["down", "down", "along", "along", "euclid"])
        s = self.name("z")
        parts = [read(s)] if kind == "down" else [component(s, 1), component(s, 2)]
        start = self.small(leaves, self.rng.randint(3, 8))
        most = self.rng.randint(1, 3) if self.rng.random() < 0.2 else None
        if kind == "euclid":
            other = (
                applied("add", self.number(leaves, inside), constant(0))
                if inside
                else self.rng.choice(leaves)
            )
            begin = [start, applied("mod", other, constant(9))]
            holds = applied("gt", parts[1], constant(0))
            return repeated(s, holds, [parts[1], applied("mod", *parts)], begin, 1, most)
        down = applied("sub", parts[0], constant(self.rng.randint(1, 2)))
        if kind == "down":
            if inside:
                extra = applied(
                    "mod", self.number([*parts, *leaves], inside), constant(self.rng.randint(2, 3))
                )
                down = applied("sub", down, extra)
            limit = self.small(leaves, 3) if self.rng.random() < 0.3 else constant(self.rng.randint(0, 2))
            return repeated(s, applied("gt", parts[0], limit), [down], [start], 0, most)
        body = self.mixed([parts[1], self.number([*parts, *leaves], inside)], all_of=True)
        holds = applied("gt", parts[0], constant(0))
        return repeated(s, holds, [down, body], [start, self.rng.choice(leaves)], 2, most)


def is_element(leaf: Expr) -> bool:
    """Whether a number is an element of an input: what is computed for a coordinate alone is no work."""
    return leaf.text.startswith(("val[", "ptr["))


def component(name: str, place: int) -> Expr:
    """A component of a list."""
    return Expr(f"{name}[{place}]'", lambda names, ran, to: names[name][place - 1])


def repeated(
    name: str, holds: Expr, step: Sequence[Expr], begin: Sequence[Expr], taken: int, most: int | None
) -> Expr:
    """A loop until; ``taken`` is the component that is used, 0 if it carries a number."""
    steps, starts = (", ".join(item.text for item in items) for items in (step, begin))
    listed = "({})" if taken else "{}"
    end = "" if most is None else f", {most}"
    text = (
        f"while(({name}) => {holds.text}, ({name}) => {listed.format(steps)}, {listed.format(starts)}{end})"
    )

    def value(names: Names, ran: Ran, to: Counter[str]) -> Any:
        carried: Any = [item.value(names, ran, to) for item in begin]
        turns = 0
        while True:
            here = {**names, name: carried if taken else carried[0]}
            if not holds.value(here, ran, ran.work) or turns == most:
                return carried[max(taken - 1, 0)]
            carried, turns = [item.value(here, ran, ran.work) for item in step], turns + 1

    return Expr(text + (f"[{taken}]'" if taken else ""), value)


# === Functions that apply themselves, and programs.


class Drawn(NamedTuple):
    """A program: its text, and a function of Python that does the same to its inputs."""

    text: str
    run: Callable[[Names, Ran], Any]
    by: int
    """What the length is divided by at each level; 1 if it gets shorter by 1."""
    known: bool
    """Whether lengths are given as numbers."""


def draw(seed: int) -> Drawn:
    """Draw a program."""
    drawing = Drawing(seed)
    rng = drawing.rng
    by, covers = rng.choice([1, 1, 2, 2, 2, 3]), rng.random() < 0.5
    wanted = ["range", "loop", *rng.choices(["range", "loop"], k=rng.choice([0, 0, 0, 1]))]
    rng.shuffle(wanted)
    outside = [construct for construct in wanted if rng.random() < 0.25]
    within = [construct for construct in wanted if construct not in outside]
    ends_with = within if rng.random() < 0.4 else []
    leaves = [read("v", 1), read("val", rng.randint(1, 9)), read("ptr", rng.randint(1, 9))]
    base = drawing.number(leaves, ends_with)
    calls, left = _all(drawing, by) if covers else ([_share(drawing, by)] * rng.choice([1, 1, 2]), [])
    results = [read(f"r{j}") for j in range(len(calls))]
    found = drawing.number([*results, *leaves[1:]], [] if ends_with else within)
    result = drawing.mixed([*results, *left, found], all_of=True)
    if covers:
        base = drawing.mixed([base, leaves[0]], all_of=True)
    function = _function(by, calls, base, result)
    top = _top(drawing, outside, covers)
    lines = [f"tol x: Z [{f'{by}^p' if by > 1 else 'n'}]", "tol ptr: N [9]", "tol val: Z [40]"]
    text = "\n".join([*lines, *(["attr p: N"] if by > 1 else []), function.text, f"y := {top.text}", ""])

    def run(inputs: Names, ran: Ran) -> Any:
        return top.value({**inputs, "f": partial(function.value, inputs, ran)}, ran, ran.work)

    return Drawn(text, run, by, rng.random() < 0.7)


class _Share(NamedTuple):
    text: str
    of: Callable[[Sequence[int], Ran], list[int]]


def _share(drawing: Drawing, by: int) -> _Share:
    """A part of a vector."""
    rng = drawing.rng
    first = rng.randrange(max(by, 2))
    if by == 1:
        text, plain = (("part(v, [1], [n - 1])", slice(None, -1)), ("part(v, [2], [n])", slice(1, None)))[
            first
        ]
        return _Share(text, lambda v, ran: list(v[plain]))
    return _block(first, by) if rng.random() < 0.5 else _stride(first, by)


def _block(c: int, by: int) -> _Share:
    return _Share(
        f"part(v, [{c} * h + 1], [{c} * h + h])",
        lambda v, ran: list(v[c * (len(v) // by) : (c + 1) * (len(v) // by)]),
    )


def _stride(c: int, by: int) -> _Share:
    return _Share(f"map(tol[h], v[{by} * (i - 1) + {c + 1}], [i])", lambda v, ran: list(v[c::by]))


def _all(drawing: Drawing, by: int) -> tuple[list[_Share], list[Expr]]:
    """Shares that have all of a vector in them, and what is left: what nobody looks at is not computed."""
    if by == 1:
        first, last = read("v", 1), Expr("v[n]", lambda names, ran, to: names["v"][-1])
        share = _share(drawing, by)
        return [share], [last if share.text.endswith("[n - 1])") else first]
    kind = drawing.rng.choice(["blocks", "strides", "sums"])
    if kind != "sums":
        return [(_block if kind == "blocks" else _stride)(c, by) for c in range(by)], []

    def sums(v: Sequence[int], ran: Ran) -> list[int]:
        ran.work["add"] += len(v) - len(v) // by
        return [sum(v[c : c + by]) for c in range(0, len(v), by)]

    entries = " + ".join(f"v[{by} * i - {c}]" for c in range(by))
    return [_Share(f"map(tol[h], {entries}, [i])", sums)], []


class _Function(NamedTuple):
    text: str
    value: Callable[[Names, Ran, Sequence[int]], Any]


def _function(by: int, calls: Sequence[_Share], base: Expr, result: Expr) -> _Function:
    half = [f"  h = n / {by}"] if by > 1 else []
    applied_ = [f"    r{j} = f({share.text})" for j, share in enumerate(calls)]
    block = [f"  where(n == 1, {base.text}, {{", *applied_, f"    {result.text}", "  })"]

    def value(inputs: Names, ran: Ran, v: Sequence[int]) -> Any:
        names = {**inputs, "v": v}
        if len(v) == 1:
            return base.value(names, ran, ran.work)
        for j, share in enumerate(calls):
            names[f"r{j}"] = value(inputs, ran, share.of(v, ran))
        return result.value(names, ran, ran.work)

    return _Function("\n".join(["f(v) = {", "  n = |v|[1]", *half, *block, "}"]), value)


def _top(drawing: Drawing, outside: Sequence[str], covers: bool) -> Expr:
    """The output: the function of the input, changed, at many places, or in a range or a loop."""
    plain = Expr("f(x)", lambda names, ran, to: names["f"](names["x"]))
    if outside:
        return drawing.number([plain], outside)
    kind = drawing.rng.choice(["plain", "places", "changed"]) if covers else "plain"
    if kind == "plain":
        return plain

    def changed(names: Names, ran: Ran, by: int) -> Any:
        ran.work["add"] += len(names["x"])
        return names["f"]([a + by for a in names["x"]])

    if kind == "changed":
        return Expr("f(x + val[3])", lambda names, ran, to: changed(names, ran, names["val"][2]))
    return Expr("map(tol[2], f(x + val[i]), [i])",
                lambda names, ran, to: [changed(names, ran, b) for b in names["val"][:2]])  # fmt: skip
