import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files that say which version this is. */
export const VERSION_FILES = [
  "package.json",
  "package-lock.json",
  "packages/client/package.json",
  "portal/package.json",
  "k8s/chart/Chart.yaml",
  "k8s/chart/presets/production.yaml",
  "k8s/overlays/production/kustomization.yaml",
  "compose.yaml",
  ".env.example",
  "Dockerfile",
  "docs/image.md",
] as const;

/** Matches `version` in a file: not within a longer one, and not a package's version. */
function placesOf(path: string, version: string): RegExp {
  const escaped = version.replaceAll(".", "\\.");
  // In the lockfile: the project's own four entries, not a package that happens to have the same.
  if (path === "package-lock.json")
    return new RegExp(
      `(?<=^  "version": "|"name": "(?:rcpt|@rcpt/client|@rcpt/portal)",\\s*"version": ")${escaped}(?=")`,
      "gm",
    );
  return new RegExp(`(?<![\\w.])${escaped}(?![\\w.])`, "g");
}

/** Number of times that `path` has `version`. */
export function countVersion(root: string, path: string, version: string): number {
  return readFileSync(join(root, path), "utf8").match(placesOf(path, version))?.length ?? 0;
}

/**
 * Replaces `current` by `next` in all files that have it.
 * @throws Error when a file does not have it
 */
export function writeVersion(root: string, current: string, next: string): void {
  for (const path of VERSION_FILES)
    if (countVersion(root, path, current) === 0) throw new Error(`${path} does not say ${current}`);
  for (const path of VERSION_FILES) {
    const text = readFileSync(join(root, path), "utf8");
    writeFileSync(join(root, path), text.replaceAll(placesOf(path, current), next));
  }
}
