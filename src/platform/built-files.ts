import { basename, join } from "node:path";

/**
 * Folder of files that `npm run build` makes and the service reads at run time: `dist/` of the project. In the image it is
 * the folder of the bundle: this module is then in its `src/chunks` (scripts/image/bundle.ts).
 */
export function builtFolder(name: string): string {
  const here = import.meta.dirname;
  const isBuilt = basename(here) === "chunks";
  return isBuilt ? join(here, "../..", name) : join(here, "../../dist", name);
}
