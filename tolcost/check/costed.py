"""The cost of a program as the gate needs it: the entry to compare, and the parts that it is made of.

A part is what one place of the source contributes to a metric, or one operator of a model.  The
gate itself does not know how programs are read: a ``Costing`` is given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tolcost.algebra import Poly
from tolcost.check.records import Entry
from tolcost.check.targets import Target
from tolcost.diagnostics import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Part:
    """What one place or one operator contributes, by metric."""

    what: str
    counts: Mapping[str, Poly]
    span: Span = field(default=NOWHERE, repr=False)


@dataclass(frozen=True, slots=True)
class Costed:
    """A program that was analysed."""

    entry: Entry
    parts: tuple[Part, ...] = ()


Costing: TypeAlias = Callable[[Path, Target], Costed]
"""Analyse a program of the tree below a folder; ``Rejected`` where it cannot be."""
