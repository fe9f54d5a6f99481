"""Search for a program that does what one atom does with the other four only: every one up to a size.

    python -m tools.theorem_one [--values 200000] [--write]

None is found; ``docs/theorems.md`` argues why none exists.  Programs are grown from the inputs and constants,
size by size, where the size is the number of atoms.  Each is run on inputs of several lengths at once, and
of programs with equal results only the smallest is kept, so that a size stands for every program of it.
The five atoms are written here once more, on tuples, so that nothing is shared with what is examined.

That the search can find something is shown beside it: with all five atoms each target is found, and for
vectors of at most two zeros a length is found without a norm, which the paper's argument excludes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import NamedTuple, TypeAlias

ATOMS = ("lambda", "norm", "member", "join", "embed")
FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "max": max,
    "lt": lambda x, y: float(x < y),
    "neg": lambda x: -x,
}
ONE_OPERAND = ("neg",)
TWO_OPERANDS = tuple(name for name in FUNCTIONS if name not in ONE_OPERAND)
READ = 3
"""No member is read at a place beyond this."""
REPORT = Path("reports") / "theorem_one.md"


class ToL(NamedTuple):
    """A numeric or a ToL: its lengths, and its entries one after the other."""

    shape: tuple[int, ...]
    entries: tuple[float, ...]


Value: TypeAlias = tuple[ToL, ...]
"""What a program gives on each of the inputs."""


class Found(NamedTuple):
    """A search for one target: what was left out, how far it went, and the program, if there is one."""

    without: str | None
    size: int
    values: int
    program: str | None


# ---- the five atoms ------------------------------------------------------------------------------


def applied(function: str, operands: Sequence[ToL]) -> ToL | None:
    if any(operand.shape for operand in operands):
        return None
    return ToL((), (float(FUNCTIONS[function](*(operand.entries[0] for operand in operands))),))


def norm(of: ToL) -> ToL | None:
    return ToL((len(of.shape),), tuple(map(float, of.shape))) if of.shape else None


def member(of: ToL, index: tuple[int, ...]) -> ToL | None:
    if len(of.shape) != len(index) or any(i > size for i, size in zip(index, of.shape, strict=True)):
        return None
    place = 0
    for i, size in zip(index, of.shape, strict=True):
        place = place * size + i - 1
    return ToL((), (of.entries[place],))


def join(left: ToL, right: ToL) -> ToL | None:
    """One after the other along the last dimension; a numeric is taken as a vector of one entry."""
    a, b = (of if of.shape else ToL((1,), of.entries) for of in (left, right))
    if a.shape[:-1] != b.shape[:-1]:
        return None
    rows = prod(a.shape[:-1])
    parts = [
        of.entries[row * of.shape[-1] : (row + 1) * of.shape[-1]] for row in range(rows) for of in (a, b)
    ]
    return ToL((*a.shape[:-1], a.shape[-1] + b.shape[-1]), tuple(entry for part in parts for entry in part))


def embed(of: ToL) -> ToL:
    return ToL((*of.shape, 1), of.entries)


# ---- the search ----------------------------------------------------------------------------------


def whole(parts: Iterable[ToL | None]) -> Value | None:
    """A value on all inputs; None where an atom has no result on one of them."""
    found: list[ToL] = []
    for part in parts:
        if part is None:
            return None
        found.append(part)
    return tuple(found)


Sized: TypeAlias = list[list[tuple[Value, str]]]


def of_one(value: Value, text: str, atoms: Sequence[str]) -> Iterator[tuple[Value | None, str]]:
    """Every atom on one value."""
    if "norm" in atoms:
        yield whole(map(norm, value)), f"norm({text})"
    if "embed" in atoms:
        yield tuple(map(embed, value)), f"embed({text})"
    if "member" in atoms and value[0].shape:
        for index in product(*(range(1, min(length, READ) + 1) for length in value[0].shape)):
            at = ", ".join(map(str, index))
            yield whole(member(part, index) for part in value), f"{text}[{at}]"
    if "lambda" in atoms:
        for name in ONE_OPERAND:
            yield whole(applied(name, (part,)) for part in value), f"{name}({text})"


def of_two(
    left: Value, right: Value, one: str, other: str, atoms: Sequence[str]
) -> Iterator[tuple[Value | None, str]]:
    """Every atom on two values."""
    if "join" in atoms:
        yield whole(map(join, left, right)), f"join({one}, {other})"
    if "lambda" in atoms and not (left[0].shape or right[0].shape):
        for name in TWO_OPERANDS:
            pairs = zip(left, right, strict=True)
            yield whole(applied(name, pair) for pair in pairs), f"{name}({one}, {other})"


def grown(known: Sized, atoms: Sequence[str]) -> Iterator[tuple[Value | None, str]]:
    """Every program whose number of atoms is one more than those of its parts together."""
    size = len(known) - 1
    for value, text in known[size]:
        yield from of_one(value, text, atoms)
    for first in range(size + 1):
        for (left, one), (right, other) in product(known[first], known[size - first]):
            yield from of_two(left, right, one, other, atoms)


def search(
    inputs: Sequence[dict[str, ToL]],
    constants: Sequence[float],
    target: Value,
    without: str | None,
    most: int,
) -> Found:
    """Look for the target among all programs of the other atoms, until more than ``most`` values are known.

    The size that is told is the largest of which every program was looked at.
    """
    atoms = [atom for atom in ATOMS if atom != without]
    first = [(tuple(given[name] for given in inputs), name) for name in inputs[0]]
    first += [((ToL((), (number,)),) * len(inputs), f"{number:g}") for number in constants]
    seen = {value for value, _ in first}
    known: Sized = [first]
    while True:
        level: list[tuple[Value, str]] = []
        for value, text in grown(known, atoms):
            if value is None or value in seen:
                continue
            if value == target:
                return Found(without, len(known), len(seen), text)
            seen.add(value)
            level.append((value, text))
            if len(seen) > most:
                return Found(without, len(known) - 1, len(seen), None)
        if not level:  # nothing new can come: the search is complete
            return Found(without, -1, len(seen), None)
        known.append(level)


# ---- what is looked for --------------------------------------------------------------------------


def vector(*entries: float) -> ToL:
    return ToL((len(entries),), entries)


def number(value: float) -> ToL:
    return ToL((), (value,))


class Target(NamedTuple):
    """What an atom does, on inputs of several lengths and entries."""

    text: str
    inputs: Sequence[dict[str, ToL]]
    constants: Sequence[float]
    results: Value


TARGETS = {
    "lambda": Target(
        "`a + b`",
        [{"a": number(a), "b": number(b)} for a, b in ((0.25, 0.5), (2.0, 7.0), (-1.0, 3.0))],
        (0.0, 1.0),
        tuple(number(total) for total in (0.75, 9.0, 2.0)),
    ),
    "norm": Target(
        "the length of a vector of zeros",
        [{"v": vector(*(0.0,) * n)} for n in range(1, 8)],
        (1.0, 2.0),
        tuple(number(float(n)) for n in range(1, 8)),
    ),
    "member": Target(
        "`v[2]`",
        [{"v": vector(*entries)} for entries in ((0.25, 0.5), (3.0, 7.0, 1.0), (2.0, -1.0, 4.0, 9.0))],
        (1.0, 2.0),
        tuple(number(entry) for entry in (0.5, 7.0, -1.0)),
    ),
    "join": Target(
        "`v ⋈ w`",
        [{"v": vector(0.25), "w": vector(5.0, 7.0)}, {"v": vector(3.0, 4.0), "w": vector(0.5)}],
        (1.0, 2.0),
        (vector(0.25, 5.0, 7.0), vector(3.0, 4.0, 0.5)),
    ),
    "embed": Target(
        "`Ξ(v)`",
        [{"v": vector(0.25)}, {"v": vector(3.0, 7.0)}],
        (1.0, 2.0),
        (ToL((1, 1), (0.25,)), ToL((2, 1), (3.0, 7.0))),
    ),
}
SHORT = Target(
    "the length of at most two zeros",
    TARGETS["norm"].inputs[:2],
    TARGETS["norm"].constants,
    TARGETS["norm"].results[:2],
)


def look(target: Target, without: str | None, most: int) -> Found:
    return search(target.inputs, target.constants, target.results, without, most)


HEAD = """\
# Theorem One, searched

