"""``python -m native TARGET``: a copy of the project with compiled parts, for tests and measurements."""

from __future__ import annotations

import argparse
from pathlib import Path

from native.tree import compile_tree, copy


def main() -> None:
    """Copy, then compile."""
    parser = argparse.ArgumentParser(prog="python -m native", description=__doc__)
    parser.add_argument("target", type=Path, help="the folder to make; what is in it is lost")
    parser.add_argument("--quick", action="store_true", help="compile without optimising, for tests")
    asked = parser.parse_args()
    copy(Path(__file__).parent.parent, asked.target)
    compile_tree(asked.target, optimise=not asked.quick)


if __name__ == "__main__":
    main()
