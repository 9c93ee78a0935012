import { isCode } from "../layers/files.ts";

export interface Lines {
  files: number;
  code: number;
  /** Lines of all other files: fixtures, lists, schemas, scripts for other programs. */
  data: number;
}

function linesOf(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Lines of the files in these folders. */
export function countLines(texts: ReadonlyMap<string, string>, folders: readonly string[]): Lines {
  const sum: Lines = { files: 0, code: 0, data: 0 };
  for (const [path, text] of texts) {
    if (!folders.includes(path.slice(0, path.indexOf("/")))) continue;
    sum.files++;
    sum[isCode(path) ? "code" : "data"] += linesOf(text);
  }
  return sum;
}
