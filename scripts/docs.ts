// npm run docs [-- --check]: writes docs/configuration.md from the settings' schema; with `--check` writes nothing and ends
// with 1 when the page is not what would be written.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { renderConfiguration } from "./docs/configuration.ts";

const PAGE = resolve(import.meta.dirname, "../docs/configuration.md");

const text = renderConfiguration();
if (!process.argv.includes("--check")) writeFileSync(PAGE, text);
else if (readFileSync(PAGE, "utf8") !== text) {
  console.error("docs/configuration.md is not what `npm run docs` writes");
  process.exitCode = 1;
}
