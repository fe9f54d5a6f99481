"""Text from outside in each format: shown as itself, and never markup, a formula or a command."""

from __future__ import annotations

import re

from tolcost.diagnostics import visible

_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: "\\" + c for c in "{}_%$#&"},
}


def markdown_text(text: str) -> str:
    r"""Give text in which nothing is markup.

    >>> print(markdown_text("a_b|<c>"))
    a\_b\|\<c\>
    """
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~&$-])", r"\\\1", visible(text))


def markdown_code(text: str) -> str:
    r"""Give text as code that may stand in a table.

    >>> print(markdown_code("a|b"), markdown_code("`x`"))
    `a\|b` `` `x` ``
    """
    shown = visible(text).replace("|", r"\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def csv_cell(text: str) -> str:
    """Give a cell that no spreadsheet takes for a formula.

    >>> csv_cell("=1+1"), csv_cell("-5"), csv_cell("n - 1")
    ("'=1+1", '-5', 'n - 1')
    """
    shown = visible(text)
    risky = shown[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"-?[0-9]+", shown)
    return f"'{shown}" if risky else shown


def latex_text(text: str) -> str:
    r"""Give text in which nothing is a command.

    >>> print(latex_text("50% of $x_1$"))
    50\% of \$x\_1\$
    """
    return "".join(_LATEX.get(c, c) for c in visible(text))
