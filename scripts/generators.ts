// npm run generators [-- --only typescript|python|go]
//
// Runs a public generator of each language on the OpenAPI document, compiles the generated client together with a
// program (scripts/generators/programs), and lets the program call a service of its own with a test key. The generators
// come from the languages' own registries; a language whose tools are missing is named and skipped. Exit codes: 0 all
// runs passed, 1 one failed, 2 wrong arguments.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { EXPECTED, LANGUAGES, type Language } from "./generators/languages.ts";
import { startThrowaway } from "./start/throwaway.ts";

const STEP_WITHIN_MS = 600_000;

/** @throws Error with the end of what the step printed */
function run(folder: string, command: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const [program = "", ...args] = command;
  const ended = spawnSync(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    encoding: "utf8",
    timeout: STEP_WITHIN_MS,
    maxBuffer: 64 << 20,
  });
  if (ended.status === 0) return ended.stdout;
  const printed = (ended.error?.message ?? `${ended.stdout}${ended.stderr}`).trim().slice(-2_000);
  throw new Error(`${command.join(" ")}: ${printed}`);
}

const isHere = ([program = "", ...args]: readonly string[]) => spawnSync(program, args).status === 0;

/** @returns whether the language's program printed the expected output */
function check(language: Language, folder: string, env: NodeJS.ProcessEnv): boolean {
  try {
    let printed = "";
    for (const step of language.steps) printed = run(folder, step, env);
    const got: unknown = JSON.parse(printed);
    if (isDeepStrictEqual(got, EXPECTED)) return true;
    console.log(`expected ${JSON.stringify(EXPECTED)}\nbut got  ${printed}`);
  } catch (error) {
    console.log((error as Error).message);
  }
  return false;
}

async function checkAll(languages: readonly Language[], guard: Guard): Promise<number> {
  const root = mkdtempSync(join(tmpdir(), "rcpt-generators-"));
  guard.removeAtEnd(root);
  const service = await startThrowaway({}, guard, (line) => console.error(`rcpt: ${line}`));
  const document = await (await fetch(`${service.url}/openapi.json`)).text();
  let exitCode = 0;
  for (const language of languages) {
    if (!isHere(language.needs)) {
      console.log(`did not run  ${language.name}: \`${language.needs.join(" ")}\` does not run here`);
      continue;
    }
    const folder = join(root, language.name);
    mkdirSync(folder);
    writeFileSync(join(folder, "openapi.json"), document);
    for (const [name, text] of Object.entries(language.files)) writeFileSync(join(folder, name), text);
    const startedMs = performance.now();
    const isWell = check(language, folder, { RCPT_URL: service.url, RCPT_API_KEY: service.test_key });
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    console.log(`${isWell ? "ok    " : "FAILED"} ${language.name} by ${language.generator}, ${seconds} s`);
    if (!isWell) exitCode = 1;
  }
  return exitCode;
}

function chosenLanguages(): readonly Language[] {
  try {
    const { only } = parseArgs({ options: { only: { type: "string" } } }).values;
    const chosen = LANGUAGES.filter(({ name }) => only === undefined || name === only);
    if (chosen.length === 0)
      throw new Error(`--only is one of ${LANGUAGES.map(({ name }) => name).join(", ")}`);
    return chosen;
  } catch (error) {
    console.error(`rcpt: ${(error as Error).message}\nusage: npm run generators [-- --only LANGUAGE]`);
    process.exit(2);
  }
}

const languages = chosenLanguages();
runGuarded((guard) => checkAll(languages, guard), { interruptedCode: 130 });
