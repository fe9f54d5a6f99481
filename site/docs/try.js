// A program of a page, tried in place: the playground loads when it is first asked for.
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.("details.try[data-link]") || !target.open || target.querySelector("iframe")) return;
  const frame = document.createElement("iframe");
  frame.src = target.dataset.link;
  frame.title = "playground";
  target.append(frame);
}, true);

// The theme makes blocks of code focusable only where they are in view, and gives the buttons beside them no name:
// all of them are for keyboards and screen readers.
function reachable() {
  for (const code of document.querySelectorAll("pre > code:not([tabindex])")) code.tabIndex = 0;
  document.querySelectorAll("nav.md-code__nav:not([aria-label])").forEach((nav) => {
    nav.setAttribute("aria-label", `Code ${nav.closest("pre")?.id ?? ""}`);
  });
}

addEventListener("DOMContentLoaded", () => {
  reachable();
  new MutationObserver(reachable).observe(document.body, { attributeFilter: ["tabindex"], childList: true, subtree: true });
});
