"""Features at a place in a text: what is there, what may be written there, changes, explanations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import to_text
from tolcost.apps.editor.reading import (
    Reading,
    cost_inside,
    derivation_of,
    known_names,
    statement_costs,
    types_of,
)
from tolcost.atoms.nodes import Type
from tolcost.diagnostics import NOWHERE, Diagnostic, Fix, Rejected, Source, Span, on_one_line
from tolcost.platform import spec_names, specs_root
from tolcost.result.derivation import derivation_text
from tolcost.result.program import program_study
from tolcost.spaces import SPACES
from tolcost.syntax import Occurrences, occurrences, parse, tree
from tolcost.syntax.format import format_program
from tolcost.syntax.names import BUILTINS, CONSTANTS, is_global

# === Names under the cursor: their definitions, other occurrences, and renaming.


_WORD = re.compile(r"part'|[^\W\d]\w*")
_NAME = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset(
    {"and", "or", "xor", "not", "tol", "static", "attr", "use", "operator", "space", "list"}
)


def word_at(source: Source, offset: int) -> Span | None:
    """Return the word that the cursor is in or right behind."""
    line = source.text.rfind("\n", 0, offset) + 1
    end = source.text.find("\n", offset)
    for match in _WORD.finditer(source.text, line, len(source.text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return Span(source, *match.span())
    return None


def names_of(reading: Reading) -> tuple[Occurrences, ...]:
    """Return everything that the program defines."""
    return () if reading.program is None else occurrences(reading.program, known_names(reading))


def occurrence_at(reading: Reading, offset: int) -> Occurrences | None:
    """Return the definition in the program that the name at a place refers to."""
    for one in names_of(reading):
        if any(span.start <= offset <= span.end for span in (one.place, *one.uses)):
            return one
    return None


def places_of(found: Occurrences) -> tuple[Span, ...]:
    """Return every place where a name refers to this definition, from top to bottom."""
    return tuple(sorted({found.place, *found.uses}, key=lambda span: span.start))


# ---- definitions -------------------------------------------------------------------------------


def definition_at(reading: Reading, offset: int) -> Span | None:
    """Return where the name at a place is defined: in the program, in a library file, or as an operator."""
    word = word_at(reading.source, offset)
    if word is None:
        return None
    if (used := _used_file(reading, word)) is not None:
        return used
    if (own := occurrence_at(reading, offset)) is not None:
        return own.place
    return library_definition(reading, word.text) or operator_definition(reading, word.text)


def _used_file(reading: Reading, word: Span) -> Span | None:
    """Return the library file that a ``use`` names."""
    for statement in reading.program.statements if reading.program else ():
        inside = statement.span.start <= word.start < statement.span.end
        if inside and isinstance(statement, tree.Use) and word.text in statement.names:
            try:
                defined = reading.library.used(word.text, statement).statements
            except Rejected:  # a missing file has a diagnostic of its own
                return None
            return Span(defined[-1].span.source, 0, 0) if defined else None  # a file follows those it uses
    return None


def library_definition(reading: Reading, name: str) -> Span | None:
    """Return where a library file in use defines a name."""
    for file in reading.parsed.library if reading.parsed else ():
        for statement in file.statements:
            if isinstance(statement, (tree.Define, tree.ZerosDecl)) and statement.name == name:
                return Span(statement.span.source, statement.span.start, statement.span.start + len(name))
    return None


def operator_definition(reading: Reading, name: str) -> Span | None:
    """Return the header of the operator with a name."""
    library = reading.library
    domain = library.callable_domain(name)
    try:
        spec = None if domain is None else library.find(domain, name)
    except Rejected:
        return None
    if spec is None:
        return None
    header = next((s for s in spec.program.statements if isinstance(s, tree.Operator)), None)
    return Span(spec.source, 0, 0) if header is None else header.span


def file_of(source: Source) -> Path | None:
    """Return the file that a source was read from; ours are named ``specs/...`` in every installation."""
    root = specs_root()
    if source is NOWHERE.source:
        return None
    head, _, rest = source.name.partition("/")
    if head == "specs" and isinstance(root, Path) and (root / rest).is_file():
        return root / rest
    return Path(source.name) if Path(source.name).is_file() else None


# ---- renaming ----------------------------------------------------------------------------------


class CannotRename(Exception):
    """The reason why a name cannot be changed."""


def renameable_at(reading: Reading, offset: int) -> tuple[Span, Occurrences]:
    """Return the name at a place if it can be changed; otherwise raise ``CannotRename``."""
    word = word_at(reading.source, offset)
    if reading.program is None:
        raise CannotRename("the program has to be free of syntax errors first")
    found = None if word is None else occurrence_at(reading, offset)
    if word is None or found is None or found.name != word.text:
        raise CannotRename("only what this program defines can be renamed")
    return word, found


def rename(reading: Reading, offset: int, name: str) -> tuple[Span, ...]:
    """Return the places for a new name; ``CannotRename`` if the program would change its meaning."""
    _, found = renameable_at(reading, offset)
    if not _NAME.fullmatch(name) or name in _KEYWORDS:
        raise CannotRename(f"{name[:40]!r} is not a name")
    if is_global(name, known_names(reading)) or name in BUILTINS or name in CONSTANTS:
        raise CannotRename(f"{name!r} means something already")
    places = places_of(found)
    if _structure(reading.source, reading) != _renamed_structure(reading, places, name):
        raise CannotRename(f"{name!r} would mean something else in one of the places")
    return places


def _renamed_structure(reading: Reading, places: tuple[Span, ...], name: str) -> object:
    """Return which names refer to which definitions after a change."""
    text = reading.source.text
    for span in reversed(places):
        text = text[: span.start] + name + text[span.end :]
    source = Source(reading.source.name, text)
    try:
        return _structure(source, reading)
    except Rejected:
        return None


def _structure(source: Source, reading: Reading) -> object:
    """Return the groups of words that refer to one definition, by their number in the text."""
    program: tree.Module = parse(source)
    numbers = {match.start(): n for n, match in enumerate(_WORD.finditer(source.text))}
    groups = (
        tuple(numbers.get(span.start, -1) for span in places_of(one))
        for one in occurrences(program, known_names(reading))
    )
    return sorted(groups)


def diagnostics_here(reading: Reading) -> tuple[Diagnostic, ...]:
    """Return the diagnostics whose place is in this text."""
    return tuple(d for d in reading.diagnostics if d.span.source is reading.source)


# === Features.


# === Meanings of the words of the language, for hovers and completions: the table of ``words.toml``.


Kind: TypeAlias = Literal["primitives", "functions", "constants", "keywords", "spaces"]
_FAMILIES = {
    "B": "truth values",
    "Z": "whole numbers",
    "R": "real numbers",
    "C": "complex numbers",
    "S": "text",
}


class WordEntry(Struct, frozen=True):
    """A word: its form in a call, and its meaning."""

    word: str
    kind: Kind
    call: str
    text: str

    @property
    def markdown(self) -> str:
        """The entry as an editor shows it."""
        cost = {
            "functions": "Applied to data it costs 1 EOP.",
            "primitives": "It costs nothing by itself.",
        }.get(self.kind, "")
        return f"```tolang\n{self.call}\n```\n{self.text}" + (f"\n\n{cost}" if cost else "")


@cache
def words() -> dict[str, WordEntry]:
    """Return every word of the language, spaces included; a callable word hides an equal keyword."""
    raw = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    kinds: tuple[Kind, ...] = ("keywords", "constants", "primitives", "functions")
    found = {word: WordEntry(word, kind, *entry) for kind in kinds for word, entry in raw[kind].items()}
    return {**{name: _space(name) for name in SPACES}, **found}


def _space(name: str) -> WordEntry:
    space = SPACES[name]
    size = f", {space.bits} bits each" if space.bits else ""
    ends = ("" if space.lo is None else f" from {space.lo:g}") + (
        "" if space.hi is None else f" to {space.hi:g}"
    )
    return WordEntry(name, "spaces", name, f"A space of {_FAMILIES[space.kind]}{ends}{size}.")


# ---- hover: the name or expression under the cursor, its space and shape, and its cost ---------


# === Hovers.


_REMARKS = {"length": ", at least 1", "zeros": ", to be filled"}
_LONGEST = 240
_MOST_CONDITIONS = 3


class Hover(Struct, frozen=True):
    """Markdown, and the span it describes."""

    markdown: str
    span: Span


def hover_at(reading: Reading, offset: int) -> Hover | None:
    """Describe a place in a program."""
    word = word_at(reading.source, offset)
    if word is not None and (found := _named(reading, word.text, offset)) is not None:
        return Hover(found, word)
    return _expression(reading, offset)


def _named(reading: Reading, word: str, offset: int) -> str | None:
    """Describe a name: of the program, of a library file, of the language, or of an operator."""
    own = occurrence_at(reading, offset)
    if own is not None and own.name == word:
        return _own(reading, own)
    if (elsewhere := library_definition(reading, word)) is not None:
        return _documented(elsewhere)
    if (entry := words().get(word)) is not None:
        return "\n\n".join((entry.markdown, *_cost_of_call(reading, offset)))
    header = operator_definition(reading, word)
    return None if header is None else "\n\n".join((_operator(header), *_cost_of_call(reading, offset)))


def _own(reading: Reading, found: Occurrences) -> str:
    text = found.statement.text
    lines = [f"```tolang\n{_short(text)}\n```", f"{found.sort} `{found.name}`{_REMARKS.get(found.sort, '')}"]
    at_top = _is_at_top(reading, found)
    if at_top and (shape := types_of(reading).get(found.name)) is not None:
        lines[1] += f": {type_text(shape)}"
    if found.sort == "value" and at_top:
        lines += _cost_of_value(reading, found.statement)
    elif found.sort in ("value", "function"):
        counted = ", wherever it is applied" if found.sort == "function" else " in all"
        lines += _cost_of_piece(reading, found.statement, counted)
    return "\n\n".join((*lines, *_guess(reading)))


def _is_at_top(reading: Reading, found: Occurrences) -> bool:
    """Whether the program itself declares or defines a name; a nested definition may have an equal name."""
    tops = reading.program.statements if reading.program else ()
    at_top = any(found.statement == statement.span for statement in tops)
    return at_top and found.sort in ("value", "input", "zeros")


def _cost_of_value(reading: Reading, statement: Span) -> Iterator[str]:
    """Yield the cost of the value of a statement, and its conditions."""
    cost = statement_costs(reading).get(statement)
    if reading.analysis is None or (cost is None and _elsewhere(reading, statement)):
        return
    most = "at most " if cost is not None and cost.bounded else ""
    yield f"{most}**{'0' if cost is None else to_text(cost.eops)}** EOPs"
    mentioned = cost.eops.free if cost is not None else ()
    for data in (symbol for symbol in reading.analysis.symbols if symbol.kind == "data"):
        if data in mentioned:
            yield f"*data decides `{data.name}`*"
    needed = [one.text for one in program_study(reading.analysis).needed]
    if needed:
        more = "" if len(needed) <= _MOST_CONDITIONS else " …"
        yield f"*where {', '.join(f'`{one}`' for one in needed[:_MOST_CONDITIONS])}{more}*"


def _cost_of_piece(reading: Reading, span: Span, counted: str) -> list[str]:
    """Return the cost of everything written in a span, and mention functions that are defined elsewhere.

    For a data-dependent choice, only the cost of the whole is known: spans inside it get no answer.
    """
    cost = cost_inside(reading, span)
    if cost is None or cost == 0 or reading.analysis is None:
        return []
    besides = _elsewhere(reading, span)
    if reading.analysis.status == "upper bound" and besides:
        return []
    most = "at most " if reading.analysis.status == "upper bound" else ""
    said = f", besides what {', '.join(f'`{name}`' for name in besides)} costs" if besides else ""
    return [f"{most}**{to_text(cost)}** EOPs{counted}{said}"]


def _elsewhere(reading: Reading, span: Span) -> tuple[str, ...]:
    """Return the functions and operators that a span mentions and that are defined outside it."""
    if reading.program is None:
        return ()
    functions = [one for one in names_of(reading) if one.sort == "function"]
    inside = {one.name for one in functions if span.start < one.place.start < span.end}
    outside = {one.name for one in functions if span.start != one.place.start} | known_names(reading).keys()
    operators = reading.library
    mentioned = (node.name for node in _nodes_in(reading.program, span) if isinstance(node, tree.Name))
    return tuple(
        name
        for name in dict.fromkeys(mentioned)
        if name not in inside and (name in outside or operators.callable_domain(name) is not None)
    )


def _nodes_in(program: tree.Module, span: Span) -> Iterator[object]:
    waiting: list[tree.Statement | tree.Expr | tree.Ellipsis] = [*program.statements]
    while waiting:
        node = waiting.pop()
        if node.span.start >= span.start and node.span.end <= span.end:
            yield node
        if node.span.start <= span.end and span.start <= node.span.end:
            waiting += reversed(tree.children(node))


def _guess(reading: Reading) -> list[str]:
    shapes = ", ".join(f"{name} [{', '.join(shape)}]" for name, shape in reading.guessed)
    return [f"*of rank 2: {shapes}*"] if shapes else []


def _documented(span: Span) -> str:
    """Return a definition of a library file, with the comment above it."""
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
    """Describe the cost of the smallest call or operation around a place."""
    around = innermost(reading.program, offset) if reading.program else None
    cost = [] if around is None else _cost_of_piece(reading, around, " in all")
    return Hover(f"`{on_one_line(around)}`: {cost[0]}", around) if around is not None and cost else None


def innermost(program: tree.Module, offset: int) -> Span | None:
    """Return the smallest call, operation or definition around a place."""
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
    """Format spaces and shapes, as in ``R [n, k]``."""
    return ", ".join(
        f"`{part.space} [{', '.join(map(to_text, part.shape))}]`" if part.shape else f"`{part.space}`"
        for part in type_
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# ---- completion: names of the program and its libraries, words of the language ---------------


SuggestionKind: TypeAlias = Literal["value", "function", "operator", "space", "constant", "keyword", "file"]
_KINDS: dict[str, SuggestionKind] = {
    "primitives": "function", "functions": "function", "constants": "constant",
    "keywords": "keyword", "spaces": "space",
}  # fmt: skip
_DECLARING = re.compile(r"\s*(?:tol|static|attr|space|list)\s+\w+(?:\?|\.\.\.)?\s*:\s*[\w*+-]*$")
_USING = re.compile(r"\s*use\s+[\w, ]*$")
_STARTING = re.compile(r"\w*$")
_DEFINING = re.compile(
    r"^(?:(?:tol|static|attr)[ \t]+(?P<declared>[^\W\d]\w*)"
    r"|(?P<defined>[^\W\d]\w*)(?P<function>\([^()\n]*\))?[ \t]*:?=(?!=))",
    re.MULTILINE,
)


class Suggestion(Struct, frozen=True):
    """A completion: its text, its kind, and a line about it."""

    label: str
    kind: SuggestionKind
    detail: str = ""
    text: str = ""


def completions_at(reading: Reading, last_good: Reading | None, offset: int) -> tuple[Suggestion, ...]:
    """Return completions for a place; ``last_good`` supplies names where the text cannot be parsed."""
    start = reading.source.text.rfind("\n", 0, offset) + 1
    line = reading.source.text[start:offset]
    if _USING.match(line):
        return tuple(Suggestion(name, "file", f"specs/lib/{name}.tol") for name in spec_names("lib"))
    if _DECLARING.match(line):
        return tuple(_word(name) for name in SPACES)
    known = reading if reading.program is not None else last_good or reading
    found = {one.label: one for one in _everything(known, at_start=bool(_STARTING.match(line)))}
    if known.program is None:  # it was never parsed: use the names that its lines begin with
        for match in _DEFINING.finditer(reading.source.text):
            name = match["declared"] or match["defined"]
            found.setdefault(name, Suggestion(name, "function" if match["function"] else "value"))
    return tuple(found.values())


def _everything(reading: Reading, at_start: bool) -> Iterator[Suggestion]:
    yield from (_word(name) for name, entry in words().items() if entry.kind != "keywords" or at_start)
    for name in reading.library.callable_names():
        yield Suggestion(name, "operator", "ONNX operator")
    for name, signature in known_names(reading).items():
        yield Suggestion(name, "value" if signature is None else "function", "from a library file")
    for one in names_of(reading):
        kind: SuggestionKind = "function" if one.sort == "function" else "value"
        yield Suggestion(one.name, kind, f"{one.sort} of this program")


def _word(name: str) -> Suggestion:
    entry = words()[name]
    return Suggestion(name, _KINDS[entry.kind], entry.call, entry.markdown)


# ---- fixes of diagnostics, the canonical layout, and explanations ----------------------------


def actions_in(reading: Reading, start: int, end: int) -> tuple[tuple[Diagnostic, Fix], ...]:
    """Return the diagnostics that touch a piece of the text and have a certain fix, with the fix."""
    touching = (d for d in diagnostics_here(reading) if d.span.start <= end and start <= d.span.end)
    return tuple((d, d.fix) for d in touching if d.fix is not None)


def fixed(text: str, fix: Fix) -> str:
    """Apply a fix to a text."""
    return text[: fix.span.start] + fix.text + text[fix.span.end :]


def formatted(source: Source) -> str | None:
    """Return the canonical layout of a text; None where it cannot be parsed."""
    try:
        return format_program(parse(source))
    except Rejected:
        return None


def lenses(reading: Reading) -> Iterator[tuple[Occurrences, str]]:
    """Yield every value of the program that costs something, with its closed form; each can be explained."""
    costs = {**statement_costs(reading)}
    for one in names_of(reading):
        cost = costs.pop(one.statement, None) if one.sort == "value" else None  # of several names, the first
        if cost is not None and cost.eops != 0:
            yield one, ("at most " if cost.bounded else "") + to_text(cost.eops)


def outline(reading: Reading) -> Iterator[tuple[Occurrences, str]]:
    """Yield the top-level declarations and definitions of a program, in order, with types where known."""
    tops = {statement.span for statement in reading.program.statements} if reading.program else set()
    types = types_of(reading)
    for one in names_of(reading):
        if one.statement in tops and one.sort not in ("length", "parameter", "coordinate"):
            known = types.get(one.name) if one.sort != "function" else None
            yield one, type_text(known).replace("`", "") if known else ""


def explained(reading: Reading) -> str:
    """Return the derivation, as ``tolcost explain`` writes it; empty if there is none."""
    found = derivation_of(reading)
    name = reading.lowered.program.name if reading.lowered else ""
    return "" if found is None else derivation_text(found, name, reading.source.name)
