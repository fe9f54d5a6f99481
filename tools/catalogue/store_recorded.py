"""Make ``reports/data/recorded.json`` again: operators of com.microsoft, held to the cases recorded of them.

python -m tools.catalogue.store_recorded
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tolcost.apps.paper.peers import RECORDED
from tolcost.catalogue.conformance import as_record, verify

DOMAIN = "com.microsoft"
KEPT = ("name", "op", "status", "concrete", "eops", "macs", "certainty")


def main() -> int:
    """Hold every operator to its cases, and store what reports need of each."""
    report = verify(domain=DOMAIN, recorded=True)
    record = as_record(report)
    cases = [{key: getattr(result, key) for key in KEPT} for result in report.results]
    text = json.dumps({**record, "domain": DOMAIN, "cases": cases}, indent=1) + "\n"
    (Path("reports") / RECORDED).write_text(text, "utf-8")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
