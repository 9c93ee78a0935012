import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { build } from "esbuild";
import { buildClient, CLIENT, runCompiler } from "../../scripts/image/client.ts";

/** The command that runs programs: this Node.js, or another runtime, such as `bun run` or `deno run -A`. */
const RUNTIME = process.env.RCPT_CLIENT_RUNTIME?.split(" ") ?? [process.execPath];
const ROOT = resolve(import.meta.dirname, "../..");

/** A ```ts block of the library's README. Its comments `// -> text` are its expected output, in order. */
export interface ClientExample {
  heading: string;
  code: string;
  prints: string[];
}

export function clientExamples(): ClientExample[] {
  const page = readFileSync(join(CLIENT, "README.md"), "utf8");
  return page.split(/^## /m).flatMap((section) => {
    const code = /^```ts\n(.*?)^```/ms.exec(section)?.[1];
    if (code === undefined) return [];
    const prints = [...code.matchAll(/\/\/ -> (.*)$/gm)].map(([, printed = ""]) => printed);
    return [{ heading: section.slice(0, section.indexOf("\n")), code, prints }];
  });
}

/** A user's program: it has the built package installed, and no other file of the project. */
export interface ClientProgram {
  folder: string;
  /** Starts an example, compiled. */
  start(example: number, env: Record<string, string>): ChildProcess & { output: Promise<string> };
  /** Bundles the package for pages. @throws Error of the bundler or of the compiler: pages have no types of Node.js */
  bundleForPages(): Promise<string>;
  close(): void;
}

/** A page's program: the calls that must compile, and with `@ts-expect-error` those that must not. */
const PAGE = `import { createClient, type RcptError, webhooks } from "@rcpt/client";
const client = createClient({ url: location.origin, key: "rcpt_test_x", fetch: window.fetch });
export async function send(file: File): Promise<string> {
  const job = await client.bulk.submitFile(file);
  for await (const row of job.results({ verdict: "valid" })) console.log(row.input, webhooks);
  return (await job.done()).status;
}
export async function misuse(error: RcptError): Promise<void> {
  // @ts-expect-error there is no such path
  await client.request("GET", "/v1/nothing");
  // @ts-expect-error the path has no such method
  await client.request("PATCH", "/v1/usage");
  // @ts-expect-error id is missing
  await client.request("DELETE", "/v1/keys/{id}");
  // @ts-expect-error there is no such env
  await client.request("POST", "/v1/keys", { body: { label: "x", env: "prod" } });
  // @ts-expect-error it does not come in pages
  client.paginate("/v1/usage");
  // @ts-expect-error there is no such code
  if (error.code === "nothing") console.log(error.detail);
}
`;

const SETTINGS = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    moduleDetection: "force",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    // The package's declarations are themselves under test.
    skipLibCheck: false,
  },
  include: ["*.ts"],
};

/** Builds the package, and compiles the examples against it. @throws Error of the compiler */
export function createClientProgram(examples: readonly ClientExample[]): ClientProgram {
  // Outside of the project, so that the compiler cannot resolve the project's packages.
  const folder = mkdtempSync(join(tmpdir(), "rcpt-client-"));
  const installed = join(folder, "node_modules/@rcpt/client");
  mkdirSync(installed, { recursive: true });
  cpSync(join(CLIENT, "package.json"), join(installed, "package.json"));
  buildClient(join(installed, "dist"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(SETTINGS));
  for (const [at, { code }] of examples.entries()) writeFileSync(join(folder, `example-${at}.ts`), code);
  runCompiler(["-p", folder], folder);
  return {
    folder,
    start(example, env) {
      const [runtime = "", ...args] = RUNTIME;
      const child = spawn(runtime, [...args, `example-${example}.js`], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      });
      assert.ok(child.stdout);
      return Object.assign(child, { output: text(child.stdout) });
    },
    async bundleForPages() {
      const pages = join(folder, "pages");
      mkdirSync(pages);
      writeFileSync(join(pages, "page.ts"), PAGE);
      const compilerOptions = {
        ...SETTINGS.compilerOptions,
        types: [],
        lib: ["es2023", "dom"],
        noEmit: true,
      };
      writeFileSync(join(pages, "tsconfig.json"), JSON.stringify({ ...SETTINGS, compilerOptions }));
      runCompiler(["-p", pages], pages);
      const entry = { absWorkingDir: pages, entryPoints: ["page.ts"], logLevel: "silent" as const };
      const made = await build({ ...entry, bundle: true, write: false, format: "esm", platform: "browser" });
      return made.outputFiles.map(({ text: code }) => code).join("\n");
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
