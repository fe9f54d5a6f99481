"""Builds the documentation: what is written in docs/, and pages generated from what tolcost knows.

A page for every operator and every diagnostic; links between the repository's pages lead to pages of the
site, links to other files to copies of them.  MkDocs checks every link, and a warning is a failure.
"""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

from tolcost.algebra.parse import parse_text
from tolcost.diagnostics import Rejected, codes, explanation
from tolcost.show.document import mathml_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "docs"
LINK = re.compile(r"(?<!\\)\]\((?![a-z]+:|#|<)([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```tol(?: title=\"[^\"]*\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEATURES = [
    "navigation.tabs", "navigation.indexes", "navigation.prune", "navigation.path", "navigation.footer",
    "navigation.top", "content.code.copy", "search.suggest", "search.highlight",
]  # fmt: skip
EXTENSIONS = ["tables", "toc", "attr_list", "pymdownx.highlight", "pymdownx.superfences", "md_in_html"]
LANGUAGE = [
    "language.md", "cost.md", "limits.md", "examples.md", "libraries.md", "theorems.md", "glossary.md",
]  # fmt: skip
USE = [
    "models.md", "training.md", "planning.md", "devices.md", "fleets.md", "gate.md", "python.md",
    "editors.md", "sql.md", "referee.md", "tools.md", "schemas/index.md",
]  # fmt: skip
LINKS = {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"}
MKDOCS = """
from mkdocs.__main__ import cli
from pygments.lexers import LEXERS
LEXERS["ToLangLexer"] = ("tolcost.apps.editor.lexer", "ToLang", ("tolang", "tol"), ("*.tol",), ())
cli()
"""
"""MkDocs with colours for ToLang, also where tolcost is not installed but lies beside."""
UNSOUGHT = "{ data-search-exclude }"
"""After a heading: what is below has no words that one would search for."""
SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme loads so that search works without a server: here from beside the pages."""
GROUPS = {
    "T00": "Reading", "T01": "Syntax", "T02": "Names", "T03": "Shapes", "T04": "Types", "T05": "Limits",
    "T06": "Cost models and ONNX", "T07": "The gate",
}  # fmt: skip


def build_docs(target: Path) -> None:
    """Write the site of the documentation."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    for repository, page in sorted(_pages().items()):
        _write(page, _linked((ROOT / repository).read_text("utf-8"), repository, page))
    for page, text in (*_operators(), *_diagnostics(), *_schemas()):
        _write(page, text)
    for name in ("try.js", "site.css"):
        shutil.copyfile(ROOT / "site" / "docs" / name, SOURCE / name)
    settings = ROOT / "build" / "mkdocs.yml"
    settings.write_text(_settings(target), "utf-8")
    mkdocs = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        MKDOCS,
        "build",
        "--strict",
        "--config-file",
        str(settings),
    ]
    done = subprocess.run(
        mkdocs, check=False, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    if done.returncode:
        sys.exit("\n".join(line for line in done.stderr.splitlines() if not line.startswith("INFO")))
    _own_shim(target)


# ---- pages of the repository --------------------------------------------------------------------


def _pages() -> dict[str, str]:
    """For each page of the repository where it is on the site."""
    found = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
    found |= {f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")}
    found |= {f"reports/{path.name}": f"reports/{path.name}" for path in (ROOT / "reports").glob("*.md")}
    return found | {"reports/README.md": "reports/index.md", "specs/paper/README.md": "paper.md"}


def _linked(text: str, repository: str, page: str) -> str:
    """A page whose links lead to where things are on the site, with its programs ready to be tried."""
    here = (ROOT / repository).parent
    pages = _pages()

    def lead(match: re.Match[str]) -> str:
        path = (here / match[1]).resolve()
        inside = path.relative_to(ROOT).as_posix()
        inside = f"{inside}/README.md" if f"{inside}/README.md" in pages else inside
        return f"]({_relative(pages.get(inside) or _copied(inside), page)}{match[2] or ''})"

    return FENCE.sub(_tried(page), LINK.sub(lead, text))


def _relative(target: str, page: str) -> str:
    return "../" * page.count("/") + target


def _copied(inside: str) -> str:
    """A copy of a file that is no page; a folder is shown as what is in it."""
    path, target = ROOT / inside, f"files/{inside}"
    if path.is_dir():
        names = "\n".join(f"- {child.name}" for child in sorted(path.iterdir()))
        _write(f"{target}/index.md", f"# {inside}\n\n{names}\n")
        return f"{target}/index.md"
    (SOURCE / target).parent.mkdir(parents=True, exist_ok=True)
    name = f"{target}.txt" if "." not in path.name else target
    shutil.copyfile(path, SOURCE / name)
    return name


def _tried(page: str) -> Callable[[re.Match[str]], str]:

    def shown(match: re.Match[str]) -> str:
        packed = base64.urlsafe_b64encode(match[1].encode("utf-8")).decode("ascii").rstrip("=")
        link = f"{'../' * (page.count('/') + 1)}index.html#p={packed}"
        return f"{match[0]}\n\n{_try(link)}\n"

    return shown


def _try(link: str) -> str:
    return (
        f'<details class="try" data-link="{link}"><summary>Try it here</summary></details>'
        f'<a class="open" href="{link}">open in the playground</a>'
    )


def _write(page: str, text: str) -> None:
    path = SOURCE / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_sought(page, len(text))}{text}", "utf-8")


_LARGE = 100_000
"""A page of so many characters is a table of data."""


def _sought(page: str, size: int) -> str:
    """What the search is told of a page: what was written for readers comes before generated pages."""
    folder, _, name = page.rpartition("/")
    if folder.startswith(("files", "schemas")) or size > _LARGE:
        return "---\nsearch:\n  exclude: true\n---\n\n"
    boost = 0.5 if folder or name in ("changelog.md", "contributing.md") else 4
    return f"---\nsearch:\n  boost: {boost}\n---\n\n"


# ---- generated pages ----------------------------------------------------------------------------


def _operators() -> Iterator[tuple[str, str]]:
    """A page for every operator that has a definition, and a list of them all."""
    listed = json.loads(_tolcost("ops", "--format", "json"))
    names = [_full(one) for one in listed["operators"] if one["spec"]]
    found = json.loads(_tolcost("ops", *names, "--format", "json"))["operators"]
    counted = _counted()
    for one in found:
        yield f"operators/{_full(one)}.md", "\n".join(_operator(one, counted[one["name"]])) + "\n"
    rows = [
        f"| [{one['name']}]({_full(one)}.md) | {one['domain']} | {one['status']} | {_code(one['form'])} |"
        for one in found
    ]
    outside = [
        f"| {one['name']} | {one['domain']} | {one['status']} | |"
        for one in listed["operators"]
        if not one["spec"]
    ]
    head = ["# Operators", "", "EOPs are those of rank 2, attributes at their defaults.", ""]
    yield (
        "operators/index.md",
        "\n".join((*head, "| operator | domain | status | EOPs |", "|---|---|---|---|", *rows, *outside))
        + "\n",
    )


def _tolcost(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tolcost", *arguments], check=True, capture_output=True, text=True
    ).stdout


def _full(one: dict[str, str]) -> str:
    return one["name"] if one["domain"] == "ai.onnx" else f"{one['domain']}.{one['name']}"


def _code(form: dict[str, str] | None) -> str:
    return "" if form is None else _math(form["eops"])


def _operator(one: dict[str, object], counted: list[dict[str, str]]) -> Iterator[str]:
    yield from (f"# {one['name']}", "", str(one["about"] or ""), "")
    tests = one["tests"]
    assert isinstance(tests, dict)
    judged = tests["cases"] - tests["outside"]
    yield f"Domain `{one['domain']}`, versions {', '.join(map(str, one['since']))}. **{one['status']}**: "
    yield f"{tests['pass']} of {judged} of ONNX's node tests pass in value, shape and count.\n"
    yield from (f"    {one['signature']}", "", f"## Closed forms {UNSOUGHT}", "")
    yield from ("| rank | inputs | EOPs | MACs | remark |", "|---|---|---|---|---|")
    for form in one["forms"]:
        rank = "" if form["rank"] is None else form["rank"]
        if "none" in form:
            yield f"| {rank} | | | | {form['none']} |"
        else:
            inputs = f"`` {', '.join(form['inputs']).replace('|', chr(92) + '|')} ``"
            macs = _math(form["macs"])
            remark = "; ".join(
                filter(None, (form["assumed"], "" if form["count"] == "exact" else form["count"]))
            )
            yield f"| {rank} | {inputs} | {_code(form)} | {macs} | {remark} |"
    yield from _general(one)
    yield from ("", f"## Definition {UNSOUGHT}", "", "```tolang", str(one["definition"]).rstrip(), "```", "")
    packed = base64.urlsafe_b64encode(str(one["definition"]).encode("utf-8")).decode("ascii").rstrip("=")
    yield from (_try(f"../../index.html#p={packed}"), "")
    yield from _derivation(one)
    yield from _others(counted)
    cases = one["cases"]
    if cases:
        yield from (
            "",
            f"## Conformance {UNSOUGHT}",
            "",
            "| node test of ONNX | result | EOPs |",
            "|---|---|---|",
        )
        yield from (
            f"| `{case['name']}` | {case['status']} | {_code(case) if case['eops'] else ''} |"
            for case in cases
        )


def _general(one: dict[str, object]) -> Iterator[str]:
    """The forms that hold for every rank."""
    general = one["general"]
    if not isinstance(general, list) or not general:
        return
    yield from ("", "## For every rank", "", "| where | EOPs | FLOPs |", "|---|---|---|")
    for form in general:
        yield f"| {form['when'] or 'everywhere'} | {_math(form['eops'])} | {_math(form['flops'])} |"


def _math(text: str) -> str:
    """A closed form, typeset; as text if it cannot be, or is long."""
    written = f"`` {text.replace('|', chr(92) + '|')} ``"
    if len(text) > _LONGEST:
        return written
    try:
        form = parse_text(text)
    except Rejected:
        return written
    return f'<span title="{escape(text)}">{mathml_of(form)}</span>'.replace("|", "&#124;")


_LONGEST = 80


def _derivation(one: dict[str, object]) -> Iterator[str]:
    found = one["derivation"]
    if not isinstance(found, dict) or not found["chains"]:
        return
    rank = "" if found["rank"] is None else f", `...` of rank {found['rank']}"
    yield from (f"## Derivation{rank} {UNSOUGHT}", "", "```text")
    for chain in found["chains"]:
        yield f"EOPs({chain['name']})"
        yield from (f"  = {step['text']}   # {step['reason']}" for step in chain["steps"])
    yield from ("```", "")


def _others(counted: list[dict[str, str]]) -> Iterator[str]:
    """Who counts it otherwise: what other tools say of it, as recorded."""
    if not counted:
        return
    yield from (
        f"## What others count {UNSOUGHT}",
        "",
        "| shapes | tool | FLOPs | MACs | remark |",
        "|---|---|---|---|---|",
    )
    for row in counted:
        cells = (
            row["shapes"].replace('"', ""),
            f"{row['tool']} {row['version']}",
            row["flops"],
            row["macs"],
            row["remark"],
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _counted() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    with (ROOT / "reports" / "data" / "peers.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["operator"]].append(row)
    return found


def _diagnostics() -> Iterator[tuple[str, str]]:
    """A page for every diagnostic."""
    titles: dict[str, list[str]] = defaultdict(list)
    for code in codes():
        title, _, body = str(explanation(code)).partition("\n")
        titles[code[:3]].append(f"- [{title}]({code}.md)")
        yield f"diagnostics/{code}.md", f"# {title}\n{body}\n"
    listed = (line for group, words in GROUPS.items() for line in (f"\n## {words}\n", *titles[group]))
    yield (
        "diagnostics/index.md",
        "# Diagnostics\n\nWhat each code means, as `tolcost explain CODE` says it.\n"
        + "\n".join(listed)
        + "\n",
    )


def _schemas() -> Iterator[tuple[str, str]]:
    """The schemas of what is written for machines."""
    lines = ["# JSON schemas", "", "Every document that tolcost writes as JSON keeps to one of these.", ""]
    for path in sorted((ROOT / "docs" / "schemas").glob("*.json")):
        (SOURCE / "schemas").mkdir(exist_ok=True)
        shutil.copyfile(path, SOURCE / "schemas" / path.name)
        lines.append(f"- [{path.stem}]({path.name}): {json.loads(path.read_text('utf-8'))['title']}")
    yield "schemas/index.md", "\n".join(lines) + "\n"


def _settings(target: Path) -> str:
    """The settings of MkDocs: JSON is YAML."""
    reports, operators, diagnostics = (
        sorted(f"{folder}/{path.name}" for path in (SOURCE / folder).glob("*.md") if path.name != "index.md")
        for folder in ("reports", "operators", "diagnostics")
    )
    return json.dumps(
        {
            "site_name": "tolcost",
            "site_dir": str(target),
            "docs_dir": str(SOURCE),
            "theme": {
                "name": "material",
                "font": False,
                "icon": {"logo": "material/chart-line-variant"},
                "features": FEATURES,
                "palette": [AUTOMATIC, *PALETTES],
            },
            "plugins": ["search", "offline"],
            "extra_css": ["site.css"],
            "extra_javascript": ["try.js"],
            "markdown_extensions": EXTENSIONS,
            "validation": {"links": LINKS, "nav": {"omitted_files": "ignore"}},
            "nav": [
                {"Start": ["index.md", "tutorial.md", "guides.md", "tasks.md", "beside.md", "changelog.md"]},
                {"Language": LANGUAGE},
                {"Use": USE},
                {"Operators": ["operators/index.md", "operators.md", *operators]},
                {"Diagnostics": ["diagnostics/index.md", *diagnostics]},
                {"Reports": ["reports/index.md", "reports.md", *reports]},
                {"Inside": ["tour.md", "architecture.md", "contributing.md"]},
            ],
        }
    )  # fmt: skip


AUTOMATIC = {
    "media": "(prefers-color-scheme)",
    "primary": "custom",
    "accent": "custom",
    "toggle": {"icon": "material/weather-sunny", "name": "Light"},
}
"""The first choice follows the system, also when that changes later."""


def _palette(preferred: str, scheme: str, other: str) -> dict[str, object]:
    icon = {"dark": "material/weather-night", "auto": "material/brightness-auto"}[other]
    return {
        "media": f"(prefers-color-scheme: {preferred})",
        "scheme": scheme,
        "primary": "custom",
        "accent": "custom",
        "toggle": {"icon": icon, "name": other.title()},
    }


PALETTES = (_palette("light", "default", "dark"), _palette("dark", "slate", "auto"))


def _own_shim(target: Path) -> None:
    """Load the shim for searching without a server from the site itself."""
    shim = ROOT / "site" / "node_modules" / "iframe-worker" / "shim" / "index.js"
    shutil.copyfile(shim, target / "assets" / "iframe-worker.js")
    for page in target.rglob("*.html"):
        text = page.read_text("utf-8")
        up = "../" * (len(page.relative_to(target).parts) - 1)
        if SHIM in text:
            text = text.replace(SHIM, f"{up}assets/iframe-worker.js")
        page.write_text(_reachable(text), "utf-8")


def _reachable(text: str) -> str:
    """The names that the theme leaves out, for screen readers."""
    search, path = 'data-md-component="search" role="dialog"', '<nav class="md-path" aria-label='
    named = text.replace(search, f'{search} aria-label="Search"')
    return named.replace(f'{path}"Navigation"', f'{path}"Path"')
