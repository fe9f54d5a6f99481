"""Hold the programs of `specs/textbook` to other implementations, on as many inputs as the library says."""

from __future__ import annotations

from tolcost.catalogue.listing import read_library
from tools.textbook.holding import hold

if __name__ == "__main__":
    for program in read_library("textbook").programs:
        hold(program.name, program.inputs or 0, seed=1)
        print(f"{program.name}: right on {program.inputs}")
