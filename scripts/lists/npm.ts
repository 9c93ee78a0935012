import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { type ListPackage, readNames } from "../../src/verification/lists/compile.ts";

const run = promisify(execFile);
const OUTPUT_BYTES = 16_777_216;

/** @throws Error with npm's message, without the name of the registry, which depends on this machine */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await run("npm", args, { cwd, maxBuffer: OUTPUT_BYTES });
    return stdout;
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr ?? error);
    throw new Error(`npm ${args[0]} failed: ${said.replaceAll(/https?:\/\/[^\s"']+/g, "<registry>").trim()}`);
  }
}

const ViewSchema = v.object({ version: v.string(), time: v.record(v.string(), v.string()) });

/** @throws Error when the registry does not tell */
export async function newestRelease(name: ListPackage, root: string) {
  const view = v.parse(ViewSchema, JSON.parse(await npm(["view", name, "version", "time", "--json"], root)));
  const releasedAt = view.time[view.version];
  if (releasedAt === undefined) throw new Error(`the registry does not say when ${name} was released`);
  return { version: view.version, releasedAt };
}

const DatedSchema = v.object({ t: v.number() });

/** fakefilter's data say when they were collected, which may be months before their release. */
function dataDay(name: ListPackage, load: (module: string) => unknown): Date | null {
  if (name !== "fakefilter") return null;
  const dated = v.safeParse(DatedSchema, load("fakefilter/json/data.json"));
  return dated.success ? new Date(dated.output.t * 1_000) : null;
}

/** Reads a release beside the one in use; its scripts are not run. */
export async function namesOfRelease(name: ListPackage, version: string) {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-lists-"));
  try {
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder];
    await npm(["install", ...quiet, `${name}@${version}`], folder);
    const load = createRequire(join(folder, "package.json"));
    return { names: readNames(name, load), dataAt: dataDay(name, load) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Pins versions in package.json and package-lock.json, and installs them. */
export async function pin(versions: readonly { name: ListPackage; version: string }[], root: string) {
  const packages = versions.map(({ name, version }) => `${name}@${version}`);
  await npm(["install", "--save-exact", "--no-audit", "--no-fund", "--ignore-scripts", ...packages], root);
}
