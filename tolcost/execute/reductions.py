"""Folds that NumPy can evaluate at once: recognising them, and reducing or contracting arrays.

A fold whose step is ``f(accumulator, e)``, with f associative and e free of the accumulator, is a reduction
of e over the fold's coordinates.  The step may be under a static guard whose other side returns the
accumulator.  If f adds and e is a product, the fold is a contraction.  Where f subtracts, the elements are
added up first and then subtracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import Cond, Poly, negate
from tolcost.atoms.kit import Schedule, blocks, children, inner_nodes, is_ref, roots, schedule
from tolcost.atoms.nodes import Block, Build, Fold, Lambda, Member, Node, Ref, Select, Var
from tolcost.elementary import FUNCTIONS
from tolcost.execute.dtypes import Array, convert, dtype_of, working_dtype
from tolcost.execute.functions import apply_function
from tolcost.spaces import SPACES, kind_of

GATHERED = {name: name for name in ("add", "mul", "max", "min", "and", "or", "xor")} | {"sub": "add"}
"""The functions that a fold may apply, with the function that combines its elements first."""


class FoldReduction(Struct, frozen=True):
    """How to evaluate a fold at once.

    ``outside`` has the bindings evaluated at every point.  Where the condition holds, ``inside`` gives e, or
    the two factors of e if ``product`` is the multiplication that makes it.  ``through`` is the variable
    whose members e reads, if it reads any.
    """

    step: Lambda
    outside: Schedule
    condition: Cond | None
    inside: Schedule
    product: Lambda | None
    through: Var | None


@lru_cache(maxsize=1 << 10)
def recognise(fold: Fold) -> FoldReduction | None:
    """Return how to evaluate a fold that is a reduction; None if it must be evaluated step by step."""
    if len(fold.type) != 1 or fold.type[0].shape or fold.ends is not None:
        return None
    found = _guarded_step(fold.body, fold.accumulator)
    if found is None:
        return None
    condition, block = found
    if not isinstance(block.result, Lambda) or not _is_reducible(block.result, fold):
        return None
    element = _element(block.result, fold.accumulator)
    if element is None:
        return None
    outer = fold.body.bindings if block is not fold.body else ()
    needed = [*(node for _, node in (*outer, *block.bindings)), element]
    if any(is_ref(node, fold.accumulator) for node in inner_nodes(needed)):
        return None
    product = product_of(element, block.result)
    inside = schedule(block.bindings, product.args if product is not None else (element,))
    through = _through(element, fold) if condition is None and not block.bindings else None
    return FoldReduction(block.result, schedule(outer, ()), condition, inside, product, through)


def through_build(reduction: FoldReduction, build: Build) -> FoldReduction:
    """Return the reduction of a Build's members as they are computed, without building them."""
    element = build.body.result
    product = product_of(element, reduction.step)
    inside = schedule(build.body.bindings, product.args if product is not None else (element,))
    return replace(reduction, inside=inside, product=product, through=None)


def _guarded_step(body: Block, accumulator: Var) -> tuple[Cond | None, Block] | None:
    """Return the guard of a step, if there is one, and the block of the step."""
    result = body.result
    if not isinstance(result, Select):
        return None, body
    if isinstance(result.condition, Node):
        return None
    if is_ref(result.other.result, accumulator) and not result.other.bindings:
        return result.condition, result.then
    if is_ref(result.then.result, accumulator) and not result.then.bindings:
        return negate(result.condition), result.other
    return None


def _is_reducible(step: Lambda, fold: Fold) -> bool:
    """Whether the function is associative, and no step changes the space."""
    space = fold.accumulator.type[0].space
    if step.function not in GATHERED or not space == step.space == step.type[0].space == fold.type[0].space:
        return False
    logical = FUNCTIONS[step.function].rule == "logic"
    return kind_of(space) in (("B", "Z") if logical else ("Z", "R", "C"))


def _element(step: Lambda, accumulator: Var) -> Node | None:
    """Return the argument that is not the accumulator; all of these functions but ``sub`` commute."""
    left, right = step.args
    if is_ref(left, accumulator):
        return right
    return left if step.function == GATHERED[step.function] and is_ref(right, accumulator) else None


