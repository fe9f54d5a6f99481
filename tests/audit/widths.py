"""How wide the tables of a Markdown file are where GitHub shows them, as a browser has it.

``python -m tests.audit.widths reports/*.md`` lists each table that is wider than GitHub's column, with the
widest cell of each column, and each cell with too many lines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt
from msgspec import Struct, convert

from tests.audit.browser import Browser, chromium

COLUMN = 1012
"""The width of GitHub's column on a wide screen, in pixels."""
MOST_LINES = 8
"""The most lines that a cell of a table may have."""

_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: {column}px; word-wrap: break-word;
  font: 16px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }}
table {{ display: block; width: max-content; max-width: 100%; overflow: auto; border-spacing: 0;
  border-collapse: collapse; font-variant: tabular-nums; margin: 0 0 16px; }}
th {{ font-weight: 600; }}
th, td {{ padding: 6px 13px; border: 1px solid #d1d9e0; vertical-align: middle; }}
code {{ padding: .2em .4em; font-size: 85%; white-space: break-spaces;
  font-family: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }}
code br {{ display: none; }}
</style><body>{body}</body>"""
"""A page with the rules of github-markdown-css that decide how wide a table is."""

_MEASURE = """const height = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return Math.round(range.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight));
  };
  const tables = [...document.querySelectorAll('table')];
  const found = tables.map((table) => {
    const cells = [...table.rows].flatMap((row) => [...row.cells]), lines = cells.map(height);
    const tall = cells.flatMap((cell, n) => lines[n] <= arguments[0] ? [] :
      [[lines[n], cell.cellIndex, cell.parentNode.rowIndex, cell.innerText]]);
    return { width: table.scrollWidth, rows: table.rows.length - 1, tall };
  });
  const least = tables.map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => {
    const alone = document.createElement('div');
    alone.style = `width: min-content; font-weight: ${cell.tagName === 'TH' ? 600 : 400}`;
    alone.append(...cell.childNodes);
    return alone;
  })));
  document.body.replaceChildren(...least.flat(2));
  return found.map((one, n) => ({ ...one, columns: least[n][0].map((head, k) => {
    const [width, text] = least[n].flatMap((row) => row[k] ?? []).map((cell) => [
      Math.ceil(cell.getBoundingClientRect().width), cell.innerText]).sort((a, b) => b[0] - a[0])[0];
    return { title: head.innerText, width, text };
  }) }));"""


class Widest(Struct, frozen=True):
    """A column: its title, its least width in pixels, and the text of the cell that needs it."""

    title: str
    width: int
    text: str


class Measured(Struct, frozen=True):
    """A table as the browser shows it: its width, what decides it, and its tall cells."""

    width: int
    rows: int
    columns: tuple[Widest, ...]
    tall: tuple[tuple[int, int, int, str], ...]
    """Cells with too many lines: how many, the column, the row, and how the text begins."""


def page(text: str, column: int = COLUMN) -> str:
    """Write a page that shows Markdown as GitHub does."""
    return _PAGE.format(column=column, body=MarkdownIt("commonmark").enable("table").render(text))


def measured(browser: Browser, text: str, folder: Path, column: int = COLUMN) -> list[Measured]:
    """Measure the tables of a Markdown file in a browser; the page is written into a folder."""
    file = folder / "page.html"
    file.write_text(page(text, column), "utf-8")
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False
    )
    browser.open(file.as_uri())
    return [convert(one, Measured) for one in browser.run(_MEASURE, MOST_LINES)]


def told(path: Path, tables: Iterable[Measured]) -> Iterator[str]:
    """Yield a line for each table that is too wide, and what makes it so; and for each cell that is too tall."""
    for n, table in enumerate(tables, 1):
        if table.width > COLUMN:
            yield f"{path}, table {n} ({table.rows} rows): {table.width} px, {table.width - COLUMN} too many"
            for one in table.columns:
                yield f"  {one.width:5} px  {one.title!r}: {' '.join(one.text.split())!r}"
        for lines, column, row, begins in table.tall:
            title = table.columns[column].title
            yield f"{path}, table {n}, row {row}, {title!r}: {lines} lines: {' '.join(begins.split())[:90]!r}"


def main(names: list[str]) -> int:
    """Measure the tables of some files; 1 if one is too wide or has a cell with too many lines."""
    found = False
    with chromium() as browser, TemporaryDirectory() as folder:
        for path in map(Path, names):
            for line in told(path, measured(browser, path.read_text("utf-8"), Path(folder))):
                found = True
                print(line)
    return int(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
