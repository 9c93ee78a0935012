import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, type Finding, placeOf } from "./documents.ts";
import { moduleOf } from "./models.ts";
import { run } from "./run.ts";

/**
 * Second pass: each document as a constant of its type. The compiler finds fields that there are not, which the schemas let
 * pass, and Kubernetes drops without a word.
 */

const TSC_TIMEOUT_MS = 120_000;
const FINDINGS_MAX = 50;

/** The text of a module of constants, a document each; and the document of each line. */
export function renderTyped(documents: readonly Document[]): {
  text: string;
  owner: (line: number) => string;
} {
  const lines: string[] = [];
  const starts: [line: number, where: string][] = [];
  documents.forEach((document, i) => {
    const module = moduleOf(document);
    // A finding of the first pass.
    if (module === null) return;
    starts.push([lines.length + 1, placeOf(document)]);
    lines.push(`import type { I${document.kind} as T${i} } from "${module}";`);
    lines.push(...`export const d${i}: T${i} = ${JSON.stringify(document, null, 1)};`.split("\n"));
  });
  const owner = (line: number) => starts.findLast(([start]) => start <= line)?.[1] ?? "typed";
  return { text: lines.join("\n"), owner };
}

/** What the compiler said, by document. */
export function readCompiler(output: string, owner: (line: number) => string): Finding[] {
  return output
    .split("\n")
    .flatMap((line) => {
      const match = /documents\.ts[(:](\d+)[,:]\d+\)?(?::| -) error (?:TS\d+): (.*)$/.exec(line);
      return match === null ? [] : [{ where: owner(Number(match[1])), text: match[2] ?? "" }];
    })
    .slice(0, FINDINGS_MAX);
}

/**
 * @param root of the project: the types are found in its node_modules
 * @param folder below it, made and removed
 * @throws Error when the compiler says something that is about no document
 */
export async function checkTypes(
  documents: readonly Document[],
  root: string,
  folder: string,
): Promise<Finding[]> {
  const distinct = [...new Map(documents.map((one) => [JSON.stringify(one), one])).values()];
  const { text, owner } = renderTyped(distinct);
  const compilerOptions = {
    ...{ target: "es2023", lib: ["es2023", "dom"], module: "nodenext", moduleResolution: "nodenext" },
    ...{ types: [], strict: true, noEmit: true, skipLibCheck: true },
  };
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(join(folder, "documents.ts"), text);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["documents.ts"] }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const args = [tsc, "-p", folder, "--pretty", "false"];
    const { code, output } = await run(process.execPath, args, { cwd: root, timeoutMs: TSC_TIMEOUT_MS });
    const found = readCompiler(output, owner);
    if (code !== 0 && found.length === 0)
      throw new Error(`tsc ended with ${code}: ${output.slice(0, 2_000)}`);
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
