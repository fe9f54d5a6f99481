"""Building programs of the atomic IR by hand, with types worked out."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import Cond, Poly, Symbol, as_poly, const, coordinate, data_symbol, length, the_symbol
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Constant,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Length,
    Member,
    Node,
    Number,
    Output,
    Pack,
    Part,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.diagnostics import NOWHERE, Span
from tolcost.elementary import FUNCTIONS

COMPARE = ("compare", "test")


def scalar(space: str) -> Type:
    return (Part((), space),)


def tensor(space: str, *shape: Poly | int) -> Type:
    return (Part(tuple(as_poly(s) for s in shape), space),)


def tol(name: str, space: str, *shape: Poly | int) -> Input:
    return Input(name, tensor(space, *shape))


def num(value: Constant | int, space: str = "R") -> Number:
    return Number(
        const(value) if isinstance(value, int) and not isinstance(value, bool) else value, scalar(space)
    )


def table(values: Sequence[Constant | int], space: str, *shape: int) -> Table:
    entries = tuple(const(v) if isinstance(v, int) else v for v in values)
    return Table(entries, tensor(space, *(shape or (len(values),))))


def lam(function: str, *args: Node, space: str | None = None, charge: str = "data") -> Lambda:
    where = space or args[0].type[0].space
    result = "B" if FUNCTIONS[function].rule in COMPARE else where
    return Lambda(function, args, where, scalar(result), charge)  # type: ignore[arg-type]


def where(condition: Node, then: Node, other: Node) -> Where:
    return Where(condition, then, other, then.type[0].space, then.type)


def mem(value: Node, *at: Poly | Node | int) -> Member:
    index = tuple(as_poly(k) if isinstance(k, int) else k for k in at)
    return Member(value, index, tuple(Part((), part.space) for part in value.type))


def ref(var: Var) -> Ref:
    return Ref(var, var.type)


def pack(*items: Node) -> Pack:
    return Pack(items, tuple(part for item in items for part in item.type))


def component(value: Node, j: int) -> Component:
    return Component(value, j, (value.type[j - 1],))


def join(left: Node, right: Node, d: int = 1) -> Join:
    parts = []
    for a, b in zip(left.type, right.type, strict=True):
        shape = list(a.shape)
        shape[d - 1] = a.shape[d - 1] + b.shape[d - 1]
        parts.append(Part(tuple(shape), a.space))
    return Join(left, right, d, tuple(parts))


def embed(value: Node) -> Embed:
    return Embed(value, tuple(Part((*part.shape, const(1)), part.space) for part in value.type))


def as_block(body: Node | Block) -> Block:
    return body if isinstance(body, Block) else Block((), body)


def block(*bindings_and_result: tuple[Var, Node] | Node) -> Block:
    *bindings, result = bindings_and_result
    return Block(tuple(bindings), result)  # type: ignore[arg-type]


def build(
    coords: Sequence[Poly], extents: Sequence[Poly | int], body: Node | Block, span: Span = NOWHERE
) -> Build:
    inside = as_block(body)
    lengths = tuple(as_poly(e) for e in extents)
    types = tuple(Part((*lengths, *part.shape), part.space) for part in inside.result.type)
    return Build(tuple(the_symbol(c) for c in coords), lengths, inside, types, span)


def fold(
    coords: Sequence[Poly],
    extents: Sequence[Poly | int],
    acc: Var,
    start: Node,
    body: Node | Block,
    type_: Type | None = None,
    span: Span = NOWHERE,
) -> Fold:
    symbols, lengths = tuple(map(the_symbol, coords)), tuple(map(as_poly, extents))
    return Fold(symbols, lengths, acc, start, as_block(body), type_ or acc.type, span)


def total(
    coords: Sequence[Poly], extents: Sequence[Poly | int], element: Node, function: str = "add"
) -> Fold:
    space = element.type[0].space
    acc = Var("acc", element.type)
    start = {"add": 0, "mul": 1, "max": -9, "min": 9, "and": True, "or": False, "xor": False}[function]
    return fold(coords, extents, acc, num(start, space), lam(function, ref(acc), element))


def select(condition: Cond | Node, then: Node | Block, other: Node | Block) -> Select:
    first = as_block(then)
    return Select(condition, first, as_block(other), first.result.type)


def reshape(value: Node, *shape: Poly | int) -> Reshape:
    return Reshape(value, tuple(Part(tuple(as_poly(s) for s in shape), p.space) for p in value.type))


def convert(value: Node, space: str) -> Convert:
    return Convert(value, tuple(Part(part.shape, space) for part in value.type))


def put(value: Node, at: Sequence[Poly | Node | int], new: Node) -> Put:
    return Put(value, tuple(as_poly(k) if isinstance(k, int) else k for k in at), new, value.type)


def filtered(value: Node, mask: Node, name: str = "z") -> Filter:
    count = data_symbol(name)
    types = tuple(Part((count, *part.shape[1:]), part.space) for part in value.type)
    return Filter(value, mask, the_symbol(count), types)


def ranged(size: Node, count: Poly) -> Length:
    return Length(size, the_symbol(count), size.type)


def program(
    *outputs: Node, inputs: Sequence[Input] = (), bindings: Sequence[tuple[Var, Node]] = ()
) -> Program:
    named = tuple(Output(f"y{k}" if k else "y", node) for k, node in enumerate(outputs))
    symbols: dict[Symbol, None] = {}
    for needed in inputs:
        for part in needed.type:
            for p in part.shape:
                symbols.update(dict.fromkeys(sorted(p.free, key=lambda s: s.key)))
    return Program("test", tuple(inputs), tuple(bindings), named, (), tuple(symbols))


n, m, k = (length(name, 0) for name in "nmk")


def coords(*pairs: tuple[str, Poly | int]) -> list[Poly]:
    return [coordinate(name, hi) for name, hi in pairs]
