"""What became of one random program, in a form that can be counted and compared."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.diagnostics import InternalError, Rejected, render_all
from tools.programs.oracle_values import Unknown
from tools.programs.road import Mismatch, check
from tools.programs.second import Cheaper, Dearer, read_twice

Kind: TypeAlias = Literal["agrees", "refused", "dearer", "differs", "crashed"]
NO_OPINION, ALIKE = "the oracle has no opinion", "the oracle counts the same"


class Verdict(Struct, frozen=True):
    """``kind`` tells what happened, ``what`` names it well enough to see the same thing again."""

    kind: Kind
    what: str = ""
    detail: str = ""

    @property
    def bad(self) -> bool:
        return self.kind in ("differs", "crashed")


def judge(
    text: str, points: Sequence[Mapping[str, int]], seed: int = 0, twice: bool = False, plain: bool = False
) -> Verdict:
    """Run a program down the road, and beside the oracle if ``twice``; nothing it does is an exception.

    In a ``plain`` program nothing can be left out: both come to the same count.
    """
    try:
        program, runs = check(text, points, seed)
        counted = twice and read_twice(text, program, runs[0], points[0], seed)
        if plain and not counted:
            raise Cheaper("counted too seldom")
    except Unknown:
        return Verdict("agrees", NO_OPINION)  # with itself
    except Rejected as rejected:
        head = rejected.diagnostics[0]
        return Verdict("refused", f"{head.code} {head.message}", render_all(rejected.diagnostics))
    except Dearer as broken:
        return Verdict("differs" if plain else "dearer", str(broken).split(":", 1)[0], str(broken))
    except Mismatch as broken:
        return Verdict("differs", str(broken).split(":", 1)[0], str(broken))
    except Exception as error:  # a crash is what we look for, whatever it is
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]} {last.name}"
        said = f" {error}" if isinstance(error, InternalError) else ""
        return Verdict("crashed", f"{type(error).__name__} in {where}{said}", traceback.format_exc())
    return Verdict("agrees", ALIKE if counted else "")
