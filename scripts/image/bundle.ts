import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { BUILT_LISTS, packLists } from "../../src/verification/lists/built.ts";
import { compileLists } from "../../src/verification/lists/lists.ts";
import { docsBuild } from "../build/docs.ts";
import { portalBuild } from "../build/portal.ts";

/**
 * Folder of chunks that several entries share: as deep as `src/platform`, whose modules look for files beside the tree.
 */
const CHUNKS = "src/chunks";
/** File of the lists, made by the build: the packages that it is made from are not in the image. */
export const LISTS_FILE = `${CHUNKS}/${BUILT_LISTS}`;
/** Files that modules read from beside themselves at run time. */
const ASSETS = ["src/egress/shaping.json"];
/** Packages left out of the bundle: they have machine code, or start threads from their own files. */
const EXTERNAL = ["uWebSockets.js", "@node-rs/argon2", "piscina", "pino"];
/** Packages that esbuild does not see, because they are loaded by name when needed: a page's files, the proxies' client. */
const READ_LATE = ["swagger-ui-dist", "socks"];
/** The packages that the built program loads from node_modules, each with its own dependencies. */
export const FROM_NODE_MODULES: readonly string[] = [...EXTERNAL, ...READ_LATE];
/** Defines `require` in the bundle: bundled CommonJS modules load Node's own modules with it. */
export const REQUIRE = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
].join(" ");

/**
 * Compiles `src/main.ts` and the threads of `workers/` into `folder`, as `src/main.js` and `workers/*.js`, with the
 * packages that they use. The result is some dozens of files instead of two thousand, since finding and reading those
 * is more than half of a start (the modules of the API: 0.60 s of CPU from single files, 0.25 s from chunks). Names are
 * not minified, so that stack traces are readable. The portal of this tree is copied beside them, into `portal/`. So
 * are the lists of domains and roles, as tables (`BUILT_LISTS`), as of the packages at the time of the build.
 *
 * `folder` must be within the project, or beside a package.json of `"type": "module"` and a node_modules that has
 * `FROM_NODE_MODULES`: nothing else is read from there.
 * @returns number of files written
 * @throws Error of esbuild, which has printed the details
 */
export async function bundle(root: string, folder: string): Promise<number> {
  const threads = readdirSync(join(root, "workers")).filter((name) => name.endsWith(".ts"));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      "src/main.ts",
      "src/cli/main.ts",
      "src/app/verifier.ts",
      ...threads.map((name) => `workers/${name}`),
    ],
    outbase: ".",
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    chunkNames: `${CHUNKS}/[name]-[hash]`,
    external: EXTERNAL,
    banner: { js: REQUIRE },
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    logLevel: "warning",
  });
  for (const asset of ASSETS)
    copyFileSync(join(root, asset), join(folder, CHUNKS, asset.slice(asset.lastIndexOf("/") + 1)));
  writeFileSync(join(folder, LISTS_FILE), packLists(compileLists()));
  portalBuild.provide(join(folder, "portal"));
  docsBuild.provide(join(folder, "docs"));
  return Object.keys(metafile.outputs).length + ASSETS.length + 1;
}
