"""Random programs in the atomic IR: nested loops, triangles, choices, names and shared nodes."""

from __future__ import annotations

from random import Random

from msgspec import Struct, field

from tolcost.algebra import Cond, Poly, conj, coordinate, eq, ge, product_of
from tolcost.atoms.nodes import Block, Build, Input, Node, Pack, Part, Program, Reshape, Select, Var, Where
from tools.cost.programs import R0, apply, block, k, m, n, number, program
from tools.execute.builders import build, fold, mem, ref, select, tensor

X = Input("x", tensor("R", n, m, k))
FUNCTIONS = ("add", "mul", "sub", "max")


class Scope(Struct):
    """What a random expression may mention."""

    coords: list[Poly] = field(default_factory=list)
    values: list[Var] = field(default_factory=list)
    choices: tuple[str, ...] = ()
    """Choices by data, where there are any."""

    def inside(self, *coords: Poly) -> Scope:
        return Scope([*self.coords, *coords], list(self.values), self.choices)


def random_program(seed: int, by_data: bool = False) -> Program:
    """A program; ``by_data`` asks for choices by data, too."""
    rng = Random(seed)
    bindings: list[tuple[Var, Node]] = []
    scope = Scope(choices=("choose", "choose") if by_data else ())
    for i in range(rng.randrange(3)):
        var = Var(f"v{i}", R0)
        bindings.append((var, scalar(rng, scope, 3)))
        scope.values.append(var)
    outputs = [
        scalar(rng, scope, 4) if rng.random() < 0.4 else tol(rng, scope, 4) for _ in range(rng.randint(1, 2))
    ]
    return program(*outputs, bindings=tuple(bindings), inputs=(X,))


def extent(rng: Random, scope: Scope) -> Poly:
    """A length, a coordinate plus something, or a small number: never negative."""
    options = [n, m, k, n + 1, n * 0 + rng.randint(0, 3), (n + 1) // 2]
    options += [c + rng.randint(-1, 1) for c in scope.coords]
    return rng.choice(options)


def loop(rng: Random, scope: Scope) -> tuple[list[Poly], list[Poly]]:
    extents = [extent(rng, scope) for _ in range(rng.randint(1, 2))]
    return [coordinate(f"i{len(scope.coords)}", e) for e in extents], extents


def condition(rng: Random, scope: Scope) -> Cond:
    terms = [*scope.coords, n, m, k]
    made = []
    for _ in range(rng.randint(1, 2)):
        left, right = rng.choice(terms), rng.choice(terms)
        difference = left * rng.randint(1, 2) - right + rng.randint(-2, 2)
        made.append(eq(difference) if rng.random() < 0.2 else ge(difference))
    return conj(*made)


def scalar(rng: Random, scope: Scope, fuel: int) -> Node:
    if fuel <= 0 or rng.random() < 0.15:
        return leaf(rng, scope)
    kinds = ("apply", "apply", "shared", "fold", "fold", "select", "where", "member", *scope.choices)
    kind = rng.choice(kinds)
    if kind == "apply":
        return apply(rng.choice(FUNCTIONS), scalar(rng, scope, fuel - 1), scalar(rng, scope, fuel - 1))
    if kind == "shared":
        once = scalar(rng, scope, fuel - 1)
        return apply("mul", once, once)
    if kind == "fold":
        return random_fold(rng, scope, fuel)
    if kind == "select":
        return select(condition(rng, scope), body(rng, scope, fuel), body(rng, scope, fuel))
    if kind == "choose":
        asked = apply("lt", scalar(rng, scope, fuel - 1), number(0))
        return Select(asked, body(rng, scope, fuel), body(rng, scope, fuel), R0)
    if kind == "where":
        parts = [scalar(rng, scope, fuel - 1) for _ in range(3)]
        return Where(parts[0], parts[1], parts[2], "R", R0)
    built = tol(rng, scope, fuel - 1)
    return mem(built, *(n * 0 + 1 for _ in built.type[0].shape))


def leaf(rng: Random, scope: Scope) -> Node:
    if scope.values and rng.random() < 0.5:
        return ref(rng.choice(scope.values))
    return rng.choice((number(1), mem(X, n, m, k), apply("exp", mem(X, n, m, k))))


def body(rng: Random, scope: Scope, fuel: int) -> Block:
    """A block with perhaps a named value."""
    inner = scope.inside()
    bindings = []
    if rng.random() < 0.4:
        var = Var("b", R0)
        bindings.append((var, scalar(rng, inner, fuel - 1)))
        inner.values.append(var)
    return block(scalar(rng, inner, fuel - 1), *bindings)


def random_fold(rng: Random, scope: Scope, fuel: int) -> Node:
    coords, extents = loop(rng, scope)
    acc = Var("acc", R0)
    inner = scope.inside(*coords)
    start = scalar(rng, scope, fuel - 2) if fuel > 2 else number(0)
    element = scalar(rng, inner, fuel - 1)
    if rng.random() < 0.5:
        return fold(coords, extents, acc, start, apply("add", ref(acc), element))
    inner.values.append(acc)
    return fold(coords, extents, acc, start, body(rng, inner, fuel))


def tol(rng: Random, scope: Scope, fuel: int) -> Node:
    coords, extents = loop(rng, scope)
    inner = scope.inside(*coords)
    kind = rng.random()
    if fuel > 1 and kind < 0.3:
        nested = tol(rng, Scope(scope.coords, scope.values, scope.choices), fuel - 1)
        return build(coords, extents, nested)
    if fuel > 1 and kind < 0.4:
        pair = Pack((scalar(rng, inner, fuel - 1), number(1)), (*R0, *R0))
        return build(coords, extents, pair)
    made = build(coords, extents, body(rng, inner, fuel))
    return flattened(made) if kind > 0.9 and len(made.type) == 1 else made


def flattened(made: Build) -> Node:
    return Reshape(made, (Part((product_of(made.type[0].shape),), "R"),))
