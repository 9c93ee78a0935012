// node --import tsx scripts/build/api-types.ts: writes the types of the API from its own description, for the portal and for the client
// library. A change of the API that one of them does not follow fails its type check.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { createOpenApiDocument } from "../../src/api/openapi/openapi.ts";
import { describedRoutes } from "./described-routes.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PORTAL = join(ROOT, "portal");
/** Files that hold the types; their content is the same. */
export const TYPES_OF_API = [
  join(PORTAL, "src/api/schema.d.ts"),
  join(ROOT, "packages/client/src/schema.d.ts"),
] as const;

/** A field of a request that has a default may be left out. */
const OPTIONS = ["--default-non-nullable=false"];

/** Whether the file was generated from the same description: generating it takes seconds. */
function isMadeFrom(firstLine: string, path: string): boolean {
  try {
    return readFileSync(path, "utf8").startsWith(firstLine);
  } catch {
    return false;
  }
}

/** First line of the types generated from this document. */
export function typesHead(document: string): string {
  return `// Made from the OpenAPI document ${createHash("sha256")
    .update(document + OPTIONS.join(" "))
    .digest("hex")}.\n`;
}

/** @throws Error with the generator's message */
export function writeApiTypes(): void {
  const document = JSON.stringify(createOpenApiDocument(describedRoutes(null), null));
  const firstLine = typesHead(document);
  const old = TYPES_OF_API.filter((path) => !isMadeFrom(firstLine, path));
  const made = TYPES_OF_API.find((path) => !old.includes(path));
  if (made !== undefined) for (const path of old) copyFileSync(made, path);
  if (made !== undefined) return;
  const folder = mkdtempSync(join(PORTAL, ".types-"));
  try {
    const [source, types] = [join(folder, "openapi.json"), join(folder, "schema.d.ts")];
    writeFileSync(source, document);
    const packages = createRequire(join(PORTAL, "package.json"));
    const cli = join(dirname(packages.resolve("openapi-typescript/package.json")), "bin/cli.js");
    const { status, stderr } = spawnSync(process.execPath, [cli, source, "-o", types, ...OPTIONS], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`openapi-typescript: ${stderr}`);
    for (const path of old) writeFileSync(path, firstLine + readFileSync(types, "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.filename === process.argv[1]) writeApiTypes();
