"""Record cases: of all operators, or of those named."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback

from tools.generate.contrib.draw import GENERATORS
from tools.generate.contrib.record import write, write_schemas

FAMILIES = (
    "attention",
    "blocked",
    "elementwise",
    "norms",
    "others",
    "products",
    "quantised",
    "recurrent",
    "stated",
    "stated_layers",
)


def main() -> int:
    """Record what is asked for; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate.contrib", description=main.__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names
    for family in FAMILIES:
        importlib.import_module(f"tools.generate.contrib.{family}")
    write_schemas()
    failed = 0
    for op in names or sorted(GENERATORS):
        try:
            print(f"{op}: {write(op)} bytes")
        except Exception as error:  # one operator that cannot be observed does not end the others
            failed += 1
            print(f"{op}: {type(error).__name__}: {error}", file=sys.stderr)
            if names:
                traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
