// Does before what a page need not do then: compiles the Python of tolcost.zip by the Python that will run it, packs it
// so that a script unpacks it, and keeps the memory of that Python after its start, with what tolcost imports of the
// standard library:
//   node precompile.mjs FROM.zip TO.bin.gz [MEMORY.bin.gz]
import { gzipSync } from "node:zlib";
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const [source, target, memory] = process.argv.slice(2);
const python = await loadPyodide();
python.unpackArchive(new Uint8Array(readFileSync(source)), "zip", { extractDir: "/work" });
python.runPython(`
import compileall, json, pathlib, py_compile
work = pathlib.Path("/work")
assert compileall.compile_dir(work, quiet=2, legacy=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
kept = [path for path in sorted(work.rglob("*")) if path.is_file() and path.suffix != ".py"]
head = json.dumps([[path.relative_to(work).as_posix(), path.stat().st_size] for path in kept]).encode()
parts = [len(head).to_bytes(4, "little"), head, *(path.read_bytes() for path in kept)]
pathlib.Path("/compiled.bin").write_bytes(b"".join(parts))
`);
writeFileSync(target, gzipSync(python.FS.readFile("/compiled.bin"), { level: 9 }));
if (!memory) process.exit();

const used = python.runPython(`
import ast, sys
found = set()
for path in sorted(work.rglob("*.py")):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
sorted(name for name in found if name.partition(".")[0] in sys.stdlib_module_names)
`).toJs();
const fresh = await loadPyodide({ _makeSnapshot: true });
fresh.runPython(`
import importlib
for name in ${JSON.stringify([...used, "zipfile", "shutil", "importlib.metadata", "encodings.idna"])}:
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # not in this build of Python; what needs it is not reached in a page
`);
writeFileSync(memory, gzipSync(fresh.makeMemorySnapshot(), { level: 9 }));
