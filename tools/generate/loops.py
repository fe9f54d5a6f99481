"""Folds inside of folds: accumulators known early or late, and passed on from one to the other.

Without branches nothing is left out: whoever counts such a program comes to the same.  With them there are
choices by data and by coordinates, and rows kept and repeated.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tools.generate.draw import Draw
from tools.generate.programs import Case

HEADER = "tol x: R [n]\ntol q: Z [n, n]\ntol c: R\ntol b: R [n]\ntol d: R [n]\n"
NAMED = "u = map(tol[n], b[k] + 1, [k])\nt = reduce(tol[n], (a, z) => a + d[k], 0, [k])\n"
"""Values that are computed where they are first needed, which may be in a loop that is looked at again."""
DEEP = 3


class Reach(Struct, frozen=True):
    """What an expression may use: numbers and vectors of n entries, as text, and coordinates up to n."""

    numbers: tuple[str, ...] = ("c", "2", "0", "n", "t")
    vectors: tuple[str, ...] = ("x", "u", "tol[n]")
    coordinates: tuple[str, ...] = ()
    depth: int = 0
    branches: bool = False

    def inside(self, coordinate: str) -> Reach:
        entries = tuple(f"{v}[{coordinate}]" for v in self.vectors if v.isidentifier() or v.endswith("'"))
        rows = tuple(f"q[{coordinate}, {other}]" for other in self.coordinates[-1:])
        return replace(
            self,
            numbers=(*self.numbers, coordinate, *entries, *rows),
            coordinates=(*self.coordinates, coordinate),
            depth=self.depth + 1,
        )


def loop_program(seed: int, branches: bool = False) -> Case:
    """A program of folds that carry numbers and vectors; the same one for the same seed."""
    draw, reach = Draw(seed), Reach(branches=branches)
    lines = [f"y{k} := {_number(draw, reach)}" for k in range(1, draw.number(1, 2) + 1)]
    if draw.chance(0.3):
        lines.append(f"v := {_vector(draw, reach)}")
    return Case(HEADER + NAMED + "\n".join(lines) + "\n", ({"n": 3}, {"n": draw.number(1, 4)}), seed)


def _number(draw: Draw, reach: Reach) -> str:
    plain = draw.pick(reach.numbers)
    if reach.depth >= DEEP or draw.chance(0.15 * reach.depth):
        return plain
    return draw.first_of(
        (
            (2, lambda: f"({_number(draw, reach)} {draw.pick('+-')} {plain})"),
            (1, lambda: f"{plain} * {draw.pick(('2', 'c'))}"),
            (1, lambda: f"floor({plain})"),
            (1, lambda: f"({plain}) / 2"),
            (1, lambda: f"max({plain}, {_number(draw, reach)})"),
            (5, lambda: _fold(draw, reach)),
            (2, lambda: _listed(draw, reach)),
            (1, lambda: f"reduce({_vector(draw, reach)}, add, {plain})"),
            (6 * reach.branches, lambda: _branch(draw, reach)),
        ),
        plain,
    )


def _branch(draw: Draw, reach: Reach) -> str:
    one, other = _number(draw, reach), _number(draw, reach)
    vector, kept = draw.pick(reach.vectors), draw.pick((">", "<"))
    compared = f"{draw.pick(reach.numbers)} {draw.pick(('>', '<=', '=='))} {draw.pick(reach.numbers)}"
    placed = f"{draw.pick((*reach.coordinates, '1'))} {draw.pick(('<', '>='))} n / 2"
    rows = draw.pick((f"filter({vector}, map({vector}, * {kept} 0))", f"repeat({vector}, 2, 2)"))
    return draw.pick(
        (
            f"choose({compared}, {one}, {other})",
            f"choose({compared}, {one}, {other})",
            f"where({compared}, {one}, {other})",
            f"where({placed}, {one}, {other})",
            f"choose({placed}, {one}, {other})",
            f"reduce({rows}, add, {one})",
        )
    )


def _vector(draw: Draw, reach: Reach) -> str:
    plain = draw.pick(reach.vectors)
    if reach.depth >= DEEP:
        return plain
    k, at = draw.name("k"), draw.pick((*reach.coordinates, "1"))
    return draw.first_of(
        (
            (2, lambda: plain),
            (2, lambda: f"map({plain}, * + {_number(draw, reach.inside(k))}, [{k}])"),
            (1, lambda: f"put({plain}, [{at}], {_number(draw, reach)})"),
            (2, lambda: _vector_fold(draw, reach)),
        ),
        plain,
    )


def _fold(draw: Draw, reach: Reach) -> str:
    """A number carried along; what is around may start it, and its step may fold it again."""
    s, i = draw.name("s"), draw.name("i")
    inner = reach.inside(i)
    step = _number(draw, replace(inner, numbers=(s, s, *inner.numbers)))
    if s not in step:
        step = f"{s} + {step}"
    turns = draw.pick(("n", "n", *reach.coordinates))
    return f"reduce(tol[{turns}], ({s}, z) => {step}, {draw.pick(reach.numbers)}, [{i}])"


def _vector_fold(draw: Draw, reach: Reach) -> str:
    s, i = draw.name("s"), draw.name("i")
    inner = reach.inside(i)
    step = _vector(
        draw, replace(inner, numbers=(*inner.numbers, f"{s}[{i}]"), vectors=(s, s, *inner.vectors))
    )
    if s not in step:
        step = f"map({s}, * + 1)"
    return f"reduce(tol[n], ({s}, z) => {step}, {draw.pick(reach.vectors)}, [{i}])"


def _listed(draw: Draw, reach: Reach) -> str:
    """A list carried along, every component of which is needed in the end."""
    s, i, many = draw.name("s"), draw.name("i"), draw.number(2, 3)
    inner = reach.inside(i)
    parts = tuple(f"{s}[{k}]'" for k in range(1, many + 1))
    within = replace(inner, numbers=(*parts, *inner.numbers))
    steps = ", ".join(_number(draw, within) for _ in parts)
    start = ", ".join(draw.pick(reach.numbers) for _ in parts)
    name = draw.name("l")
    total = " + ".join(f"{name}[{k}]'" for k in range(1, many + 1))
    return f"{{ {name} = reduce(tol[n], ({s}, z) => ({steps}), ({start}), [{i}]); {total} }}"
