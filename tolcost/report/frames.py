"""Analyses as pandas frames."""

from __future__ import annotations

import pandas

from tolcost.report.study import Study
from tolcost.report.tables import lines
from tolcost.result.forms import Form, text_of


def frame(study: Study) -> pandas.DataFrame:
    """Give every figure and part as a row; numbers are Python's exact integers."""
    shown = study.point.complete or bool(study.point.dims)
    rows = [
        (line.metric, line.item, line.space, _text(line.form), _value(line.value) if shown else None)
        for line in lines(study)
        if not line.heading
    ]
    return pandas.DataFrame(rows, columns=["metric", "item", "space", "form", "value"], dtype=object)


def _text(form: Form | None) -> str | None:
    return None if form is None else text_of(form)


def _value(form: Form | None) -> object:
    return form if isinstance(form, int) or form is None else text_of(form)
