"""Fresh machines: the wheel and the sdist are built, installed into empty environments, and used.

    python -m tools.fresh [--record]

For every Python from 3.11 on that is found, once with the lowest versions that pyproject.toml allows, and
once by name from a package index on this machine, to which both are uploaded as a release would be.
README's commands that install something run as they stand there, in a copy of what is under version control.
``--record`` writes what was found to reports/fresh.md.
"""

import argparse
import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tools import readme

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROGRAM = """tol a: R [n, k]
tol b: R [k, m]
y := map(tol[n, m], reduce(map(a[i], mul(*, b[*, j])), add, 0), [i, j])
"""
SMOKE = """
import onnx, sys, tolcost
from onnx import TensorProto, helper
cost = tolcost.analyze("p.tol")
assert str(cost.eops) == "2*k*m*n" and cost(n=2, k=3, m=4).eops == 48, cost
assert len(cost.to_frame()) > 3
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in "xy")
graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "small", [x], [y])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), "m.onnx")
assert str(tolcost.load_model("m.onnx").eops) == "20*batch"
"""
COMMANDS = (
    ["--version"],
    ["analyze", "p.tol", "--symbolic", "--engine", "sympy"],
    ["explain", "p.tol"],
    ["run", "p.tol", "--random", "--dim", "n=2", "--dim", "k=3", "--dim", "m=4", "--count"],
    ["ops", "Softmax"],
    ["model", "m.onnx"],
    ["fmt", "--check", "p.tol"],
    ["diff", "p.tol", "p.tol", "--format", "json"],
)


class Machine(Struct, frozen=True):
    """An environment to make: which Python, what is installed, and with which versions."""

    python: Path
    name: str
    package: str
    options: tuple[str, ...] = ()


def interpreters() -> dict[str, Path]:
    """Every Python that is found, by version."""
    found: dict[str, Path] = {}
    for version in PYTHONS:
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        path = kept[-1] if kept else shutil.which(f"python{version}")
        if path:
            found[version] = Path(path)
    return found


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built and checked by `make release` in a copy."""
    copy = copied(folder)
    subprocess.run(["make", "-C", copy, "release"], check=True, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = ((copy / "build" / "dist").glob(ending) for ending in ("*.whl", "*.tar.gz"))
    return wheel, sdist


def copied(folder: Path) -> Path:
    """A copy of what is under version control."""
    copy = folder / "tolcost"
    copy.mkdir(parents=True)
    listed = f"git -C {ROOT} ls-files -z | (cd {ROOT} && xargs -0 cp --parents --target-directory {copy})"
    subprocess.run(["bash", "-euc", listed], check=True)
    return copy


@contextlib.contextmanager
def index(folder: Path, files: tuple[Path, ...]) -> Iterator[str]:
    """Serve a package index on this machine, to which files are uploaded; gives its address."""
    tools = folder / "index" / "bin"
    subprocess.run([sys.executable, "-m", "venv", folder / "index"], check=True)
    subprocess.run([tools / "python", "-m", "pip", "install", "--quiet", "pypiserver", "twine"], check=True)
    (folder / "packages").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ["--disable-fallback", "--authenticate", ".", "--passwords", "."]
    serve = [tools / "pypi-server", "run", "--interface", "127.0.0.1", "--port", str(port), *options]
    with subprocess.Popen([*serve, folder / "packages"], stderr=subprocess.DEVNULL) as server:
        try:
            upload = [
                tools / "twine",
                "upload",
                "--repository-url",
                address,
                "-u",
                "any",
                "-p",
                "any",
                *files,
            ]
            for attempt in range(20):  # until the server listens
                time.sleep(0.5)
                if subprocess.run(upload, check=attempt == 19, capture_output=True).returncode == 0:
                    break
            yield f"{address}/simple/"
        finally:
            server.terminate()


def lowest() -> list[str]:
    """The lowest version of every dependency that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [re.sub(r">=", "==", text) for text in project["dependencies"]]


