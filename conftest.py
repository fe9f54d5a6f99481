"""Which files have examples to run, what these need beyond ``make test``, and what workers tell of tests."""

from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol

TOLCOST = Path(__file__).parent / "tolcost"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Only tolcost has examples in docstrings, and not in every file: the others are not loaded for them."""
    found = yield
    examples = TOLCOST in file_path.parents and ">>>" in file_path.read_text("utf-8")
    return found if examples else [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The example that needs torch runs under ``make torch``."""
    if find_spec("torch") is None:
        for item in items:
            if item.name == "tolcost.apps.torch.api.from_torch":
                item.add_marker(pytest.mark.skip("torch is not installed"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker tells what came of a test, and not that its setting up and taking down went well too.

    Telling took longer than most tests do.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
