// Python in a worker: Pyodide from beside this file, as it is after its start, and tolcost unpacked into it.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { counted, dropOldParts, expectLater, keepParts } from "./parts.js";

const began = performance.now();

let said = 0;
keepParts(() => {
  if (counted.here < counted.total && performance.now() - said < 50) return;
  said = performance.now();
  self.postMessage({ progress: counted.here, total: counted.total });
});

const read = (path) => fetch(new URL(path, self.location.href));

async function unpacked(path) {
  const { body } = await read(path);
  return new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

// Files one after the other, behind a list of their names and sizes: precompile.mjs packs them.
function write(files, packed, folder) {
  const size = new DataView(packed.buffer).getUint32(0, true);
  let at = 4 + size;
  for (const [name, length] of JSON.parse(new TextDecoder().decode(packed.subarray(4, at)))) {
    const path = `${folder}/${name}`;
    files.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    files.writeFile(path, packed.subarray(at, at + length));
    at += length;
  }
}

async function load() {
  const indexURL = new URL("./pyodide/", self.location.href).href;
  const [python, archive, msgspec] = await Promise.all([
    unpacked("./pyodide/started.bin.gz").then((memory) => loadPyodide({ indexURL, _loadSnapshot: memory })),
    unpacked("./tolcost.bin.gz"),
    read("./pyodide/msgspec.whl").then((found) => found.arrayBuffer()),
  ]);
  self.postMessage({ step: "Loading tolcost" });
  python.unpackArchive(msgspec, "wheel");
  write(python.FS, archive, "/lib/tolcost");
  python.runPython("import sys; sys.path.insert(0, '/lib/tolcost')");
  const answer = python.runPython("from tolcost.apps.editor.playground import answer; answer");
  answer(JSON.stringify({ do: "analyse", text: "tol x: R [n]\ny := map(x, exp(*))\n" })); // warm up
  return { python, answer };
}

// The walk over models and the operators of other domains are fetched with the first model.
let modelsLoaded = null;

async function loadModels(python) {
  expectLater();
  const archive = await unpacked("./models.bin.gz");
  self.postMessage({ step: "Loading operators" });
  write(python.FS, archive, "/lib/tolcost");
  python.FS.mkdirTree("/models");
  python.runPython("import importlib, os; importlib.invalidate_caches(); os.chdir('/models')");
  return python.runPython("from tolcost.apps.editor.opened_model import answer; answer");
}

// The file stays where it is: Python reads it through the browser, and nothing leaves this machine.
async function costModel(python, file) {
  const answer = await (modelsLoaded ??= loadModels(python));
  const { FS } = python;
  FS.mount(FS.filesystems.WORKERFS, { blobs: [{ name: file.name, data: file }] }, "/models");
  let said = 0;
  const tell = (done, of) => {
    if (performance.now() - said < 100) return;
    said = performance.now();
    self.postMessage({ step: `${done} of ${of} nodes`, share: done / of });
  };
  try {
    return answer(file.name, tell);
  } finally {
    FS.unmount("/models");
  }
}

const loaded = load();
loaded.then(
  () => {
    self.postMessage({ ready: true, seconds: (performance.now() - began) / 1000, fetched: counted.fetched });
    return dropOldParts();
  },
  (error) => setTimeout(() => { throw error; }),
);

self.onmessage = async ({ data: { id, request } }) => {
  try {
    const { python, answer } = await loaded;
    const found = request.model ? await costModel(python, request.model) : answer(JSON.stringify(request));
    self.postMessage({ id, answer: JSON.parse(found) });
  } catch (error) {
    self.postMessage({ id, error: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
