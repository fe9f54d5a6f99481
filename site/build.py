"""Builds the site into build/site: the playground, and the documentation beside it.

    python site/build.py [--no-docs]

Python runs in the page by Pyodide, from its npm package; versions are pinned by package-lock.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

from tolcost.apps.editor.features import words
from tolcost.catalogue.listing import library_names, read_library
from tolcost.platform import read_spec, spec_names

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "build" / "site"
MODELS = "models.bin.gz"
"""What a model needs beside programs; it is fetched when the first model is opened."""
PARTS = ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json", "msgspec.whl", "started.bin.gz")
"""What the worker fetches of ``pyodide/``, beside tolcost.bin.gz: it is kept by the browser."""
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SHIPPED = ("atoms", "algebra", "catalogue", "cost", "elaborate", "result", "show", "syntax", "apps/editor")
SINGLE = (
    "__init__",
    "apps/__init__",
    "certainty",
    "diagnostics",
    "elementary",
    "pipeline",
    "platform",
    "records",
    "spaces",
)
"""What the page needs of the package: neither the command line nor what needs NumPy or onnx."""
NOT_SHIPPED = ("apps/editor/server.py", "apps/editor/lexer.py")
MODEL_SPECS = re.compile(r"\w+(\.\w+)+|types|schemes")
"""Folders of specs that costing a model reads beside ONNX's own operators."""
PURE = ("google/protobuf", "jinja2", "markupsafe")
"""Packages that costing a model needs, of which Python alone is enough."""
_TESTED = ("axe-core",)
"""Packages that only the tests use."""
FIRST = ("matmul", "softmax", "attention", "causal_attention")
"""The examples that come first."""


def main() -> None:
    """Build it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-docs", action="store_true", help="only the playground")
    asked = parser.parse_args()
    modules = install()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "pyodide").mkdir(exist_ok=True)
    for name in PYODIDE:
        shutil.copyfile(modules / "pyodide" / name, OUT / "pyodide" / name)
    for name in ("index.html", "playground.css"):
        shutil.copyfile(HERE / name, OUT / name)
    wheel = wasm_wheel("msgspec", modules)
    shutil.copyfile(wheel, OUT / "pyodide" / "msgspec.whl")
    memory = OUT / "pyodide" / "started.bin.gz"
    precompile(package(), OUT / "tolcost.bin.gz", memory)
    precompile(models_package(), OUT / MODELS)
    bundle(modules)
    (OUT / "examples.json").write_text(json.dumps(examples(), ensure_ascii=False), "utf-8")
    (OUT / "licences.txt").write_text(licences(modules), "utf-8")
    if not asked.no_docs:
        from documentation import build_docs

        build_docs(OUT / "docs")


def install() -> Path:
    """The packages that package-lock.json pins."""
    modules, stamp = HERE / "node_modules", HERE / "node_modules" / ".stamp"
    wanted = (HERE / "package-lock.json").read_text("utf-8")
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=HERE, check=True)
        stamp.write_text(wanted, "utf-8")
    return modules


def wasm_wheel(name: str, modules: Path) -> Path:
    """A package with compiled parts, as built for the Python that Pyodide is."""
    about = json.loads((modules / "pyodide" / "pyodide-lock.json").read_text("utf-8"))["info"]
    folder = modules / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    platform = f"pyemscripten_{about['abi_version']}_wasm32"
    python = ".".join(about["python"].split(".")[:2])
    options = ["--no-deps", "--only-binary=:all:", f"--platform={platform}", f"--python-version={python}"]
    constraints = f"--constraint={ROOT / 'constraints.txt'}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        f"--dest={folder}",
        *options,
        constraints,
        name,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def bundle(modules: Path) -> None:
    """The scripts of the page; Pyodide stays a file of its own."""
    kinds: dict[str, list[str]] = {}
    for entry in words().values():
        kinds.setdefault(entry.kind, []).append(entry.word)
    generated = HERE / "src" / "words.json"
    generated.write_text(json.dumps(kinds), "utf-8")
    shared = (ROOT / "tolcost" / "show" / "pages" / "parts.js").read_text("utf-8")
    (HERE / "src" / "pages.js").write_text(f"{shared}\nexport {{ marked, short }};\n", "utf-8")
    options = [
        "--bundle",
        "--format=esm",
        "--minify",
        "--target=es2022",
        "--log-level=warning",
        "--legal-comments=none",
    ]
    esbuild = ["node", str(modules / "esbuild" / "bin" / "esbuild"), *options]
    subprocess.run([*esbuild, "src/main.js", f"--outfile={OUT / 'playground.js'}"], cwd=HERE, check=True)
    parts = json.dumps([_part("tolcost.bin.gz"), *(_part(f"pyodide/{name}") for name in PARTS)])
    later = json.dumps([_part(MODELS)])
    defined = [f"--define:PARTS={parts}", f"--define:LATER={later}"]
    worker = ["--external:./pyodide/*", *defined, f"--outfile={OUT / 'worker.js'}"]
    subprocess.run([*esbuild, "src/worker.js", *worker], cwd=HERE, check=True)


def _part(path: str) -> tuple[str, int, str]:
    """A large file of the page, its size, and a sum of what is in it."""
    data = (OUT / path).read_bytes()
    return path, len(data), hashlib.sha256(data).hexdigest()[:16]


Files = list[tuple[Path, str]]
"""Files, and their places in an archive."""


def package() -> Files:
    """The part of tolcost that analyses programs, and the programs that come with it."""
    files = [(ROOT / "tolcost" / f"{name}.py", f"tolcost/{name}.py") for name in SINGLE]
    files.append((ROOT / "tolcost" / "codes.md", "tolcost/codes.md"))
    for part in SHIPPED:
        files += below(ROOT / "tolcost" / part, f"tolcost/{part}")
    for folder in ("lib", "onnx"):
        files += below(ROOT / "specs" / folder, f"tolcost/_specs/{folder}")
    return files


def models_package() -> Files:
    """The part that costs models: the walk over a graph, all definitions, and ONNX's messages."""
    files = below(ROOT / "tolcost" / "models", "tolcost/models")
    for path in sorted((ROOT / "specs").iterdir()):
        if path.is_dir() and MODEL_SPECS.fullmatch(path.name):
            files += below(path, f"tolcost/_specs/{path.name}")
    for name in PURE:
        found = below(folder_of(name), name)
        files += [
            (path, place) for path, place in found if path.suffix == ".py" and "/testdata/" not in place
        ]
    messages = folder_of("onnx") / "onnx_ml_pb2.py"
    return [
        *files,
        (messages, "onnx/onnx_ml_pb2.py"),
        (HERE / "src" / "only_messages.py", "onnx/__init__.py"),
    ]


