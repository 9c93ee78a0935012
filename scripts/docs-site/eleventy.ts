// node --import tsx scripts/docs-site/eleventy.ts FOLDER: the pages of docs/ as a site with a search, into FOLDER.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Eleventy from "@11ty/eleventy";
import { ROOT } from "./pages.ts";
import { searchIndexOf } from "./search-index.ts";

const [folder = ""] = process.argv.slice(2);
process.chdir(ROOT);
const site = new Eleventy("docs", folder, { configPath: "scripts/docs-site/config.ts", quietMode: true });
await site.write();
writeFileSync(join(folder, "assets/search.json"), searchIndexOf(folder));
