"""Folds whose accumulators change their space: machine types, conversions, and questions about spaces.

Numbers, short vectors, ToLs and lists are carried along, folded again, handed to functions, and converted
on the way.  Nothing is left out: whoever counts such a program comes to the same, space by space.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tools.generate.draw import Draw
from tools.generate.programs import Case

INPUTS = {
    "x": "R", "q": "Z", "a": "int8", "h": "int16", "f": "float16",
    "g": "bfloat16", "m": "N", "t": "B", "w": "C",
}  # fmt: skip
SPACES = ("Z", "Z", "R", "R", "int8", "int16", "float16", "bfloat16", "float32")
DEEP = 3


class Reach(Struct, frozen=True):
    """What an expression may use: numbers, vectors of n entries, and vectors of two, as text."""

    inputs: tuple[str, ...]
    numbers: tuple[str, ...] = ("0", "2", "n", "0.5", "convert(3, int8)", "convert(0.5, float16)")
    vectors: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ("[0, 0]", "[1, 0.5]", "convert([1, 2], int8)")
    coordinates: tuple[str, ...] = ()
    depth: int = 0

    def inside(self, coordinate: str) -> Reach:
        entries = tuple(f"{v}[{coordinate}]" for v in (*self.inputs, *self.vectors))
        return replace(
            self,
            numbers=(*self.numbers, coordinate, *entries, *entries),
            coordinates=(*self.coordinates, coordinate),
            depth=self.depth + 1,
        )


def space_program(seed: int) -> Case:
    """A program of folds that change spaces; the same one for the same seed."""
    draw = Draw(seed)
    names = tuple(sorted({draw.pick("xqahfgmtxqahfgmw") for _ in range(draw.number(2, 4))}))
    reach = Reach(names)
    lines = [f"tol {name}: {INPUTS[name]} [n]" for name in names]
    used = (*reach.numbers, "u", "v", *(f"{name}[1]" for name in names))
    lines.append(f"p(u, v) = {_number(draw, replace(reach, numbers=used, depth=2))}")
    lines += [f"y{k} := {_number(draw, reach)}" for k in range(1, draw.number(1, 2) + 1)]
    if draw.chance(0.4):
        lines.append(f"v1 := {draw.pick((_vector, _pair))(draw, reach)}")
    return Case("\n".join(lines) + "\n", ({"n": 3}, {"n": draw.number(1, 4)}), seed)


def _number(draw: Draw, reach: Reach) -> str:
    plain = draw.pick(reach.numbers)
    if reach.depth > DEEP or draw.chance(0.15 * reach.depth):
        return plain
    deeper = replace(reach, depth=reach.depth + 1)

    def other() -> str:
        return _number(draw, deeper)

    return draw.first_of(
        (
            (3, lambda: f"({other()} {draw.pick('++-*')} {draw.pick(reach.numbers)})"),
            (1, lambda: f"({plain} {draw.pick('+-')} {other()})"),
            (3, lambda: f"convert({other()}, {draw.pick(SPACES)})"),
            (0.5, lambda: f"convert({plain}, space({draw.pick(reach.inputs)}[1]))"),
            (0.5, lambda: f"bitcast(convert({other()}, int16), {draw.pick(('float16', 'uint16'))})"),
            (0.7, lambda: f"floor({other()})"),
            (0.7, lambda: f"({other()}) / 2"),
            (0.7, lambda: f"{draw.pick(('abs', 'neg', 'sqr', 'sgn'))}({other()})"),
            (1, lambda: f"{draw.pick(('max', 'min'))}({plain}, {other()})"),
            (0.7, lambda: f"where({_truth(draw, reach)}, {other()}, {draw.pick(reach.numbers)})"),
            (1, lambda: f'where(kind(space({plain})) == "{draw.pick("ZR")}", {other()}, {plain})'),
            (0.7, lambda: f"p({plain}, {draw.pick(reach.numbers)})" if "u" not in reach.numbers else None),
            (5, lambda: _fold(draw, reach)),
            (2, lambda: _listed(draw, reach)),
            (1, lambda: _entry(draw, reach)),
            (1, lambda: f"reduce({draw.pick((*reach.inputs, *reach.vectors))}, add, {plain})"),
        ),
        plain,
    )


def _truth(draw: Draw, reach: Reach) -> str:
    return f"{draw.pick(reach.inputs)}[1] > {draw.pick(reach.numbers)}"


def _entry(draw: Draw, reach: Reach) -> str:
    """An entry of a vector that is folded, at a place that is known, or that data tells."""
    name, at = draw.name("e"), draw.pick(("1", "2", "2", f"1 + convert({draw.pick(reach.inputs)}[1] > 0, Z)"))
    return f"{{ {name} = {_pair_fold(draw, reach)}; {name}[{at}] }}"


def _fold(draw: Draw, reach: Reach) -> str:
    s, i = draw.name("s"), draw.name("i")
    inner = reach.inside(i)
    step = _number(draw, replace(inner, numbers=(s, s, s, *inner.numbers)))
    if s not in step:
        step = f"{s} {draw.pick('+-')} {step}"
    turns = draw.pick(("n", "n", "n", *reach.coordinates))
    return f"reduce(tol[{turns}], ({s}, z) => {step}, {draw.pick(reach.numbers)}, [{i}])"


def _listed(draw: Draw, reach: Reach) -> str:
    """A list carried along, every component of which is needed in the end."""
    s, i, many, name = draw.name("s"), draw.name("i"), draw.number(2, 3), draw.name("l")
    inner = reach.inside(i)
    parts = tuple(f"{s}[{k}]'" for k in range(1, many + 1))
    within = replace(inner, numbers=(*parts, *inner.numbers))
    steps = ", ".join(_number(draw, within) for _ in parts)
    start = ", ".join(draw.pick(reach.numbers) for _ in parts)
    total = " + ".join(f"{name}[{k}]'" for k in range(1, many + 1))
    return f"{{ {name} = reduce(tol[n], ({s}, z) => ({steps}), ({start}), [{i}]); {total} }}"


# ---- vectors -----------------------------------------------------------------------------


def _vector(draw: Draw, reach: Reach) -> str:
    """A ToL of n entries."""
    plain = draw.pick((*reach.inputs, *reach.vectors, "map(tol[n], 0)"))
    if reach.depth >= DEEP:
        return plain
    k, at = draw.name("k"), draw.pick((*reach.coordinates, "1"))
    return draw.first_of(
        (
            (1, lambda: plain),
            (2, lambda: f"map({plain}, * + {_number(draw, reach.inside(k))}, [{k}])"),
            (1, lambda: f"put({plain}, [{at}], {_number(draw, reach)})"),
            (1, lambda: f"convert({plain}, {draw.pick(SPACES)})"),
            (2, lambda: _vector_fold(draw, reach)),
        ),
        plain,
    )


def _vector_fold(draw: Draw, reach: Reach) -> str:
    s, i = draw.name("s"), draw.name("i")
    inner = reach.inside(i)
    numbers = (*inner.numbers, f"{s}[{i}]", f"{s}[1]")
    step = _vector(draw, replace(inner, numbers=numbers, vectors=(s, s, s, *inner.vectors)))
    if s not in step:
        step = f"map({s}, * + 1)"
    start = draw.pick((*reach.inputs, *reach.vectors, "map(tol[n], 0)", "convert(map(tol[n], 1), int8)"))
    return f"reduce(tol[n], ({s}, z) => {step}, {start}, [{i}])"


def _pair(draw: Draw, reach: Reach) -> str:
    return _pair_fold(draw, reach)


def _pair_fold(draw: Draw, reach: Reach) -> str:
    """A short vector carried along: known entry by entry at the start."""
    s, i, j = draw.name("s"), draw.name("i"), draw.name("j")
    inner = reach.inside(i)
    within = replace(inner, numbers=(*inner.numbers, f"{s}[1]", f"{s}[2]"), pairs=(s, *inner.pairs))
    entries = [_number(draw, within) for _ in range(2)]
    mapped = replace(within, numbers=(*within.numbers, f"{s}[{j}]"))
    step = draw.pick(
        (
            f"[{entries[0]} + {s}[2], {entries[1]} - {s}[1]]",
            f"put({s}, [{draw.number(1, 2)}], {entries[0]})",
            f"map(convert({s}, {draw.pick(SPACES)}), * + {entries[0]})",
            f"map(tol[2], {s}[{j}] + {_number(draw, mapped)}, [{j}])",
        )
    )
    return f"reduce(tol[n], ({s}, z) => {step}, {draw.pick(reach.pairs)}, [{i}])"
