"""The documentation keeps up with the code."""

from __future__ import annotations

import ast
import doctest
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import onnx.defs
import pytest

import tolcost
from tolcost.apps.paper.command import NEXT
from tolcost.cli import run
from tolcost.elaborate.values import Value
from tools import readme

ROOT = Path(__file__).parent.parent
TOUR, TUTORIAL = ROOT / "docs" / "tour.md", ROOT / "docs" / "tutorial.md"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
MOST_TYPES = 77
TYPO = "tol x: R [n]\ny := map(x, exq(*)) + z\n"


def blocks(text: str, kind: str) -> list[str]:
    """What stands between fences of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tour, in a folder with the files it talks about."""
    text = TOUR.read_text("utf-8")
    (tmp_path / "prefix.tol").write_text(blocks(text, "tol")[0], "utf-8")
    (tmp_path / "typo.tol").write_text(TYPO, "utf-8")
    monkeypatch.chdir(tmp_path)
    return text


def answered(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The commands of a block, each with all that it says; what goes wrong is part of it."""
    said = []
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "cat":
            print(Path(arguments[0]).read_text("utf-8"), end="")
        else:
            run(arguments)
        shown = capsys.readouterr()
        said.append(f"$ {command}\n{shown.out}{shown.err}")
    return "".join(said)


def said_again(text: str, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hold a page to what its commands say now."""
    written = text
    for block in blocks(text, "console"):
        written = written.replace(f"```console\n{block}```", f"```console\n{answered(block, capsys)}```")
    if os.environ.get("TOLCOST_ACCEPT"):
        page.write_text(written, "utf-8")
    else:
        assert text == written


def test_the_tour_shows_what_the_commands_say(tour: str, capsys: pytest.CaptureFixture[str]) -> None:
    said_again(tour, TOUR, capsys)


def test_the_types_on_the_way_are_few_and_where_the_tour_says() -> None:
    """Each row names a file that defines its types; no node or value is left out."""
    table = TOUR.read_text("utf-8").split("## The types on the way")[1].split("\n## ")[0]
    found: list[str] = []
    files: list[Path] = []
    for row in re.findall(r"^\|(.*)\|$", table, re.MULTILINE)[2:]:
        where, types, _ = row.split("|", 2)
        files = [ROOT / "tolcost" / file for file in re.findall(r"`([^`]+)`", where)] or files
        classes = {node.name for file in files for node in parsed(file) if isinstance(node, ast.ClassDef)}
        named = re.findall(r"`(\w+)`", types)
        assert classes.issuperset(named), row
        found += named
    assert len(found) == len(set(found)) <= MOST_TYPES
    nodes = {node.name for node in parsed(ROOT / "tolcost/atoms/nodes.py") if isinstance(node, ast.ClassDef)}
    values = {one.__name__ for one in Value.__args__ if one.__module__ == "tolcost.elaborate.values"}
    assert (nodes | values).issubset(found)


def parsed(file: Path) -> list[ast.stmt]:
    """The statements of a module."""
    return ast.parse(file.read_text("utf-8")).body


def test_the_page_on_gradients_shows_what_the_commands_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "training.md"
    said_again(page.read_text("utf-8"), page, capsys)


def test_the_tutorial_shows_what_the_commands_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TUTORIAL.read_text("utf-8")
    for name, program in re.findall(r'^```tol title="(.*?)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(program, "utf-8")
    monkeypatch.chdir(tmp_path)
    said_again(text, TUTORIAL, capsys)


@pytest.mark.usefixtures("tour")
@pytest.mark.parametrize("page", [TOUR, ROOT / "docs" / "python.md"], ids=lambda page: page.stem)
def test_pages_show_what_python_says(page: Path) -> None:
    text = "\n".join(blocks(page.read_text("utf-8"), "pycon"))
    session = doctest.DocTestParser().get_doctest(text, {}, page.stem, None, 0)
    assert session.examples
    told: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE).run(
        session, out=told.append
    )
    assert not told, "".join(told)


def test_files_that_are_named_exist() -> None:
    """In the pages that lead through the code: a path from the top or from ``tolcost/``, or a file's name."""
    modules = {path.name for path in (ROOT / "tolcost").rglob("*.*")}
    for page in (TOUR, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        for name in re.findall(r"`((?:[\w.-]+/)*\w+\.(?:py|md|toml|lark))`", page.read_text("utf-8")):
            there = (ROOT / name).exists() or (ROOT / "tolcost" / name).exists() or name in modules
            assert there, f"{page.name} names {name}"


def test_names_of_the_glossary_are_defined_where_it_says() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    terms = re.findall(r"^- \*\*(.+?)\*\*: (.*?)(?=^- |\Z)", text, re.MULTILINE | re.DOTALL)
    assert [term for term, _ in terms] == sorted((term for term, _ in terms), key=str.lower)
    for term, entry in terms:
        named = re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.\w+)`", entry)
        assert named, f"{term} names nothing"
        for name, file in named:
            source = (ROOT / "tolcost" / file).read_text("utf-8")
            assert re.search(rf"\b{name}\b", source), f"{term}: there is no {name} in {file}"


def test_types_that_are_named_exist() -> None:
    """In the table of representations: a type or a function, from ``tolcost.`` on."""
    rows = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Representations")[2]
    for name in re.findall(r"`(\w+(?:\.\w+)+)`", rows.partition("##")[0]):
        assert pkgutil.resolve_name(f"tolcost.{name}")


def test_files_that_the_grammar_names_exist() -> None:
    folder = ROOT / "tolcost" / "syntax"
    for name in re.findall(r"\w+\.py", (folder / "grammar.lark").read_text("utf-8")):
        assert (folder / name).exists(), name


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "site" / "documentation.py").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f'"{page.name}"' not in navigation] == []


def test_links_lead_somewhere() -> None:
    for page in PAGES:
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


NAMED = {"catalogue/graph.py": {"Constant"}}
"""Where Python goes by an operator's name: docs/architecture.md says why."""


def test_no_other_python_knows_an_operator() -> None:
    operators = {schema.name for schema in onnx.defs.get_all_schemas()}
    quoted = re.compile(rf"[\"']({'|'.join(operators)})[\"']")
    for file in sorted((ROOT / "tolcost").rglob("*.py")):
        where, written = file.relative_to(ROOT / "tolcost").as_posix(), file.read_text("utf-8")
        if quoted.search(written) is None:  # as in most, and to parse all of them takes long
            continue
        texts = {n.value for n in ast.walk(ast.parse(written)) if isinstance(n, ast.Constant)}
        known = {text for text in texts if isinstance(text, str)} & operators
        if not where.startswith("algebra/"):  # Max, Min and Sum are words of formulas, too
            assert known <= NAMED.get(where, set()), where


def test_a_type_name_has_one_meaning() -> None:
    where: dict[str, str] = {}
    for file in sorted((ROOT / "tolcost").rglob("*.py")):
        text = file.read_text("utf-8")
        for name in re.findall(
            r"^(?:class ([A-Z]\w+)|([A-Z]\w*[a-z]\w*)(?:: TypeAlias)? = )", text, re.MULTILINE
        ):
            found = name[0] or name[1]
            assert where.setdefault(found, str(file)) == str(file), f"{found} is in {file} and {where[found]}"


def test_pages_that_the_code_names_are_there() -> None:
    for file in sorted((ROOT / "tolcost").rglob("*.py")):
        for page in re.findall(r"docs/[\w/]+(?:\.\w+)?", file.read_text("utf-8")):
            assert (ROOT / page).exists(), f"{file.name} names {page}"


# ---- the commands of the README ------------------------------------------------------------------

README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the parts of a clone that commands of the README read, and none of its own files."""
    for name in ("examples", "specs", "reports"):
        (tmp_path / name).symlink_to(ROOT / name)
    for editor in ("nvim", "helix"):
        (tmp_path / ".config" / editor).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_readme_is_run_by_something() -> None:
    """What runs which is said in ``tools/readme.py``; the other targets take their commands from there."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in readme.commands(README):
        assert readme.runner(command), f"nothing runs `{command}`"
    for file, words in readme.ELSEWHERE.values():
        assert words in (ROOT / file).read_text("utf-8"), file
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert NEXT in readme.commands(README)
    for command in readme.run_by(readme.SITE):
        if command.startswith("make "):
            assert re.search(rf"^site-test:.*\b{command[5:]}\b", makefile, re.MULTILINE), command


SHOWN = {
    line for block in blocks(README, "console") for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE)
}
"""Commands with what they say, which another test holds them to."""


@pytest.mark.parametrize(
    "command", [c for c in readme.run_by(readme.TEST) if c not in readme.ELSEWHERE and c not in SHOWN]
)
def test_the_commands_of_the_readme_run(command: str, bench: Path) -> None:
    program, *options = shlex.split(command)
    if program == "tolcost":
        wanted = next((code for start, code in readme.EXITS.items() if command.startswith(start)), 0)
        assert run(options if len(options) > 1 else [*options, "--help"]) == wanted
    else:
        folder = ROOT if "editors/" in command else bench
        subprocess.run(
            ["bash", "-euc", command], cwd=folder, env={**os.environ, "HOME": str(bench)}, check=True
        )


@pytest.mark.usefixtures("bench")
def test_the_readme_shows_what_the_commands_say(capsys: pytest.CaptureFixture[str]) -> None:
    said_again(README, ROOT / "README.md", capsys)


@pytest.mark.usefixtures("bench")
def test_the_readme_shows_what_python_says() -> None:
    text = "\n".join(blocks(README, "pycon"))
    session = doctest.DocTestParser().get_doctest(text, {}, "README", None, 0)
    assert session.examples
    assert doctest.DocTestRunner(verbose=False).run(session).failed == 0


def test_the_readme_shows_what_other_tools_count() -> None:
    """The stored figures; those of tolcost are what it says today of the same model."""
    page = ROOT / "README.md"
    text = page.read_text("utf-8")
    before, start, rest = text.partition(readme.START)
    _, end, after = rest.partition(readme.END)
    written = f"{before}{start}{readme.other_tools_table()}{end}{after}"
    if os.environ.get("TOLCOST_ACCEPT"):
        page.write_text(written, "utf-8")
    assert written == text
    own = readme.other_tools()[0]
    macs = tolcost.load_model(ROOT / "examples" / "bert.onnx", dims={"batch": 1, "seq": 512}).macs
    assert own["tool"] == "tolcost"
    assert {own["fused attention"], own["attention written out"]} == {str(macs)}


@pytest.mark.parametrize("page", ["libraries", "theorems", "sql"])
def test_the_commands_of_pages_on_programs_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are whole, and not in README; what a command writes, the next ones read."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    (tmp_path / "tables.toml").write_text("".join(blocks(text, "toml")), "utf-8")
    (tmp_path / "query.sql").write_text("select sum(price) from orders", "utf-8")
    monkeypatch.chdir(tmp_path)
    wanted = [command.partition(" | ")[0] for command in readme.commands(text)]
    told = [c for c in wanted if re.match(r"tolcost \w+ (?!NAME)(?!.*\.\.\.)", c)]
    assert told
    for command in told:
        if command not in readme.commands(README):
            assert run(shlex.split(command)[1:]) == 0, capsys.readouterr().err


def targets(file: str) -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / file).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("file", ["Makefile", "tools/targets.mk"])
def test_a_makefile_explains_its_targets(file: str) -> None:
    """`unit` is a part of `make test`; `soak` and `bench` are what people run of the longer list."""
    explained = set(re.findall(r"^#   make ([\w-]+) ", (ROOT / file).read_text("utf-8"), re.MULTILINE))
    longer = {"soak", "bench"} if file == "Makefile" else set()
    assert explained == targets(file) - {"unit", "site-test"} | longer


def test_the_targets_that_pages_name_are_there() -> None:
    there = targets("Makefile") | targets("tools/targets.mk")
    for page in (*PAGES, ROOT / "tools" / "README.md"):
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert target in there, f"{page.name} says make {target}"


def test_editors_are_set_up_as_the_pages_say(tmp_path: Path) -> None:
    """The lines that copy settings, in a home of their own; what comes of them can be read."""
    text = (ROOT / "docs" / "editors.md").read_text("utf-8")
    (tmp_path / ".config" / "helix").mkdir(parents=True)
    lines = [line for line in "".join(blocks(text, "")).splitlines() if "~" in line]
    assert len(lines) == 2
    for line in lines:
        subprocess.run(
            ["bash", "-euc", line], cwd=ROOT, env={**os.environ, "HOME": str(tmp_path)}, check=True
        )
    helix = tomllib.loads((tmp_path / ".config/helix/languages.toml").read_text("utf-8"))
    assert helix["language-server"]["tolcost"] == {"command": "tolcost", "args": ["lsp"]}
    assert 'cmd = { "tolcost", "lsp" }' in (tmp_path / ".config/nvim/lsp/tolang.lua").read_text("utf-8")


def test_the_extension_s_grammar_knows_the_words_of_today() -> None:
    code = "import runpy, sys; sys.stdout.write(runpy.run_path('editors/build.py')['grammar']())"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert made == (ROOT / "editors/vscode/syntaxes/tolang.tmLanguage.json").read_text("utf-8")
