import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, it } from "node:test";

const ROOT = resolve(import.meta.dirname, "../../..");
/** Built, installed or downloaded files: not our texts. */
const SKIPPED = new Set(["node_modules", "dist", ".git", ".rcpt"]);

function pagesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pagesBelow(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

const pages = pagesBelow(".");

/** The text without what is quoted as code. */
const proseOf = (text: string) => text.replace(/^```.*?^```/gms, "").replace(/`[^`\n]*`/g, "");

/** Ids of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replace(/^```.*?^```/gms, "").matchAll(/^#+ (.*)$/gm)) {
    const id = heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    const times = seen.get(id) ?? 0;
    seen.set(id, times + 1);
    anchors.add(times === 0 ? id : `${id}-${times}`);
  }
  return anchors;
}

/** Why a link of a page leads nowhere; null: it leads somewhere. */
function objection(page: string, link: string): string | null {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
  if (!existsSync(target)) return `${page}: ${link} is not there`;
  if (anchor === undefined || !target.endsWith(".md")) return null;
  return anchorsOf(readFileSync(target, "utf8")).has(anchor) ? null : `${page}: ${link} has no such heading`;
}

/** A path of the project: a file anywhere in the text, or a name in backticks; not a pattern. */
const PATHS = [
  /(?<![\w/.@-])((?:src|test|scripts|workers|docs|bench|k8s)\/[\w./@-]+\.(?:ts|mjs|md|json|yaml|tsv|txt))(?![\w*])/g,
  /`((?:src|test|scripts|workers|docs|bench|k8s)\/[\w./@-]*|(?:README|ARCHITECTURE|CHANGELOG)\.md)(?:#[\w-]+)?`/g,
];

describe("documents", () => {
  it("are found", () => {
    assert.ok(pages.length > 20);
    for (const page of ["README.md", "ARCHITECTURE.md", "docs/api.md", "docs/decisions/README.md"])
      assert.ok(pages.includes(page), page);
  });

  it("have every page of docs/ in their index", () => {
    const index = readFileSync(join(ROOT, "docs/README.md"), "utf8");
    const own = readdirSync(join(ROOT, "docs")).filter(
      (name) => name.endsWith(".md") && name !== "README.md",
    );
    assert.deepEqual(
      own.filter((name) => !index.includes(`](${name})`)),
      [],
    );
  });

  it("link to what is there, headings included", () => {
    const broken = pages.flatMap((page) => {
      const links = [...proseOf(readFileSync(join(ROOT, page), "utf8")).matchAll(/\]\(([^)\s]+)\)/g)];
      const relative = links.map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
      return relative.flatMap((link) => objection(page, link) ?? []);
    });
    assert.deepEqual(broken, []);
  });

  it("name files and folders that are there", () => {
    // The changelog names former files; the fixtures name files of other projects.
    const present = pages.filter((page) => page !== "CHANGELOG.md" && !page.startsWith("test/fixtures/"));
    const broken = present.flatMap((page) => {
      const text = readFileSync(join(ROOT, page), "utf8");
      const paths = PATHS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, path = ""]) => path));
      return [...new Set(paths)].filter((path) => !isThere(path)).map((path) => `${page}: ${path}`);
    });
    assert.deepEqual(broken, []);
  });

  it("have a page of decisions for each line of their index, and the other way round", () => {
    const folder = join(ROOT, "docs/decisions");
    const index = readFileSync(join(folder, "README.md"), "utf8");
    const listed = [...index.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => name);
    const there = readdirSync(folder).filter((name) => name !== "README.md");
    assert.deepEqual(listed.sort(), there.sort());
  });

  it("keep the two first pages short", () => {
    for (const page of ["README.md", "ARCHITECTURE.md"])
      assert.ok(readFileSync(join(ROOT, page), "utf8").trimEnd().split("\n").length <= 150, page);
  });
});

/** Also a module that is named without its ending. */
function isThere(path: string): boolean {
  const target = join(ROOT, path);
  if (existsSync(target)) return path.endsWith("/") ? statSync(target).isDirectory() : true;
  return existsSync(`${target}.ts`) || existsSync(`${target}.test.ts`);
}
