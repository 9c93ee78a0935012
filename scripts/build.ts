// npm run build: what a deployment runs, in dist/. See scripts/image/bundle.ts.
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./image/bundle.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist");

rmSync(OUT, { recursive: true, force: true });
const files = await bundle(ROOT, OUT);
console.log(`rcpt: dist/ has ${files} files; run dist/src/main.js`);
