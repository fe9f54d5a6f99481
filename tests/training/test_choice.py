"""Scopes chosen to be computed again, beside every other choice."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

import pytest
from onnx import ModelProto
from onnx.parser import parse_model

import tolcost
from tests.training.test_step import HEAD, study, weights
from tolcost.algebra import evaluate
from tolcost.diagnostics import Rejected
from tolcost.training.knapsack import ScopeSaving, front_of, least_work
from tolcost.training.memory import Following
from tolcost.training.passes import Passes
from tolcost.training.regions import scopes_to_choose

N = 100


def layered_model(widths: list[int]) -> ModelProto:
    """Layers of two parts each, of different widths."""
    parts, shapes, names = [], [], []
    for k, width in enumerate(widths):
        parts.append(f"a{k} = MatMul(h{k}, A{k}) s{k} = Sigmoid(a{k}) t{k} = Tanh(s{k})")
        parts.append(f"c{k} = MatMul(t{k}, C{k}) h{k + 1} = Tanh(c{k})")
        shapes += [(f"A{k}", (8, width)), (f"C{k}", (width, 8))]
        names += [f"/net/layers.{k}/{part}/{n}" for n, part in enumerate(["up"] * 3 + ["down"] * 2)]
    text = f"h0 = Exp(x) {' '.join(parts)}"
    made = parse_model(
        f"{HEAD} g (float[n, 8] x) => (float[n, 8] h{len(widths)}) {weights(*shapes)} {{ {text} }}"
    )
    for node, name in zip(made.graph.node, ["/net/first", *names], strict=True):
        node.name = name
    return made


def layered(widths: list[int]) -> tolcost.Cost:
    """The cost of layers."""
    return tolcost.from_onnx(layered_model(widths)).subs(n=N)


def every_choice(cost: tolcost.Cost) -> list[tuple[int, int]]:
    """Return the peak and the work of every choice of scopes that are not inside of each other."""
    plain = study(cost.training("sgd"))
    training, settle = plain.training, plain.inner.adder.settle
    scopes, values = scopes_to_choose(training.joint), cost.point.values
    given = plain.holdings.input_bytes
    assert given is not None
    held = evaluate(training.held.throughout(1) + given, values)
    found = []
    for some in (some for many in range(len(scopes) + 1) for some in combinations(scopes, many)):
        if any(a.places & b.places for a, b in combinations(some, 2)):
            continue
        followed = Following(training.joint, Passes(is_written=True), "", 1, "sgd", some, settle).run()
        nodes = [training.joint.cost.nodes[place] for place in followed.again]
        work = sum(evaluate(part.counts.eops, values) * k for node in nodes for part, k in node.parts)
        live = followed.timeline.live_at(lambda form: evaluate(form, values), held)
        found.append((max(live), work))
    return found


def test_beside_every_choice() -> None:
    """The bound is at most the least work of all choices that fit, and what is found fits."""
    cost = layered([16, 24, 16])
    choices = every_choice(cost)
    assert len(choices) == 5**3
    peaks = sorted({peak for peak, _ in choices})
    proved = 0
    for memory in peaks:
        least = min(work for peak, work in choices if peak <= memory)
        step = cost.training("sgd", recompute="best", memory=f"{memory}B")
        chosen = study(step).training.chosen
        assert chosen is not None
        assert int(str(step(n=N).train_peak)) <= memory
        assert chosen.least <= least <= chosen.work
        proved += chosen.least == chosen.work
    assert proved >= 6
    with pytest.raises(Rejected, match="no choice of scopes"):
        cost.training("sgd", recompute="best", memory=f"{peaks[0] - 1}B")


def test_chosen_scopes_are_said() -> None:
    step = layered([40, 16, 24]).training("sgd", recompute="best", memory="95kB")
    told = {fact.label: (fact.value, fact.remark) for fact in study(step).head()}
    assert "EOPs again to fit in 95.0 kB" in told["computed again"][1]
    record = study(step).record(step, None)["train"]
    assert isinstance(record, dict)
    scopes = record["chosen"]["scopes"]  # type: ignore[call-overload, index]
    assert record["recompute"] == ", ".join(scopes)  # type: ignore[arg-type]
    again = study(step).assuming(["n >= 1"])
    assert again.training.regions  # type: ignore[attr-defined]
    assert again.training.chosen is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"recompute": "best"}, "`memory` is missing"),
        ({"memory": "1GB"}, "`memory` has no effect"),
        ({"recompute": "best", "memory": "much"}, "no amount of memory"),
        ({"recompute": "best", "memory": "1kB"}, "alone take"),
        ({"recompute": "layers.0, layers.7"}, "no scope is like `layers.7`"),
    ],
)
def test_what_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(Rejected, match=said):
        layered([8]).training("sgd", **asked)


def test_lengths_are_needed() -> None:
    cost = layered([8])
    with pytest.raises(Rejected, match="what fits depends on n"):
        study(cost.training("sgd")).inner.trained("sgd", {"recompute": "best", "memory": "1MB"})


def test_knapsacks() -> None:
    """All choices of small knapsacks, with items inside of others."""
    random = Random(5)
    for _ in range(25):
        keys = iter(range(99))
        items = [
            ScopeSaving(
                next(keys),
                random.randint(6, 20),
                random.randint(0, 9),
                tuple(
                    ScopeSaving(next(keys), random.randint(1, 9), random.randint(0, 9))
                    for _ in range(random.randint(0, 3))
                ),
            )
            for _ in range(random.randint(1, 4))
        ]
        own = [
            [((item.saved), item.work)]
            + [
                (sum(i.saved for i in some), sum(i.work for i in some))
                for many in range(len(item.inside) + 1)
                for some in combinations(item.inside, many)
            ]
            for item in items
        ]
        every = [(sum(s for s, _ in one), sum(w for _, w in one)) for one in product(*own)]
        front = front_of(items)
        assert front.whole
        for needed in range(1, max(s for s, _ in every) + 1):
            least = min(w for s, w in every if s >= needed)
            assert next(one.work for one in front.options if one.saved >= needed) == least
            bound = least_work(items, needed)
            assert bound is not None
            assert bound <= least
            thin = [one.work for one in front_of(items, 4).options if one.saved >= needed]
            assert all(work >= least for work in thin)
