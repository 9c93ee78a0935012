// npm run docs [-- --check]: writes docs/configuration.md from the settings' schema, docs/errors.md from the error
// codes, and the settings in the schema of the Helm chart's values. With `--check` it writes nothing, and exits with 1
// when a file differs from what it would write.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { renderChartSchema } from "./docs/chart-settings.ts";
import { renderConfiguration } from "./docs/configuration.ts";
import { renderErrors } from "./docs/errors.ts";

const ROOT = resolve(import.meta.dirname, "..");
const SCHEMA = "k8s/chart/values.schema.json";
const PAGES = {
  "docs/configuration.md": renderConfiguration(),
  "docs/errors.md": renderErrors(),
  [SCHEMA]: renderChartSchema(readFileSync(resolve(ROOT, SCHEMA), "utf8")),
};

for (const [name, text] of Object.entries(PAGES)) {
  const path = resolve(ROOT, name);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    console.error(`${name} is not what \`npm run docs\` writes`);
    process.exitCode = 1;
  }
}
