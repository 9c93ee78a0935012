import GithubSlugger from "github-slugger";
import MarkdownIt from "markdown-it";
import anchor from "markdown-it-anchor";

export type Markdown = InstanceType<typeof MarkdownIt>;

type Token = ReturnType<Markdown["parse"]>[number];

/** What a page is rendered with. */
export interface Environment {
  /** Its file, from the root of the project. */
  source: string;
}

const isElsewhere = (link: string) => /^[a-z]+:/.test(link);

/** The alignment of a table's column is a class: a style within the page would be refused. */
function moveStyle(token: Token): void {
  const style = token.attrGet("style");
  if (style === null) return;
  token.attrs = token.attrs?.filter(([name]) => name !== "style") ?? null;
  token.attrJoin("class", String(style).replace("text-align:", "align-"));
}

/** Links lead to pages of the site and to other hosts. The name of a file that the site does not have is text. */
function resolveLinks(tokens: readonly Token[], urlOf: (link: string) => string | null): void {
  let isText = false;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const link = String(token.attrGet("href"));
      const [path = "", id] = link.split("#");
      const url = path === "" || isElsewhere(link) ? link : urlOf(path);
      isText = url === null;
      if (url === null) token.attrs = null;
      else token.attrSet("href", url === link || id === undefined ? url : `${url}#${id}`);
    }
    if (token.type === "image")
      token.attrSet("src", `/docs/assets/${String(token.attrGet("src")).split("/").at(-1)}`);
    // Links do not lie within each other.
    if (isText && token.type.startsWith("link_")) token.tag = "span";
  }
}

/**
 * Markdown as repositories show it: tables, and headings with the same ids. No HTML within, and nothing inline that the
 * policy of the pages would refuse.
 * @param urlOf the address in the site of what a page links to; null: it is no page of the site
 */
export function createMarkdown(urlOf: (source: string, link: string) => string | null): Markdown {
  const markdown = new MarkdownIt({ html: false });
  // Ids are unique in a page, and begin anew with the next.
  let slugger = new GithubSlugger();
  let slugged: unknown = null;
  markdown.use(anchor, {
    slugifyWithState: (title: string, state: { env: unknown }) => {
      if (state.env !== slugged) slugger = new GithubSlugger();
      slugged = state.env;
      return slugger.slug(title);
    },
  });
  markdown.core.ruler.push("addresses", ({ tokens, env }) => {
    const { source } = env as unknown as Environment;
    for (const token of tokens) {
      moveStyle(token);
      // Wide ones scroll, also by keys.
      if (token.type === "table_open") token.attrSet("tabindex", "0");
      resolveLinks(token.children ?? [], (link) => urlOf(source, link));
    }
  });
  return markdown;
}
