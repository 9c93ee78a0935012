import { spawnSync } from "node:child_process";
import { PAGES_ELSEWHERE } from "../docs-site/pages.ts";
import { keptBuild, ROOT } from "./kept-build.ts";

/** The documents as pages, built by Eleventy. */
export const docsBuild = keptBuild({
  name: "docs",
  sources: ["docs", "scripts/docs-site", "portal/src/styles/tokens.css", ...Object.values(PAGES_ELSEWHERE)],
  make(folder) {
    const args = ["--import", "tsx", "scripts/docs-site/eleventy.ts", folder];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`eleventy: ${stdout}${stderr}`);
  },
});
