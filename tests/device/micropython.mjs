// node micropython.mjs FOLDER_OF_THE_PACKAGE MODULE SCRIPT: runs a script in MicroPython with a module beside it.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, module, script] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(path.join(folder, "micropython.mjs")));
const python = await loadMicroPython({ heapsize: 16 * 1024 * 1024, stdout: (line) => console.log(line) });
python.FS.writeFile("/sefr.py", fs.readFileSync(module, "utf8"));
python.runPython("import sys\nsys.path.append('/')\n" + fs.readFileSync(script, "utf8"));
