"""The formats by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from tolcost.report.study import Study

FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "text": ("tolcost.report.text", "text_report"),
        "json": ("tolcost.report.json_form", "json_report"),
        "md": ("tolcost.report.tables", "markdown_report"),
        "csv": ("tolcost.report.tables", "csv_report"),
        "latex": ("tolcost.report.tables", "latex_report"),
    }
)
"""Where each writer is; only the one that is used gets loaded."""


def write_studies(studies: Sequence[Study], form: str) -> str:
    """Give analyses in one of the formats."""
    module, name = FORMATS[form]
    writer: Callable[[Sequence[Study]], str] = getattr(import_module(module), name)
    return writer(studies)
