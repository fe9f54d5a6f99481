"""Reading definitions: their programs, the library files they use, and whether all names mean something.

This is what the library of operators (``specs``) needs of the language.  It is loaded when a definition has
to be read, which nodes of common models do not ask for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tolcost.diagnostics import Diagnostic, InternalError, Rejected, Source
from tolcost.syntax import operator_signature, parse, resolve, signatures, tree
from tolcost.syntax.declarations import Signature
from tolcost.syntax.parser import Statements

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIRST_WORD = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*", re.MULTILINE)
_REMARK = re.compile(r"^#.*", re.MULTILINE)


class _Piece(NamedTuple):
    """A statement that is not read yet: the word that it begins with, where it stands, what it mentions."""

    word: str
    start: int
    end: int
    mentions: frozenset[str]


class _LibraryFile:
    """A library file that comes with tolcost: a line that begins with a word begins a statement."""

    def __init__(self, source: Source) -> None:
        self._name, self._statements = source.name, Statements(source)
        self.pieces = tuple(_pieces(source.text))

    def statement(self, piece: _Piece) -> tree.Statement:
        """A statement, read once."""
        found = self._statements.between(piece.start, piece.end)
        if found is None:
            raise InternalError(f"{self._name} has no statement from {piece.start} to {piece.end}")
        return found

    def uses(self) -> Iterator[tree.Statement]:
        """The statements that tell which files it uses."""
        return (self.statement(piece) for piece in self.pieces if piece.word == "use")


def _pieces(text: str) -> Iterator[_Piece]:
    starts = [(match[0], match.start()) for match in _FIRST_WORD.finditer(text)]
    ends = [*(start for _, start in starts[1:]), len(text)]
    for (word, start), end in zip(starts, ends, strict=True):
        yield _Piece(word, start, end, _mentioned(text[start:end]))


def _mentioned(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_REMARK.sub("", text)))


class Definitions:
    """The files of a library, each parsed once.

    ``callable_file`` gives the source of an operator that a program may call, by name, and ``library_source``
    that of a library file.
    """

    def __init__(
        self,
        callables: Callable[[], Mapping[str, str]],
        callable_file: Callable[[str], Source],
        library_source: Callable[[str, tree.Use | None], Source],
    ) -> None:
        self._callable = callables
        self._callable_file = callable_file
        self._library_source = library_source
        self._read: dict[tuple[str, str], tree.Module] = {}
        self._used: dict[str, tree.Module] = {}
        self._files: dict[str, _LibraryFile] = {}
        self._sources: dict[str, tree.Module] = {}
        self._signatures: dict[str, tuple[str, Signature] | None] = {}

    def parsed(self, name: str, source: Source) -> tuple[tree.Operator, tree.Module, tuple[tree.Module, ...]]:
        """The header of a definition, its program, and the library files that it uses."""
        program = self._parsed(source)
        header = next((s for s in program.statements if isinstance(s, tree.Operator)), None)
        if header is None or header.name != name:
            problem = f"{source.name} must start with `operator {name}`"
            raise Rejected(Diagnostic("T0652", problem, header.span if header else program.span))
        uses = [s for s in program.statements if isinstance(s, tree.Use)]
        library = tuple(self.used(n, s) for s in uses for n in s.names)
        self.check_names(program, library)
        return header, program, library

    def stored(self, source: Source) -> tuple[tree.Module, tuple[tree.Module, ...]]:
        """The program of a definition that is as it was when its head was stored, and its library files.

        Its names were looked up then; of library files only that is read which it leads to.
        """
        program = self._parsed(source)
        words = _mentioned(source.text)
        uses = [s for s in program.statements if isinstance(s, tree.Use)]
        return program, tuple(self._needed(n, s, words) for s in uses for n in s.names)

    def _needed(self, name: str, asked: tree.Use, words: frozenset[str]) -> tree.Module:
        """What some words lead to, of a library file and those that it uses."""
        order: dict[str, None] = {}
        self._gather(name, asked, order, (), lambda name, use: self._in_pieces(name, use).uses())
        files = [self._files[file] for file in order]
        found, waiting = set[str](), set(words)
        while waiting:
            found |= waiting
            reached = (piece.mentions for file in files for piece in file.pieces if piece.word in waiting)
            waiting = set().union(*reached) - found
        pieces = ((file, piece) for file in files for piece in file.pieces if piece.word != "use")
        return tree.Module(tuple(file.statement(piece) for file, piece in pieces if piece.word in found))

    def _in_pieces(self, name: str, asked: tree.Use | None) -> _LibraryFile:
        if name not in self._files:
            self._files[name] = _LibraryFile(self._library_source(name, asked))
        return self._files[name]

    def _parsed(self, source: Source) -> tree.Module:
        """A file as a tree: one that is read for its program is asked for how it is called, too."""
        key = (source.name, source.text)
        if key not in self._read:
            self._read[key] = parse(source)
        return self._read[key]

    def check_names(self, program: tree.Module, library: Sequence[tree.Module]) -> None:
        """Refuse a program that mentions what neither it, its library files nor an operator defines."""
        known = {name: found for file in library for name, found in signatures(file).items()}
        for name in _called(program.span.source.text, self._callable()):
            found = self._signature(name)
            if found is not None:
                known.setdefault(*found)
        problems = [d for d in resolve(program, known, others=self._callable()) if d.severity == "error"]
        if problems:
            raise Rejected(*problems)

    def used(self, name: str, asked: tree.Use | None = None) -> tree.Module:
        """A library file together with everything it uses itself."""
        if name not in self._used:
            order: dict[str, None] = {}
            self._gather(name, asked, order, (), self._statements_of)
            statements = (s for file in order for s in self._sources[file].statements)
            self._used[name] = tree.Module(tuple(s for s in statements if not isinstance(s, tree.Use)))
        return self._used[name]

    def _gather(
        self,
        name: str,
        asked: tree.Use | None,
        order: dict[str, None],
        above: tuple[str, ...],
        statements: Callable[[str, tree.Use | None], Iterable[tree.Statement]],
    ) -> None:
        """Put a library file after those it uses."""
        if name in order or name in above:
            return
        for statement in statements(name, asked):
            if isinstance(statement, tree.Use):
                for inner in statement.names:
                    self._gather(inner, statement, order, (*above, name), statements)
        order[name] = None

    def _statements_of(self, name: str, asked: tree.Use | None) -> tuple[tree.Statement, ...]:
        return self._library_file(name, asked).statements

    def _library_file(self, name: str, asked: tree.Use | None) -> tree.Module:
        if name not in self._sources:
            self._sources[name] = parse(self._library_source(name, asked))
        return self._sources[name]

    def _signature(self, name: str) -> tuple[str, Signature] | None:
        """How an operator is called; its file is read once."""
        if name not in self._signatures:
            self._signatures[name] = operator_signature(self._parsed(self._callable_file(name)))
        return self._signatures[name]

    def needs(self, source: Source) -> tuple[frozenset[str], frozenset[str]]:
        """The library files that a definition uses, and the operators that it or one of them may call."""
        order = self._order(source)
        texts = (source.text, *(self._sources[name].span.source.text for name in order))
        return frozenset(order), frozenset().union(*(_called(text, self._callable()) for text in texts))

    def files(self, source: Source) -> tuple[Source, ...]:
        """The library files that a definition uses, and those that these use."""
        return tuple(self._sources[name].span.source for name in self._order(source))

    def _order(self, source: Source) -> dict[str, None]:
        order: dict[str, None] = {}
        for statement in self._parsed(source).statements:
            if isinstance(statement, tree.Use):
                for name in statement.names:
                    self._gather(name, statement, order, (), self._statements_of)
        return order


def _called(text: str, known: Iterable[str]) -> set[str]:
    return set(_WORD.findall(text)).intersection(known)
