"""A session with the language server, as an editor has one: every feature, over the protocol."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.editor.campaign import campaign
from tools.editor.client import COMMAND, Editor, RequestRefused, after, editor

ROOT = Path(__file__).parents[2]
MATMUL = """\
tol a: R [n, k]
tol b: R [k, m]
vec(i, j) = map(a[i], mul(*, b[*, j]))
y := map(tol[n, m], reduce(vec(i, j), add, 0), [i, j])
"""
SOFTMAX = (ROOT / "specs" / "onnx" / "Softmax.tol").read_text("utf-8")
EVERYWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 1000, "character": 0}}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with editor(tmp_path_factory.mktemp("texts")) as found:
        yield found


def opened(session: Editor, text: str, name: str) -> tuple[str, list[dict[str, Any]]]:
    """A text that is open under a name of its own, and its diagnostics."""
    uri = f"file:///somewhere/{name}.tol"
    session.open(uri, text)
    return uri, session.diagnostics(uri)


def at(text: str, words: str, plus: int = 0) -> dict[str, int]:
    """The place of some words in a text."""
    offset = text.index(words) + plus
    return {"line": text.count("\n", 0, offset), "character": offset - text.rfind("\n", 0, offset) - 1}


def test_diagnostics_come_and_go_while_typing(session: Editor) -> None:
    uri, found = opened(session, MATMUL, "typing")
    assert found == []
    session.change(uri, MATMUL.replace("reduce", "reduse"))
    (told,) = session.diagnostics(uri)
    assert (told["code"], told["severity"], told["source"]) == ("T0201", 1, "tolcost")
    assert told["range"]["start"] == at(MATMUL, "reduce")
    assert told["message"] == "there is no function `reduse`\nhint: did you mean `reduce`?"
    session.change(uri, MATMUL)
    assert session.diagnostics(uri) == []


def test_of_many_changes_the_last_one_is_told(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "fast")
    for length in range(len(MATMUL)):
        session.change(uri, MATMUL[:length])
    session.change(uri, MATMUL + "z := y +")
    (told,) = session.diagnostics(uri)
    assert told["code"] == "T0122"


@pytest.mark.parametrize(
    "words, plus, shown",
    [
        ("y :=", 0, "**2*k*m*n** EOPs"),
        ("y :=", 0, "`R [n, m]`"),
        ("a: R", 0, "input `a`: `R [n, k]`"),
        ("vec(i, j) =", 0, "**k*m*n** EOPs, wherever it is applied"),
        ("reduce(", 0, "from the left"),
        ("mul(", 0, "costs 1 EOP"),
        ("n, k", 0, "length"),
        ("j) =", 0, "parameter `j`"),
    ],
)
def test_a_hover_says_what_it_is_and_costs(session: Editor, words: str, plus: int, shown: str) -> None:
    uri, _ = opened(session, MATMUL, "hover")
    found = session.ask("hover", uri, position=at(MATMUL, words, plus))
    assert shown in found["contents"]["value"]


def test_a_hover_over_an_operator_of_any_rank_supposes_one(session: Editor) -> None:
    uri, found = opened(session, SOFTMAX, "rank")
    assert [told["code"] for told in found] == ["T0408"]
    shown = session.ask("hover", uri, position=at(SOFTMAX, "output :="))["contents"]["value"]
    assert "input_1*input_2" in shown
    assert "of rank 2: input [input_1, input_2]" in shown


def test_every_line_says_what_it_costs(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "hints")
    hints = session.ask("inlayHint", uri, range=EVERYWHERE)
    assert [(h["position"]["line"], h["label"]) for h in hints] == [(2, "k*m*n EOPs"), (3, "k*m*n EOPs")]


def test_definitions_are_found_here_and_in_the_library(session: Editor) -> None:
    text = SOFTMAX + "z := Relu(output)\n"
    uri, _ = opened(session, text, "definition")

    def leads_to(words: str) -> tuple[str, int]:
        found = session.ask("definition", uri, position=at(text, words))
        return Path(found["uri"]).name, found["range"]["start"]["line"]

    defined = [line.startswith("e =") for line in text.splitlines()].index(True)
    assert leads_to("e, a, add") == ("definition.tol", defined)
    assert leads_to("axes\n") == ("axes.tol", 0)
    assert leads_to("Relu(")[0] == "Relu.tol"
    name, line = leads_to("onto(")
    assert (ROOT / "specs/lib" / name).read_text("utf-8").splitlines()[line].startswith("onto(")


def test_a_library_file_that_is_not_there_leads_nowhere(session: Editor) -> None:
    text = "use nowhere\ntol x: R [n]\ny := map(x, exp(*))\n"
    uri, told = opened(session, text, "unused")
    assert [one["code"] for one in told] == ["T0211"]
    assert session.ask("definition", uri, position=at(text, "nowhere")) is None


def test_references_are_all_places_of_one_thing(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "references")
    found = session.ask("references", uri, position=at(MATMUL, "vec"), context={"includeDeclaration": True})
    assert [one["range"]["start"]["line"] for one in found] == [2, 3]
    found = session.ask("references", uri, position=at(MATMUL, "vec"), context={"includeDeclaration": False})
    assert [one["range"]["start"]["line"] for one in found] == [3]


@pytest.mark.parametrize(
    "before, wanted, unwanted",
    [
        ("z = ve", {"vec", "vol", "Softmax", "map", "pi"}, {"use"}),
        ("t", {"tol", "tanh"}, set()),
        ("tol c: ", {"R", "float16", "N*"}, {"map", "vec"}),
        ("use ", {"axes", "windows"}, {"map"}),
    ],
)
def test_completion_knows_the_place(
    session: Editor, before: str, wanted: set[str], unwanted: set[str]
) -> None:
    uri, _ = opened(session, MATMUL, "completion")
    session.change(uri, MATMUL + before)
    session.diagnostics(uri)
    found = session.ask("completion", uri, position={"line": 4, "character": len(before)})
    labels = {item["label"] for item in found["items"]}
    assert wanted <= labels
    assert not unwanted & labels


def test_completion_knows_names_of_a_text_that_was_never_whole(session: Editor) -> None:
    text = "tol alpha: R [n]\nattr k: N = 3\nrow(i) = alpha[i]\nbeta = map(alpha, exp)\ny := map(be"
    uri, told = opened(session, text, "never_whole")
    assert told
    found = session.ask("completion", uri, position={"line": 4, "character": 11})
    assert {"alpha", "k", "row", "beta", "map"} <= {item["label"] for item in found["items"]}


def test_renaming_keeps_the_meaning(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "rename")
    place = at(MATMUL, "vec")
    assert session.ask("prepareRename", uri, position=place)["start"] == place
    edits = session.ask("rename", uri, position=place, newName="row")["changes"][uri]
    assert after(MATMUL, edits) == MATMUL.replace("vec", "row")
    edits = session.ask("rename", uri, position=at(MATMUL, "i, j) ="), newName="r")["changes"][uri]
    assert after(MATMUL, edits).splitlines()[2] == "vec(r, j) = map(a[r], mul(*, b[*, j]))"
    for name in ("a", "map", "2x", "R"):
        with pytest.raises(RequestRefused):
            session.ask("rename", uri, position=place, newName=name)
    with pytest.raises(RequestRefused):
        session.ask("prepareRename", uri, position=at(MATMUL, "reduce"))


def test_formatting_is_that_of_fmt(session: Editor) -> None:
    text = MATMUL.replace(", ", ",").replace(" = ", "=")
    uri, _ = opened(session, text, "format")
    options = {"tabSize": 2, "insertSpaces": True}
    assert after(text, session.ask("formatting", uri, options=options)) == MATMUL
    session.change(uri, MATMUL)
    assert session.ask("formatting", uri, options=options) == []


def test_a_quick_fix_removes_the_mistake(session: Editor) -> None:
    text = MATMUL.replace("reduce", "reduse")
    uri, (told,) = opened(session, text, "fix")
    (action,) = session.ask("codeAction", uri, range=told["range"], context={"diagnostics": [told]})
    assert (action["title"], action["kind"]) == ("Write `reduce`", "quickfix")
    session.change(uri, after(text, action["edit"]["changes"][uri]))
    assert session.diagnostics(uri) == []


def test_a_lens_explains(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "lens")
    (lens,) = session.ask("codeLens", uri)
    assert lens["command"]["title"] == "2*k*m*n EOPs: explain"
    command = {"command": lens["command"]["command"], "arguments": lens["command"]["arguments"]}
    shown = session.request("workspace/executeCommand", command)
    assert re.search(r"= 2\*k\*m\*n +line 4 +in closed form", shown)


def test_a_text_that_is_closed_has_no_diagnostics(session: Editor) -> None:
    uri, _ = opened(session, "y := ", "closed")
    session.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    opened(session, MATMUL, "another")
    told = [m["params"] for m in session.messages if m.get("params", {}).get("uri") == uri]
    assert told[-1]["diagnostics"] == []


def test_random_edits_end_with_what_the_command_says(session: Editor, tmp_path: Path) -> None:
    """A slice of ``python -m tools.editor.campaign``, which ``make soak`` runs at length."""
    found = campaign(session, tmp_path, edits=40, seed=7)
    assert (found.differing, found.failures) == ([], [])


def test_the_outline_has_what_is_defined_at_the_top(session: Editor) -> None:
    uri, _ = opened(session, MATMUL, "outline")
    found = session.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    told = [(one["name"], one["kind"], one.get("detail")) for one in found]
    variable, function = 13, 12
    assert told == [
        ("a", variable, "R [n, k]"),
        ("b", variable, "R [k, m]"),
        ("vec", function, None),
        ("y", variable, "R [n, m]"),
    ]
    assert found[2]["selectionRange"]["start"] == at(MATMUL, "vec")


def test_a_text_that_was_never_opened_is_no_internal_error(session: Editor) -> None:
    with pytest.raises(RequestRefused, match="there is no text"):
        session.request("textDocument/codeLens", {"textDocument": {"uri": "file:///nowhere/at/all.tol"}})


def test_operators_of_ones_own(tmp_path: Path) -> None:
    """They are known from the start, and as they are now once their file has changed."""
    own = tmp_path / "operators" / "onnx" / "Twice.tol"
    own.parent.mkdir(parents=True)
    own.write_text("operator Twice\ntol x: R [...]\ny := map(x, * + *)\n", "utf-8")
    text = "tol a: R [n]\nb := Twice(a)\n"
    with editor(tmp_path, "--specs", "operators") as session:
        uri, found = opened(session, text, "own")
        assert found == []
        where = {"textDocument": {"uri": uri}, "position": at(text, "Twice", 1)}
        assert session.request("textDocument/definition", where)["uri"] == own.as_uri()
        assert "Twice" in {one["label"] for one in session.request("textDocument/completion", where)["items"]}
        value = {"textDocument": {"uri": uri}, "position": at(text, "b :=")}
        assert "**n** EOPs" in session.request("textDocument/hover", value)["contents"]["value"]
        own.write_text("operator Twice\ntol x: R [...]\ny := map(x, exp(* + *))\n", "utf-8")
        assert "**2*n** EOPs" in session.request("textDocument/hover", value)["contents"]["value"]
        own.unlink()
        session.change(uri, text + "\n")
        assert [one["code"] for one in session.diagnostics(uri)] == ["T0201"]


def test_a_folder_of_operators_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "--specs", "nowhere"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no folder `nowhere` with operators" in done.stderr
