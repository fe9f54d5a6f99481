"""What several tests of results begin with."""

from pathlib import Path

import onnx
import pytest

from tools.models import graphs


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with two free lengths, as a file."""
    path = tmp_path_factory.mktemp("models") / "bert.onnx"
    onnx.save(graphs.bert(17, graphs.SMALL), path)
    return path
