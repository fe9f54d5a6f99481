"""How tests run: property tests on the same cases every time, or on many new ones under ``make soak``."""

import atexit
import gc
import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak",
    deadline=None,
    max_examples=int(os.environ.get("TOLCOST_SOAK", "2000")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs ONNX's node tests, and takes long, comes first: one worker alone makes them."""
    items.sort(key=lambda item: item.get_closest_marker("node_cases") is None)


def pytest_collection_finish() -> None:
    """What is loaded by now stays, and what tests make is looked through for garbage seldom.

    Looking through all of it again and again took a tenth of all time, and looking often another one.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    # At the very end all of it is to be found, as some libraries insist; pytest looks five times before.
    atexit.register(gc.unfreeze)
