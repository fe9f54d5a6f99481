"""Arrays in files: read exactly, never unpickled, written back the same."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from tolcost.cli import run

PROGRAMS = Path(__file__).parent / "programs"


def test_files_in_files_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-5, 5, (3, 4)), rng.integers(-5, 5, (4, 2))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    arguments = [
        "run",
        str(PROGRAMS / "matmul.tol"),
        "--input",
        f"a={tmp_path}/a.npy",
        "--input",
        f"b={tmp_path}/b.npy",
    ]
    for engine in ("numpy", "reference"):
        folder = tmp_path / engine
        assert run([*arguments, "--engine", engine, "--output", str(folder)]) == 0
        assert np.array_equal(np.load(folder / "result.npy"), a @ b)
    assert capsys.readouterr().out == ""


class Payload:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return (open, ("touched", "w"))


@pytest.mark.parametrize("kind", ["pickle", "object array", "zip", "cut", "empty", "folder"])
def test_what_is_no_array(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.npy"
    match kind:
        case "pickle":
            file.write_bytes(pickle.dumps(Payload()))
        case "object array":
            np.save(file, np.array([Payload()], dtype=object), allow_pickle=True)
        case "zip":
            np.savez(tmp_path / "a.npz", x=np.ones(3))
            (tmp_path / "a.npz").rename(file)
        case "cut":
            np.save(file, np.ones((100, 100)))
            file.write_bytes(file.read_bytes()[:200])
        case "empty":
            file.write_bytes(b"")
        case "folder":
            file.mkdir()
    assert run(["run", str(PROGRAMS / "matmul.tol"), "--input", "a=a.npy", "--input", "b=[[1]]"]) == 2
    assert "error[T0348]: cannot read an array from `a.npy`" in capsys.readouterr().err
    assert not (tmp_path / "touched").exists()


RANDOM = ["run", str(PROGRAMS / "matmul.tol"), "--random", "--dim", "n=2", "--dim", "k=2", "--dim", "m=2"]


def test_random_inputs_are_the_same_for_the_same_seed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for seed in ("7", "7", "8"):
        assert run([*RANDOM, "--seed", seed]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]


def test_a_count_that_differs_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tolcost.cli.execute as command
    from tolcost.execute import RunCounts

    genuine = command.compare_counts
    wrong = RunCounts({("add", "R"): 7}, {}, {})
    monkeypatch.setattr(
        command, "compare_counts", lambda counts, values, analysis: genuine(wrong, values, analysis)
    )
    assert run([*RANDOM, "--count"]) == 1
    out, err = capsys.readouterr()
    assert "differs" in out
    assert "bug" in err
