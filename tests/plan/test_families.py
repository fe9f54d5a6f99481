"""Families of ``tolcost plan``, held to transformers' own modules with random weights."""

import json
from pathlib import Path
from typing import Any

import pytest

from tolcost.algebra import evaluate
from tolcost.apps.plan.door import model_in
from tolcost.apps.plan.figures import NEAR, ModelRun, ServedModel, served
from tolcost.apps.plan.precision import precision_of

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text("utf-8"))
CASES = [pytest.param(row, id=f"{row['config']['model_type']}-{n}") for n, row in enumerate(RECORDED["rows"])]
KNOWN: dict[tuple[str, tuple[tuple[str, object], ...]], ServedModel] = {}


def model_of(config: dict[str, Any]) -> ServedModel:
    """Programs are read once for each choice of attributes; only the numbers differ."""
    model = model_in(config, "small")
    zeros = tuple(sorted((name, n == 0) for name, n in model.lengths.items() if name in ("m", "a")))
    key = (model.family.program, (*sorted(model.attrs.items()), *zeros))
    if key not in KNOWN:
        KNOWN[key] = served(model)
    return ServedModel(model, KNOWN[key].called)


@pytest.mark.parametrize("row", CASES)
def test_a_type(row: dict[str, Any]) -> None:
    """Parameters to the last one, the products of a token, and what is kept after it."""
    found, config = model_of(row["config"]), row["config"]
    assert found.parameter_count == row["parameters"]
    for run in row["runs"]:
        step = ModelRun(run["batch"], 1, run["past"])
        macs = sum(call.times * call.macs for call in found.work(step, precision_of()))
        assert macs - shares(found, run["batch"]) == run["macs"]
        assert kept(found, run["batch"], run["past"] + 1) * repeated(config) == run["kept"]


def shares(found: ServedModel, batch: int) -> int:
    """What adds up the results of experts by their shares: products here, and none of matrices in torch."""
    lengths = found.model.lengths
    if found.model.attrs.get("experts", "none") == "none":
        return 0
    return batch * lengths["d"] * lengths["taken"] * (lengths["l"] - lengths["a"])


def repeated(config: dict[str, Any]) -> int:
    """How often transformers keeps a head: its newer Falcon repeats them first, as engines do not."""
    new = config.get("new_decoder_architecture")
    return int(config["num_attention_heads"] // config["num_kv_heads"]) if new else 1


def kept(found: ServedModel, batch: int, context: int) -> int:
    """The numbers that transformers keeps: of a window, all but the place of the next token."""
    window = found.model.lengths.get("window", 1)
    point = found.point(ModelRun(batch, 1, context))
    point |= {symbol: min(context, window - 1) for symbol in point if symbol.name == NEAR}
    total = 0
    for given in found.state:
        size = 1
        for d in given.type[0].shape:
            size *= evaluate(d, point)
        total += size
    return total
