// What a page must have for everybody to use it: names, roles, contrast, focus. Gives its mistakes, in words.
const found = [];
const seen = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
const say = (what, one) => found.push(`${what}: ${one.outerHTML.slice(0, 160)}`);

// Every control has a name.
const named = (one) => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim() ||
  one.labels?.[0]?.textContent.trim() || one.title;
for (const one of document.querySelectorAll("button, a, input, select, summary, [role=treeitem], [role=tree], [role=treegrid], [role=img]"))
  if (seen(one) && !one.closest("[aria-hidden=true]") && !named(one)) say("no name", one);

// What is written on a control is part of its name, so that it can be called by it.
for (const one of document.querySelectorAll("[aria-label]")) {
  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
  if (one.matches("button, [role=treeitem]") && /\w{3}/.test(one.innerText) && !plain(one.ariaLabel).includes(plain(one.innerText)))
    say("called otherwise than it says", one);
}
for (const one of document.querySelectorAll("button[role], a[role], input[role]")) say("a control with a role of something else", one);

// Ids are unique, and what is referred to is there.
const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`twice: ${id}`);
for (const name of ["aria-labelledby", "aria-describedby", "aria-activedescendant"])
  for (const one of document.querySelectorAll(`[${name}]`))
    if (seen(one) && !document.getElementById(one.getAttribute(name))) say(`${name} of nothing`, one);

// Parts of composite controls are in what they are parts of.
const inside = { treeitem: "tree", row: "treegrid", gridcell: "row", columnheader: "row" };
for (const [role, around] of Object.entries(inside))
  for (const one of document.querySelectorAll(`[role=${role}]`))
    if (!one.closest(`[role=${around}]`)) say(`not in a ${around}`, one);

// There is one first heading, and none jumps over a level.
if (document.querySelectorAll("h1").length !== 1) found.push("not one heading of the first level");
let level = 0;
for (const one of document.querySelectorAll("h1, h2, h3, h4")) {
  if (!seen(one)) continue;
  const own = Number(one.localName[1]);
  if (own > level + 1) say("a level of headings is left out", one);
  level = own;
}

// Letters have a contrast of 4.5 with what is behind them.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
const behind = (one) => {
  const layers = [];
  for (let up = one; up; up = up.parentElement) {
    const own = rgba(getComputedStyle(up).backgroundColor);
    if (own[3] > 0) layers.push(own);
    if (own[3] === 1) break;
  }
  return layers.reverse().reduce((under, over) => under.map((c, k) => over[k] * over[3] + c * (1 - over[3])), [255, 255, 255]);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const one = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !seen(one) || one.closest("script, style, title, [disabled], [aria-hidden=true]")) continue;
  const style = getComputedStyle(one), svg = one.closest("svg");
  const colour = rgba(svg ? style.fill : style.color);
  const [a, b] = [light(colour), light(behind(svg ? svg.parentElement : one))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 30)} in ${one.className.baseVal ?? one.className}`);
}

// What has the focus shows it, and none is out of the order of the page.
for (const one of document.querySelectorAll("[tabindex]"))
  if (Number(one.getAttribute("tabindex")) > 0) say("an order of its own", one);
for (const one of document.querySelectorAll("button, a[href], input, summary, #icicle, #graph, #rows")) {
  if (!seen(one) || one.disabled || one.tabIndex < 0) continue;
  one.focus({ focusVisible: true, preventScroll: true });
  if (document.activeElement !== one) { say("cannot be reached", one); continue; }
  const style = getComputedStyle(one), at = one.id === "icicle" ? one.querySelector(".at") : null;
  if (style.outlineStyle === "none" && !(at && getComputedStyle(at).outlineStyle !== "none")) say("no focus to be seen", one);
}
return [...new Set(found)];
