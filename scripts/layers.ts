// npm run layers: fails when an import, a file or a function breaks the rules of the house (ARCHITECTURE.md).
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { checkSources } from "./layers/check.ts";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["src", "workers", "scripts", "bench", "test"].map((name) => join(ROOT, name));

const files = FOLDERS.filter(existsSync)
  .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.m?ts$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name));
const sources = new Map(
  files.map((file) => [relative(ROOT, file).split(sep).join("/"), readFileSync(file, "utf8")]),
);
const broken = checkSources(sources);
for (const line of broken) console.error(line);
console.log(
  `${sources.size} files, ${broken.length === 0 ? "all in their layers" : `${broken.length} broken rules`}`,
);
process.exitCode = broken.length === 0 && sources.size > 0 ? 0 : 1;
