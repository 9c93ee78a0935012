/** One pattern of .dockerignore: paths from the root, `**` any number of folders, `!` takes back. */
function ruleOf(line: string): { shape: RegExp; isIgnored: boolean } {
  const isIgnored = !line.startsWith("!");
  const pattern = (isIgnored ? line : line.slice(1)).replace(/^\//, "").replace(/\/$/, "");
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("**/", "\u0000")
    .replaceAll("**", "\u0001")
    .replaceAll("*", "[^/]*")
    .replaceAll("?", "[^/]")
    .replaceAll("\u0000", "(?:.*/)?")
    .replaceAll("\u0001", ".*");
  // The contents of an ignored folder are ignored with it.
  return { shape: new RegExp(`^${source}(?:/.*)?$`), isIgnored };
}

/**
 * Reads which files are excluded from the build context.
 * @param text content of .dockerignore
 * @returns whether a path, relative to the context's root with `/`, is ignored: the last matching pattern decides
 */
export function readDockerignore(text: string): (path: string) => boolean {
  const lines = text.split("\n").map((line) => line.trim());
  const rules = lines.filter((line) => line !== "" && !line.startsWith("#")).map(ruleOf);
  return (path) => rules.findLast(({ shape }) => shape.test(path))?.isIgnored ?? false;
}
