"""Uses tolcost with one more metric: a row that stands in no other file than the table of metrics.

The table is loaded with the row in its text, before anything takes a list from it.  Then files are written
and commands run, as standard input says, and what each command prints comes back as JSON.  The metric counts
comparisons; its name is one that no metric of tolcost would have.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

ROW = """
    Metric(
        key="specimen",
        label="specimen",
        about="Comparisons applied to data.",
        of=lambda figures: figures.applications(("lt", "gt", "le", "ge", "eq", "ineq")),
        amount="specimens",
        stands=EVERYWHERE,
    ),
"""
_BEGINS = "METRICS: tuple[Metric, ...] = ("


def load_with_row() -> None:
    """Load the table of metrics with one more row at its end."""
    name = "tolcost.result.metrics"
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    text, table = Path(found.origin).read_text("utf-8"), Path("metrics_with_row.py")
    end = text.index("\n)\n", text.index(_BEGINS))
    table.write_text(text[:end] + ROW.rstrip() + text[end:], "utf-8")
    spec = importlib.util.spec_from_file_location(name, table)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


def said(command: list[str]) -> dict[str, object]:
    """Run a command, and keep what it says."""
    from tolcost.cli import run

    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(command)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def in_python(program: str, model: str) -> dict[str, object]:
    """Give what Python users see of the metric."""
    import tolcost

    cost, whole = tolcost.analyze(program), tolcost.load_model(model)
    frame = cost.to_frame()
    operators = whole.subs(batch=2).by("op").set_index("op")
    return {
        "attribute": str(cost.specimen),
        "item": str(cost["specimen"]),
        "is listed": "specimen" in dir(cost),
        "number": cost(n=4).specimen,
        "frame": frame[frame.metric == "specimen"].form.tolist(),
        "of a model": whole(batch=2).specimen,
        "by operator": {str(op): int(n) for op, n in operators.specimen.items()},
        "by line": list(map(str, cost.by("line").specimen)),
        "sweep": tolcost.sweep(cost, n=[1, 2], metrics=["specimen"]).specimen.tolist(),
    }


def schemas(folder: Path) -> dict[str, object]:
    """Give the schemas of documents as the table has them."""
    from tests.agents.metric_schemas import with_metrics

    kinds = ("analysis", "model", "models", "fleet")
    return {
        kind: with_metrics(kind, json.loads((folder / f"{kind}.json").read_text("utf-8"))) for kind in kinds
    }


if __name__ == "__main__":
    load_with_row()
    asked = json.loads(sys.stdin.read())
    found: dict[str, object] = {}
    for name, step in asked["steps"]:
        if isinstance(step, str):
            Path(name).write_text(step, "utf-8")
        else:
            found[name] = said(step)
    found["python"] = in_python("p.tol", "m.onnx")
    found["schemas"] = schemas(Path(asked["schemas"]))
    print(json.dumps(found))