def tried(machine: Machine, folder: Path) -> str:
    """Make an environment, and use what is installed in it; what goes wrong, or nothing."""
    where = folder / machine.name.replace(" ", "-")
    work = where / "work"
    work.mkdir(parents=True)
    (work / "p.tol").write_text(PROGRAM, "utf-8")
    steps: list[list[object]] = [[machine.python, "-m", "venv", where / "venv"]]
    python = where / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps.append([*install, machine.package, *machine.options])
    steps.append([python, "-I", "-c", SMOKE])
    steps += [[where / "venv" / "bin" / "tolcost", *command] for command in COMMANDS]
    try:
        for step in steps:
            done = subprocess.run(list(map(str, step)), cwd=work, check=False, capture_output=True, text=True)
            if done.returncode:
                shown = step[-1] if step[0] == python else " ".join(map(str, step[1:]))
                return f"{str(shown)[:60]}: {(done.stderr or done.stdout).strip().splitlines()[-1][:200]}"
    finally:
        shutil.rmtree(where, ignore_errors=True)
    return ""


def followed(command: str, python: Path, folder: Path) -> str:
    """Do what README says on a machine that has only Python and make, or uv; what goes wrong, or nothing."""
    where = folder / "followed"
    copy = copied(where)
    is_run_once = command.startswith("uvx ")
    steps = (
        f"cp -r {copy}/reports {where}/before",
        f"{python} -m venv {where}/venv",
        f"{where}/venv/bin/pip install --quiet uv" if is_run_once else "true",
        f"export PATH={where}/venv/bin:$PATH && cd {copy} && {command}",
        "true"
        if is_run_once
        else f"export PATH={copy}/.venv/bin:{where}/venv/bin:$PATH && tolcost --version && tolcost ops Relu",
        f"diff -r {where}/before {copy}/reports",
    )
    try:
        for step in steps:
            done = subprocess.run(["bash", "-euc", step], check=False, capture_output=True, text=True)
            if done.returncode:
                return f"{step[:60]}: {(done.stderr or done.stdout).strip().splitlines()[-1][:200]}"
    finally:
        shutil.rmtree(where, ignore_errors=True)
    return ""


def main() -> int:
    """Try every machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="tolcost-fresh-") as name:
        folder = Path(name)
        wheel, sdist = built(folder)
        found = interpreters()
        machines = [Machine(path, f"{version} wheel", str(wheel)) for version, path in found.items()]
        first = next(iter(found))
        machines += [
            Machine(found[first], f"{first} sdist", str(sdist)),
            Machine(found[first], f"{first} wheel, lowest versions", str(wheel), tuple(lowest())),
        ]
        with index(folder, (wheel, sdist)) as address:
            options = ("--extra-index-url", address)
            machines.append(
                Machine(found[first], f"{first} `pip install tolcost` from an index", "tolcost", options)
            )
            for machine in machines:
                rows.append((machine.name, tried(machine, folder)))
                print(f"{machine.name}: {rows[-1][1] or 'passes'}", flush=True)
        for command in readme.run_by(readme.FRESH):
            rows.append((f"`{command}`", followed(command, found[first], folder)))
            print(f"{command}: {rows[-1][1] or 'passes'}", flush=True)
    if asked.record:
        _record(rows)
    return int(any(problem for _, problem in rows))


def _record(rows: list[tuple[str, str]]) -> None:
    lines = [
        "# Fresh machines",
        "",
        "The wheel and the sdist, each in an empty environment: the smoke test imports the package, analyses",
        "a program and a model, and runs eight commands. README's commands run as they stand there;",
        "`make report` leaves the reports as they are. Made by `make fresh`.",
        "",
    ]
    lines += ["| Python and what was installed, or the command | |", "|---|---|"]
    lines += [f"| {name} | {problem or 'passes'} |" for name, problem in rows]
    lines += ["", f"Lowest versions: {', '.join(f'`{pin}`' for pin in lowest())}."]
    (ROOT / "reports" / "fresh.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
