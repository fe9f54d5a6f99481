"""The language server: the features of this package over the language server protocol.

One thread analyses texts while another listens; of several changes only the last is analysed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from lsprotocol import types as lsp
from msgspec import Struct
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from tolcost import __version__
from tolcost.apps.editor import features
from tolcost.apps.editor.reading import Reading, line_costs, read, read_supposing
from tolcost.catalogue.specs import Library, existing, open_library
from tolcost.diagnostics import Diagnostic, Source, Span

_T = TypeVar("_T")
EXPLAIN = "tolcost.explain"
_SEVERITY = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_KINDS = {
    "value": lsp.CompletionItemKind.Variable,
    "function": lsp.CompletionItemKind.Function,
    "operator": lsp.CompletionItemKind.Module,
    "space": lsp.CompletionItemKind.TypeParameter,
    "constant": lsp.CompletionItemKind.Constant,
    "keyword": lsp.CompletionItemKind.Keyword,
    "file": lsp.CompletionItemKind.File,
}


class RequestFailed(JsonRpcException):
    """A request that makes no sense for this text; the message states why."""

    CODE = -32803
    MESSAGE = "Request Failed"


class Server(LanguageServer):
    """The server, the last parsable reading of each text, and the thread that analyses."""

    def __init__(self, folders: tuple[Path, ...] = ()) -> None:
        """Set up without listening; operators in these folders take precedence over those of tolcost."""
        super().__init__("tolcost", __version__, lsp.TextDocumentSyncKind.Full)
        self.last_good: dict[str, Reading] = {}
        self.newest: dict[str, int] = {}
        self._folders = folders
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tolcost")

    async def work(self, task: Callable[[], _T]) -> _T:
        """Run a task in the thread that analyses."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, task)

    def source(self, uri: str) -> Source:
        """Return the current text, under the name that ``analyze`` would give it."""
        try:
            return Source(to_fs_path(uri) or uri, self.workspace.get_text_document(uri).source)
        except (OSError, UnicodeDecodeError) as error:  # it was never opened, and is not a readable file
            raise RequestFailed(f"there is no text {uri}") from error

    def library(self) -> Library:
        """Return the operators of the current files: a user's files may change during a session."""
        return _opened(self._folders, _state_of(self._folders))

    async def reading(self, uri: str) -> Reading:
        """Return the analysis of a text as it is now."""
        source = self.source(uri)
        found = await self.work(lambda: read_supposing(source, self.library()))
        if found.program is not None:
            self.last_good[uri] = found
        return found

    async def check(self, uri: str, version: int) -> None:
        """Publish the diagnostics of a text, unless there is a newer version by then."""
        self.newest[uri] = version
        source = self.source(uri)
        found = await self.work(
            lambda: read(source, self.library()) if self.newest.get(uri) == version else None
        )
        if found is None or self.newest.get(uri) != version:
            return
        if found.program is not None:
            self.last_good[uri] = found
        told = [self.diagnostic(found, uri, one) for one in found.diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, told, version))

    # ---- places, in the negotiated units

    @property
    def _encoding(self) -> Encoding:
        agreed = self.server_capabilities.position_encoding
        return "utf-8" if agreed == "utf-8" else "utf-32" if agreed == "utf-32" else "utf-16"

    def position(self, text: str, offset: int) -> lsp.Position:
        """Return the position of an offset."""
        found = place_at(text, offset, self._encoding)
        return lsp.Position(found.line, found.column)

    def range(self, span: Span) -> lsp.Range:
        """Return the range of a span in its text."""
        text = span.source.text
        return lsp.Range(self.position(text, span.start), self.position(text, span.end))

    def offset(self, reading: Reading, position: lsp.Position) -> int:
        """Return the offset of a position."""
        return offset_at(reading.source.text, EditorPlace(position.line, position.character), self._encoding)

    def location(self, span: Span, uri: str, source: Source) -> lsp.Location | None:
        """Return the location of a span: in the open text, or in a file."""
        if span.source is source:
            return lsp.Location(uri, self.range(span))
        file = features.file_of(span.source)
        target = None if file is None else from_fs_path(str(file.resolve()))
        return None if target is None else lsp.Location(target, self.range(span))

    def diagnostic(self, reading: Reading, uri: str, told: Diagnostic) -> lsp.Diagnostic:
        """Return a diagnostic at its place; at the top of the text if its place is in another file."""
        here = told.span.source is reading.source
        related = [] if here else [(told.span, told.message)]
        related += [(label.span, label.text) for label in told.labels]
        located = ((self.location(span, uri, reading.source), text) for span, text in related)
        message = told.message if told.hint is None else f"{told.message}\nhint: {told.hint}"
        return lsp.Diagnostic(
            range=self.range(told.span if here else Span(reading.source, 0, 0)),
            message=message,
            severity=_SEVERITY[told.severity],
            code=told.code,
            source="tolcost",
            related_information=[lsp.DiagnosticRelatedInformation(at, text) for at, text in located if at],
        )


