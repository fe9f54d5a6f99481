// Compiles the Python of tolcost.zip by the Python that will run it, so that a page need not:
//   node precompile.mjs FROM.zip TO.zip
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const [source, target] = process.argv.slice(2);
const python = await loadPyodide();
python.unpackArchive(new Uint8Array(readFileSync(source)), "zip", { extractDir: "/work" });
python.runPython(`
import compileall, pathlib, py_compile, zipfile
work = pathlib.Path("/work")
assert compileall.compile_dir(work, quiet=2, legacy=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
with zipfile.ZipFile("/compiled.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(work.rglob("*")):
        if path.is_file() and path.suffix != ".py":
            name = path.relative_to(work).as_posix()
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)
`);
writeFileSync(target, python.FS.readFile("/compiled.zip"));
