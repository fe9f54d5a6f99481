"""The notebooks of ``examples/`` run, and show what they say.

Cells run in this process, one after another, as a kernel would.  After a change that is meant,
TOLCOST_ACCEPT=1 writes the outputs anew: read the difference before you keep it.
"""

import ast
import base64
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def bundle(value: Any) -> dict[str, object]:
    """What a notebook keeps of a value; a picture is kept, but its bytes depend on who draws it."""
    shown: dict[str, object] = {"text/plain": lines(repr(value))}
    for kind, method in (("text/html", "_repr_html_"), ("text/latex", "_repr_latex_")):
        if hasattr(value, method) and getattr(value, method)() is not None:
            shown[kind] = lines(getattr(value, method)())
    if hasattr(value, "get_figure"):
        drawn = io.BytesIO()
        value.get_figure().savefig(drawn, format="png", dpi=72)
        shown["image/png"] = base64.b64encode(drawn.getvalue()).decode("ascii")
    return shown


def outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell, and give all that it shows."""
    body = ast.parse(source)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    quiet = source.rstrip().endswith(";")
    said, shown = io.StringIO(), []
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(body, "<cell>", "exec"), names)  # noqa: S102  # our own notebook
            shown_last = ast.Expression(ast.Constant(None) if last is None else last.value)
            value = eval(compile(ast.fix_missing_locations(shown_last), "<cell>", "eval"), names)  # noqa: S307
    except Exception as error:
        head = {"output_type": "error", "ename": type(error).__name__, "evalue": str(error)}
        return [{**head, "traceback": [f"{type(error).__name__}: {error}"]}]
    if said.getvalue():
        shown.append({"output_type": "stream", "name": "stdout", "text": lines(said.getvalue())})
    if value is not None and not quiet:
        data = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
        shown.append({**data, "data": bundle(value)})
    return shown


def compared(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of every cell, without pictures."""
    return [
        [
            {**one, "data": {k: v for k, v in one.get("data", {}).items() if k != "image/png"}}
            for one in cell["outputs"]
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["ci", "engineer", "researcher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("MPLBACKEND", "agg")
    stored, fresh = (json.loads(path.read_text("utf-8")) for _ in range(2))
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = [cell for cell in fresh["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(codes, start=1):
        cell["execution_count"] = count
        cell["outputs"] = outputs("".join(cell["source"]), names, count)
        failed = [one for one in cell["outputs"] if one["output_type"] == "error"]
        assert bool(failed) == ("raises-exception" in cell["metadata"].get("tags", ())), failed
    if os.environ.get("TOLCOST_ACCEPT"):
        path.write_text(json.dumps(fresh, indent=1, ensure_ascii=False) + "\n", "utf-8")
    else:
        assert compared(fresh) == compared(stored)
