"""The analysis of each model of a fleet, with its limits; a task can be sent to another machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from tolcost import __version__
from tolcost.algebra import AlgebraBudget
from tolcost.apps.fleet.sources import fingerprint, local
from tolcost.apps.fleet.table import Summary, summary_of
from tolcost.catalogue.specs import Library, open_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.platform import address_space
from tolcost.result.model import Wanted, file_cost

SECONDS = 600.0
"""The default time limit for one model."""


class Task(Struct, frozen=True):
    """The options for all models, the user's operators, and the limits of one model."""

    wanted: Wanted = field(default_factory=Wanted)
    specs: tuple[str, ...] = ()
    seconds: float = SECONDS
    memory: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the task as data."""
        return dict(to_builtins(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        """Return the task encoded in data."""
        wanted = dict(data["wanted"])
        shapes = {name: tuple(shape) for name, shape in wanted["shapes"].items()}
        said = Wanted(wanted["dims"], shapes, wanted["lenient"], tuple(wanted["assume"]))
        return cls(said, tuple(data["specs"]), data["seconds"], data["memory"])

    @property
    def digest(self) -> str:
        """A digest of everything that affects rows: the task, the user's operators, and the version."""
        files = sorted(path for folder in self.specs for path in Path(folder).rglob("*.tol"))
        own = [(str(path), fingerprint(str(path))) for path in files]
        return sha256(dumps([__version__, self.as_json(), own], sort_keys=True).encode()).hexdigest()[:16]

    def summary(self, source: str) -> Summary:
        """Summarise one model, or report why that failed."""
        path = Path(source)
        try:
            with address_space(self.memory), local(source) as path:
                lenient = replace(self.wanted, lenient=True)
                return replace(summary_of(file_cost(path, _session(self.specs), lenient)), file=source)
        except Rejected as rejected:
            first = rejected.diagnostics[0]
            return self.lost(source, f"{first.code} {_called(first.message, path, source)}")
        except (AlgebraBudget, RecursionError, MemoryError) as error:
            return self.lost(source, " ".join(f"too large: {type(error).__name__} {error}".split()))

    @staticmethod
    def lost(source: str, why: str) -> Summary:
        """Make the row of a model without a result."""
        return Summary(source, problem=why)


def _called(text: str, path: Path, source: str) -> str:
    """Rename the copy of a model in a message to the model."""
    return text if path == Path(source) else text.replace(str(path), source).replace(path.name, source)


def _session(specs: tuple[str, ...]) -> Session:
    """Return a session for one model: with a shared one, messages would mix the names of models."""
    return Session(library(specs))


@cache
def library(specs: tuple[str, ...]) -> Library:
    """Return the definitions, which all models share."""
    return open_library(specs)
