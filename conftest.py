"""Examples in docstrings that need more than ``make test`` installs run where it is there."""

from importlib.util import find_spec

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The example that needs torch runs under ``make torch``."""
    if find_spec("torch") is None:
        for item in items:
            if item.name == "tolcost.api.from_torch":
                item.add_marker(pytest.mark.skip("torch is not installed"))