def product_of(element: Node, step: Lambda) -> Lambda | None:
    """Return the multiplication whose products a fold adds up directly."""
    if GATHERED.get(step.function) != "add" or not isinstance(element, Lambda) or element.function != "mul":
        return None
    return element if element.space == element.type[0].space == step.space else None


def _through(element: Node, fold: Fold) -> Var | None:
    """Return the variable whose members a fold reduces in their own order."""
    if not isinstance(element, Member) or not isinstance(element.tol, Ref):
        return None
    own = tuple(Poly({(symbol,): 1}) for symbol in fold.coords)
    same = len(element.at) == len(own) and all(
        isinstance(index, Poly) and index == coord for index, coord in zip(element.at, own, strict=True)
    )
    return element.tol.var if same else None


def fusible(plan: Schedule, reductions: Mapping[Fold, FoldReduction | None]) -> frozenset[Var]:
    """Find named Builds of numerics whose only use is a reduction by a fold of the same block.

    They need not be built: the fold can reduce their members as they are computed.
    """
    built = {
        step.binds[0]: step.node
        for step in plan.steps
        if len(step.binds) == 1 and isinstance(step.node, Build) and numeric_body(step.node)
    }
    if not built:
        return frozenset()
    folds = [step.node for step in plan.steps if isinstance(step.node, Fold)]
    wanted = {
        reduction.through: fold
        for fold in folds
        if (reduction := reductions[fold]) is not None and reduction.through in built
    }
    uses = _uses(plan) if wanted else {}
    return frozenset(
        var for var, fold in wanted.items() if uses[var] == 1 and built[var].extents == fold.extents
    )


@lru_cache(maxsize=1 << 10)
def _uses(plan: Schedule) -> Counter[Var]:
    """Count the uses of each variable; one Ref may occur in several places."""
    taken = [plan.steps[k].node for k in plan.roots]
    for node in inner_nodes(step.node for step in plan.steps):
        taken.extend(children(node))
        for block in blocks(node):
            taken.extend(roots(block))
    return Counter(node.var for node in taken if isinstance(node, Ref))


def numeric_body(build: Build) -> bool:
    """Whether the members of a Build are numerics."""
    return len(build.type) == 1 and len(build.type[0].shape) == len(build.coords) > 0


UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
_LOGICAL: dict[str, tuple[np.ufunc, np.ufunc]] = {
    "and": (np.logical_and, np.bitwise_and),
    "or": (np.logical_or, np.bitwise_or),
    "xor": (np.logical_xor, np.bitwise_xor),
}
_EXACT_FLOAT = 2**53
"""float64 represents every whole number below this."""


def reduce_axes(function: str, space: str, data: Array, axes: tuple[int, ...]) -> Array:
    """Reduce over axes, none of them empty, which remain with size 1.

    Narrow types are reduced in a wider one and rounded once at the end.

    >>> reduce_axes("add", "int8", np.array([[100, 100]], np.int8), (1,)).tolist()
    [[-56]]
    """
    ready = convert(data, space).astype(working_dtype(space), copy=False)
    ufunc = _ufunc(function, ready.dtype)
    for axis in _one_at_a_time(ufunc, axes):
        ready = ufunc.reduce(ready, axis=axis, keepdims=True, dtype=_kept(ufunc, ready.dtype))
    return convert(ready, space)


def _ufunc(function: str, dtype: np.dtype[Any]) -> np.ufunc:
    if function in UFUNCS:
        return UFUNCS[function]
    on_truth, on_bits = _LOGICAL[function]
    return on_truth if dtype == np.bool_ else on_bits


