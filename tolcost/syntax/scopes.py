"""What names mean where: definitions, the scopes they live in, and what the language itself knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tolcost.diagnostics import Span
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES
from tolcost.syntax.tree import Define, Input, Operator, Program, Unpack, Zeros


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function may be called: with how many arguments (``high`` None: any number), and which named."""

    low: int
    high: int | None
    named: frozenset[str] = frozenset()

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        return self.low <= count and (self.high is None or count <= self.high)

    def __str__(self) -> str:
        """In words, as in "takes …".

        >>> str(Signature(1, 1)), str(Signature(2, 3)), str(Signature(1, None))
        ('1 argument', '2 to 3 arguments', 'at least 1 argument')
        """
        if self.high is None:
            return f"at least {self.low} argument{'s' * (self.low != 1)}"
        count = f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        return f"{count} argument{'s' * (self.high != 1)}"


Known: TypeAlias = Mapping[str, Signature | None]
"""Names from elsewhere; None for a value."""

_PRIMITIVES = {
    "shape": (1, 1), "dim": (1, 1), "capacity": (1, 1), "vol": (1, 1), "space": (1, 1), "convert": (2, 2),
    "part": (2, 3), "part'": (2, 2), "swap": (3, 3), "reshape": (2, 2), "tile": (1, 1), "map": (2, 3),
    "reduce": (3, 4), "join": (2, 3), "embed": (1, 1), "put": (3, 3), "filter": (2, 2), "seq": (0, None),
    "given": (1, 1), "exact": (2, 2), "same": (2, 2), "bdim": (2, 2), "kind": (1, 1), "lo": (1, 1),
    "hi": (1, 1), "chars": (1, 1), "known": (1, 1), "isseq": (1, 1), "bitcast": (2, 2),
    "apart": (2, 2), "outside": (1, 1), "choose": (3, 3),
}  # fmt: skip

BUILTINS: dict[str, Signature] = {
    **{name: Signature(low, high) for name, (low, high) in _PRIMITIVES.items()},
    **{name: Signature(*function.arity) for name, function in FUNCTIONS.items()},
}
CONSTANTS = frozenset({"true", "false", "Inf", "NaN", "pi", "outputs"})
BINDERS = {"map": 2, "reduce": 3}
"""The functions whose body sees coordinates, and which argument names these."""

Sort: TypeAlias = Literal["function", "value", "input", "zeros", "length", "parameter", "coordinate"]


@dataclass(eq=False, slots=True)
class Definition:
    """A name, what gave it, and which definitions of the same scope it needs."""

    name: str
    sort: Sort
    span: Span
    arity: int | None = None
    functional: bool = False
    """A value that, as it is written, is a function."""
    fills: bool = False
    """It fills a ToL declared before, whose name it bears."""
    needs: dict[Definition, Span] = field(default_factory=dict)

    @property
    def place(self) -> Span:
        """Where its name stands."""
        return place_of(self.span, self.name)

    @property
    def maybe_function(self) -> bool:
        """Whether it can be called, as far as one can see."""
        return self.functional or self.sort in ("function", "parameter")


def place_of(span: Span, name: str, which: int = 0) -> Span:
    """The first place of a name in a span (or the second …; -1 for the last); the span if there is none."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found = [match.span() for match in pattern.finditer(span.source.text, span.start, span.end)]
    usable = -len(found) <= which < len(found)
    return Span(span.source, *found[which]) if usable else span


@dataclass(eq=False, slots=True)
class Scope:
    """Names, those around them, and whether ``*`` means something here.

    ``owner`` is the definition whose parameters these are.
    """

    parent: Scope | None
    star: bool = False
    owner: Definition | None = None
    names: dict[str, Definition] = field(default_factory=dict)

    def lookups(self, name: str) -> Iterator[tuple[Definition, Definition | None]]:
        """What a name may mean, the nearest first, each with the definition beside it that needs it."""
        scope: Scope | None = self
        owner: Definition | None = None
        while scope is not None:
            if name in scope.names:
                yield scope.names[name], owner
            owner, scope = scope.owner, scope.parent

    def visible(self) -> Iterator[str]:
        """All names that can be used here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent


def is_global(name: str, known: Known) -> bool:
    """Whether a name has a meaning without being defined in the program."""
    return name in BUILTINS or name in CONSTANTS or name in SPACES or name in known


def signatures(program: Program) -> dict[str, Signature | None]:
    """What a library defines for the programs that use it."""
    found: dict[str, Signature | None] = {}
    for statement in program.statements:
        match statement:
            case Define(name=name, params=params):
                found[name] = None if params is None else Signature(len(params), len(params))
            case Unpack(names=names):
                found.update(dict.fromkeys(names))
            case Zeros(name=name):
                found.setdefault(name, None)
            case _:
                pass
    return found


def operator_signature(program: Program) -> tuple[str, Signature] | None:
    """The name under which a program can be called, and how; None without an ``operator`` header."""
    header = next((s for s in program.statements if isinstance(s, Operator)), None)
    if header is None:
        return None
    inputs = [s for s in program.statements if isinstance(s, Input)]
    positional = [s for s in inputs if s.kind != "attr"]
    required = sum(not (s.optional or s.variadic) for s in positional)
    high = None if any(s.variadic for s in positional) else len(positional)
    return header.name, Signature(required, high, frozenset(s.name for s in inputs))
