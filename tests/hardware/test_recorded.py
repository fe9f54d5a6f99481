"""The recording is complete, fits the table and what tolcost counts, and gives the same report again."""

import json
import tomllib
from dataclasses import replace
from statistics import median
from typing import get_args
from xml.etree import ElementTree

import pytest

from tolcost import load_model
from tolcost.cli import run
from tools.benchmarks.hardware import predict
from tools.benchmarks.hardware.command import given_attributes, given_shapes, spec, tolcost
from tools.benchmarks.hardware.counting import counted
from tools.benchmarks.hardware.counts import row
from tools.benchmarks.hardware.operations import reasons
from tools.benchmarks.hardware.recorded import DATA, halves, models, rows
from tools.benchmarks.hardware.report import digest, outputs
from tools.benchmarks.hardware.study import Count, Study
from tools.benchmarks.hardware.table import ROOT, read_table
from tools.benchmarks.hardware.weights import fit, predicted
from tools.benchmarks.hardware.weights import row as executed_row

TABLE = read_table()
EVERY = 23
"""Of the recorded counts every so manieth is derived again: the whole takes a quarter of a minute."""


@pytest.fixture(scope="module")
def study():
    return Study()


def test_the_table_names_operators_of_ours_at_four_sizes():
    assert len({case.op for case in TABLE.values()}) >= 120
    for case in TABLE.values():
        assert (ROOT / "specs" / "onnx" / f"{case.op}.tol").exists()
        assert len(case.sizes) == 4
        assert all(case.shapes(at) is not None and case.attributes(at) is not None for at in case.lengths)


def test_every_point_was_timed_and_all_but_a_few_counted(study):
    points = {(p.name, p.work.type, p.size) for p in study.points}
    wanted = {
        (case.name, type_, " ".join(f"{name}={n}" for name, n in at.items()))
        for case in TABLE.values()
        for type_ in case.floats
        for at in case.sizes
    }
    assert points == wanted
    # A plain copy is no kernel, and the recurrent kernels are not followed.
    without = {p.name for p in study.points if p.counters is None}
    assert without == {"Identity", "RNN", "GRU", "LSTM"}


def test_every_call_gave_the_values_of_our_definition():
    errors = {line["name"]: float(line["error"]) for line in rows("values.csv")}
    assert errors.keys() == TABLE.keys()
    for name, error in errors.items():
        assert error <= (1e-4 if TABLE[name].floats[0] == "float32" else 3e-2)


@pytest.mark.parametrize(
    "line", rows("counts.csv")[::EVERY], ids=lambda line: f"{line['name']} {line['size']}"
)
def test_the_stored_counts_are_what_tolcost_says(line):
    case = TABLE[line["name"]]
    at = {name: int(n) for name, n in (part.split("=") for part in line["size"].split())}
    again = row(case, line["type"], json.dumps(case.shapes(at)), json.dumps(case.attributes(at)))
    assert {name: str(value) for name, value in again.items()} == {name: line[name] for name in again}


def test_the_stored_counts_of_nodes_are_what_tolcost_says():
    for line in rows("node_counts.csv")[::EVERY]:
        again = row(TABLE[line["case"]], line["type"], line["shapes"], line["attrs"])
        assert {name: str(value) for name, value in again.items()} == {name: line[name] for name in again}


def test_products_execute_what_is_counted(study):
    point = next(p for p in study.counted if p.name == "MatMul")
    outputs_ = point.work.written // 4
    assert point.counters["ffma"] == point.work.macs + outputs_  # each result is scaled once
    assert 2 * point.work.macs == point.work.eops


def test_the_halves_share_no_operator_and_every_function_is_fitted(study):
    for salt in ("", "1", "2"):
        fitted, held = halves(study.points, salt)
        assert not fitted & held
        assert fitted | held == {case.op for case in TABLE.values()}
        weights = fit(p for p in study.points if p.work.case.op in fitted)
        values = {function: weight.value for function, weight in weights.items()}
        found = [executed_row(p) for p in study.counted]
        assert all(predicted(counts, values) is not None for counts, _ in filter(None, found))


def test_the_bound_is_above_no_measured_time(study):
    assert not study.above_bound()


def test_the_prediction_is_never_below_the_bound_by_much(study):
    below = [p for p in study.as_defined if study.device.predict(p.work) < 0.95 * predict.bound(p.work)]
    assert not below


