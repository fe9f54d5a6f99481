"""Reading definitions: their programs, the library files they use, and whether all names mean something.

This is what the library of operators (``specs``) needs of the language.  It is loaded when a definition has
to be read, which nodes of common models do not ask for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.syntax import operator_signature, parse, resolve, signatures, tree
from tolcost.syntax.declarations import Signature

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
            self._gather(name, asked, order, ())
            statements = (s for file in order for s in self._sources[file].statements)
            self._used[name] = tree.Module(tuple(s for s in statements if not isinstance(s, tree.Use)))
        return self._used[name]

    def _gather(
        self, name: str, asked: tree.Use | None, order: dict[str, None], above: tuple[str, ...]
    ) -> None:
        """Put a library file after those it uses."""
        if name in order or name in above:
            return
        for statement in self._library_file(name, asked).statements:
            if isinstance(statement, tree.Use):
                for inner in statement.names:
                    self._gather(inner, statement, order, (*above, name))
        order[name] = None

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
        program = self._parsed(source)
        order: dict[str, None] = {}
        for statement in program.statements:
            if isinstance(statement, tree.Use):
                for name in statement.names:
                    self._gather(name, statement, order, ())
        texts = (source.text, *(self._sources[name].span.source.text for name in order))
        return frozenset(order), frozenset().union(*(_called(text, self._callable()) for text in texts))


def _called(text: str, known: Iterable[str]) -> set[str]:
    return set(_WORD.findall(text)).intersection(known)
