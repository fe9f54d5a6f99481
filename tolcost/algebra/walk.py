"""The one walk over forms: what a pass makes of a form is put together from what it makes of the generators.

A pass is a ``FormWalk``: it says how the terms of a form are put together, and its table has a rule for every
kind of generator. So a new kind is a class in ``poly`` and a row in each table; ``TABLES`` lists them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from tolcost.algebra.poly import Generator, Poly
from tolcost.diagnostics import InternalError

_F = TypeVar("_F")
_R = TypeVar("_R")
_Row = TypeVar("_Row")

Rule: TypeAlias = Callable[..., _R]
"""Returns what a pass makes of a generator of one kind; a walk is given to its rules with the generator."""


class RuleTable(dict[type[Any], _Row]):
    """A row for every kind of generator, mostly a rule; ``otherwise`` is that of a kind without its own."""

    def __init__(self, name: str, rows: Mapping[Any, _Row], otherwise: _Row | None = None) -> None:
        """Take over the rows, and join the list of all tables."""
        super().__init__(rows)
        self.name = name
        self.otherwise = otherwise
        TABLES.append(self)

    def __missing__(self, kind: type[Any]) -> _Row:
        """Return the row of a kind without its own."""
        if self.otherwise is None:
            raise InternalError(f"{self.name}: no row for {kind.__name__}")
        return self.otherwise


TABLES: list[RuleTable[Any]] = []
"""All tables of rules; each lists itself when its module is loaded."""


class FormWalk(Struct, Generic[_F, _R], kw_only=True):
    """A pass that makes one type of forms, and one, often the same, of generators.

    ``done`` has what was made of the generators so far: each is visited once.
    """

    rules: ClassVar[RuleTable[Rule[Any]]]
    done: dict[Generator, _R] = field(default_factory=dict)

    @abstractmethod
    def form(self, p: Poly) -> _F:
        """Put together what is made of a form's generators."""

    def generator(self, generator: Generator) -> _R:
        """Return what the rules make of a generator."""
        if generator not in self.done:
            self.done[generator] = self.rules[type(generator)](self, generator)
        return self.done[generator]
