// npm run docs [-- --check]: writes docs/configuration.md from the settings' schema and docs/errors.md from the error codes;
// with `--check` writes nothing and ends with 1 when a page is not what would be written.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { renderConfiguration } from "./docs/configuration.ts";
import { renderErrors } from "./docs/errors.ts";

const FOLDER = resolve(import.meta.dirname, "../docs");
const PAGES = { "configuration.md": renderConfiguration(), "errors.md": renderErrors() };

for (const [name, text] of Object.entries(PAGES)) {
  const path = resolve(FOLDER, name);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    console.error(`docs/${name} is not what \`npm run docs\` writes`);
    process.exitCode = 1;
  }
}
