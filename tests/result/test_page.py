"""The live forms of the HTML pages compute what the algebra computes; needs node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import tolcost.show.html as page
from tolcost.algebra import ceil_log2, evaluate, length, maximum, the_symbol, to_browser
from tolcost.algebra.parse import parse_text
from tolcost.algebra.powers import powers

SCRIPT = (Path(page.__file__).parent / "pages" / "parts.js").read_text(encoding="utf-8")
N, M = length("n"), length("batch size")
FORMS = [
    N * (N + 1) // 2,
    6 * N * M * (N + 3) - 7,
    (N + 15) // 16 * M - (N * M) // 3,
    maximum(N - 512, 0) * M + maximum(N, M),
    N**5 * 10**30 + 1,
    parse_text("Min(n, 7) + ceiling(n/4) + 2**3"),
    ceil_log2(N * M) + ceil_log2(N),
    powers(2, N) * M,
]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("n, m", [(1, 1), (7, 3), (1000, 4097)])
def test_forms_have_the_same_values_in_the_page(n: int, m: int) -> None:
    trees = json.dumps([to_browser(form) for form in FORMS])
    names = f'new Map([["n", {n}n], ["batch size", {m}n]])'
    program = f"{SCRIPT}\nfor (const t of {trees}) console.log(String(evaluate(t, {names})));"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True, timeout=60)
    values = {s: {"n": n, "batch size": m}[s.name] for form in FORMS for s in form.free}
    assert done.stdout.split() == [str(evaluate(form, values)) for form in FORMS]
    assert the_symbol(M) in values
