// What Eleventy makes of docs/ (see eleventy.ts): which pages there are, at which addresses, and what they are made with.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createMarkdown } from "./markdown.ts";
import { navigationOf } from "./navigation.ts";
import { addressOf, PAGES_ELSEWHERE, ROOT, shownPictures, titleOf } from "./pages.ts";

interface PageData {
  page: { inputPath: string };
  /** Of a page from elsewhere: its file, from the root of the project. */
  source?: string;
}

/** What is used of Eleventy's own. */
interface Config {
  setLibrary(engine: "md", library: { render(text: string, data: PageData): string }): void;
  addGlobalData(name: string, value: unknown): void;
  addTemplate(path: string, content: string, data: object): void;
  addPassthroughCopy(paths: Record<string, string>): void;
}

const sourceOf = ({ page, source }: PageData) =>
  source ?? relative(ROOT, resolve(ROOT, page.inputPath)).replaceAll("\\", "/");

/** The file of a page in the site: its address without `/docs`. */
const permalinkOf = (data: PageData) =>
  `${addressOf(sourceOf(data))?.slice("/docs".length) || "/index"}.html`;

export default function configure(config: Config): object {
  const markdown = createMarkdown((from, link) => addressOf(join(dirname(from), link)));
  const index = readFileSync(join(ROOT, "docs/README.md"), "utf8");
  config.setLibrary("md", { render: (text, data) => markdown.render(text, { source: sourceOf(data) }) });
  config.addGlobalData("layout", "page.njk");
  // A function that makes data is called: what it makes is one too, which is called for each page.
  config.addGlobalData("permalink", () => permalinkOf);
  config.addGlobalData("navigation", () => navigationOf(index, markdown));
  config.addGlobalData("eleventyComputed", {
    address: (data: PageData) => addressOf(sourceOf(data)),
    title: (data: PageData) => titleOf(sourceOf(data)),
  });
  for (const [name, source] of Object.entries(PAGES_ELSEWHERE))
    config.addTemplate(`docs/${name}`, readFileSync(join(ROOT, source), "utf8"), { source });
  config.addPassthroughCopy({
    "scripts/docs-site/docs.css": "assets/docs.css",
    "scripts/docs-site/search.js": "assets/search.js",
    [relative(
      ROOT,
      createRequire(import.meta.url)
        .resolve("minisearch")
        .replace("/cjs/index.cjs", "/es/index.js"),
    )]: "assets/minisearch.js",
    "node_modules/minisearch/LICENSE.txt": "assets/minisearch-license.txt",
    "portal/src/styles/tokens.css": "assets/tokens.css",
    ...Object.fromEntries(shownPictures().map((path) => [path, `assets/${basename(path)}`])),
  });
  // Pages are Markdown and nothing else: what looks like a template in them is text.
  return {
    markdownTemplateEngine: false,
    templateFormats: ["md"],
    dir: { includes: "../scripts/docs-site" },
  };
}
