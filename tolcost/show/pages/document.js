"use strict";
// A click on the head of a column sorts by it; another one turns the order round.
for (const head of document.querySelectorAll("th")) {
  head.tabIndex = 0;
  const sort = () => {
    const table = head.closest("table"),
      column = head.cellIndex;
    const rows = [...table.querySelectorAll("tr")].filter((row) => row.querySelector("td"));
    const down = head.dataset.order !== "down";
    const text = (row) => row.cells[column].textContent.trim();
    rows.sort((a, b) => text(a).localeCompare(text(b), undefined, { numeric: true }) * (down ? 1 : -1));
    head.dataset.order = down ? "down" : "up";
    for (const row of rows) row.parentNode.append(row);
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
}
