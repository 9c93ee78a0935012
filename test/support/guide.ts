import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/**
 * Examples of a guide: ```sh blocks of one curl command each, with comments that state the answer.
 *
 * `# -> 200 {"id": "$JOB"}`: the status, and members that the JSON has. A text that consists of `$NAME` alone sets that
 * variable for the commands that follow; if it is set already, the value must be equal.
 * `# -> text`: the answer contains it, whatever the case; with `-i`, the answer includes the header.
 */
export interface Example {
  command: string;
  status: number;
  /** undefined: the example does not state it. */
  json: unknown;
  texts: string[];
}

export type Variables = Record<string, string>;

const EXPECTED = /^# -> (\d{3})(?: (\{.*\}))?$/;

/** Of the block that says which variables the examples read: the caller gives them. */
const isVariable = (line: string) => /^export [A-Z_]+=/.test(line);

export function examplesOf(page: string): Example[] {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) =>
    block.trimEnd().split("\n"),
  );
  return blocks
    .filter((lines) => !lines.every(isVariable))
    .map((lines) => {
      const block = lines.join("\n");
      const expected = lines.filter((line) => line.startsWith("# -> "));
      const [, status, json] = EXPECTED.exec(expected[0] ?? "") ?? assert.fail(`says no status:\n${block}`);
      return {
        command: lines.filter((line) => !line.startsWith("#")).join("\n"),
        status: Number(status),
        json: json === undefined ? undefined : JSON.parse(json),
        texts: expected.slice(1).map((line) => line.slice("# -> ".length)),
      };
    });
}

/** The texts of the blocks in another language, at least one. */
export function blocksOf(page: string, language: string): [string, ...string[]] {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))];
  const [first, ...more] = blocks.map(([, text]) => text ?? "");
  return [first ?? assert.fail(language), ...more];
}

interface Answered {
  status: number;
  /** Body, preceded by the header where the command asks for it (`-i`). */
  output: string;
}

export const HAS_CURL = spawnSync("curl", ["--version"]).error === undefined;
const STATUS_MARK = "\n-- status: ";

/** As a reader would run it, in a shell. */
async function runInShell(command: string, cwd: string, variables: Variables): Promise<Answered> {
  const marked = `${command} -w '${STATUS_MARK}%{http_code}'`;
  const child = spawn("sh", ["-euc", marked], {
    cwd,
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const at = out.lastIndexOf(STATUS_MARK);
  assert.ok(at >= 0, `${command}\n${out}\n${err}`);
  return { status: Number(out.slice(at + STATUS_MARK.length)), output: out.slice(0, at) };
}

/** The words of a command, quoted and with variables as the guide writes them. */
export function wordsOf(command: string, variables: Variables): string[] {
  const filled = (part: string) =>
    part.replace(/\$([A-Z_]+)/g, (_, name: string) => variables[name] ?? assert.fail(name));
  const unescaped = (part: string) => part.replace(/\\(["\\$])/g, "$1");
  const joined = command.replaceAll("\\\n", " ");
  return [...joined.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|(\S+)/g)].map(
    ([, single, double, bare]) =>
      single ?? (double === undefined ? filled(bare ?? "") : unescaped(filled(double))),
  );
}

/** What `curl` with these words does, by the few options that the documents use, for a machine that has none. */
export async function fetchAsCurl(words: readonly string[], cwd: string): Promise<Answered> {
  const headers = new Headers();
  let [method, body, url, isShown]: [string, string | Buffer | null, string, boolean] = [
    "GET",
    null,
    "",
    false,
  ];
  let file: string | null = null;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const next = () => words[++at] ?? assert.fail(words.join(" "));
    if (word === "-H") headers.append(...(next().split(/: (.*)/s, 2) as [string, string]));
    else if (word === "-X") method = next();
    else if (word === "-o") file = next();
    else if (word === "-d") [method, body] = ["POST", next()];
    else if (word === "--data-binary") [method, body] = ["POST", await readFile(join(cwd, next().slice(1)))];
    else if (/^-s?T$/.test(word)) [method, body] = ["PUT", await readFile(join(cwd, next()))];
    else if (/^-s?[iN]?$/.test(word)) isShown ||= word.includes("i");
    else url = word;
  }
  const response = await fetch(url, { method, headers, body: body as string | null });
  const head = isShown
    ? `${[...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n")}\n\n`
    : "";
  const answered = await response.text();
  if (file !== null) await writeFile(join(cwd, file), answered);
  return { status: response.status, output: file === null ? head + answered : "" };
}

/** The same without curl. */
export async function runByFetch(command: string, cwd: string, variables: Variables): Promise<Answered> {
  const [program, ...words] = wordsOf(command, variables);
  assert.equal(program, "curl");
  return fetchAsCurl(words, cwd);
}

/** Members that are expected, at any depth; more may be there. Names what `$NAME` stands for. */
function holds(actual: unknown, expected: unknown, variables: Variables, path: string): void {
  if (typeof expected === "string" && /^\$[A-Z_]+$/.test(expected)) {
    assert.equal(typeof actual, "string", path);
    const name = expected.slice(1);
    variables[name] ??= actual as string;
    assert.equal(actual, variables[name], path);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof actual === "object" && actual !== null, `${path}: ${JSON.stringify(actual)}`);
    for (const [name, value] of Object.entries(expected))
      holds((actual as Record<string, unknown>)[name], value, variables, `${path}.${name}`);
  } else assert.equal(actual, expected, path);
}

/** Runs an example and asserts that the answer is as its comments state. */
export async function runExample(
  example: Example,
  cwd: string,
  variables: Variables,
  run = HAS_CURL ? runInShell : runByFetch,
): Promise<void> {
  const { command, json, texts } = example;
  const { status, output } = await run(command, cwd, variables);
  assert.equal(status, example.status, `${command}\n${output}`);
  if (json !== undefined) holds(JSON.parse(output.slice(output.search(/^\{/m))), json, variables, command);
  for (const expected of texts)
    assert.ok(
      output.toLowerCase().includes(expected.toLowerCase()),
      `${command}\n${expected}\nis not in\n${output}`,
    );
}
