// node --import tsx scripts/portal/types.ts: writes portal/src/api/schema.d.ts, the types of the API, from its own description.
// A change of the API that the portal does not follow fails its type check.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { createOpenApiDocument } from "../../src/api/openapi/openapi.ts";
import { describedRoutes } from "./described-routes.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PORTAL = join(ROOT, "portal");
const OUT = join(PORTAL, "src/api/schema.d.ts");

/** What is there already, where it was made from the same description: to make it anew takes seconds. */
function isMadeFrom(firstLine: string): boolean {
  try {
    return readFileSync(OUT, "utf8").startsWith(firstLine);
  } catch {
    return false;
  }
}

/** @throws Error with what the generator said */
export function writePortalTypes(): void {
  const document = JSON.stringify(createOpenApiDocument(describedRoutes(null), null));
  const firstLine = `// Made from the OpenAPI document ${createHash("sha256").update(document).digest("hex")}.\n`;
  if (isMadeFrom(firstLine)) return;
  const folder = mkdtempSync(join(PORTAL, ".types-"));
  try {
    const [source, types] = [join(folder, "openapi.json"), join(folder, "schema.d.ts")];
    writeFileSync(source, document);
    const packages = createRequire(join(PORTAL, "package.json"));
    const cli = join(dirname(packages.resolve("openapi-typescript/package.json")), "bin/cli.js");
    const { status, stderr } = spawnSync(process.execPath, [cli, source, "-o", types], { encoding: "utf8" });
    if (status !== 0) throw new Error(`openapi-typescript: ${stderr}`);
    writeFileSync(OUT, firstLine + readFileSync(types, "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.filename === process.argv[1]) writePortalTypes();
