"""The cost for users of Python: closed forms as sympy expressions, exact integers, frames on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import NotInteger, Poly, Symbol, decide_many, evaluate_many, symbols_of_cond, to_sympy
from tolcost.certainty import Certainty
from tolcost.cost.device import PYTORCH, Device, Duration, load_device
from tolcost.cost.engine import engine_of, run_by
from tolcost.cost.record import FormRatio, NamedType
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed
from tolcost.diagnostics import Rejected, UnknownLength, quoted, refuse, visible
from tolcost.result.metrics import NAMES, PYTHON
from tolcost.result.point import Requirement, said_of_lengths, whole_lengths
from tolcost.result.study import Located, locate_study
from tolcost.result.view import written
from tolcost.show.document import (
    UNKNOWN,
    Cell,
    Code,
    Column,
    Form,
    Lines,
    ReportTable,
    Section,
    cut,
    form_at,
    latex_of,
    plain,
    text_of,
    write,
)
from tolcost.show.shorten import duration_text

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from tolcost.algebra.sympy_form import SympyExpr
    from tolcost.algebra.vectorised import Ints

# === Exact numbers at a point, and at many points at once.
#
# Points at which the closed forms of a study hold are evaluated together.  Every other point is located by
# itself, and has numbers, or a reason why it has none.


FigureValue: TypeAlias = int | Fraction | None
SweptLengths: TypeAlias = "int | Sequence[int] | Ints"


class ExactNumbers(Struct, frozen=True):
    r"""Exact integers at a point: ``numbers.eops``, ``numbers["eops"]``.

    A figure is None if data, or something unknown, decides it.  Figures are counts if ``status`` is exact,
    and bounds if it names one.  If ``bytes_exact`` is False, fewer bytes may move than ``bytes`` states.

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
    status: Certainty = "exact"

    def __getitem__(self, name: str) -> FigureValue:
        """Return a figure by its key."""
        return self.figures[name]

    def __getattr__(self, name: str) -> FigureValue:
        """Return a figure as an attribute."""
        try:
            return self.figures[name]
        except KeyError:
            raise AttributeError(f"there is no figure {name!r}") from None


class NumberColumns(Struct, frozen=True, eq=False):
    r"""Exact integers at many points: ``columns.eops`` is an array, of int64 where all fit.

    Lengths may be numbers, sequences or arrays; they are broadcast, and figures have the resulting shape.

    >>> import tolcost
    >>> columns = tolcost.analyze("tol x: R [n, k]\ny := map(x, exp(*))")(n=[1, 2, 3], k=10**9)
    >>> columns.eops.tolist(), columns.dims["n"].tolist()
    ([1000000000, 2000000000, 3000000000], [1, 2, 3])
    """

    dims: Mapping[str, Ints]
    _points: Points
    _forms: Mapping[str, Form | None]
    status: Certainty = "exact"
    """Whether the figures are counts or bounds."""

    def __getitem__(self, name: str) -> Ints:
        """Return a figure by its key, at every point."""
        from tolcost.algebra.vectorised import shaped

        return shaped(self._points.figure(name, self._forms[name]), self._points.shape)

    def __getattr__(self, name: str) -> Ints:
        """Return a figure as an attribute."""
        if name not in self._forms:
            raise AttributeError(f"there is no figure {name!r}")
        return self[name]


class Points(Struct, frozen=True, eq=False):
    """Lengths at many points, in columns: ``general`` where the closed forms hold, ``others`` one by one."""

    dims: Mapping[str, Ints]
    shape: tuple[int, ...]
    size: int
    general: Mapping[Symbol, Ints]
    others: Mapping[int, ExactNumbers | Rejected]

    def figure(self, name: str, form: Form | None) -> Sequence[FigureValue] | Ints:
        """Return a figure at every point; None where it has no value."""
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
        """Return these points if all have numbers; raise ``Rejected`` for the first that has none."""
        for n, found in self.others.items():
            if isinstance(found, Rejected):
                at = ", ".join(f"{visible(name)} = {column[n]:,}" for name, column in self.dims.items())
                first, *more = found.diagnostics
                raise Rejected(replace(first, message=f"at {at}: {first.message}"), *more)
        return self


