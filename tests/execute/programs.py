"""Small whole programs: what each computes is known from elsewhere."""

from __future__ import annotations

from tolcost.algebra import conj, const, coordinate, ge
from tolcost.atoms.nodes import Part, Program, Var
from tools.execute.builders import (
    block,
    build,
    component,
    convert,
    coords,
    embed,
    filtered,
    fold,
    join,
    k,
    lam,
    m,
    mem,
    n,
    num,
    pack,
    program,
    put,
    ref,
    reshape,
    scalar,
    select,
    tensor,
    tol,
    total,
    where,
)


def elementwise(function: str = "exp", space: str = "R") -> Program:
    x = tol("x", space, n, m)
    i, j = coords(("i", n), ("j", m))
    return program(build([i, j], [n, m], lam(function, mem(x, i, j))), inputs=[x])


def matmul(space: str = "R") -> Program:
    """The paper's: a vector of products, then its sum."""
    a, b = tol("a", space, n, k), tol("b", space, k, m)
    i, j, p, q = coords(("i", n), ("j", m), ("p", k), ("q", k))
    products = build([p], [k], lam("mul", mem(a, i, p), mem(b, p, j)))
    named = Var("v", products.type)
    added = total([q], [k], mem(ref(named), q))
    return program(build([i, j], [n, m], block((named, products), added)), inputs=[a, b])


def matmul_direct(space: str = "R") -> Program:
    """Multiply and accumulate."""
    a, b = tol("a", space, n, k), tol("b", space, k, m)
    i, j, p = coords(("i", n), ("j", m), ("p", k))
    added = total([p], [k], lam("mul", mem(a, i, p), mem(b, p, j)))
    return program(build([i, j], [n, m], added), inputs=[a, b])


def triangle(function: str = "add", space: str = "R") -> Program:
    """Row i reduces its first i entries."""
    x = tol("x", space, n, n)
    (i,) = coords(("i", n))
    (j,) = coords(("j", i))
    return program(build([i], [n], total([j], [i], mem(x, i, j), function)), inputs=[x])


def triangle_built() -> Program:
    """The same, with the ragged row made first."""
    x = tol("x", "R", n, n)
    (i,) = coords(("i", n))
    j, q = coords(("j", i), ("q", i))
    row = build([j], [i], lam("sqr", mem(x, i, j)))
    named = Var("row", row.type)
    body = block((named, row), total([q], [i], mem(ref(named), q)))
    return program(build([i], [n], body), inputs=[x])


def ragged_joined() -> Program:
    """Row i is its first i entries, then the rest negated: needs a loop over i."""
    x = tol("x", "Z", n)
    (i,) = coords(("i", n))
    j, q, p = coords(("j", i), ("q", n - i), ("p", n))
    left, right = build([j], [i], mem(x, j)), build([q], [n - i], lam("neg", mem(x, q + i)))
    row = join(left, right)
    named = Var("row", row.type)
    weighted = total([p], [n], lam("mul", mem(ref(named), p), num(p, "Z")))
    return program(build([i], [n], block((named, row), weighted)), inputs=[x])


def conv(stride: int = 2, pad: int = 1, exact: bool = False, space: str = "R") -> Program:
    """Convolve in one dimension with channels; taps in the padding read 0 or are left out."""
    x, w = tol("x", space, m, n), tol("w", space, k, m, 3)
    out = (n + 2 * pad - 3) // stride + 1
    f, o, c, q = coords(("f", k), ("o", out), ("c", m), ("q", 3))
    at = (o - 1) * stride + q - pad
    inside = conj(ge(at - 1), ge(n - at))
    acc = Var("acc", scalar(space))
    if exact:
        step = lam("add", ref(acc), lam("mul", mem(w, f, c, q), mem(x, c, at)))
        body = select(inside, step, ref(acc))
    else:
        padded = select(inside, mem(x, c, at), num(0, space))
        body = lam("add", ref(acc), lam("mul", mem(w, f, c, q), padded))
    taps = fold([c, q], [m, const(3)], acc, num(0, space), body)
    return program(build([f, o], [k, out], taps), inputs=[x, w])


def argmax() -> Program:
    """Keep the best value and where it is, row by row."""
    x = tol("x", "R", n, m)
    i, j = coords(("i", n), ("j", m))
    pair = (Part((), "R"), Part((), "Z"))
    acc = Var("best", pair)
    better = lam("gt", mem(x, i, j), component(ref(acc), 1))
    step = where(better, pack(mem(x, i, j), num(j, "Z")), ref(acc))
    start = pack(num(float("-inf"), "R"), num(0, "Z"))
    found = fold([j], [m], acc, start, step)
    return program(build([i], [n], found), inputs=[x])


def cumsum(space: str = "R") -> Program:
    """Grow a vector by one entry each step."""
    x = tol("x", space, n)
    (i,) = coords(("i", n))
    acc = Var("acc", tensor(space, i - 1))
    before = select(ge(i - 2), mem(ref(acc), i - 1), num(0, space))
    entry = embed(lam("add", before, mem(x, i)))
    empty = build([coordinate("e", 0)], [0], num(0, space))
    grown = fold([i], [n], acc, empty, join(ref(acc), entry), tensor(space, n))
    return program(grown, inputs=[x])


