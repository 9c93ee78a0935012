/** One import of a file: `import`, `import type`, `export … from`, `import()` or `require()`. */
export interface Import {
  specifier: string;
  line: number;
  /** Erased when compiled. An `import { type A }` is not: it still loads the module. */
  typeOnly: boolean;
}

/**
 * Strings, templates, regular expressions and comments. No parser is needed: files are formatted, and imports begin at
 * the start of a line. A mistake cannot reach past the end of a line except inside a template, which is kept.
 */
const TOKENS = new RegExp(
  [
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    "`(?:\\\\[\\s\\S]|[^`\\\\])*`",
    String.raw`(?<=[(=,:[!&|?{};]\s*|\breturn\s)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/`,
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
  ].join("|"),
  "g",
);

/** The text with comments blanked and every line where it was. */
function withoutComments(text: string): string {
  return text.replace(TOKENS, (...match) => {
    const token = String(match[0]);
    const { comment } = match.at(-1) as { comment?: string };
    return comment === undefined ? token : token.replaceAll(/[^\n]/g, " ");
  });
}

const STATIC = /^(?:import|export)\s+(type\s+(?!from\b))?(?:[\w*{][^;"']*?\s*from\s*)?["']([^"'\n]+)["']/gm;
const DYNAMIC = /\b(?:import|require)\(\s*["']([^"'\n]+)["']/g;

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** All imports of a module, in the order of their lines. */
export function importsOf(text: string): Import[] {
  const code = withoutComments(text);
  const found: Import[] = [];
  for (const { 1: type, 2: specifier = "", index } of code.matchAll(STATIC))
    found.push({ specifier, line: lineAt(code, index), typeOnly: type !== undefined });
  for (const { 1: specifier = "", index } of code.matchAll(DYNAMIC))
    found.push({ specifier, line: lineAt(code, index), typeOnly: false });
  return found.sort((a, b) => a.line - b.line);
}

/** Line of the first mention of the process environment, or null. */
export function environmentLine(text: string): number | null {
  const code = withoutComments(text);
  const index = code.search(
    /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\[["']env["']\]|\benv\b[^;\n]*from "(node:)?process"/,
  );
  return index === -1 ? null : lineAt(code, index);
}
