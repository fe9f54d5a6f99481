"""An analysis for Python: its closed forms as sympy expressions, its numbers as exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tolcost.algebra import Poly, to_sympy
from tolcost.cost.count import CountStatus
from tolcost.cost.depth import Depth
from tolcost.cost.record import Analysis, NamedType, Numbers, Quotient, numbers
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.report.point import Point, locate
from tolcost.report.study import Study
from tolcost.result.conditions import given_conditions
from tolcost.result.forms import Form, form_at, latex_of, text_of

if TYPE_CHECKING:
    import pandas

    from tolcost.algebra.sympy_form import Expr

_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class Result:
    """What a program costs.  Lengths given to ``tolcost.analyze`` are put in place of their symbols.

    ``warnings`` are what the author of the program might want to know.
    """

    analysis: Analysis
    point: Point
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.analysis.name

    @property
    def status(self) -> CountStatus:
        """Whether counts are exact, an upper bound, or in terms of what data decides."""
        return self.analysis.status

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the closed forms rely on."""
        return tuple(c.text for c in given_conditions(self.analysis.conditions, self.analysis.file))

    @property
    def inputs(self) -> tuple[NamedType, ...]:
        """The inputs, with their spaces and shapes."""
        return self.analysis.inputs

    @property
    def outputs(self) -> tuple[NamedType, ...]:
        """The outputs, with their spaces and shapes."""
        return self.analysis.outputs

    @property
    def eops(self) -> Expr:
        """Elementary functions applied to data."""
        return self._poly(self.analysis.eops)

    @property
    def flops(self) -> Expr:
        """Floating-point operations."""
        return self._poly(self.analysis.flops)

    @property
    def macs(self) -> Expr:
        """Multiplications whose product a fold adds up."""
        return self._poly(self.analysis.macs)

    @property
    def bytes(self) -> Expr | None:
        """Compulsory bytes in and out; None where something that moves has no size."""
        moved = self.analysis.bytes
        return None if moved is None else self._poly(moved)

    @property
    def depth(self) -> Expr | None:
        """The longest chain of functions, with every reduce a chain; None where it is not known."""
        return None if self.analysis.span is None else self._depth(self.analysis.span.chain)

    @property
    def depth_tree(self) -> Expr | None:
        """The longest chain of functions, with associative reduces as trees."""
        return None if self.analysis.span is None else self._depth(self.analysis.span.tree)

    @property
    def parallelism(self) -> Expr | None:
        """EOPs over depth."""
        return self._ratio(self.analysis.parallelism)

    @property
    def intensity(self) -> Expr | None:
        """FLOPs over bytes."""
        return self._ratio(self.analysis.intensity)

    @property
    def histogram(self) -> dict[tuple[str, str], Expr]:
        """Counts by function and space."""
        return self._all(self.analysis.histogram)

    @property
    def index(self) -> dict[tuple[str, str], Expr]:
        """Functions that compute coordinates, by function and space; not EOPs."""
        return self._all(self.analysis.index)

    @property
    def atoms(self) -> dict[str, Expr]:
        """Counts of the five atoms."""
        return self._all(self.analysis.atoms)

    def at(self, lengths: Mapping[str, int] | None = None, /, **dims: int) -> Numbers:
        """Give exact integers at concrete lengths, by name; ``Rejected`` where one is missing."""
        given = {**self.point.dims, **(lengths or {}), **dims}
        unknown = given.keys() - {symbol.name for symbol in self.analysis.symbols}
        if unknown:
            raise Rejected(Diagnostic("T0412", f"there is no length {quoted(min(unknown))}"))
        found = locate(self.analysis, given)
        if not found.complete:
            missing = ", ".join(quoted(symbol.name) for symbol in found.missing)
            raise Rejected(Diagnostic("T0345", f"no value is given for {missing}"))
        return numbers(self.analysis, found.dims)

    def to_frame(self) -> pandas.DataFrame:
        """Give every figure as a row of a frame: metric, item, space, form and value."""
        from tolcost.report.frames import frame

        return frame(self._study())

    def to_text(self) -> str:
        """Give what ``tolcost analyze`` prints."""
        from tolcost.report.text import text_report

        return text_report([self._study()])

    def to_json(self) -> str:
        """Give the versioned document that ``tolcost analyze --format json`` writes."""
        from tolcost.report.json_form import json_report

        return json_report([self._study()])

    def __str__(self) -> str:
        """What ``tolcost analyze`` prints."""
        return self.to_text()

    def __repr__(self) -> str:
        """The name, the EOPs, and how sure they are."""
        return f"<Result {self.name}: {text_of(self._eops())} EOPs, {self.status}>"

    def _repr_latex_(self) -> str:
        """The EOPs, for notebooks."""
        return f"${latex_of(self._eops())}$"

    def _study(self) -> Study:
        return Study(self.analysis, self.point, symbolic=not self.point.dims)

    def _at(self, form: Form) -> Form | None:
        return form_at(form, self.point.values) if self.point.values else form

    def _eops(self) -> Form:
        found = self._at(self.analysis.eops)
        return self.analysis.eops if found is None else found

    def _poly(self, form: Poly) -> Expr:
        found = self._at(form)
        return to_sympy(found if isinstance(found, Poly | int) else form)

    def _depth(self, depth: Depth) -> Expr:
        from tolcost.algebra.sympy_form import largest_to_sympy

        found = self._at(depth)
        if isinstance(found, int):
            return to_sympy(found)
        shown = found if isinstance(found, Depth) else depth
        return largest_to_sympy(shown.candidates)

    def _ratio(self, ratio: Quotient | None) -> Expr | None:
        if ratio is None:
            return None
        below = ratio.denominator
        return self._poly(ratio.numerator) / (
            self._depth(below) if isinstance(below, Depth) else self._poly(below)
        )

    def _all(self, counts: Mapping[_K, Poly]) -> dict[_K, Expr]:
        return {key: self._poly(form) for key, form in counts.items()}
