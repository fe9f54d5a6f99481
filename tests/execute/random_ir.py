"""Random programs of the atomic IR that are well typed, for holding interpreters together."""

from __future__ import annotations

from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    Cond,
    Poly,
    conj,
    const,
    coordinate,
    data_symbol,
    disj,
    eq,
    ge,
    length,
    product_of,
    the_symbol,
)
from tolcost.atoms.nodes import Block, Node, Part, Program, Type, Var
from tools.execute.builders import (
    as_block,
    block,
    build,
    component,
    convert,
    embed,
    filtered,
    fold,
    join,
    lam,
    mem,
    num,
    pack,
    program,
    put,
    ranged,
    ref,
    reshape,
    scalar,
    select,
    table,
    tensor,
    tol,
    total,
    where,
)

n, m, k = (length(name) for name in "nmk")
INPUTS = (
    tol("x", "R", n, m),
    tol("z", "Z", n),
    tol("s", "int8", m, n),
    tol("b", "B", m),
    tol("at", "Z", k),
    tol("f", "float32", k, n),
)
ARITHMETIC = ("add", "sub", "mul", "max", "min")
LOGIC = ("and", "or", "xor")


class Scope(Struct):
    """What an expression may mention: coordinates with their extents, and variables."""

    coords: list[tuple[Poly, Poly]] = field(default_factory=list)
    vars: list[Var] = field(default_factory=list)

    def inside(self, coords: list[Poly], extents: list[Poly]) -> Scope:
        return Scope([*self.coords, *zip(coords, extents, strict=True)], list(self.vars))


