"""Names under the cursor: where they are defined, where else they stand, and other names for them."""

from __future__ import annotations

import re
from pathlib import Path

from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Source, Span
from tolcost.editor.reading import Reading, known_names
from tolcost.platform import specs_root
from tolcost.syntax import Occurrences, occurrences, parse, tree
from tolcost.syntax.names import BUILTINS, CONSTANTS, is_global

_WORD = re.compile(r"part'|[^\W\d]\w*")
_NAME = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset(
    {"and", "or", "xor", "not", "tol", "static", "attr", "use", "operator", "space", "list"}
)


def word_at(source: Source, offset: int) -> Span | None:
    """The word that the cursor is in or right behind."""
    line = source.text.rfind("\n", 0, offset) + 1
    end = source.text.find("\n", offset)
    for match in _WORD.finditer(source.text, line, len(source.text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return Span(source, *match.span())
    return None


def names_of(reading: Reading) -> tuple[Occurrences, ...]:
    """All that the program defines."""
    return () if reading.program is None else occurrences(reading.program, known_names(reading))


def occurrence_at(reading: Reading, offset: int) -> Occurrences | None:
    """What the program defines and the name at a place means."""
    for one in names_of(reading):
        if any(span.start <= offset <= span.end for span in (one.place, *one.uses)):
            return one
    return None


def places_of(found: Occurrences) -> tuple[Span, ...]:
    """Every place where a name stands for one thing, from top to bottom."""
    return tuple(sorted({found.place, *found.uses}, key=lambda span: span.start))


# ---- where something is defined ----------------------------------------------------------------


def definition_at(reading: Reading, offset: int) -> Span | None:
    """Where the name at a place is defined: in the program, in a library file, or as an operator."""
    word = word_at(reading.source, offset)
    if word is None:
        return None
    if (used := _used_file(reading, word)) is not None:
        return used
    if (own := occurrence_at(reading, offset)) is not None:
        return own.place
    return library_definition(reading, word.text) or operator_definition(word.text)


def _used_file(reading: Reading, word: Span) -> Span | None:
    """The library file that a ``use`` names."""
    for statement in reading.program.statements if reading.program else ():
        inside = statement.span.start <= word.start < statement.span.end
        if inside and isinstance(statement, tree.Use) and word.text in statement.names:
            try:
                defined = open_library().used(word.text, statement).statements
            except Rejected:  # there is no such file: its diagnostic says so
                return None
            return Span(defined[-1].span.source, 0, 0) if defined else None  # a file follows those it uses
    return None


def library_definition(reading: Reading, name: str) -> Span | None:
    """Where a library file in use defines a name."""
    for file in reading.parsed.library if reading.parsed else ():
        for statement in file.statements:
            if isinstance(statement, (tree.Define, tree.ZerosDecl)) and statement.name == name:
                return Span(statement.span.source, statement.span.start, statement.span.start + len(name))
    return None


def operator_definition(name: str) -> Span | None:
    """The header of the operator of a name."""
    library = open_library()
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
    """The file that a source was read from: one of ours goes by ``specs/...`` wherever it is installed."""
    root = specs_root()
    if source is NOWHERE.source:
        return None
    head, _, rest = source.name.partition("/")
    if head == "specs" and isinstance(root, Path) and (root / rest).is_file():
        return root / rest
    return Path(source.name) if Path(source.name).is_file() else None


# ---- another name for something ----------------------------------------------------------------


class CannotRename(Exception):
    """Why a name stays as it is."""


def renameable_at(reading: Reading, offset: int) -> tuple[Span, Occurrences]:
    """The name at a place that can be changed; otherwise says why not."""
    word = word_at(reading.source, offset)
    if reading.program is None:
        raise CannotRename("the program has to be free of syntax errors first")
    found = None if word is None else occurrence_at(reading, offset)
    if word is None or found is None or found.name != word.text:
        raise CannotRename("only what this program defines can be renamed")
    return word, found


def rename(reading: Reading, offset: int, name: str) -> tuple[Span, ...]:
    """The places to put a new name at; ``CannotRename`` where the program would mean something else then."""
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
    """Who mentions what after a change."""
    text = reading.source.text
    for span in reversed(places):
        text = text[: span.start] + name + text[span.end :]
    source = Source(reading.source.name, text)
    try:
        return _structure(source, reading)
    except Rejected:
        return None


def _structure(source: Source, reading: Reading) -> object:
    """Which words stand for one thing, by their number in the text."""
    program: tree.Module = parse(source)
    numbers = {match.start(): n for n, match in enumerate(_WORD.finditer(source.text))}
    groups = (
        tuple(numbers.get(span.start, -1) for span in places_of(one))
        for one in occurrences(program, known_names(reading))
    )
    return sorted(groups)


def diagnostics_here(reading: Reading) -> tuple[Diagnostic, ...]:
    """The diagnostics whose place is in this text."""
    return tuple(d for d in reading.diagnostics if d.span.source is reading.source)
