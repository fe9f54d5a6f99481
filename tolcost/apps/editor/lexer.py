"""ToLang for Pygments, which colours programs in documentation and in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from tolcost.apps.editor.features import Kind
from tolcost.apps.editor.features import words as entries

__all__ = ["ToLangLexer"]


def _all(*kinds: Kind) -> Any:
    plain = sorted(name for name, entry in entries().items() if entry.kind in kinds and name.isidentifier())
    return words(plain, prefix=r"\b", suffix=r"\b(?!\s*:)")


class ToLangLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Colours ToLang."""

    name = "ToLang"
    aliases: ClassVar[list[str]] = ["tolang", "tol"]
    filenames: ClassVar[list[str]] = ["*.tol"]
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"(?:#|//)[^\n]*", Comment.Single),
            # Behind an index, `'` selects a component: p[1]' + p[2]'.
            (r'"(?:[^"\\\n]|\\.)*"|(?<![\])\w])\'(?:[^\'\\\n]|\\.)*\'', String),
            (
                r"(?:operator|use|space|list|tol|static|attr)(?=[ \t]+[^\W\d])|tol(?=[ \t]*\[)",
                Keyword.Declaration,
            ),
            (r"(?:and|or|xor|not)\b", Operator.Word),
            (r"[NZQR][*+\-](?=\s*[,)\]\[\n])", Keyword.Type),
            (_all("spaces"), Keyword.Type),
            (_all("constants"), Keyword.Constant),
            (r"part'", Name.Builtin),
            (_all("primitives", "functions"), Name.Builtin),
            (r"[^\W\d]\w*(?=\s*\()", Name.Function),
            (r"[^\W\d]\w*", Name),
            (r"[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][+\-]?[0-9]+)?", Number),
            (r":=|=>|==|!=|<=|>=|\.\.\.?|[=<>+\-*/%^?]", Operator),
            (r"[()\[\]{}|,;:.']", Punctuation),
            (r".", Text),
        ]
    }


def shown(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a program, each with its token type.

    >>> list(shown("y := exp(x)"))[-4:]
    [('Name.Builtin', 'exp'), ('Punctuation', '('), ('Name', 'x'), ('Punctuation', ')')]
    >>> [piece for kind, piece in shown("p[1]' + f(q)[2]' == 'a'") if kind == "Literal.String"]
    ["'a'"]
    """
    for token, piece in ToLangLexer(ensurenl=False, stripnl=False).get_tokens(text):
        yield str(token).removeprefix("Token."), piece
