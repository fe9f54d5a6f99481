// A model that is dropped on the page, or chosen: costed in a worker of its own, so that the program stays live,
// and shown as the page that the command line writes.
import { Engine } from "./engine.js";

const PATIENCE = 10 * 60_000;
const $ = (id) => document.getElementById(id);
let engine = null, address = null;

function started() {
  engine ??= new Engine((what, detail) => {
    if (what === "loading") progress(detail);
    else if (what === "broken") said(`Python could not be loaded: ${detail}`);
  }, PATIENCE);
  return engine;
}

function progress({ progress: here, total, step, share }) {
  const bar = $("model-progress"), known = share ?? (here < total ? here / total : null);
  if (known === null) bar.removeAttribute("value");
  else bar.value = known;
  $("model-step").textContent = step ?? `${(here / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`;
}

function said(words, hint = "") {
  $("model-waiting").hidden = true;
  $("model-problem").replaceChildren(words, document.createElement("br"), hint);
  $("model-problem").hidden = false;
}

async function openModel(file) {
  $("model-name").textContent = file.name;
  $("model-waiting").hidden = false;
  $("model-problem").hidden = $("model-page").hidden = $("model-keep").hidden = true;
  $("model-step").textContent = "";
  if (!$("model").open) $("model").showModal();
  try {
    const found = await started().ask({ model: file });
    if ($("model-name").textContent !== file.name || !$("model").open) return;
    if (!found) return said("This took longer than ten minutes and was stopped.");
    if (found.failed) return said(found.failed[0].message, found.failed[0].hint ?? "");
    show(found.page, file.name);
  } catch (error) {
    said(error.message);
  }
}

function show(page, name) {
  if (address) URL.revokeObjectURL(address);
  address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  $("model-waiting").hidden = true;
  $("model-page").src = address;
  $("model-page").title = `What ${name} costs`;
  $("model-page").hidden = $("model-keep").hidden = false;
  $("model-keep").href = address;
  $("model-keep").download = `${name.replace(/\.onnx$/, "")}.html`;
}

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");

export function acceptModels() {
  $("open-model").addEventListener("click", () => $("model-file").click());
  $("model-file").addEventListener("change", ({ target }) => {
    if (target.files.length) openModel(target.files[0]);
    target.value = ""; // the same file can be chosen again
  });
  $("model-close").addEventListener("click", () => $("model").close());
  $("model").addEventListener("close", () => { $("model-page").removeAttribute("src"); });
  // Before the editor, which would take a file's bytes for text.
  const over = (event, on) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    document.body.classList.toggle("dropping", on);
  };
  addEventListener("dragover", (event) => over(event, true), true);
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(event, false); }, true);
  addEventListener("drop", (event) => {
    over(event, false);
    if (holdsFiles(event) && event.dataTransfer.files.length) openModel(event.dataTransfer.files[0]);
  }, true);
}