def many_points(
    cost: Located, lengths: Mapping[str, SweptLengths], numbers: Callable[[Mapping[str, int]], ExactNumbers]
) -> Points:
    """Evaluate a cost at many points; ``numbers`` evaluates it at a single one."""
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
    """Return the columns by symbol if the closed forms cover all points with these lengths, else None."""
    known = cost.study.general
    found = {known[name]: column for name, column in dims.items() if name in known}
    needed = {symbol for symbol in cost.study.symbols if symbol.kind == "length"}
    return found if len(found) == len(dims) and needed <= found.keys() else None


def _held(cost: Located, columns: Mapping[Symbol, Ints], size: int) -> list[bool]:
    """Return at which points all lengths are in their ranges and all conditions hold."""
    try:
        found = [mask.tolist() for mask in _masks(cost, columns)]
    except NotInteger:  # a divisor is 0 at some point, so that every point is located by itself
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
    """Evaluate a form at points that are allowed."""
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
    """Return a number if everything is known, else None."""
    return found if isinstance(found, int | Fraction) else None


# === The cost itself.


_K = TypeVar("_K")


class CostTime(Struct, frozen=True, dict=True):
    """Microseconds on a device: two bounds and a prediction; None where they are not known.

    The bounds are of this arithmetic, node by node and with a whole model fused: other definitions of the
    same values, such as a fast Fourier transform, may take less.

    ``limits`` counts the nodes that bytes, operations and launches bound, where lengths are known.
    ``status`` is that of the counts and bytes behind the times: if these are upper bounds, a run may take
    less than a bound; if they are lower bounds, some nodes are missing from the times.
    """

    device: Device
    arithmetic_bound: SympyExpr | None
    fused_arithmetic_bound: SympyExpr | None
    predicted: SympyExpr | None
    limits: Mapping[str, int]
    status: Certainty = "exact"

    def __repr__(self) -> str:
        """The name of the device, and the times in words; closed forms are cut."""
        known = [f"{plain(cell)} {title}" for title, cell in self._cells() if cell != UNKNOWN]
        said = "" if self.status == "exact" else f"; counts and bytes are {self.status}"
        return f"<CostTime {self.device.name}: {', '.join(known) or 'not known'}{said}>"

    def __str__(self) -> str:
        """The times with their units, as a table."""
        return write(self._blocks(), "text")

    def _repr_html_(self) -> str:
        """The times with their units, for notebooks; closed forms while lengths are open."""
        from tolcost.show.fragment import fragment

        return fragment(self._blocks())

    def _cells(self) -> tuple[tuple[str, Cell], ...]:
        return (
            ("at least, node by node", _time_cell(self.arithmetic_bound)),
            ("at least, fused as a whole", _time_cell(self.fused_arithmetic_bound)),
            ("predicted", _time_cell(self.predicted)),
        )

    def _blocks(self) -> tuple[Section, ...]:
        columns = (Column("time", "time"), Column("value", f"on {self.device.name}", "number"))
        said = f"counts and bytes are {self.status}" if self.status != "exact" else ""
        return (ReportTable(columns, list(self._cells())), *([Lines((said,))] if said else []))


def _time_cell(microseconds: SympyExpr | None) -> Cell:
    if microseconds is None:
        return UNKNOWN
    if getattr(microseconds, "is_number", True):
        return duration_text(Fraction(str(microseconds)))
    return Code(cut(f"{microseconds} µs"))


