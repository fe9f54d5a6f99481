"""The documentation keeps up with the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_module_is_on_the_map() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^- `([\w/]+\.py)`", text, re.MULTILINE))
    for module in (ROOT / "tolcost").rglob("*.py"):
        path = module.relative_to(ROOT / "tolcost")
        if module.name != "__init__.py":
            inside = str(Path(*path.parts[1:])) if len(path.parts) > 1 else str(path)
            assert inside in listed, f"docs/architecture.md does not mention {path}"


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
