import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Document, parseDocuments } from "./documents.ts";
import { findGo } from "./go.ts";
import { run } from "./run.ts";

/** Helm of the machine, or built by Go into the project's cache: no package registry for Node.js has it. */

/** Both that are maintained, by their module. */
const VERSIONS: readonly { version: string; module: string }[] = [
  { version: "v4.3.2", module: "helm.sh/helm/v4/cmd/helm" },
  { version: "v3.22.0", module: "helm.sh/helm/v3/cmd/helm" },
];
const TIMEOUT_MS = 60_000;
const BUILD_WITHIN_MS = 1_800_000;
/** One that Go builds takes itself for a client of an older one. */
const KUBERNETES = "1.32.0";

export interface Helm {
  name: string;
  command: string;
  /** 3 or 4. */
  major: string;
}

const folderOf = (root: string, version: string) => join(root, ".rcpt/cache", `helm-${version}`);

/** @param version what is known of it; null: it says so itself */
async function askHelm(command: string, version: string | null, cwd: string): Promise<Helm | null> {
  const args = ["version", "--template", "{{.Version}}"];
  const asked = await run(command, args, { cwd, timeoutMs: TIMEOUT_MS, stdoutOnly: true }).catch(() => null);
  if (asked?.code !== 0) return null;
  const name = version ?? asked.output.trim();
  return { name: `helm ${name}`, command, major: /^v(\d+)/.exec(name)?.[1] ?? "" };
}

/** Helm on PATH, and those that were built before: one of each major version. */
export async function findHelms(root: string): Promise<Helm[]> {
  const installed = await askHelm("helm", null, root);
  const found = installed === null ? [] : [installed];
  for (const { version } of VERSIONS) {
    const command = join(folderOf(root, version), "helm");
    const built = existsSync(command) ? await askHelm(command, version, root) : null;
    if (built !== null && !found.some(({ major }) => major === built.major)) found.push(built);
  }
  return found;
}

/**
 * Helm 3 and 4, built where they are not installed: minutes, once.
 * @returns with `missing`, why one is not there: without Go, or without its modules, the chart is not checked by it
 */
export async function makeHelms(
  root: string,
  say: (line: string) => void,
): Promise<{ helms: Helm[]; missing: string[] }> {
  const go = await findGo(root);
  const missing: string[] = [];
  for (const { version, module } of VERSIONS) {
    const there = await findHelms(root);
    if (there.some(({ major }) => version.startsWith(`v${major}.`))) continue;
    if (go === null) {
      missing.push(`helm ${version}: neither it nor Go is installed`);
      continue;
    }
    say(`building helm ${version} with Go: some minutes, once`);
    const env = { ...go, GOBIN: folderOf(root, version) };
    mkdirSync(env.GOBIN, { recursive: true });
    const options = { cwd: root, timeoutMs: BUILD_WITHIN_MS, env };
    const { code, errors } = await run("go", ["install", `${module}@${version}`], options);
    if (code !== 0) missing.push(`helm ${version}: Go does not build it: ${errors.trim().slice(-2_000)}`);
  }
  return { helms: await findHelms(root), missing };
}

/** Lines that say that base and components are links. */
const isExpected = (line: string) => line === "" || line.includes("found symbolic link in path");

/** @param args values, for example `-f FILE`. @throws Error with what helm said */
export async function renderChart(
  root: string,
  helm: Helm,
  args: readonly string[],
  chart = join(root, "k8s/chart"),
): Promise<Document[]> {
  const all = ["template", "rcpt", chart, "--namespace", "rcpt"];
  const options = { cwd: root, timeoutMs: TIMEOUT_MS, stdoutOnly: true };
  const { code, output, errors } = await run(
    helm.command,
    [...all, "--kube-version", KUBERNETES, ...args],
    options,
  );
  const told = errors.split("\n").filter((line) => !isExpected(line));
  if (code !== 0 || told.length > 0) throw new Error(`helm cannot render the chart: ${told.join("\n")}`);
  return parseDocuments(output);
}
