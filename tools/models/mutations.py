"""Models with changed structure through the command: a result or a diagnostic, never anything else.

``python -m tools.models.mutations 10000 --seed 1`` runs a campaign and writes down what broke.
"""

from __future__ import annotations

import argparse
import random
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.backend.test.loader import load_node_model_tests

from tests.models.test_loops import BY_BOTH, CARRIED, looping
from tests.models.test_models import FLOAT, value
from tests.models.test_refused import branching
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import Wanted, model_cost, of_model
from tools.generate.models import Mutator

SLOW = 10.0


def models() -> list[onnx.ModelProto]:
    """Models that are right: those of ONNX's node tests, and some with graphs inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = [test.model for test in load_node_model_tests() if "_expanded" not in test.name]
    held = {"start": 0, "end": 7, "high": 9.0}
    return [
        *nodes,
        *[looping(BY_BOTH, CARRIED, inputs=[value("x", FLOAT, ["n"])], **held), branching(3)] * 20,
    ]


def attempts(count: int, seed: int) -> Iterator[tuple[int, onnx.ModelProto]]:
    """So many changed models, by seed."""
    sources, choice = models(), random.Random(seed)
    for n in range(count):
        own = seed * 10_000_000 + n
        source = choice.choice(sources)
        yield own, Mutator(own).mutated(source, choice.randrange(1, 4))


def outcome(proto: onnx.ModelProto, session: Session) -> str:
    """What becomes of a model: costed, in part, or refused; anything else is raised."""
    try:
        study = of_model(model_cost(model_of(proto, "m"), "m.onnx", session, Wanted()))
    except Rejected:
        return "refused"
    return "in part" if study.coverage.missing else "costed"


def campaign(count: int, seed: int, folder: Path) -> int:
    """Try many models; give how many broke."""
    session = Session(open_library())
    found: Counter[str] = Counter()
    for own, proto in attempts(count, seed):
        start = time.process_time()
        try:
            found[outcome(proto, session)] += 1
        except Exception as error:
            found["broke"] += 1
            print(own, type(error).__name__, str(error)[:200])
            print("   ", traceback.format_exc().splitlines()[-3].strip())
            (folder / f"{own}.onnx").write_bytes(proto.SerializeToString())
        if time.process_time() - start > SLOW:
            found["slow"] += 1
            print(own, f"took {time.process_time() - start:.0f} s")
            (folder / f"{own}.onnx").write_bytes(proto.SerializeToString())
    print(dict(found))
    return found["broke"] + found["slow"]


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("."))
    options = parser.parse_args()
    return int(with_deep_stack(lambda: campaign(options.count, options.seed, options.folder)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
