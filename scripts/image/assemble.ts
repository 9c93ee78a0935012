// node --import tsx scripts/image/assemble.ts FOLDER
//
// A step of the Dockerfile: what `npm run build` made, and of node_modules what it reads, into FOLDER, for the Node.js that
// runs this. Prints what it weighs; exit code 1 when it is too much, or when something is missing.
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