def keep_positive() -> Program:
    """Filter rows by the sign of a vector, and sum what is left."""
    x, s = tol("x", "R", n, m), tol("s", "R", n)
    (i,) = coords(("i", n))
    mask = build([i], [n], lam("gt", mem(s, i), num(0.0)))
    kept = filtered(x, mask)
    named = Var("kept", kept.type)
    count = kept.type[0].shape[0]
    a, b = coords(("a", count), ("b", m))
    return program(
        ref(named), total([a, b], [count, m], mem(ref(named), a, b)), inputs=[x, s], bindings=[(named, kept)]
    )


def keep_per_row() -> Program:
    """How much of each row is positive, summed: a length that differs from row to row."""
    x = tol("x", "R", n, m)
    i, j = coords(("i", n), ("j", m))
    row = Var("row", tensor("R", m))
    (p,) = coords(("p", m))
    copy = build([p], [m], mem(x, i, p))
    mask = build([j], [m], lam("gt", mem(ref(row), j), num(0.0)))
    kept = filtered(ref(row), mask)
    named = Var("kept", kept.type)
    count = kept.type[0].shape[0]
    (a,) = coords(("a", count))
    body = block((row, copy), (named, kept), total([a], [count], lam("sqr", mem(ref(named), a))))
    return program(build([i], [n], body), inputs=[x])


def scatter() -> Program:
    """Add updates into a vector at indices from data."""
    x, at, u = tol("x", "Z", n), tol("at", "Z", m), tol("u", "Z", m)
    (j,) = coords(("j", m))
    acc = Var("acc", x.type)
    place = mem(at, j)
    step = put(ref(acc), [place], lam("add", mem(ref(acc), place), mem(u, j)))
    return program(fold([j], [m], acc, x, step), inputs=[x, at, u])


def scatter_rows() -> Program:
    """The same on every row, with a grid around it."""
    x, at = tol("x", "Z", n, m), tol("at", "Z", n, k)
    i, j, p = coords(("i", n), ("j", k), ("p", m))
    row = build([p], [m], mem(x, i, p))
    acc = Var("acc", row.type)
    place = mem(at, i, j)
    step = put(ref(acc), [place], lam("add", mem(ref(acc), place), num(1, "Z")))
    return program(build([i], [n], fold([j], [k], acc, row, step)), inputs=[x, at])


def gather() -> Program:
    """Rows by index from data."""
    x, at = tol("x", "R", n, m), tol("at", "Z", k)
    j, p = coords(("j", k), ("p", m))
    return program(build([j, p], [k, m], mem(x, mem(at, j), p)), inputs=[x, at])


def gather_guarded() -> Program:
    """A fault in the branch not taken is no error."""
    x, at = tol("x", "R", n), tol("at", "Z", k)
    (j,) = coords(("j", k))
    place = mem(at, j)
    inside = lam("le", place, num(n, "Z"))
    return program(build([j], [k], where(inside, mem(x, place), num(-1.0))), inputs=[x, at])


def flattened() -> Program:
    x = tol("x", "int8", n, m)
    i, j = coords(("i", m), ("j", n))
    swapped = build([i, j], [m, n], mem(x, j, i))
    return program(convert(reshape(swapped, n * m), "float32"), inputs=[x])


def reduced(function: str, space: str) -> Program:
    x = tol("x", space, n, m)
    i, j = coords(("i", n), ("j", m))
    return program(build([j], [m], total([i], [n], mem(x, i, j), function)), inputs=[x])


def shared() -> Program:
    """One node object on many paths: 2**20 of them."""
    x = tol("x", "R", n)
    (i,) = coords(("i", n))
    node = lam("mul", mem(x, i), num(0.5))
    for _ in range(20):
        node = lam("add", node, node)
    return program(build([i], [n], node), inputs=[x])


def deep(depth: int = 5000) -> Program:
    x = tol("x", "R", n)
    (i,) = coords(("i", n))
    node = mem(x, i)
    for _ in range(depth):
        node = lam("add", node, num(1.0))
    return program(build([i], [n], node), inputs=[x])


def diagonal_windows(step: int = 1) -> Program:
    """Index arithmetic of every kind: reversed, strided, diagonal, through a floor."""
    x = tol("x", "Z", n, n)
    i, j = coords(("i", n), ("j", n))
    terms = [mem(x, i, i), mem(x, n + 1 - i, j), mem(x, (i + step) // 2, (j + 1) // 2), mem(x, 1, j)]
    value = terms[0]
    for term in terms[1:]:
        value = lam("sub", value, term)
    return program(build([i, j], [n, n], value), inputs=[x])


def fault_wider_than_data() -> Program:
    """Whether the member of an empty vector is read depends on i; what is read does not."""
    x = tol("x", "R", n)
    (i,) = coords(("i", n))
    empty = build([coordinate("e", 0)], [0], num(1.0))
    guarded = where(lam("gt", mem(x, i), num(0.0)), mem(empty, 1), num(5.0))
    chosen = select(ge(i - 2), guarded, num(7.0))
    return program(reshape(build([i], [n], chosen), n, 1), inputs=[x])


def filter_of_varying_length() -> Program:
    """Nothing in the vector that is filtered varies but its length."""
    (i,) = coords(("i", n))
    (j,) = coords(("j", i))
    ones, mask = build([j], [i], num(1, "Z")), build([j], [i], num(True, "B"))
    kept = filtered(ones, mask)
    named = Var("kept", kept.type)
    count = kept.type[0].shape[0]
    (a,) = coords(("a", count))
    body = block((named, kept), total([a], [count], mem(ref(named), a)))
    x = tol("x", "R", n)
    return program(build([i], [n], body), inputs=[x])
