import type { Markdown } from "./markdown.ts";

export interface Section {
  title: string;
  pages: { title: string; address: string }[];
}

/** The sections of the index (docs/README.md), each with the pages that its list names first: what stands beside every page. */
export function navigationOf(index: string, markdown: Markdown): Section[] {
  const sections: Section[] = [];
  const tokens = markdown.parse(index, { source: "docs/README.md" });
  for (const [i, token] of tokens.entries()) {
    const content = tokens[i + 1];
    if (token.type === "heading_open" && token.tag === "h2")
      sections.push({ title: content?.content ?? "", pages: [] });
    // item, paragraph, its content
    const text = token.type === "list_item_open" ? tokens[i + 2] : undefined;
    const link = text?.children?.find(({ type }) => type === "link_open");
    const end = text?.children?.findIndex(({ type }) => type === "link_close");
    const title = text?.children
      ?.slice(0, end)
      .map(({ content: part }) => part)
      .join("");
    const address = link?.attrGet("href");
    if (title !== undefined && address != null)
      sections.at(-1)?.pages.push({ title, address: String(address) });
  }
  return sections;
}
