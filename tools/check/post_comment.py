"""Write the report of a check as a comment of a pull request: made once, and updated by every later run.

    python tools/check/post_comment.py REPORT.md [KEY]

The GitHub action runs this after `tolcost check --also md=REPORT.md`, with the Python of the runner: it uses
the standard library alone.  The earlier comment is found by its first line, among those of the same author,
so that nobody else's text is replaced.  KEY tells apart the projects of one repository.

Where nothing changed, no comment is made, but an earlier one is updated.  A comment is a courtesy: if the
token may not write one, as on a pull request from a fork, this says so and ends with 0.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

MARKER = "<!-- tolcost check -->"
UNCHANGED = "<!-- nothing changed -->"
_BOT = "github-actions[bot]"
"""The author of comments made with the token of a workflow, which may not ask who it is."""
_SECONDS = 30
_PAGE, _MOST_PAGES = 100, 30
_NO_REPORT = (
    f"{MARKER}\n## tolcost: no report\n\n`tolcost check` ended before there was one: the log says why.\n"
)


class Forge:
    """The comments of a pull request, over GitHub's API."""

    def __init__(self, environment: Mapping[str, str], number: int) -> None:
        self._api = environment.get("GITHUB_API_URL") or "https://api.github.com"
        self._token = environment.get("TOLCOST_TOKEN", "")
        self._issues = f"/repos/{environment['GITHUB_REPOSITORY']}/issues"
        self._number = number

    def earlier(self, marker: str) -> int | None:
        """Find our own comment that begins with a line."""
        author = self._author()
        for comment in self._comments():
            begins = (comment.get("body") or "").lstrip().startswith(marker)
            if begins and (comment.get("user") or {}).get("login") == author:
                return int(comment["id"])
        return None

    def create(self, body: str) -> str:
        """Make a comment, and return its address."""
        return str(self._asked("POST", f"{self._issues}/{self._number}/comments", {"body": body})["html_url"])

    def update(self, comment: int, body: str) -> str:
        """Replace the text of a comment, and return its address."""
        return str(self._asked("PATCH", f"{self._issues}/comments/{comment}", {"body": body})["html_url"])

    def _author(self) -> str:
        try:
            return str(self._asked("GET", "/user")["login"])
        except HTTPError:
            return _BOT

    def _comments(self) -> Iterator[dict[str, Any]]:
        for page in range(1, _MOST_PAGES + 1):
            path = f"{self._issues}/{self._number}/comments?per_page={_PAGE}&page={page}"
            found = self._asked("GET", path)
            yield from found
            if len(found) < _PAGE:
                return

    def _asked(self, method: str, path: str, content: object = None) -> Any:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": "tolcost",
        }
        data = None if content is None else json.dumps(content).encode()
        request = Request(f"{self._api}{path}", data, headers, method=method)
        with urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)


def marker_of(key: str) -> str:
    """Return the first line of the comments of one project.

    >>> marker_of(""), marker_of("ops/--> x")
    ('<!-- tolcost check -->', '<!-- tolcost check ops/_ x -->')
    """
    name = re.sub(r"[^\w./ ]+", "_", key).strip()
    return MARKER.replace(" -->", f" {name} -->") if name not in ("", ".") else MARKER


def pull_request(environment: Mapping[str, str]) -> int | None:
    """Return the number of the pull request that a workflow runs for, if it runs for one."""
    path = environment.get("GITHUB_EVENT_PATH", "")
    event = json.loads(Path(path).read_text("utf-8")) if path and Path(path).is_file() else {}
    number = (event.get("pull_request") or {}).get("number")
    return number if isinstance(number, int) else None


def posted(report: Path, key: str, environment: Mapping[str, str]) -> str:
    """Create or update the comment; return what was done."""
    number = pull_request(environment)
    if number is None:
        return "this is no pull request, so there is no comment"
    body = report.read_text("utf-8") if report.is_file() else _NO_REPORT
    marker = marker_of(key)
    forge = Forge(environment, number)
    try:
        comment = forge.earlier(marker)
        if comment is not None:
            return f"updated {forge.update(comment, body.replace(MARKER, marker, 1))}"
        if UNCHANGED in body.split("\n")[:2]:
            return "nothing changed, so there is no comment"
        return f"made {forge.create(body.replace(MARKER, marker, 1))}"
    except HTTPError as error:
        why = f"the forge answers {error.code}"
        why = "the token may not write one" if error.code in (401, 403, 404) else why
    except (OSError, ValueError) as error:
        why = f"the forge cannot be reached: {error}"
    return f"::notice title=tolcost::no comment: {' '.join(why.split())}; the job summary has the report"


def main() -> int:
    """Run from the command line."""
    if not 2 <= len(sys.argv) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    print(posted(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", os.environ))
    return 0


if __name__ == "__main__":
    sys.exit(main())
