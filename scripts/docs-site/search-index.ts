import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import MiniSearch from "minisearch";

/** The index is made and searched by the same: they lie beside it. */
const OPTIONS = {
  fields: ["title", "text"],
  storeFields: ["title", "page"],
  searchOptions: { boost: { title: 3 }, prefix: true, fuzzy: 0.15, combineWith: "AND" as const },
};

/** Tags are left out, and what they stand for is said as text. */
function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** A heading and what stands below it. */
interface Entry {
  id: string;
  page: string;
  title: string;
  text: string;
}

function entriesOf(html: string): Entry[] {
  const main = /<main[^>]*>(.*)<\/main>/s.exec(html)?.[1] ?? "";
  const address = /<html[^>]* data-address="([^"]*)"/.exec(html)?.[1] ?? "";
  const page = textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(main)?.[1] ?? "");
  return main.split(/(?=<h[1-3] )/).flatMap((part) => {
    const [, level, id, title = ""] = /^<h([1-3]) id="([^"]*)"[^>]*>(.*?)<\/h\1>/s.exec(part) ?? [];
    if (id === undefined) return [];
    const own = level === "1" ? address : `${address}#${id}`;
    return [{ id: own, page, title: textOf(title), text: textOf(part.replace(/^<h([1-3]).*?<\/h\1>/s, "")) }];
  });
}

/** The index that search.js searches, as JSON: every heading of the site that is in `folder`. */
export function searchIndexOf(folder: string): string {
  const index = new MiniSearch<Entry>(OPTIONS);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith(".html"))
      index.addAll(entriesOf(readFileSync(join(entry.parentPath, entry.name), "utf8")));
  return JSON.stringify({ options: OPTIONS, index });
}
