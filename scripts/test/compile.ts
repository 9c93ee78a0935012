import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin, transform } from "esbuild";
import { BUILT_LISTS, packLists } from "../../src/verification/lists/built.ts";
import { compileLists } from "../../src/verification/lists/lists.ts";
import { FROM_NODE_MODULES, REQUIRE } from "../image/bundle.ts";

/** Modules that match need compiled files beside them: a thread's file with their own extension, or the packed lists. */
const ASKS_BESIDE = /extname\(import\.meta\.url\)|BUILT_LISTS, import\.meta\.url/;
/** Folder of the module that reads the packed lists. */
const LISTS_FOLDER = "src/verification/lists";
/** Files of threads, which are started by their names. */
const THREADS = "workers";
/** What a test file's process tells of its tests with. */
const REPORTER = "scripts/test/reporter.ts";
/** Runs several test files in one process. */
const TOGETHER = "scripts/test/together.ts";

/** The test files of a run as JavaScript, with source maps beside them. */
export interface CompiledTests {
  folder: string;
  /** The compiled form of a test file. */
  fileOf(source: string): string;
  /** URL of the compiled reporter of a test file's process. */
  reporter: string;
  /** Path of the compiled program that runs several test files in its process. */
  together: string;
}

/**
 * Writes each module's own place into it: modules find files beside their sources, whatever chunk they are bundled
 * into.
 */
function placesWrittenIn(root: string, folder: string): Plugin {
  return {
    name: "places",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = readFileSync(path, "utf8");
        if (path.includes("/node_modules/") || !text.includes("import.meta")) return undefined;
        const compiled = join(folder, relative(root, path)).replace(/ts$/, "js");
        const place = pathToFileURL(ASKS_BESIDE.test(text) ? compiled : path).href;
        const { code } = await transform(text, {
          loader: "ts",
          target: "esnext",
          sourcemap: "inline",
          sourcefile: path,
          define: {
            "import.meta.url": JSON.stringify(place),
            "import.meta.dirname": JSON.stringify(dirname(path)),
          },
        });
        return { contents: code, loader: "js" };
      });
    },
  };
}

/** Packages that are not bundled: those that the service cannot bundle, and those that only tests and scripts use. */
function packagesLeftOut(root: string): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return [...FROM_NODE_MODULES, ...Object.keys(devDependencies)];
}

/**
 * Compiles test files into `folder`, all at once, with their imports and the threads that they start. A process with
 * one of them then needs 0.1 s of CPU before its first test instead of 0.4 to 2, because tsx has no work in it.
 *
 * @param folder within the project, where packages are found
 * @throws Error of esbuild, which has printed the fault and the file
 */
export async function compileTests(root: string, folder: string, files: string[]): Promise<CompiledTests> {
  const threads = readdirSync(join(root, THREADS)).map((name) => join(root, THREADS, name));
  const fileOf = (source: string) => join(folder, relative(root, source)).replace(/ts$/, "js");
  const [reporter, together] = [join(root, REPORTER), join(root, TOGETHER)];
  await build({
    absWorkingDir: root,
    entryPoints: [...files, ...threads, reporter, together],
    outbase: root,
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    chunkNames: "chunks/[name]-[hash]",
    external: packagesLeftOut(root),
    banner: { js: REQUIRE },
    // As in tsx: functions and classes keep the names that tests see.
    keepNames: true,
    sourcemap: "linked",
    sourcesContent: false,
    logLevel: "warning",
    plugins: [placesWrittenIn(root, folder)],
  });
  const lists = join(folder, LISTS_FOLDER);
  mkdirSync(lists, { recursive: true });
  writeFileSync(join(lists, BUILT_LISTS), packLists(compileLists()));
  return { folder, fileOf, reporter: pathToFileURL(fileOf(reporter)).href, together: fileOf(together) };
}
