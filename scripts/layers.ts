// npm run layers [-- --tighten]: fails when an import, a file, a folder or a function breaks the rules of
// ARCHITECTURE.md.
//
// Three rules are still broken in some places: scripts/layers/known.json lists them. `--tighten` removes entries that
// are no longer needed and lowers counts that have shrunk; it never adds.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { checkLength, checkSources } from "./layers/check.ts";
import { checkExceptions, type Exceptions, tighten } from "./layers/exceptions.ts";
import { CODE_FOLDERS, filesIn, isCode, readTexts } from "./layers/files.ts";
import { findingsOf, RULES } from "./layers/measures.ts";
import { parseSources } from "./layers/parse.ts";

const ROOT = resolve(import.meta.dirname, "..");
const KNOWN = resolve(import.meta.dirname, "layers/known.json");

const paths = filesIn(ROOT, CODE_FOLDERS);
const sources = readTexts(ROOT, paths.filter(isCode));
const isTest = (path: string) => path.startsWith("test/");
const trees = parseSources(sources);
const found = findingsOf(
  paths.filter((path) => !isTest(path)),
  new Map([...trees].filter(([path]) => !isTest(path))),
);
let known = JSON.parse(readFileSync(KNOWN, "utf8")) as Exceptions;
if (process.argv.includes("--tighten")) {
  known = tighten(found, known);
  writeFileSync(KNOWN, `${JSON.stringify(known, null, 2)}\n`);
}
const styles = readTexts(
  ROOT,
  paths.filter((path) => path.endsWith(".css")),
);
const broken = [
  ...checkSources(trees),
  ...[...styles].flatMap(([path, text]) => checkLength(path, text)),
  ...checkExceptions(found, known),
];
for (const line of broken) console.error(line);
const exceptions = RULES.map((rule) => `${Object.keys(known[rule]).length} ${rule}`).join(", ");
console.log(
  `${sources.size} files, ${broken.length === 0 ? "all in their layers" : `${broken.length} broken rules`}; known exceptions: ${exceptions}`,
);
process.exitCode = broken.length === 0 && sources.size > 0 ? 0 : 1;
