import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");

/** Pages that lie elsewhere in the project than in docs/, by the names that they have in the site. */
export const PAGES_ELSEWHERE: Readonly<Record<string, string>> = {
  "architecture.md": "ARCHITECTURE.md",
  "changelog.md": "CHANGELOG.md",
  "contributing.md": "CONTRIBUTING.md",
  "security.md": "SECURITY.md",
  "client.md": "packages/client/README.md",
  "bench.md": "bench/README.md",
  "bench-results.md": "bench/RESULTS.md",
};

/**
 * The address of a page by its file, from the root of the project: `docs/decisions/dns.md` → `/docs/decisions/dns`; the
 * README of a folder has the folder's own. null: the file is no page of the site.
 */
export function addressOf(source: string): string | null {
  const elsewhere = Object.entries(PAGES_ELSEWHERE).find(([, path]) => path === source)?.[0];
  const page = elsewhere ?? (source.startsWith("docs/") ? source.slice("docs/".length) : null);
  if (page === null || !page.endsWith(".md")) return null;
  const path = page.replace(/\.md$/, "").replace(/(^|\/)README$/, "");
  return path === "" ? "/docs" : `/docs/${path}`;
}

/** Of a page: its first heading. */
export const titleOf = (source: string) =>
  /^# (.*)$/m.exec(readFileSync(join(ROOT, source), "utf8"))?.[1]?.replaceAll("`", "") ?? "";

/** Pictures that pages of docs/ show, among more that lie there; from the root of the project. */
export function shownPictures(): string[] {
  const files = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const shown = files
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => {
      const pictures = readFileSync(join(ROOT, "docs", file), "utf8").matchAll(/!\[[^\]]*\]\(([^)]+)\)/g);
      return [...pictures].map(([, path = ""]) => join("docs", dirname(file), path));
    });
  return [...new Set(shown)];
}
