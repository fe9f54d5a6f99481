"""The parser: a table-driven LALR(1) parser with a contextual lexer, one statement at a time.

In each state the lexer tries only the terminals that the grammar allows there. The parser knows which
brackets are open and so what a new line means: nothing inside ``( )`` and ``[ ]``; a separator inside ``{
}``; outside of brackets the end of the statement, unless the next line is indented or the statement cannot
end there. After a mistake it resumes at the next line that looks like a statement, so that one run reports
several mistakes. It does not resolve names (``names``).

``Definitions`` reads a definition together with the library files that it uses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from tolcost.diagnostics import Diagnostic, InternalError, Rejected, Source, Span, refuse
from tolcost.syntax import tree
from tolcost.syntax.grammar import END, Builder, RuleAction, action, parse_table
from tolcost.syntax.names import Signature, operator_signature, resolve, signatures
from tolcost.syntax.syntax_errors import Mistake, Token, Unexpected, describe, resume
from tolcost.syntax.tree import (
    MAX_DEPTH,
    MAX_ERRORS,
    MAX_STATEMENTS,
    Comment,
    Module,
    Statement,
    check_text,
    deepest,
)

_BLANK = re.compile(r"[ \t\r\f]*")
_WHITE = re.compile(r"[ \t\r\f\n]*")
_COMMENT = re.compile(r"(?:#|//)[^\n]*")
_SEPARATOR = "_SEP"
_PAIRS = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE", "CLOSE_BAR": "OPEN_BAR"}
_BRACKETS = frozenset(_PAIRS) | frozenset(_PAIRS.values())
_ENDING = frozenset(_PAIRS) | {"NAME", "NUMBER", "STRING", "STAR", "TICK", "KIND", "ELLIPSIS"}


def parse(source: Source) -> Module:
    """Parse a program; raise ``Rejected`` with all syntax errors found.

    >>> parse(Source("demo", "y := map(x, * + 1)")).statements[0].name
    'y'
    """
    check_text(source)
    return _Parser(source).program()


class Statements:
    """The statements of a text, each parsed on demand."""

    def __init__(self, source: Source) -> None:
        """Check the text as a whole; parse nothing yet."""
        check_text(source)
        self._parser = _Parser(source)
        self._found: dict[tuple[int, int], Statement | None] = {}

    def between(self, start: int, end: int) -> Statement | None:
        """Return the statement between two offsets.

        It is None unless they enclose exactly one statement without a mistake.
        """
        if (start, end) not in self._found:
            self._found[start, end] = self._parser.between(start, end)
        return self._found[start, end]


class _Parser:
    """The state of the parser: the text, the current offset, and what has been found so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.pos = 1 if source.text.startswith("\ufeff") else 0
        self.comments: list[Comment] = []
        self.builder = Builder(source)
        self.brackets: list[Token] = []
        self.statement = 0
        self.previous = (END, 0, 0)
        self.tokens = 0

    def program(self) -> Module:
        statements: list[Statement] = []
        mistakes = self.builder.diagnostics
        self._skip_gap()
        while self.pos < len(self.text) and len(mistakes) < MAX_ERRORS:
            try:
                statements.append(self._statement())
                if len(statements) > MAX_STATEMENTS:
                    message = f"the program has more than {MAX_STATEMENTS:,} statements"
                    refuse("T0512", message, statements[-1].span)
            except Unexpected as unexpected:
                mistakes.append(describe(unexpected.mistake))
                self.pos = resume(unexpected.mistake)
                self._skip_gap()
        if mistakes:
            raise Rejected(*sorted(mistakes, key=lambda d: d.span.start))
        return Module(tuple(statements), tuple(self.comments), Span(self.source, 0, len(self.text)))

    def between(self, start: int, end: int) -> Statement | None:
        """Parse the statement that starts at one offset.

        Return None unless it ends at the other, without a mistake.
        """
        self.pos = start
        try:
            statement = self._statement()
        except (Unexpected, Rejected):
            return None
        return statement if self.pos == end and not self.builder.diagnostics else None

    def _statement(self) -> Statement:
        self.brackets.clear()
        self.statement = self.pos
        self.previous = (END, self.pos, self.pos)
        self.tokens = 0
        statement = self._run()
        if self.tokens > MAX_DEPTH and (node := deepest(statement, MAX_DEPTH)) is not None:
            raise Rejected(_too_deep(node.span))
        return statement

    def _run(self) -> Statement:
        """Run the automaton from the start of a statement to its end.

        Parallel to the stack of states there are a stack of values and a stack of the offsets at which each
        value starts; a rule ends where the last token ended.
        """
        table, text, rules, builder = parse_table(), self.text, _rules(), self.builder
        moves, scanners, after = table.moves, _scanners(), _after()
        states, state = [0], 0
        values: list[Any] = []
        starts: list[int] = []
        pos = last = self.pos
        previous, tokens = self.previous, 0
        while True:
            match = scanners[state].match(text, pos)
            if match is not None:
                kind = match.lastgroup or ""
                start, end = match.span(kind)
                pos = end
            else:
                self.pos, self.previous = pos, previous
                line_end = self._line_end(state)
                pos = self.pos
                if line_end is None:
                    continue
                kind, start, end = line_end
            possible = moves[state]
            while (move := moves[state].get(kind, 0)) < 0:
                size, symbol, act = rules[~move]
                if size > 1:
                    del starts[1 - size :], states[1 - size :]
                if act is not None:
                    values[-size:] = (act(builder, values[-size:], starts[-1], last),)
                elif size > 1:
                    del values[1 - size :]
                state = states[-1] = after[states[-2], symbol, kind]
            if kind == END and state == table.final:
                self.pos, self.tokens = pos, tokens
                return cast(Statement, values[0])
            if move == 0:
                self.previous = previous
                raise self._unexpected(kind, start, end, possible, moves[state])
            if kind in _BRACKETS:
                self._bracket(kind, start)
            states.append(move)
            values.append(word if (word := text[start:end]).isascii() else _normalize_accents(kind, word))
            starts.append(start)
            state, last, previous = move, end, (kind, start, end)
            tokens += 1

    def _unexpected(
        self, kind: str, start: int, end: int, moves: Iterable[str], after: Iterable[str] = ()
    ) -> Unexpected:
        found, previous = Token(kind, start, end), Token(*self.previous)
        brackets, expected = tuple(self.brackets), frozenset(moves)
        return Unexpected(
            Mistake(self.source, self.statement, found, previous, brackets, expected, frozenset(after))
        )

    # ---- brackets and lines

    def _bracket(self, kind: str, start: int) -> None:
        opening = _PAIRS.get(kind)
        if opening is None:
            self.brackets.append(Token(kind, start, start + 1))
            if len(self.brackets) > MAX_DEPTH:
                raise Rejected(_too_deep(Span(self.source, start, start + 1)))
        elif self.brackets and self.brackets[-1].kind == opening:
            self.brackets.pop()

    def _line_end(self, state: int) -> tuple[str, int, int] | None:
        """Handle the end of a line: return the token that it stands for; None if it has no meaning here."""
        self._skip_comment()
        at = self.pos
        if at < len(self.text) and self.text[at] != "\n":
            raise self._unexpected("", at, at + 1, parse_table().moves[state])
        self._skip_gap()
        kind = self._meaning(parse_table().moves[state])
        return (kind, at, at) if kind else None

    def _meaning(self, moves: dict[str, int]) -> str | None:
        if self.pos == len(self.text):
            return END
        inner = next((b.kind for b in reversed(self.brackets) if b.kind != "OPEN_BAR"), None)
        if inner is not None:
            return _SEPARATOR if inner == "LBRACE" and _SEPARATOR in moves else None
        indented = self.text[self.pos - 1] != "\n"
        return END if not indented and (END in moves or self.previous[0] in _ENDING) else None

    def _skip_comment(self) -> None:
        """Skip blanks and the comment at the end of the line, if there is one."""
        self.pos = _skip(_BLANK, self.text, self.pos)
        match = _COMMENT.match(self.text, self.pos)
        if match is not None:
            self.comments.append(Comment(match[0].rstrip(), Span(self.source, self.pos, match.end())))
            self.pos = match.end()

    def _skip_gap(self) -> None:
        """Skip to the start of the next line with code."""
        self._skip_comment()
        while self.text.startswith("\n", self.pos):
            self.pos = _skip(_WHITE, self.text, self.pos)
            self._skip_comment()


