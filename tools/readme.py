"""The commands that README shows, and what runs each of them; and its table of other tools.

Whatever runs commands of README takes them from here, so that a command which is added there is run, or
fails ``tests/test_docs.py`` because nothing would run it.
"""

import csv
import re
from pathlib import Path

from tolcost.show.shorten import si

ROOT = Path(__file__).parents[1]
_PROGRAMS = r"(?:tolcost|make|pip|uvx|python|code|cp|cat|mkdir|docker)"
_FENCED = re.compile(rf"^(?:\$ )?({_PROGRAMS} .*?)(?:\s{{2,}}#.*)?$", re.MULTILINE)
_INLINE = re.compile(rf"`({_PROGRAMS} [^`\n]+)`")
_BLOCK = re.compile(r"^```(?:console)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

TEST, FRESH, SITE, CI, TORCH = "make test", "make fresh", "make site-test", ".ci/run", "make torch"
BY_HAND = "by hand"
_RUN_BY = (
    ("make test", CI),
    ("make report", FRESH),
    ("make other-tools", BY_HAND),
    ("pip install", FRESH),
    ("uvx ", FRESH),
    ("docker build", BY_HAND),
    ("make site", SITE),
    ("make vsix", SITE),
    ("python -m http.server", SITE),
    ("code --install-extension", SITE),
    ("tolcost torch ", TORCH),
    ("tolcost ", TEST),
    ("cp ", TEST),
    ("cat ", TEST),
)
"""How a command begins, and what runs it; the first that fits."""
ELSEWHERE = {
    "tolcost verify": ("tests/cli/test_own_operator.py", 'shell("verify", '),
    "tolcost check": ("Makefile", "tolcost check --strict --fresh"),
    "tolcost report": ("tests/audit/test_reports.py", 'run(["report", "--check"])'),
    "tolcost lsp": ("tools/editor/client.py", '"lsp"'),
    "tolcost mcp": ("tests/agents/test_tools.py", '"mcp"'),
}
"""Commands that take long or serve: the file that runs them in ``make test``, and the words that do."""

EXITS = {"tolcost model examples/llama.onnx": 2}
"""Commands that end with another exit code than 0: the new one may cost more; lengths are refused."""

START, END = "<!-- other tools: start -->\n", "<!-- other tools: end -->"
"""Marks around the table of what other tools count."""


def other_tools() -> list[dict[str, str]]:
    """What each tool counts of a BERT, tolcost's own figures first, as `make other-tools` stored them."""
    with (ROOT / "reports" / "data" / "other_tools.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def other_tools_table() -> str:
    """README's table of them, in Markdown."""
    rows = other_tools()
    figures = list(rows[0])[3:]
    lines = [f"| tool | counts | {' | '.join(figures)} |", "|---|---|---:|---:|"]
    for row in rows:
        release = re.match(r"[\d.]*\d", row["version"])
        name = row["tool"] if row["tool"] == "tolcost" or not release else f"{row['tool']} {release[0]}"
        cells = (si(int(row[figure])) if row[figure].isdigit() else "stops" for figure in figures)
        lines.append(f"| {name} | {row['counts']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def commands(text: str) -> list[str]:
    """Every command of a page, in its blocks and in its sentences."""
    fenced = [line for block in _BLOCK.findall(text) for line in _FENCED.findall(block)]
    return list(dict.fromkeys([*fenced, *_INLINE.findall(_BLOCK.sub("", text))]))


def runner(command: str) -> str | None:
    """What runs a command, or nothing."""
    return next((target for start, target in _RUN_BY if command.startswith(start)), None)


def run_by(target: str) -> list[str]:
    """The commands of README that one target runs."""
    readme = (ROOT / "README.md").read_text("utf-8")
    return [command for command in commands(readme) if runner(command) == target]
