"""Diagnostics of syntax errors: what the parser found, what the grammar expects there, and where to resume.

Each explanation recognizes one kind of mistake and returns None for any other; the first that applies is
reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from msgspec import Struct

from tolcost.diagnostics import Diagnostic, Fix, Label, Source, Span
from tolcost.syntax.grammar import BINARY_LEVELS, END

# === Constructs of other languages, and what replaces each in ToLang.


_LOOP = "there are no loops: `map(t, f(*))` computes every element, `reduce(t, f, 0)` takes one after another"
CHOICE = "`where(c, a, b)` is one of two values, and `choose(c, a, b)` computes only that one"
_FUNCTION = "`f(x) = x + 1` defines a function, and `(x) => x + 1` is one without a name"
_SHAPE = "`|x|` is the shape of x, and `|x|[1]` its first length"
_MODULE = "no module stands before a function: `exp(x)`"
_OUTPUT = "the last definition is the output, or those marked with `:=`"

KEYWORDS: Mapping[str, str] = {
    "for": _LOOP, "while": _LOOP, "if": CHOICE, "then": CHOICE, "else": CHOICE, "elif": CHOICE,
    "def": _FUNCTION, "fn": _FUNCTION, "function": _FUNCTION, "lambda": _FUNCTION, "return": _OUTPUT,
    "let": "`y = x` defines a name, and `y := x` an output", "var": "`y = x` defines a name",
    "import": "`use name` brings in a library file",
}  # fmt: skip
"""Keywords of other languages; in ToLang they are ordinary names that nothing defines."""

CALLS: Mapping[str, str] = {
    **KEYWORDS,
    "sum": "`reduce(t, add, 0)` adds up all elements",
    "prod": "`reduce(t, mul, 1)` multiplies all elements",
    "dot": "`reduce(map(x, * * y[i], [i]), add, 0)` is the product of two vectors",
    "len": _SHAPE, "size": _SHAPE, "shape": _SHAPE, "length": _SHAPE, "dim": _SHAPE,
    "zeros": "`tol y = [n, m]` is a ToL of zeros",
    "ones": "`map(tol[n, m], 1)` is a ToL of ones",
    "average": "`reduce(t, add, 0) / vol(t)` is the mean of all elements",
    "sort": "`TopK(x, |x|)` gives a vector from its largest element to its smallest",
    "append": "`[*t, row]` is t with one more row",
    "np": _MODULE, "numpy": _MODULE, "torch": _MODULE, "math": _MODULE,
    "print": _OUTPUT,
}  # fmt: skip
"""Hints for functions of other languages."""

MEMBERS: Mapping[str, str] = {**CALLS, "T": "`Transpose(x)` is x with its axes turned around"}
"""Hints for methods and attributes that other languages write after a dot."""

_ALL = "`reduce(t, {0}, {1})` takes {0} over all elements"
ARGUMENTS: Mapping[str, str] = {
    "reduce": "the third is what it begins with: `reduce(t, add, 0)`",
    "map": "`map(t, exp(*))` computes every element",
    "add": _ALL.format("add", "0"), "mul": _ALL.format("mul", "1"),
    "max": _ALL.format("max", "-Inf"), "min": _ALL.format("min", "Inf"),
}  # fmt: skip
"""Hints for functions that are called with too few arguments."""

PAIRS: Mapping[str, tuple[str, str | None]] = {
    "->": ("a function is `(x) => x + 1`", "=>"),
    **dict.fromkeys(
        ("+=", "-=", "*=", "/="), ("a name is defined once: `z = y + 1` defines another one", None)
    ),
}
"""Signs of other languages that begin with an operator of ToLang: the hint, and what to write instead."""

TYPES: Mapping[str, str] = {
    "Real": "R", "real": "R", "float": "float32", "Float": "float32", "double": "float64", "half": "float16",
    "int": "int64", "Int": "Z", "Integer": "Z", "integer": "Z", "nat": "N", "Natural": "N",
    "Bool": "B", "boolean": "B", "Boolean": "B", "complex": "C", "Complex": "C", "str": "S", "String": "S",
}  # fmt: skip
"""Types of other languages, and the spaces that replace them."""

QUOTIENT = "a quotient rounded down is floor(a / b)"


# === Mistakes.


_START = re.compile(
    r"^(?:(?:operator|use|space|list|tol|static|attr)[ \t]+[^\W\d]"
    r"|[^\W\d]\w*[ \t]*(?:\([^()\n]*\)|\.\.\.)?[ \t]*:?=(?![=>])"
    r"|\([^()\n]*\)[ \t]*=(?![=>]))",
    re.MULTILINE,
)
_DIVIDED = re.compile(r"[^\n#]*?[\w)\]][ \t]*(//)[ \t]*[\w(][^\n]*[)\]}|]")
_LEXEME = re.compile(r"\w+|\.\.\.|\.\.|:=|=>|==|!=|<=|>=|&&|\*\*|.|\Z", re.DOTALL)
_OPENING = {"LPAR": "(", "LSQB": "[", "LBRACE": "{", "OPEN_BAR": "|"}
_CLOSERS = {"(": ")", "[": "]", "{": "}", "|": "|"}
_OPERATORS = frozenset(BINARY_LEVELS)
_KEYWORDS = frozenset({"operator", "use", "space", "list", "tol", "static", "attr"})
_FOREIGN = {
    "&&": "the word `and`", "&": "the word `and`", "!": "the word `not`", "**": "`^`", "~": "the word `not`",
    "¬": "the word `not`",
    "≤": "`<=`", "≥": "`>=`", "≠": "`!=`", "×": "`*`", "÷": "`/`", "−": "`-`", "–": "`-`",
    "“": 'a plain quote, `"`', "”": 'a plain quote, `"`', "‘": "a plain quote, `'`", "’": "a plain `'`",
}  # fmt: skip
_MEANT = {
    "&&": "and", "&": "and", "!": "not", "**": "^", "~": "not", "¬": "not", "≤": "<=", "≥": ">=", "≠": "!=",
    "×": "*", "÷": "/", "−": "-", "–": "-", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
"""Replacements for the signs in ``_FOREIGN``, as program text."""


class Token(Struct, frozen=True, eq=False):
    """A token, without its text. The kind is empty if no terminal matches."""

    kind: str
    start: int
    end: int


class Mistake(Struct, frozen=True, eq=False):
    """The state of the parser at a syntax error."""

    source: Source
    statement: int
    """The offset at which the statement starts."""
    found: Token
    previous: Token
    brackets: tuple[Token, ...]
    """The open brackets, outermost first."""
    expected: frozenset[str]
    """The symbols that have a move in the state in which the unexpected token was read."""
    settled: frozenset[str]
    """The symbols that have a move after the reductions which that token triggered.

    It is empty if the parser could not tell.
    """

    @property
    def text(self) -> str:
        """The text at which the parser stopped."""
        match = _LEXEME.match(self.source.text, self.found.start)
        return match[0] if match and self.found.kind != END else ""

    @property
    def before(self) -> str:
        """The text of the previous token."""
        return self.source.text[self.previous.start : self.previous.end]

    @property
    def here(self) -> Span:
        """The place of the unexpected token."""
        end = self.found.start + max(len(self.text), 1)
        return Span(self.source, self.found.start, min(end, len(self.source.text)))

    def at(self, piece: Token) -> Span:
        """The place of a token."""
        return Span(self.source, piece.start, piece.end)


class Unexpected(Exception):
    """Raised by the parser at a token that no rule allows."""

    def __init__(self, mistake: Mistake) -> None:
        """Keep the state of the parser."""
        super().__init__(mistake.text)
        self.mistake = mistake


def _write_fix(text: str, span: Span) -> Fix:
    """Suggest writing a text in place of a span, or inserting it if the span is empty."""
    title = f"Insert `{text}`" if span.start == span.end else f"Write `{text.strip()}`"
    return Fix(title, span, text)


def _remove_fix(span: Span) -> Fix:
    return Fix(f"Remove `{span.text.strip()}`", span, "")


def _write_word_fix(text: str, span: Span) -> Fix:
    """Suggest writing a text, with spaces where it would run into a neighbouring word."""
    before, after = span.source.text[span.start - 1 : span.start], span.source.text[span.end : span.end + 1]
    left, right = (" " if text.isalpha() and beside.isalnum() else "" for beside in (before, after))
    return _write_fix(f"{left}{text}{right}", span)


def resume(mistake: Mistake) -> int:
    """Return the offset at which the next statement seems to start."""
    line = _swallowed_line(mistake)
    if line is not None:
        return line
    match = _START.search(mistake.source.text, max(mistake.found.start, mistake.statement + 1))
    return match.start() if match else len(mistake.source.text)


def describe(mistake: Mistake) -> Diagnostic:
    """Return the diagnostic of a syntax error."""
    return next(told for explain in _EXPLANATIONS if (told := explain(mistake)) is not None)


# ---- explanations ------------------------------------------------------------------------


def _swallowed_line(mistake: Mistake) -> int | None:
    """Return the start of the current line if it looks like a statement that the broken one has swallowed."""
    line = mistake.source.text.rfind("\n", 0, mistake.found.start) + 1
    return line if line > mistake.statement and _START.match(mistake.source.text, line) else None


def _unclosed(m: Mistake) -> Diagnostic | None:
    line = _swallowed_line(m)
    if not m.brackets or (m.found.kind != END and line is None):
        return None
    opening = m.brackets[-1]
    if line is not None and opening.start >= line:
        return None
    character = _OPENING[opening.kind]
    end = m.found.start if line is None else line
    label = Label(Span(m.source, end, end), f"`{_CLOSERS[character]}` was expected before this")
    last = Span(m.source, m.previous.end, m.previous.end)
    fix = _write_fix(_CLOSERS[character], last) if line is None or m.previous.end <= line else None
    slashes = _quotient(m, opening.end)
    if slashes is not None:
        label = Label(slashes, "this begins a comment")
        return Diagnostic("T0102", f"`{character}` is never closed", m.at(opening), (label,), hint=QUOTIENT)
    return Diagnostic("T0102", f"`{character}` is never closed", m.at(opening), (label,), fix=fix)


def _quotient(m: Mistake, start: int) -> Span | None:
    """Find two slashes after a bracket that seem to divide; a closing bracket follows on the same line."""
    match = _DIVIDED.match(m.source.text, start)
    return match and Span(m.source, *match.span(1))


def _cut_short(m: Mistake) -> Diagnostic | None:
    """Recognize ``x = a +`` followed by another statement."""
    line = _swallowed_line(m)
    if line is None:
        return None
    code = m.source.text[:line].rstrip()
    span = Span(m.source, len(code) - 1, len(code))
    hint = "something has to follow on this line"
    return Diagnostic("T0122", "the statement is not complete", span, hint=hint)


def _bracket(m: Mistake) -> Diagnostic | None:
    if m.text not in (")", "]", "}"):
        return None
    if not m.brackets:
        return Diagnostic("T0103", f"`{m.text}` closes nothing", m.here, fix=_remove_fix(m.here))
    opening = _OPENING[m.brackets[-1].kind]
    if _CLOSERS[opening] != m.text:
        label = Label(m.at(m.brackets[-1]), f"this is still open; `{_CLOSERS[opening]}` closes it")
        fix = _write_fix(_CLOSERS[opening], m.here)
        return Diagnostic("T0103", f"`{m.text}` does not close `{opening}`", m.here, (label,), fix=fix)
    if m.previous.kind == "COMMA":
        hint = "remove the comma, or write what is missing"
        message = f"nothing follows the comma before `{m.text}`"
        return Diagnostic("T0129", message, m.at(m.previous), hint=hint, fix=_remove_fix(m.at(m.previous)))
    if m.text == "}" and m.previous.kind == "LBRACE":
        hint = "end the block with the expression that is its value"
        return Diagnostic("T0119", "a block ends with its value", m.at(m.previous), hint=hint)
    return None


def _bar(m: Mistake) -> Diagnostic | None:
    if m.text != "|" or "BINARY" not in m.expected:
        return None
    hint = "`|x|` is the shape of x; the logical operator is the word `or`"
    return Diagnostic("T0103", "there is no open `|` to close", m.here, hint=hint)


def _quote(m: Mistake) -> Diagnostic | None:
    if m.text not in ("'", '"') or m.found.kind:
        return None
    if m.text == "'" and "BINARY" in m.expected:
        hint = "`x[j]'` is a component of a list, `|x|'` its capacity"
        return Diagnostic("T0101", "`'` can only follow `]` or `|`", m.here, hint=hint)
    if "STRING" not in m.expected:
        return None
    end = m.source.text.find("\n", m.found.start)
    span = Span(m.source, m.found.start, end if end >= 0 else len(m.source.text))
    hint, fix = f"close it with {m.text}", _write_fix(m.text, Span(m.source, span.end, span.end))
    return Diagnostic("T0120", "the text does not end on this line", span, hint=hint, fix=fix)


def _number(m: Mistake) -> Diagnostic | None:
    if not m.text[:1].isdecimal() or "NUMBER" not in m.expected:
        return None
    hint = "a name cannot start with a digit; a product is written with `*`: `2*n`"
    digits = re.match(r"[0-9]+(?=[^\W\d])", m.text)
    at = m.here.start + (digits.end() if digits else 0)
    fix = _write_fix("*", Span(m.source, at, at)) if digits else None
    return Diagnostic("T0133", "this is neither a number nor a name", m.here, hint=hint, fix=fix)


def _foreign(m: Mistake) -> Diagnostic | None:
    text = m.text
    if m.previous.kind == "STAR" and m.source.text.endswith("*", 0, m.previous.start):
        span = Span(m.source, m.previous.start - 1, m.previous.end)
        return _not_ours("**", span)
    if text in _FOREIGN:
        return _not_ours(text, m.here)
    if text in ("$", "@", "`", "\\", "?"):
        hint = {"@": "`MatMul(a, b)` is the product of matrices", "?": CHOICE}.get(text)
        return Diagnostic("T0121", f"a character that cannot stand here: `{text}`", m.here, hint=hint)
    if text and not text[0].isalnum() and not (text.isascii() and text.isprintable()):
        named = f"U+{ord(text[0]):04X} {unicodedata.name(text[0], '')}".strip()
        return Diagnostic("T0121", f"a character that cannot stand here: {named}", m.here)
    return None


def _not_ours(text: str, span: Span) -> Diagnostic:
    hint, fix = f"use {_FOREIGN[text]}", _write_word_fix(_MEANT[text], span)
    return Diagnostic("T0128", f"`{text}` is not part of the language", span, hint=hint, fix=fix)


def _equals(m: Mistake) -> Diagnostic | None:
    if m.text not in ("=", ":=") or not m.brackets:
        return None
    hint = "an argument is named with `name: value`, a comparison is `==`"
    return Diagnostic("T0125", f"`{m.text}` cannot stand inside of brackets", m.here, hint=hint)


def _splice(m: Mistake) -> Diagnostic | None:
    if m.previous.kind == "STAR" and _starts_operand(m.text):
        message = "`*` splices only as an entry of a list or of arguments"
        hint = "write an operator between them, or splice in `[ ]`, an index or a call: `[*v, 1]`"
        return Diagnostic("T0124", message, m.at(m.previous), hint=hint)
    if m.text in _OPERATORS and "DOT" in m.settled and "BINARY" not in m.settled:
        hint = "put what is spliced in parentheses: `*(v + 1)`"
        return Diagnostic("T0124", "a splice ends before an operator", m.here, hint=hint)
    return None


def _ellipsis(m: Mistake) -> Diagnostic | None:
    if m.text not in ("...", "…"):
        return None
    hint = "`...` stands in the shape of an input, `tol x: R [n, ...]`, or after the name of a variadic one"
    return Diagnostic("T0130", f"`{m.text}` cannot stand here", m.here, hint=hint)


def _juxtaposed(m: Mistake) -> Diagnostic | None:
    """Recognize two operands in a row."""
    if "BINARY" not in m.expected or not _starts_operand(m.text):
        return None
    if m.before in _KEYWORDS and m.previous.start == m.statement:
        return Diagnostic("T0104", f"`{m.before}` is not followed by a name", m.at(m.previous))
    if m.before in _KEYWORDS:
        hint = "declarations stand outside of blocks and brackets"
        return Diagnostic("T0126", f"`{m.before}` cannot declare anything here", m.at(m.previous), hint=hint)
    if _is_on_a_new_line(m):
        return _continued(m)
    label = (Label(m.at(m.previous), "after this"),)
    return Diagnostic("T0101", f"an operator or a comma is missing before `{m.text}`", m.here, label)


def _indented(m: Mistake) -> Diagnostic | None:
    """Recognize an indented statement below a statement that could end there."""
    return _continued(m) if END in m.expected and _starts_operand(m.text) and _is_on_a_new_line(m) else None


def _is_on_a_new_line(m: Mistake) -> bool:
    return "\n" in m.source.text[m.previous.end : m.found.start] and not m.brackets


def _continued(m: Mistake) -> Diagnostic:
    hint = "an indented line continues the statement above; start a new one in the first column"
    line = Span(m.source, m.source.text.rfind("\n", 0, m.found.start) + 1, m.found.start)
    fix = Fix("Start the line in the first column", line, "")
    message = f"`{m.text}` cannot continue the statement above"
    return Diagnostic("T0131", message, m.here, hint=hint, fix=fix)


def _pair(m: Mistake) -> Diagnostic | None:
    """Recognize a sign of another language whose first half is an operator of ToLang."""
    span = Span(m.source, m.previous.start, m.here.end)
    text = span.text
    if text not in PAIRS:
        return None
    hint, meant = PAIRS[text]
    fix = None if meant is None else _write_fix(meant, span)
    return Diagnostic("T0128", f"`{text}` is not part of the language", span, hint=hint, fix=fix)


def _point(m: Mistake) -> Diagnostic | None:
    """Recognize ``.5``, which lacks its 0."""
    if (
        m.text != "."
        or "NUMBER" not in m.expected
        or not m.source.text[m.here.end : m.here.end + 1].isdecimal()
    ):
        return None
    fix = _write_fix("0", Span(m.source, m.here.start, m.here.start))
    return Diagnostic("T0133", "a number begins with a digit", m.here, hint="write `0.5`", fix=fix)


def _undeclared(m: Mistake) -> Diagnostic | None:
    """Recognize ``x: R [n]``, which lacks its first word."""
    if m.text != ":" or m.brackets or m.previous.kind != "NAME" or m.previous.start != m.statement:
        return None
    fix = _write_fix("tol ", Span(m.source, m.statement, m.statement))
    hint = f"`tol {m.before}: R [n]` declares an input"
    return Diagnostic(
        "T0104", "a declaration begins with `tol`, `static` or `attr`", m.here, hint=hint, fix=fix
    )


def _several(m: Mistake) -> Diagnostic | None:
    """Recognize ``y := a, b`` or ``y, z := a``."""
    if m.text != "," or m.brackets or not m.expected & {"EQ", "BINARY"}:
        return None
    hint = "each output has a line of its own: `y := …`; the components of a list are named by `(a, b) = …`"
    return Diagnostic("T0101", "a statement defines one value", m.here, hint=hint)


def _no_operand(m: Mistake) -> Diagnostic | None:
    if not m.expected & {"NAME", "STAR"} or "BINARY" in m.expected:
        return None
    if m.text in _OPERATORS and m.previous.kind != "BINARY":
        return Diagnostic("T0122", f"`{m.text}` has nothing on its left", m.here)
    if m.previous.kind in ("BINARY", "PREFIX", "SPLICE"):
        label = (Label(m.here, f"not `{m.text}`"),) if m.text.strip() else ()
        return Diagnostic("T0122", f"`{m.before}` has nothing on its right", m.at(m.previous), label)
    return None


def _bare(m: Mistake) -> Diagnostic | None:
    if m.found.kind != END or "EQ" not in m.expected:
        return None
    span = Span(m.source, m.statement, m.previous.end)
    if m.expected & {"COLON"} and "BINARY" not in m.expected:
        hint = "an input is declared as `tol x: R [n]`, zeros as `tol x = [n]`"
        return Diagnostic("T0104", "the declaration is not complete", span, hint=hint)
    hint = "name it: `result = …`, or `result := …` for an output"
    fix = None
    if compared := re.match(r"\w+\s*==", m.source.text[m.statement : m.statement + 80]):
        hint, end = "`=` defines, `==` compares", m.statement + compared.end()
        fix = _write_fix("=", Span(m.source, end - 2, end))
    return Diagnostic("T0123", "a value without a name", span, hint=hint, fix=fix)


def _separator(m: Mistake) -> Diagnostic | None:
    if m.text != ";":
        return None
    hint = "statements end with their line; `;` separates them inside of `{ }` only"
    after = re.compile(r";[ \t]*").match(m.source.text, m.found.start)
    span = Span(m.source, m.found.start, after.end()) if after else m.here
    ends = m.source.text[span.end : span.end + 1] in ("", "\n", "\r")
    fix = None if m.brackets else Fix("End the line", span, "") if ends else Fix("Break the line", span, "\n")
    return Diagnostic("T0132", "`;` cannot stand here", m.here, hint=hint, fix=fix)


def _slice(m: Mistake) -> Diagnostic | None:
    if m.text != ":" or not m.brackets or _OPENING[m.brackets[-1].kind] != "[":
        return None
    hint = "`part(x, [a], [b])` is the piece of x from a to b, both included"
    return Diagnostic("T0128", "`:` does not select a piece", m.here, hint=hint)


def _generic(m: Mistake) -> Diagnostic:
    wanted = [_WORDS[name] for name in _WORDS if name in m.expected]
    hint = f"{_join_with_or(wanted)} could stand here" if 0 < len(wanted) <= 6 else None
    if m.found.kind == END:
        return Diagnostic("T0101", "the statement ends too early", m.at(m.previous), hint=hint)
    return Diagnostic("T0101", f"`{m.text}` is not expected here", m.here, hint=hint)


_WORDS = {
    "NAME": "a name", "KIND": "a space such as `R`", "NUMBER": "a number", "BINARY": "an operator",
    "EQ": "`=`", "FILL": "`:=`", "COLON": "`:`", "COMMA": "`,`", "RPAR": "`)`", "RSQB": "`]`",
    "RBRACE": "`}`", "LPAR": "`(`", "LSQB": "`[`", "ARROW": "`=>`", "QUESTION": "`?`",
}  # fmt: skip


def _join_with_or(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _starts_operand(text: str) -> bool:
    return text not in _OPERATORS and (text[:1].isalnum() or text[:1] in tuple("_([{|\"'"))


def _keyword(m: Mistake) -> Diagnostic | None:
    """Recognize a keyword of another language."""
    end = max(m.found.start + len(m.text), m.previous.end)
    for word in re.finditer(r"[A-Za-z]+", m.source.text[m.statement : end]):
        if word[0] in KEYWORDS:
            span = Span(m.source, m.statement + word.start(), m.statement + word.end())
            message = f"`{word[0]}` is not part of the language"
            return Diagnostic("T0128", message, span, hint=KEYWORDS[word[0]])
    return None


_EXPLANATIONS: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    _keyword,
    _unclosed,
    _equals,
    _cut_short,
    _bracket,
    _separator,
    _ellipsis,
    _bar,
    _quote,
    _number,
    _foreign,
    _slice,
    _splice,
    _juxtaposed,
    _indented,
    _pair,
    _point,
    _undeclared,
    _several,
    _no_operand,
    _bare,
    _generic,
)