def folder_of(package: str) -> Path:
    """The folder of an installed package."""
    found = find_spec(package.replace("/", "."))
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def below(folder: Path, place: str) -> Files:
    """All files below a folder that are shipped."""
    found = [(path, f"{place}/{path.relative_to(folder).as_posix()}") for path in sorted(folder.rglob("*"))]
    return [
        (path, name)
        for path, name in found
        if path.is_file() and "__pycache__" not in path.parts and not name.endswith(NOT_SHIPPED)
    ]


def precompile(files: Files, target: Path, memory: Path | None = None) -> None:
    """Pack files for a page, Python as compiled by the Python in it; and the memory of that, started."""
    packed = HERE / "node_modules" / f"{target.name}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, name in files:
            archive.writestr(
                zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    command = ["node", "precompile.mjs", str(packed), str(target)]
    subprocess.run([*command, *([] if memory is None else [str(memory)])], cwd=HERE, check=True)


def examples() -> list[dict[str, object]]:
    """The programs to choose from: small ones, the paper's, those of the libraries, and ONNX's operators."""
    operators = [name for name in spec_names("onnx") if "@" not in name]
    return [
        _group("Examples", "examples", spec_names("examples")),
        _group("The paper's programs, corrected", "paper/section5", _corrected("paper/section5")),
        *(_library(name) for name in library_names() if name != "examples"),
        _group("ONNX operators", "onnx", operators),
    ]


def _group(title: str, kind: str, names: Sequence[str]) -> dict[str, object]:
    order = sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    return {"title": title, "programs": [_example(kind, name, read_spec(kind, name).text) for name in order]}


def _library(name: str) -> dict[str, object]:
    library = read_library(name)
    programs = [_example(name, one.name, one.source.text) for one in library.programs if not one.attrs]
    return {"title": library.title, "programs": programs}


def _example(kind: str, name: str, text: str) -> dict[str, str]:
    title = name.removesuffix(".corrected").replace("_", " ")
    return {"name": f"{kind}/{name}", "title": title, "text": text}


def _corrected(kind: str) -> list[str]:
    return [name for name in spec_names(kind) if name.endswith(".corrected")]


def licences(modules: Path) -> str:
    """Whose work the page is made of, and under which licence."""
    found = []
    for manifest in sorted(modules.glob("*/package.json")) + sorted(modules.glob("@*/*/package.json")):
        data = json.loads(manifest.read_text("utf-8"))
        if "esbuild" not in data["name"] and data["name"] not in _TESTED:
            found.append(f"{data['name']} {data['version']}: {data.get('license', 'see its package')}")
    for name in ("msgspec", "protobuf", "jinja2", "markupsafe", "onnx"):
        about = metadata(name)
        found.append(f"{name} {about['Version']}: {about['License-Expression'] or about['License']}")
    return "\n".join(("This page is made with:", *sorted(found), "CPython, in Pyodide: PSF-2.0")) + "\n"


if __name__ == "__main__":
    main()