def _skip(pattern: re.Pattern[str], text: str, pos: int) -> int:
    match = pattern.match(text, pos)
    return match.end() if match else pos


def _too_deep(span: Span) -> Diagnostic:
    return Diagnostic("T0511", f"nested more than {MAX_DEPTH} levels deep", span, hint="name the inner parts")


def _normalize_accents(kind: str, word: str) -> str:
    """Normalize the accents of a name (NFC), so that it is the same name in either encoding."""
    return word if kind == "STRING" else unicodedata.normalize("NFC", word)


_COMPILE_AFTER = 512
"""How often a state is scanned before its terminals are compiled into one regular expression.

Compiling takes long and pays off only in a state that long programs meet often.
"""


class _TerminalMatch(NamedTuple):
    """A terminal found in the text, with the interface of a regular expression's match."""

    lastgroup: str
    start: int
    end: int

    def span(self, _: str) -> tuple[int, int]:
        return self.start, self.end


class _OneByOne:
    """Tries the terminals of a state one after another; a terminal of fixed text needs no pattern."""

    def __init__(self, scanners: _Scanners, state: int, terminals: list[tuple[str, str, str | None]]) -> None:
        self.scanners, self.state, self.terminals = scanners, state, terminals
        self.left = _COMPILE_AFTER

    def match(self, text: str, pos: int) -> _TerminalMatch | None:
        self.left -= 1
        if self.left < 0 and len(self.terminals) > 1:
            named = "|".join(f"(?P<{name}>{pattern})" for name, pattern, _ in self.terminals)
            self.scanners[self.state] = re.compile(f"{_BLANK.pattern}(?:{named})")
        start = _skip(_BLANK, text, pos)
        for name, pattern, plain in self.terminals:
            if plain is None:
                found = _terminal(pattern).match(text, start)
                if found is not None:
                    return _TerminalMatch(name, start, found.end())
            elif text.startswith(plain, start):
                return _TerminalMatch(name, start, start + len(plain))
        return None


