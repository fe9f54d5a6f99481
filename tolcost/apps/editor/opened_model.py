"""A model that is opened in the playground: its page, as ``tolcost model --format html`` writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tolcost.apps.editor.playground import answered
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import refuse
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import Wanted, file_cost
from tolcost.result.page import cost_page
from tolcost.show.document import Json


def answer(file: str, tell: Callable[[int, int], object]) -> str:
    """Return the page of a model; ``tell`` hears how many of the nodes are costed."""
    return answered(lambda: with_deep_stack(lambda: _page(file, tell)))


def _page(file: str, tell: Callable[[int, int], object]) -> dict[str, Json]:
    session = Session(open_library(()))
    session.on_node = lambda done, of, _: tell(done, of)
    try:
        return {"page": cost_page(file_cost(Path(file), session, Wanted()))}
    except ImportError as error:  # a page has neither NumPy nor the whole of onnx
        hint = f"the command line has all: tolcost model {file} --format html --output model.html"
        refuse("T0671", f"this model needs more than a page has: {error}", hint=hint)
