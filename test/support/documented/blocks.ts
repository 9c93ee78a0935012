import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import MarkdownIt from "markdown-it";

const ROOT = resolve(import.meta.dirname, "../../..");

/** A block of code of a document. */
export interface DocumentedBlock {
  /** From the root of the project. */
  page: string;
  /** Of its fence, from 1. */
  line: number;
  /** What its fence says; "" where it says nothing, or there is none. */
  language: string;
  /** Without the indentation of the list that it may stand in. */
  text: string;
}

/** Pages for people who use, run or change rcpt. Decisions and the changelog tell of what was. */
export function documentedPages(): string[] {
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", "CONTRIBUTING.md", ...pages.sort().map((name) => `docs/${name}`)];
}

export const textOfPage = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** @param text of the page */
export function codeBlocksOf(page: string, text = textOfPage(page)): DocumentedBlock[] {
  return new MarkdownIt()
    .parse(text, {})
    .filter(({ type }) => type === "fence" || type === "code_block")
    .map(({ info, content, map }) => ({
      page,
      line: (map?.[0] ?? 0) + 1,
      language: info.trim(),
      text: content,
    }));
}

/** Commands within a line of prose or a table, such as `npm run load`. */
export function inlineCodeOf(text: string): string[] {
  return [...text.replace(/^ *```.*?^ *```/gms, "").matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
}
