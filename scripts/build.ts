// npm run build: what a deployment runs, in dist/ (scripts/image/bundle.ts), and the client library, in packages/client/dist.
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./image/bundle.ts";
import { buildClient } from "./image/client.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist");

rmSync(OUT, { recursive: true, force: true });
const files = await bundle(ROOT, OUT);
buildClient();
console.log(`rcpt: dist/ has ${files} files; run dist/src/main.js`);
