// Python in a worker: Pyodide from beside this file, and tolcost unpacked into it.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const began = performance.now();

async function load() {
  const [python, archive, msgspec] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", self.location.href).href }),
    fetch(new URL("./tolcost.zip", self.location.href)).then((found) => found.arrayBuffer()),
    fetch(new URL("./pyodide/msgspec.whl", self.location.href)).then((found) => found.arrayBuffer()),
  ]);
  python.unpackArchive(msgspec, "wheel");
  python.unpackArchive(archive, "zip", { extractDir: "/lib/tolcost" });
  python.runPython("import sys; sys.path.insert(0, '/lib/tolcost')");
  const answer = python.runPython("from tolcost.apps.editor.playground import answer; answer");
  answer(JSON.stringify({ do: "analyse", text: "tol x: R [n]\ny := map(x, exp(*))\n" })); // warm up
  return answer;
}

const loaded = load();
loaded.then(
  () => self.postMessage({ ready: true, seconds: (performance.now() - began) / 1000 }),
  (error) => setTimeout(() => { throw error; }),
);

self.onmessage = async ({ data: { id, request } }) => {
  try {
    const answer = await loaded;
    self.postMessage({ id, answer: JSON.parse(answer(JSON.stringify(request))) });
  } catch (error) {
    self.postMessage({ id, error: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
