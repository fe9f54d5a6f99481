// What a reader sees go wrong at some width: what is wider than the page, what sticks out of its card, what is cut, letters that
// are too small, labels of a chart on top of each other.  Gives the faults, in words.
const found = [];
const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && one.getClientRects().length > 0;
const brief = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
const scrolls = (style) => /auto|scroll/.test(style.overflowX);

if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);

// Text stays within its card, or in something that scrolls; what is cut ends in an ellipsis, and is no number.
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
while (walker.nextNode()) {
  const text = walker.currentNode, one = text.parentElement;
  if (!text.data.trim() || !seen(one) || one.closest("script, style, title, svg, option, [aria-hidden=true]")) continue;
  range.selectNodeContents(text);
  const place = range.getBoundingClientRect();
  if (place.width < 2) continue;
  for (let up = one; up && up !== document.body; up = up.parentElement) {
    const style = getComputedStyle(up), box = up.getBoundingClientRect();
    if (scrolls(style)) break;
    const hides = /hidden|clip/.test(style.overflowX);
    if ((hides || up.matches(".card, td, th, button, section, figure")) && place.right > box.right + 1.5 && style.display !== "inline") {
      if (!hides) found.push(`sticks out by ${Math.round(place.right - box.right)} px: ${brief(text.data)}`);
      else if (style.textOverflow !== "ellipsis") found.push(`is cut: ${brief(text.data)}`);
      else if (/^[−-]?[\d.,]+( [a-zA-Zµ%]{1,3})?$/.test(text.data.trim())) found.push(`a number is cut: ${brief(text.data)}`);
      break;
    }
  }
}

// Letters of charts are legible, and stand apart.
for (const svg of document.querySelectorAll("svg")) {
  if (!seen(svg) || svg.closest("#graph")) continue;
  const view = svg.viewBox.baseVal, scale = view && view.width ? svg.getBoundingClientRect().width / view.width : 1;
  const labels = [...svg.querySelectorAll("text")].filter((one) => seen(one) && one.textContent.trim());
  for (const one of labels) {
    const size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (size < 9) { found.push(`letters of ${size.toFixed(1)} px: ${brief(one.textContent)}`); break; }
  }
  const own = (one) => { const copy = one.cloneNode(true); copy.querySelectorAll("title").forEach((t) => t.remove()); return copy.textContent; };
  const boxes = labels.filter((one) => !/rotate/.test(one.getAttribute("transform") ?? "")).map((one) => [own(one), one.getBoundingClientRect()]);
  boxes.forEach(([a, p], k) => {
    for (const [b, q] of boxes.slice(k + 1)) {
      const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left), high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (wide > 3 && high > 4) found.push(`one on the other: ${brief(a)} and ${brief(b)}`);
    }
  });
  const frame = svg.getBoundingClientRect();
  let moves = false;
  for (let up = svg.parentElement; up; up = up.parentElement) moves ||= scrolls(getComputedStyle(up));
  for (const [text, place] of boxes)
    if (place.right > Math.min(frame.right + 1, moves ? Infinity : innerWidth) || place.left < frame.left - 1.5) found.push(`leaves its chart: ${brief(text)}`);
}

// What stands in code marks is typeset, and nothing that a program would say is shown.
const walked = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walked.nextNode()) {
  const text = walked.currentNode, one = text.parentElement;
  if (one.closest("script, style, table, pre, code, .notes") || !seen(one)) continue;
  for (const [what] of text.data.matchAll(/`[^`\n]+`|\bundefined\b|\[object \w+\]/g)) found.push(`raw: ${what}`);
}
return [...new Set(found)];
