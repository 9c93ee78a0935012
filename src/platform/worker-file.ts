import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The entry file of a kind of thread in `workers/`, with the importer's own extension: `.ts` under tsx, `.js` compiled.
 * Compiled, this module is in a chunk of `dist/src/chunks`, at the same depth as here.
 */
export function workerFile(name: string): string {
  return fileURLToPath(new URL(`../../workers/${name}${extname(import.meta.url)}`, import.meta.url));
}
