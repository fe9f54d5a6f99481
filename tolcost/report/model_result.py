"""A model's cost for Python: closed forms as sympy expressions, exact integers, frames on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tolcost.algebra import Poly, to_sympy
from tolcost.cost.depth import Depth
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.models.study import ModelStudy, Wanted, study_model
from tolcost.models.totals import Coverage
from tolcost.report.model_view import conditions, groups, lines
from tolcost.result.forms import form_at, latex_of, text_of

if TYPE_CHECKING:
    import pandas

    from tolcost.algebra.sympy_form import Expr


@dataclass(frozen=True, slots=True)
class ModelResult:
    """What a model costs, in its free dimensions or at those that were given."""

    study: ModelStudy

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.study.model.name

    @property
    def status(self) -> str:
        """Whether totals are exact, a bound from above or below, or in terms of what data decides."""
        return self.study.total.status

    @property
    def coverage(self) -> Coverage:
        """How many nodes there are, and which are not costed."""
        return self.study.coverage

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the closed forms rely on."""
        return tuple(text for text, _, _ in conditions(self.study))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the free dimensions."""
        return tuple(symbol.name for symbol in self.study.symbols)

    @property
    def eops(self) -> Expr:
        """Elementary functions applied to data."""
        return self._poly(self.study.total.eops)

    @property
    def flops(self) -> Expr:
        """Floating-point operations."""
        return self._poly(self.study.total.flops)

    @property
    def macs(self) -> Expr:
        """Multiplications whose product is added up."""
        return self._poly(self.study.total.macs)

    @property
    def bytes(self) -> Expr | None:
        """Bytes that nodes must read and write, one by one; None where something has no size."""
        moved = self.study.total.bytes
        return None if moved is None else self._poly(moved)

    @property
    def params(self) -> Expr:
        """Parameters, however they are stored."""
        return self._poly(self.study.holdings.parameters)

    @property
    def peak_bytes(self) -> Expr | None:
        """The most memory that activations take at once; None where it is not known."""
        return None if self.study.peak is None else self._largest(self.study.peak.bytes)

    @property
    def histogram(self) -> dict[tuple[str, str], Expr]:
        """Counts by function and space."""
        return {key: self._poly(form) for key, form in self.study.total.histogram.items()}

    @property
    def by_op(self) -> dict[str, Expr]:
        """EOPs by operator, the costliest first."""
        return {group.title: self._poly(group.figures.eops) for group in groups(self.study, "op")}

    def at(self, lengths: Mapping[str, int] | None = None, /, **dims: int) -> dict[str, int | None]:
        """Give exact integers at concrete dimensions; ``Rejected`` where one is missing."""
        given = {**self.study.dims, **(lengths or {}), **dims}
        study = study_model(self.study.model, self.study.file, self.study.cost.session, Wanted(given))
        if not study.place.complete:
            missing = ", ".join(quoted(symbol.name) for symbol in study.place.missing)
            raise Rejected(Diagnostic("T0345", f"no value is given for {missing}"))
        found = {line.key: line.value for line in lines(study)}
        return {key: value if isinstance(value, int) else None for key, value in found.items()}

    def to_frame(self, by: str = "op") -> pandas.DataFrame:
        """Give a row for each operator, scope or node: how many nodes, and closed forms as text."""
        import pandas

        rows = [
            (g.title, g.nodes, text_of(g.figures.eops), text_of(g.figures.macs), g.figures.status)
            for g in groups(self.study, by)
        ]
        return pandas.DataFrame(rows, columns=[by, "nodes", "eops", "macs", "status"], dtype=object)

    def to_text(self) -> str:
        """Give what ``tolcost model`` prints."""
        from tolcost.report.model_text import model_text

        return model_text(self.study)

    def to_json(self) -> str:
        """Give the versioned document that ``tolcost model --format json`` writes."""
        from tolcost.report.model_json import model_json

        return model_json(self.study)

    def __str__(self) -> str:
        """What ``tolcost model`` prints."""
        return self.to_text()

    def __repr__(self) -> str:
        """The name, the EOPs, how much is costed, and how sure that is."""
        found = self.coverage
        eops = text_of(self._put(self.study.total.eops))
        return f"<ModelResult {self.name}: {eops} EOPs, {found.costed}/{found.nodes} nodes, {self.status}>"

    def _repr_latex_(self) -> str:
        """The EOPs, for notebooks."""
        return f"${latex_of(self._put(self.study.total.eops))}$"

    def _put(self, form: Poly) -> Poly | int:
        found = form_at(form, self.study.place.values)
        return found if isinstance(found, Poly | int) else form

    def _poly(self, form: Poly) -> Expr:
        return to_sympy(self._put(form))

    def _largest(self, form: Depth) -> Expr:
        from tolcost.algebra.sympy_form import largest_to_sympy

        found = form_at(form, self.study.place.values)
        if isinstance(found, int):
            return to_sympy(found)
        shown = found if isinstance(found, Depth) else form
        return largest_to_sympy(shown.candidates)
