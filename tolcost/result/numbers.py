"""Exact numbers at a point, and at many points at once.

Where the closed forms of a study hold, many points are evaluated together; every other point goes through
the gate for points by itself, and has numbers or a reason why it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from tolcost.algebra import NotInteger, Poly, Symbol, decide_many, evaluate_many, symbols_of_cond
from tolcost.cost.span import Depth
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import Rejected, UnknownLength, visible
from tolcost.result.study import Located
from tolcost.show.document import Form, form_at

if TYPE_CHECKING:
    from tolcost.algebra.vectorised import Ints

FigureValue: TypeAlias = int | Fraction | None
SweptLengths: TypeAlias = "int | Sequence[int] | Ints"


@dataclass(frozen=True)
class ExactNumbers:
    r"""Exact integers at a point: ``numbers.eops``, ``numbers["eops"]``.

    A figure is None where data, or something unknown, decides it.  Fewer bytes may move than ``bytes`` says
    where ``bytes_exact`` is False.

    >>> import tolcost
    >>> numbers = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*) + 1)")(n=10**9)
    >>> numbers.eops, numbers["intensity"], numbers.histogram["exp", "R"]
    (2000000000, Fraction(1, 4), 1000000000)
    """

    dims: Mapping[str, int]
    figures: Mapping[str, FigureValue]
    histogram: Mapping[tuple[str, str], int | None]
    index: Mapping[tuple[str, str], int | None]
    atoms: Mapping[str, int | None]
    bytes_exact: bool = True

    def __getitem__(self, name: str) -> FigureValue:
        """A figure by its key."""
        return self.figures[name]

    def __getattr__(self, name: str) -> FigureValue:
        """A figure as an attribute."""
        try:
            return vars(self)["figures"][name]  # type: ignore[no-any-return]  # a copy begins without any
        except KeyError:
            raise AttributeError(f"there is no figure {name!r}") from None


@dataclass(frozen=True, eq=False)
class NumberColumns:
    r"""Exact integers at many points: ``columns.eops`` is an array, of int64 where all fit.

    Lengths may be numbers, sequences or arrays; they are broadcast, and figures have the shape that gives.

    >>> import tolcost
    >>> columns = tolcost.analyze("tol x: R [n, k]\ny := map(x, exp(*))")(n=[1, 2, 3], k=10**9)
    >>> columns.eops.tolist(), columns.dims["n"].tolist()
    ([1000000000, 2000000000, 3000000000], [1, 2, 3])
    """

    dims: Mapping[str, Ints]
    _points: Points = field(repr=False)
    _forms: Mapping[str, Form | None] = field(repr=False)

    def __getitem__(self, name: str) -> Ints:
        """A figure by its key, at every point."""
        from tolcost.algebra.vectorised import shaped

        return shaped(self._points.figure(name, self._forms[name]), self._points.shape)

    def __getattr__(self, name: str) -> Ints:
        """A figure as an attribute."""
        if name not in vars(self).get("_forms", ()):  # a copy begins without any
            raise AttributeError(f"there is no figure {name!r}")
        return self[name]


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Lengths at many points, in columns; where the closed forms hold, and what there is at the others."""

    dims: Mapping[str, Ints]
    shape: tuple[int, ...]
    size: int
    general: Mapping[Symbol, Ints]
    others: Mapping[int, ExactNumbers | Rejected]

    def figure(self, name: str, form: Form | None) -> Sequence[FigureValue] | Ints:
        """A figure at every point; None where it has no value."""
        inside = self.size - len(self.others)
        found = _values(form, self.general, inside) if inside else ()
        if not self.others:
            return found
        rest = iter(found if isinstance(found, Sequence) else found.tolist())
        return [self._other(n, name) if n in self.others else next(rest) for n in range(self.size)]

    def _other(self, n: int, name: str) -> FigureValue:
        found = self.others[n]
        return None if isinstance(found, Rejected) else found.figures.get(name)

    def accepted(self) -> Points:
        """These points, all of which have numbers; otherwise ``Rejected``, with the first that has none."""
        for n, found in self.others.items():
            if isinstance(found, Rejected):
                at = ", ".join(f"{visible(name)} = {column[n]:,}" for name, column in self.dims.items())
                first, *more = found.diagnostics
                raise Rejected(replace(first, message=f"at {at}: {first.message}"), *more)
        return self


def many_points(
    cost: Located, lengths: Mapping[str, SweptLengths], numbers: Callable[[Mapping[str, int]], ExactNumbers]
) -> Points:
    """Look at a cost at many points; ``numbers`` gives those of a single one."""
    from tolcost.algebra.vectorised import broadcast

    dims, shape = broadcast({**cost.point.given, **lengths})
    size = len(next(iter(dims.values())))
    general = _general(cost, dims)
    holds = [False] * size if general is None else _held(cost, general, size)
    others: dict[int, ExactNumbers | Rejected] = {}
    for n in (n for n, held in enumerate(holds) if not held):
        try:
            others[n] = numbers({name: int(column[n]) for name, column in dims.items()})
        except UnknownLength:
            raise
        except Rejected as rejected:
            others[n] = rejected
    inside = [n for n, held in enumerate(holds) if held] if others else slice(None)
    return Points(dims, shape, size, {s: column[inside] for s, column in (general or {}).items()}, others)


def _general(cost: Located, dims: Mapping[str, Ints]) -> Mapping[Symbol, Ints] | None:
    """The columns by symbol, where the closed forms are those of all points with these lengths."""
    known = cost.study.general
    found = {known[name]: column for name, column in dims.items() if name in known}
    needed = {symbol for symbol in cost.study.symbols if symbol.kind == "length"}
    return found if len(found) == len(dims) and needed <= found.keys() else None


def _held(cost: Located, columns: Mapping[Symbol, Ints], size: int) -> list[bool]:
    """Where lengths are in their ranges, and everything that figures rely on holds."""
    try:
        found = [mask.tolist() for mask in _masks(cost, columns)]
    except NotInteger:  # something divides by what is 0 at some point
        return [False] * size
    whole = [mask if isinstance(mask, list) else [mask] * size for mask in found]
    return [all(row) for row in zip(*whole, strict=True)] if whole else [True] * size


def _masks(cost: Located, columns: Mapping[Symbol, Ints]) -> Iterator[Ints]:
    for symbol, column in columns.items():
        ends = [end for end in (symbol.lo, symbol.hi) if end is not None and end.free <= columns.keys()]
        for end in ends:
            limit = evaluate_many(end, columns)
            yield column >= limit if end is symbol.lo else column <= limit
    for one in cost.study.needed:
        if symbols_of_cond(one.condition) <= columns.keys():
            yield decide_many(one.condition, columns)


def _values(form: Form | None, columns: Mapping[Symbol, Ints], size: int) -> Sequence[FigureValue] | Ints:
    """A form at points that are allowed."""
    match form:
        case Poly() if form.free <= columns.keys():
            return evaluate_many(form, columns)
        case Depth(candidates=candidates) if all(one.free <= columns.keys() for one in candidates):
            from tolcost.algebra.vectorised import largest

            return largest(evaluate_many(one, columns) for one in candidates)
        case None:
            return [None] * size
        case _:
            rows = zip(*(column.tolist() for column in columns.values()), strict=True)
            return [exact(form_at(form, dict(zip(columns, row, strict=True)))) for row in rows]


def exact(found: Form | None) -> FigureValue:
    """A number where everything is known, else None."""
    return found if isinstance(found, int | Fraction) else None