class Cost(Located, dict=True, frozen=True):
    r"""The cost of a program or a model, in the lengths that are open.

    Closed forms are sympy expressions, with the given lengths substituted.

    >>> import tolcost
    >>> cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*) + 1)")
    >>> cost
    <Cost <text>: 2*n EOPs, exact>
    >>> cost.eops, cost.bytes, cost(n=1000).eops
    (2*n, 8*n, 2000)
    """

    @property
    def name(self) -> str:
        """The name of the program or model."""
        return self.study.name

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that the closed forms rely on."""
        return tuple(one.text for one in self.where)

    @property
    def where(self) -> tuple[Requirement, ...]:
        r"""The conditions that the closed forms rely on, with reason and place; numbers hold nowhere else.

        >>> import tolcost
        >>> cost = tolcost.analyze("tol x: R [n]\ny := map(tol[n - 2], x[i] + x[i + 2], [i])")
        >>> [(one.text, one.line) for one in cost.where]
        [('n >= 2', 2)]
        """
        return self.study.needed

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the lengths, data-dependent ones included."""
        return tuple(symbol.name for symbol in self.study.symbols)

    def symbol(self, name: str) -> SympyExpr:
        r"""Return the symbol of a length, as it stands in the closed forms.

        >>> import sympy, tolcost
        >>> cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
        >>> cost.eops.coeff(cost.symbol("n")), cost.eops.coeff(sympy.Symbol("n"))
        (1, 0)
        """
        self.study.check_names((name,))
        from tolcost.algebra.sympy_form import sympy_symbols

        known = {**{symbol.name: symbol for symbol in self.study.may_be_given}, **self.study.general}
        return sympy_symbols(known.values())[known[name]]

    @property
    def inputs(self) -> tuple[NamedType, ...]:
        """The inputs, with their spaces and shapes."""
        return self.study.inputs

    @property
    def eops(self) -> SympyExpr:
        """Elementary functions applied to data."""
        return self._sympy(self.total.eops)

    @property
    def flops(self) -> SympyExpr:
        """Floating-point operations."""
        return self._sympy(self.total.flops)

    @property
    def macs(self) -> SympyExpr:
        """Multiplications whose product is added up."""
        return self._sympy(self.total.macs)

    @property
    def depth_tree(self) -> SympyExpr | None:
        """The longest chain of functions of a program, with associative reduces as trees."""
        return self._figure("depth_tree")

    def __getattr__(self, name: str) -> SympyExpr | None:
        """Return any other figure by its name; None if it is not known, or does not apply."""
        if name not in PYTHON:
            raise AttributeError(f"there is no figure {name!r}")
        return self._figure(name)

    def __dir__(self) -> list[str]:
        """List the attributes, figures included."""
        return [*super().__dir__(), *self.forms]

    @property
    def histogram(self) -> dict[tuple[str, str], SympyExpr]:
        """Counts by function and space."""
        return self._all(self.total.histogram)

    @property
    def index(self) -> dict[tuple[str, str], SympyExpr]:
        """Functions that compute coordinates, by function and space; not EOPs."""
        return self._all(self.total.index)

    @property
    def atoms(self) -> dict[str, SympyExpr]:
        """Counts of the five atoms."""
        return self._all(self.total.atoms)

    @property
    def by_op(self) -> dict[str, SympyExpr]:
        """EOPs by operator, the costliest first."""
        return {group.title: self._sympy(group.figures.eops) for group in self.groups("op")}

    def time(self, device: str | Path | Device, engine: str = PYTORCH) -> CostTime:
        r"""Return the time on a device: the name of one that comes with tolcost, or a file.

        ``engine`` says which kernels compute it: "pytorch", "parts", "transformers" or "fused".

        >>> import tolcost
        >>> cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
        >>> cost.time("h200").arithmetic_bound
        Max(n/1200000, n/600000 - 8192/625)
        """
        known = run_by(engine_of(engine), device if isinstance(device, Device) else load_device(device))
        found = self.study.times(known)
        forms = (found.bound, found.whole, found.predicted)
        bound, fused, predicted = (None if form is None else self._sympy(form) for form in forms)
        return CostTime(
            known, bound, fused, predicted, found.limits(self.point.values), self.certainty("time")
        )

    def training(self, optimizer: str, **asked: object) -> Cost:
        """Return the cost of a step of training of a model: forward, backward, and what an optimiser does.

        ``loss``, ``freeze``, ``precision``, ``accumulate``, ``recompute``, ``memory`` and ``backward`` are
        those of ``tolcost model --train``.  ``recompute="best"`` chooses at the lengths of this cost.
        """
        return replace(self, study=self.study.trained(optimizer, asked, self.point))

    def __getitem__(self, key: str) -> SympyExpr | None:
        """Return a figure by its key, as in ``cost["bytes"]``; None if it is not known."""
        if key not in self.forms:
            raise KeyError(f"there is no figure {key!r}; there are {', '.join(self.forms)}")
        return self._figure(key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the figures."""
        return iter(self.forms)

    def _figure(self, key: str) -> SympyExpr | None:
        form = self.forms.get(key)
        return None if form is None else self._sympy(form)

    @overload
    def __call__(self, lengths: Mapping[str, int] | None = None, /, **dims: int) -> ExactNumbers: ...  # type: ignore[overload-overlap]  # one array is enough for arrays

    @overload
    def __call__(
        self, lengths: Mapping[str, SweptLengths] | None = None, /, **dims: SweptLengths
    ) -> NumberColumns: ...

    def __call__(
        self, lengths: Mapping[str, SweptLengths] | None = None, /, **dims: SweptLengths
    ) -> ExactNumbers | NumberColumns:
        r"""Return exact integers at lengths by name; raise ``Rejected`` if one is missing or not allowed.

        A sequence or an array of lengths gives arrays of figures, for all points at once.

        >>> import tolcost
        >>> cost = tolcost.analyze("tol x: R [n, k]\ny := map(x, exp(*))")
        >>> cost(n=3, k=4).eops, cost(n=[[1], [2]], k=[10, 20]).eops.tolist()
        (12, [[10, 20], [20, 40]])
        """
        given = {**(lengths or {}), **dims}
        if all(_is_single(value) for value in given.values()):
            return self._numbers({name: index(value) for name, value in given.items()})  # type: ignore[arg-type]
        self._moved({})
        points = many_points(self, given, self._numbers).accepted()
        from tolcost.algebra.vectorised import shaped

        shown = {name: shaped(column, points.shape) for name, column in points.dims.items()}
        return NumberColumns(shown, points, self.forms, self.status)

    at = __call__

    def _numbers(self, dims: Mapping[str, int]) -> ExactNumbers:
        there = self._moved(dims)
        if not there.point.complete:
            missing = ", ".join(quoted(symbol.name) for symbol in there.point.missing)
            refuse("T0345", f"no value is given for {missing}")
        total = there.total
        return ExactNumbers(
            there.point.dims,
            {key: exact(there.value(form)) for key, form in there.forms.items()},
            {key: there.number(form) for key, form in total.histogram.items()},
            {key: there.number(form) for key, form in total.index.items()},
            {key: there.number(form) for key, form in total.atoms.items()},
            there.certainty("bytes") == "exact",
            there.status,
        )

    def subs(self, lengths: Mapping[str, int] | None = None, /, **dims: int) -> Cost:
        r"""Return the cost with numbers substituted for some lengths, by name.

        >>> import tolcost
        >>> tolcost.analyze("tol x: R [n, k]\ny := map(x, exp(*))").subs(k=10).eops
        10*n
        """
        return self._moved(whole_lengths({**(lengths or {}), **dims}))

    def assume(self, *texts: str) -> Cost:
        r"""Return the cost under assumptions about lengths, all at once: ``h = 32*k``, ``seq <= 512``.

        >>> import tolcost
        >>> cost = tolcost.analyze("tol x: R [n]\ny := map(tol[floor(n / 2)], exp(x[2 * i]), [i])")
        >>> cost.eops, cost.assume("n = 2*k").eops
        (floor(n/2), k)
        """
        if self.study.assumed.texts:
            hint = f"it is assumed that {', '.join(self.study.assumed.texts)}"
            refuse("T0696", "assumptions are made all at once", hint=hint)
        study = self.study.assuming(said_of_lengths(texts))
        return locate_study(Cost, study, self.point.given, self.weights, self.warnings, self.device)

    def by(self, what: str) -> pandas.DataFrame:
        r"""Return a pandas frame with a row for every operator, scope, node or line.

        Operators and scopes are sorted, the costliest first; nodes and lines keep their order.
        If every length is known, figures are columns of exact integers, with the share of the EOPs;
        otherwise they are closed forms.

        >>> import tolcost
        >>> cost = tolcost.analyze("tol x: R [n]\ny := map(map(x, exp(*)), * + 1)")
        >>> cost.by("line").eops.tolist()
        [2*n]
        >>> cost.subs(n=8).by("line").dtypes.astype(str)[["line", "eops", "share"]].to_dict()
        {'line': 'str', 'eops': 'int64', 'share': 'float64'}
        """
        from tolcost.result.frames import frame_by

        return frame_by(self, what, cache(self._sympy))

    def to_frame(self, by: str | None = None) -> pandas.DataFrame:
        """Return a pandas frame with a row for every figure, or for every part as in ``by``."""
        from tolcost.result.frames import frame_of

        return frame_of(self) if by is None else self.by(by)

    def plot(
        self,
        over: str | None = None,
        *,
        metric: str = "eops",
        by: str = "op",
        values: Sequence[int] | None = None,
        top: int = 6,
        label: str | None = None,
        axes: Axes | None = None,
    ) -> Axes:
        r"""Plot a figure over a length, or its parts if every length is known (matplotlib).

        ``over`` is the length, ``values`` are the numbers that it takes; those that violate a condition are
        left out.  The parts are operators, scopes, nodes or lines (``by``), the ``top`` largest of them; with
        a ``label`` there is a single line, to be drawn onto the ``axes`` of another plot.

        >>> import tolcost
        >>> axes = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))").plot(values=[1, 10, 100])
        >>> axes.get_xlabel(), axes.lines[0].get_ydata().tolist()
        ('n', [1.0, 10.0, 100.0])
        """
        from tolcost.result.frames import plotted

        return plotted(self, over, metric, by, values, top, label, axes)

    def to_text(self) -> str:
        """Return the output of the command line."""
        return written([self], "text")

    def to_json(self) -> str:
        """Return the versioned document that ``--format json`` writes."""
        return written([self], "json")

    def __str__(self) -> str:
        """The output of the command line."""
        return self.to_text()

    def __repr__(self) -> str:
        """The name, the EOPs, the coverage and the status."""
        costed, nodes = self.coverage.costed, self.coverage.nodes
        counted = f"{costed}/{nodes} nodes, " if nodes > 1 or costed < nodes else ""
        return f"<Cost {self.name}: {text_of(self._eops)} EOPs, {counted}{self.status}>"

    def _repr_html_(self) -> str:
        """The output of the command line, for notebooks."""
        return written([self], "fragment")

    def _repr_latex_(self) -> str:
        """The EOPs in LaTeX, for notebooks."""
        return f"${latex_of(self._eops)}$"

    @property
    def _eops(self) -> Form:
        found = self.value(self.total.eops)
        return self.total.eops if found is None else found

    @cached_property
    def forms(self) -> dict[str, Form | None]:
        """Every figure with a form of its own, by key, and the variants with associative reduces as trees."""
        found: dict[str, Form | None] = {}
        for measure in self.measures:
            key = NAMES.get(measure.key, measure.key)
            found |= {key: measure.form} if measure.headed else {}
            found |= {f"{key}_{part.name}": part.form for part in measure.parts if part.name == "tree"}
        found.setdefault("depth_tree", found.get("depth"))
        return found

    def _moved(self, dims: Mapping[str, int]) -> Cost:
        self.study.check_names(dims)
        given = {**self.point.given, **dims}
        return locate_study(Cost, self.study, given, self.weights, self.warnings, self.device)

    def _sympy(self, form: Form) -> SympyExpr:
        found = self.value(form)
        shown: Any = form if found is None else found
        match shown:
            case Depth():
                from tolcost.algebra.sympy_form import largest_to_sympy

                return largest_to_sympy(shown.candidates)
            case FormRatio():
                return self._sympy(shown.numerator) / self._sympy(shown.denominator)
            case Weighed():
                return to_sympy(shown.poly)
            case Duration():
                from tolcost.algebra.sympy_form import largest_to_sympy

                largest = (n * largest_to_sympy([one.poly for one in c]) for n, c in shown.terms)
                return sum(largest, self._sympy(shown.constant))
            case Fraction():
                return to_sympy(shown.numerator) / to_sympy(shown.denominator)
            case _:
                return to_sympy(shown)

    def _all(self, counts: Mapping[_K, Poly]) -> dict[_K, SympyExpr]:
        return {key: self._sympy(form) for key, form in counts.items()}


def _is_single(value: SweptLengths) -> bool:
    """Whether a length is a single number, of Python or of NumPy."""
    return hasattr(value, "__index__") and not getattr(value, "shape", ())
