import { basename, join } from "node:path";

/**
 * Where `npm run build` puts what is read at run time: `dist/` of the project, or the folder that this module itself
 * was built into (see scripts/image/bundle.ts: what is shared lies in its `src/chunks`).
 */
export function builtFolder(name: string): string {
  const here = import.meta.dirname;
  const isBuilt = basename(here) === "chunks";
  return isBuilt ? join(here, "../..", name) : join(here, "../../dist", name);
}
