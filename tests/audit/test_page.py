"""The report in a real browser: it loads without the network, sorts, filters, and computes exactly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audit.browser import Browser, chromium
from tolcost.algebra import evaluate
from tolcost.apps.paper.readings import paper_rows
from tolcost.catalogue.specs import open_library
from tolcost.result.instances import analyse_instance

PAGE = Path(__file__).parents[2] / "reports" / "report.html"
OPERATORS = """return [...document.querySelectorAll('#table-paper tbody tr')]
  .filter(row => !row.hidden).map(row => row.cells[1].textContent)"""
COUNTS = """return [...document.querySelectorAll('#table-peers tbody tr')]
  .map(row => Number(row.cells[4].dataset.sort))"""
SET = """const i = [...document.querySelectorAll('#live-dims input')].find(
    i => i.type === arguments[0] && i.dataset.name === arguments[1]);
  i.value = arguments[2]; i.dispatchEvent(new Event('input'));
  return document.getElementById('live-eops').dataset.value"""
STARTS = """return [...document.querySelectorAll('#live-dims input[type=number]')].map(
  i => [i.dataset.name, Number(i.value)])"""
CHOOSE = """const s = document.getElementById('live-form');
  s.value = [...s.options].find(o => o.textContent.startsWith(arguments[0])).value;
  s.dispatchEvent(new Event('change'))"""

CHARTS = """return [...document.querySelectorAll('figure svg')].map(svg => {
  const {left, right, width} = svg.getBoundingClientRect();
  const inside = [...svg.querySelectorAll('text')].every(text => {
    const box = text.getBoundingClientRect();
    return box.left >= left - 1 && box.right <= right + 1;
  });
  return inside && Math.abs(width / svg.viewBox.baseVal.width - 1) < 0.02
    && svg.parentNode.scrollWidth <= svg.parentNode.clientWidth; })"""
"""Whether each chart is drawn in its own size, with all of its text, and nothing to scroll."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        found.open(PAGE.as_uri())
        yield found


@pytest.fixture
def page(browser: Browser) -> Browser:
    browser.open(PAGE.as_uri())
    return browser


def test_it_loads_without_a_complaint_and_without_other_files(page: Browser) -> None:
    assert page.complaints() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.run("return document.querySelectorAll('math').length") > 100
    assert page.run("return document.querySelectorAll('figure svg').length") == 7


def test_a_click_sorts_and_another_one_reverses(page: Browser) -> None:
    printed = page.run(OPERATORS)
    header = "#table-paper thead th:nth-child(2) button"
    page.click(header)
    names = page.run(OPERATORS)
    assert names == sorted(printed, key=str.lower)
    page.click(header)
    assert page.run(OPERATORS) == names[::-1]


def test_numbers_sort_as_numbers(page: Browser) -> None:
    page.click("#table-peers thead th:nth-child(5) button")
    found = page.run(COUNTS)
    assert found == sorted(found)
    assert found != sorted(found, key=str)


def test_a_filter_leaves_the_rows_that_fit(page: Browser) -> None:
    page.type("input[data-table=table-paper]", "pool")
    assert page.run(OPERATORS) == ["AveragePool", "LpPool", "MaxPool", "MaxUnpool"]


@pytest.mark.parametrize("operator", ["MatMul", "Conv", "ConvTranspose", "LpPool", "Softmax"])
def test_a_slider_gives_the_value_that_python_gives(page: Browser, operator: str) -> None:
    row = next(row for row in paper_rows() if row.operator == operator)
    form = analyse_instance(row.verified, open_library()).eops
    symbols = sorted(form.free, key=lambda s: s.name)
    page.run(CHOOSE, f"{operator} (")
    start = dict(page.run(STARTS))
    values = {symbol: start[symbol.name] for symbol in symbols}
    for place, symbol in enumerate(symbols):
        values[symbol] = 700 + 13 * place if symbol.name == "n" else 3 + place
        shown = page.run(SET, "range", symbol.name, str(values[symbol]))
        assert int(shown) == evaluate(form, values)


def test_a_form_starts_at_typical_lengths_at_which_it_holds(page: Browser) -> None:
    page.run(CHOOSE, "MatMul (")
    assert page.run("return document.getElementById('live-eops').dataset.value") == str(2 * 1024**3)
    for n in range(page.run("return document.getElementById('live-form').options.length")):
        page.run("const s = document.getElementById('live-form'); s.selectedIndex = arguments[0];"
                 "s.dispatchEvent(new Event('change'))", n)  # fmt: skip
        assert "needs" not in page.run("return document.getElementById('live-eops').textContent")


def test_integers_are_exact_beyond_any_double(page: Browser) -> None:
    page.run(CHOOSE, "MatMul (")
    sizes = {"n": 10**17 + 1, "k": 10**17 + 3, "m": 10**17 + 9}
    for name, size in sizes.items():
        shown = page.run(SET, "number", name, str(size))
    assert int(shown) == 2 * sizes["n"] * sizes["k"] * sizes["m"]


@pytest.mark.parametrize(
    "name, value, said",
    [("s", "0", "it needs s >= 1"), ("n", "-5", "it needs n >= 1"), ("n", "1.5", "no value for n")],
)
def test_where_a_form_does_not_hold_there_are_no_figures(
    page: Browser, name: str, value: str, said: str
) -> None:
    page.run(CHOOSE, "Conv (")
    assert page.run(SET, "number", name, value) == ""
    for figure in ("eops", "macs"):
        assert page.run(f"return document.getElementById('live-{figure}').textContent").startswith(said)


def test_it_fits_a_phone(page: Browser) -> None:
    page.devtools(
        "Emulation.setDeviceMetricsOverride", width=375, height=720, deviceScaleFactor=2, mobile=True
    )
    page.open(PAGE.as_uri())
    assert page.run("return document.documentElement.scrollWidth") <= 375
    assert page.run(CHARTS) == [True] * 7
    page.devtools("Emulation.clearDeviceMetricsOverride")


def test_tables_fit_a_screen_and_rows_open_what_is_left_out(page: Browser) -> None:
    page.devtools(
        "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False
    )
    page.open(PAGE.as_uri())
    for name in ("paper", "peers", "errata"):
        page.run(f"document.getElementById('{name}').scrollIntoView()")
        fitted = f"""const b = document.getElementById('table-{name}').parentNode;
          return new Promise((done) => setTimeout(() => done(b.scrollWidth <= b.clientWidth + 1), 300))"""
        assert page.run(fitted), name
    page.run("document.querySelector('#table-errata tbody tr').click()")
    assert page.run("return document.querySelector('#table-errata tr.more dl').textContent.length") > 50
    page.click("#table-errata thead th button")
    assert page.run("return document.querySelectorAll('#table-errata tr.more').length") == 0
    sideways = "const n = document.querySelector('nav'); return n.scrollWidth - n.clientWidth"
    assert page.run(sideways) <= 0
    page.devtools("Emulation.clearDeviceMetricsOverride")


def test_it_is_dark_where_that_is_preferred(page: Browser) -> None:
    def ground() -> list[int]:
        colour = page.run("return getComputedStyle(document.body).backgroundColor")
        return [int(part) for part in colour.strip("rgba()").split(",")[:3]]

    assert min(ground()) > 200
    page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert max(ground()) < 60
    page.devtools("Emulation.setEmulatedMedia", features=[])
