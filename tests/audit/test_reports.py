"""The committed reports: up to date, consistent with each other, and traced to commands that work."""

import csv
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from tests.audit.widths import least_width, tables_of
from tolcost.algebra.parse import parse_text
from tolcost.apps.paper.build import END, START, with_figures
from tolcost.apps.paper.command import seen
from tolcost.apps.paper.judge import FormVerdict, ValueVerdict
from tolcost.apps.paper.readings import errata_table, paper_rows
from tolcost.catalogue.cases import load_cases
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.result.instances import OperatorInstance, analyse_instance
from tolcost.show.document import Code
from tolcost.show.narrow import MOST_LINES, PAGE
from tolcost.show.tables import csv_cell

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((REPORTS / f"{name}.csv").read_text("utf-8").splitlines()))


@pytest.mark.node_cases
def test_the_committed_reports_are_what_the_command_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    outcome = run(["report", "--check"])
    assert outcome == 0, f"run `make report`: {capsys.readouterr().out}"


def test_every_row_has_a_verdict_and_words() -> None:
    found = rows("paper")
    assert [row["operator"] for row in found] == [row.operator for row in paper_rows()]
    assert {row["form"] for row in found} == set(get_args(FormVerdict))
    assert {re.split("[:;]", row["value"])[0] for row in found} <= set(get_args(ValueVerdict))
    assert all(row["explanation"].endswith(".") for row in found)


def test_the_summary_has_the_figures_of_the_table_and_the_readme_its_last_paragraph() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    marked = readme.partition(START)[2].partition(END)[0]
    summary = (REPORTS / "summary.md").read_text("utf-8")
    assert marked.strip()
    assert marked.strip() in summary
    forms = Counter(row["form"] for row in rows("paper"))
    assert f"{forms['as printed']} programs are accepted as printed" in summary
    assert f"{forms['refused']} are refused" in summary
    values = Counter(re.split("[:;]", row["value"])[0] for row in rows("paper"))
    right = f"{values['right on all']} rows are right on all of them, {values['right on some']} on some"
    assert right in summary


def test_the_summary_tells_three_things_apart_and_concludes_nothing_without_a_figure() -> None:
    text = (REPORTS / "summary.md").read_text("utf-8")
    assert all(f"- **{word}**: " in text for word in ("Form", "Value", "Count"))
    closing = text.split("\n\n")[-2]
    assert closing.startswith("Of the paper's 60 rows")
    assert all(re.search(r"\d", sentence) for sentence in closing.rstrip(".").split(". "))


@pytest.mark.node_cases
def test_a_row_is_tried_on_every_node_test_or_it_is_said_why_not() -> None:
    """None is chosen by hand: what is run and what is not make up all tests of the operator."""
    cases: dict[str, set[str]] = {row["operator"]: set() for row in rows("paper")}
    for case in load_cases(cases):
        if not case.node.domain:
            cases[case.node.op].add(case.name)
    for row in rows("paper"):
        if row["form"] in ("as printed", "under a reading"):
            told = set(re.findall(r"(?:^|; )(test_\w+): (?:same|differs|stops|not run)", row["tests"]))
            assert told == cases[row["operator"]], row["operator"]


def test_a_verdict_follows_from_what_is_shown() -> None:
    for row in rows("paper"):
        accepted = row["form"] in ("as printed", "under a reading")
        assert bool(row["eops_of_print"]) is accepted, row["operator"]
        assert row["value"].startswith("not run") is not accepted, row["operator"]
        on_tests = re.findall(r"(?:^|; )test_\w+: (same|differs|stops)", row["tests"])
        right = on_tests.count("same")
        assert row["value"].startswith("right on all") is bool(on_tests and right == len(on_tests))
        assert row["value"].startswith("right on some") is (0 < right < len(on_tests))
        assert row["value"].startswith("stops") is bool(on_tests and on_tests.count("stops") == len(on_tests))
        if on_tests:
            assert f": {right} of {len(on_tests)}" in row["value"]


def test_no_row_computes_something_else_that_computes_nothing() -> None:
    """What stops is told apart from what is wrong, with the reason."""
    stopped = [row for row in rows("paper") if row["value"].startswith("stops")]
    assert stopped
    assert all("stops on" in row["explanation"] for row in stopped)


def test_every_operator_with_a_node_test_runs_as_atoms_and_agrees() -> None:
    """As the table says in its head: so many definitions with tests, and as many that agree."""
    found = rows("theorem")
    tested = [row for row in found if int(row["tests"])]
    assert all(row["outcome"] == "agree" and int(row["run"]) for row in tested)
    assert {row["outcome"] for row in found if not int(row["tests"])} == {"no node test"}
    head = (REPORTS / "theorem.md").read_text("utf-8")
    assert f"Of {len(found)} definitions, {len(tested)} have node tests in onnx." in head
    assert f"{len(tested)} agree." in head


