"""A browser for the pages, one for each file of tests; it must have nothing to complain of in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.audit.browser import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        found.devtools(
            "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False
        )
        yield found
        assert found.complaints() == []
