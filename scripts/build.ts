// npm run build: what a deployment runs, in dist/ (scripts/image/bundle.ts), with the licences of all that is in it, and the client
// library, in packages/client/dist.
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./image/bundle.ts";
import { buildClient } from "./image/client.ts";
import { renderLicenses } from "./image/licenses.ts";
import { readLock } from "./image/packages.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist");

rmSync(OUT, { recursive: true, force: true });
const files = await bundle(ROOT, OUT);
writeFileSync(join(OUT, "LICENSES.txt"), renderLicenses(ROOT, readLock(ROOT)));
buildClient();
console.log(`rcpt: dist/ has ${files} files; run dist/src/main.js`);