Each atom does something that no program of the other four does. [docs/theorems.md](../docs/theorems.md) says
why; here every program of the other four is tried, size by size, on inputs of several lengths at once, until
more than {most:,} different results are known. Programs with equal results count once. The lambdas are add,
mul, max, lt and neg, and members are read up to place {read}.

Made by `python -m tools.theorem_one --write`.

| left out | looked for | every program up to | different results | found without it | with all five |
|---|---|---:|---:|---|---|
"""
TAIL = """
The search finds what is there: {text} is `{program}`, {size} atoms and no norm.
So the paper's argument for norm ("join, or embed can only return vectors of 0 values") does not hold for
lengths up to a bound. The theorem holds, because no single program gives all lengths.
"""


def report(most: int) -> str:
    rows = []
    for atom, target in TARGETS.items():
        other, own = look(target, atom, most), look(target, None, most)
        size = "any size" if other.size < 0 else f"{other.size} atoms"
        found = f"`{other.program}`" if other.program else "none"
        cells = (atom, target.text, size, f"{other.values:,}", found, f"`{own.program}`")
        rows.append(f"| {' | '.join(cells)} |\n")
    short = look(SHORT, "norm", most)
    tail = TAIL.format(text=SHORT.text, program=short.program, size=short.size)
    return HEAD.format(most=most, read=READ) + "".join(rows) + tail


def main() -> None:
    parser = argparse.ArgumentParser(description="Search for programs that make one atom of the others.")
    parser.add_argument(
        "--values", type=int, default=200_000, help="different results, after which a search ends"
    )
    parser.add_argument("--write", action="store_true", help=f"write {REPORT}")
    asked = parser.parse_args()
    text = report(asked.values)
    print(text)
    if asked.write:
        REPORT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
