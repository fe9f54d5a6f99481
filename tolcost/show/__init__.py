"""What is shown: documents as data, and a writer for each format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tolcost.show.document import Document

_WRITERS = {"md": ("tables", "markdown"), "latex": ("latex", "latex"), "fragment": ("fragment", "fragment")}


def write(document: Document, form: str, colour: bool = False, width: int | None = None) -> str:
    """Write a document in one of the formats, text in so many columns; only its writer gets loaded."""
    if form == "text":
        from tolcost.show.text import text

        return text(document, colour, width)
    module, name = _WRITERS[form]
    writer: Callable[[Document], str] = getattr(import_module(f"tolcost.show.{module}"), name)
    return writer(document)
