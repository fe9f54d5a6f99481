"""Alternatives to a definition: other algorithms for an operator, ``specs/alternatives/Softmax.online.tol``.

An alternative is a definition like any other, with the operator's own header, and is held to the same node
tests.  One that is an algorithm for some cases only says so itself, with ``outside("...")``, and is not
asked for the others.  No node is ever given one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import FAILED, Result, check
from tolcost.catalogue.listing import opening
from tolcost.catalogue.specs import Library, Spec
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Source
from tolcost.library import specs_root

FOLDER = "alternatives"


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Another algorithm for an operator; ``name`` is what sets it apart."""

    operator: str
    name: str
    spec: Spec

    @property
    def about(self) -> str:
        """What it opens with."""
        return opening(self.spec)


@dataclass(frozen=True, slots=True)
class NodeTests:
    """What an operator's node tests said of an alternative: how many there are, and how many it is for."""

    every: int
    admitted: int
    failures: tuple[Result, ...] = ()

    @property
    def passed(self) -> int:
        """How many of those that it is for pass in value, shape and count."""
        return self.admitted - len(self.failures)


@cache
def _files() -> dict[str, dict[str, Source]]:
    """The texts, by operator and by what sets them apart."""
    found: dict[str, dict[str, Source]] = {}
    for file in sorted(specs_root().joinpath(FOLDER).iterdir(), key=lambda file: file.name):
        operator, _, rest = file.name.partition(".")
        if rest.endswith(".tol"):
            source = Source(f"specs/{FOLDER}/{file.name}", file.read_text(encoding="utf-8"))
            found.setdefault(operator, {})[rest.removesuffix(".tol")] = source
    return found


def operators_with_alternatives() -> tuple[str, ...]:
    """The operators that have some, sorted."""
    return tuple(_files())


def alternatives(operator: str, library: Library) -> tuple[Alternative, ...]:
    """The alternatives to an operator's definition, sorted by name."""
    texts = _files().get(operator, {})
    return tuple(
        Alternative(operator, name, library.definition("", operator, source))
        for name, source in texts.items()
    )


def hold_to_tests(one: Alternative, cases: Iterable[Case], library: Library) -> NodeTests:
    """Hold an alternative to the node tests that its version and its algorithm are for."""
    ours = [case for case in cases if (case.node.domain, case.node.op) == ("", one.operator)]
    results = [check(case, library, other=one.spec) for case in ours if case.opset >= one.spec.since]
    failures = tuple(result for result in results if result.status in FAILED)
    return NodeTests(len(ours), sum(result.status != "outside" for result in results), failures)