# ---- requests ----------------------------------------------------------------------------------


async def _changed(
    server: Server, params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams
) -> None:
    await server.check(params.text_document.uri, params.text_document.version)


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.last_good.pop(uri, None)
    server.newest.pop(uri, None)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


async def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    reading = await server.reading(params.text_document.uri)
    found = await server.work(lambda: features.hover_at(reading, server.offset(reading, params.position)))
    if found is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown), server.range(found.span))


async def _hints(server: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    reading = await server.reading(params.text_document.uri)
    found = await server.work(lambda: line_costs(reading))
    first, last = params.range.start.line, params.range.end.line
    return [
        lsp.InlayHint(
            server.position(reading.source.text, line_end(reading.source.text, one.line - 1)),
            f"{one.text} EOPs",
            padding_left=True,
            tooltip="what this line applies to data, in all",
        )
        for one in found
        if first <= one.line - 1 <= last
    ]


async def _definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    found = await server.work(
        lambda: features.definition_at(reading, server.offset(reading, params.position))
    )
    return None if found is None else server.location(found, uri, reading.source)


async def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    found = features.occurrence_at(reading, server.offset(reading, params.position))
    if found is None:
        return []
    places = features.places_of(found)
    asked = places if params.context.include_declaration else [one for one in places if one != found.place]
    return [lsp.Location(uri, server.range(span)) for span in asked]


async def _completion(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    offset, last = server.offset(reading, params.position), server.last_good.get(uri)
    found = await server.work(lambda: features.completions_at(reading, last, offset))
    items = [
        lsp.CompletionItem(
            one.label,
            kind=_KINDS[one.kind],
            detail=one.detail or None,
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.text) if one.text else None,
        )
        for one in found
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


async def _prepare_rename(server: Server, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    reading = await server.reading(params.text_document.uri)
    try:
        word, _ = features.renameable_at(reading, server.offset(reading, params.position))
    except features.CannotRename as error:
        raise RequestFailed(str(error)) from error
    return server.range(word)


async def _rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    try:
        places = features.rename(reading, server.offset(reading, params.position), params.new_name)
    except features.CannotRename as error:
        raise RequestFailed(str(error)) from error
    return lsp.WorkspaceEdit({uri: [lsp.TextEdit(server.range(span), params.new_name) for span in places]})


def _format(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    source = server.source(params.text_document.uri)
    text = features.formatted(source)
    if text is None or text == source.text:
        return None if text is None else []
    return [lsp.TextEdit(server.range(Span(source, 0, len(source.text))), text)]


async def _code_actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    start, end = (server.offset(reading, place) for place in (params.range.start, params.range.end))
    return [
        lsp.CodeAction(
            fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[server.diagnostic(reading, uri, told)],
            edit=lsp.WorkspaceEdit({uri: [lsp.TextEdit(server.range(fix.span), fix.text)]}),
            is_preferred=True,
        )
        for told, fix in features.actions_in(reading, start, end)
    ]


async def _lenses(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    reading = await server.reading(uri)
    found = await server.work(lambda: tuple(features.lenses(reading)))
    return [
        lsp.CodeLens(
            server.range(one.place),
            lsp.Command(f"{eops} EOPs: explain", EXPLAIN, arguments=[uri, one.name]),
        )
        for one, eops in found
    ]


async def _outline(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    reading = await server.reading(params.text_document.uri)
    found = await server.work(lambda: tuple(features.outline(reading)))
    return [
        lsp.DocumentSymbol(
            one.name,
            lsp.SymbolKind.Function if one.sort == "function" else lsp.SymbolKind.Variable,
            server.range(one.statement),
            server.range(one.place),
            detail=detail or None,
        )
        for one, detail in found
    ]


async def _explain(server: Server, uri: str, name: str = "") -> str:
    """Return the derivation of the program; the editor scrolls to the part on ``name``."""
    reading = await server.reading(uri)
    return await server.work(lambda: features.explained(reading))


def language_server(folders: tuple[Path, ...]) -> Server:
    """Make a server that answers all of these requests."""
    server = Server(folders)
    features: dict[str, Callable[..., object]] = {
        lsp.TEXT_DOCUMENT_DID_OPEN: _changed,
        lsp.TEXT_DOCUMENT_DID_CHANGE: _changed,
        lsp.TEXT_DOCUMENT_DID_CLOSE: _closed,
        lsp.TEXT_DOCUMENT_HOVER: _hover,
        lsp.TEXT_DOCUMENT_INLAY_HINT: _hints,
        lsp.TEXT_DOCUMENT_DEFINITION: _definition,
        lsp.TEXT_DOCUMENT_REFERENCES: _references,
        lsp.TEXT_DOCUMENT_COMPLETION: _completion,
        lsp.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
        lsp.TEXT_DOCUMENT_RENAME: _rename,
        lsp.TEXT_DOCUMENT_FORMATTING: _format,
        lsp.TEXT_DOCUMENT_CODE_ACTION: _code_actions,
        lsp.TEXT_DOCUMENT_CODE_LENS: _lenses,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _outline,
    }
    for method, handler in features.items():
        server.feature(method)(handler)
    server.command(EXPLAIN)(_explain)
    return server


@lru_cache(maxsize=2)
def _opened(folders: tuple[Path, ...], state: tuple[tuple[str, int], ...]) -> Library:
    return open_library(folders)


def _state_of(folders: tuple[Path, ...]) -> tuple[tuple[str, int], ...]:
    """Return the state of folders; operators are read again when it differs."""
    found = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.tol")):
        with suppress(OSError):  # it has just been deleted
            found.append((str(file), file.stat().st_mtime_ns))
    return tuple(found)


def serve(folders: Sequence[str] = ()) -> None:
    """Answer on the standard streams until told to stop; a missing folder raises ``Rejected``."""
    own = existing(folders)
    if not os.environ.get("TOLCOST_TRACEBACK"):
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the answer states why a request is refused
    with open(os.dup(0), "rb") as stdin, open(os.dup(1), "wb") as stdout:
        language_server(own).start_io(stdin, stdout)


# ---- places as editors count them: lines from 0, and columns in units of an encoding ---------


Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")


class EditorPlace(Struct, frozen=True, order=True):
    """A line and a column."""

    line: int
    column: int


@lru_cache(maxsize=8)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def place_at(text: str, offset: int, encoding: Encoding = "utf-16") -> EditorPlace:
    r"""Return the place of an offset.

    >>> place_at("a\n𝛼b", 3), place_at("a\n𝛼b", 3, "utf-8")
    (EditorPlace(line=1, column=2), EditorPlace(line=1, column=4))
    """
    starts = _starts(text)
    line = bisect_right(starts, offset) - 1
    return EditorPlace(line, _units(text[starts[line] : offset], encoding))


def offset_at(text: str, place: EditorPlace, encoding: Encoding = "utf-16") -> int:
    r"""Return the offset of a place, or the nearest one if there is no such place.

    >>> offset_at("a\n𝛼b", EditorPlace(1, 2)), offset_at("ab", EditorPlace(7, 0))
    (3, 2)
    >>> offset_at("a\nb", EditorPlace(0, 9))
    1
    """
    starts = _starts(text)
    if place.line >= len(starts):
        return len(text)
    offset, left = starts[place.line], place.column
    while left > 0 and offset < len(text) and text[offset] not in "\r\n":
        left -= _units(text[offset], encoding)
        offset += 1
    return offset


def line_end(text: str, line: int) -> int:
    """Return the offset at which a line ends, lines counted from 0."""
    starts = _starts(text)
    begin = starts[min(line, len(starts) - 1)]
    match = _LINE_END.search(text, begin)
    return len(text) if match is None else match.start()


def _units(text: str, encoding: Encoding) -> int:
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)