@cache
def _terminal(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _fixed_text(pattern: str) -> str | None:
    """Return the only text that a pattern matches; None if it matches several."""
    text = pattern.replace("\\", "")
    return text if re.escape(text) == pattern else None


class _Scanners(dict[int, "_OneByOne | re.Pattern[str]"]):
    """The scanner of each state, made when the state is first met."""

    def __missing__(self, state: int) -> _OneByOne | re.Pattern[str]:
        table = parse_table()
        moves = table.moves[state]
        possible = [(name, look, _fixed_text(look)) for name, look in table.terminals if name in moves]
        self[state] = _OneByOne(self, state, possible)
        return self[state]


@cache
def _scanners() -> _Scanners:
    return _Scanners()


@cache
def _rules() -> list[tuple[int, str, RuleAction | None]]:
    """Return each rule's size, symbol and action."""
    rules = parse_table().productions
    return [(rule.size, rule.symbol, action(rule.action) if rule.action else None) for rule in rules]


class _After(dict[tuple[int, str, str], int]):
    """The state after a reduction, by the state before it, the rule's symbol and the token that follows.

    Half of all reductions only rename a symbol, without an action; a chain of them is followed at once.
    """

    def __missing__(self, key: tuple[int, str, str]) -> int:
        before, symbol, kind = key
        table = parse_table()
        state = table.moves[before][symbol]
        while (move := table.moves[state].get(kind, 0)) < 0:
            rule = table.productions[~move]
            if rule.size > 1 or rule.action:
                break
            state = table.moves[before][rule.symbol]
        self[key] = state
        return state


@cache
def _after() -> _After:
    return _After()


# === Reading definitions: their programs, the library files they use, and the resolution of their names.
#
# The operators under ``specs`` are read by this part. It runs only when a definition must be read, which
# nodes of common models do not require: their schemes are stored.


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIRST_WORD = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*", re.MULTILINE)
_REMARK = re.compile(r"^#.*", re.MULTILINE)


class _RawStatement(NamedTuple):
    """A statement that is not parsed yet: its first word, its offsets, and the words it mentions."""

    word: str
    start: int
    end: int
    mentions: frozenset[str]


class _LibraryFile:
    """A library file that comes with tolcost: each line that begins with a word begins a statement."""

    def __init__(self, source: Source) -> None:
        self._name, self._statements = source.name, Statements(source)
        self.pieces = tuple(_raw_statements(source.text))

    def statement(self, piece: _RawStatement) -> tree.Statement:
        """Return a statement, parsed once."""
        found = self._statements.between(piece.start, piece.end)
        if found is None:
            raise InternalError(f"{self._name} has no statement from {piece.start} to {piece.end}")
        return found

    def uses(self) -> Iterator[tree.Statement]:
        """Return the ``use`` statements of the file."""
        return (self.statement(piece) for piece in self.pieces if piece.word == "use")


def _raw_statements(text: str) -> Iterator[_RawStatement]:
    starts = [(match[0], match.start()) for match in _FIRST_WORD.finditer(text)]
    ends = [*(start for _, start in starts[1:]), len(text)]
    for (word, start), end in zip(starts, ends, strict=True):
        yield _RawStatement(word, start, end, _words_in(text[start:end]))


def _words_in(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_REMARK.sub("", text)))