def _one_at_a_time(ufunc: np.ufunc, axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the axes of each call: some functions reduce only one axis at a time."""
    return [axes] if ufunc in (np.add, np.multiply, np.maximum, np.minimum) else [(axis,) for axis in axes]


def _kept(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the element type to keep, since NumPy would widen sums of small integers."""
    return dtype if ufunc in (np.add, np.multiply) else None


def identity(function: str, space: str) -> Array:
    """Return the identity element of a function."""
    dtype = dtype_of(space)
    match function:
        case "add" | "or" | "xor":
            return np.zeros((), dtype)
        case "mul":
            return np.ones((), dtype)
        case "and":
            return np.ones((), np.bool_) if kind_of(space) == "B" else np.asarray(-1).astype(dtype)
        case _:
            return _extreme(dtype, space, lowest=function == "max")


def _extreme(dtype: np.dtype[Any], space: str, lowest: bool) -> Array:
    if kind_of(space) == "Z":
        limits = SPACES["int64"] if SPACES[space].bits is None else SPACES[space]
        return np.asarray(limits.lo if lowest else limits.hi).astype(dtype)
    return np.asarray(-np.inf if lowest else np.inf).astype(dtype)


def combine(function: str, space: str, left: Array, right: Array) -> Array:
    """Apply the function of a reduction to the results of two parts."""
    return apply_function(function, space, space, [left, right])


def contract(a: Array, b: Array, space: str, sizes: Sequence[int], over: frozenset[int]) -> Array:
    """Sum the products of two arrays over axes, which remain with size 1.

    Both arrays have one axis for each of ``sizes``, of that size or of size 1.

    >>> x = np.arange(6.0).reshape(2, 3, 1)
    >>> contract(x, np.ones((1, 3, 4)), "R", (2, 3, 4), frozenset((1,)))[:, 0].tolist()
    [[3.0, 3.0, 3.0, 3.0], [12.0, 12.0, 12.0, 12.0]]
    """
    dtype = working_dtype(space)
    left, right = (_filled(convert(x, space).astype(dtype, copy=False), sizes, over) for x in (a, b))
    both = [k for k in range(len(sizes)) if left.shape[k] > 1 and right.shape[k] > 1]
    batch = [k for k in both if k not in over]
    inner = [k for k in both if k in over]
    rows = [k for k in range(len(sizes)) if left.shape[k] > 1 and k not in both]
    columns = [k for k in range(len(sizes)) if right.shape[k] > 1 and k not in both]
    product = _multiply(_matrix(left, batch, rows, inner), _matrix(right, batch, inner, columns))
    order = [*batch, *rows, *columns]
    shape = [max(left.shape[k], right.shape[k]) for k in order]
    laid = product.reshape(shape).transpose(np.argsort(order) if order else [])
    full = [max(left.shape[k], right.shape[k]) if k in order else 1 for k in range(len(sizes))]
    return convert(laid.reshape(full), space)


def _filled(x: Array, sizes: Sequence[int], over: frozenset[int]) -> Array:
    """Broadcast an array along the summed axes that it does not vary along: each repetition is a term."""
    shape = tuple(sizes[k] if k in over else size for k, size in enumerate(x.shape))
    return x if shape == x.shape else np.broadcast_to(x, shape)


def _matrix(x: Array, batch: list[int], rows: list[int], columns: list[int]) -> Array:
    """Reshape an array into a stack of matrices."""
    order = [*batch, *rows, *columns]
    rest = [k for k in range(x.ndim) if k not in order]
    sizes = [prod(x.shape[k] for k in group) for group in (batch, rows, columns)]
    return x.transpose(*order, *rest).reshape(sizes)


def _multiply(a: Array, b: Array) -> Array:
    if a.shape[1] == 1 and b.shape[2] == 1:
        return np.asarray(np.einsum("brk,bkc->brc", a, b))
    if a.dtype.kind in "iu" and _fits_floats(a, b):
        exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return np.asarray(exact.astype(np.int64).astype(a.dtype))
    return np.asarray(np.matmul(a, b))


def _fits_floats(a: Array, b: Array) -> bool:
    """Whether float64 represents every partial sum exactly; its matrix product is far faster."""
    reach = [max(abs(int(x.max(initial=0))), abs(int(x.min(initial=0)))) for x in (a, b)]
    return bool(reach[0] * reach[1] * a.shape[2] < _EXACT_FLOAT)
