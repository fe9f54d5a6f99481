"""A line that tells how far a long command is: only on a terminal, and only after a second."""

from __future__ import annotations

import os
import sys
import time

_PATIENCE = 1.0
_OFTEN = 0.1
_WIDTH = 60


class Progress:
    """Rewrites one line of standard error."""

    def __init__(self) -> None:
        """Start the clock."""
        self._on = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def tell(self, done: int, of: int, name: str) -> None:
        """Say what was done last, unless that was said a moment ago."""
        now = time.monotonic()
        if self._on and now >= self._next:
            self._next = now + _OFTEN
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{done:,}/{of:,} {name[:_WIDTH]}")
            sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