class Definitions:
    """The files of a library, each parsed once.

    ``callable_file`` returns the source of an operator that a program may call, by name, and
    ``library_source`` the source of a library file.
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
        """Return the header of a definition, its program, and the library files that it uses."""
        program = self._parse_once(source)
        header = next((s for s in program.statements if isinstance(s, tree.Operator)), None)
        if header is None or header.name != name:
            problem = f"{source.name} must start with `operator {name}`"
            refuse("T0652", problem, header.span if header else program.span)
        uses = [s for s in program.statements if isinstance(s, tree.Use)]
        library = tuple(self.used(n, s) for s in uses for n in s.names)
        self.check_names(program, library)
        return header, program, library

    def stored(self, source: Source) -> tuple[tree.Module, tuple[tree.Module, ...]]:
        """Return the program of an unchanged definition, and the parts of library files that it can reach.

        The definition has not changed since its head was stored, and its names were resolved then, so they
        are not resolved again. Other statements of the library files are not parsed.
        """
        program = self._parse_once(source)
        words = _words_in(source.text)
        uses = [s for s in program.statements if isinstance(s, tree.Use)]
        return program, tuple(self._reachable_part(n, s, words) for s in uses for n in s.names)

    def _reachable_part(self, name: str, asked: tree.Use, words: frozenset[str]) -> tree.Module:
        """Return the statements of a library file and of the files it uses that ``words`` can reach."""
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

    def _parse_once(self, source: Source) -> tree.Module:
        """Parse a file once: it may be read both for its program and for its signature."""
        key = (source.name, source.text)
        if key not in self._read:
            self._read[key] = parse(source)
        return self._read[key]

    def check_names(self, program: tree.Module, library: Sequence[tree.Module]) -> None:
        """Reject a program that mentions a name that neither it, its libraries nor an operator defines."""
        known = {name: found for file in library for name, found in signatures(file).items()}
        for name in _callables_in(program.span.source.text, self._callable()):
            found = self._signature(name)
            if found is not None:
                known.setdefault(*found)
        problems = [d for d in resolve(program, known, others=self._callable()) if d.severity == "error"]
        if problems:
            raise Rejected(*problems)

    def used(self, name: str, asked: tree.Use | None = None) -> tree.Module:
        """Return a library file together with the files that it uses."""
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
        """Append a library file to ``order``, after the files that it uses."""
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
        """Return the signature of an operator; its file is read once."""
        if name not in self._signatures:
            self._signatures[name] = operator_signature(self._parse_once(self._callable_file(name)))
        return self._signatures[name]

    def needs(self, source: Source) -> tuple[frozenset[str], frozenset[str]]:
        """Return the library files that a definition uses, and the operators that it or they may call."""
        order = self._order(source)
        texts = (source.text, *(self._sources[name].span.source.text for name in order))
        return frozenset(order), frozenset().union(*(_callables_in(text, self._callable()) for text in texts))

    def files(self, source: Source) -> tuple[Source, ...]:
        """Return the library files that a definition uses, directly or through other library files."""
        return tuple(self._sources[name].span.source for name in self._order(source))

    def _order(self, source: Source) -> dict[str, None]:
        order: dict[str, None] = {}
        for statement in self._parse_once(source).statements:
            if isinstance(statement, tree.Use):
                for name in statement.names:
                    self._gather(name, statement, order, (), self._statements_of)
        return order


def _callables_in(text: str, known: Iterable[str]) -> set[str]:
    return set(_WORD.findall(text)).intersection(known)