DECIDED = r"\b(?:z\d+|loop_turns\d*|(?:z\d+|range\d+|loop_turns\d*)_(?:total|some|squares|most))\b"
"""A number that data decides: how many a filter keeps, the turns of a loop, or a total of such numbers."""


def test_programs_of_libraries_are_exact_or_name_what_data_decides() -> None:
    for row in rows("models_of_computation"):
        told = row["status"].removeprefix("depends on data: ")
        assert told == "exact" or re.fullmatch(rf"{DECIDED}(, {DECIDED})*", told), row["program"]
        beyond = set(re.findall(DECIDED, row["eops"])) - set(told.split(", "))
        assert not beyond, row["program"]


def test_the_papers_tables_have_its_rows_in_its_order_and_its_columns() -> None:
    """Ours beside what is printed; each count is that of a program whose verdicts are told elsewhere."""
    tables = [rows("table3"), rows("table4")]
    for part, table in zip((1, 2), tables, strict=True):
        printed = [row for row in paper_rows() if row.part == part]
        assert [row["operator"] for row in table] == [row.signature for row in printed]
        assert [row["flops_printed"] for row in table] == [csv_cell(row.flops) for row in printed]
        assert [row["eops_printed"] for row in table] == [csv_cell(row.eops) for row in printed]
    for row, verdict in zip([*tables[0], *tables[1]], rows("paper"), strict=True):
        assert row["eops"] in (verdict["eops_of_print"], verdict["eops_corrected"])
        assert (row["verdict"] == "holds") == (
            verdict["value"].startswith("right on all") and verdict["count"].startswith("follows")
        )
        assert row["note"] or row["verdict"] == "holds", row["operator"]


def test_the_catalogue_has_every_verified_operator_with_its_form_at_every_rank() -> None:
    found = rows("catalogue")
    assert len(found) == len({(row["domain"], row["operator"]) for row in found})
    assert {"ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"} <= {
        row["domain"] for row in found
    }
    general = {(row["domain"], row["operator"]) for row in rows("general") if row["general"] == "yes"}
    assert len(general) >= 180
    for row in found:
        assert (ROOT / row["definition"]).is_file() is bool(row["definition"]), row["operator"]
        if row["status"] == "verified":
            one_test = (row["domain"], row["operator"]) not in general
            assert one_test is (" in " in row["cases"] and not row["flops"]), row["operator"]


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.md")), ids=lambda path: path.stem)
def test_no_table_is_wider_than_a_screen_and_no_cell_higher_than_eight_lines(path: Path) -> None:
    """As characters say; `make site-test` measures the same in a browser."""
    for table in tables_of(path.read_text("utf-8")):
        assert least_width(table) <= PAGE, table[0]
        assert max(len(cell) for row in table for cell in row) <= MOST_LINES, table[0]


def test_a_table_that_is_too_wide_would_be_noticed() -> None:
    (wide,) = tables_of("| a | b |\n| --- | --- |\n| x | `" + "y" * 140 + "` |\n")
    assert least_width(wide) > PAGE
    (high,) = tables_of("| a |\n| --- |\n| " + "<br>".join("abcdefghi") + " |\n")
    assert max(len(cell) for row in high for cell in row) > MOST_LINES


def test_every_row_has_each_independent_count_or_a_word_that_says_why_not() -> None:
    found = rows("evidence")
    assert [row["operator"] for row in found] == [row.operator for row in paper_rows()]
    for row in found:
        for tool in ("xla", "h200", "torch"):
            assert re.fullmatch(r"[\d.]+( to [\d.]+)?|[a-z]+ [a-z0]+|random", row[tool]), row["operator"]
        assert row["why"] or row["band"] in ("equal", "nothing to count", "not counted"), row["operator"]


def test_how_many_rows_are_how_far_is_counted_from_the_rows() -> None:
    bands = Counter(row["band"] for row in rows("evidence"))
    (told,) = (r for r in rows("agreement") if (r["count"], r["tool"]) == ("EOPs, derived", "XLA"))
    for name in ("nothing to count", "equal", "within 5 %", "within 25 %", "more"):
        assert int(told[name.replace(" %", "").replace(" ", "_")]) == bands[name]
    for row in rows("agreement"):
        parts = (row[name] for name in ("nothing_to_count", "equal", "within_5", "within_25", "more"))
        assert sum(map(int, parts)) == int(row["rows"])
    near = int(told["equal"]) + int(told["within_5"])
    something = int(told["rows"]) - int(told["nothing_to_count"])
    summary = (REPORTS / "summary.md").read_text("utf-8")
    assert f"XLA counts something for {something} rows: " in summary
    assert f"are within 5 % in {near} and within 25 % in " in summary


