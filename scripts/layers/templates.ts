/**
 * A template literal of a source, from behind its first backtick. Code in it is blanked except for its `$`; templates
 * within that code are part of it.
 */
export interface Template {
  start: number;
  text: string;
}

/** Strings, comments and regular expressions, as in `scan.ts`: what stands in them is neither a brace nor a backtick. */
const SKIPPED = new RegExp(
  [
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[\s\S]*?\*\/`,
    String.raw`(?<=[(=,:[!&|?{};]\s*|\breturn\s)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/`,
  ].join("|"),
  "y",
);

/** All outermost templates of a source. */
export function templatesOf(source: string): Template[] {
  const kept = [...source.replaceAll(/[^\n]/g, " ")];
  const found: Template[] = [];

  /** Reads code up to its closing brace. @returns the index of that brace, or the end of the text */
  function readCode(from: number, isInner: boolean): number {
    let depth = 0;
    for (let i = from; i < source.length; i++) {
      SKIPPED.lastIndex = i;
      if (SKIPPED.test(source)) i = SKIPPED.lastIndex - 1;
      else if (source[i] === "`") {
        const end = readTemplate(i + 1);
        if (!isInner) found.push({ start: i + 1, text: kept.slice(i + 1, end).join("") });
        i = end;
      } else if (source[i] === "{") depth++;
      else if (source[i] === "}" && depth-- === 0 && isInner) return i;
    }
    return source.length;
  }

  /** Reads a template from behind its first backtick. @returns the index of its last backtick, or the end of the text */
  function readTemplate(from: number): number {
    for (let i = from; i < source.length; i++) {
      const char = source[i] ?? "";
      if (char === "`") return i;
      if (char === "\\") i++;
      else kept[i] = char;
      if (char === "$" && source[i + 1] === "{") i = readCode(i + 2, true);
    }
    return source.length;
  }

  readCode(0, false);
  return found;
}
