"""What is shown for what is under the cursor: what it is, its space and shape, and what it costs."""

from __future__ import annotations

from tolcost.algebra import to_text
from tolcost.atoms.nodes import Type
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Source, Span
from tolcost.editor.costs import cost_inside, derivation_of, named_costs, types_of
from tolcost.editor.names import (
    Word,
    library_definition,
    occurrence_at,
    operator_definition,
    word_at,
)
from tolcost.editor.reading import Reading
from tolcost.editor.words import words
from tolcost.syntax import Occurrences, tree

_REMARKS = {"length": ", at least 1", "zeros": ", to be filled"}
_LONGEST = 240


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown, and what it is about."""

    markdown: str
    span: Span


def hover_at(reading: Reading, offset: int) -> Hover | None:
    """What there is to say about a place in a program."""
    word = word_at(reading.source, offset)
    if word is not None and (found := _named(reading, word, offset)) is not None:
        return Hover(found, word.span)
    return _expression(reading, offset)


def _named(reading: Reading, word: Word, offset: int) -> str | None:
    """What a name means: here, in a library file, in the language, or among the operators."""
    own = occurrence_at(reading, offset)
    if own is not None and own.name == word.text:
        return _own(reading, own)
    if (elsewhere := library_definition(reading, word.text)) is not None:
        return _documented(elsewhere)
    if (entry := words().get(word.text)) is not None:
        return "\n\n".join((entry.markdown, *_cost_of_call(reading, offset)))
    header = operator_definition(reading, word.text)
    return None if header is None else "\n\n".join((_operator(header), *_cost_of_call(reading, offset)))


def _own(reading: Reading, found: Occurrences) -> str:
    text = reading.source.text[found.statement.start : found.statement.end]
    lines = [f"```tolang\n{_short(text)}\n```", f"{found.sort} `{found.name}`{_REMARKS.get(found.sort, '')}"]
    shape = types_of(reading).get(found.name) if found.sort in ("value", "input", "zeros") else None
    if shape is not None:
        lines[1] += f": {type_text(shape)}"
    cost = named_costs(derivation_of(reading)).get(found.name) if found.sort == "value" else None
    if cost is None and found.sort in ("value", "function"):
        cost = cost_inside(reading, found.statement)
    if cost is not None and found.sort in ("value", "function"):
        counted = "EOPs, wherever it is applied" if found.sort == "function" else "EOPs"
        lines.append(f"**{to_text(cost)}** {counted}")
    return "\n\n".join((*lines, *_guess(reading)))


def _guess(reading: Reading) -> list[str]:
    shapes = ", ".join(f"{name} [{', '.join(shape)}]" for name, shape in reading.guessed)
    return [f"*of rank 2: {shapes}*"] if shapes else []


def _documented(span: Span) -> str:
    """A definition of a library file, with the comment above it."""
    text = span.source.text
    end = text.find("\n", span.start)
    line = text[span.start : len(text) if end < 0 else end]
    said = _comment_above(span.source, span.start)
    return (
        f"```tolang\n{_short(line)}\n```\n" + (f"{said}\n\n" if said else "") + f"from `{span.source.name}`"
    )


def _operator(header: Span) -> str:
    said = _comment_above(header.source, header.start)
    declared = [
        s for s in header.source.text.splitlines() if s.startswith(("operator ", "tol ", "static ", "attr "))
    ]
    shown = "\n".join(declared[:12])
    return f"```tolang\n{shown}\n```\n" + (f"{said}\n\n" if said else "") + f"from `{header.source.name}`"


def _comment_above(source: Source, offset: int) -> str:
    lines = source.text[:offset].rstrip("\n").splitlines()
    found: list[str] = []
    while lines and lines[-1].startswith("#"):
        found.append(lines.pop().lstrip("# "))
    return " ".join(reversed(found))


# ---- expressions -------------------------------------------------------------------------------


def _cost_of_call(reading: Reading, offset: int) -> list[str]:
    found = _expression(reading, offset)
    return [] if found is None else [found.markdown]


def _expression(reading: Reading, offset: int) -> Hover | None:
    """What the smallest call or operation around a place costs."""
    around = innermost(reading.program, offset) if reading.program else None
    cost = None if around is None else cost_inside(reading, around)
    if around is None or cost is None or cost == 0:
        return None
    text = _short(" ".join(reading.source.text[around.start : around.end].split()))
    return Hover(f"`{text}`: **{to_text(cost)}** EOPs in all", around)


def innermost(program: tree.Module, offset: int) -> Span | None:
    """The smallest call, operation or definition around a place."""
    found: Span | None = None
    waiting: list[tree.Statement | tree.Expr | tree.Ellipsis] = [*program.statements]
    while waiting:
        node = waiting.pop()
        if not node.span.start <= offset <= node.span.end:
            continue
        if isinstance(node, (tree.Call, tree.Infix, tree.Unary, tree.Power, tree.BlockExpr, tree.Define)):
            found = node.span
        waiting = tree.children(node)
    return found


def type_text(type_: Type) -> str:
    """Spaces and shapes, as in ``R [n, k]``."""
    return ", ".join(
        f"`{part.space} [{', '.join(map(to_text, part.shape))}]`" if part.shape else f"`{part.space}`"
        for part in type_
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
