"""The catalogue as a list: every operator of the installed onnx, and what there is about it.

Operators are found by name in all domains: those of ONNX, and those of a user's folders.  A name may
say its domain, as in ``ai.onnx.ml.Scaler``.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal

from onnx import defs

from tolcost.catalogue.operand_types import recorded_schemas
from tolcost.catalogue.specs import Library, Spec, opening
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.syntax import tree

Standing = Literal["defined", "outside", "missing"]

_MOST_NEAR = 3


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One operator.  ``about`` is what its definition opens with, or why it has none."""

    name: str
    standing: Standing
    since: tuple[int, ...] = ()
    signature: str = ""
    about: str = ""
    spec: Spec | None = None
    domain: str = ""

    @property
    def title(self) -> str:
        """Its name, with its domain where that is not ai.onnx."""
        return f"{self.domain}.{self.name}" if self.domain else self.name


def live_operators(domain: str = "") -> tuple[str, ...]:
    """Every operator of a domain of ONNX that is not deprecated, sorted."""
    schemas = defs.get_all_schemas()
    return tuple(sorted({s.name for s in schemas if s.domain == domain and not s.deprecated}))


def known_operators(library: Library) -> tuple[tuple[str, str], ...]:
    """Domain and name of every operator that ONNX has, a folder defines, or was recorded of a run-time."""
    return tuple(
        (domain, name)
        for domain in library.domains()
        for name in sorted({*live_operators(domain), *recorded_schemas(domain), *library.names(domain)})
    )


def entries(library: Library, names: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Give the operators asked for, or all of them; those of a user's folders included."""
    known = known_operators(library)
    if not names:
        return tuple(_entry(library, domain, name) for domain, name in known)
    found = {asked: _asked(asked, known) for asked in names}
    unknown = [asked for asked, pairs in found.items() if not pairs]
    if unknown:
        raise Rejected(*(_unknown(asked, known) for asked in unknown))
    return tuple(_entry(library, *pair) for pairs in found.values() for pair in pairs)


def _asked(asked: str, known: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The operators that a name means: with its domain that one, else that of ai.onnx if it has one."""
    if ("", asked) in known:
        return [("", asked)]
    return [(domain, name) for domain, name in known if asked in (name, f"{domain or 'ai.onnx'}.{name}")]


def _unknown(asked: str, known: Sequence[tuple[str, str]]) -> Diagnostic:
    """Say that there is no such operator, and which one may be meant."""
    by_letters = {name.lower(): name for _, name in known}
    near = get_close_matches(asked.lower()[:60], by_letters, n=_MOST_NEAR)
    meant = " or ".join(quoted(by_letters[letters]) for letters in near)
    hint = f"did you mean {meant}?" if meant else "`tolcost ops` lists them"
    return Diagnostic("T0663", f"there is no operator {quoted(asked)}", hint=hint)


def _entry(library: Library, domain: str, name: str) -> Entry:
    versions = library.versions(domain, name)
    if not versions:
        reason = library.outside(domain).get(name)
        return Entry(name, "missing" if reason is None else "outside", about=reason or "", domain=domain)
    spec = versions[-1]
    since = tuple(version.since for version in versions)
    return Entry(name, "defined", since, signature(spec), opening(spec.source.text), spec, domain)


def signature(spec: Spec) -> str:
    """Give inputs and outputs, as in ``Gemm(A [m, k], B [k, n], C?) -> Y``."""
    inputs = ", ".join(map(_declared, spec.inputs))
    outputs = ", ".join(s.name + "..." * s.variadic for s in spec.outputs)
    return f"{spec.name}({inputs}) -> {outputs}"


def attributes(spec: Spec) -> tuple[str, ...]:
    """Give the attributes, as in ``axis = -1``, ``pads?`` or ``to``."""
    return tuple(
        f"{s.name}{'?' if s.optional else ''}" + (f" = {_text(s.default)}" if s.default is not None else "")
        for s in spec.attributes
    )


def _declared(statement: tree.InputDecl) -> str:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    shape = ", ".join(map(_text, statement.shape))
    return f"{statement.name}{mark} [{shape}]" if statement.shape else f"{statement.name}{mark}"


def _text(expression: tree.Expr | tree.Ellipsis) -> str:
    return expression.span.text