class Gen(Struct):
    """Draws programs; ``faults`` allows indices that may be out of range."""

    rng: Random
    faults: bool = False

    def program(self) -> Program:
        scope = Scope()
        bindings: list[tuple[Var, Node]] = []
        for i in range(self.rng.randint(0, 2)):
            node = self.anything(scope, 3)
            var = Var(f"v{i}", node.type)
            bindings.append((var, node))
            scope.vars.append(var)
        outputs = [self.anything(scope, 4) for _ in range(self.rng.randint(1, 2))]
        return program(*outputs, inputs=INPUTS, bindings=bindings)

    def anything(self, scope: Scope, fuel: int) -> Node:
        space = self.rng.choice(("R", "Z", "int8", "B", "float32"))
        return self.scalar(scope, space, fuel) if self.rng.random() < 0.3 else self.tol(scope, space, fuel)

    # ---- statics -------------------------------------------------------------------------

    def extent(self, scope: Scope) -> Poly:
        options = [n, m, k, n + 1, const(self.rng.randint(0, 3)), (m + 1) // 2]
        options += [c + self.rng.randint(-1, 1) for c, _ in scope.coords]
        return self.rng.choice(options)

    def loop(self, scope: Scope) -> tuple[list[Poly], list[Poly]]:
        extents = [self.extent(scope) for _ in range(self.rng.choice((1, 1, 2)))]
        return [coordinate(f"i{len(scope.coords)}", e) for e in extents], extents

    def integer(self, scope: Scope) -> Poly:
        terms = [n, m, k, const(self.rng.randint(-2, 3)), *(c for c, _ in scope.coords)]
        value = self.rng.choice(terms) * self.rng.randint(-1, 2) + self.rng.choice(terms)
        return value // self.rng.randint(2, 3) if self.rng.random() < 0.2 else value

    def condition(self, scope: Scope) -> Cond:
        made = [
            eq(self.integer(scope)) if self.rng.random() < 0.3 else ge(self.integer(scope))
            for _ in range(self.rng.choice((1, 1, 2)))
        ]
        return self.rng.choice((conj, disj))(*made)

    def index(self, scope: Scope, length_: Poly, fuel: int) -> Poly | Node:
        """A 1-based index: a coordinate that fits, or anything brought into range (or not)."""
        fitting = [c for c, e in scope.coords if e == length_]
        if fitting and self.rng.random() < 0.7:
            chosen = self.rng.choice(fitting)
            return chosen if self.rng.random() < 0.7 else length_ + 1 - chosen
        if self.faults and self.rng.random() < 0.3:
            return self.integer(scope)
        if fuel > 1 and self.rng.random() < 0.3:
            data = lam("mod", self.scalar(scope, "Z", fuel - 1), num(length_, "Z"), space="Z", charge="index")
            return lam("add", data, num(1, "Z"), space="Z", charge="index")
        return self.integer(scope) % length_ + 1 if length_.constant != 0 else const(1)

    # ---- numerics ------------------------------------------------------------------------

    def scalar(self, scope: Scope, space: str, fuel: int) -> Node:
        if fuel <= 0 or self.rng.random() < 0.1:
            return self.leaf(scope, space)
        kinds = ["apply", "apply", "shared", "fold", "fold", "reduce", "reduce", "select", "where", "member"]
        kinds += ["ragged", "until"]
        match self.rng.choice(kinds):
            case "apply":
                return self.apply(scope, space, fuel)
            case "shared":
                once = self.scalar(scope, space, fuel - 1)
                return lam("xor" if space == "B" else "sub", once, once)
            case "fold":
                return self.stepwise(scope, space, fuel)
            case "reduce":
                return self.reduce(scope, space, fuel)
            case "ragged":
                return self.ragged(scope, space, fuel)
            case "until":
                return self.until(scope, space, fuel)
            case "select":
                return select(
                    self.condition(scope), self.body(scope, space, fuel), self.body(scope, space, fuel)
                )
            case "where":
                condition = self.scalar(scope, "B", fuel - 1)
                return where(
                    condition, self.scalar(scope, space, fuel - 1), self.scalar(scope, space, fuel - 1)
                )
            case _:
                return self.member(scope, self.tol(scope, space, fuel - 1), fuel)

    def apply(self, scope: Scope, space: str, fuel: int) -> Node:
        if space == "B" and self.rng.random() < 0.5:
            other = self.rng.choice(("R", "Z"))
            args = [self.scalar(scope, other, fuel - 1) for _ in range(2)]
            return lam(self.rng.choice(("lt", "ge", "eq")), *args)
        function = self.rng.choice(LOGIC if space == "B" else ARITHMETIC)
        if space in ("R", "float32") and self.rng.random() < 0.2:
            return lam(self.rng.choice(("tanh", "floor", "abs", "erf")), self.scalar(scope, space, fuel - 1))
        return lam(function, self.scalar(scope, space, fuel - 1), self.scalar(scope, space, fuel - 1))

    def leaf(self, scope: Scope, space: str) -> Node:
        named = [var for var in scope.vars if var.type == scalar(space)]
        if named and self.rng.random() < 0.5:
            return ref(self.rng.choice(named))
        stored = [needed for needed in INPUTS if needed.type[0].space == space]
        if self.rng.random() < 0.7:
            return self.member(scope, self.rng.choice(stored), 0)
        if space == "B":
            return num(self.condition(scope), "B") if self.rng.random() < 0.5 else num(True, "B")
        if space in ("R", "float32") and self.rng.random() < 0.2:
            return lam("rand", num(float(self.rng.randint(1, 3)), space), space=space)
        return num(self.integer(scope), space)

    def member(self, scope: Scope, value: Node, fuel: int) -> Node:
        """Read a member, unless there might be none."""
        shape = value.type[0].shape
        space = value.type[0].space
        small = [c for c in shape if self.may_be_empty(c)]
        read = mem(value, *(self.index(scope, c, fuel - 1) for c in shape))
        if not small:
            return read
        return select(conj(*(ge(c - 1) for c in small)), read, num(const(1), space))

    @staticmethod
    def may_be_empty(p: Poly) -> bool:
        return p not in (n, m, k, n + 1, (m + 1) // 2) and not (p.constant or 0) > 0

    def body(self, scope: Scope, space: str, fuel: int) -> Block:
        inner = Scope(list(scope.coords), list(scope.vars))
        bindings = []
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            node = self.scalar(inner, self.rng.choice((space, "Z")), fuel - 2)
            if self.rng.random() < 0.3:
                node = self.tol(inner, space, fuel - 2)
            var = Var("b", node.type)
            bindings.append((var, node))
            inner.vars.append(var)
        return block(*bindings, self.scalar(inner, space, fuel - 1))

    # ---- folds ---------------------------------------------------------------------------

    def reduce(self, scope: Scope, space: str, fuel: int) -> Node:
        coords, extents = self.loop(scope)
        inner = scope.inside(coords, extents)
        functions = LOGIC if space == "B" else ("add", "add", "max", "min", "mul")
        element = self.scalar(inner, space, fuel - 1)
        if space != "B" and self.rng.random() < 0.4:
            element = lam("mul", element, self.scalar(inner, space, fuel - 1))
        function = self.rng.choice(functions)
        if self.rng.random() < 0.7:
            return total(coords, extents, element, function)
        acc = Var("acc", scalar(space))
        step = (
            lam(function, element, ref(acc)) if self.rng.random() < 0.5 else lam(function, ref(acc), element)
        )
        guarded = [step, ref(acc)]
        self.rng.shuffle(guarded)
        start = self.scalar(scope, space, fuel - 2)
        return fold(coords, extents, acc, start, select(self.condition(inner), *guarded))

    def ragged(self, scope: Scope, space: str, fuel: int) -> Node:
        """A fold over a range whose length data decides."""
        size = lam("mod", self.scalar(scope, "Z", fuel - 2), num(3, "Z"), charge="index")
        count = data_symbol("r", 0, self.rng.choice((None, const(2))), "range")
        length_ = (Var("r", size.type), ranged(size, count))
        p, acc = coordinate("p", count), Var("acc", scalar(space))
        inner = scope.inside([p], [count])
        inner.vars.append(acc)
        start = self.scalar(scope, space, fuel - 2)
        walked = fold([p], [count], acc, start, self.body(inner, space, fuel - 1))
        return build([], [], block(length_, walked))

    def until(self, scope: Scope, space: str, fuel: int) -> Node:
        """A fold that ends when a condition on data fails, after three steps at the latest."""
        turns = data_symbol("turns", 0, const(3), "turns")
        p, acc = coordinate("p", turns), Var("state", (Part((), "B"), Part((), space)))
        inner, carried = scope.inside([p], [turns]), Var("carried", scalar(space))
        inner.vars.append(carried)
        start = pack(self.scalar(scope, "B", fuel - 2), self.scalar(scope, space, fuel - 2))
        step = pack(self.scalar(inner, "B", fuel - 2), self.scalar(inner, space, fuel - 1))
        body = block((carried, component(ref(acc), 2)), step)
        walked = replace(fold([p], [turns], acc, start, body), ends=the_symbol(turns))
        named = Var("walked", walked.type)
        return build([], [], block((named, walked), component(ref(named), 2)))

    def stepwise(self, scope: Scope, space: str, fuel: int) -> Node:
        coords, extents = self.loop(scope)
        inner = scope.inside(coords, extents)
        acc = Var("acc", scalar(space))
        inner.vars.append(acc)
        start = self.scalar(scope, space, fuel - 2)
        if self.rng.random() < 0.3:
            return self.pair_fold(coords, extents, inner, space, fuel)
        return fold(coords, extents, acc, start, self.body(inner, space, fuel))

    def pair_fold(self, coords: list[Poly], extents: list[Poly], inner: Scope, space: str, fuel: int) -> Node:
        pair: Type = (Part((), space), Part((), "Z"))
        acc = Var("pair", pair)
        inner.vars = [var for var in inner.vars if var.name != "acc"]
        first = Var("first", scalar(space))
        named = (first, component(ref(acc), 1))
        inner.vars.append(first)
        items = [pack(self.scalar(inner, space, fuel - 2), num(self.integer(inner), "Z")) for _ in range(2)]
        step = where(self.scalar(inner, "B", fuel - 2), items[0], self.rng.choice((items[1], ref(acc))))
        start = pack(num(1, space), num(0, "Z"))
        return component(fold(coords, extents, acc, start, block(named, step)), 1)

    # ---- ToLs ----------------------------------------------------------------------------

    def tol(self, scope: Scope, space: str, fuel: int) -> Node:
        choice = self.rng.random()
        stored = [needed for needed in INPUTS if needed.type[0].space == space]
        known = [
            ref(var)
            for var in scope.vars
            if len(var.type) == 1 and var.type[0].space == space and var.type[0].shape
        ]
        if fuel <= 0 or choice < 0.1:
            return self.rng.choice([*stored, *known])
        if choice < 0.65:
            coords, extents = self.loop(scope)
            inner = scope.inside(coords, extents)
            if choice < 0.2:
                return build(coords, extents, self.tol(Scope(scope.coords, scope.vars), space, fuel - 1))
            return build(coords, extents, self.body(inner, space, fuel))
        return self.rearranged(scope, space, fuel)

    def rearranged(self, scope: Scope, space: str, fuel: int) -> Node:
        value = self.tol(scope, space, fuel - 1)
        shape = value.type[0].shape
        match self.rng.choice(
            ("flat", "join", "embed", "filter", "grow", "put", "convert", "select", "table")
        ):
            case "flat":
                return reshape(value, product_of(shape))
            case "join":
                d = self.rng.randint(1, len(shape))
                return join(value, value, d)
            case "embed":
                return embed(value)
            case "filter":
                return self.filtered(scope, value, fuel)
            case "grow":
                return self.grown(scope, space, fuel)
            case "put" if not any(self.may_be_empty(c) for c in shape):
                at = [self.index(scope, c, fuel - 2) for c in shape]
                return put(value, at, self.scalar(scope, space, fuel - 2))
            case "convert":
                other = self.rng.choice(("R", "Z", "int8", "float16"))
                return convert(convert(value, other), space)
            case "table":
                return table([self.integer(scope) for _ in range(4)], space, 2, 2) if space != "B" else value
            case _:
                return select(self.condition(scope), as_block(value), as_block(value))

    def filtered(self, scope: Scope, value: Node, fuel: int) -> Node:
        """Filter, and bring back to a length that is known: the entries, then zeros."""
        shape = value.type[0].shape
        if len(shape) != 1:
            return value
        space = value.type[0].space
        i = coordinate("f", shape[0])
        inner = scope.inside([i], [shape[0]])
        mask = build([i], [shape[0]], self.scalar(inner, "B", min(fuel - 1, 2)))
        kept = filtered(value, mask)
        count = kept.type[0].shape[0]
        named = Var("kept", kept.type)
        q, p = coordinate("q", shape[0]), coordinate("p", count)
        summed = total([p], [count], mem(ref(named), p), "or" if space == "B" else "add")
        entry = select(ge(count - q), mem(ref(named), q), summed)
        made = build([q], [shape[0]], entry)
        return build([], [], block((named, kept), made))

    def grown(self, scope: Scope, space: str, fuel: int) -> Node:
        extent = self.extent(scope)
        i = coordinate("g", extent)
        acc = Var("grown", tensor(space, 2 * i - 1))
        inner = scope.inside([i], [extent])
        last = Var("last", scalar(space))
        named = (last, mem(ref(acc), 2 * i - 1))
        inner.vars.append(last)
        entry = build([coordinate("e", 2)], [2], self.scalar(inner, space, fuel - 1))
        start = build([coordinate("e", 1)], [1], self.scalar(scope, space, fuel - 2))
        step = block(named, join(ref(acc), entry))
        return fold([i], [extent], acc, start, step, tensor(space, 2 * self.clipped(extent) + 1))

    @staticmethod
    def clipped(extent: Poly) -> Poly:
        from tolcost.algebra import relu

        return relu(extent)
