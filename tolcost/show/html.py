"""Write reports as self-contained HTML pages, which need neither a network nor other files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from tolcost.algebra import Cond, Ge, Logic, Poly, atom, cond_text, display_names, to_browser
from tolcost.cost import FormRatio
from tolcost.diagnostics import visible
from tolcost.show.document import (
    LONGEST,
    Bar,
    Cell,
    Code,
    Column,
    Json,
    Link,
    ReportTable,
    Verdict,
    cut,
    mathml_of,
    plain,
    rounded,
    text_of,
)

_FOLDER = Path(__file__).with_name("pages")
_LONG, _VERY_LONG = 60, 240
_MODEL = (
    *("parts", "charts", "tree", "model", "lengths", "figures", "icicle", "graph"),
    *("nodes", "detail", "compared", "link", "start"),
)
_PARTS = {
    "model": (("parts.css", "model.css"), tuple(f"{name}.js" for name in _MODEL)),
    "plan": (("parts.css", "plan.css"), ("parts.js", "plan.js")),
    "document": (("parts.css", "document.css"), ("document.js",)),
    "report": (("parts.css", "report.css"), ("parts.js", "report.js")),
}
"""The styles and scripts of each page; files named ``parts`` are shared, and come first."""


class LiveForm(Struct, frozen=True):
    """A closed form that readers can evaluate: its name, EOPs and MACs, and the command that shows it."""

    name: str
    eops: Poly
    macs: Poly
    command: str
    requires: tuple[Cond, ...] = ()
    """The conditions under which it holds, besides the ranges of its lengths."""
    start: Mapping[str, int] = {}
    """The lengths that a reader sees first, by name."""


class Chart(Struct, frozen=True):
    """A chart with its caption and the command that produces its figures."""

    name: str
    caption: str
    command: str
    svg: str


def html_page(
    title: str,
    conclusion: str,
    command: str,
    figures: Sequence[tuple[str, str]],
    tables: Sequence[ReportTable],
    charts: Sequence[Chart],
    forms: Sequence[LiveForm],
) -> str:
    """Write the page of a report."""
    return render(
        "report",
        title=title,
        conclusion=conclusion,
        command=command,
        figures=figures,
        tables=[_table_data(table) for table in tables],
        charts=[(chart.caption, chart.command, Markup(chart.svg)) for chart in charts],
        forms=forms,
        data=embedded([_live(form) for form in forms]),
    )


def document_page(title: str, fragment: str) -> str:
    """Write a fragment, as ``show.fragment`` makes it, as a complete page."""
    return render("document", title=title, body=Markup(fragment))


def render(name: str, **values: object) -> str:
    """Fill in a page with its script and style; every value that is not our own markup is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True, finalize=_printable
    )
    template = environment.from_string(_part(f"{name}.html"))
    css, script = ("".join(map(_part, files)) for files in _PARTS[name])
    return template.render(css=Markup(css), script=Markup(script), **values)


def layout_script() -> Markup:
    """Return dagre 3.1.3, which places the boxes of a graph, as a script that carries its licence.

    Only pages that draw a graph have its 50 kB.
    """
    return Markup(f"/* @dagrejs/dagre 3.1.3\n\n{_part('dagre.LICENSE')}*/\n{_part('dagre.min.js')}")


def _printable(value: object) -> object:
    """Escape control characters in a printed value; our own markup stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def embedded(value: Json) -> Markup:
    r"""Write JSON that is safe inside a ``script`` element.

    >>> print(embedded("</script>"))
    "\u003c/script\u003e"
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _live(form: LiveForm) -> Json:
    names = display_names(form.eops.free | form.macs.free)
    text = text_of(form.eops)
    symbols: list[Json] = [[name, form.start.get(name, 1)] for name in sorted(names.values())]
    return {
        "name": visible(form.name),
        "eops": to_browser(form.eops),
        "macs": to_browser(form.macs),
        "math": mathml_of(form.eops) if len(text) <= 4 * LONGEST else f"<code>{escape(text)}</code>",
        "symbols": symbols,
        "requires": [
            {"text": cond_text(one), "test": condition_tree(one, to_browser)} for one in _needed(form)
        ],
        "command": visible(form.command),
    }


def _needed(form: LiveForm) -> Iterator[Cond]:
    """Give the conditions under which a form holds: the lower bounds of its lengths, and its own."""
    for symbol in sorted(form.eops.free | form.macs.free, key=lambda symbol: symbol.key):
        if symbol.lo is not None:
            yield Ge(atom(symbol) - symbol.lo)  # `ge` would simplify it to true, because the bound is known
    yield from form.requires


def condition_tree(condition: Cond, form: Callable[[Poly], Json]) -> Json:
    """Write a condition for the browser: a comparison of a form with 0, or a combination of conditions."""
    return _BROWSER.of(condition, form)


_BROWSER: Logic[Json, Json] = Logic(
    lambda form: [">=", form],
    lambda form: ["==", form],
    lambda form: ["not", ["==", form]],
    bool,
    lambda parts: ["and", *parts],
    lambda parts: ["or", *parts],
)


def _table_data(table: ReportTable) -> Mapping[str, object]:
    columns = table.shown
    return {
        "name": table.name,
        "title": table.title,
        "about": Markup(_about(table.about)),
        "command": table.command,
        "columns": [column for _, column in columns],
        "rows": [[_cell(row[n], column) for n, column in columns] for row in table.rows],
        "notes": [Markup(" ".join(_shown(cell)[1] for cell in note)) for note in table.notes],
    }


def _about(text: str) -> str:
    """Convert our own text to HTML: code between backquotes, emphasis between stars, and links."""
    parts = re.split(r"`([^`]*)`", escape(text))
    parts[::2] = [re.sub(r"\*([^*]+)\*", r"<em>\1</em>", words) for words in parts[::2]]
    parts[::2] = [re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', words) for words in parts[::2]]
    parts[1::2] = [f"<code>{code}</code>" for code in parts[1::2]]
    return "".join(parts)


def _cell(cell: Cell, column: Column) -> Mapping[str, object]:
    kind, html, sort = _shown(cell)
    if isinstance(cell, Verdict) and cell.good is not None:
        kind += " good" if cell.good else " bad"
    return {"kind": kind, "html": Markup(html), "sort": sort, "held": column.key == "operator"}


def _shown(cell: Cell) -> tuple[str, str, str | None]:
    match cell:
        case None | Bar():
            return "text", "", None
        case str():
            return _wide("text", cell), escape(visible(cell)), None
        case Code(text=text):
            lines = "\n".join(visible(line) for line in text.split("\n"))
            return _wide("code", text), f"<pre>{escape(lines)}</pre>", None
        case Link(text=text, to=to):
            return "text", f'<a href="{escape(to)}">{escape(visible(text))}</a>', None
        case int():
            return "number", text_of(cell, grouped=True), str(cell)
        case Fraction():
            return "number", rounded(cell), repr(float(cell))
        case Poly() | FormRatio() if len(plain(cell)) <= LONGEST:
            return "form", mathml_of(cell), plain(cell)
        case _:
            return "form", f"<code>{escape(cut(plain(cell)))}</code>", plain(cell)


def _wide(kind: str, text: str) -> str:
    """Add a class to cells with long lines, which get wider columns."""
    longest = max(map(len, text.split("\n")))
    return f"{kind} essay" if longest > _VERY_LONG else f"{kind} long" if longest > _LONG else kind
