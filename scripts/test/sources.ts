import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, relative, resolve } from "node:path";

/** Puts places of sources for those of compiled files within a text: `PATH:LINE:COLUMN`, the path relative to `root`. */
export type ToSources = (text: string) => string;

/** @param folder of the compiled files, each with its source map beside it */
export function createToSources(root: string, folder: string): ToSources {
  const maps = new Map<string, SourceMap | null>();
  const escaped = folder.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const place = new RegExp(`(?:file://)?(${escaped}[^\\s():'"]*\\.js):(\\d+)(?::(\\d+))?`, "g");

  function mapOf(file: string): SourceMap | null {
    let map = maps.get(file);
    if (map !== undefined) return map;
    const path = `${file}.map`;
    map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : null;
    maps.set(file, map);
    return map;
  }

  return (text) =>
    text.replace(place, (whole, file: string, line: string, column?: string) => {
      const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column ?? 1) - 1);
      if (entry === undefined || !("originalSource" in entry)) return whole;
      const source = relative(root, resolve(dirname(file), entry.originalSource));
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
}
