"""Collect doctests only from files that have examples, and shorten the reports of parallel workers."""

from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol

TOLCOST = Path(__file__).parent / "tolcost"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples only in files of tolcost that contain some; loading the others would take time."""
    found = yield
    examples = TOLCOST in file_path.parents and ">>>" in file_path.read_text("utf-8")
    return found if examples else [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the example that needs torch where there is none; ``make torch`` runs it."""
    if find_spec("torch") is None:
        for item in items:
            if item.name == "tolcost.apps.torch.api.from_torch":
                item.add_marker(pytest.mark.skip("torch is not installed"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Report the outcome of a test from a worker, but not each successful setup and teardown.

    Sending these reports took longer than most tests.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
