import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { writeApiTypes } from "./api-types.ts";
import { keptBuild, ROOT } from "./kept-build.ts";

/** The portal, built by Vite. */
export const portalBuild = keptBuild({
  name: "portal",
  sources: ["portal"],
  isIgnored: (path) => /\bportal[\\/](node_modules|\.types-)/.test(path) || path.endsWith("schema.d.ts"),
  make(folder) {
    writeApiTypes();
    const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");
    const args = [
      vite,
      "build",
      join(ROOT, "portal"),
      "--outDir",
      folder,
      "--emptyOutDir",
      "--logLevel",
      "warn",
    ];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`vite: ${stderr}`);
  },
});
