"""Exact evaluation at many points with NumPy.

A bound on every intermediate value, computed in Python integers, decides how to compute: in int64 if it fits;
up to about 110 bits with the low 64 bits and a float estimate of the rest; otherwise in Python integers.
Nothing overflows silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from operator import index
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tolcost.algebra.conditions import Cond, Logic
from tolcost.algebra.floors import MEANING
from tolcost.algebra.poly import (
    Composite,
    Floor,
    Generator,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
)
from tolcost.algebra.walk import FormWalk, Rule, RuleTable
from tolcost.diagnostics import quoted, visible

_K = TypeVar("_K")

# int64, or Python integers in an object array: NumPy's types cannot express this.
Ints: TypeAlias = npt.NDArray[Any]
AtPoint: TypeAlias = Callable[[Generator, Mapping[Symbol, int]], int]
"""Evaluates one generator at one point."""
_CHUNK = 1 << 16
"""The number of points evaluated together, which bounds the memory of intermediate columns."""
_INT64 = 2**63
_TWO_LIMBS = 2**113  # bound * (rounding steps) below this keeps the float estimate within half of 2**64


def evaluate_columns(p: Poly, values: Mapping[Symbol, Sequence[int] | Ints], at_point: AtPoint) -> Ints:
    """Evaluate at all points; int64 if every result fits, else Python integers."""
    columns = {symbol: _column(column) for symbol, column in values.items()}
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        raise ValueError("columns of different lengths")
    size = sizes.pop() if sizes else 1
    blocks = []
    for start in range(0, size, _CHUNK):
        rows = {symbol: column[start : start + _CHUNK] for symbol, column in columns.items()}
        blocks.append(_Table(min(_CHUNK, size - start), rows, at_point).form(p))
    if not blocks:
        return np.empty(0, dtype=np.int64)
    if len({block.dtype for block in blocks}) > 1:
        blocks = [block.astype(object) for block in blocks]
    return np.concatenate(blocks)


def decide_columns(cond: Cond, values: Mapping[Symbol, Sequence[int] | Ints], at_point: AtPoint) -> Ints:
    """Decide a condition at all points: an array of truth values, or one value for all of them."""
    return _TRUTHS.of(cond, lambda p: evaluate_columns(p, values, at_point))


_TRUTHS: Logic[Ints, Ints] = Logic(
    lambda column: np.array(column >= 0),
    lambda column: np.array(column == 0),
    lambda column: np.array(column != 0),
    np.array,
    partial(reduce, np.logical_and),
    partial(reduce, np.logical_or),
)


def broadcast(values: Mapping[_K, int | Sequence[int] | Ints]) -> tuple[dict[_K, Ints], tuple[int, ...]]:
    """Broadcast numbers, sequences and arrays to columns of one length; return them with the broadcast shape.

    >>> columns, shape = broadcast({"n": 8, "k": [1, 2, 3]})
    >>> columns["n"].tolist(), shape
    ([8, 8, 8], (3,))
    """
    arrays = [_check_integers(str(name), np.asarray(value)) for name, value in values.items()]
    together = np.broadcast_arrays(*arrays)
    columns = (_column(array.reshape(-1)) for array in together)
    return dict(zip(values, columns, strict=True)), together[0].shape


def _check_integers(name: str, array: Ints) -> Ints:
    """Return the array; reject values that are not integers, as Python does, instead of converting them."""
    for value in () if array.dtype.kind in "iu" else array.flat:
        try:
            index(value)
        except TypeError:
            message = f"the length {quoted(name)} is an integer, not {visible(repr(value))[:60]}"
            raise TypeError(message) from None
    return array


def largest(columns: Iterable[Ints]) -> Ints:
    """Return the largest of several columns at each point."""
    return reduce(np.maximum, columns)


def shaped(column: Sequence[object] | Ints, shape: tuple[int, ...]) -> Ints:
    """Return a column as an array of a shape: int64 if all values fit, else Python objects."""
    known = isinstance(column, np.ndarray) or all(isinstance(value, int) for value in column)
    return (_column(column) if known else np.array(column, dtype=object)).reshape(shape)  # type: ignore[arg-type]


def _column(column: Sequence[int] | Ints) -> Ints:
    if isinstance(column, np.ndarray) and column.dtype == np.int64:
        return column
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.dtype != np.uint64:
        return column.astype(np.int64)
    listed = [int(value) for value in column]
    small = all(-_INT64 <= value < _INT64 for value in listed)
    return np.array(listed, dtype=np.int64 if small else object)


def _largest(column: Ints) -> int:
    """Return the largest absolute value."""
    return max(abs(int(column.max())), abs(int(column.min()))) if len(column) else 0


def _numerator(p: Poly, table: _Table) -> Ints:
    if not p.terms:
        return np.zeros(table.size, dtype=np.int64)
    columns = {g: table.generator(g) for mono in p.terms for g in mono}
    largest = {g: _largest(column) for g, column in columns.items()}
    bound = sum(_monomial_bound(mono, coef, largest) for mono, coef in p.terms.items())
    if any(column.dtype == object for column in columns.values()):
        return _sum_of_products(p, table, columns, object)
    if bound < _INT64:
        return _sum_of_products(p, table, columns, np.int64)
    steps = len(p.terms) + max(map(len, p.terms)) + 4
    if bound * steps < _TWO_LIMBS:
        return _two_limbs(p, table, columns)
    return _sum_of_products(p, table, columns, object)


def _monomial_bound(mono: Monomial, coef: int, largest: Mapping[Generator, int]) -> int:
    """Bound a product and every partial product; a factor that is 0 must not hide a large one."""
    bound = max(abs(coef), 1)
    for generator in mono:
        bound *= max(largest[generator], 1)
    return bound


def _sum_of_products(p: Poly, table: _Table, columns: Mapping[Generator, Ints], dtype: type) -> Ints:
    total: Ints = np.zeros(table.size, dtype=dtype)
    for mono, coef in p.terms.items():
        if not mono:
            total += coef
            continue
        product: Ints = columns[mono[0]].astype(dtype)
        for generator in mono[1:]:
            product *= columns[generator]
        total += product if coef == 1 else product * coef
    return total


def _two_limbs(p: Poly, table: _Table, columns: Mapping[Generator, Ints]) -> Ints:
    """Compute modulo 2**64 and, roughly, in floats; together they determine the exact value."""
    low = np.zeros(table.size, dtype=np.uint64)
    rough = np.zeros(table.size, dtype=np.float64)
    for mono, coef in p.terms.items():
        part = np.full(table.size, coef % 2**64, dtype=np.uint64)
        estimate = np.full(table.size, float(coef), dtype=np.float64)
        for generator in mono:
            part *= columns[generator].view(np.uint64)
            estimate *= columns[generator]
        low += part
        rough += estimate
    high = np.rint((rough - low) / 2.0**64).astype(np.int64)
    exact: Ints = high.astype(object) * 2**64 + low.astype(object)
    return exact


def _as_int64(column: Ints) -> Ints:
    if column.dtype == object and _largest(column) < _INT64:
        return column.astype(np.int64)
    return column


def _given_column(table: _Table, symbol: Symbol) -> Ints:
    if symbol not in table.columns:
        raise UnboundSymbol(symbol)
    return np.ascontiguousarray(table.columns[symbol])


def _floor_column(table: _Table, floor: Floor) -> Ints:
    top, bottom = _as_int64(table.form(floor.p)), _as_int64(table.form(floor.q))
    if (bottom < 1).any():
        raise NotInteger(f"a divisor, {floor.q}, is not positive at some point")
    if object in (top.dtype, bottom.dtype):
        return _as_int64(top.astype(object) // bottom.astype(object))
    return top // bottom


def _clip_column(table: _Table, clip: Relu) -> Ints:
    return np.maximum(_as_int64(table.form(clip.p)), 0)


def _sum_column(table: _Table, generator: Sum) -> Ints:
    """Evaluate a sum without a closed form point by point, each distinct point once."""
    symbols = sorted(generator.free, key=lambda s: s.key)
    rows = list(zip(*(table.generator(s).tolist() for s in symbols), strict=True)) or [()] * table.size
    known = {row: table.at_point(generator, dict(zip(symbols, row, strict=True))) for row in set(rows)}
    return _column([known[row] for row in rows])


def _column_by_meaning(table: _Table, generator: Composite) -> Ints:
    meaning, parts = MEANING[type(generator)], [table.form(part).tolist() for part in generator.parts]
    return _column([meaning(generator, *values) for values in zip(*parts, strict=True)])


COLUMNS: RuleTable[Rule[Ints]] = RuleTable(
    "column",
    {Symbol: _given_column, Floor: _floor_column, Relu: _clip_column, Sum: _sum_column},
    otherwise=_column_by_meaning,
)


class _Table(FormWalk[Ints, Ints]):
    """A block of points: a column for every symbol, and the columns computed so far."""

    rules = COLUMNS
    size: int
    columns: Mapping[Symbol, Ints]
    at_point: AtPoint

    def form(self, p: Poly) -> Ints:
        """Evaluate a polynomial, including the division by its denominator."""
        top = _numerator(p, self)
        if p.den == 1:
            return top
        if top.dtype != object and p.den >= _INT64:
            top = top.astype(object)
        quotient = top // p.den
        if (quotient * p.den != top).any():
            raise NotInteger(f"{p} is not an integer at some point")
        return _as_int64(quotient)
