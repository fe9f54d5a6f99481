"""How wide the tables of a Markdown file are where GitHub shows them, as a browser has it.

``python -m tests.audit.widths reports/*.md`` lists each table that is wider than GitHub's column, with the
widest cell of each column, and each cell with too many lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt
from msgspec import Struct, convert

from tests.audit.browser import Browser, chromium
from tolcost.show.narrow import MOST_LINES, PAGE, Line, line_width

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


Row = list[list[Line]]
"""The cells of a row, each as lines."""


def tables_of(text: str) -> list[list[Row]]:
    """Read the tables of a Markdown file: rows of cells, the titles first; the browser is not needed."""
    found = (table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.M))
    return [[_row(line) for n, line in enumerate(lines) if n != 1] for lines in found]


def _row(line: str) -> Row:
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [[_line(part.strip()) for part in cell.split("<br>")] for cell in cells]


def _line(text: str) -> Line:
    code = re.fullmatch(r"(.*?) ?(`+)(.+)\2", text)
    if code is not None:
        return Line(code[1], code[3].strip("\n").replace(r"\|", "|"))
    words = re.sub(r"\[(.*)\]\([^()]*\)", r"\1", text)
    return Line(re.sub(r"\\(.)", r"\1", words))


def least_width(table: list[Row]) -> float:
    """Estimate how narrow a browser can make a table: lines break at spaces, words after hyphens."""
    columns = (
        max(_longest(line) for row in table if n < len(row) for line in row[n]) for n in range(len(table[0]))
    )
    return sum(columns) + 27 * len(table[0]) + 1


def _longest(line: Line) -> float:
    codes, words = line.code.split() or [""], re.split(r"\s+|(?<=-)", line.text)
    return max(
        max(line_width(Line(code=code)) for code in codes), max(line_width(Line(word)) for word in words)
    )


def page(text: str, column: int = PAGE) -> str:
    """Write a page that shows Markdown as GitHub does; pictures, which are beside the file, are left out."""
    reader = MarkdownIt("commonmark").enable("table").disable("image")
    return _PAGE.format(column=column, body=reader.render(text))


def measured(browser: Browser, text: str, folder: Path, column: int = PAGE) -> list[Measured]:
    """Measure the tables of a Markdown file in a browser; the page is written into a folder."""
    file = folder / "page.html"
    file.write_text(page(text, column), "utf-8")
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False
    )
    browser.open(file.as_uri())
    return [convert(one, Measured) for one in browser.run(_MEASURE, MOST_LINES)]


def told(path: Path, tables: Iterable[Measured]) -> Iterator[str]:
    """Yield a line for each table that is too wide, and for each cell that is too high."""
    for n, table in enumerate(tables, 1):
        if table.width > PAGE:
            yield f"{path}, table {n} ({table.rows} rows): {table.width} px, {table.width - PAGE} too many"
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
