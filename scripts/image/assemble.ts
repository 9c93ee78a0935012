// node --import tsx scripts/image/assemble.ts FOLDER
//
// A step of the Dockerfile: copies the output of `npm run build`, and the files of node_modules that it reads, into
// FOLDER, for the Node.js that runs this. Prints the sizes; exit code 1 when they exceed the bound, or a file is
// missing.
import { resolve } from "node:path";
import { assembleTree, sizeTable } from "./tree.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node --import tsx scripts/image/assemble.ts FOLDER");
const out = resolve(folder);
const { platform, arch } = process;
assembleTree({
  root: ROOT,
  dist: resolve(ROOT, "dist"),
  out,
  target: { platform, arch, abi: process.versions.modules },
});
console.log(sizeTable(out).join("\n"));