@pytest.mark.parametrize("name", ["Exp", "MatMul", "Conv", "Softmax", "CumSum", "Sum", "Transpose", "LSTM"])
def test_the_command_says_what_the_analysis_says(study, name):
    point = next(p for p in study.points if p.work.case.op == name and p.index == 2)
    at = {length: int(n) for length, n in (part.split("=") for part in point.size.split())}
    given = [*given_shapes(point.work.case.shapes(at)), *given_attributes(point.work.case.attributes(at))]
    said = json.loads(
        tolcost("analyze", spec(point.work.case.op), *given, "--device", "h200", "--format", "json")
    )
    found = {
        key: float(value) for key, value in said["programs"][0]["time"]["at"].items() if value is not None
    }
    least = predict.bound(point.work)  # of bytes and products; the command adds other functions
    assert 0.999 * least <= found["arithmetic_bound"] <= 1.01 * least
    assert found["predicted"] == pytest.approx(study.device.plain(point.work), rel=1e-3)
    assert found["arithmetic_bound"] < point.low


def test_every_reason_is_needed_and_none_is_missing(study):
    assert reasons(study)


def test_the_report_is_written_again_byte_by_byte(study):
    for file, text in outputs(study).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run python -m hardware.report"
        if file.suffix == ".svg":
            ElementTree.fromstring(text)
        if file.suffix == ".toml":
            tomllib.loads(text)


def test_the_page_on_devices_says_what_was_found(study):
    page = " ".join((ROOT / "docs" / "devices.md").read_text(encoding="utf-8").split())
    raw, weighted, placed = (study.operations("held out", how) for how in get_args(Count))
    times, whole, executed = zip(*study.other_halves, strict=True)
    assert f"are executed by {raw.median * 100:.0f} % at the median" in page
    assert f"differ from them by {weighted.median * 100:.0f} % at the median" in page
    assert f"at most 10 % for {weighted.within_10 * 100:.0f} % of the operators" in page
    half = median(e.within_10 for e in executed)
    assert (
        f"place, {placed.median * 100:.0f} % at the median, and at most 10 % for {half * 100:.0f} %" in page
    )
    assert f"are off by {median(e.median for e in times) * 100:.0f} % at the median, and by at most" in page
    assert f"at most 50 % for {median(e.within_50 for e in times) * 100:.0f} % of the points" in page
    assert f"models are off by {median(e.median for e in whole) * 100:.0f} % at the median" in page


def test_what_moves_nothing_takes_no_time_in_a_model():
    """An exported BERT beside the recorded one: its 48 transpositions are views, and took 4 ms as copies.

    Its biases are added by the kernels of the products, as those of the recorded one.
    """
    measured = {m.size: m.us for m in models() if (m.name, m.type) == ("BERT-base", "float32")}
    for batch, seq in ((1, 128), (8, 512), (32, 512)):
        model = load_model(ROOT / "examples" / "bert.onnx", dims={"batch": batch, "seq": seq})
        found = float(model.time("h200").predicted)
        assert found == pytest.approx(measured[f"batch={batch} seq={seq}"], rel=0.07)


def test_few_rows_wait_for_their_sums(study):
    """Models in float32 at batch 1, on which nothing was fitted, were predicted at 0.6 to 0.7 of that."""
    found = [m for m in study.models if m.type == "float32" and "batch=1" in m.size.split()]
    ratios = {f"{m.name} {m.size}": study.device.whole(m) / m.us for m in found}
    assert len(ratios) == 6
    assert all(0.88 < ratio < 1.15 for ratio in ratios.values()), ratios
    without = {name: replace(own, term=0.0) for name, own in study.device.groups.items()}
    bert = next(m for m in found if m.name == "BERT-base")
    assert replace(study.device, groups=without).whole(bert) < 0.7 * bert.us


def test_the_weights_are_shipped(capsys):
    program = str(ROOT / "specs" / "onnx" / "Exp.tol")
    assert run(["analyze", program, "--shape", "input=10", "--weights", "h200", "--format", "json"]) == 0
    assert "fp32 op" in capsys.readouterr().out


def test_a_recording_goes_on_where_it_stopped(tmp_path):
    assert counted(tmp_path / "none.csv") == []
    assert len(counted(DATA / "counters.csv")) > 1000


def test_the_report_was_made_from_the_stored_data():
    report = (ROOT / "reports" / "hardware.md").read_text(encoding="utf-8")
    assert f"Made from data with the digest `{digest()}`." in report
