"""A program costs what it costs, however it is written: other lengths, other names, other words for the same.

``python -m tools.programs.otherwise 1000`` writes random programs again in several ways.  Where a length is a
number in the text, twice or one more than it was, or the same as another, the figures are those of the closed
forms at such lengths.  With operands swapped, or functions of the program for signs, they are the same.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import tolcost
from tolcost import Cost, Rejected
from tolcost.diagnostics import Source
from tolcost.platform import with_deep_stack
from tolcost.syntax import parse, tree
from tolcost.syntax.format import format_program
from tools.programs.asked import text_of

Lengths = Mapping[str, int]
FIGURES = ("eops", "flops", "macs", "depth")
POINTS = 3
SIGNS = {"+": "added", "-": "taken", "*": "times"}
SWAPPED = ("+", "*", "==", "!=")


class Otherwise(Struct, frozen=True):
    """A program written otherwise, and the lengths of the first one that lengths of this one stand for."""

    how: str
    text: str
    back: Callable[[Lengths], Lengths] = lambda point: point


def rewritings(text: str, random: Random) -> Iterator[Otherwise]:
    """The same program in other words, and with other lengths."""
    yield Otherwise("operands swapped", _rewritten(text, _swapped))
    called = _rewritten(text, _called)
    functions = "".join(f"{name}(u0, v0) = u0 {sign} v0\n" for sign, name in SIGNS.items() if name in called)
    yield Otherwise("functions for signs", called + functions)
    if "where(" not in text and "choose(" not in text:  # what lengths decide, numbers decide for good
        yield from _other_lengths(text, random)


def _other_lengths(text: str, random: Random) -> Iterator[Otherwise]:
    names = sorted(set(re.findall(r"\b[nmk]\b", _declared(text))))
    one, two, number = random.choice(names), random.choice(names), random.randint(1, 4)

    def put(length: str, worth: Callable[[Lengths], int]) -> Otherwise:
        written = re.sub(rf"\b{one}\b(?!\()", length, text)
        return Otherwise(f"{one} is {length}", written, lambda point: {**point, one: worth(point)})

    yield put(str(number), lambda point: number)
    yield put(f"({one} + 1)", lambda point: point[one] + 1)
    yield put(f"(2 * {one})", lambda point: 2 * point[one])
    yield put(two, lambda point: point[two])


def _declared(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("tol ") and ":" in line)


def _rewritten(text: str, change: Callable[[Any], Any]) -> str:
    return format_program(_each(parse(Source("case.tol", text)), change))


def _each(node: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with every expression changed, from the inside out."""
    if isinstance(node, tuple):
        return tuple(_each(item, change) for item in node)
    if not isinstance(node, Struct):
        return node
    parts = {name: getattr(node, name) for name in node.__struct_fields__ if name != "span"}
    parts = {name: part for name, part in parts.items() if isinstance(part, (Struct, tuple))}
    return change(replace(node, **{name: _each(part, change) for name, part in parts.items()}))  # type: ignore[type-var]


def _swapped(node: Any) -> Any:
    match node:
        case tree.Infix(first=first, rest=((sign, second),)) if sign in SWAPPED:
            return tree.Infix(second, ((sign, first),))
    return node


def _called(node: Any) -> Any:
    match node:
        case tree.Infix(first=first, rest=((sign, second),)) if sign in SIGNS:
            stars = (tree.Star, tree.Splice)  # where one is open it is another function
            if not isinstance(first, stars) and not isinstance(second, stars):
                return tree.Call(tree.Name(SIGNS[sign]), (first, second))
    return node


def figures(cost: Cost, point: Lengths) -> dict[str, object] | None:
    """The figures at a point, and the functions by their spaces; None where it is not allowed."""
    try:
        found = cost({name: value for name, value in point.items() if name in cost.symbols})
    except Rejected:
        return None
    counts = {key: value for key, value in found.histogram.items() if value}
    return {**{name: found[name] for name in FIGURES}, "functions": counts}


compared: Counter[str] = Counter()
"""How often known figures were compared, by how a program was written otherwise."""


def mismatches(text: str, seed: int) -> Iterator[str]:
    """What differs between a program and the same written otherwise."""
    random, cost = Random(seed), tolcost.analyze(text)
    if any(symbol.kind == "data" for symbol in cost.study.symbols):
        return
    for other in rewritings(text, random):
        try:
            again = tolcost.analyze(other.text)
        except Rejected as rejected:
            yield f"{other.how}: {rejected.diagnostics[0].message}"
            continue
        exact = "at most" not in cost.to_text() + again.to_text()
        for _ in range(POINTS):
            point = {name: random.randint(1, 5) for name in "nmks"}
            was, now = figures(cost, other.back(point)), figures(again, point)
            if was is not None and now is not None and not exact:
                was["depth"] = now["depth"] = None
            compared.update({other.how: was is not None and now is not None})
            if was != now:
                yield f"{other.how} at {point}: {was} and {now}"
                break


def broken(seeds: range) -> list[str]:
    """What is found wrong with the programs of some seeds."""
    wrong = []
    for seed in seeds:
        try:
            wrong += [f"seed {seed}: {said}" for said in mismatches(text_of(seed), seed)]
        except Rejected:
            continue
    return wrong


if __name__ == "__main__":
    many, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    told = with_deep_stack(lambda: broken(range(start, start + many)))
    print(f"{many} programs", *told, sep="\n  ")
    sys.exit(1 if told else 0)
