"""Small programs in the atomic IR, built by hand, with spans into the text they stand for."""

from __future__ import annotations

from tolcost.algebra import Symbol, conj, coordinate, data_symbol, ge, length, the_symbol
from tolcost.atoms.nodes import (
    Block,
    Convert,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Node,
    Number,
    Output,
    Pack,
    Part,
    Program,
    Put,
    Reshape,
    Var,
    Where,
)
from tolcost.diagnostics import NOWHERE, Source, Span
from tools.execute.builders import build, fold, mem, ref, select, tensor

R0 = (Part((), "R"),)
n, m, k = length("n"), length("m"), length("k")
SYMBOLS = tuple(the_symbol(p) for p in (n, m, k))


def number(value: float, space: str = "R") -> Number:
    return Number(float(value), tensor(space))


def apply(function: str, *args: Node, space: str = "R", charge: str = "data", span: Span = NOWHERE) -> Lambda:
    return Lambda(function, args, space, tensor(space), charge, span)  # type: ignore[arg-type]


def block(result: Node, *bindings: tuple[Var, Node]) -> Block:
    return Block(bindings, result)


def program(
    *outputs: Node, bindings: tuple[tuple[Var, Node], ...] = (), inputs: tuple[Input, ...] = ()
) -> Program:
    named = tuple(Output(f"out{i}", node) for i, node in enumerate(outputs, 1))
    return Program("test", inputs, bindings, named)


A = Input("a", tensor("R", n, k))
B = Input("b", tensor("R", k, m))
X = Input("x", tensor("R", n))

MATMUL_TEXT = """tol a: R [n, k]
tol b: R [k, m]
tol result = [|a|[1], |b|[2]]
vec(i,j) = map(a[i], mul(*, b[*,j]))
elem(i,j) = reduce(vec(i,j), add, 0)
result := map(result, elem(i,j), [i,j])
"""


def _at(text: str, piece: str) -> Span:
    start = text.index(piece)
    return Span(Source("matmul.tol", text), start, start + len(piece))


def matmul() -> Program:
    i, j, p, q = coordinate("i", n), coordinate("j", m), coordinate("p", k), coordinate("q", k)
    mul = apply("mul", mem(A, i, p), mem(B, p, j), span=_at(MATMUL_TEXT, "mul(*, b[*,j])"))
    vec = Var("vec(i,j)", tensor("R", k))
    acc = Var("acc", R0)
    products = build([p], [k], mul, _at(MATMUL_TEXT, "map(a[i], mul(*, b[*,j]))"))
    reduce_span = _at(MATMUL_TEXT, "reduce(vec(i,j), add, 0)")
    added = apply("add", ref(acc), mem(ref(vec), q), span=reduce_span)
    elem = fold([q], [k], acc, number(0), added, span=reduce_span)
    result = build(
        [i, j], [n, m], block(elem, (vec, products)), _at(MATMUL_TEXT, "map(result, elem(i,j), [i,j])")
    )
    span = _at(MATMUL_TEXT, "result := map(result, elem(i,j), [i,j])")
    return Program("matmul", (A, B), (), (Output("result", result, span),))


def triangle() -> Program:
    """Row i adds up its first i products."""
    i = coordinate("i", n)
    j = coordinate("j", i)
    acc = Var("acc", R0)
    body = apply("add", ref(acc), apply("mul", mem(X, i), mem(X, j)))
    return program(build([i], [n], fold([j], [i], acc, number(0), body)), inputs=(X,))


def padded_conv(stride: int = 2, kernel: int = 3, pad: int = 1) -> Program:
    """A one-dimensional convolution that skips the taps that fall into the padding."""
    w = Input("w", tensor("R", length("kk", kernel, kernel)))
    out = (n + 2 * pad - kernel) // stride + 1
    o, t = coordinate("o", out), coordinate("t", kernel)
    at = (o - 1) * stride + t - pad
    acc = Var("acc", R0)
    inside = conj(ge(at - 1), ge(n - at))
    step = apply("add", ref(acc), apply("mul", mem(X, at), mem(w, t)))
    body = select(inside, step, ref(acc))
    kernels = n * 0 + kernel
    return program(build([o], [out], fold([t], [kernels], acc, number(0), body)), inputs=(X, w))