def test_executed_operations_are_those_that_the_gpus_counters_say() -> None:
    """Worked out again for one operator from the recorded files: an FMA is two operations."""
    data = REPORTS / "data" / "h200"
    with (data / "counters.csv").open() as kernels, (data / "counts.csv").open() as counts:
        float32 = [row for row in csv.DictReader(counts) if row["type"] == "float32"]
        eops = {(row["name"], row["size"]): int(row["eops"]) for row in float32}
        ratios = {
            (int(row["fp32"]) + int(row["ffma"])) / eops[row["name"], row["size"]]
            for row in csv.DictReader(kernels)
            if row["name"] == "Relu" and row["type"] == "float32"
        }
    (row,) = (row for row in rows("evidence") if row["operator"] == "Relu")
    assert {float(row["h200"])} == ratios == {2.0}


def test_verdicts_that_hang_on_where_a_sum_starts_say_so() -> None:
    changed = {row["operator"]: row for row in rows("starts")}
    shown = [*rows("table3"), *rows("table4")]
    assert len([row for row in shown if row["other_start"]]) >= 10
    for row in shown:
        known = changed.get(row["operator"].partition("(")[0])
        if known is None:
            assert not row["other_start"], row["operator"]
        else:
            other = row["other_start"] or row["verdict"]
            assert (known["verdict_neutral"], known["verdict_first"]) == (row["verdict"], other)
    text = (REPORTS / "starts.md").read_text("utf-8")
    totals = dict(re.findall(r"^\| ([a-z ]+) \| (\d+ \| \d+ \| \d+ \| \d+) \|$", text, re.M))
    assert list(totals) == ["as written", "neutral element", "first term"]
    held, own, corrected, definition = totals["first term"].split(" | ")
    summary = (REPORTS / "summary.md").read_text("utf-8")
    assert f"first term, {held} rows would hold up" in summary
    assert f"printed program in {own} rows, of the corrected program in {corrected}" in summary
    assert f"verified definition in {definition}." in summary


