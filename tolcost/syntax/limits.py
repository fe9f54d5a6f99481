"""How much a program may ask of the front end.  Beyond these it is refused, with a diagnostic."""

from __future__ import annotations

MAX_BYTES = 4 * 1024 * 1024
"""The largest file that is read."""

MAX_DEPTH = 200
"""How deep brackets, and the tree they make, may nest.  Comparing two trees takes four frames a level."""

MAX_DIGITS = 1000
"""The longest number: Python itself refuses to print one of more than 4,300 digits."""

MAX_ERRORS = 20
"""After so many syntax errors the rest of a file is not looked at."""

MAX_NAME_ERRORS = 100
"""So many mistakes in names are told."""
