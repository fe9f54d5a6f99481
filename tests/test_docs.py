"""The documentation keeps up with the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_helper_file_is_listed() -> None:
    text = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8").partition("## The helpers")[2]
    listed = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| `([^`]*)` \|$", text, re.MULTILINE))
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "specs" / "lib").glob("*.tol")}
    assert listed.keys() == files.keys()
    for name, helpers in listed.items():
        for helper in helpers.split():
            assert re.search(rf"^{helper}(\(|\s*=)", files[name], re.MULTILINE), f"{name} has no {helper}"
