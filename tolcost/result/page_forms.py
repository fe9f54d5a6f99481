"""The closed forms of a page: as trees that a script evaluates exactly, and as markup for readers."""

from __future__ import annotations

from html import escape

from msgspec import Struct, field

from tolcost.algebra import Poly, const, to_browser, to_text
from tolcost.cost import FormRatio
from tolcost.cost.device import Duration
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed
from tolcost.result.study import Figures
from tolcost.show.document import LONGEST, Form, Json, mathml_of


class PageForms(Struct):
    """Every distinct form once, as a tree for the script and as markup for readers.

    Times are forms in parts of a microsecond, so many that they are integers.
    """

    parts: int = 1
    trees: list[Json] = field(default_factory=list)
    shown: list[Json] = field(default_factory=list)
    _numbers: dict[Poly, int] = field(default_factory=dict)

    def number(self, form: Poly | None, shown: bool = True) -> int | None:
        """Return the index of a form, adding it if it is new; readers see it if ``shown``."""
        if form is None:
            return None
        if form not in self._numbers:
            self._numbers[form] = len(self.trees)
            self.trees.append(to_browser(form))
            self.shown.append("")
        found = self._numbers[form]
        if shown and not self.shown[found]:
            self.shown[found] = _markup(form)
        return found

    def time(self, found: Duration | None) -> int | None:
        """Return the index of a time, in parts of a microsecond."""
        return None if found is None else self.number(found.in_parts(self.parts), shown=False)

    def figures(self, found: Figures) -> dict[str, Json]:
        """Return the indices of the amounts of some work, by key."""
        return {key: self.number(form) for key, form in found.amounts.items()}

    def any(self, form: Form | None) -> Json:
        """Return a figure of any kind: the maximum of some forms, perhaps over the maximum of others."""
        match form:
            case Poly():
                return {"top": [self.number(form)]}
            case int():
                return {"top": [self.number(const(form))]}
            case Depth(candidates=candidates):
                return {"top": [self.number(one) for one in candidates]}
            case FormRatio(numerator=top, denominator=bottom):
                below = bottom.candidates if isinstance(bottom, Depth) else (bottom,)
                return {"top": [self.number(top)], "bottom": [self.number(one) for one in below]}
            case Weighed(numerator=top, denominator=bottom):
                return {"top": [self.number(top)], "bottom": [self.number(const(bottom))]}
            case Duration():
                whole = self.number(const(self.parts), shown=False)
                return {"top": [self.time(form)], "bottom": [whole], "time": True}
            case _:
                return None


def _markup(form: Poly) -> str:
    """Write a form in MathML; as text if it is very long."""
    text = to_text(form)
    return mathml_of(form) if len(text) <= 3 * LONGEST else f"<code>{escape(text)}</code>"
