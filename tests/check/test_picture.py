"""The comment on a pull request, as the documentation shows it: rendered, and taken by a browser."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.audit.browser import chromium, note, noted
from tests.check.support import Project

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "specs" / "examples"
PICTURE = ROOT / "docs" / "pull-request.png"
SETTINGS = """[points]
"attention.tol" = ["s=1024, t=1024, d=64, w=64", "s=8192, t=8192, d=64, w=64"]
"softmax.tol" = "m=1024, n=1024"

[budgets]
"attention.tol" = "d=64, w=64: eops <= 262*s*t"
"""
STYLE = """
body { font: 14px/1.5 -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; margin: 0;
       padding: 16px 24px; color: #1f2328; background: #fff }
.comment { border: 1px solid #d1d9e0; border-radius: 6px }
.head { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: 8px 16px;
        color: #59636e }
.body { padding: 4px 16px 12px }
table { border-collapse: collapse; margin: 12px 0 } th, td { border: 1px solid #d1d9e0; padding: 5px 10px }
tr:nth-child(2n) td { background: #f6f8fa }
code { font: 12px ui-monospace, 'DejaVu Sans Mono', monospace; background: #eff1f3; border-radius: 4px;
       padding: 2px 4px } pre code { padding: 0 } h1, h2, h3 { font-size: 17px; margin: 12px 0 4px }
"""


@pytest.fixture(name="comment")
def _comment(project: Project) -> str:
    """Attention divides in its last product, a softmax starts at 0, and one program is new."""
    attention = (EXAMPLES / "attention.tol").read_text(encoding="utf-8")
    softmax = (EXAMPLES / "softmax.tol").read_text(encoding="utf-8")
    project.write(attention=attention, softmax=softmax)
    project.file("tolcost.toml", SETTINGS)
    project.locked()
    project.write(
        attention=attention.replace(
            "share[i], (a, e) => a + e * v", "weight[i], (a, e) => a + e / sum[i] * v"
        ),
        softmax=softmax.replace("max, -Inf", "max, 0"),
        matmul=(EXAMPLES / "matmul.tol").read_text(encoding="utf-8"),
    )
    return project.check("--format md").out


def test_the_picture_shows_the_comment_of_today(comment: str, tmp_path: Path) -> None:
    """The picture says what it shows; after a change that is meant, TOLCOST_ACCEPT=1 takes it anew."""
    shows = sha256(comment.encode()).hexdigest()
    if os.environ.get("TOLCOST_ACCEPT"):
        rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(comment)
        page = tmp_path / "comment.html"
        head = '<div class="head"><b>github-actions</b> commented on this pull request</div>'
        page.write_text(
            f'<meta charset="utf-8"><style>{STYLE}</style>'
            f'<div class="comment">{head}<div class="body">{rendered}</div></div>',
            encoding="utf-8",
        )
        with chromium("--hide-scrollbars") as browser:
            browser.open(page.as_uri())
            height = browser.run("return document.documentElement.scrollHeight")
            browser.devtools(
                "Emulation.setDeviceMetricsOverride",
                width=1180, height=height, deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
            height = browser.run(
                "return document.querySelector('.comment').getBoundingClientRect().bottom + 16"
            )
            browser.devtools(
                "Emulation.setDeviceMetricsOverride",
                width=1180, height=int(height), deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
            PICTURE.write_bytes(noted(browser.screenshot(), "Comment", shows))
    assert note(PICTURE.read_bytes(), "Comment") == shows