def scan() -> Program:
    """Running sums: the accumulator is a vector that grows by one each step."""
    i = coordinate("i", n)
    acc = Var("acc", tensor("R", i))
    last = apply("add", mem(ref(acc), i), mem(X, i))
    one = coordinate("u", 1)
    grown = Join(ref(acc), build([one], [n * 0 + 1], last), 1, tensor("R", i + 1))
    start = build([coordinate("v", 1)], [n * 0 + 1], number(0))
    done = Fold((the_symbol(i),), (n,), acc, start, block(grown), tensor("R", n + 1))
    return program(done, inputs=(X,))


def filtered() -> tuple[Program, Symbol]:
    """The squares of what is positive."""
    z = data_symbol("z", 0, n)
    i, j = coordinate("i", n), coordinate("j", z)
    mask = build([i], [n], Lambda("gt", (mem(X, i), number(0)), "R", tensor("B")))
    kept = Filter(X, mask, the_symbol(z), tensor("R", z))
    var = Var("kept", tensor("R", z))
    squares = build([j], [z], apply("mul", mem(ref(var), j), mem(ref(var), j)))
    return program(squares, bindings=((var, kept),), inputs=(X,)), the_symbol(z)


def filtered_in_a_loop() -> Program:
    """For each row of a, the sum of what is positive in it."""
    i, j = coordinate("i", n), coordinate("j", k)
    z = data_symbol("z", 0, k)
    q = coordinate("q", z)
    row = build([coordinate("r", k)], [k], mem(A, i, j))
    mask = build([j], [k], Lambda("gt", (mem(A, i, j), number(0)), "R", tensor("B")))
    var, acc = Var("kept", tensor("R", z)), Var("acc", R0)
    kept = Filter(row, mask, the_symbol(z), tensor("R", z))
    added = fold([q], [z], acc, number(0), apply("add", ref(acc), mem(ref(var), q)))
    return program(build([i], [n], block(added, (var, kept))), inputs=(A,))


def moving_data() -> Program:
    """Every way to move data, over shapes of rank 2."""
    i, j = coordinate("i", n), coordinate("j", k)
    rows = build([i], [n], build([j], [k], mem(A, i, j)))
    flat = Reshape(rows, tensor("R", n * k))
    halves = Convert(A, tensor("float16", n, k))
    changed = Put(A, (n * 0 + 1,), build([coordinate("c", k)], [k], number(1)), tensor("R", n, k))
    pair = build([coordinate("p", n)], [n], Pack((number(1), mem(X, n)), (Part((), "R"), Part((), "R"))))
    looked = mem(X, apply("add", mem(X, n), number(1), charge="index"))
    return program(flat, halves, changed, pair, looked, inputs=(A, X))


def shared_and_chosen() -> Program:
    """A node used by many paths, a choice that lengths decide, and one that data decides."""
    value: Node = apply("exp", mem(X, n))
    for _ in range(30):
        value = apply("add", value, value)
    choice = select(ge(n - 5), apply("mul", value, value), apply("sqrt", mem(X, n)))
    where = Where(apply("lt", mem(X, n), number(0)), choice, number(0), "R", R0)
    return program(where, inputs=(X,))


def conv2d(exact: bool = True, stride: int = 2, kernel: int = 3, pad: int = 1) -> Program:
    """A convolution with channels; taps in the padding are skipped, or multiply by zero."""
    height, width = length("H"), length("W")
    into, out = length("Ci"), length("Co")
    x = Input("x", tensor("R", into, height, width))
    size = n * 0 + kernel
    w = Input("w", tensor("R", out, into, size, size))
    rows, columns = ((side + 2 * pad - kernel) // stride + 1 for side in (height, width))
    f, oy, ox = coordinate("f", out), coordinate("oy", rows), coordinate("ox", columns)
    c, ky, kx = coordinate("c", into), coordinate("ky", size), coordinate("kx", size)
    y, z = (oy - 1) * stride + ky - pad, (ox - 1) * stride + kx - pad
    inside = conj(ge(y - 1), ge(height - y), ge(z - 1), ge(width - z))
    acc = Var("acc", R0)
    if exact:
        product = apply("mul", mem(x, c, y, z), mem(w, f, c, ky, kx))
        step: Node = select(inside, apply("add", ref(acc), product), ref(acc))
    else:
        padded = select(inside, mem(x, c, y, z), number(0))
        step = apply("add", ref(acc), apply("mul", padded, mem(w, f, c, ky, kx)))
    taps = fold([c, ky, kx], [into, size, size], acc, number(0), step)
    return program(build([f, oy, ox], [out, rows, columns], taps), inputs=(x, w))