def test_links_of_the_reports_lead_somewhere() -> None:
    for path in REPORTS.glob("*.md"):
        for address in set(re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8"))):
            assert (REPORTS / address).exists(), f"{path.name}: {address}"


def test_points_that_cannot_differ_are_counted_apart() -> None:
    found = {row["class"]: row for row in rows("answer")}
    whole, telling, trivial = (found[name] for name in ("all", "all but trivial points", "trivial points"))
    for column in ("points", "equal", "within_5"):
        assert int(whole[column]) == int(telling[column]) + int(trivial[column])
    text = (REPORTS / "summary.md").read_text("utf-8")
    assert f"Of the other {telling['points']}, {telling['equal']} are equal" in text


def test_where_the_definition_costs_something_else_it_is_said_why() -> None:
    """At the same letters; a row with lengths of its own (m for h*w) is compared by its note."""
    notes = {row.operator: row.definition for row in paper_rows()}
    for row in rows("paper"):
        letters = set(re.findall(r"[a-z]\w*", row["eops_corrected"]))
        comparable = (
            set(re.findall(r"[a-z]\w*", row["eops_verified"])) <= letters and "/s" not in row["eops_verified"]
        )
        if comparable and row["eops_verified"] != row["eops_corrected"]:
            assert notes[row["operator"]], row["operator"]


def test_what_a_row_costs_is_told_apart_from_what_it_computes() -> None:
    """A row may be right on every test at a cost that its definition does not have, and conversely."""
    found = {row["operator"]: row for row in rows("paper")}
    assert found["LeakyRelu"]["value"].startswith("right on all")
    assert "not the definition's" in found["LeakyRelu"]["count"]
    assert found["Selu"]["value"].startswith("wrong")
    assert found["Selu"]["count"].endswith("; the definition's")


def test_slips_of_our_own_stay_mended() -> None:
    library = open_library()
    taken = library.find("", "Range")
    assert taken is not None
    assert [(one.name, one.kind) for one in taken.inputs] == [
        (name, "static") for name in ("start", "limit", "delta")
    ]
    given: dict[str, list[int | str]] = {"A": ["m", "k"], "B": ["k", "n"], "C": ["n"]}
    scaled = analyse_instance(OperatorInstance("Gemm", given, {"beta": 0.5}), library)
    assert scaled.eops == parse_text("2*k*m*n + n")
    printed = (ROOT / "specs" / "paper" / "onnx" / "BatchNormalization.printed.tol").read_text("utf-8")
    assert "tol mean: R\ntol var: R\n" in printed


def test_the_errata_have_what_a_second_reading_found() -> None:
    """The gaps in the proof of Theorem One, the spaces of Example 5, and that a count is not defined."""
    places = Counter(row["place"].partition(",")[0] for row in rows("errata"))
    assert places["Proof of Theorem One"] >= 4
    (spaces,) = (row["slip"] for row in rows("errata") if row["place"] == "Example 5")
    assert "space" in spaces
    assert any("again" in row["slip"] and "once" in row["slip"] for row in rows("errata"))


def test_what_the_definitions_need_besides_the_thirteen_is_said() -> None:
    (words,) = (row["slip"] for row in rows("errata") if row["place"] == "Section 5.2")
    named = words.partition("needed besides: ")[2].partition(" (")[0]
    columns = list(rows("primitives")[0])
    besides = columns[columns.index("reduce") + 1 : columns.index("lines")]
    used = {name for name in besides if any(row[name] for row in rows("primitives"))}
    assert used == set(besides) & set(re.findall(r"\w+", named))


def test_the_flops_column_is_not_independent() -> None:
    filled = [row for row in paper_rows() if row.flops != "-"]
    assert (len(filled), sum(row.flops == row.eops for row in filled)) == (42, 41)


def test_every_difference_from_xla_has_a_reason() -> None:
    for row in rows("ratios"):
        equal = row["least"] == row["most"] == "1"
        assert bool(row["why"]) is not equal, row["operator"]


GENERAL = [row for row in errata_table().rows if not str(row[0]).startswith(("section", "ONNX"))]


@pytest.mark.parametrize("row", GENERAL, ids=lambda row: str(row[0]))
def test_a_command_of_the_errata_runs(
    row: tuple[object, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = row[-1]
    assert isinstance(command, Code)
    name, *arguments = shlex.split(command.text)
    assert name == "tolcost"
    monkeypatch.chdir(ROOT)
    if arguments != ["report"]:
        assert run(arguments) == 0
        assert capsys.readouterr().out


def test_every_corrected_program_is_in_the_errata() -> None:
    corrected = {path.name.split(".")[0] for path in (ROOT / "specs" / "paper").glob("*/*.corrected.tol")}
    told = {
        Path(str(row["command"]).split()[2]).name.split(".")[0]
        for row in rows("errata")
        if "analyze" in row["command"]
    }
    assert corrected <= told


def test_commands_of_the_tables_name_files_that_exist() -> None:
    for name, column in (("paper", "command_print"), ("peers", "command"), ("errata", "command")):
        for row in rows(name):
            for word in shlex.split(row[column]):
                assert not word.startswith("specs/") or (ROOT / word).is_file(), word


def test_a_readme_without_marks_stays_as_it_is() -> None:
    assert with_figures("# A title\n", "text\n") == "# A title\n"
    assert with_figures(f"a\n{START}\nold\n{END}\nb\n", "new\n") == f"a\n{START}\nnew\n{END}\nb\n"


def test_the_readme_has_the_figures_once_and_says_how_they_are_made() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert (readme.count(START), readme.count(END)) == (1, 1)
    assert "`make report`" in readme.partition(END)[2][:200]


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.md")), ids=lambda path: path.name)
def test_every_report_says_how_its_figures_are_made(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.search(r"(Made|Written) by `(make|tolcost|python) ", text)


def test_the_folder_holds_tables_and_one_page_and_the_index_names_them() -> None:
    index = (REPORTS / "README.md").read_text("utf-8")
    files = [path.name for path in REPORTS.iterdir() if path.is_file()]
    assert {name.rpartition(".")[2] for name in files} == {"md", "csv", "html"}
    named = set(re.findall(r"\]\(([\w.]+)\)", index))
    assert {name for name in files if not name.endswith(".csv")} - {"README.md"} <= named
    assert all(name in files for name in named)


def test_every_part_of_the_page_says_how_its_figures_are_made() -> None:
    page = (REPORTS / "report.html").read_text("utf-8")
    head, *sections = page.split("<h2 ")
    assert "Made by <code>tolcost report</code>" in head
    for section in sections:
        words = 'id="live-command"' if section.startswith('id="live"') else "Made by <code>"
        assert words in section, section[:40]
    assert page.count("<figure>") == page.count("</figcaption><svg ") == 7


def test_a_report_ends_with_something_to_see() -> None:
    shown = seen(
        [("rows hold up", "11"), ("node tests pass", "1,373 of 1,375")], Path("reports")
    ).splitlines()
    assert shown[1] == "              11  rows hold up"
    assert shown[-2].startswith("open  file:///")
    assert shown[-2].endswith("/reports/report.html")
    assert re.match(r"next  (\.venv/bin/)?tolcost model examples/bert\.onnx ", shown[-1])
