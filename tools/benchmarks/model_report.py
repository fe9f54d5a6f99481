"""The report on models that were checked, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import onnx
import onnxruntime as ort  # type: ignore[import-untyped]
from model_outcomes import Outcome, cells, short

import tolcost
from tolcost.algebra import Poly, evaluate
from tolcost.show.document import Code, Column, ReportTable
from tolcost.show.tables import markdown as written

EXPORTERS = ("script", "dynamo")
LONG, LATE = 2000, 10
"""Characters of a form, and seconds of processor time, that a model should stay within."""

KINDS = {"torch": "exports of torch", "sklearn": "pipelines", "light": "graphs of onnx"}


# ---- what there is -----------------------------------------------------------------------


def package(outcome: Outcome) -> str:
    """The package that a model comes from, or what made it."""
    return outcome.name.split(":")[0]


def kind(outcome: Outcome) -> str:
    return KINDS.get(package(outcome).split("_")[0], "models in packages")


def pairs(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Outcome, Outcome]]:
    """The architectures that both exporters gave, each with its two models."""
    named = {o.name: o for o in outcomes if kind(o) == KINDS["torch"]}
    for name in named:
        architecture = name.removesuffix(f"_{EXPORTERS[0]}")
        other = named.get(f"{architecture}_{EXPORTERS[1]}")
        if architecture != name and other:
            yield architecture.removeprefix("torch: "), named[name], other


def at(form: Poly, dims: dict[str, int]) -> int | None:
    """A form at lengths, if they tell it."""
    known = {symbol: dims[symbol.name] for symbol in form.free if symbol.name in dims}
    return evaluate(form, known) if len(known) == len(form.free) else None


def compared(one: Outcome, other: Outcome) -> str:
    """How the MACs of two models compare, wherever one of them was run."""
    points = [seen.dims for o in (one, other) for seen in o.seen]
    found = [(at(one.form, dims), at(other.form, dims)) for dims in points]
    known = [(a, b) for a, b in found if a is not None and b is not None]
    if not known:
        return "not comparable"
    if all(a == b for a, b in known):
        return "same"
    a, b = next((a, b) for a, b in known if a != b)
    return f"{a:,} and {b:,}"


# ---- telling -----------------------------------------------------------------------------


def summary(known: list[Outcome]) -> list[str]:
    outcomes = [o for o in known if o.looked_at]
    left = len(known) - len(outcomes)
    whole = sum(o.analysed and o.costed == o.nodes for o in outcomes)
    agree = Counter(o.fixed for o in outcomes if o.agrees)
    different = len({o.digest for o in outcomes})
    nodes, costed = sum(o.nodes for o in outcomes), sum(o.costed for o in outcomes)
    share = f"{100 * costed / nodes:.2f} %" if nodes else "none"
    long = [o for o in outcomes if o.characters > LONG]
    late = [o for o in outcomes if o.seconds > LATE]
    slowest = max((o.seconds for o in outcomes), default=0)
    both = list(pairs(outcomes))
    same = sum(compared(a, b) == "same" for _, a, b in both)
    packages = {package(o) for o in outcomes if kind(o) == "models in packages"}
    return [
        f"- {len(packages)} packages, {len(both)} architectures by both exporters of torch, "
        f"{sum(kind(o) == KINDS['sklearn'] for o in outcomes)} pipelines.",
        f"- {sum(o.analysed for o in outcomes)} of {len(outcomes)} models ({different} different files) are "
        f"analysed without failure; {left} more are left to analyse. In {whole} of them every node is "
        f"costed; for the others the notes say what is missing. "
        f"Of all {nodes:,} nodes {costed:,} are costed: {share}.",
        f"- {agree[False]} models with open lengths agree with onnxruntime in the shape of every value, at "
        f"two sets of lengths or more; {agree[True]} models with fixed lengths agree at these.",
        f"- That is {sum(o.values for o in outcomes):,} values of main graphs, and {_branches(outcomes)}",
        f"- {sum(bool(o.wrong) for o in outcomes)} models have a wrong shape. "
        f"{sum(not o.agrees for o in outcomes)} models do not agree fully, for the reasons in the notes.",
        f"- MACs of the two exports of an architecture are the same for {same} of {len(both)}.",
        f"- The longest form of {len(long)} models has more than {LONG:,} characters; {len(late)} models "
        f"take more than {LATE} s of processor time or were ended, the slowest {slowest:.1f} s.",
    ]


def _branches(outcomes: list[Outcome]) -> str:
    """Say what was seen inside of branches and loops."""
    having = [o for o in outcomes if any(seen.inner_text for seen in o.seen)]
    values = sum(o.inner for o in having)
    failed = sum(bool(seen.failed) for o in having for seen in o.seen)
    unseen = [o.name for o in outcomes if any(seen.inner.unseen for seen in o.seen)]
    late = (
        f"at {failed} of the sets of lengths one side cannot be run, so these models are run at a third"
        if failed
        else "all sides can be run"
    )
    return (
        f"{values:,} inside of the branches and loops of {len(having)} models ({late}). Models with inner "
        f"values that are not observed: {', '.join(unseen) or 'none'}."
    )


def rows(columns: list[str], lines: Iterable[Iterable[object]]) -> list[str]:
    """A table."""
    cell = [[str(item).replace("|", "/").replace("\n", " ") for item in line] for line in lines]
    return [f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *cell)]


def by_kind(outcomes: list[Outcome]) -> list[str]:
    """One line for each kind of models."""
    kinds = dict.fromkeys(map(kind, outcomes))
    groups = {name: [o for o in outcomes if kind(o) == name] for name in kinds}
    columns = [
        "",
        "models",
        "not looked at",
        "refused",
        "nodes",
        "costed",
        "wrong shapes",
        "characters at most",
        "seconds at most",
    ]
    return rows(
        columns,
        (
            (
                name,
                len(group),
                sum(not o.looked_at for o in group),
                sum(o.looked_at and not o.analysed for o in group),
                f"{sum(o.nodes for o in group):,}",
                f"{sum(o.costed for o in group):,}",
                sum(len(o.wrong) for o in group),
                f"{max(o.characters for o in group):,}",
                f"{max(o.seconds for o in group):.1f}",
            )
            for name, group in groups.items()
        ),
    )


def age(outcomes: list[Outcome], state: str) -> str:
    """Whether what is told is what this state of tolcost says."""
    earlier = sum(o.looked_at and o.state != state for o in outcomes)
    return (
        f"the figures of {earlier} models are those of an earlier state of tolcost"
        if earlier
        else "all figures are of one state of tolcost"
    )


def markdown(outcomes: list[Outcome], state: str) -> str:
    versions = f"tolcost {tolcost.__version__}, onnx {onnx.__version__}, onnxruntime {ort.__version__}"
    both = [(name, a.nodes, b.nodes, compared(a, b)) for name, a, b in pairs(outcomes)]
    lines = [
        "# Models from packages, exporters and converters",
        "",
        "Three kinds of models: every .onnx of the packages in `tools/benchmarks/packages.txt` (speech, OCR, "
        "detection, wake word and others), architectures exported by both of torch's exporters "
        "(`tools/benchmarks/architectures.py`), and pipelines of scikit-learn, XGBoost and LightGBM "
        "(`tools/benchmarks/export_pipelines.py`). Each is analysed by `tolcost model`, and the shapes of "
        "its values are compared with those that onnxruntime observes on random input.",
        "",
        "onnxruntime shows values of the main graph only. To see those inside of branches and loops, a copy "
        "of the model is changed: each If is replaced by the side that it takes, and one iteration of each "
        "Loop is put behind it (values inside of a Scan are not observed). Then each If is replaced by its "
        "other side, one at a time, unless lengths alone decide its condition, because then the other side "
        "never runs. Constants inside of branches are not counted. A value of a Loop whose shape differs "
        "between iterations counts as wrong. *characters* is the length of the longest closed form of a "
        "model, among EOPs, FLOPs, MACs, bytes, parameters, peak of activations and depth.",
        "",
        f"Made by `make models` with {versions}, Python {platform.python_version()}. The "
        "models are not part of the repository. A model that was analysed once is not analysed again until "
        f"`build/models/outcomes` is removed; {age(outcomes, state)}.",
        "",
        *summary(outcomes),
        "",
        *by_kind(outcomes),
        "",
        "## Two exporters",
        "",
        *rows(["architecture", "nodes, script", "nodes, dynamo", "MACs"], both),
        "",
        "## All models",
        "",
    ]
    lines.append(models_table(map(cells, outcomes)).removesuffix("\n"))
    noted = [o for o in outcomes if cells(o)["notes"]]
    if noted:
        lines += ["", "## Notes", "", *(f"- {o.name}: {cells(o)['notes']}" for o in noted)]
    return "\n".join(lines) + "\n"


COLUMNS = (
    Column("model", "model"),
    Column("costed", "nodes: costed", group="nodes"),
    Column("nodes", "nodes: of", group="nodes"),
    Column("EOPs", "EOPs", "code", group="EOPs"),
    Column("parameters", "parameters", "code", group="EOPs"),
    Column("status", "status"),
    Column("values", "values", group="values"),
    Column("shapes that agree", "shapes that agree", group="values"),
    Column("values inside", "inside", group="values"),
    Column("those that agree", "of these agree", group="values"),
    Column("seconds", "seconds", "number"),
)


def models_table(found: Iterable[Mapping[str, object]]) -> str:
    """The table of all models, from what the CSV has of each."""

    def cell(row: Mapping[str, object], column: Column) -> str | Code:
        text = str(row[column.key])
        return Code(short(text)) if column.kind == "code" else text

    shown = [tuple(cell(row, column) for column in COLUMNS) for row in found]
    return written((ReportTable(COLUMNS, shown, "models"),))


def table(outcomes: list[Outcome]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(cells(outcomes[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, outcomes))
    return text.getvalue()
