// A program of a page, tried in place: the playground loads when it is first asked for.
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.("details.try[data-link]") || !target.open || target.querySelector("iframe")) return;
  const frame = document.createElement("iframe");
  frame.src = target.dataset.link;
  frame.title = "playground";
  target.append(frame);
}, true);
